"""What a kernel's phases touch: the memory accesses of a thread loop, a collective or a uniform statement.

Values that a loop of the block computes anew in each iteration carry the number of the pass in their names, so that
two accesses of different iterations are not taken to use the same ones.

Arrays of the block's stack (`kernel_ir/shared_stack.py`) that are not there at the same time may have the same bytes.
Where one is depends on what is below it alone: its *place* is the sequence of the sizes of all arrays on the stack
when it was taken, and its own. Of two arrays

    s1 .. sm  and  s1 .. sm .. sn        are both there: their bytes are their own
    s1 .. sm x  and  s1 .. sm y          begin at the same byte: element i is element i, if elements are of one size
    else                                 any element of one may be any of the other
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from enum import Enum

from ...ir.ops import Op
from ...ir.polynomials import ZERO, add, atom, constant, sub
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import (
    Digit,
    Environment,
    Form,
    Poly,
    as_constant,
    disjoint,
    first_thread,
    form_of,
    name_of,
    same_thread,
)
from ..kernel_ir.execution import Who, solo
from ..kernel_ir.nodes import KArray, KStm, Operand, Space
from ..kernel_ir.shared_stack import is_on_block_stack
from ..kernel_ir.traverse import statements

Path = tuple[tuple[int, int], ...]
"""Where a statement stands: for each list on the way, (number of the list in its statement, position)."""


Place = tuple[tuple[Poly, int], ...]
"""Where an array of the block's stack is: counts and sizes of elements of all below it, and its own."""


class Effect(Enum):
    """What an access does to an element."""

    READ = "read"
    WRITE = "write"
    ATOMIC = "atomic"


@dataclass(frozen=True, slots=True)
class Touch:
    """One access site, as executed in one pass. `carried`: the loop whose earlier iteration it belongs to. `skipped`:
    the bounds of loops that it has passed without an iteration, so that they are 0. `place`: that of an array of the
    block's stack; others have memory of their own."""

    array: KArray
    effect: Effect
    who: Who
    form: Form | None
    path: Path
    carried: Path | None
    skipped: frozenset[Poly]
    place: Place | None


def conflict(x: Touch, y: Touch) -> bool:
    """May two threads touch the same element, in an order that matters?"""
    if x.effect is Effect.READ is y.effect or x.who is Who.LEADER is y.who or never(x.skipped, y.form):
        return False
    match overlap(x, y):
        case Overlap.NONE:
            return False
        case Overlap.ANY:
            return True
        case Overlap.ELEMENTS:
            return elements_conflict(x, y)


class Overlap(Enum):
    """What two arrays have in common."""

    NONE = "nothing"
    ELEMENTS = "each element, or nothing"
    ANY = "any bytes"


def overlap(x: Touch, y: Touch) -> Overlap:
    """What the arrays of two accesses have in common: by their places on the block's stack, else by identity."""
    if x.place is None or y.place is None:
        return Overlap.ELEMENTS if x.array == y.array else Overlap.NONE
    shorter, longer = sorted((x.place, y.place), key=len)
    if len(shorter) < len(longer) and longer[: len(shorter)] == shorter:
        return Overlap.NONE
    same = x.place[:-1] == y.place[:-1] and x.array.prim.bytes == y.array.prim.bytes
    return Overlap.ELEMENTS if same else Overlap.ANY


def elements_conflict(x: Touch, y: Touch) -> bool:
    """May two threads touch the element of one index, in an order that matters?"""
    if disjoint(x.form, y.form) or (x.array == y.array and x.effect is Effect.ATOMIC is y.effect):
        return False
    match x.who, y.who:
        case Who.EACH, Who.EACH:
            return not same_thread(x.form, y.form)
        case Who.LEADER, Who.EACH:
            return not first_thread(x.form, y.form)
        case Who.EACH, Who.LEADER:
            return not first_thread(y.form, x.form)
        case _:
            return True


def never(skipped: frozenset[Poly], form: Form | None) -> bool:
    """Is an access with this index not executed, since one of its loops has the bound of one that was skipped?"""
    return form is not None and any(digit.bound in skipped for _, digit in form.digits)


