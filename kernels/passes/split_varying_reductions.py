"""Reductions of rows whose lengths are read from memory, or of what was written just now: short rows one by one.

    reduce op ne (threads i in lo..hi { .. xs[js[i]] .. })          lo or hi depends on a load
    ⟶  if hi - lo <= W / 2 { acc = ne; for i in lo..hi { acc := op acc e } } else { as it was }

    reduce op ne (threads i in lo..hi { .. ys[js[i]] .. })          ys is written by the kernel
    ⟶  the same with hi - lo <= 12: the next round of a loop waits for this one, and a gather for what was stored

    reduce op ne (threads i in lo..hi { .. })                       lo or hi depends on a load, lanes are folded long
    ⟶  the same with hi - lo <= W / 2

with W the lanes of a vector. Such rows are mostly short: a reduction in lanes sets up its accumulators, masks its only
vector and folds the lanes for three elements as for three hundred, and a masked gather is no cheaper than the elements
of it where these are few. Where nothing is gathered, and the lanes are folded soon, a masked load is cheaper than a
loop whose length the processor has to guess. A short row is combined from the left; the order depends on (lo, hi) and W
alone. It is done where an element is few operations, none expensive: else the masked vector is cheaper than a call for
each element.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from ..analysis.speculation import is_harmless
from ..analysis.uniformity import Facts, Varying, depending, find_facts, loaded_names
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import written_arrays
from ..kernel_ir.fma import contracted_step
from ..kernel_ir.new_names import NewNames, taken_in
from ..kernel_ir.nodes import BlockReduce, KArray, KConvert, Kernel, KIf, KLet, KLoad, KOp, KStm, KVar, Operand
from ..kernel_ir.traverse import names, rewritten, statements

FEW = 12
"""Elements gathered from what the kernel has written that are taken one by one."""
MOST = 40
"""Statements of an element, with those of the operator."""


def split_varying_reductions(kernel: Kernel) -> Kernel:
    """The kernel with short rows of varying length one by one; the same one where it has none."""
    everything = tuple(statements(kernel.body))
    if not any(isinstance(stm, BlockReduce) for stm in everything):
        return kernel
    assert kernel.lanes is not None, "lanes are chosen before"
    loaded, new = depending(everything, loaded_names(everything)), NewNames("v", "row", True)
    splitter = _Splitter(kernel.lanes.width, loaded, find_facts(kernel.body), written_arrays(kernel), new)
    body = rewritten(kernel.body, splitter.statement)
    return replace(kernel, body=body) if splitter.new.made else kernel


@dataclass(frozen=True, slots=True)
class _Splitter:
    """`loaded`: names of what depends on a load."""

    width: int
    loaded: frozenset[str]
    facts: Facts
    written: frozenset[KArray]
    new: NewNames

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        match stm:
            case BlockReduce() if stm.index.prim is not Prim.I64 or not is_light(stm):
                return None
            case BlockReduce() if any(self.waits(one) for one in statements(stm.body)):
                return self.split(stm, FEW)
            case BlockReduce() if not names(stm.lo, stm.hi).isdisjoint(self.loaded) and (
                gathers(stm) or folds_long(stm)
            ):
                return self.split(stm, self.width // 2)
            case _:
                return None

    def waits(self, stm: KStm) -> bool:
        """Is it a gather of what the kernel has written?"""
        match stm:
            case KLet(_, KLoad(array, index)):
                return array in self.written and isinstance(self.facts.of(index), Varying)
            case _:
                return False

    def split(self, stm: BlockReduce, most: int) -> tuple[KStm, ...]:
        """`most`: elements of a short row."""
        out: list[KStm] = []
        length = self.new.let(out, Op.MAX, self.new.let(out, Op.SUB, stm.hi, stm.lo), Const(Prim.I64, 0))
        accs = [self.new.name("acc", o.prim) for o in stm.outs]
        out += [kir.Declare(acc, ne) for acc, ne in zip(accs, stm.neutral, strict=True)]
        short = self.new.name("short", Prim.BOOL)
        out.append(KLet(short, KOp(Op.LE, Prim.I64, (length, Const(Prim.I64, most)))))
        out.append(KIf(short, (self.one_by_one(stm, length, accs),), self.vectors(stm, accs)))
        out += [KLet(o, KConvert(o.prim, o.prim, acc)) for o, acc in zip(stm.outs, accs, strict=True)]
        return tuple(out)

    def vectors(self, stm: BlockReduce, accs: list[KVar]) -> tuple[KStm, ...]:
        """The elements in lanes."""
        outs = tuple(self.new.name(o.name, o.prim) for o in stm.outs)
        return (replace(stm, outs=outs), *(kir.Assign(acc, o) for acc, o in zip(accs, outs, strict=True)))

    def one_by_one(self, stm: BlockReduce, length: Operand, accs: list[KVar]) -> KStm:
        """The elements in order. Their variables are others, since these are uniform."""
        copy = self.new.copy()
        body: list[KStm] = []
        k = self.new.name("k", Prim.I64)
        body.append(KLet(copy.made(stm.index), KOp(Op.ADD, Prim.I64, (stm.lo, k), True)))
        body += copy.rewritten(stm.body)
        step = contracted_step(stm.step or stm.op, stm.body, stm.values)
        body += taken_in(copy, step, accs, tuple(map(copy.read, stm.values)))
        return kir.For(k, length, tuple(body))


def folds_long(stm: BlockReduce) -> bool:
    """Does it take longer to combine the lanes in the end than the elements of a short row: in order, for several
    results, or by extrema of floats?"""
    extrema = (
        isinstance(one, KLet) and isinstance(one.rhs, KOp) and one.rhs.op in (Op.MIN, Op.MAX) and one.rhs.prim.is_float
        for one in statements(stm.op.body)
    )
    return not stm.commutative or len(stm.outs) > 1 or any(extrema)


def gathers(stm: BlockReduce) -> bool:
    """Is an element loaded from where another one says?"""
    body = tuple(statements(stm.body))
    loads = {one.var.name: names(one.rhs.index) for one in body if isinstance(one, KLet) and isinstance(one.rhs, KLoad)}
    varying = depending(body, (stm.index.name,))
    loaded = depending(body, (name for name, index in loads.items() if index & varying))
    return any(index & loaded for index in loads.values())


def is_light(stm: BlockReduce) -> bool:
    """Few operations for an element, without loops and without what is expensive one by one."""
    parts = [*statements(stm.body), *statements((stm.step or stm.op).body)]
    return len(parts) <= MOST and all(map(_is_light_part, parts))


def _is_light_part(stm: KStm) -> bool:
    match stm:
        case KLet(_, KLoad()) | kir.Store() | kir.Check() | kir.BoundsCheck() | KIf() | kir.Note():
            return True
        case _:
            return is_harmless(stm)
