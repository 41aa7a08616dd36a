"""Indices of 32 bits, where those of a launch fit.

    const i64 i = point / m, j = point % m; ys[i * m + j] = xs[j]
      ⟶   const i32 i = point / m, j = point % m; ..            for launches in which  m + blocks * 256 + .. <= LIMIT

What bounds of loops and indices are made of is i32, if it is made of sizes of the launch, the number of the block and
of threads: by sums, products, quotients. Each such value has a polynomial over the launch's scalars, which are not
negative, that it does not exceed; the largest coefficients of all of them are one polynomial, which the host computes
for a launch. Where it is more than `LIMIT`, the launch takes the kernel with indices of 64 bits. What is loaded, or
assigned in a loop, is no such value; nor is what large constants multiply, as random numbers are made.

Only kernels whose threads divide by a variable or look at several segments at once have two texts: elsewhere 32 bits
save nothing. Loops in which a thread takes many elements keep their index, and the sums that have it in them: of these
the compiler makes pointers that go on by a constant, which 32 bits prevent. Quotients of them are computed in 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ...ir.ops import COMPARISONS, Op
from ...ir.polynomials import ZERO, add, atom, constant, mul
from ...ir.types import Const, Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Poly, is_long
from ..kernel_ir.nodes import Kernel, KLet, KOp, KStm, KVar, Operand
from ..kernel_ir.traverse import (
    ROLES,
    bound_inside,
    children,
    defined,
    map_mentions,
    map_rhs,
    names,
    operators,
    rhs_operands,
    statements,
    variables_in,
    with_children,
)

LIMIT = 1 << 30
"""What indices do not exceed; the steps of loops beyond their ends, and of grids, are within 2^31."""
BLOCKS = "blocks"
"""The factor that is the number of blocks; no scalar has a name without a number."""
MOST_FACTOR = 1 << 20
"""A larger coefficient is that of no index."""

DIVISIONS = {Op.QUOT: Op.QUOT, Op.REM: Op.REM, Op.DIV: Op.QUOT, Op.MOD: Op.REM}
"""What they are of numbers that are not negative."""

INDICES: dict[type, tuple[str, ...]] = {
    kir.Store: ("index",), kir.Atomic: ("index",), kir.Publish: ("index",), kir.WaitFor: ("index",),
    kir.LoadRow: ("index",), kir.LoadMatrix: ("index", "offsets", "row"),
    kir.StoreRow: ("index",), kir.AsyncCopy: ("at", "start"), kir.Mma: ("to", "at", "start"),
    kir.BoundsCheck: ("index", "size"), kir.For: ("bound",), kir.Threads: ("lo", "hi"), kir.BlockReduce: ("lo", "hi"),
    kir.BlockScan: ("lo", "hi"), kir.TeamReduce: ("team", "lo", "hi", "width"), kir.WarpTurns: ("lo", "hi"),
    kir.LookBack: ("tile", "first"),
}  # fmt: skip
"""The fields that may be of either type, which are of 32 bits where they can be."""
AS_THEY_ARE = (kir.Check, kir.BoundsCheck)
"""Statements whose other operands may be of either type, too."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A kernel for launches in which `bound` is at most `LIMIT`: a polynomial over scalars and `BLOCKS`. Without one
    it is for all."""

    kernel: Kernel
    bound: Poly


@dataclass(frozen=True, slots=True)
class Range:
    """Of an integer: its magnitude is at most `most`; with `natural` it is not negative, too."""

    most: Poly
    natural: bool


def narrow_indices(kernel: Kernel) -> Narrowed:
    """The kernel with indices of 32 bits, and when it may be launched."""
    if not gains(kernel):
        return Narrowed(kernel, ZERO)
    ranges = Ranges.of(kernel)
    narrow = chosen(kernel, ranges)
    made = Narrowing(kernel, ranges, narrow)
    for name in narrow:
        made.bound = larger(made.bound, ranges.known[name].most)
    return Narrowed(made.kernel_with(), made.bound)


def gains(kernel: Kernel) -> bool:
    """Whether a kernel is worth two texts: threads divide by a variable, or it looks at several segments at once."""
    loops = [stm for stm in statements(kernel.body) if bound_inside(stm)]
    return any(isinstance(stm, kir.TeamReduce) for stm in loops) or any(map(divides, statements(loops)))


def divides(stm: KStm) -> bool:
    """Whether a statement divides by a variable."""
    match stm:
        case KLet(_, KOp(op, Prim.I64, (_, KVar()))):
            return op in DIVISIONS
        case _:
            return False


def fits(bound: Poly, scalars: dict[str, int], blocks: int) -> bool:
    """Whether a launch with these scalars, by name, may take the narrow kernel."""
    values, total = {**scalars, BLOCKS: blocks}, 0
    if any(values[name] < 0 for monomial, _ in bound for name in monomial):
        return False
    for monomial, factor in bound:
        for name in monomial:
            factor *= values[name]
        total += factor
    return total <= LIMIT


# ---- how large values are --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Ranges:
    """What is known of variables."""

    known: dict[str, Range] = field(default_factory=dict)

    @staticmethod
    def of(kernel: Kernel) -> Ranges:
        found = Ranges({kernel.block.name: Range(atom(BLOCKS), True)})
        for var in kernel.scalars:
            if var.prim is Prim.I64:
                found.known[var.name] = Range(atom(var.name), True)
        for stm in statements(kernel.body):
            found.note(stm)
        return found

    def note(self, stm: KStm) -> None:
        """What a statement binds: for those that follow, or in its lists."""
        match stm:
            case KLet(var, rhs) if var.prim is Prim.I64:
                self.put(var, self.value(rhs))
            case kir.For(index, bound):
                self.index(index, Const(index.prim, 0), bound)
            case kir.Threads(index, lo, hi) | kir.BlockReduce(_, index, lo, hi) | kir.BlockScan(_, _, index, lo, hi):
                self.index(index, lo, hi)
            case kir.WarpTurns(warp, index, lo, hi):
                self.put(warp, Range(constant(32), True))
                self.index(index, lo, hi)
            case kir.TeamReduce(segment=segment, lo=lo, hi=hi, index=index, width=width):
                self.index(segment, lo, hi)
                self.index(index, Const(Prim.I64, 0), width)
            case _:
                pass

    def index(self, var: KVar, lo: Operand, hi: Operand) -> None:
        first, end = self.range_of(lo), self.range_of(hi)
        if var.prim is Prim.I64 and first is not None and end is not None:
            self.put(var, Range(larger(first.most, end.most), first.natural))

    def put(self, var: KVar, range_: Range | None) -> None:
        if range_ is not None and not is_long(range_.most) and all(factor <= MOST_FACTOR for _, factor in range_.most):
            self.known[var.name] = range_

    def range_of(self, x: Operand) -> Range | None:
        if isinstance(x, Const):
            return Range(constant(abs(int(x.value))), int(x.value) >= 0) if x.prim is Prim.I64 else None
        return self.known.get(x.name)

    def value(self, rhs: kir.Rhs) -> Range | None:
        """Of a right-hand side of i64; None where its operands say nothing."""
        match rhs:
            case KOp(Op.SELECT, _, (_, x, y)):
                return self.of_two(Op.MAX, x, y)
            case KOp(op, Prim.I64, (x, y)):
                return self.of_two(op, x, y)
            case kir.KConvert(source, Prim.I64) if source.is_int and source.bits < 32:
                return Range(constant(1 << source.bits), not source.is_signed)
            case _:
                return None

    def of_two(self, op: Op, x: Operand, y: Operand) -> Range | None:
        a, b = self.range_of(x), self.range_of(y)
        if a is None or b is None:
            return None
        both = a.natural and b.natural
        match op:
            case Op.ADD:
                return Range(add(a.most, b.most), both)
            case Op.SUB:
                return Range(larger(a.most, b.most) if both else add(a.most, b.most), False)
            case Op.MUL:
                return Range(mul(a.most, b.most), both)
            case Op.QUOT | Op.DIV:
                return Range(a.most, both)
            case Op.REM | Op.MOD:
                return Range(simpler(a.most, b.most), both) if both else Range(add(a.most, b.most), False)
            case Op.MIN if both:
                return Range(simpler(a.most, b.most), True)
            case Op.MIN | Op.MAX:
                return Range(larger(a.most, b.most), both)
            case _:
                return None


def larger(x: Poly, y: Poly) -> Poly:
    """A polynomial that is at least both, of naturals."""
    factors = dict(x)
    for monomial, factor in y:
        factors[monomial] = max(factor, factors.get(monomial, 0))
    return tuple(sorted(factors.items()))


def simpler(x: Poly, y: Poly) -> Poly:
    """The one of two bounds that takes less to compute, and has no blocks in it."""
    return min(x, y, key=lambda p: (max((len(m) for m, _ in p), default=0), any(BLOCKS in m for m, _ in p), len(p)))


# ---- which are narrow ------------------------------------------------------------------------------------------------

LOOPS = (kir.Threads, kir.BlockScan, kir.TeamReduce)
"""In which a thread takes few elements."""


def chosen(kernel: Kernel, ranges: Ranges) -> frozenset[str]:
    """The variables that become i32: indices of `LOOPS`, exact results and quotients, and what indices and these are
    made of."""
    wanted, stms = set[str](), list(statements(kernel.body))
    for stm in reversed(stms):
        wanted |= names(*index_operands(stm))
        match stm:
            case KLet(var, KOp(op, _, args, exact)) if var.name in ranges.known:
                if var.name in wanted or exact or op in DIVISIONS:
                    wanted |= {var.name, *names(*args)}
            case _:
                pass
    outside = {var.name for var in (kernel.block, *kernel.scalars)} & wanted & ranges.known.keys()
    found = set(outside)
    for stm in stms:
        match stm:
            case KLet(var, rhs) if var.name in ranges.known and var.name in wanted:
                if is_short(rhs, found):
                    found.add(var.name)
            case _ if isinstance(stm, LOOPS):
                found |= {var.name for var in bound_inside(stm) if var.name in ranges.known}
            case _:
                pass
    used = names(*(x for stm in stms for x in short_operands(stm, found)))
    return frozenset(found - (outside - used))


def is_short(rhs: kir.Rhs, narrow: set[str]) -> bool:
    """Whether a value is i32 where those in `narrow` are: a quotient in any case, but for constants beyond `LIMIT`."""
    match rhs:
        case KOp(_, _, args) if any(isinstance(x, Const) and abs(x.value) > LIMIT for x in args):
            return False
        case KOp(Op.SELECT, _, (_, x, y)):
            return names(x, y) <= narrow
        case KOp(op, _, args):
            return op in DIVISIONS or names(*args) <= narrow
        case _:
            return True


def short_operands(stm: KStm, narrow: set[str]) -> tuple[Operand, ...]:
    """What narrow variables are made of."""
    match stm:
        case KLet(var, rhs):
            return rhs_operands(rhs) if var.name in narrow else ()
        case _ if isinstance(stm, LOOPS) and narrow & {var.name for var in bound_inside(stm)}:
            return tuple(index_operands(stm))
        case _:
            return ()


def index_operands(stm: KStm) -> Iterator[Operand]:
    """The operands that may be of 32 bits, and should."""
    if isinstance(stm, KLet) and isinstance(stm.rhs, kir.KLoad | kir.KAligned):
        yield stm.rhs.index
    yield from (getattr(stm, name) for name in INDICES.get(type(stm), ()))


# ---- the narrow kernel -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Narrowing:
    """A kernel that gets i32 for the variables in `narrow`."""

    kernel: Kernel
    ranges: Ranges
    narrow: frozenset[str]
    taken: set[str] = field(default_factory=set)
    bound: Poly = ZERO

    def kernel_with(self) -> Kernel:
        """The kernel; its scalars stay what they are, under other names."""
        kernel = self.kernel
        self.taken = {*variables_in((kernel.scalars, kernel.block)), *defined(kernel.body)}
        body, scalars, first = self.listed(kernel.body), list[KVar](), list[KStm]()
        for var in kernel.scalars:
            if var.name in self.narrow:
                scalars.append(KVar(self.fresh(var.name), Prim.I64))
                first.append(KLet(var, kir.KConvert(Prim.I64, Prim.I32, scalars[-1])))
            else:
                scalars.append(var)
        block, body = map_mentions((kernel.block, (*first, *body)), self.typed)
        return replace(kernel, block=block, scalars=tuple(scalars), body=body)

    def typed(self, one: KVar | kir.KArray) -> KVar | kir.KArray:
        return KVar(one.name, Prim.I32) if isinstance(one, KVar) and one.name in self.narrow else one

    def fresh(self, name: str) -> str:
        number = next(k for k in range(len(self.taken) + 1) if f"{name}_r{k}" not in self.taken)
        self.taken.add(f"{name}_r{number}")
        return f"{name}_r{number}"

    def listed(self, stms: Iterable[KStm]) -> tuple[KStm, ...]:
        done: list[KStm] = []
        for stm in stms:
            done += self.statement(stm)
        return tuple(done)

    def statement(self, stm: KStm) -> list[KStm]:
        """The statement behind conversions of what it takes as i64."""
        if isinstance(stm, KLet):
            return self.let(stm)
        before, roles = list[KStm](), ROLES[type(stm)]
        kept = {*INDICES.get(type(stm), ()), *(roles.reads if isinstance(stm, AS_THEY_ARE) else ())}
        lists = [list(self.listed(inner)) for inner in children(stm)]
        changes = {name: self.widened(getattr(stm, name), before) for name in roles.reads if name not in kept}
        changes |= {name: self.widened(getattr(stm, name), lists[0]) for name in roles.reads_inside}
        if any(variables_in(op) & self.narrow for op in operators(stm)):
            changes |= {name: self.widened_inside(getattr(stm, name), before) for name in roles.operators}
        stm = with_children(stm, map(tuple, lists))
        return [*before, replace(stm, **changes) if changes else stm]

    def let(self, stm: KLet) -> list[KStm]:
        """A value that is narrow, or one that may be made of narrow ones."""
        before, rhs = list[KStm](), stm.rhs
        if stm.var.name in self.narrow:
            rhs = self.short(rhs, before)
            return [*before, KLet(stm.var, rhs)]
        match rhs:
            case KOp(op) if op not in COMPARISONS:
                rhs = map_rhs(rhs, lambda x: self.wide(x, before))
            case kir.KConvert(Prim.I64, target, KVar(name=name) as x) if name in self.narrow:
                rhs = kir.KConvert(Prim.I32, target, x)
            case _:
                pass
        return [*before, KLet(stm.var, rhs)]

    def short(self, rhs: kir.Rhs, before: list[KStm]) -> kir.Rhs:
        """A right-hand side of i64 as one of i32, which is exact where that can be said."""
        match rhs:
            case kir.KConvert(source, _, x):
                return kir.KConvert(source, Prim.I32, x)
            case KOp(op, _, (x, y)) if op in DIVISIONS and self.natural(x) and self.natural(y):
                return KOp(DIVISIONS[op], Prim.I32, (self.shortened(x, before), self.shortened(y, before)), True)
            case KOp(Op.SELECT, _, (cond, x, y)):
                return KOp(Op.SELECT, Prim.I32, (cond, self.shortened(x, before), self.shortened(y, before)))
            case KOp(op, _, args):
                return KOp(
                    op, Prim.I32, tuple([self.shortened(x, before) for x in args]), op in (Op.ADD, Op.SUB, Op.MUL)
                )
            case _:
                return rhs

    def natural(self, x: Operand) -> bool:
        found = self.ranges.range_of(x)
        return found is not None and found.natural

    def shortened(self, x: Operand, before: list[KStm]) -> Operand:
        """An operand as i32; narrow variables are changed all at once."""
        if isinstance(x, Const):
            return Const(Prim.I32, x.value)
        if x.name in self.narrow:
            return x
        self.bound = larger(self.bound, self.ranges.known[x.name].most)
        var = KVar(self.fresh(x.name), Prim.I32)
        before.append(KLet(var, kir.KConvert(Prim.I64, Prim.I32, x)))
        return var

    def widened(self, value: Operand | tuple[Operand, ...] | None, before: list[KStm]) -> object:
        """What stands in a field, as i64."""
        match value:
            case tuple():
                return tuple([self.wide(x, before) for x in value])
            case None:
                return None
            case _:
                return self.wide(value, before)

    def wide(self, x: Operand, before: list[KStm]) -> Operand:
        """An operand as i64, converted at the end of `before`."""
        if isinstance(x, Const) or x.name not in self.narrow:
            return x
        var = KVar(self.fresh(x.name), Prim.I64)
        before.append(KLet(var, kir.KConvert(Prim.I32, Prim.I64, x)))
        return var

    def widened_inside(self, op: kir.KLambda | None, before: list[KStm]) -> kir.KLambda | None:
        """An operator whose narrow variables, which are uniform, are converted before it."""
        if op is None:
            return None
        used = {name: self.wide(KVar(name, Prim.I64), before) for name in sorted(variables_in(op) & self.narrow)}
        return map_mentions(op, lambda one: used.get(one.name, one))