@dataclass(slots=True)
class Values(Environment):
    """What is known of the values at a point: the polynomial of each variable, the digits, what varies over
    threads, what no value of a name exceeds. `published`: the global arrays that a flag may speak of, so that what
    threads have written there must be the first thread's before it publishes. `stack`: the place of the last array on
    the block's stack; `places`: those of all that were taken."""

    digits: dict[str, Digit] = field(default_factory=dict)
    varying: set[str] = field(default_factory=set)
    most: dict[str, int] = field(default_factory=dict)
    number: int = 0
    published: frozenset[KArray] = frozenset()
    stack: Place = ()
    places: dict[KArray, Place] = field(default_factory=dict)

    def take(self, array: KArray, count: Operand) -> None:
        """An array comes onto the block's stack."""
        self.stack = self.places[array] = (*self.stack, (self.of(count), array.prim.bytes))

    def named(self, name: str) -> str:
        """A name of its own for this pass."""
        self.number += 1
        return f"{name}.{self.number}"

    def define(self, name: str, rhs: kir.Rhs | None, varies: bool) -> None:
        """A variable gets a value: a polynomial of others, or something of its own."""
        known = None if rhs is None else self.value(rhs)
        if known is None:
            fresh = self.named(name)
            known, digit = atom(fresh), None if rhs is None else self.part_of_digit(rhs)
            if digit is not None:
                self.digits[fresh] = digit
            elif varies:
                self.varying.add(fresh)
            match rhs:
                case kir.KOp(Op.MIN, Prim.I64, (Const(value=n), _) | (_, Const(value=n))):
                    self.most[fresh] = int(n)
                case _:
                    pass
        self.polys[name] = known

    def part_of_digit(self, rhs: kir.Rhs) -> Digit | None:
        """x / c or x % c of a digit x with a constant bound, where c is a constant: a digit, though no thread's."""
        match rhs:
            case kir.KOp(Op.QUOT | Op.REM as op, Prim.I64, (x, Const(value=c))) if int(c) > 0:
                whole = self.digits.get(name_of(self.of(x)))
                if whole is None or whole.below is None:
                    return None
                below = min(int(c), whole.below) if op is Op.REM else -(-whole.below // int(c))
                return Digit(constant(below), False, below)
            case _:
                return None

    def define_index(self, name: str, start: Poly, bound: Poly | None, is_thread: bool) -> None:
        """An index start + x with the digit 0 <= x < bound."""
        fresh = self.named(name)
        fixed = bound is not None and not any(n in self.varying or n in self.digits for m, _ in bound for n in m)
        self.digits[fresh] = Digit(bound if fixed else None, is_thread, None if bound is None else self.below(bound))
        self.polys[name] = add(start, atom(fresh))

    def below(self, bound: Poly) -> int | None:
        """A constant that no index below `bound` reaches."""
        number = as_constant(bound)
        return number if number is not None else self.most.get(name_of(bound))

    def form(self, index: Operand) -> Form | None:
        return form_of(self.of(index), self.digits, self.varying)


# ---- phases ------------------------------------------------------------------------------------------------------


def phase(values: Values, stm: KStm, path: Path) -> tuple[list[Touch], list[Touch]]:
    """The touches of a statement of the block, and those that are still unordered behind it: a collective orders all
    but what a scan does after the scanning."""
    match stm:
        case kir.BlockReduce(index=index, lo=lo, hi=hi, body=body):
            thread_index(values, index, lo, hi)
            return list(each(values, body, path, Who.EACH)), []
        case kir.BlockScan(index=index, lo=lo, hi=hi, body=body, after=after, scanned=scanned):
            thread_index(values, index, lo, hi)
            before = list(each(values, body, path, Who.EACH))
            for var in scanned:
                values.define(var.name, None, True)
            behind = list(each(values, after, path, Who.EACH))
            return before + behind, behind
        case kir.LookBack(outs=outs):  # what it reads are elements of other blocks
            for out in outs:
                values.define(out.name, None, False)
            return [], []
        case kir.WaitFor(out=out, array=array):
            values.define(out.name, None, False)
            return [Touch(array, Effect.READ, Who.LEADER, None, path, None, NEVER, None)], []
        case kir.Atomic(array=array, index=index, out=kir.KVar() as out):
            found = list(touch(values, array, Effect.ATOMIC, index, path, Who.LEADER))
            values.define(out.name, None, False)
            return found, []
        case kir.Publish(array=array, index=index):
            seen = [Touch(a, Effect.READ, Who.LEADER, None, path, None, NEVER, None) for a in values.published]
            return [*seen, *touch(values, array, Effect.WRITE, index, path, Who.LEADER)], []
        case _:
            found = list(touches(values, stm, path, Who.EVERY))
            return found, found


NEVER: frozenset[Poly] = frozenset()


def is_collective(stm: KStm) -> bool:
    """Do all threads wait for each other at its end?"""
    waits = isinstance(stm, (kir.BlockReduce, kir.BlockScan, kir.WaitFor, kir.LookBack))
    return waits or (isinstance(stm, kir.Atomic) and stm.out is not None)


# ---- the touches of a statement ----------------------------------------------------------------------------------


def touches(values: Values, stm: KStm, path: Path, who: Who) -> Iterator[Touch]:
    """The touches of a phase: of a statement in which the block's threads do not meet."""
    varies = who is Who.EACH
    who = Who.LEADER if who is Who.EVERY and solo(stm) else who
    match stm:
        case kir.KLet(var, rhs):
            if isinstance(rhs, kir.KLoad):
                yield from touch(values, rhs.array, Effect.READ, rhs.index, path, who)
            values.define(var.name, rhs, varies)
        case kir.Declare(var, _) | kir.Assign(var, _):
            values.define(var.name, None, varies)
        case kir.Store(array, index, _):
            writer = Who.LEADER if who is Who.EVERY else who
            yield from touch(values, array, Effect.WRITE, index, path, writer)
        case kir.Atomic(array=array, index=index):
            writer = Who.LEADER if who is Who.EVERY else who
            yield from touch(values, array, Effect.ATOMIC, index, path, writer)
            if isinstance(stm, kir.Atomic) and stm.out is not None:
                values.define(stm.out.name, None, True)
        case kir.Publish(array, index, _):
            yield from touch(values, array, Effect.WRITE, index, path, who)
        case kir.LoadRow(vs, array, index):
            yield from row_touches(values, array, Effect.READ, index, len(vs), path, who)
            for var in vs:
                values.define(var.name, None, varies)
        case kir.LoadMatrix(vs, array, index, offsets):
            for var, offset in zip(vs, offsets, strict=True):
                form = form_of(add(values.of(index), values.of(offset)), values.digits, values.varying)
                yield Touch(array, Effect.READ, who, form, path, None, NEVER, values.places.get(array))
                values.define(var.name, None, varies)
        case kir.StoreRow(array, index, row):
            yield from row_touches(values, array, Effect.WRITE, index, len(row), path, who)
        case kir.AsyncCopy(target, at, source, start, count):
            yield from row_touches(values, source, Effect.READ, start, count, path, who)
            yield from row_touches(values, target, Effect.WRITE, at, count, path, who)
        case kir.KIf(_, then, orelse):
            yield from each(values, then, path, who)
            yield from each(values, orelse, path, who)
        case kir.For(index, bound, body):
            forget(values, body, varies)
            values.define_index(index.name, ZERO, values.of(bound), False)
            yield from each(values, body, path, who)
            forget(values, body, varies)
        case kir.KWhile(before, _, body):
            forget(values, (*before, *body), varies)
            yield from each(values, before, path, who)
            yield from each(values, body, path, who)
            forget(values, (*before, *body), varies)
        case kir.Threads(index, lo, hi, body):
            thread_index(values, index, lo, hi)
            yield from each(values, body, path, Who.EACH)
        case kir.TeamReduce(outs=outs, segment=segment, index=index, body=body, after=after):
            for var in (segment, index):
                values.define(var.name, None, True)
            yield from each(values, body, path, Who.EACH)
            for var in outs:
                values.define(var.name, None, True)
            yield from each(values, after, path, Who.EACH)
        case kir.WarpTurns(warp, index, lo, hi, body, _, turn):
            values.define(warp.name, None, True)
            thread_index(values, index, lo, hi)
            yield from each(values, (*body, *turn), path, Who.EACH)
        case kir.BlockReduce() | kir.BlockScan() | kir.WaitFor() | kir.LookBack():
            raise AssertionError("a collective is a phase of its own")
        case kir.LoadTile() | kir.StoreTile() | kir.StoreSome() | kir.RowScan() | kir.PeeledThreads():
            raise AssertionError("tiles are made for lanes, whose loops touch the same without them")
        case kir.Alloc(array, count):
            if is_on_block_stack(stm):
                values.take(array, count)
        case kir.Check() | kir.BoundsCheck() | kir.Fence():
            pass
        case kir.CommitCopies() | kir.WaitCopies() | kir.Distribute() | kir.Shuffle() | kir.Mma() | kir.Note():
            pass


def each(values: Values, stms: tuple[KStm, ...], path: Path, who: Who) -> Iterator[Touch]:
    """The touches of a list, one statement after the other; what it takes from the stack is given back at its end."""
    with giving_back(values):
        for stm in stms:
            yield from touches(values, stm, path, who)


@contextmanager
def giving_back(values: Values) -> Iterator[None]:
    """What a list takes from the stack is given back at its end."""
    before = values.stack
    yield
    values.stack = before


def touch(values: Values, array: KArray, effect: Effect, index: Operand, path: Path, who: Who) -> Iterator[Touch]:
    """One access, if threads can meet there: private arrays and registers have no touches."""
    if array.space in (Space.GLOBAL, Space.SHARED):
        yield Touch(array, effect, who, values.form(index), path, None, NEVER, values.places.get(array))


def row_touches(
    values: Values, array: KArray, effect: Effect, index: Operand, count: int, path: Path, who: Who
) -> Iterator[Touch]:
    """The elements of a row, one after the other."""
    for k in range(count):
        form = form_of(add(values.of(index), constant(k)), values.digits, values.varying)
        yield Touch(array, effect, who, form, path, None, NEVER, values.places.get(array))


def thread_index(values: Values, index: kir.KVar, lo: Operand, hi: Operand) -> None:
    """Bind the index of a thread loop: `lo` plus a digit of the thread, below hi - lo."""
    start = values.of(lo)
    values.define_index(index.name, start, sub(values.of(hi), start), True)


def forget(values: Values, body: tuple[KStm, ...], varies: bool) -> None:
    """What a loop assigns has no known value at the start of an iteration."""
    for stm in statements(body):
        if isinstance(stm, kir.Assign):
            values.define(stm.var.name, None, varies)
