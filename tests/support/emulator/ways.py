"""The guards on the way to each launch of a kernel: which versions may launch it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from soac.ir.core import GuardCmp, PrimOp
from soac.ir.types import Name, Var
from soac.kernels.host_ir.liveness import conjunction
from soac.kernels.host_ir.nodes import HostBody, HostIf, HostProgram, Launch, bodies_of


@dataclass(frozen=True, slots=True)
class Way:
    """An entry, and the sides of guards that lead to a launch."""

    entry: str
    sides: Mapping[str, bool]

    def is_open(self, entry: str, forced: Mapping[str, bool]) -> bool:
        """Whether a version may go along it."""
        return entry == self.entry and all(forced.get(guard, side) == side for guard, side in self.sides.items())


def ways_to(program: HostProgram) -> Mapping[str, list[Way]]:
    """Those to each kernel."""
    found: dict[str, list[Way]] = {}
    for fun in program.functions:
        for body in fun.bodies:
            _walk(body, Way(fun.entry.name, {}), found)
    return found


def _walk(body: HostBody, way: Way, found: dict[str, list[Way]]) -> None:
    guards: dict[Name, tuple[str, ...]] = {}
    for stm in body.stms:
        match stm.exp:
            case Launch(kernel):
                found.setdefault(kernel, []).append(way)
            case GuardCmp(threshold):
                guards[stm.pat[0].name] = (threshold,)
            case PrimOp() if (together := conjunction(stm.exp, guards)) is not None:
                guards[stm.pat[0].name] = together
            case HostIf(Var(cond), then, orelse) if cond in guards:
                names = guards[cond]
                _walk(then, Way(way.entry, {**way.sides, **dict.fromkeys(names, True)}), found)
                _walk(orelse, Way(way.entry, {**way.sides, names[0]: False}) if len(names) == 1 else way, found)
            case _:
                for inner in bodies_of(stm.exp):
                    _walk(inner, way, found)
