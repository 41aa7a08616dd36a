"""Control of a native host program: branches, loops, guards, launches.

Arrays that branches and loops bind are dense and have a reference of their own; what a body made and gave away is
released at its end. An iteration makes the next values before it drops the last ones, unless it has used them last
before that, so that two buffers take turns, or one is enough (`host_ir/overwrite.py`); what is small and used within it
alone takes the memory that it had in the iteration before.
"""

from __future__ import annotations

from collections.abc import Callable

from .....ir import core
from .....ir.core import ForLoop, Param
from .....ir.errors import Loc
from .....ir.types import Atom, Const, Prim, Var
from ....host_ir.launch_parameters import TASKS
from ....host_ir.nodes import HostBody, HostIf, HostLoop, HostStm, Launch
from .frame import (
    DATA,
    Array,
    Emitter,
    ask,
    bind_scalar,
    call,
    declare_array,
    descriptor,
    get,
    move,
    number,
    obtain,
    operand,
    place,
    prim_of,
    release,
    stop_if,
    value,
    write_scalar,
)  # fmt: skip
from .layout import BEGIN, END, Setting, setting_word

EmitBody = Callable[[Emitter, HostBody, tuple[Param, ...]], None]

# ---- branches ----------------------------------------------------------------------------------------------------


def branch(h: Emitter, stm: HostStm, exp: HostIf, emit: EmitBody) -> None:
    """One of two bodies. Its results are bound as dense arrays and scalars; what it made and gave away is released."""
    code = h.code
    arrays = {p.name: declare_array(h, p, True) for p in stm.pat if p.type.shape}
    then, orelse, joined = code.fresh("then"), code.fresh("else"), code.fresh("joined")
    mark(h, exp.cond, BEGIN)
    code.branch(value(h, exp.cond), then, orelse)
    for label, body in ((then, exp.then), (orelse, exp.orelse)):
        code.label(label)
        emit(h, body, ())
        for param, atom in zip(stm.pat, body.result, strict=True):
            if param.type.shape:
                hand_over(h, arrays[param.name], operand(h, atom), atom in moved_results(h, body), stm.loc)
            else:
                bind_scalar(h, param.name, param.type.prim, value(h, atom))
        release_results(h, body)
        code.jump(joined)
    code.label(joined)
    mark(h, exp.cond, END)


def mark(h: Emitter, cond: Atom, what: int) -> None:
    """Note where a branch that guards decide begins and ends; the words of the trace below 0 are these."""
    guards = h.guards.get(cond.name) if isinstance(cond, Var) else None
    if guards is not None:
        if guards not in h.branches:
            h.branches.append(guards)
        word = -1 - 2 * h.branches.index(guards) - what
        stop_if(h, ask(h, "soac_host_mark", "%state", str(word)))


def hand_over(h: Emitter, target: Array, source: Array, moves: bool, loc: Loc) -> None:
    """target = source, dense: the source's own reference where nothing else needs it."""
    if moves:
        move(h, target, source)
    else:
        obtain(h, "bind", target, source, loc)


def moved_results(h: Emitter, body: HostBody) -> set[Atom]:
    """The results that a body made and that are dense: their references go with them, where they are results once."""
    own = {p.name for stm in body.stms for p in stm.pat if p.type.shape and h.arrays[p.name].dense}
    return {a for a in body.result if isinstance(a, Var) and a.name in own and body.result.count(a) == 1}


def release_results(h: Emitter, body: HostBody) -> None:
    """The arrays that a body made and gave as results, which by now have another name, but for those that are moved."""
    own = {p.name for stm in body.stms for p in stm.pat if p.type.shape}
    moved = moved_results(h, body)
    for name in dict.fromkeys(a.name for a in body.result if isinstance(a, Var) and a not in moved):
        if name in own:
            release(h, h.arrays[name])


# ---- loops -------------------------------------------------------------------------------------------------------


def loop(h: Emitter, stm: HostStm, exp: HostLoop, emit: EmitBody) -> None:
    """A counted loop or one with a condition. Each turn ends with a pause, at which the runtime may stop the program
    (`Status`)."""
    code = h.code
    following = tuple(loop_param(h, p, init, stm.loc) for p, init in zip(exp.params, exp.inits, strict=True))
    head, turn, end = code.fresh("head"), code.fresh("turn"), code.fresh("end")
    bound = first_turn(h, exp.form)
    turns = [setting(h, size.name, size.default)[1] for size in exp.sizes]
    for several in turns:
        call(h, "soac_host_graph_begin", "%state", several)
    code.jump(head)
    code.label(head)
    code.branch(goes_on(h, exp.form, bound), turn, end)
    code.label(turn)
    h.loops += 1
    emit(h, exp.body, exp.params)
    next_values(h, exp, following, stm.loc)
    h.loops -= 1
    next_turn(h, exp.form)
    for _ in turns:
        call(h, "soac_host_graph_turn", "%state")
    stop_if(h, ask(h, "soac_host_pause", "%state"))
    code.jump(head)
    code.label(end)
    for _ in turns:
        call(h, "soac_host_graph_end", "%state")
    for param, carried in zip(stm.pat, exp.params, strict=True):
        if param.type.shape:
            move(h, declare_array(h, param, True), h.arrays[carried.name])
        else:
            bind_scalar(h, param.name, param.type.prim, value(h, Var(carried.name)))


def loop_param(h: Emitter, param: Param, init: Atom, loc: Loc) -> Array | None:
    """Bind a parameter to its first value; for an array, where its next value is made."""
    if not param.type.shape:
        bind_scalar(h, param.name, param.type.prim, value(h, init))
        return None
    obtain(h, "bind", declare_array(h, param, True), operand(h, init), loc)
    return descriptor(h, param.type.prim, param.type.rank, True)


