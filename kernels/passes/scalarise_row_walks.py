"""Threads that walk along rows of their own, of varying length and anywhere in memory: one after the other.

    threads i in lo..hi { a = xs[i]; n = ys[i]; for k < n { .. zs[a + k] .. } }
    ⟶  for r < hi - lo { i = lo + r; a = xs[i]; n = ys[i]; for k < n { .. zs[a + k] .. } }

On lanes each step of such a loop gathers, which takes as long as loading one by one, and a group of lanes is busy until
the longest of its rows ends, with the lanes of all others off. As scalar code the rows take turns: the processor begins
the next while it waits for this one. Values, their order and the checks stay. What is computed with the elements must
be little, as on lanes that is nearly free, and no address may depend on what the loop carries from step to step (a
search, a list): there lanes wait for many at once.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.ops import DIVISIONS, Op
from ...ir.records import dataclass
from ...ir.types import Prim
from ..analysis.speculation import is_harmless
from ..analysis.uniformity import depending, find_facts, loaded_names
from ..kernel_ir import nodes as kir
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import For, Kernel, KIf, KLet, KLoad, KOp, KStm, KVar, Threads
from ..kernel_ir.traverse import assigned, rewritten, statements

MOST = 100
"""Statements of a thread."""
MOST_EACH = 8
"""Operations in a step of a walk for each element that it gathers."""
BRANCH = 8
"""A branch that lanes would mask counts as this many operations: the processor has to guess it."""


def scalarise_row_walks(kernel: Kernel) -> Kernel:
    """The kernel with its walks along rows as scalar code; the same one where it has none."""
    loops = [stm for stm in statements(kernel.body) if isinstance(stm, Threads)]
    if not any(isinstance(stm, For) for loop in loops for stm in statements(loop.body)):
        return kernel
    walker = _Walker(find_facts(kernel.body).varying, NewNames("w"))
    body = rewritten(kernel.body, walker.statement)
    return replace(kernel, body=body) if walker.new.made else kernel


@dataclass(frozen=True, slots=True)
class _Walker:
    """`varying`: names of what differs from lane to lane."""

    varying: frozenset[str]
    new: NewNames

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        match stm:
            case Threads(index=KVar(_, Prim.I64)) if self.walks(stm):
                return self.in_turn(stm)
            case _:
                return None

    def walks(self, threads: Threads) -> bool:
        """Is all of it cheap, and every loop a walk?"""
        stms = tuple(statements(threads.body))
        if len(stms) > MOST or not all(map(_is_plain, stms)):
            return False
        loaded = depending(stms, loaded_names(stms))
        loops = [stm for stm in stms if isinstance(stm, For)]
        return bool(loops) and all(self.is_walk(loop, loaded) for loop in loops)

    def is_walk(self, loop: For, loaded: frozenset[str]) -> bool:
        """Its bound is read from memory, and so is where it begins; no address waits for what the step before made."""
        body = tuple(statements(loop.body))
        if not isinstance(loop.bound, KVar) or loop.bound.name not in loaded & self.varying:
            return False
        carried = depending(body, assigned(body))
        addresses = [name for stm in body for name in _address(stm)]
        gathers = sum(name in loaded for name in addresses)
        return carried.isdisjoint(addresses) and sum(map(_weight, body)) <= MOST_EACH * gathers

    def in_turn(self, threads: Threads) -> tuple[KStm, ...]:
        """Variables are others than those of the threads, since these are uniform."""
        copy = self.new.copy()
        number, count = (self.new.name(base, Prim.I64) for base in ("row", "rows"))
        index = KLet(copy.made(threads.index), KOp(Op.ADD, Prim.I64, (threads.lo, number), True))
        loop = For(number, count, (index, *copy.rewritten(threads.body)))
        return KLet(count, KOp(Op.SUB, Prim.I64, (threads.hi, threads.lo), True)), loop


def _address(stm: KStm) -> frozenset[str]:
    """The variable at whose value a statement reads or writes memory."""
    match stm:
        case KLet(_, KLoad(_, KVar(name))) | kir.Store(_, KVar(name)):
            return frozenset({name})
        case _:
            return frozenset()


def _is_plain(stm: KStm) -> bool:
    match stm:
        case KLet(_, KLoad()) | kir.Store() | kir.Check() | kir.BoundsCheck() | KIf() | For() | kir.Note():
            return True
        case _:
            return _is_slow(stm) or is_harmless(stm)


def _is_slow(stm: KStm) -> bool:
    return isinstance(stm, KLet) and isinstance(stm.rhs, KOp) and stm.rhs.op in DIVISIONS


def _weight(stm: KStm) -> int:
    """Operations of a statement in a walk."""
    match stm:
        case KIf():
            return BRANCH
        case KLet(_, KOp() | kir.KConvert()):
            return MOST if _is_slow(stm) else 1
        case _:
            return 0
