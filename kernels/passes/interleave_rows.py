"""Neighbouring elements at a constant stride over the threads, as rows.

    threads i { x = a[3*i]; y = a[3*i + 1]; z = a[3*i + 2]; .. b[2*i] := u; b[2*i + 1] := v }
      ⟶  threads i { (x, y, z) = a[3*i ..]; .. b[2*i ..] := (u, v) }

So in reductions and scans. In lanes, each of these is a gather or a scatter; a row is read and written by whole vectors
(`lanes/interleaved.py`). A row begins where the first of its loads stands, or where the last of its stores does: the
array is not written, or not read, in the loop, and no check stands between, since a row reads nothing that the program
does not.

    threads i { j = js[i]; check 0 <= j < n; x = a[j]; check 0 <= j + 1 < n; y = a[j + 1]; .. }
      ⟶  threads i { j = js[i]; check 0 <= j < n; check 0 <= j + 1 < n; (x, y) = a[j ..]; .. }

Neighbours at a place that only the lane knows (points by number, corners of a cell) are one load for each lane, which
are transposed. Checks move before what they do not need for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.ops import Op
from ...ir.polynomials import constant, sub
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..analysis.small_tables import small_tables
from ..analysis.uniformity import Affine, Varying, depending, find_facts, loaded_names
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Environment, Poly
from ..kernel_ir.nodes import (
    KArray,
    KConvert,
    Kernel,
    KLet,
    KLoad,
    KOp,
    KStm,
    KVar,
    LoadRow,
    Operand,
    PeeledThreads,
    Space,
    Store,
    StoreRow,
    Threads,
)
from ..kernel_ir.traverse import (
    all_statements,
    assigned,
    children,
    defined,
    loaded_arrays,
    names,
    operands,
    rewritten,
    statements,
    stored_arrays,
    with_children,
)
from .tile_rows import tiled_accesses

WIDEST, PICKED = 64, 8
"""The largest stride of a row, and of one whose columns are picked by shuffles each for itself."""
LONE = 4
"""The largest stride of an element that has no neighbours."""
APART, APART_BYTES = 8, 4
"""The longest row at a place that only the lane knows, and the bytes of the smallest elements that have such rows."""


def interleave_rows(kernel: Kernel) -> Kernel:
    """The kernel with its strided accesses in rows; the same one where there are none."""
    rows = _Rows(kernel, Environment(assigned(kernel.body), divides=True), assigned(kernel.body))
    body = rewritten(kernel.body, rows.statement)
    return replace(kernel, body=body) if rows.made else kernel


@dataclass(frozen=True, slots=True)
class _Access:
    """A load or store: the number of its statement, and its place, `rest + offset`, `stride` apart from thread to
    thread; None: wherever the thread says."""

    number: int
    array: KArray
    at: Operand
    rest: Poly
    offset: int
    stride: int | None


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop over threads, a reduction or a scan: its index, the variables that it makes, this among them, the arrays
    that it writes and those that it reads."""

    index: str
    inside: frozenset[str]
    stored: frozenset[KArray]
    loaded: frozenset[KArray]


