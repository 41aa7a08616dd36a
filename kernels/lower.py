"""Flat programs to kernels and host programs.

Statements of the host stay; a segop becomes one or more kernels (`segmap.py`, `segred.py`, `segscan.py`). Its
space is laid
over blocks: outer indices are uniform, lanes run over the innermost dimension, or, where the body holds SOACs and it is
cheaper, over those. Long reductions and scans are cut into chunks of a fixed length, so that results do not depend on
the number of threads. What has no kernel form is kept and interpreted.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir import core
from ..ir.core import Body, Stm
from ..ir.types import Names, Type
from . import kir
from .build import NotLowerable
from .contents import has_segop
from .host import HostBody, HostFun, HostIf, HostLoop, HostProgram, HostStm
from .hostbuild import HostBuilder
from .segmap import seghist, segmap, segscatter, sequential
from .segred import segred
from .segscan import segscan


def lower(prog: core.Prog) -> HostProgram:
    """All entry points of a flat program."""
    kernels: list[kir.Kernel] = []
    functions: list[HostFun] = []
    for fun in prog.functions:
        if fun.entry is None:
            continue
        h = HostBuilder(fun.entry.name, Names(prog.next_name), kernels, prog.functions)
        h.bind(fun.params)
        stms = lower_stms(h, (*prog.consts, *fun.body.stms))
        body = HostBody(stms, fun.body.result)
        functions.append(HostFun(fun.entry, fun.params, fun.consumes, fun.results, body))
    return HostProgram(tuple(functions), tuple(kernels))


def lower_body(h: HostBuilder, body: Body) -> HostBody:
    return HostBody(lower_stms(h, body.stms), body.result)


def lower_stms(h: HostBuilder, stms: tuple[Stm, ...]) -> tuple[HostStm, ...]:
    saved, h.out = h.out, []
    for stm in stms:
        lower_stm(h, stm)
    done, h.out = tuple(h.out), saved
    return done


def lower_stm(h: HostBuilder, stm: Stm) -> None:
    exp = stm.exp
    match exp:
        case core.SegMap():
            guarded(h, stm, lambda: segmap(h, stm, exp))
        case core.SegRed():
            guarded(h, stm, lambda: segred(h, stm, exp))
        case core.SegScan():
            guarded(h, stm, lambda: segscan(h, stm, exp))
        case core.SegScatter():
            guarded(h, stm, lambda: segscatter(h, stm, exp))
        case core.SegHist():
            guarded(h, stm, lambda: seghist(h, stm, exp))
        case core.Screma() | core.Scatter() | core.Hist():
            guarded(h, stm, lambda: sequential(h, stm))
        case core.If(cond, then, orelse):
            h.emit(stm.pat, HostIf(cond, lower_body(h, then), lower_body(h, orelse)), stm.loc)
        case core.Loop():
            loop(h, stm, exp)
        case core.Apply():
            h.interpreted(stm, "a call that inlining left, since the program would have grown too large")
        case _:
            h.note_view(stm)
            h.emit(stm.pat, exp, stm.loc)


def tried(h: HostBuilder, action: Callable[[], None]) -> str | None:
    """Do it, or undo all of it and say why it cannot be done."""
    start, kernels = len(h.out), len(h.kernels)
    try:
        action()
    except NotLowerable as why:
        del h.out[start:], h.kernels[kernels:]
        return str(why)
    return None


def guarded(h: HostBuilder, stm: Stm, action: Callable[[], None]) -> None:
    """Lower to kernels; what has no kernel form is interpreted."""
    out = h.out
    why = tried(h, action)
    if why is not None:
        h.out = out
        h.interpreted(stm, why)


def loop(h: HostBuilder, stm: Stm, exp: core.Loop) -> None:
    """A loop without segops is one kernel of one block where that is possible, else a loop of the host."""
    if not has_segop(exp.body) and tried(h, lambda: sequential(h, stm)) is None:
        return
    h.bind(exp.params)
    if isinstance(exp.form, core.ForLoop):
        h.types[exp.form.index] = Type(exp.form.prim, ())
    h.emit(stm.pat, HostLoop(exp.params, exp.inits, exp.form, lower_body(h, exp.body)), stm.loc)
