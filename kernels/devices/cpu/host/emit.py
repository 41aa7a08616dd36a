"""Host functions to LLVM IR: `i64 @host.k(ptr state)` runs the function whose arguments stand in the state.

    let (n: i64) = add_i64 a b            an instruction; scalars are stack slots, which LLVM turns into registers
    let (ys: [n]f32) = scratch [n]f32     a descriptor in the frame: a counted buffer of the runtime
    launch k[n](ys, xs, n)                a table of words, and a call of the runtime's fork-join

After its first words (`runtime/assembly.py`) the state holds the arguments (a word for a scalar; address and sizes for
an array), the results (a word, or a descriptor), the thresholds and sizes that may be set, the failure record, and the
*frame*: a descriptor for each array. An array is released where the Python runner forgets it (`dead_after`), and at the
end the whole frame is. A failure stores its site and values and leaves with a status; the caller turns them into the
error (`failure_sites.py`).

The parts: `frame.py` (the emitter's state), `arrays.py`, `control.py`; called at run time: `runtime/functions.py`.
"""

from __future__ import annotations

from .....ir import core
from .....ir.core import Param
from .....ir.errors import NOWHERE, IRError
from .....ir.ops import Op, can_fail
from .....ir.types import Atom, Const, Name, Prim, Var
from ....host_ir.in_frame import in_frame
from ....host_ir.liveness import conjunction, dead_after
from ....host_ir.nodes import (
    HostBody,
    HostCall,
    HostFun,
    HostIf,
    HostLoop,
    HostProgram,
    HostStm,
    Interpret,
    Launch,
    Over,
    Workers,
    statements,
)
from ....kernel_ir.nodes import FAR
from ....lanes.module import MODULE_END
from ....llvm import ops as lanes_ops
from ....llvm.convert import convert
from ....llvm.text import Code, Module
from ..runtime.assembly import Status, Word
from .arrays import (
    array_literal,
    concatenate,
    copied,
    fresh,
    index,
    iota,
    lay,
    rearrange,
    replicate,
    reshape,
    scratch,
    scratch_over,
    set_sizes,
    update,
)  # fmt: skip
from .callees import called, callees_of, define, open_calls
from .control import branch, guard, loop, size_param
from .failure_sites import AssertionSite, ScalarSite, recorded
from .frame import (
    DATA,
    Array,
    Backend,
    Emitter,
    bind_scalar,
    call,
    declare_array,
    descriptor,
    fail_if,
    forget,
    highest_rank,
    locals_of,
    obtain,
    operand,
    place,
    prim_of,
    put,
    read_scalar,
    value,
    write_scalar,
)  # fmt: skip
from .layout import NativeFun, argument_places, given, result_words, setting_word
from .memory import CPU


def is_native(fun: HostFun) -> bool:
    """Has every statement a native form, and every size a value?"""
    interpreted = (isinstance(stm.exp, Interpret) for stm in statements(*fun.bodies))
    return sizes_follow(fun) and not any(interpreted)


def emit_host(program: HostProgram, backend: Backend = CPU) -> tuple[str, tuple[NativeFun, ...]]:
    """The module of all functions that have a native form, and what the caller must know of each."""
    module = Module()
    for name, (result, params) in backend.functions.items():
        module.declare(name, result, params)
    native = [f for f in program.functions if is_native(f)]
    far = frozenset(kernel.name for kernel in program.kernels if FAR in kernel.scalars)
    made = [function(backend, module, fun, f"host.{k}", far) for k, fun in enumerate(native)]
    text = "\n".join([module.text(), *(text for text, _ in made), MODULE_END])
    return text.replace("@soac_host_", f"@soac_{backend.name}_"), tuple(info for _, info in made)


def function(backend: Backend, module: Module, fun: HostFun, symbol: str, far: frozenset[str]) -> tuple[str, NativeFun]:
    """The text of one function."""
    results = Word.FIRST + sum(1 + p.type.rank for p in given(fun))
    first_setting = results + sum(result_words(p.type) for p in fun.results)
    rank = highest_rank((*fun.params, *fun.results), fun.body)
    h = Emitter(backend, Code(module), 2 + 2 * rank, first_setting, far=far, callees=callees_of(fun, symbol))
    h.in_frame = in_frame(fun.body) if backend.is_here else frozenset()
    open_calls(h)
    bind_params(h, fun)
    emit_body(h, fun.body, ())
    give_results(h, fun, results)
    backend.end(h)
    texts = [define(h, callee, emit_body) for callee in h.callees.values()]
    record = setting_word(first_setting, len(h.settings))
    frame = record + max([backend.record, *(1 + len(recorded(site)) for site in h.sites)])
    finish(h, fun, frame)
    texts.append(f'define i64 @"{symbol}"(ptr %state) #0 {{\nentry:\n{h.code.text()}}}\n')
    words = frame + h.descriptors * h.words
    numbered = tuple(h.kernels), tuple(h.settings), tuple(h.sites), tuple(h.branches), tuple(h.calls)
    return "\n".join(texts), NativeFun(fun, symbol, *numbered, results, first_setting, record, words)