@dataclass(slots=True)
class _Rows:
    """`mutable`: variables that are assigned; `made` counts the names made; `apart`: variables that lanes load one by
    one, once they are asked for."""

    kernel: Kernel
    values: Environment
    mutable: frozenset[str]
    made: int = 0
    apart: frozenset[str] | None = None

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        """Outside of loops over threads, reductions and scans."""
        if isinstance(stm, KLet):
            self.values.note(stm)
        if not isinstance(stm, Threads | PeeledThreads | kir.BlockReduce | kir.BlockScan):
            return None
        inside = [one for body in children(stm) for one in statements(body)]
        stored = frozenset(array for one in inside for array in stored_arrays(one))
        loaded = frozenset(array for one in inside for array in loaded_arrays(one))
        loop = _Loop(stm.index.name, defined((stm,)), stored, loaded)
        return (with_children(stm, [self.body(body, loop) for body in children(stm)]),)

    def body(self, stms: tuple[KStm, ...], loop: _Loop) -> tuple[KStm, ...]:
        """A list of statements: the runs of straight code without checks in it, and what is inside of the others."""
        out: list[KStm] = []
        run: list[KStm] = []
        accesses: list[_Access] = []
        for stm in self.checks_first(stms, loop):
            if not isinstance(stm, KLet | Store | kir.Note):
                out += (*self.run(run, accesses, loop), self.inside(stm, loop))
                run, accesses = [], []
                continue
            access = self.access(len(run), stm, loop)
            accesses += (access,) if access is not None else ()
            run.append(stm)
            if isinstance(stm, KLet):
                self.values.note(stm)
        return (*out, *self.run(run, accesses, loop))

    def inside(self, stm: KStm, loop: _Loop) -> KStm:
        if isinstance(stm, kir.For | kir.KIf | kir.KWhile):
            return with_children(stm, [self.body(inner, loop) for inner in children(stm)])
        return stm

    def access(self, number: int, stm: KStm, loop: _Loop) -> _Access | None:
        """None where it is none, or not at a constant stride over the threads."""
        match stm:
            case KLet(_, KLoad(array, at)) if array not in loop.stored:
                pass
            case Store(array, at) if array not in loop.loaded:
                pass
            case _:
                return None
        where = self.values.of(at)
        poly = dict(where)
        stride, offset = poly.get((loop.index,), 0), poly.get((), 0)
        alone = sum(loop.index in monomial for monomial in poly) == 1
        others = self.values.mentioned(tuple((part, one) for part, one in where if part != (loop.index,)))
        rest = sub(where, constant(offset))
        if array.space is not Space.GLOBAL or others & self.mutable:
            return None
        if alone and 2 <= stride <= WIDEST and not others & loop.inside:
            return _Access(number, array, at, rest, offset, stride)
        return _Access(number, array, at, rest, offset, None) if isinstance(stm, KLet) else None

    def checks_first(self, stms: tuple[KStm, ...], loop: _Loop) -> tuple[KStm, ...]:
        """A list whose straight code has its checks, in order, before all that they do not need, where elements at
        places of the thread's own are neighbours beyond a check."""
        out, run = list[KStm](), list[KStm]()
        for stm in (*stms, None):
            if isinstance(stm, KLet | kir.Note | kir.Check | kir.BoundsCheck):
                run.append(stm)
                if isinstance(stm, KLet):
                    self.values.note(stm)
                continue
            loads = (self.access(k, one, loop) for k, one in enumerate(run) if isinstance(one, KLet))
            rows = _rows(one for one in loads if one is not None and one.stride is None)
            out += _checks_first(run) if any(self.are_apart(row, run) for row in rows) else run
            out += (stm,) if stm is not None else ()
            run = []
        return tuple(out)

    def are_apart(self, row: list[_Access], run: list[KStm]) -> bool:
        """Whether lanes would load what is a row for each of them one by one: at places that are loaded, or come of
        floats, or whose distance is not known."""
        if not _pays(row):
            return False
        if self.apart is None:
            self.apart = _loaded_apart(self.kernel)
        return all(stm.var.name in self.apart for one in row if isinstance(stm := run[one.number], KLet))

    def run(self, stms: list[KStm], accesses: list[_Access], loop: _Loop) -> list[KStm]:
        """Straight code with its rows."""
        placed: dict[int, list[KStm]] = {}
        for row in _rows(one for one in accesses if isinstance(stms[one.number], KLet)):
            if _pays(row) and (row[0].stride is not None or self.are_apart(row, stms)):
                placed |= {one.number: [] for one in row} | {min(one.number for one in row): self.load(row, stms)}
        for row in _rows(one for one in accesses if isinstance(stms[one.number], Store)):
            if [one.offset - row[0].offset for one in row] == list(range(row[0].stride)):
                placed |= {one.number: [] for one in row} | {max(one.number for one in row): self.store(row, stms)}
        return [new for k, stm in enumerate(stms) for new in placed.get(k, (stm,))]

    def load(self, row: list[_Access], stms: list[KStm]) -> list[KStm]:
        first = min(row, key=lambda one: one.number)
        at, out = self.moved(first, row[0].offset)
        found: dict[int, KVar] = {}
        again: list[KStm] = []
        for one in row:
            stm = stms[one.number]
            assert isinstance(stm, KLet)
            if one.offset in found:
                again.append(KLet(stm.var, KConvert(one.array.prim, one.array.prim, found[one.offset])))
            else:
                found[one.offset] = stm.var
        places = range(row[0].offset, row[-1].offset + 1)
        vars_ = tuple(found.get(place) or self.name("unused", row[0].array.prim) for place in places)
        return [*out, LoadRow(vars_, first.array, at), *again]

    def store(self, row: list[_Access], stms: list[KStm]) -> list[KStm]:
        last = max(row, key=lambda one: one.number)
        at, out = self.moved(last, row[0].offset)
        values = [stm.value for one in row if isinstance(stm := stms[one.number], Store)]
        return [*out, StoreRow(last.array, at, tuple(values))]

    def moved(self, access: _Access, offset: int) -> tuple[Operand, list[KStm]]:
        """The index of an access at another offset of its row, and what computes it."""
        self.made += 1
        if offset == access.offset:
            return access.at, []
        at = self.name("row", Prim.I64)
        return at, [KLet(at, KOp(Op.ADD, Prim.I64, (access.at, i64(offset - access.offset)), True))]

    def name(self, base: str, prim: Prim) -> KVar:
        self.made += 1
        return KVar(f"{base}_i{self.made}", prim)


