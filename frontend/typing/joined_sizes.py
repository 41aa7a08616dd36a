"""Sizes that branches and turns of loops choose among.

Where branches differ in a size, theirs is one that merely exists, and what it may be is kept. What is asked of it later
may say that it is one size: in

    loop t = xs for i < n do let u = if c then t else xs in map2 (+) u xs

the size of `t`, which is unknown within the loop, is that of `xs`. So far as nothing asks, the size of `t` may change.
"""

from __future__ import annotations

from ..source.types import Size, SizeVar
from .sizes import ANY_SIZE, SizeClash, is_unknown
from .unknowns import Unknowns


class JoinedSizes(Unknowns):
    """What sizes of branches may be, and which of these turn out to be the same."""

    __slots__ = ("carried", "joined")

    def __init__(self, first_id: int) -> None:
        super().__init__(first_id)
        self.joined: dict[int, tuple[Size, ...]] = {}  # sizes of branches and turns, by the one that stands for all
        self.carried: set[int] = set()  # unknown sizes of loop parameters

    def either(self, size: Size) -> list[Size]:
        """The sizes that a size may be: of what is joined, those of the branches."""
        found, seen, todo = list[Size](), set[int](), [size]
        while todo:
            size = self.size(todo.pop())
            if not isinstance(size, SizeVar) or size.id not in self.joined:
                found.append(size)
            elif size.id not in seen:
                seen.add(size.id)
                todo.extend(reversed(self.joined[size.id]))
        return found

    def unify_size(self, a: Size, b: Size) -> None:
        a, b = self.size(a), self.size(b)
        both = ((a, b), (b, a))
        if any(self._is_asked(one, other) and self.settles(one, other) for one, other in both):
            return
        try:
            super().unify_size(a, b)
        except SizeClash:  # as the size of a row that an operator chooses: that of the rows it chooses among, or none
            if not any(self.settles(one, other) for one, other in both):
                raise

    def _is_asked(self, joined: Size, other: Size) -> bool:
        """Whether a size that branches choose can be `other` only if all that they choose is: an unknown one that is
        not a parameter of a loop around them may be what is chosen."""
        if not isinstance(joined, SizeVar) or joined.id not in self.joined or other in (joined, ANY_SIZE):
            return False
        is_around = isinstance(other, SizeVar) and other.id in self.carried and self.age_of(other.id) < joined.id
        return is_around or not (is_unknown(other) or self._is_loose(joined) or self._is_loose(other))

    def settles(self, joined: Size, other: Size | None = None) -> bool:
        """Make all that a size may be `other`, or the same, where that says nothing but what unknown sizes are."""
        if not isinstance(joined, SizeVar) or joined.id not in self.joined:
            return False
        if joined == other:
            return True
        sides = self.either(joined) + ([] if other is None else self.either(other))
        known = [size for size in sides if not is_unknown(size)]
        names = [self.age_of(tag) for size in known for tag in self.names_in(size)]
        ages = [self.age_of(size.id) for size in sides if isinstance(size, SizeVar) and is_unknown(size)]
        if (ages and max(names, default=-1) > min(ages)) or not all(self.same_size(known[0], size) for size in known):
            return False
        one = sides[0] if other is None else other
        self.bound_sizes[joined.id] = one
        for side in self.joined[joined.id]:
            if not self.settles(self.size(side), one):
                super().unify_size(side, one)
        return True

    def stand_in(self, size: SizeVar, new: SizeVar) -> SizeVar:
        """`new`, which stands for `size` in another type: what the one may be the other may be."""
        if size.id in self.joined:
            self.joined[new.id] = (size,)
        return new
