"""Unknown types: what they were found to be, and types with that filled in.

An unknown is a `TVar` with an empty name; `bound_types` maps its id to what it was found to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...ir.depth import MOST_LEVELS
from ..source.atoms import TypeParamKind
from ..source.types import (
    UNIT,
    Size,
    SizeVar,
    TArray,
    TFun,
    TOpaque,
    TPrim,
    TRecord,
    TVar,
    Ty,
    map_parts,
    parts_of,
)
from .sizes import Sizes

Zonked = dict[int, tuple[Ty, Ty, int]]
"""By the identity of a type: the type, what it is with everything filled in, and how many levels it has."""


class TooDeep(Exception):
    """A type is nested deeper than `MOST_LEVELS`: every walk that recurs into types counts."""


def deeper(depth: int) -> int:
    """The depth of the parts of a type at `depth`; raises `TooDeep`."""
    if depth >= MOST_LEVELS:
        raise TooDeep
    return depth + 1


class Unknowns(Sizes):
    """The unknowns of one inference and their ages."""

    __slots__ = ("bound_types", "chosen")

    def __init__(self, first_id: int) -> None:
        super().__init__(first_id)
        self.bound_types: dict[int, Ty] = {}
        self.chosen: set[int] = set()  # names bound in a function's type, in what an unknown is bound to

    def unknown(self) -> TVar:
        return TVar("", self.fresh_id())

    def resolve(self, ty: Ty) -> Ty:
        """What an unknown is bound to, at the outside only."""
        if type(ty) is not TVar or ty.name:
            return ty
        bound = self.bound_types
        if ty.id not in bound:
            return ty
        trail = [ty.id]
        found = bound[ty.id]
        while type(found) is TVar and found.id in bound:
            trail.append(found.id)
            found = bound[found.id]
        for var in trail:
            bound[var] = found
        return found

    def age(self, var: TVar | SizeVar) -> int:
        return self.ages.get(var.id, var.id)

    # -- the parts of a type -----------------------------------------------------------------------------------------

    def sizes_in(self, ty: Ty, *, shown: bool = False) -> list[Size]:
        """Every size of a type, in order, with repetitions; `shown`: but for those in functions, which values do not
        show."""
        found: list[Size] = []
        todo = [ty]
        while todo:
            part = self.resolve(todo.pop())
            match part:
                case TPrim() | TVar():
                    pass
                case TFun() if shown:
                    pass
                case TArray(size, elem):
                    found.append(self.size(size))
                    todo.append(elem)
                case TOpaque(sizes=sizes):
                    todo.extend(reversed(part.types))
                    found.extend(map(self.size, sizes))
                case _:
                    todo.extend(reversed(parts_of(part)))
        return found

    def uses(self, ty: Ty, depth: int = 0) -> tuple[set[int], set[int]]:
        """The names that the sizes of a type speak of: where a value shows the size, and in parameters. What the result
        of a function shows of `chosen` names is bound there."""
        shown, taken, inside = set[int](), set[int](), deeper(depth)
        todo = [ty]
        while todo:
            part = self.resolve(todo.pop())
            match part:
                case TFun():
                    (given, asked), (made, later) = self.uses(part.dom, inside), self.uses(part.cod, inside)
                    own = {part.param_id, *(k.id for k in part.exists), *(made & self.chosen)}
                    taken |= given | asked | (later - own)
                case TArray(size, elem):
                    shown.update(self.names_in(size))
                    todo.append(elem)
                case TOpaque(sizes=sizes):
                    shown.update(*map(self.names_in, sizes))
                    todo.extend(parts_of(part))
                case _:
                    todo.extend(parts_of(part))
        return shown, taken

    def inside(self, ty: Ty) -> Iterator[Ty]:
        """A type and all types inside it, from left to right; one that is shared comes once."""
        seen: set[int] = set()
        todo = [ty]
        while todo:
            part = self.resolve(todo.pop())
            if id(part) not in seen:
                seen.add(id(part))
                yield part
                todo.extend(reversed(parts_of(part)))

    def unknowns_in(self, ty: Ty) -> list[TVar]:
        """The unknown types inside a type, from left to right."""
        return [part for part in self.inside(ty) if isinstance(part, TVar) and not part.name]

    def has_function(self, ty: Ty) -> bool:
        return any(isinstance(part, TFun) for part in self.inside(ty))

    def lifted_in(self, ty: Ty, *kinds: TypeParamKind) -> TVar | TOpaque | None:
        """A type parameter or an abstract type of one of these kinds inside a type."""
        vars_in = (part for part in self.inside(ty) if isinstance(part, TVar | TOpaque))
        return next((var for var in vars_in if self.kinds.get(var.id) in kinds), None)

    def is_scalar(self, ty: Ty) -> bool:
        """A scalar, or a record of scalars."""
        return all(isinstance(part, TPrim | TRecord) for part in self.inside(ty))

    # -- the same type with other sizes ------------------------------------------------------------------------------

    def map_sizes(
        self,
        ty: Ty,
        change: Callable[[Size], Size],
        on_function: Callable[[TFun, int], Ty] | None = None,
        depth: int = 0,
    ) -> Ty:
        """`ty` with every size changed; what does not change is shared. `on_function`: what becomes of a function at a
        depth."""
        ty, inside = self.resolve(ty), deeper(depth)
        if isinstance(ty, TFun) and on_function is not None:
            return on_function(ty, inside)
        return map_parts(
            ty, lambda t: self.map_sizes(t, change, on_function, inside), lambda size: change(self.size(size))
        )

    def replace_sizes(self, ty: Ty, sizes: dict[int, Size]) -> Ty:
        """`ty` with sizes put in for others by id."""
        return self.map_sizes(ty, lambda size: self.put_in(size, sizes.get))

    def refresh_sizes(self, ty: Ty) -> tuple[Ty, list[tuple[SizeVar, Size]]]:
        """`ty` with a fresh unknown for each size, and the pairs of new and old."""
        pairs: list[tuple[SizeVar, Size]] = []

        def change(size: Size) -> Size:
            fresh = self.unknown_size()
            pairs.append((fresh, size))
            return fresh

        return self.map_sizes(ty, change), pairs

    def check_levels(self, ty: Ty) -> None:
        """Raises `TooDeep` for a type that is nested too deeply. What is shared counts once at each level."""
        level = [ty]
        for _ in range(MOST_LEVELS):
            level = list({id(part): part for each in level for part in parts_of(self.resolve(each))}.values())
            if not level:
                return
        raise TooDeep

    # -- the end of a definition -------------------------------------------------------------------------------------

    def zonk(self, ty: Ty, memo: Zonked, depth: int = 0) -> Ty:
        """`ty` with everything found filled in; an unknown that nothing asked for is unit."""
        ty, inside = self.resolve(ty), deeper(depth)
        known = memo.get(id(ty))
        if known is not None:
            deeper(depth + known[2] - 1)
            return known[1]
        match ty:
            case TVar("", _):
                done: Ty = UNIT
            case _:
                done = map_parts(ty, lambda t: self.zonk(t, memo, inside), self.size)
        height = 1 + max([memo[id(self.resolve(part))][2] for part in parts_of(ty)], default=0)
        memo[id(ty)] = (ty, done, height)
        return done
