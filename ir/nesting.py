"""Bodies within bodies, counted: what passes and printers recur over."""

from __future__ import annotations

from .core import Body, Prog, Stm
from .depth import BRANCHES, MOST_LEVELS, too_deep
from .traverse import COMPOUND, bodies


def check_levels(prog: Prog) -> None:
    """E0103 for a program with bodies nested deeper than passes may recur."""
    check_body_levels(Body(prog.consts, ()))
    for fun in prog.functions:
        check_body_levels(fun.body)


def check_body_levels(body: Body) -> None:
    """E0103 for a body with others nested in it too deeply."""
    level = _compound(body)
    for _ in range(MOST_LEVELS):
        if not level:
            return
        level = [inner for stm in level for body in bodies(stm.exp) for inner in _compound(body)]
    raise too_deep("branches, loops and array operations are", level[0].loc, hint=BRANCHES)


def _compound(body: Body) -> list[Stm]:
    """The statements that have bodies."""
    return [stm for stm in body.stms if type(stm.exp) in COMPOUND]
