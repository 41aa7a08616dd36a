"""Loops over threads inside of loops, as one loop over neighbours in memory.

    for r < n { threads j in 0..m { .. xs[start + r*m + j] .. } }   ⟶   threads t in 0..n*m { .. xs[start + t] .. }

Rows are often shorter than a group of lanes. All that is read and written must be at `start + step*(r*m + j)`, or the
same for all, the indices used for nothing else, and what is written touched by the thread of its place alone.
Nests of more loops are joined as far inwards as that holds. `joined` is also how a map over a space of several
dimensions becomes one over its points (`kernels/schedule/cpu/points_as_they_lie.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from ...ir.core import Level
from ...ir.ops import Op
from ...ir.polynomials import add, atom, constant, divided, mul, sub
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Environment, Poly, as_constant
from ..kernel_ir.affine_code import PolyCode
from ..kernel_ir.dead_code import needed
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import For, KArray, Kernel, KIf, KLet, KLoad, KStm, KVar, Operand, Space, Store, Threads
from ..kernel_ir.traverse import Stms, assigned, defined, names, rewritten, statements

Nest = tuple[tuple[KVar, Operand], ...]
"""Indices with how many they are, from the outermost one."""
Fresh = Callable[[str], KVar]
"""Makes a variable of i64."""


def join_rows(kernel: Kernel) -> Kernel:
    """The kernel with such loops joined; the same one where there are none."""
    if not any(isinstance(stm, For) for stm in statements(kernel.body)):
        return kernel
    joiner = _Joiner(Environment(assigned(kernel.body)), NewNames("j", exact=True))
    body = rewritten(kernel.body, joiner.statement)
    return replace(kernel, body=body) if joiner.new.made else kernel


def joined(stms: Stms, nest: Nest, point: KVar, values: Environment, fresh: Fresh) -> Stms | None:
    """What threads of a nest do, by the number of a point of it; None where they do not go by that alone."""
    points = _points(stms, nest, point, values, fresh)
    return None if points is None else points.stms


def joined_apart(stms: Stms, nest: Nest, point: KVar, values: Environment, fresh: Fresh) -> Stms | None:
    """As `joined`, if what is written is touched by the thread of its place alone."""
    points = _points(stms, nest, point, values, fresh)
    return points.stms if points is not None and points.stored and points.are_apart else None


def _points(stms: Stms, nest: Nest, point: KVar, values: Environment, fresh: Fresh) -> _Points | None:
    if not all(isinstance(one, KLet | Store | KIf | For | kir.Declare | kir.Assign) for one in statements(stms)):
        return None
    points = _Points(values.copy(), nest, point, fresh)
    points.values.prims[point.name] = Prim.I64
    used: set[str] = set()
    points.stms = needed(rewritten(stms, points.statement), used)
    return None if used & names(*(index for index, _ in nest)) else points


@dataclass(slots=True)
class _Points:
    """`places`: where what is written is touched, and where all else."""

    values: Environment
    nest: Nest
    point: KVar
    fresh: Fresh
    stms: Stms = ()
    stored: frozenset[KArray] = frozenset()
    places: dict[KArray, list[tuple[Poly, Poly]]] = field(default_factory=dict)

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        """A statement with its access by the number of the point; one that goes another way still uses an index."""
        match stm:
            case KLet(var, KLoad(array, index)):
                at, code = self.place(array, index)
                self.values.note(stm)
                return (*code, KLet(var, KLoad(array, at)))
            case KLet():
                self.values.note(stm)
                return (stm,)
            case Store(array, index):
                self.stored |= {array}
                at, code = self.place(array, index)
                return (*code, replace(stm, index=at))
            case _:
                return None

    def place(self, array: KArray, index: Operand) -> tuple[Operand, list[KStm]]:
        """The index by the number of the point, and the code for it."""
        rest, step, pitch = self.values.of(index), None, constant(1)
        for var, width in reversed(self.nest):
            factor, rest = divided(rest, var.name)
            step = factor if step is None else step
            if factor != mul(pitch, step):
                return index, []
            pitch = mul(pitch, self.values.of(width))
        assert step is not None, "a nest of no loops"
        self.places.setdefault(array, []).append((step, rest))
        if not step:
            return index, []
        code = PolyCode(self.values.prims, self.fresh)
        return code.value(add(mul(step, atom(self.point.name)), rest)), code.out

    @property
    def are_apart(self) -> bool:
        """Is what is written touched by the thread of its place alone?"""
        return all(_is_own(self.places[array]) and array.space is not Space.PRIVATE for array in self.stored)


def _is_own(places: list[tuple[Poly, Poly]]) -> bool:
    """Do the places of different points differ?"""
    (step, first), *_ = places
    offsets = [as_constant(sub(rest, first)) for _, rest in places]
    size = as_constant(step)
    if any(other != step for other, _ in places) or not step or None in offsets:
        return False
    found = [offset for offset in offsets if offset is not None]
    return max(found) == min(found) or (size is not None and max(found) - min(found) < size)


@dataclass(slots=True)
class _Joiner:
    """`values`: of the variables so far."""

    values: Environment
    new: NewNames

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        if isinstance(stm, KLet):
            self.values.note(stm)
        nest, body = _nest(stm) if isinstance(stm, For) else ((), ())
        return self.points(nest, body) if body else None

    def points(self, nest: Nest, body: Stms) -> tuple[KStm, ...] | None:
        """A nest as one loop over threads."""
        inside = names(*(index for index, _ in nest)) | defined(body)
        if any(names(width) & inside or width.prim is not Prim.I64 for _, width in nest):
            return None
        point = self.new.name("t")
        found = joined_apart(body, nest, point, self.values, self.new.name)
        if found is None:
            return None
        out: list[KStm] = []
        (_, count), *others = nest
        for _, width in others:
            count = self.new.let(out, Op.MUL, count, self.natural(out, width))
        return (*out, Threads(point, i64(0), count, found))

    def natural(self, out: list[KStm], width: Operand) -> Operand:
        """A number of indices that is not negative."""
        return width if isinstance(width, Const) and width.value >= 0 else self.new.let(out, Op.MAX, width, i64(0))


def _nest(stm: KStm) -> tuple[Nest, Stms]:
    """Loops that hold nothing but lets and one loop, down to one over threads, and what these do, the lets between
    among that; no body where there is no such nest."""
    match stm:
        case For(index, width, (*before, inner)) if all(isinstance(one, KLet) for one in before):
            nest, body = _nest(inner)
            return ((index, width), *nest), (*before, *body) if body else ()
        case Threads(index, Const(Prim.I64, 0), hi, body, _, Level.THREAD):
            return ((index, hi),), body
        case _:
            return (), ()
