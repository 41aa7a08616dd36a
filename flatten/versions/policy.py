"""The policy of versions: which bodies are worth running in one thread, or in one collective, for each point of a nest.

After the published policy, which counts reductions and scans. Beyond it, a loop of maps counts where what it carries
from step to step is worth keeping: interchanged with the nest, every step is a pass over the arrays of all points; in a
version of its own a point's arrays stay where its steps are, in a cache or in the memory of a block.
"""

from __future__ import annotations

from ...ir.core import Body, Exp, ForLoop, Hist, If, Loop, Scatter, Screma
from ...ir.machine import Machine
from ...ir.traverse import free_in_lambda, free_in_stm
from ...ir.types import Name
from ..context.widths import is_small
from .parallelism import holds_wide, is_sequential


def score(machine: Machine, body: Body) -> int:
    """How much a thread has to do for it to be worth a version; it must exceed 1.

    A reduction or scan counts 1, and 1 more for a redomap that is directly inside the map; its own lambda counts too;
    maps are transparent; a loop counts its body tenfold, and 10 at least if it is kept; a branch the better side twice.
    """
    return _score(machine, body, 0)


def _score(machine: Machine, body: Body, depth: int) -> int:
    return sum(_score_of(machine, stm.exp, depth) for stm in body.stms if not is_sequential(stm))


def _score_of(machine: Machine, exp: Exp, depth: int) -> int:
    match exp:
        case Screma(width, _, f, scans, reds):
            if not scans and not reds:
                return _score(machine, f.body, depth)
            directly = 1 if depth == 0 and not scans else 0
            return (0 if is_small(width) else 1 + directly) + _score(machine, f.body, depth + 1)
        case Hist(width, _, f, _, _, _):
            return (0 if is_small(width) else 1) + _score(machine, f.body, depth + 1)
        case Scatter(_, _, f, _, _):
            return _score(machine, f.body, depth)
        case Loop(_, _, ForLoop(), body):
            return 10 * max(_score(machine, body, depth + 1), is_kept(machine, exp))
        case If(_, then, orelse):
            return 2 * max(_score(machine, then, depth), _score(machine, orelse, depth))
        case _:
            return 0


def score_inside(machine: Machine, body: Body) -> int:
    """How much the threads of a collective would share for it to be worth a version; it must exceed 1, so that one
    reduction alone is left to the version that is flattened.

    A reduction or scan counts 1, and its own lambda too; a map beside it 1, a map with reductions inside what these
    count; maps alone count nothing, they are fused. A loop counts its body tenfold, and 10 at least if it is kept; a
    branch the better side twice. Parallelism that is known to be small counts nothing.
    """
    stms = [stm.exp for stm in body.stms if not is_sequential(stm)]
    operated = sum(_operated_inside(machine, exp) for exp in stms)
    return operated + sum(_is_wide_map(machine, exp) for exp in stms) if operated else 0


def _operated_inside(machine: Machine, exp: Exp) -> int:
    """What the reductions, scans and loops of a statement count."""
    match exp:
        case Screma(_, _, f, (), ()) | Scatter(_, _, f, _, _):
            return score_inside(machine, f.body)
        case Screma(width, _, f, _, _) | Hist(width, _, f, _, _, _):
            return score_inside(machine, f.body) + (0 if is_small(width) else 1)
        case Loop(_, _, _, body):
            return 10 * max(score_inside(machine, body), is_kept(machine, exp))
        case If(_, then, orelse):
            return 2 * max(score_inside(machine, then), score_inside(machine, orelse))
        case _:
            return 0


def _is_wide_map(machine: Machine, exp: Exp) -> bool:
    match exp:
        case Screma(width, _, f, (), ()) | Scatter(width, _, f, _, _):
            return not is_small(width) and not score_inside(machine, f.body)
        case _:
            return False


# ---- what loops carry ----------------------------------------------------------------------------------------------


def is_kept(machine: Machine, loop: Loop) -> bool:
    """Whether the SOACs of a loop are on arrays that it carries, and it is worth keeping these near: where there are
    caches always, else where threads read of them what others have made."""
    carried = {p.name for p in loop.params if p.type.shape}
    return bool(carried) and holds_wide(loop.body) and (machine.keeps_rows or is_shared(loop.body, carried))


def is_shared(body: Body, arrays: set[Name]) -> bool:
    """Whether one of the arrays is used otherwise than element by element."""
    for stm in body.stms:
        match stm.exp:
            case Screma(_, inputs, f) | Hist(_, inputs, f) | Scatter(_, inputs, f):
                rows = {p.name for p, xs in zip(f.params, inputs, strict=True) if xs in arrays and p.type.shape}
                if not arrays.isdisjoint(free_in_lambda(f)) or is_shared(f.body, rows):
                    return True
            case _ if not arrays.isdisjoint(free_in_stm(stm)):
                return True
            case _:
                pass
    return False