def _pays(row: list[_Access]) -> bool:
    """Whether loads have neighbours enough: of a long row, all of its columns are made."""
    stride, span, count = row[0].stride, row[-1].offset - row[0].offset, len({one.offset for one in row})
    if stride is None:
        return count > 1 and span < 2 * count
    if stride > PICKED:
        return max(LONE, span) < LONE * count
    return stride <= LONE * max(1, span)


def _rows(accesses: Iterable[_Access]) -> list[list[_Access]]:
    """Accesses of one array whose places are less than a stride apart, by place."""
    rows: list[list[_Access]] = []
    for one in sorted(accesses, key=lambda one: (one.array.name, one.rest, one.offset)):
        row = rows[-1] if rows else [one]
        most = row[0].offset + (one.stride or APART)
        if (
            rows
            and (one.array, one.rest, one.stride) == (row[0].array, row[0].rest, row[0].stride)
            and one.offset < most
        ):
            row.append(one)
        else:
            rows.append([one])
    return rows


def _checks_first(stms: list[KStm]) -> list[KStm]:
    """Straight code, each check as early as what it needs and the checks before it let it."""
    first, keys = dict[str, int](), [len(stms)] * (len(stms) + 1)
    for k, stm in reversed([*enumerate(stms)]):
        match stm:
            case KLet(var):
                keys[k] = first.get(var.name, len(stms))
            case kir.Note():
                keys[k] = keys[k + 1]
            case _:
                keys[k] = k
        first |= {name: min(keys[k], first.get(name, len(stms))) for name in names(*operands(stm))}
    return [stms[k] for k in sorted(range(len(stms)), key=keys.__getitem__)]


def _loaded_apart(kernel: Kernel) -> frozenset[str]:
    """The variables that lanes load one by one, whatever their places are: neither from a small table nor in tiles.
    A table whose size the call gives, and which a row could be read of, is mostly none."""
    stms, facts = tuple(all_statements(kernel.body)), find_facts(kernel.body)
    floats = (s.var.name for s in stms if isinstance(s, KLet) and isinstance(s.rhs, KConvert) and s.rhs.source.is_float)
    anywhere = depending(stms, (*loaded_names(stms), *floats))
    tables = {array for array, size in small_tables(kernel, facts).items() if isinstance(size, Const)}
    found = set[str]()
    for stm in stms:
        match stm:
            case KLet(var, KLoad(array, KVar(at) as place)) if array.prim.bytes >= APART_BYTES and array not in tables:
                across = facts.of(place)
                if (isinstance(across, Varying) and at in anywhere) or across == Affine(None):
                    found.add(var.name)
            case _:
                pass
    return frozenset(found - tiled_accesses(kernel, facts))
