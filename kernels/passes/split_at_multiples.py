"""Thread loops and scans whose index is divided, or wraps around: a piece for each quotient.

    threads i in lo..hi { .. (i + c) / m .. a[(i + c) % m] .. }
      ⟶  for q from (lo + c) / m to (hi - 1 + c) / m
            threads i in max lo (q*m - c) .. min hi ((q+1)*m - c) { .. q .. a[i + c - q*m] .. }

In a piece the quotient is the same for all threads and the remainder counts with them, so that what was a division and
a gather is a plain vector access. Several divisions nest. So do comparisons `i + c >= u` where c is only known before
the loop: they have two pieces. So have comparisons of the index itself that decide between two computations, as in rows
that are concatenated, where both pieces are long. The loop runs as it was where m is small, or where i + c or a bound
might wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ...ir.ops import DIVISIONS, Op
from ...ir.polynomials import atom, sub
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Environment, Poly
from ..kernel_ir.affine_code import PolyCode
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import (
    Assign,
    BlockScan,
    Declare,
    KConvert,
    Kernel,
    KIf,
    KLet,
    KOp,
    KStm,
    KVar,
    Operand,
    Threads,
)
from ..kernel_ir.traverse import Renamed, assigned, bound, bound_inside, defined, loaded_arrays, rewritten, statements
from .hoist_invariants import divided
from .peel_boundaries import MOST, is_plain

LEAST, LEAST_CONSTANT, LEAST_MASK = 9, 16, 32
"""The least divisor for which pieces are worth it (`split_residues.py` has small constants, `lanes/windows.py` other
numbers); the least constant, since dividing by one is a multiplication; and the least constant power of two whose
remainders are no matter of masks."""
MOST_CUTS = 4
"""Divisions of other numbers in a loop, for which pieces nest."""
LEAST_SCANNED = 32
"""The least divisor for pieces of a scan, each of which ends with a part of a vector."""
FAR = 1 << 61
"""Beyond every index: below it, sums of a few numbers do not wrap."""

REACHED = {Op.GE: 0, Op.GT: 1, Op.LT: 0, Op.LE: 1}
"""Comparisons `x op u`, which change at u + this."""
TRUE, FALSE = Const(Prim.BOOL, True), Const(Prim.BOOL, False)

Pair = tuple[Operand, Operand]
Rule = Callable[[KStm], tuple[KStm, ...] | None]
"""What a statement of a body becomes in a piece; None: what it is, with the statements inside rewritten."""
Piece = Callable[[Operand, Operand, Rule], list[KStm]]
"""The piece between two bounds."""


def split_at_multiples(kernel: Kernel) -> Kernel:
    """The kernel with its thread loops in pieces where that removes divisions; the same one where there are none."""
    splitter = _Splitter(assigned(kernel.body), prims_of(kernel), Environment(divides=True), NewNames("s"))
    body = rewritten(kernel.body, splitter.statement)
    return replace(kernel, body=body) if splitter.new.made else kernel


@dataclass(frozen=True, slots=True)
class _Cut:
    """What cuts a loop: x = index + `shift`, divided by `by`, or where it reaches `by` + `late` (None: divided).
    `signed`: x may be negative; `long`: both pieces have `LEAST` elements."""

    shift: Poly
    by: Operand
    late: int | None
    signed: bool = False
    long: bool = False


Cuts = dict[str, _Cut]
"""The cuts by the names of the variables that they make uniform, or count."""


@dataclass(slots=True)
class LoopSplitter:
    """A rewriting of the loops over threads of a kernel. `mutable`: variables that are assigned; `prims`: the types of
    all; `values`: what is known of them."""

    mutable: frozenset[str]
    prims: Mapping[str, Prim]
    values: Environment
    new: NewNames

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        """What a statement becomes; None: what it is, with the statements inside rewritten."""
        if isinstance(stm, KLet):
            self.values.note(stm)
        match stm:
            case Threads():
                return self.loop(stm)
            case BlockScan():
                return self.scan(stm)
            case _:
                return None

    def loop(self, stm: Threads) -> tuple[KStm, ...]:
        """What a loop over threads becomes."""
        raise NotImplementedError

    def scan(self, stm: BlockScan) -> tuple[KStm, ...] | None:
        """What a scan becomes."""
        return None

    def all_hold(self, code: PolyCode, within: Iterable[tuple[Operand, Operand]], good: Operand) -> Operand:
        """Whether `good` holds, and x <= y for all of these."""
        for x, y in within:
            holds, both = self.new.name("holds", Prim.BOOL), self.new.name("good", Prim.BOOL)
            code.out.append(KLet(holds, KOp(Op.LE, Prim.I64, (x, y))))
            code.out.append(KLet(both, KOp(Op.AND, Prim.BOOL, (good, holds))))
            good = both
        return good


class _Splitter(LoopSplitter):
    __slots__ = ()

    def loop(self, stm: Threads) -> tuple[KStm, ...]:
        """The loop in pieces, or as it is."""

        def piece(lo: Operand, hi: Operand, rule: Rule) -> list[KStm]:
            return [replace(stm, lo=lo, hi=hi, body=rewritten(stm.body, rule))]

        return tuple(self.pieces(stm, self.cuts(stm), piece)) or (stm,)

    def scan(self, stm: BlockScan) -> tuple[KStm, ...] | None:
        """The scan in pieces, each from the total so far, or as it is."""
        divided = {name: cut for name, cut in self.cuts(stm).items() if cut.late is None}
        if not divided or not is_plain(stm.after) or any(x.prim.is_float for x in stm.op.left):
            return None
        totals = [self.new.name("sofar", x.prim) for x in stm.carry_out]

        def piece(lo: Operand, hi: Operand, rule: Rule) -> list[KStm]:
            before, behind = ([self.new.name("total", x.prim) for x in totals] for _ in range(2))
            bounds, body = {"lo": lo, "hi": hi}, rewritten(stm.body, rule)
            part = replace(stm, **bounds, body=body, carry=tuple(before), carry_out=tuple(behind))
            return [*map(copied, before, totals), part, *map(Assign, totals, behind)]

        pieces = self.pieces(stm, divided, piece)
        return (*map(Declare, totals, stm.carry), *pieces, *map(copied, stm.carry_out, totals)) if pieces else None

    def pieces(self, stm: Threads | BlockScan, found: Cuts, piece: Piece) -> list[KStm]:
        """The pieces where what is found cuts a loop, which is else as it was; none where that cuts it nowhere."""
        cuts, code = tuple(dict.fromkeys(found.values())), PolyCode(self.prims, self.new.name)
        if not cuts or len(cuts) > MOST_CUTS:
            return []
        shifts = tuple(code.value(cut.shift) for cut in cuts)
        good = self.guard(code, stm, cuts, shifts)
        pieces = _Pieces(self, found, cuts, shifts, piece).nest(0, stm.lo, stm.hi, ())
        return [*code.out, KIf(good, tuple(pieces), tuple(piece(stm.lo, stm.hi, lambda _: None)))]

    def cuts(self, stm: Threads | BlockScan) -> Cuts:
        """What cuts a loop by the names of what it decides."""
        if stm.index.prim is not Prim.I64 or not is_plain(stm.body) or sum(1 for _ in statements(stm.body)) > MOST:
            return {}
        inside = defined(stm.body) | {stm.index.name} | self.mutable
        values = self.values.copy()
        found: Cuts = {}
        choices = choosing(stm.body)

        def outside(x: Operand) -> bool:
            return isinstance(x, Const) or x.name not in inside

        for one in statements(stm.body):
            match one:
                case KLet(var, KOp(op, Prim.I64, (x, by))) if (op in DIVISIONS or op in REACHED) and outside(by):
                    shift = sub(values.of(x), atom(stm.index.name))
                    names = {name for monomial, _ in shift for name in monomial}
                    if all(name in self.prims and name not in inside for name in names):
                        if op in DIVISIONS and is_wide(op, by):
                            found[var.name] = _Cut(shift, by, None, op in (Op.QUOT, Op.REM))
                        elif op in REACHED and (names or var in choices):
                            found[var.name] = _Cut(shift, by, REACHED[op], long=not names)
                case _:
                    pass
            if isinstance(one, KLet):
                values.note(one)
        return found

    def guard(
        self, code: PolyCode, stm: Threads | BlockScan, cuts: Iterable[_Cut], shifts: Iterable[Operand]
    ) -> Operand:
        """Whether nothing wraps, divisors are long, and what is truncated is not negative."""
        good: Operand = TRUE
        shortest = LEAST if isinstance(stm, Threads) else LEAST_SCANNED
        last = code.let(Op.SUB, stm.hi, i64(1))
        for cut, shift in zip(cuts, shifts, strict=True):
            low, high = code.let(Op.ADD, stm.lo, shift), code.let(Op.ADD, last, shift)
            least = 0 if cut.signed else -FAR
            within = [(low, high), (i64(least), low), (high, i64(FAR)), (cut.by, i64(FAR))]
            within.append((i64(-FAR if cut.late is not None else shortest), cut.by))
            if cut.long:
                place = code.let(Op.SUB, cut.by, shift)
                within.append((code.let(Op.ADD, stm.lo, i64(LEAST)), place))
                within.append((place, code.let(Op.SUB, stm.hi, i64(LEAST))))
            good = self.all_hold(code, within, good)
        return good


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The pieces of a loop under construction; `piece`: one of them."""

    names: _Splitter
    found: Cuts
    cuts: tuple[_Cut, ...]
    shifts: tuple[Operand, ...]
    piece: Piece

    def nest(self, k: int, lo: Operand, hi: Operand, known: tuple[Pair, ...]) -> list[KStm]:
        """The loop from `lo` to `hi` in the pieces of the cuts from number k on; `known`: of each cut before, the
        quotient and its multiple, or whether the bound is reached."""
        if k == len(self.cuts):
            by_cut, decided = dict(zip(self.cuts, known, strict=True)), dict[Operand, bool]()
            return self.piece(lo, hi, lambda one: self.simpler(one, by_cut, decided))
        cut, shift = self.cuts[k], self.shifts[k]
        before = PolyCode(self.names.prims, self.names.new.name)
        if cut.long:
            place = before.let(Op.SUB, before.let(Op.ADD, cut.by, i64(cut.late or 0)), shift)
            early = self.nest(k + 1, lo, before.let(Op.MIN, hi, place), (*known, (FALSE, FALSE)))
            late = self.nest(k + 1, before.let(Op.MAX, lo, place), hi, (*known, (TRUE, TRUE)))
            renamed = Renamed(f".{self.names.new.name('late', Prim.I64).name}", {})
            return [*before.out, *early, *renamed.rewritten(late)]
        code = PolyCode(self.names.prims, self.names.new.name)
        piece = self.names.new.name("piece", Prim.I64)
        if cut.late is None:
            first = divided(before.let(Op.ADD, lo, shift), cut.by, before.out, self.names.new.name)
            last = divided(
                before.let(Op.ADD, before.let(Op.SUB, hi, i64(1)), shift), cut.by, before.out, self.names.new.name
            )
            count: Operand = before.let(Op.ADD, before.let(Op.SUB, last, first), i64(1))
            quotient = code.let(Op.ADD, first, piece)
            multiple = code.let(Op.MUL, quotient, cut.by)
            start = code.let(Op.SUB, multiple, shift)
            a, b = code.let(Op.MAX, lo, start), code.let(Op.MIN, hi, code.let(Op.ADD, start, cut.by))
            pair: Pair = (quotient, multiple)
        else:
            count, reached = i64(2), self.names.new.name("reached", Prim.BOOL)
            place = before.let(Op.SUB, before.let(Op.ADD, cut.by, i64(cut.late)), shift)
            late, early = before.let(Op.MAX, lo, place), before.let(Op.MIN, hi, place)
            code.out.append(KLet(reached, KOp(Op.EQ, Prim.I64, (piece, i64(1)))))
            a, b = self.names.new.name("t", Prim.I64), self.names.new.name("t", Prim.I64)
            code.out.append(KLet(a, KOp(Op.SELECT, Prim.I64, (reached, late, lo))))
            code.out.append(KLet(b, KOp(Op.SELECT, Prim.I64, (reached, hi, early))))
            pair = (reached, reached)
        inner = self.nest(k + 1, a, b, (*known, pair))
        return [*before.out, kir.For(piece, count, (*code.out, *inner))]

    def simpler(self, stm: KStm, known: Mapping[_Cut, Pair], decided: dict[Operand, bool]) -> tuple[KStm, ...] | None:
        """A division or comparison as it is in the piece, and of what it decides the side that is taken."""
        match stm:
            case KLet(var, KOp(op, _, (x, _))) if var.name in self.found:
                first, multiple = known[self.found[var.name]]
            case KIf(cond, then, orelse) if cond in decided:
                return rewritten(then if decided[cond] else orelse, lambda one: self.simpler(one, known, decided))
            case _:
                return None
        if isinstance(first, Const):
            decided[var] = (first == TRUE) == (op in (Op.GE, Op.GT))
        match op:
            case Op.DIV | Op.QUOT:
                return (KLet(var, KConvert(Prim.I64, Prim.I64, first)),)
            case Op.MOD | Op.REM:
                return (KLet(var, KOp(Op.SUB, Prim.I64, (x, multiple), True)),)
            case Op.GE | Op.GT:
                return (KLet(var, KConvert(Prim.BOOL, Prim.BOOL, first)),)
            case _:
                return (KLet(var, KOp(Op.NOT, Prim.BOOL, (first,))),)


def copied(var: KVar, value: KVar) -> KLet:
    """A variable for the value that another one has now."""
    return KLet(var, KConvert(var.prim, var.prim, value))


def is_wide(op: Op, by: Operand) -> bool:
    """Whether pieces for each quotient by a number may be worth it."""
    if not isinstance(by, Const):
        return True
    number = int(by.value)
    return number >= (LEAST_CONSTANT if number & (number - 1) or op in (Op.DIV, Op.QUOT) else LEAST_MASK)


def choosing(stms: Iterable[KStm]) -> set[Operand]:
    """The conditions that decide whether a computation reads memory."""
    return {
        stm.cond
        for stm in statements(stms)
        if isinstance(stm, KIf) and any(any(map(loaded_arrays, side)) for side in (stm.then, stm.orelse))
    }


def prims_of(kernel: Kernel) -> dict[str, Prim]:
    """The types of all variables of a kernel."""
    made = [var for stm in statements(kernel.body) for var in (*bound(stm), *bound_inside(stm))]
    return {var.name: var.prim for var in (kernel.block, *kernel.scalars, *made)}
