"""Operands whose memory a result may have, since each point reads of them what it is about to overwrite.

    threads i { .. x[k*n + i] .. x[k*n + i] ..; ys[k*n + i] := v }        ys may have the memory of x

All accesses of the operand are loads, at the index at which the result is stored, before it. The schedule must know
that the kernel stores each element once: no other point reads it then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from ...ir.records import dataclass
from ..kernel_ir.affine import Environment, Poly
from ..kernel_ir.nodes import KArray, Kernel, KLet, Operand, Store
from ..kernel_ir.traverse import assigned, mentions, statements
from ..kernel_ir.values import KLoad

Pairs = tuple[tuple[KArray, KArray], ...]
"""Results, each with an operand."""


def own_operands(kernel: Kernel) -> Pairs:
    """Each result with each operand, of elements of the same type, that it may overwrite."""
    found = _Accesses(Environment(mutable=assigned(statements(kernel.body))))
    found.of_statements(kernel)
    mentioned = Counter(x for x in mentions(kernel.body) if isinstance(x, KArray))
    alone = [(r, at, place) for r, [(at, place), *more] in found.stores.items() if not more and mentioned[r] == 1]
    return tuple(
        (result, operand)
        for result, at, place in alone
        if at is not None and result in kernel.arrays
        for operand, loads in found.loads.items()
        if operand in kernel.arrays and operand.prim is result.prim and mentioned[operand] == len(loads)
        if all(index == at and before < place for index, before in loads)
    )


Access = tuple[Poly | None, int]
"""The index of an element, None if that depends on variables that change; and the place in the text."""


@dataclass(slots=True)
class _Accesses:
    """The loads and stores of elements of each array."""

    known: Environment
    loads: dict[KArray, list[Access]] = field(default_factory=dict[KArray, "list[Access]"])
    stores: dict[KArray, list[Access]] = field(default_factory=dict[KArray, "list[Access]"])

    def of_statements(self, kernel: Kernel) -> None:
        for place, stm in enumerate(statements(kernel.body)):
            match stm:
                case KLet(_, KLoad(array, index)):
                    self.loads.setdefault(array, []).append((self.index(index), place))
                case Store(array, index):
                    self.stores.setdefault(array, []).append((self.index(index), place))
                case _:
                    pass
            if isinstance(stm, KLet):
                self.known.note(stm)

    def index(self, operand: Operand) -> Poly | None:
        index = self.known.of(operand)
        return None if self.known.mentioned(index) & self.known.mutable else index
