"""Functions that an entry calls: `i64 @host.k.f(ptr state, ptr calls, ptr passed)`, a status.

    passed      a word for each parameter, then one for each result: a scalar, or where the descriptor of an array is
    calls       where the stack may end, whether its end is known, and how many calls of each function are open

A call has a frame of its own, in memory of the system. Its results are bound in the caller's descriptors. A call that
fails gives its frame back, and each caller on the way notes from where it called.
"""

from __future__ import annotations

from collections.abc import Callable

from .....ir.core import Param
from .....ir.types import Name
from ....host_ir.in_frame import in_frame
from ....host_ir.nodes import HostBody, HostCall, HostCallee, HostFun, HostStm
from ....llvm.text import Code
from ..runtime.assembly import CALLED, Status
from .failure_sites import DepthSite
from .frame import (
    Array,
    Callee,
    Emitter,
    ask,
    bind_scalar,
    call,
    declare_array,
    fail_if,
    highest_rank,
    locals_of,
    obtain,
    operand,
    place,
    read_scalar,
    stop_if,
    value,
    write_scalar,
)  # fmt: skip

EmitBody = Callable[[Emitter, HostBody, tuple[Param, ...]], None]
OPEN = 2
"""Where the numbers of open calls start in `calls`."""


def callees_of(fun: HostFun, symbol: str) -> dict[Name, Callee]:
    """The functions that an entry calls, with their symbols and places."""
    return {f.name: Callee(f'"{symbol}.{f.name}"', OPEN + k, f) for k, f in enumerate(fun.callees)}


def open_calls(h: Emitter) -> None:
    """An entry: no calls are open, and the end of the stack is not known."""
    if h.callees:
        words = OPEN + len(h.callees)
        h.code.entry.append(f"  %calls = alloca [{words} x i64], align 8")
        h.code.entry.append(f"  call void @llvm.memset.p0.i64(ptr %calls, i8 0, i64 {8 * words}, i1 false)")


def called(h: Emitter, stm: HostStm, exp: HostCall) -> None:
    """Pass what the function takes, and places for its results; leave with its status if it fails."""
    callee, code = h.callees[exp.function], h.code
    h.passed = max(h.passed, len(exp.args) + len(stm.pat))
    for k, (param, atom) in enumerate(zip(callee.fun.params, exp.args, strict=True)):
        if param.type.shape:
            code.do(f"store ptr {operand(h, atom).pointer}, ptr {place(h, '%passed', k)}")
        else:
            write_scalar(h, param.type.prim, value(h, atom), place(h, "%passed", k))
    for k, param in enumerate(stm.pat, start=len(exp.args)):
        if param.type.shape:
            code.do(f"store ptr {declare_array(h, param, True).pointer}, ptr {place(h, '%passed', k)}")
    status = code.call(callee.symbol, "i64", (("ptr", "%state"), ("ptr", "%calls"), ("ptr", "%passed")))
    note_if(h, status, stm)
    for k, param in enumerate(stm.pat, start=len(exp.args)):
        if not param.type.shape:
            bind_scalar(h, param.name, param.type.prim, read_scalar(h, param.type.prim, place(h, "%passed", k)))


def note_if(h: Emitter, status: str, stm: HostStm) -> None:
    """Leave with a status that is not FINE, with a note of the call."""
    code, number = h.code, len(h.calls)
    h.calls.append(stm.loc)
    cold, fine = code.fresh("called"), code.fresh("fine")
    code.do(f"store i64 {status}, ptr %status")
    with code.rarely(code.op(f"icmp ne i64 {status}, 0"), cold, fine):
        ask(h, "soac_host_append", "%state", str(CALLED), str(number))
        code.jump("leave")


def define(outer: Emitter, callee: Callee, emit_body: EmitBody) -> str:
    """The text of a function that the entry of `outer` calls."""
    fun = callee.fun
    rank = highest_rank((*fun.params, *fun.results), fun.body)
    h = Emitter(
        outer.backend, Code(outer.code.module), 2 + 2 * rank, outer.first_setting, far=outer.far, kernels=outer.kernels,
        settings=outer.settings, sites=outer.sites, branches=outer.branches, calls=outer.calls, callees=outer.callees,
    )  # fmt: skip
    h.in_frame = in_frame(fun.body) if h.backend.is_here else frozenset()
    begin(h, fun)
    take(h, fun)
    emit_body(h, fun.body, ())
    give(h, fun)
    finish(h, callee)
    parameters = "(ptr %state, ptr %calls, ptr %given)"
    return f"define internal i64 @{callee.symbol}{parameters} #0 {{\nentry:\n{h.code.text()}}}\n"


def begin(h: Emitter, fun: HostCallee) -> None:
    """Fail where too many calls are open or the stack is full, and stop where the program is to; else it is open."""
    code = h.code
    full = code.op(f"icmp ne i64 {ask(h, 'soac_host_room', '%calls')}, 0")
    many = code.op(f"icmp uge i64 %open, {fun.depth}")
    fail_if(h, h.one.either(full, many), DepthSite(fun.name.base, fun.loc), lambda: ("%open",))
    code.do(f"store i64 {code.op('add i64 %open, 1')}, ptr %open.place")
    stop_if(h, ask(h, "soac_host_pause", "%state"))


def take(h: Emitter, fun: HostCallee) -> None:
    """The parameters: arrays dense, with references of their own."""
    for k, param in enumerate(fun.params):
        at = place(h, "%given", k)
        if param.type.shape:
            h.what = f"the argument `{param.name.base}`"
            obtain(h, "bind", declare_array(h, param, True), callers(h, at, param), fun.loc)
        else:
            bind_scalar(h, param.name, param.type.prim, read_scalar(h, param.type.prim, at))


def give(h: Emitter, fun: HostCallee) -> None:
    """The results, in the places that the caller has for them."""
    for k, (param, atom) in enumerate(zip(fun.results, fun.body.result, strict=True), start=len(fun.params)):
        at = place(h, "%given", k)
        if param.type.shape:
            h.what = "a result"
            obtain(h, "bind", callers(h, at, param), operand(h, atom), fun.loc)
        else:
            write_scalar(h, param.type.prim, value(h, atom), at)


def callers(h: Emitter, at: str, param: Param) -> Array:
    """The caller's descriptor of an array, whose address is at a place."""
    return Array(h.code.op(f"load ptr, ptr {at}"), param.type.prim, param.type.rank, True)


def finish(h: Emitter, callee: Callee) -> None:
    """The one way out; and at the beginning the frame, without which there is another."""
    code, size = h.code, 8 * h.descriptors * h.words
    code.do("store i64 0, ptr %status")
    code.jump("leave")
    code.label("leave")
    code.do("store i64 %open, ptr %open.place")
    call(h, "soac_host_release_all", "%frame", str(h.descriptors), str(h.words))
    code.do("call void @free(ptr %frame)")
    code.do(f"ret i64 {code.op('load i64, ptr %status')}")
    code.label("no.frame")
    code.do(f"ret i64 {int(Status.MEMORY)}")
    code.module.declare("calloc", "ptr", ("i64", "i64"))
    code.module.declare("free", "void", ("ptr",))
    code.entry[:0] = [
        f"  %frame = call ptr @calloc(i64 1, i64 {max(size, 8)})",
        f"  %open.place = getelementptr i64, ptr %calls, i64 {callee.place}",
        "  %open = load i64, ptr %open.place",
        *locals_of(h),
    ]
    code.entry.append("  %none = icmp eq ptr %frame, null")
    code.entry.append("  br i1 %none, label %no.frame, label %begin, !prof !0\nbegin:")