def sizes_follow(fun: HostFun) -> bool:
    """Is every size the value of a scalar, or that of a dimension of an array?"""
    shapes = {d.name for p in given(fun) for d in p.type.shape if isinstance(d, Var)}
    return shapes.union(p.name for p in given(fun)).issuperset(p.name for p in fun.params[: fun.entry.sizes])


def bind_params(h: Emitter, fun: HostFun) -> None:
    """Arguments, and the sizes that follow from them; those that disagree are not for us."""
    code, places = h.code, tuple(argument_places(fun))
    known: dict[Name, str] = {}
    for param, start in places:
        if not param.type.shape:
            bind_scalar(h, param.name, param.type.prim, read_scalar(h, param.type.prim, place(h, "%state", start)))
            if param.type.prim.is_int:
                known[param.name] = convert(h.one, param.type.prim, Prim.I64, value(h, Var(param.name)))
    bad = "false"
    for param, start in places:
        for k, size in enumerate(param.type.shape, start=start + 1):
            word = code.op(f"load i64, ptr {place(h, '%state', k)}")
            wanted = str(size.value) if isinstance(size, Const) else known.setdefault(size.name, word)
            bad = bad if wanted == word else h.one.either(bad, code.op(f"icmp ne i64 {word}, {wanted}"))
    leave_if(h, bad, Status.UNSUITED)
    for size in fun.params[: fun.entry.sizes]:
        bind_scalar(h, size.name, Prim.I64, known[size.name])
    for param, start in places:
        if param.type.shape:
            bind_array_param(h, param, start, param.name in fun.consumes)


def leave_if(h: Emitter, bad: str, status: Status) -> None:
    """Leave the function with a status if `bad` (i1) holds; no code where it is the constant `false`."""
    if bad != "false":
        code = h.code
        with code.rarely(bad, code.fresh("leave"), code.fresh("fine")):
            code.do(f"store i64 {int(status)}, ptr %status")
            code.jump("leave")


def bind_array_param(h: Emitter, param: Param, at: int, consumed: bool) -> None:
    """The caller's memory, without a buffer; a copy where the function may write it."""
    array = declare_array(h, param, True)
    given = descriptor(h, array.prim, array.rank, True) if consumed else array
    words = [h.code.op(f"load i64, ptr {place(h, '%state', at + k)}") for k in range(1 + array.rank)]
    put(h, given, DATA, words[0])
    set_sizes(h, given, tuple(words[1:]))
    lay(h, given)
    if consumed:
        h.what = f"the argument `{param.name.base}`"
        obtain(h, "fresh", array, given, NOWHERE)


def give_results(h: Emitter, fun: HostFun, at: int) -> None:
    """The results into the state, from word `at` on: scalars as words, arrays as descriptors that own what they
    give."""
    for param, atom in zip(fun.results, fun.body.result, strict=True):
        target = place(h, "%state", at)
        if param.type.shape:
            h.what = "a result"
            obtain(h, "give", Array(target, param.type.prim, param.type.rank, True), operand(h, atom), NOWHERE)
        else:
            write_scalar(h, param.type.prim, value(h, atom), target)
        at += result_words(param.type)


def finish(h: Emitter, fun: HostFun, frame: int) -> None:
    """Frame, table and record at the beginning; the one way out at the end."""
    code, size = h.code, 8 * h.descriptors * h.words
    code.do("store i64 0, ptr %status")
    code.jump("leave")
    code.label("leave")
    call(h, "soac_host_release_all", "%frame", str(h.descriptors), str(h.words))
    if h.backend.is_here and any(isinstance(stm.exp, HostLoop) for stm in statements(*fun.bodies)):
        call(h, "soac_host_end", "%state")
    code.do(f"ret i64 {code.op('load i64, ptr %status')}")
    code.module.declare("llvm.memset.p0.i64", "void", ("ptr", "i8", "i64", "i1"))
    code.entry[:0] = [
        f"  %frame = getelementptr i64, ptr %state, i64 {frame}",
        *locals_of(h),
        f"  call void @llvm.memset.p0.i64(ptr align 8 %frame, i8 0, i64 {size}, i1 false)",
    ]