def next_values(h: Emitter, exp: HostLoop, following: tuple[Array | None, ...], loc: Loc) -> None:
    """All values of the next turn are made before the first is bound: they may use each other's names."""
    scalars = [value(h, a) if f is None else "" for a, f in zip(exp.body.result, following, strict=True)]
    for atom, array in zip(exp.body.result, following, strict=True):
        if array is not None:
            hand_over(h, array, operand(h, atom), atom in moved_results(h, exp.body), loc)
    release_results(h, exp.body)
    for param, array, text in zip(exp.params, following, scalars, strict=True):
        if array is None:
            bind_scalar(h, param.name, param.type.prim, text)
        else:
            release(h, h.arrays[param.name])
            move(h, h.arrays[param.name], array)


def first_turn(h: Emitter, form: core.ForLoop | core.WhileLoop) -> str:
    """Start the counter; its bound."""
    if not isinstance(form, ForLoop):
        return ""
    bind_scalar(h, form.index, form.prim, "0")
    return value(h, form.bound)


def goes_on(h: Emitter, form: core.ForLoop | core.WhileLoop, bound: str) -> str:
    """i1: is there another turn? `bound`: that of a counted loop."""
    if not isinstance(form, ForLoop):
        return value(h, Var(form.cond))
    less = "icmp slt" if form.prim.is_signed else "icmp ult"
    return h.one.ins(less, form.prim, value(h, Var(form.index)), bound)


def next_turn(h: Emitter, form: core.ForLoop | core.WhileLoop) -> None:
    """Count one turn; a loop with a condition counts none."""
    if isinstance(form, ForLoop):
        more = h.one.ins("add", form.prim, value(h, Var(form.index)), "1")
        bind_scalar(h, form.index, form.prim, more)


# ---- guards and launches -----------------------------------------------------------------------------------------


def guard(h: Emitter, stm: HostStm, exp: core.GuardCmp) -> None:
    """threshold <= parallelism, the threshold from the state; what is negative does not fit, whoever forces it. A
    default holds where the version pays."""
    which, threshold = setting(h, exp.threshold, None)
    parallelism = number(h, exp.par)
    fits = h.code.op(f"icmp sge i64 {parallelism}, 0")
    taken = h.one.both(fits, h.code.op(f"icmp sle i64 {threshold}, {parallelism}"))
    if exp.pays != Const(Prim.BOOL, True):
        is_default = h.code.op(f"load i64, ptr {place(h, '%state', setting_word(h.first_setting, which) + 1)}")
        is_set = h.code.op(f"icmp eq i64 {is_default}, 0")
        taken = h.one.both(taken, h.code.op(f"or i1 {is_set}, {value(h, exp.pays)}"))
    stop_if(h, ask(h, "soac_host_note", "%state", str(which), parallelism, taken))
    h.guards[stm.pat[0].name] = (exp.threshold,)
    bind_scalar(h, stm.pat[0].name, Prim.BOOL, taken)


def size_param(h: Emitter, stm: HostStm, exp: core.SizeParam) -> None:
    """A size that the caller may set, else its default."""
    bind_scalar(h, stm.pat[0].name, Prim.I64, setting(h, exp.name, exp.default)[1])


def setting(h: Emitter, name: str, size: int | None) -> tuple[int, str]:
    """The number of a setting, and its word."""
    wanted = Setting(name, size)
    if wanted not in h.settings:
        h.settings.append(wanted)
    which = h.settings.index(wanted)
    return which, h.code.op(f"load i64, ptr {place(h, '%state', setting_word(h.first_setting, which))}")


def launch(h: Emitter, stm: HostStm, exp: Launch) -> None:
    """The table of the kernel (after record and arenas: arrays, scalars), then the runtime's launch."""
    arrays = [h.arrays[name] for name in exp.arrays]
    dense = [a if a.dense else dense_copy(h, a, stm.loc) for a in arrays]
    h.slots = max(h.slots, 2 + len(arrays) + len(exp.scalars))
    for k, array in enumerate(dense, start=2):
        h.code.do(f"store i64 {get(h, array, DATA)}, ptr {place(h, '%table', k)}")
    for k, atom in enumerate(exp.scalars, start=2 + len(arrays)):
        write_scalar(h, prim_of(h, atom), value(h, atom), place(h, "%table", k))
    form = str(which := 2 * h.kernels.setdefault(exp.kernel, len(h.kernels)))
    if exp.kernel in h.far:
        form = h.code.op(f"select i1 {value(h, exp.scalars[-1])}, i64 {which + 1}, i64 {which}")
    tasks = next((setting(h, size.name, size.default)[1] for size in exp.sizes), str(TASKS))
    status = ask(h, "soac_host_launch", "%state", "%table", form, number(h, exp.blocks), cost(h, exp), tasks)
    stop_if(h, status)
    for array, given in zip(arrays, dense, strict=True):
        if array is not given:
            release(h, given)


def dense_copy(h: Emitter, array: Array, loc: Loc) -> Array:
    """A view as kernels take it: itself if it happens to be dense."""
    own = descriptor(h, array.prim, array.rank, True)
    obtain(h, "bind", own, array, loc)
    return own


def cost(h: Emitter, exp: Launch) -> str:
    """double: what a launch costs, by the estimate of its work for a unit and the number of units."""
    work = h.one.const(Prim.F64, exp.work)
    units = h.code.op(f"sitofp i64 {number(h, exp.units)} to double")
    return h.one.ins("fmul", Prim.F64, units, work)
