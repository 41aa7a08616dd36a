"""Flat programs to kernels and host programs.

Statements of the host stay; a segop becomes one or more kernels, by the table of schedules of the machine that is to
run them (`schedules_of`). Long reductions and scans are cut by sizes alone, so that results do not depend on the number
of threads. What has no kernel form is kept and interpreted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace

from ..flatten.memory.turn_maps import in_order, orders_of
from ..ir import core
from ..ir.by_hand import BY_HAND, attr_of
from ..ir.core import Body, Param, Stm
from ..ir.errors import IRError
from ..ir.machine import CPU, Machine
from ..ir.reachable import reachable
from ..ir.reached_sides import Wanted
from ..ir.recursion import most_calls
from ..ir.traverse import all_stms, free_in_stm
from ..ir.types import Atom, Name, Names, Type, Var
from ..ir.version_tree import comparisons
from .host_ir.dead_code import without_unread
from .host_ir.launch_parameters import Side
from .host_ir.nodes import HostBody, HostCall, HostCallee, HostFun, HostIf, HostLoop, HostProgram, HostStm, launches
from .host_ir.parts_in_place import parts_in_place
from .kernel_ir.dedup import Kernels
from .lower_parts import left_out
from .schedule.by_hand import launch_by_hand
from .schedule.cpu.filters import counting, counts_apart, filters_in
from .schedule.cpu.rows_and_columns import Pair, pairs_in, run_pair
from .schedule.cpu.scan_and_map import followers_in, run_both
from .schedule.cpu.scans_together import scans_together
from .schedule.cpu.schedules import SCHEDULES
from .schedule.cpu.segmap import sequential
from .schedule.guarded_sizes import guarded_sizes
from .schedule.host_builder import Follower, HostBuilder, Scheduled
from .schedule.kernel_builder import NotLowerable
from .schedule.queries import has_loop, has_segop
from .schedule.table import Schedules, SegOp, Segop, bound, run


def schedules_of(machine: Machine) -> Schedules:
    """How a machine runs segops. What GPUs need is imported for the first program that is compiled for one."""
    if machine.name == CPU.name:
        return SCHEDULES
    from .schedule.cuda.schedules import SCHEDULES as of_gpus

    return of_gpus


def lower(
    prog: core.Prog,
    machine: Machine = CPU,
    observe: Callable[[Scheduled], None] = lambda scheduled: None,
    wanted: Wanted | None = None,
) -> HostProgram:
    """All entry points of a flat program, in the schedules of `machine`; `observe` gets what was considered. `wanted`:
    one entry alone, of whose versions some are left out."""
    kernels = Kernels()
    functions: list[HostFun] = []
    last, schedules = prog.next_name, schedules_of(machine)
    for fun in prog.functions:
        if fun.entry is None or (wanted is not None and fun.entry.name != wanted.entry):
            continue
        h = HostBuilder(fun.entry.name, Names(prog.next_name), kernels, prog.functions, machine, schedules.inner)
        h.others, h.observe = len(kernels.made), observe
        h.wanted = None if wanted is None else wanted.sides
        h.mapped = schedules.mapped
        h.bind(fun.params)
        body = lower_body(h, Body((*prog.consts, *fun.body.stms), fun.body.result))
        callees = tuple([lower_callee(h, callee) for callee in called_by(prog, fun)])
        functions.append(HostFun(fun.entry, fun.params, fun.consumes, fun.results, body, callees))
        last = max(last, h.names.next)
    names = {launch.kernel for fun in functions for launch in launches(*fun.bodies)}
    program = HostProgram(tuple(functions), tuple(k for k in kernels.made if k.name in names))
    return schedules.finished(parts_in_place(without_unread(program), last_names := Names(last)), last_names)


def called_by(prog: core.Prog, fun: core.FunDef) -> Iterator[core.FunDef]:
    """The functions that an entry or a constant calls, directly or not, each once."""
    by_name = {f.name: f for f in prog.functions}
    first = _calls(Body((*prog.consts, *fun.body.stms), ()))
    return map(by_name.__getitem__, reachable(first, lambda name: _calls(by_name[name].body)))


def _calls(body: Body) -> Iterator[Name]:
    """The functions that a body calls, but for calls that a kernel by hand does."""
    for stm in all_stms(body):
        if isinstance(stm.exp, core.Apply) and attr_of(stm, BY_HAND) is None:
            yield stm.exp.function


def lower_callee(h: HostBuilder, fun: core.FunDef) -> HostCallee:
    """A function as a part of the entry that calls it."""
    h.bind(fun.params)
    return HostCallee(fun.name, fun.params, fun.results, lower_body(h, fun.body), most_calls(fun), fun.loc)


def lower_body(h: HostBuilder, body: Body) -> HostBody:
    """The host body of a flat body; its kernels are added to `h`."""
    return HostBody(lower_stms(h, body.stms, body.result), body.result)


def lower_stms(h: HostBuilder, stms: tuple[Stm, ...], result: tuple[Atom, ...]) -> tuple[HostStm, ...]:
    """The host statements of the flat statements of a body; those emitted for others of `h` stay as they are."""
    saved, h.out = h.out, []
    filters, turned, followers = h.filters, h.turned, h.followers
    if h.machine.name == CPU.name:
        stms = counts_apart(h.names, stms)
        stms = scans_together(h.names, stms, result, counting(stms))
        h.filters, h.turned = filters_in(stms, result), turned_in(h.names, stms, result)
        h.followers = followers_in(stms, result, h.filters)
    pars = {stm.pat[0].name: stm.exp.par for stm in stms if isinstance(stm.exp, core.GuardCmp)}
    guards, waiting = comparisons(Body(stms, ())), {one.scan.pat[0].name for one in h.followers.values()}
    pairs = pairs_in(stms, guards) if h.machine.name == CPU.name else dict[Name, Pair]()
    waiting |= {pair.first.pat[0].name for pair in pairs.values()}

    def emit(stm: Stm) -> None:
        match stm.exp:
            case core.If(Var(cond), then, orelse) if cond in guards:
                way, known = guards[cond][0], h.bounds
                if cond in pars:
                    h.bounds = {**known, **guarded_sizes(h.computed, pars[cond])}
                taken = lower_side(h, stm, then, (way, True))
                h.bounds = known
                sides = (taken, lower_side(h, stm, orelse, (way, False)))
                h.emit(stm.pat, HostIf(Var(cond), *sides), stm.loc)
            case core.SegMap() | core.SegRed() if stm.pat[0].name in h.followers:
                lower_both(h, h.followers[stm.pat[0].name])
            case _ if stm.pat and stm.pat[0].name in h.replaced:
                for other in h.replaced[stm.pat[0].name] or ():
                    lower_stm(h, other)
            case _:
                lower_stm(h, stm)

    for stm in stms:
        name = stm.pat[0].name if stm.pat else None
        if name is not None and name in pairs:
            lower_pair(h, pairs[name], guards, emit)
        elif name not in waiting:
            emit(stm)
    h.filters, h.turned, h.followers = filters, turned, followers
    done, h.out = tuple(h.out), saved
    return done


def lower_side(h: HostBuilder, stm: Stm, body: Body, side: Side) -> HostBody:
    """A side of a guard, whose sizes are named after it."""
    if h.wanted is not None and side not in h.wanted:
        return left_out(h.names, stm)
    outside, h.side = h.side, side
    lowered = lower_body(h, body)
    h.side = outside
    return lowered


def lower_stm(h: HostBuilder, stm: Stm) -> None:
    """Emits the host statements and kernels of one flat statement."""
    exp = stm.exp
    match exp:
        case core.SegMap() | core.SegRed() | core.SegScan() | core.SegScatter() | core.SegHist():
            table, base = schedules_of(h.machine).tables[type(exp)], stm.pat[0].name.base if stm.pat else "map"
            h.considered, h.nesting = [], 0
            why = guarded(h, stm, lambda: run(placed(h, Segop(h, stm, exp, base, [])), table))
            h.observe(Scheduled(h.entry, stm, h.side, tuple(h.considered), why))
        case core.Screma() | core.Scatter() | core.Hist():
            why = guarded(h, stm, lambda: sequential(h, stm))
            h.observe(Scheduled(h.entry, stm, h.side, (), why))
        case core.If(cond, then, orelse):
            h.emit(stm.pat, HostIf(cond, lower_body(h, then), lower_body(h, orelse)), stm.loc)
        case core.Loop():
            loop(h, stm, exp)
        case core.Apply(function, args) if (by_hand := attr_of(stm, BY_HAND)) is not None:
            kernels = (k for f in h.functions if f.name == function for k in f.kernels)
            kernel = next(k for k in kernels if k.name.base == by_hand.args[0].name)
            why = guarded(h, stm, lambda: launch_by_hand(h, stm, args, kernel, lower_stm))
            h.observe(Scheduled(h.entry, stm, h.side, (), why))
        case core.Apply(function, args):
            h.emit(stm.pat, HostCall(function, args), stm.loc)
        case core.WithAcc() | core.Accumulate():
            raise IRError("accumulators end before flattening")
        case _:
            h.note_view(stm)
            h.emit(stm.pat, exp, stm.loc)


def lower_both(h: HostBuilder, one: Follower) -> None:
    """Emits a scan and the map behind it, as one where that is possible."""
    exp = one.scan.exp
    assert isinstance(exp, core.SegScan)
    h.considered, h.nesting = [], 0
    if tried(h, lambda: run_both(Segop(h, one.scan, exp, one.scan.pat[0].name.base, []), one)) is None:
        h.observe(Scheduled(h.entry, one.scan, h.side, tuple(h.considered), None))
    else:
        lower_stm(h, one.scan)
        lower_stm(h, one.map)


def lower_pair(h: HostBuilder, pair: Pair, guards: Container[Name], emit: Callable[[Stm], None]) -> None:
    """Emits reductions of the rows and columns of a matrix, in one pass where that is possible."""
    observe = h.observe

    def apart(renamed: Stm, stm: Stm) -> None:
        h.observe = lambda one: observe(replace(one, stm=stm) if one.stm is renamed else one)
        emit(renamed)
        h.observe = observe

    if tried(h, lambda: run_pair(h, pair, guards, apart)) is not None:
        apart(pair.first, pair.first)
        apart(pair.second, pair.second)


def turned_in(names: Names, stms: tuple[Stm, ...], result: tuple[Atom, ...]) -> Mapping[Name, tuple[Stm, ...]]:
    """The rearrangements of results of scans, and of arrays that loops of threads make, of which nothing else is read,
    by these; with the copy of each of which nothing else is read. A map that reads a scan as if it were rearranged
    stands for one."""
    made = {p.name: stm.exp for stm in stms if isinstance(stm.exp, core.SegScan | core.SegMap) for p in stm.pat}
    reads = Counter(name for stm in stms for name in free_in_stm(stm))
    reads.update(atom.name for atom in result if isinstance(atom, Var))
    copies = {stm.exp.array: (stm,) for stm in stms if isinstance(stm.exp, core.Copy) and reads[stm.exp.array] == 1}
    found = ((stm.exp, stm) for stm in stms if isinstance(stm.exp, core.Rearrange))
    turned = {
        exp.array: (stm, *copies.get(stm.pat[0].name, ()))
        for exp, stm in found
        if reads[exp.array] == 1 and (maker := made.get(exp.array)) is not None and _may_be_turned(maker, exp.perm)
    }
    scans = {p.name: p for stm in stms if isinstance(stm.exp, core.SegScan) for p in stm.pat if reads[p.name] == 1}
    for reader in stms:
        for param in (
            scans[name] for name in free_in_stm(reader) if name in scans and isinstance(reader.exp, core.SegMap)
        ):
            orders = set(orders_of(param.name, reader))
            if len(orders) == 1 and (perm := orders.pop()) is not None:
                own = Param(names.again(param.name), Type(param.type.prim, in_order(param.type.shape, perm)))
                turned[param.name] = (Stm((own,), core.Rearrange(perm, param.name), (), (), reader.loc),)
    return turned


def _may_be_turned(maker: core.SegScan | core.SegMap, perm: tuple[int, ...]) -> bool:
    """Whether results may lie with their dimensions in the order `perm`: those of scans, and arrays of neighbouring
    threads whose elements come to lie side by side."""
    if isinstance(maker, core.SegScan):
        return True
    last = len(maker.space.dims) - 1
    return maker.level is core.Level.THREAD and 0 <= last == perm[-1] < len(perm) - 1 and has_loop(maker.body)


def placed(h: HostBuilder, s: Segop[SegOp]) -> Segop[SegOp]:
    """With memory for the results that are only read rearranged: these are stored where that is dense."""
    if not any(p.name in h.turned for p in s.stm.pat):
        return s
    for param in s.stm.pat:
        match h.turned.get(param.name):
            case (Stm(exp=core.Rearrange(perm, _)), *_) as readers:
                (own,) = readers[-1].pat
                h.bind((param,))
                h.views[param.name] = core.Rearrange(tuple(map(perm.index, range(len(perm)))), own.name)
                h.replaced |= {reader.pat[0].name: None for reader in readers}
                h.emit((own,), core.Scratch(own.type), s.stm.loc)
            case _:
                h.emit((param,), core.Scratch(param.type), s.stm.loc)
    return replace(bound(s, ()), outs=[(p.name, p.type) for p in s.stm.pat])


def tried(h: HostBuilder, action: Callable[[], None]) -> str | None:
    """Do it, or undo all of it and say why it cannot be done."""
    out, start, kernels = h.out, len(h.out), len(h.kernels.made)
    try:
        action()
    except NotLowerable as why:
        h.out = out
        del out[start:]
        h.kernels.forget(kernels)
        return str(why)
    return None


def guarded(h: HostBuilder, stm: Stm, action: Callable[[], None]) -> str | None:
    """Lower to kernels; what has no kernel form is interpreted, and why is given."""
    why = tried(h, action)
    if why is not None:
        for reader in (reader for p in stm.pat for reader in h.turned.get(p.name, ())):
            h.replaced.pop(reader.pat[0].name, None)
        h.interpreted(stm, why)
    return why


def loop(h: HostBuilder, stm: Stm, exp: core.Loop) -> None:
    """A loop without segops is one kernel of one block where that is possible, else a loop of the host."""
    if not has_segop(exp.body) and tried(h, lambda: sequential(h, stm)) is None:
        return
    h.bind(exp.params)
    if isinstance(exp.form, core.ForLoop):
        h.types[exp.form.index] = Type(exp.form.prim, ())
    body = lower_body(h, exp.body)
    h.emit(stm.pat, HostLoop(exp.params, exp.inits, exp.form, body, h.loop_sizes(body)), stm.loc)
