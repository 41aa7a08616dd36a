"""Arrays that are made only to be copied elsewhere: their elements are stored there at once.

    ys = new[n]; threads i < n { .. ys[i] := v }; threads c < n { xs[at + c] := ys[c] }
      ⟶  threads i < n { .. xs[at + i] := v }

as the new values of an accumulator or of a row of a table are, whose operator or loop makes rows. What the first loop
reads of xs must be its own element, before it stores that, or lie a multiple of n away from it, in another row.
Loops of a thread likewise. What a launch that fails on the way leaves behind is never read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from ...ir.ops import can_fail
from ...ir.polynomials import atom, sub
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from ..kernel_ir.affine import Environment, Poly
from ..kernel_ir.nodes import Alloc, For, KArray, Kernel, KLet, KLoad, KOp, KStm, KVar, Operand, Store, Threads
from ..kernel_ir.traverse import (
    Renamed,
    assigned,
    children,
    defined,
    loaded_arrays,
    mentions,
    statements,
    stored_arrays,
    used,
    with_children,
)

Loop = Threads | For
ZERO = Const(Prim.I64, 0)


def forward_stores(kernel: Kernel) -> Kernel:
    """The kernel without arrays that are only copied; the same one where there are none."""
    if not any(isinstance(stm, Alloc) for stm in statements(kernel.body)):
        return kernel
    counts = Counter(node for stm in kernel.body for node in mentions(stm) if isinstance(node, KArray))
    finder = _Finder(counts, Environment(assigned(kernel.body)))
    body = finder.stms(kernel.body)
    return replace(kernel, body=body) if finder.made else kernel


@dataclass(slots=True)
class _Finder:
    """`counts`: how often each array is mentioned; `values`: what is known of variables; `made`: arrays left out."""

    counts: Mapping[KArray, int]
    values: Environment
    made: int = 0

    def stms(self, stms: tuple[KStm, ...]) -> tuple[KStm, ...]:
        """A list without its arrays that are only copied."""
        for one in stms:
            if isinstance(one, KLet):
                self.values.note(one)
        inner = tuple(self.inside(one) for one in stms)
        for alloc in inner:
            if isinstance(alloc, Alloc) and self.counts[alloc.array] == 3:
                inner = self.without(alloc, inner)
        return inner

    def inside(self, stm: KStm) -> KStm:
        lists = children(stm)
        made = tuple(map(self.stms, lists))
        return stm if made == lists else with_children(stm, made)

    def without(self, alloc: Alloc, stms: tuple[KStm, ...]) -> tuple[KStm, ...]:
        """The list without this array, or as it is where that is more than a step on the way."""
        at = next((k for k, one in enumerate(stms) if is_loop_with(one, alloc.array, stored_arrays)), None)
        to = next((k for k, one in enumerate(stms) if is_loop_with(one, alloc.array, loaded_arrays)), None)
        if at is None or to is None or to <= at:
            return stms
        making, copying, between = stms[at], stms[to], stms[at + 1 : to]
        assert isinstance(making, Loop), "where it is stored is a loop"
        assert isinstance(copying, Loop), "where it is loaded is a loop"
        same = type(making) is type(copying) and bounds(making) == bounds(copying)
        loop = self.joined(alloc.array, making, copying) if same and all(map(self.may_move, between)) else None
        if loop is None:
            return stms
        self.made += 1
        kept = (*stms[:at], *between, loop, *stms[to + 1 :])
        return tuple(one for one in kept if one is not alloc)

    def may_move(self, stm: KStm) -> bool:
        """Whether a statement may come before the first loop."""
        if not isinstance(stm, KLet) or isinstance(stm.rhs, KLoad) or not used(stm).isdisjoint(self.values.mutable):
            return False
        return not isinstance(stm.rhs, KOp) or not can_fail(stm.rhs.op, stm.rhs.prim)

    def joined(self, array: KArray, making: Loop, copying: Loop) -> Loop | None:
        """The first loop, which stores what the second would; None where it reads what others have stored by then."""
        *before, last = copying.body
        loads = [one for one in before if isinstance(one, KLet) and isinstance(one.rhs, KLoad)]
        if not isinstance(last, Store) or len(loads) != 1 or not all(isinstance(one, KLet) for one in before):
            return None
        (load,) = loads
        if not isinstance(load.rhs, KLoad) or load.rhs != KLoad(array, copying.index) or last.value != load.var:
            return None
        place = next((k for k, one in enumerate(making.body) if isinstance(one, Store) and one.array == array), None)
        if place is None:
            return None
        store = making.body[place]
        assert isinstance(store, Store), "the place is that of a store"
        if store.index != making.index or last.repeats or bounds(making)[0] != ZERO:
            return None
        there = self.there(copying, last.index, making.index)
        if there is None or not self.apart(making, place, last.array, there):
            return None
        copy = Renamed(f".f{self.made}", {copying.index: making.index, load.var: store.value})
        moved = copy.rewritten(one for one in copying.body if one is not load)
        return replace(making, body=(*making.body[:place], *moved, *making.body[place + 1 :]))

    def there(self, copying: Loop, index: Operand, instead: KVar) -> Poly | None:
        """Where an element goes, by the index of the loop that makes it; None where that is not known."""
        values = self.values.copy()
        values.polys[copying.index.name] = atom(instead.name)
        for one in copying.body:
            if isinstance(one, KLet):
                values.note(one)
        found = values.of(index)
        named = {name for names, _ in found for name in names}
        by_index = [term for term in found if instead.name in term[0]]
        if by_index != [((instead.name,), 1)]:
            return None
        return found if named.isdisjoint(defined(copying.body) | self.values.mutable) else None

    def apart(self, making: Loop, place: int, target: KArray, there: Poly) -> bool:
        """Whether the loop reads of the target what it has not stored then: its own element, or other rows."""
        values = self.values.copy()
        for k, one in enumerate(making.body):
            for inner in statements((one,)):
                if isinstance(inner, KLet):
                    values.note(inner)
                if target in stored_arrays(inner):
                    return False
                if target not in loaded_arrays(inner):
                    continue
                if not isinstance(inner, KLet) or not isinstance(inner.rhs, KLoad):
                    return False
                distance = sub(values.of(inner.rhs.index), there)
                if not (k < place if distance == () else is_of_rows(distance, bounds(making)[1])):
                    return False
        return True


def is_loop_with(stm: KStm, array: KArray, arrays: Callable[[KStm], tuple[KArray, ...]]) -> bool:
    """Is it a loop that stores or loads elements of the array?"""
    return isinstance(stm, Loop) and any(array in arrays(one) for one in statements(stm.body))


def bounds(loop: Loop) -> tuple[Operand, Operand]:
    """Where the loop begins and ends."""
    return (loop.lo, loop.hi) if isinstance(loop, Threads) else (ZERO, loop.bound)


def is_of_rows(distance: Poly, width: Operand) -> bool:
    """Whether it is a multiple of the width, and not none; of a width that is known, at least as far."""
    match distance:
        case ((names, count),) if isinstance(width, KVar):
            return names == (width.name,) and count != 0
        case (((), count),) if isinstance(width, Const):
            return abs(count) >= int(width.value)
        case _:
            return False
