"""`structure` in test blocks: how often nodes occur in a program, by the names of `soac/testing/structure.py`.

    structure gpu { SegMap 1 /If/True/SegRed 2 }

The flat program for a GPU (`gpu`, `gpu-mem`), for cores (`mc`, `mc-mem`) or with its outer parallelism only
(`seq-mem`); the fused program where no pipeline is named; what the front end made (`internalised`).
"""

from __future__ import annotations

import typing

from ..frontend.source.diagnostics import did_you_mean
from ..ir.core import Exp, Prog
from ..ir.machine import CPU, CUDA, Mode
from ..pipeline import Compiled, stages
from .blocks import Structure
from .structure import structure

SIDES = ("True", "False")
FORMS = ("Map", "Redomap", "Scanomap")  # what a Screma is called
NODES = frozenset([*(node.__name__ for node in typing.get_args(Exp)), *FORMS, *SIDES])


def misshapen(compiled: Compiled, wanted: Structure) -> str | None:
    """How the program differs from a `structure` block."""
    found = structure(_stage(compiled, wanted.pipeline))
    for path, count in wanted.counts:
        for node in path.split("/"):
            if node and node not in NODES:
                near = did_you_mean(node, NODES)
                return f"no node is called `{node}`" + (f"; did you mean `{near}`?" if near else "")
        if found.get(path, 0) != count:
            return f"`{path}` occurs {found.get(path, 0)} times, not {count}"
    return None


def _stage(compiled: Compiled, pipeline: str | None) -> Prog:
    """The program that a pipeline means: flat for a GPU or for cores, fused if none is named."""
    match pipeline:
        case None:
            return compiled.fused
        case "internalised":
            return compiled.core
        case "gpu" | "gpu-mem":
            return dict(stages(compiled.core, Mode.INCREMENTAL, CUDA, checked=False))["simplify-flat"]
        case "seq-mem":
            return dict(stages(compiled.core, Mode.OUTER, CPU, checked=False))["simplify-flat"]
        case _:
            return compiled.flat
