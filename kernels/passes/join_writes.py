"""Writes of a scatter to neighbouring places, and those that are left out by their index.

    at = select p (x + i) (-1); if 0 <= at < n { a[at] := v }    ⟶    if p and -x <= i < n - x { a[x + i] := v }

    if c { a[x] := u }; if d { a[x + 1] := v }                   ⟶    store a[x ..] := u, v where c, d

The first where i counts the threads: a masked vector, not a scatter, under bounds of as few bits as a lane has. The
second for elements that no machine scatters, those of less than 32 bits: codes of varying length, digits of numbers,
which the threads have at places of their own (`lanes/partial_rows.py`). It stands where the last of the writes does; in
between the array is not read.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.ops import Op, result_type
from ...ir.polynomials import sub
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..kernel_ir.affine import Environment, Poly
from ..kernel_ir.dead_code import needed
from ..kernel_ir.nodes import KArray, Kernel, KIf, KLet, KOp, KStm, KVar, Operand, Space, Store, StoreSome, Threads
from ..kernel_ir.traverse import assigned, children, loaded_arrays, rewritten, statements, with_children

SCATTERED = 4
"""Bytes of the smallest elements that machines scatter."""
ZERO = i64(0)
ROW = 8
"""The most bytes of a row."""


def join_writes(kernel: Kernel) -> Kernel:
    """The kernel with such writes; the same one where there are none."""
    if not any(isinstance(stm, KIf) and not stm.orelse for stm in statements(kernel.body)):
        return kernel
    writes = _Writes(Environment(assigned(kernel.body)), {})
    body = rewritten(kernel.body, writes.statement)
    return replace(kernel, body=needed(body, set())) if writes.made else kernel


@dataclass(frozen=True, slots=True)
class _Write:
    """`if cond { store }`, a scatter's: at `place`, a polynomial as `poly`, where `chosen` holds, if that is given, and
    the place is in range of `size`, if that is known."""

    cond: Operand
    store: Store
    place: Operand
    poly: Poly
    chosen: Operand | None
    size: Operand | None


@dataclass(slots=True)
class _Writes:
    """What is known of values, and the operations that they are; how many names were made, and whether writes were."""

    values: Environment
    made_by: dict[str, KOp]
    names: int = 0
    made: bool = False

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        if isinstance(stm, KLet):
            self.note(stm)
        if not isinstance(stm, Threads):
            return None
        loaded = frozenset(array for one in statements(stm.body) for array in loaded_arrays(one))
        return (replace(stm, body=self.body(stm.body, stm.index, loaded)),)

    def note(self, let: KLet) -> None:
        self.values.note(let)
        if isinstance(let.rhs, KOp):
            self.made_by[let.var.name] = let.rhs

    def body(self, stms: tuple[KStm, ...], thread: KVar, loaded: frozenset[KArray]) -> tuple[KStm, ...]:
        """A list of statements inside of a loop over threads."""
        out: list[KStm] = []
        pending: list[_Write] = []
        for stm in stms:
            match stm:
                case KLet():
                    self.note(stm)
                    out.append(stm)
                case KIf(cond, (Store(array) as store,), ()) if array not in loaded and array.space is Space.GLOBAL:
                    if pending and (array.prim.bytes >= SCATTERED or array != pending[-1].store.array):
                        self.flush(pending, thread, out)
                    pending.append(self.write(store, cond, out))
                case _:
                    self.flush(pending, thread, out)
                    out.append(with_children(stm, [self.body(inner, thread, loaded) for inner in children(stm)]))
        self.flush(pending, thread, out)
        return tuple(out)

    def write(self, store: Store, cond: Operand, out: list[KStm]) -> _Write:
        """A store under a condition, which may be that a choice gives a place in range."""
        size, place, chosen = self.bound(cond, store.index), store.index, None
        match self.operation(place) if size is not None else None:
            case KOp(Op.SELECT, Prim.I64, (where, x, Const(value=int(value)))) if value < 0:
                place, chosen = x, where
            case KOp(Op.SELECT, Prim.I64, (where, Const(value=int(value)), x)) if value < 0:
                place, chosen = x, self.op(out, Op.NOT, Prim.BOOL, where)
            case _:
                pass
        return _Write(cond, store, place, self.values.of(place), chosen, size)

    def bound(self, cond: Operand, index: Operand) -> Operand | None:
        """The size of which a condition says that the index is below it and not negative."""
        match self.operation(cond):
            case KOp(Op.AND, Prim.BOOL, (low, high)):
                match self.operation(low), self.operation(high):
                    case KOp(Op.GE, Prim.I64, (x, Const(value=0))), KOp(Op.LT, Prim.I64, (y, size)):
                        return size if x == y == index else None
                    case _:
                        return None
            case _:
                return None

    def operation(self, x: Operand) -> KOp | None:
        return self.made_by.get(x.name) if isinstance(x, KVar) else None

    def flush(self, writes: list[_Write], thread: KVar, out: list[KStm]) -> None:
        """Writes to one array, as one where they stand one behind the other."""
        if not writes:
            return
        places = {_number(sub(write.poly, writes[0].poly)): write for write in writes}
        first = min((place for place in places if place is not None), default=0)
        row = [places[k] for k in range(first, first + len(writes)) if k in places]
        if 1 < len(row) == len(writes) <= ROW // row[0].store.array.prim.bytes:
            self.made = True
            keeps = tuple(self.inside(out, one) for one in row)
            out.append(StoreSome(row[0].store.array, row[0].place, tuple(one.store.value for one in row), keeps))
        else:
            out += [self.alone(out, write, thread) for write in writes]
        writes.clear()

    def inside(self, out: list[KStm], write: _Write) -> Operand:
        """The condition of a write, by its place."""
        if write.chosen is None or write.size is None:
            return write.cond
        low, high = (
            self.op(out, Op.GE, Prim.I64, write.place, ZERO),
            self.op(out, Op.LT, Prim.I64, write.place, write.size),
        )
        return self.op(out, Op.AND, Prim.BOOL, self.op(out, Op.AND, Prim.BOOL, write.chosen, low), high)

    def alone(self, out: list[KStm], write: _Write, thread: KVar) -> KStm:
        """A write by itself; where the place is a number and the thread's index, which wraps around in no range, it is
        the index that is in range."""
        terms = dict(write.poly)
        counts = terms.pop((thread.name,), 0) == 1 and not any(thread.name in monomial for monomial in terms)
        if write.size is None or not counts:
            return KIf(write.cond, (write.store,), ())
        self.made = True
        start = self.op(out, Op.SUB, Prim.I64, write.place, thread)
        low, high = self.op(out, Op.SUB, Prim.I64, ZERO, start), self.op(out, Op.SUB, Prim.I64, write.size, start)
        low, high = self.op(out, Op.GE, Prim.I64, thread, low), self.op(out, Op.LT, Prim.I64, thread, high)
        keep = self.op(out, Op.AND, Prim.BOOL, low, high)
        if write.chosen is not None:
            keep = self.op(out, Op.AND, Prim.BOOL, write.chosen, keep)
        return KIf(keep, (replace(write.store, index=write.place),), ())

    def op(self, out: list[KStm], op: Op, prim: Prim, *args: Operand) -> KVar:
        """An operation on values of a type."""
        self.names += 1
        made = KVar(f"at.w{self.names}", result_type(op, prim))
        out.append(KLet(made, KOp(op, prim, args)))
        return made


def _number(poly: Poly) -> int | None:
    """A polynomial that is a number."""
    match poly:
        case ():
            return 0
        case (((), number),):
            return number
        case _:
            return None
