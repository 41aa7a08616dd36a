"""Sizes while inferring: unknown ones, which of them are the same, and which are different.

Ids grow, so an id is also a date of birth: the `age` of an unknown is the oldest date it must live at. An unknown is
never bound to a name that came later; a size that merely exists, and comes up later, then becomes as old (whether it is
there in time is for `causality.py` to say).

A size is one of
    an unknown                    `SizeVar("", id)`
    a name                        `SizeVar("n", id)`: a parameter, a value, or one that merely exists
    a constant                    `SizeConst(3)`
    an expression of the source   `SizeExp("n + 1", ..)`
The last kind, and one made from it by putting sizes in for names, has a `Shape`: `n + m` of two functions are the same
when their parts are, and unknown parts are found by comparing (`unflatten : [n * m]t -> ..` applied to a `[a * b]i32`).
Two sizes without an unknown are the same only if they read the same: nothing is calculated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from ...ir.errors import Label
from ...ir.records import dataclass
from ..source.atoms import TypeParamKind
from ..source.types import Size, SizeConst, SizeExp, SizeMade, SizeVar

# A size that equals every size: what an abstract type hides where a value of it is taken.
ANY_SIZE = SizeVar("_", -2)

DEEPEST_SHAPE = 64  # an expression nested deeper is the same as no other

DEEPEST_SUM = 8  # and one that the elaborator calculates

LookUp = Callable[[int], Size | None]


@dataclass(frozen=True, slots=True)
class Shape:
    """An operation on `parts`; `op` tells operations apart."""

    op: tuple[str, ...]
    parts: tuple[Size, ...]
    depth: int


class SizeClash(Exception):
    """Two sizes are different; `reason` where the two do not say it themselves."""

    def __init__(self, left: Size, right: Size, reason: str | None = None) -> None:
        super().__init__()
        self.left, self.right, self.reason = left, right, reason


class Sizes:
    """The unknown sizes of an inference, and the supply of ids."""

    __slots__ = (
        "ages", "bound_sizes", "function", "inner", "kinds", "loose", "next_id", "open", "origins", "parameters",
        "shapes",
    )  # fmt: skip

    def __init__(self, first_id: int) -> None:
        self.next_id = first_id
        self.function = first_id  # when the function at hand was entered
        self.ages: dict[int, int] = {}
        self.bound_sizes: dict[int, Size] = {}
        self.parameters: dict[int, tuple[int, Label]] = {}  # size parameters: their definition, and where they stand
        self.kinds: dict[int, TypeParamKind] = {}  # of type parameters that are lifted
        self.shapes: dict[int, Shape] = {}  # by id of a size, or node id of a size expression
        self.origins: dict[int, Label | None] = {}  # sizes that merely exist, and where they come up
        self.inner: set[int] = set()  # names that the type of a function binds: parameters, sizes it chooses
        self.open: set[int] = set()  # unknown sizes that may stand for those
        self.loose: set[int] = set()  # and those of them that are any size, so that they equal every one

    def copy(self, first_id: int) -> Self:
        """The same knowledge, to be added to; new ids start at `first_id`."""
        twin = type(self)(first_id)
        for kind in type(self).__mro__[:-1]:
            for name in vars(kind)["__slots__"]:
                known = getattr(self, name)
                if not isinstance(known, int):
                    setattr(twin, name, known.copy())
        return twin

    # -- making and looking --------------------------------------------------------------------------------------------

    def fresh_id(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def unknown_size(self) -> SizeVar:
        return SizeVar("", self.fresh_id())

    def existential(self, origin: Label | None = None) -> SizeVar:
        """A size that exists but is not known before the program runs; it equals only itself."""
        tag = self.fresh_id()
        self.ages[tag] = self.function
        self.origins[tag] = origin
        return SizeVar(f"k{tag}", tag)

    def inner_name(self, name: str | None = None) -> SizeVar:
        """What two function types both call their parameter, or what one of them calls a size that it chooses, which
        has no name."""
        tag = self.fresh_id()
        self.inner.add(tag)
        return SizeVar(f"k{tag}" if name is None else name, tag)

    def open_size(self) -> SizeVar:
        """An unknown that stands for a size which a function chooses."""
        size = self.unknown_size()
        self.open.add(size.id)
        return size

    def size(self, size: Size) -> Size:
        """What an unknown size is bound to."""
        bound = self.bound_sizes
        while type(size) is SizeVar and size.id in bound:
            size = bound[size.id]
        return size

    def names_in(self, size: Size) -> dict[int, SizeVar]:
        """What a size speaks of, by id: names, sizes that merely exist, and unknowns."""
        size = self.size(size)
        if type(size) is SizeVar and size.id not in self.shapes:
            return {size.id: size}
        shape = self.shape_of(size)
        if shape is None:
            return {}
        found: dict[int, SizeVar] = {}
        seen, todo = set[int](), [shape]
        while todo:
            for part in todo.pop().parts:
                part = self.size(part)
                shape = self.shape_of(part)
                if shape is None:
                    if isinstance(part, SizeVar):
                        found[part.id] = part
                elif id(shape) not in seen:
                    seen.add(id(shape))
                    todo.append(shape)
        return found

    def shape_of(self, size: Size) -> Shape | None:
        match size:
            case SizeVar(_, i):
                return self.shapes.get(i)
            case SizeExp(_, exp):
                return self.shapes.get(exp.id)
            case SizeConst():
                return None

    def note_shape(self, node: int, op: tuple[str, ...], parts: tuple[Size, ...]) -> None:
        """Say how the size `node` is made up."""
        shapes = [shape for part in parts if (shape := self.shape_of(self.size(part))) is not None]
        depth = 1 + max((shape.depth for shape in shapes), default=0)
        if depth <= DEEPEST_SHAPE:
            self.shapes[node] = Shape(op, parts, depth)

    # -- comparing -----------------------------------------------------------------------------------------------------

    def same_size(self, a: Size, b: Size) -> bool:
        a, b = self.size(a), self.size(b)
        match a, b:
            case SizeVar(_, x), SizeVar(_, y) if x == y:
                return True
            case SizeConst(x), SizeConst(y):
                return x == y
            case _:
                pairs = self._parts(a, b)
                return pairs is not None and self._all_same(pairs)

    def _all_same(self, pairs: list[tuple[Size, Size]]) -> bool:
        """Are these the same, pair by pair? What is shared is compared once."""
        seen: set[tuple[int, int]] = set()
        while pairs:
            a, b = map(self.size, pairs.pop())
            inner = self._parts(a, b)
            if inner is None:
                if not self.same_size(a, b):
                    return False
            elif (key := (size_key(a), size_key(b))) not in seen:
                seen.add(key)
                pairs.extend(inner)
        return True

    def _parts(self, a: Size, b: Size) -> list[tuple[Size, Size]] | None:
        """The parts of two sizes made up in the same way; None for others."""
        x, y = self.shape_of(a), self.shape_of(b)
        if x is None or y is None or x.op != y.op or len(x.parts) != len(y.parts):
            return None
        return list(zip(x.parts, y.parts))

    def unify_size(self, a: Size, b: Size) -> None:
        """Make two sizes equal; raises `SizeClash` if they are different."""
        a, b = self.size(a), self.size(b)
        if a is b or self._is_loose(a) or self._is_loose(b):
            return
        match a, b:
            case SizeVar("", i), SizeVar("", j):
                if i != j:
                    self._bind_unknown(a, b)
            case SizeVar("", i), _:
                self._bind_size(i, b, (a, b))
            case _, SizeVar("", j):
                self._bind_size(j, a, (a, b))
            case _ if a == ANY_SIZE or b == ANY_SIZE:
                pass
            case _ if not self.same_size(a, b):
                self._unify_parts(a, b)
            case _:
                pass

    def _is_loose(self, size: Size) -> bool:
        return isinstance(size, SizeVar) and size.id in self.loose

    def _unify_parts(self, a: Size, b: Size) -> None:
        """Two sizes made up in the same way are the same when their parts are."""
        pairs = self._parts(a, b)
        if pairs is None:
            raise SizeClash(a, b)
        try:
            for p, q in pairs:
                self.unify_size(p, q)
        except SizeClash as clash:
            raise SizeClash(a, b, clash.reason) from None

    def _bind_unknown(self, a: SizeVar, b: SizeVar) -> None:
        old, young = (a, b) if self.age_of(a.id) <= self.age_of(b.id) else (b, a)
        self.bound_sizes[young.id] = old

    def age_of(self, tag: int) -> int:
        return self.ages.get(tag, tag)

    def _bind_size(self, var: int, size: Size, pair: tuple[Size, Size]) -> None:
        names = self.names_in(size)
        if var in names:
            raise SizeClash(*pair, "a size cannot be part of itself")
        self.fit_names(names, self.age_of(var), var in self.open, pair)
        self.bound_sizes[var] = size

    def fit_names(self, names: dict[int, SizeVar], age: int, is_open: bool, pair: tuple[Size, Size]) -> None:
        """Make what a size speaks of fit to be spoken of at `age`: unknowns and sizes that merely exist become as old;
        raises `SizeClash` for a name that came later, or that is bound inside the type of a function."""
        for tag, name in names.items():
            if tag in self.inner:
                if not is_open:
                    raise SizeClash(*pair, f"{self._said(name)} is known inside the function only{self._advice(name)}")
            elif self.age_of(tag) > age:
                if name.name and tag not in self.origins:
                    raise SizeClash(
                        *pair, f"`{name.name}` is not in scope where the other size comes up (scope violation)"
                    )
                self.ages[tag] = age

    def _said(self, name: SizeVar) -> str:
        return f"`{name.name}`" if _is_written(name) else "a size that a function chooses"

    def _advice(self, name: SizeVar) -> str:
        return "" if _is_written(name) else ": give its parameters types that name it, as in `(a: [n]i32)`"

    def settle_size(self, size: Size) -> None:
        """Nothing else determines this size: if it is unknown, it merely exists."""
        found = self.size(size)
        if isinstance(found, SizeVar) and not found.name:
            self.bound_sizes[found.id] = self.existential()

    def made(self, size: Size) -> SizeMade | None:
        """A sum, difference or product for the elaborator."""
        match self.shape_of(self.size(size)):
            case Shape((("+" | "-" | "*") as op,), (left, right), depth) if depth <= DEEPEST_SUM:
                left, right = self.size(left), self.size(right)
                return SizeMade(op, self.made(left) or left, self.made(right) or right)
            case _:
                return None

    # -- putting sizes in for names ------------------------------------------------------------------------------------

    def put_in(self, size: Size, look_up: LookUp) -> Size:
        """`size` with other sizes put in for names, `look_up` saying which."""
        return self._put_in(size, look_up, {})

    def _put_in(self, size: Size, look_up: LookUp, done: dict[int, Size]) -> Size:
        size = self.size(size)
        shape = self.shape_of(size)
        if shape is None:
            found = look_up(size.id) if isinstance(size, SizeVar) else None
            return size if found is None else found
        key = size_key(size)
        if key not in done:
            parts = tuple([self._put_in(part, look_up, done) for part in shape.parts])
            is_same = all(new is self.size(old) for new, old in zip(parts, shape.parts))
            done[key] = size if is_same else self.made_of(shape.op, parts)
        return done[key]

    def made_of(self, op: tuple[str, ...], parts: tuple[Size, ...]) -> SizeVar:
        """A size made up of others."""
        tag = self.fresh_id()
        self.ages[tag] = self.function
        self.note_shape(tag, op, parts)
        if tag not in self.shapes:
            self.origins[tag] = None
        return SizeVar(f"k{tag}", tag)


def is_unknown(size: Size) -> bool:
    return isinstance(size, SizeVar) and not size.name


def size_key(size: Size) -> int:
    """What tells a size that has a shape from others."""
    match size:
        case SizeVar(_, i):
            return i
        case SizeExp(_, exp):
            return exp.id
        case SizeConst():
            return -1


def _is_written(name: SizeVar) -> bool:
    """Whether a size has a name that stands in the program."""
    return bool(name.name) and name.name[1:] != str(name.id)
