"""Thread loops whose index is divided by a small constant: the elements of each quotient together.

    threads i in lo..hi { .. (i + c) / m .. (i + c) % m .. }                             or k*i + c, or shifts and masks
      ⟶  threads q in ⌈(lo + c)/m⌉ .. ⌊(hi + c)/m⌋ { the body for i = q*m - c, for i = q*m - c + 1, .., each remainder }
          for i in what is left at both ends { as it was }

The quotient counts with the threads and the remainder is known, so that what it chooses is chosen now, and what was a
division and a gather is a vector access: samples that are interleaved or repeated, pixels of a mosaic, places of
blocks of two or four. The copies run statement by statement, and store when all is checked and read, so that
neighbouring elements become rows (`passes/interleave_rows.py`). The order of threads does not matter, so no value
changes. The loop runs as it was where it is short or i + c might wrap, and where no quotient says what is read and
remainders are by powers of two: masks and vectors of remainders are cheaper then than to part and join rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ...ir.ops import DIVISIONS, Op, can_fail, result_type
from ...ir.polynomials import ZERO, divided, sub
from ...ir.records import dataclass
from ...ir.scalar import apply
from ...ir.scalar import constant as constant_of
from ...ir.types import Const, Prim, i64
from ..kernel_ir.affine import Environment, Poly, as_constant
from ..kernel_ir.affine_code import PolyCode
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import BoundsCheck, For, Kernel, KIf, KLet, KLoad, KOp, KStm, KVar, Operand, Store, Threads
from ..kernel_ir.traverse import (
    Renamed,
    assigned,
    defined,
    loaded_arrays,
    operands,
    rewritten,
    statements,
    stored_arrays,
)
from .peel_boundaries import is_plain
from .split_at_multiples import FAR, LoopSplitter, prims_of

MOST_PARTS = 8
"""The largest divisor."""
LEAST_QUOTIENTS = 4
"""Of a loop that is worth it."""
MOST_TIMES = 64
"""What the index is multiplied with at most."""
NEAR = 1 << 20
"""How far numbers that are divided may lie apart."""
MOST = 240
"""Statements of all copies."""
TRUE = Const(Prim.BOOL, True)


def split_residues(kernel: Kernel) -> Kernel:
    """The kernel with the elements of a quotient side by side; the same one where no index is divided."""
    if not any(_divisor(stm) for stm in statements(kernel.body)):
        return kernel
    parts = _Parts(assigned(kernel.body), prims_of(kernel), Environment(), NewNames("p"))
    body = rewritten(kernel.body, parts.statement)
    return replace(kernel, body=body) if parts.new.made else kernel


@dataclass(frozen=True, slots=True)
class _Division:
    """`factor` times the index and `shift` more, divided by `by`: the quotient, or the remainder."""

    factor: int
    shift: Poly
    by: int
    quotient: bool
    signed: bool


def _divides(op: Op, by: int) -> bool:
    """Whether an operation divides by a small number, as shifts and masks do."""
    match op:
        case Op.SHR:
            return 0 < by < MOST_PARTS.bit_length()
        case Op.AND:
            return 0 < by < MOST_PARTS and not by & (by + 1)
        case _:
            return op in DIVISIONS and 2 <= by <= MOST_PARTS


def _divisor(stm: KStm) -> int:
    """The number of an operation that divides by a small one; else 0."""
    match stm:
        case KLet(rhs=KOp(op, Prim.I64, (_, Const(value=int(by))))) if _divides(op, by):
            return by
        case _:
            return 0


def _division(op: Op, factor: int, shift: Poly, by: int) -> _Division:
    """What such an operation is."""
    by = {Op.SHR: 1 << by, Op.AND: by + 1}.get(op, by)
    return _Division(factor, shift, by, op in (Op.DIV, Op.QUOT, Op.SHR), op in (Op.QUOT, Op.REM))


class _Parts(LoopSplitter):
    __slots__ = ()

    def loop(self, stm: Threads) -> tuple[KStm, ...]:
        """The loop with a copy of its body for each remainder, or as it is."""
        found = self.divisions(stm)
        parts = max((one.by for one in found.values()), default=0)
        if not parts or not self.pays(stm, found, parts):
            return (stm,)
        times = max(one.factor for one in found.values())
        first = next(iter(found.values())).shift if times == 1 else ZERO
        near = {var: moved for var, one in found.items() if (moved := as_constant(sub(one.shift, first))) is not None}
        if (
            len(near) < len(found)
            or max(map(abs, near.values())) > NEAR
            or any(parts % one.by for one in found.values())
        ):
            return (stm,)
        code = PolyCode(self.prims, self.new.name)
        shift = code.value(first)
        lowest = max((-(near[var] // one.factor) for var, one in found.items() if one.signed), default=-FAR // times)
        good = self.guard(code, stm, shift, parts, lowest, FAR // times)
        cut = PolyCode(self.prims, self.new.name)
        low = cut.let(Op.DIV, cut.let(Op.ADD, cut.let(Op.ADD, stm.lo, shift), i64(parts - 1)), i64(parts))
        high = cut.let(Op.DIV, cut.let(Op.ADD, stm.hi, shift), i64(parts))
        begin, end = (cut.let(Op.SUB, cut.let(Op.MUL, x, i64(parts)), shift) for x in (low, high))
        q = self.new.name("part", Prim.I64)
        body = self.copies(stm, found, near, q, shift, parts)
        pieces = (*cut.out, Threads(q, low, high, body), *self.ends(stm, begin, end))
        return (*code.out, KIf(good, pieces, (stm,)))

    def divisions(self, stm: Threads) -> dict[KVar, _Division]:
        """What divides the index by a small number."""
        if stm.index.prim is not Prim.I64 or not is_plain(stm.body):
            return {}
        inside = defined(stm.body) | {stm.index.name} | self.mutable
        values, found = self.values.copy(), dict[KVar, _Division]()
        for one in statements(stm.body):
            match one:
                case KLet(var, KOp(op, _, (x, _))) if by := _divisor(one):
                    factor, shift = divided(values.of(x), stm.index.name)
                    times, used = as_constant(factor) or 0, {name for monomial, _ in shift for name in monomial}
                    if used <= self.prims.keys() - inside and 1 <= times <= (1 if used else MOST_TIMES):
                        found[var] = _division(op, times, shift, by)
                case _:
                    pass
            if isinstance(one, KLet):
                values.note(one)
        return found

    def pays(self, stm: Threads, found: Mapping[KVar, _Division], parts: int) -> bool:
        """Whether copies are few, can be made, and do more than to save remainders by powers of two."""
        listed = list(statements(stm.body))
        if parts * len(listed) > MOST or any(isinstance(one, For) for one in listed) or not stores_last(stm.body):
            return False
        varying: set[Operand] = {var for var, one in found.items() if one.quotient}
        for one in listed:
            if isinstance(one, KLet) and not varying.isdisjoint(operands(one)):
                varying.add(one.var)
                if isinstance(one.rhs, KLoad):
                    return True
        return any(one.by & (one.by - 1) for one in found.values())

    def guard(self, code: PolyCode, stm: Threads, shift: Operand, parts: int, least: int, most: int) -> Operand:
        """Whether nothing wraps, the loop is long, and the first is at least `least`, so that what is truncated is not
        negative."""
        low, high = code.let(Op.ADD, stm.lo, shift), code.let(Op.ADD, stm.hi, shift)
        length = code.let(Op.SUB, stm.hi, stm.lo)
        within = (i64(least), low), (high, i64(most)), (i64(LEAST_QUOTIENTS * parts), length)
        return self.all_hold(code, within, TRUE)

    def copies(
        self,
        stm: Threads,
        found: Mapping[KVar, _Division],
        near: Mapping[KVar, int],
        q: KVar,
        shift: Operand,
        parts: int,
    ) -> tuple[KStm, ...]:
        """The body for each remainder, the copies in step."""
        code = PolyCode(self.prims, self.new.name)
        start = code.let(Op.SUB, code.let(Op.MUL, q, i64(parts)), shift)
        quotients = dict[tuple[int, int], Operand]()
        copies: list[_Copy] = []
        for rest in range(parts):
            known: dict[Operand, Operand] = {stm.index: code.let(Op.ADD, start, i64(rest))}
            for var, one in found.items():
                whole, part = divmod(one.factor * rest + near[var], one.by)
                known[var] = i64(part)
                if one.quotient:
                    key = (one.factor * parts // one.by, whole)
                    if key not in quotients:
                        quotients[key] = code.let(Op.ADD, code.let(Op.MUL, q, i64(key[0])), i64(whole))
                    known[var] = quotients[key]
            copies.append(_Copy(Renamed(f".{self.new.name('of', Prim.I64).name}", known), frozenset(found)))
        body = [new for one in stm.body for copy in copies for new in copy.statement(one)]
        return (*code.out, *in_order(body))

    def ends(self, stm: Threads, begin: Operand, end: Operand) -> Iterator[KStm]:
        """What is before the first whole quotient and behind the last, one by one."""
        code = PolyCode(self.prims, self.new.name)
        before = code.let(Op.SUB, begin, stm.lo)
        count = code.let(Op.ADD, before, code.let(Op.SUB, stm.hi, end))
        late = code.let(Op.SUB, end, before)
        yield from code.out
        k, first, start = self.new.name("end"), self.new.name("first", Prim.BOOL), self.new.name("start")
        renamed = Renamed(f".{self.new.name('at', Prim.I64).name}", {})
        at = KLet(renamed.made(stm.index), KOp(Op.ADD, Prim.I64, (start, k), True))
        choice = KLet(first, KOp(Op.LT, Prim.I64, (k, before)))
        chosen = KLet(start, KOp(Op.SELECT, Prim.I64, (first, stm.lo, late)))
        yield For(k, count, (choice, chosen, at, *renamed.rewritten(stm.body)))


@dataclass(slots=True)
class _Copy:
    """The body for a remainder. `known`: variables that have their values already."""

    renamed: Renamed
    known: frozenset[KVar]

    def statement(self, stm: KStm) -> tuple[KStm, ...]:
        """A statement of the copy; nothing where its value is known."""
        match stm:
            case KLet(var) if var in self.known:
                return ()
            case KLet(var, KOp(op, prim, args)) if (value := self.value(op, prim, args)) is not None:
                self.renamed.names[var] = value
                return ()
            case KIf(cond, then, orelse):
                match self.renamed.read(cond):
                    case Const(_, holds):
                        return self.all(then if holds else orelse)
                    case read:
                        return (KIf(read, self.all(then), self.all(orelse)),)
            case _:
                return (self.renamed.statement(stm),)

    def all(self, stms: Iterable[KStm]) -> tuple[KStm, ...]:
        return tuple(new for stm in stms for new in self.statement(stm))

    def value(self, op: Op, prim: Prim, args: tuple[Operand, ...]) -> Const | None:
        """Of an operation on integers and truth values that are known."""
        read = [x.value for x in map(self.renamed.read, args) if isinstance(x, Const)]
        if len(read) < len(args) or can_fail(op, prim) or not (prim.is_int or prim is Prim.BOOL):
            return None
        return constant_of(result_type(op, prim), apply(op, prim, tuple(read)))


def stores_last(stms: Iterable[KStm]) -> bool:
    """Whether no array is read behind a store of it, so that copies may store when all of them have read."""
    written: set[object] = set()
    for one in statements(stms):
        if not written.isdisjoint(loaded_arrays(one)):
            return False
        written.update(stored_arrays(one))
    return True


def in_order(stms: list[KStm]) -> Iterator[KStm]:
    """Each check once, and stores of this list last."""
    seen: set[tuple[Operand, Operand]] = set()
    for one in stms:
        if isinstance(one, BoundsCheck):
            if (one.index, one.size) in seen:
                continue
            seen.add((one.index, one.size))
        if not isinstance(one, Store):
            yield one
    yield from (one for one in stms if isinstance(one, Store))
