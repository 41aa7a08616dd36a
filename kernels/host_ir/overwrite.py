"""Results that take the memory of an operand which nothing uses afterwards.

let ys = scratch [n]t; launch k(ys, x)   ⟶   let ys = scratch [n]t over x; launch k(ys, x)

where each point of `k` reads of `x` only what it overwrites (`analysis/own_operands.py`), and `x` is an array that this
body has made, or that a turn of the loop around it carries. Whether something else refers to the memory is known when
the program runs: the runtime counts that. Between the two statements nothing uses `x`, so that no view of it is made.
A loop whose turns update its arrays needs half of the memory, which is worth most where that fits a cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from ...ir import core
from ...ir.records import dataclass
from ...ir.types import Name, Var
from ..kernel_ir.nodes import KArray, Kernel
from .liveness import uses, uses_of_body
from .nodes import HostBody, HostExp, HostFun, HostIf, HostLoop, HostProgram, HostStm, Launch, Over

Pairs = dict[tuple[Name, Name], set[tuple[str, KArray, KArray]]]
"""Results with the operands that they may overwrite; for each the kernels that do, with what these call the two."""


def overwrite_operands(program: HostProgram) -> HostProgram:
    """The program, whose kernels keep the pairs that are needed."""
    found = _Overwrites({kernel.name: kernel for kernel in program.kernels})
    functions = tuple(found.of_function(fun) for fun in program.functions)
    kernels = (replace(k, over=tuple(p for p in k.over if (k.name, *p) in found.used)) for k in program.kernels)
    return HostProgram(functions, tuple(kernels))


@dataclass(slots=True)
class _Overwrites:
    """The kernels by name, and the pairs of theirs that are `used`."""

    kernels: Mapping[str, Kernel]
    used: set[tuple[str, KArray, KArray]] = field(default_factory=set[tuple[str, KArray, KArray]])

    def of_function(self, fun: HostFun) -> HostFun:
        callees = tuple(replace(callee, body=self.of_body(callee.body, ())) for callee in fun.callees)
        return replace(fun, body=self.of_body(fun.body, ()), callees=callees)

    def of_body(self, body: HostBody, carried: Iterable[Name]) -> HostBody:
        """`carried`: what else may be overwritten, the parameters of a loop whose body it is."""
        stms = [replace(stm, exp=self.of_exp(stm.exp)) for stm in body.stms]
        owned = {p.name for stm in stms for p in stm.pat if p.type.shape}.union(carried)
        for k, stm in enumerate(stms):
            if isinstance(stm.exp, core.Scratch):
                operand = self.operand(stm.pat[0].name, stms[k + 1 :], body, owned)
                if operand is not None:
                    owned.remove(operand)
                    stms[k] = replace(stm, exp=Over(stm.exp.type, operand))
        return replace(body, stms=tuple(stms))

    def of_exp(self, exp: HostExp) -> HostExp:
        match exp:
            case HostIf(cond, then, orelse):
                return HostIf(cond, self.of_body(then, ()), self.of_body(orelse, ()))
            case HostLoop(params, body=body):
                return replace(exp, body=self.of_body(body, (p.name for p in params if p.type.shape)))
            case _:
                return exp

    def operand(self, result: Name, later: list[HostStm], body: HostBody, owned: set[Name]) -> Name | None:
        """The operand that `result`, which has no elements yet, may overwrite."""
        first = next((k for k, stm in enumerate(later) if result in uses(stm.exp)), len(later))
        others = uses_of_body(HostBody((*later[:first], *later[first + 1 :]), body.result))
        pairs = self.pairs(later[first].exp) if first < len(later) else {}
        for (of, operand), needed in pairs.items():
            if of == result and operand in owned and operand not in others:
                self.used |= needed
                return operand
        return None

    def pairs(self, exp: HostExp) -> Pairs:
        """The pairs that hold in all branches of an expression."""
        match exp:
            case Launch(kernel, _, arrays):
                named = zip(self.kernels[kernel].arrays, arrays, strict=True)
                name_of = {array: name for array, name in named if arrays.count(name) == 1}
                over = self.kernels[kernel].over
                return {(name_of[r], name_of[x]): {(kernel, r, x)} for r, x in over if r in name_of and x in name_of}
            case HostIf(_, then, orelse):
                left, right = self.pairs_of_body(then), self.pairs_of_body(orelse)
                return {pair: needed | right[pair] for pair, needed in left.items() if pair in right}
            case _:
                return {}

    def pairs_of_body(self, body: HostBody) -> Pairs:
        """The pairs of its statements whose names no other statement uses."""
        used = [uses(stm.exp) for stm in body.stms]
        given = {a.name for a in body.result if isinstance(a, Var)}
        found: Pairs = {}
        for k, stm in enumerate(body.stms):
            elsewhere = given.union(*used[:k], *used[k + 1 :])
            found |= {pair: needed for pair, needed in self.pairs(stm.exp).items() if elsewhere.isdisjoint(pair)}
        return found