# ---- statements --------------------------------------------------------------------------------------------------


def emit_body(h: Emitter, body: HostBody, params: tuple[Param, ...]) -> None:
    """The statements, each followed by the release of the arrays that it used last, those among them that a loop
    carries as `params`."""
    for stm, dead in zip(body.stms, dead_after(body, params), strict=True):
        statement(h, stm)
        for name in dead:
            forget(h, name)


def statement(h: Emitter, stm: HostStm) -> None:
    """One statement. Raises IRError for one that is interpreted: `is_native` keeps these away."""
    exp, h.what = stm.exp, made_by(stm)
    match exp:
        case Launch():
            h.backend.launch(h, stm, exp)
        case HostIf():
            branch(h, stm, exp, emit_body)
        case HostLoop():
            loop(h, stm, exp, emit_body)
        case HostCall():
            called(h, stm, exp)
        case Interpret():
            raise IRError("interpreted statements have no native form")
        case core.PrimOp():
            primop(h, stm, exp)
        case core.Convert(source, target, arg):
            bind_scalar(h, stm.pat[0].name, target, convert(h.one, source, target, value(h, arg)))
        case core.Copied():
            copied(h, stm, exp)
        case core.Assert():
            check(h, stm, exp)
        case core.GuardCmp():
            guard(h, stm, exp)
        case core.SizeParam():
            size_param(h, stm, exp)
        case Workers():
            bind_scalar(h, stm.pat[0].name, Prim.I64, h.code.op(f"load i64, ptr {place(h, '%state', Word.THREADS)}"))
        case core.Index():
            index(h, stm, exp)
        case core.Update():
            update(h, stm, exp)
        case core.Iota():
            iota(h, stm, exp)
        case core.Replicate():
            replicate(h, stm, exp)
        case core.Scratch():
            scratch(h, stm, exp)
        case Over():
            scratch_over(h, stm, exp)
        case core.ArrayLit():
            array_literal(h, stm, exp)
        case core.Rearrange():
            rearrange(h, stm, exp)
        case core.Reshape():
            reshape(h, stm, exp)
        case core.Concat():
            concatenate(h, stm, exp)
        case core.Copy():
            fresh(h, stm, exp)


def made_by(stm: HostStm) -> str:
    """What a statement needs memory for, in words."""
    names = ", ".join(f"`{p.name.base}`" for p in stm.pat if p.type.shape)
    inside = "arrays inside a kernel, or " if isinstance(stm.exp, Launch) else ""
    return names or f"{inside}a copy of an argument"


def primop(h: Emitter, stm: HostStm, exp: core.PrimOp) -> None:
    """An operation of the table; one that can fail fails first."""
    args = tuple(value(h, a) for a in exp.args)
    if can_fail(exp.op, exp.prim) and not is_fine(exp.args[1]):
        bad = h.one.ins(f"icmp {refused(exp)}", exp.prim, args[1], "0")
        fail_if(h, bad, ScalarSite(exp.op, exp.prim, stm.loc), lambda: args)
    (param,) = stm.pat
    if (guards := conjunction(exp, h.guards)) is not None:
        h.guards[param.name] = guards
    bind_scalar(h, param.name, param.type.prim, lanes_ops.apply(h.one, exp.op, exp.prim, args))


def refused(exp: core.PrimOp) -> str:
    """How an operand that fails compares with 0: a negative exponent, a divisor of 0."""
    if exp.op is not Op.POW:
        return "eq"
    return "slt" if exp.prim.is_signed else "ult"


def is_fine(divisor: Atom) -> bool:
    """A constant that neither divisions nor powers refuse."""
    return isinstance(divisor, Const) and divisor.value > 0


def check(h: Emitter, stm: HostStm, exp: core.Assert) -> None:
    """Fail with the code and message of an assertion, and its values, unless it holds; it binds true."""
    holes = tuple(p for p in exp.parts if not isinstance(p, str))
    parts = tuple(p if isinstance(p, str) else prim_of(h, p) for p in exp.parts)
    bad = h.one.negate(value(h, exp.cond))
    fail_if(h, bad, AssertionSite(exp.code, parts, stm.loc), lambda: tuple(value(h, p) for p in holes))
    bind_scalar(h, stm.pat[0].name, Prim.BOOL, "true")
