"""Sizes while inferring: unknown ones, which of them are the same, and which are certainly different.

Ids grow, so an id is also a date of birth: the `age` of an unknown is the oldest date it must live at, and an unknown
is never bound to a size that came later (it stays unknown, and the elaborator compares at run time). A size that merely
exists is as old as the function in which it came up.

A size is one of
    an unknown                    `SizeVar("", id)`
    a name                        `SizeVar("n", id)`: a parameter, a value, or one that merely exists
    a constant                    `SizeConst(3)`
    an expression of the source   `SizeExp("n + 1", ..)`
The last kind, and one made from it by putting sizes in for names, has a `Shape`: `n + m` of two functions are the same
when their parts are, and unknown parts are found by comparing (`unflatten : [n * m]t -> ..` applied to a `[a * b]i32`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..ir.errors import Label
from ..ir.ops import Op
from . import elaborate_sums as sums
from .syntax import TypeParamKind
from .types import Size, SizeConst, SizeExp, SizeVar

# A size that equals every size: an anonymous one where a function-typed parameter takes arrays.
ANY_SIZE = SizeVar("_", -2)

SUMS = {"+": Op.ADD, "-": Op.SUB, "*": Op.MUL}

DEEPEST_SHAPE = 4  # expressions nested deeper are compared by their text only

LookUp = Callable[[int], Size | None]


@dataclass(frozen=True, slots=True)
class Shape:
    """`part op part ..`"""

    ops: tuple[str, ...]
    parts: tuple[Size, ...]
    depth: int


class SizeClash(Exception):
    """Two sizes are certainly different."""

    def __init__(self, left: Size, right: Size) -> None:
        super().__init__()
        self.left, self.right = left, right


class Sizes:
    """The unknown sizes of an inference, and the supply of ids."""

    __slots__ = ("ages", "bound_sizes", "deps", "function", "kinds", "next_id", "parameters", "shapes")

    def __init__(self, first_id: int) -> None:
        self.next_id = first_id
        self.function = first_id  # when the function at hand was entered
        self.ages: dict[int, int] = {}
        self.bound_sizes: dict[int, Size] = {}
        self.parameters: dict[int, tuple[int, Label]] = {}  # size parameters: their definition, and where they stand
        self.kinds: dict[int, TypeParamKind] = {}  # of type parameters that are lifted
        self.deps: dict[int, frozenset[int]] = {}  # by node id of a size expression: ids of the sizes in it
        self.shapes: dict[int, Shape] = {}  # by id of a size, or node id of a size expression

    # -- making and looking --------------------------------------------------------------------------------------------

    def fresh_id(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def unknown_size(self) -> SizeVar:
        return SizeVar("", self.fresh_id())

    def existential(self) -> SizeVar:
        """A size that exists but that nobody knows before the program runs; it equals only itself."""
        tag = self.fresh_id()
        self.ages[tag] = self.function
        return SizeVar(f"k{tag}", tag)

    def size(self, size: Size) -> Size:
        """What an unknown size is bound to."""
        bound = self.bound_sizes
        while type(size) is SizeVar and size.id in bound:
            size = bound[size.id]
        return size

    def born(self, size: Size) -> int:
        """When the youngest thing that a size speaks of came to be."""
        return max((self.ages.get(i, i) for i in self.names_in(size)), default=0)

    def names_in(self, size: Size) -> frozenset[int]:
        """Ids of what a size speaks of."""
        match self.size(size):
            case SizeVar(_, i):
                return frozenset({i})
            case SizeConst():
                return frozenset()
            case SizeExp(_, exp):
                return self.deps[exp.id]

    def shape_of(self, size: Size) -> Shape | None:
        match size:
            case SizeVar(_, i):
                return self.shapes.get(i)
            case SizeExp(_, exp):
                return self.shapes.get(exp.id)
            case SizeConst():
                return None

    def note_shape(self, node: int, ops: tuple[str, ...], parts: tuple[Size, ...]) -> None:
        """Say how the size `node` is made up."""
        shapes = [shape for part in parts if (shape := self.shape_of(self.size(part))) is not None]
        depth = 1 + max((shape.depth for shape in shapes), default=0)
        if depth <= DEEPEST_SHAPE:
            self.shapes[node] = Shape(ops, parts, depth)

    # -- comparing -----------------------------------------------------------------------------------------------------

    def same_size(self, a: Size, b: Size) -> bool:
        a, b = self.size(a), self.size(b)
        match a, b:
            case SizeVar(_, x), SizeVar(_, y) if x == y:
                return True
            case SizeConst(x), SizeConst(y):
                return x == y
            case SizeExp(x, _), SizeExp(y, _) if x == y:
                return True
            case _:
                return self._same_shape(a, b)

    def _same_shape(self, a: Size, b: Size) -> bool:
        x, y = self.shape_of(a), self.shape_of(b)
        if x is None or y is None or x.ops != y.ops:
            return False
        return all(self.same_size(p, q) for p, q in zip(x.parts, y.parts))

    def unify_size(self, a: Size, b: Size) -> None:
        """Make two sizes equal if one is unknown; raises `SizeClash` if they are certainly different."""
        a, b = self.size(a), self.size(b)
        if a is b or a is ANY_SIZE or b is ANY_SIZE:
            return
        self._unify_parts(a, b)
        if self.same_size(a, b):
            return
        if self._never_same(a, b):
            raise SizeClash(a, b)
        match a, b:
            case SizeVar("", i), SizeVar("", j):
                old, young = (a, b) if self.ages.get(i, i) <= self.ages.get(j, j) else (b, a)
                self.bound_sizes[young.id] = old
            case SizeVar("", i), _:
                self._bind_size(i, b)
            case _, SizeVar("", j):
                self._bind_size(j, a)
            case _:
                pass

    def _never_same(self, a: Size, b: Size) -> bool:
        """Do two sizes differ by a number (`n`, `n + 1`), or are they different sums of one definition's parameters?"""
        x, y = self._sum(a), self._sum(b)
        apart = None if x is None or y is None else sums.combine(Op.SUB, x, y)
        if x is None or y is None or not apart:
            return False
        if sums.as_constant(apart) is not None:
            return True
        named = [{i for monomial, _ in form for i in monomial} for form in (x, y)]
        owners = {self.parameters[i][0] if i in self.parameters else None for i in named[0] | named[1]}
        return all(named) and len(owners) == 1 and None not in owners

    def _sum(self, size: Size) -> sums.Polynomial | None:
        """A size as a polynomial in names; None for one that is unknown, or made in another way."""
        size = self.size(size)
        if isinstance(size, SizeConst):
            return sums.constant(size.value)
        shape = self.shape_of(size)
        if shape is None:
            return sums.variable(size.id) if isinstance(size, SizeVar) and not is_unknown(size) else None
        form = self._sum(shape.parts[0])
        for op, part in zip(shape.ops, shape.parts[1:]):
            right = self._sum(part)
            if form is None or right is None or op not in SUMS:
                return None
            form = sums.combine(SUMS[op], form, right)
        return form if len(shape.parts) > 1 else None

    def _unify_parts(self, a: Size, b: Size) -> None:
        """Unknown parts of like expressions become equal; parts that differ decide nothing."""
        x, y = self.shape_of(a), self.shape_of(b)
        if x is None or y is None or x.ops != y.ops:
            return
        for p, q in zip(x.parts, y.parts):
            p, q = self.size(p), self.size(q)
            if is_unknown(p) or is_unknown(q):
                self.unify_size(p, q)
            else:
                self._unify_parts(p, q)

    def _bind_size(self, var: int, size: Size) -> None:
        if self.born(size) <= self.ages.get(var, var) and not self._occurs(var, size):
            self.bound_sizes[var] = size

    def _occurs(self, var: int, size: Size) -> bool:
        """Is a size made up of the unknown `var`? Then the two are different, or nothing can be said."""
        shape = self.shape_of(size)
        if shape is None:
            return False
        parts = [self.size(part) for part in shape.parts]
        return any((isinstance(p, SizeVar) and p.id == var) or self._occurs(var, p) for p in parts)

    def settle_size(self, size: Size) -> None:
        """Nothing else determines this size: if it is unknown, it merely exists."""
        found = self.size(size)
        if isinstance(found, SizeVar) and not found.name:
            self.bound_sizes[found.id] = self.existential()

    # -- putting sizes in for names ------------------------------------------------------------------------------------

    def put_in(self, size: Size, look_up: LookUp, make: Callable[[], SizeVar]) -> Size:
        """`size` with other sizes put in for names, `look_up` saying which; an expression becomes a size made by `make`
        that remembers its parts."""
        size = self.size(size)
        if isinstance(size, SizeVar) and (found := look_up(size.id)) is not None:
            return found
        shape = self.shape_of(size)
        if shape is None:
            hit = isinstance(size, SizeExp) and any(look_up(i) is not None for i in self.deps[size.exp.id])
            return make() if hit else size
        parts = tuple([self.put_in(part, look_up, make) for part in shape.parts])
        if all(new is self.size(old) for new, old in zip(parts, shape.parts)):
            return size
        made = make()
        self.note_shape(made.id, shape.ops, parts)
        return made


def is_unknown(size: Size) -> bool:
    return isinstance(size, SizeVar) and not size.name
