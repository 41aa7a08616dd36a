"""Core statements to kernel statements, as executed by one thread or, uniformly, by a whole block.

`Mode.THREAD`: inside a `Threads` loop; SOACs become loops, arrays are private. `Mode.BLOCK`: executed once by the
block; arrays are shared, and a SOAC may spread over the block's threads (`kernels/schedule/soacs.py` decides).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...flatten.aliasing.classes import overwritten_in
from ...flatten.context.found_sizes import sizes_first
from ...ir import core
from ...ir.aliases import taken_over
from ...ir.core import Body, Fix, Param, Slice, Stm
from ...ir.errors import IRError
from ...ir.ops import Op, can_fail
from ...ir.types import Const, Name, Prim, Type, Var, zero
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KVar
from .array_values import copy_into, owned, rearranged, reshaped, shape_of, sliced, stored
from .kernel_builder import (
    ONE,
    ZERO,
    ArrayRef,
    ArrayValue,
    Builder,
    IotaRef,
    Mode,
    NotLowerable,
    Operand,
    ReplicateRef,
    Value,
    beyond,
    clean,
    index_message,
    is_const,
    scalar,
)
from .queries import made_anew, made_here, made_in_turns
from .turns import InPlace, Slot, making, reading, take_turns, turn_over
from .updates_in_place import is_remade_in_place, made_in_parts, make_in_part

OPERATIONS = frozenset(op.value for op in Op)


# ---- statements --------------------------------------------------------------------------------------------------


def gen_body(b: Builder, body: Body, mode: Mode) -> tuple[Value, ...]:
    """Emit a body; gives the values of its results."""
    for k, stm in enumerate(body.stms):
        parts = made_in_parts(body, k)
        for made, update in parts.items():
            make_in_part(b, stm, made, update)
        with repeated(b, stm, body, mode):
            gen_stm(b, stm, mode)
        for made in parts:
            b.destinations.pop(made, None)
    return tuple(b.atom(a) for a in body.result)


@contextmanager
def repeated(b: Builder, stm: Stm, body: Body, mode: Mode) -> Iterator[None]:
    """A row that a statement repeats is read where that is used: from a copy, if the body overwrites it."""
    row = stm.exp.value if isinstance(stm.exp, core.Replicate) else None
    value = b.env.get(row.name) if isinstance(row, Var) else None
    if not isinstance(row, Var) or not isinstance(value, ArrayRef) or not overwrites(b, body, value):
        yield
        return
    b.env[row.name] = stored(b, value, "row", mode)
    yield
    b.env[row.name] = value


def overwrites(b: Builder, body: Body, array: ArrayRef) -> bool:
    """Whether a body overwrites memory in which an array is."""
    known = (b.env.get(name) for name in overwritten_in(body))
    return any(isinstance(value, ArrayRef) and value.mem == array.mem for value in known)


def gen_stm(b: Builder, stm: Stm, mode: Mode) -> None:
    """Emit one statement and bind its pattern."""
    b.note(stm.loc)
    values = gen_exp(b, stm, mode)
    assert len(values) == len(stm.pat), f"{stm.pat}: {values}"
    for param, value in zip(stm.pat, values, strict=True):
        b.env[param.name] = value
        b.defined[param.name] = stm


def gen_exp(b: Builder, stm: Stm, mode: Mode) -> tuple[Value, ...]:
    """Emit an expression; gives the values of the statement's pattern. Raises NotLowerable for guards, parameters and
    calls, and for segops that a block's threads cannot run."""
    exp = stm.exp
    match exp:
        case core.Copied(atom):
            return (b.atom(atom),)
        case core.PrimOp():
            return (gen_primop(b, exp, stm),)
        case core.Convert(source, target, arg):
            return (b.let(own_name(stm), target, kir.KConvert(source, target, b.operand(arg))),)
        case core.Index(array, dims, safe):
            if not safe:
                check_dims(b, dims, shape_of(b.array(array)), stm)
            return (sliced(b, b.array(array), dims),)
        case core.Update():
            return (gen_update(b, exp, stm, mode),)
        case core.Iota(count, start, step, prim):
            return (IotaRef(prim, b.operand(count), b.operand(start), b.operand(step)),)
        case core.Replicate(shape, value):
            widths = tuple(b.operand(d) for d in shape)
            return (ReplicateRef(widths, b.atom(value)) if widths else b.atom(value),)
        case core.Scratch(type_):
            return (new_array(b, stm.pat[0].name, type_, mode),)
        case core.ArrayLit(elems, _):
            return (gen_array_lit(b, elems, stm, mode),)
        case core.Rearrange(perm, array):
            return (rearranged_any(b, b.array(array), perm, mode),)
        case core.Reshape(shape, array):
            return (reshape_any(b, b.array(array), tuple(b.operand(d) for d in shape), mode),)
        case core.Concat(arrays, _):
            return (gen_concat(b, arrays, stm, mode),)
        case core.Copy(array):
            target = new_array(b, stm.pat[0].name, stm.pat[0].type, mode)
            copy_into(b, target, b.array(array), mode)
            return (target,)
        case core.Assert(cond, code, parts):
            gen_assert(b, cond, code, parts, stm)
            return (Const(Prim.BOOL, True),)
        case core.If():
            return gen_if(b, exp, stm, mode)
        case core.Loop():
            return gen_loop(b, exp, stm, mode)
        case core.Screma() | core.Scatter() | core.Hist():
            return b.inner.soac(b, stm, mode)
        case core.GuardCmp() | core.SizeParam() | core.Apply():
            raise NotLowerable("guards, parameters and calls stand outside kernels")
        case core.WithAcc() | core.Accumulate():
            raise IRError("accumulators end before flattening")
        case core.SegMap() if b.inner.points is not None and mode is Mode.BLOCK:
            return b.inner.points(b, stm, exp)
        case core.SegMap() | core.SegRed() | core.SegScan() | core.SegScatter() | core.SegHist():
            raise NotLowerable("a segop of an inner level")


def gen_primop(b: Builder, exp: core.PrimOp, stm: Stm) -> Operand:
    """A scalar operation; where it may fail, R0102 is checked first."""
    args = tuple(b.operand(a) for a in exp.args)
    if can_fail(exp.op, exp.prim):
        check_total(b, exp.op, exp.prim, args[1], stm)
    return b.op(exp.op, exp.prim, *args, base=own_name(stm))


def own_name(stm: Stm) -> str:
    """What the source calls a value; `v` where it is named after the operation alone."""
    word = clean(stm.pat[0].name.base)
    return "v" if word in OPERATIONS else word


def check_total(b: Builder, op: Op, prim: Prim, second: Operand, stm: Stm) -> None:
    """R0102 on a zero divisor or a negative exponent."""
    zero = Const(prim, 0)
    if op is Op.POW:
        if prim.is_unsigned or (isinstance(second, Const) and second.value >= 0):
            return
        ok = b.op(Op.GE, prim, second, zero)
        site = b.site("R0102", stm.loc, ("negative exponent ", prim))
        b.emit(kir.Check(ok, site, (second,)))
        return
    if isinstance(second, Const) and second.value != 0:
        return
    ok = b.op(Op.NE, prim, second, zero)
    b.emit(kir.Check(ok, b.site("R0102", stm.loc, ("division by zero",)), ()))


def check_dims(b: Builder, dims: tuple[core.DimIndex, ...], shape: tuple[Operand, ...], stm: Stm) -> None:
    """Bounds of a full index or of a slice."""
    fixed = [(b.operand(d.index), n) for d, n in zip(dims, shape, strict=True) if isinstance(d, Fix)]
    if len(fixed) == len(dims):
        b.check_index(tuple(i for i, _ in fixed), shape, stm.loc)
        return
    for k, (dim, width) in enumerate(zip(dims, shape, strict=True)):
        match dim:
            case Fix(index):
                one = b.operand(index)
                site = b.site("R0101", stm.loc, index_message(1, len(shape)))
                b.emit(kir.BoundsCheck(one, width, site, (one, *shape)))
            case Slice(start, count, stride):
                check_slice(b, (b.operand(start), b.operand(count), b.operand(stride)), shape, k, stm)


def check_slice(
    b: Builder, part: tuple[Operand, Operand, Operand], shape: tuple[Operand, ...], k: int, stm: Stm
) -> None:
    """A slice is in bounds if it is empty, or its first and last index are."""
    start, count, stride = part
    width = shape[k]
    if is_const(start, 0) and count == width and is_const(stride, 1):
        return
    last = b.wrapping(Op.ADD, start, b.wrapping(Op.MUL, b.wrapping(Op.SUB, count, ONE), stride))
    site = b.site("R0101", stm.loc, ("slice [", Prim.I64, ":+", Prim.I64, "*", Prim.I64, *beyond(len(shape))))
    empty = b.op(Op.EQ, Prim.I64, count, ZERO)
    good = b.op(Op.GE, Prim.I64, count, ZERO)
    for end in (start, last):
        low = b.op(Op.GE, Prim.I64, end, ZERO)
        high = b.op(Op.LT, Prim.I64, end, width)
        inside = b.op(Op.AND, Prim.BOOL, low, high)
        good = b.op(Op.AND, Prim.BOOL, good, inside)
    ok = b.op(Op.OR, Prim.BOOL, empty, good)
    b.emit(kir.Check(ok, site, (start, count, stride, *shape)))


def gen_assert(b: Builder, cond: core.Atom, code: str, parts: tuple[str | core.Atom, ...], stm: Stm) -> None:
    """A check with the assertion's code, message and the values in it."""
    operands = tuple(b.operand(p) for p in parts if not isinstance(p, str))
    shown = tuple(p if isinstance(p, str) else b.operand(p).prim for p in parts)
    b.emit(kir.Check(b.operand(cond), b.site(code, stm.loc, shown), operands))


# ---- arrays made by statements -----------------------------------------------------------------------------------


def new_array(b: Builder, name: Name, type_: Type, mode: Mode) -> ArrayRef:
    """Memory for an array that a statement makes: registers of its threads, the kernel's result if `name` ends there,
    else fresh."""
    if name in b.own and name not in b.destinations:
        return b.registers(name.base, type_)
    destination = b.destinations.pop(name, None)
    if destination is not None:
        b.used_destinations.add(name)
        return destination
    return b.alloc(name.base, type_.prim, tuple(b.operand(d) for d in type_.shape), mode.space)


def rearranged_any(b: Builder, array: ArrayValue, perm: tuple[int, ...], mode: Mode) -> ArrayValue:
    """`rearranged`, of a copy where that is no view."""
    try:
        return rearranged(array, perm)
    except NotLowerable:
        return rearranged(stored(b, array, "m", mode), perm)


def reshape_any(b: Builder, array: ArrayValue, shape: tuple[Operand, ...], mode: Mode) -> ArrayValue:
    """`reshaped`, of a copy where the array is not row-major memory."""
    try:
        return reshaped(b, array, shape)
    except NotLowerable:
        return reshaped(b, stored(b, array, "m", mode), shape)


def gen_update(b: Builder, exp: core.Update, stm: Stm, mode: Mode) -> ArrayRef:
    """Write in place, in a copy of what the kernel has not made itself; R0101 is checked unless the place is known to
    be inside. What overlaps is copied before."""
    array = b.array(exp.array)
    if not exp.safe:
        check_dims(b, exp.dims, shape_of(array), stm)
    target = owned(b, array, exp.array.base, mode)
    value = b.atom(exp.value)
    if isinstance(exp.value, Var) and b.parts.get(exp.value.name) is value:
        return target
    if all(isinstance(d, Fix) for d in exp.dims) and not shape_of(value):
        indices = tuple(b.operand(d.index) for d in exp.dims if isinstance(d, Fix))
        b.emit(kir.Store(target.mem, b.address(target, indices), scalar(value)))
        return target
    place = sliced(b, target, exp.dims)
    assert isinstance(place, ArrayRef)
    if isinstance(value, ArrayRef) and value.mem == place.mem:
        value = stored(b, value, "m", mode)
    copy_into(b, place, value, mode)
    return target


def gen_array_lit(b: Builder, elems: tuple[core.Atom, ...], stm: Stm, mode: Mode) -> ArrayRef:
    """A fresh array, filled element by element or row by row."""
    target = new_array(b, stm.pat[0].name, stm.pat[0].type, mode)
    for k, elem in enumerate(elems):
        store_value(b, b.element(target, (Const(Prim.I64, k),)) if target.shape[1:] else target, k, b.atom(elem), mode)
    return target


def store_value(b: Builder, target: Value, k: int, value: Value, mode: Mode) -> None:
    """`target[k] := value` for a scalar, `target := value` for a row."""
    assert isinstance(target, ArrayRef)
    if isinstance(value, (KVar, Const)):
        b.emit(kir.Store(target.mem, b.address(target, (Const(Prim.I64, k),)), value))
    else:
        copy_into(b, target, value, mode)


def gen_concat(b: Builder, arrays: tuple[Name, ...], stm: Stm, mode: Mode) -> ArrayRef:
    """A fresh array, into which the parts are copied one after the other along the outer dimension."""
    target = new_array(b, stm.pat[0].name, stm.pat[0].type, mode)
    start: Operand = ZERO
    for name in arrays:
        part = b.array(name)
        width = shape_of(part)[0]
        offset = b.add(target.offset, b.mul(start, target.strides[0]))
        copy_into(b, ArrayRef(target.mem, offset, (width, *target.shape[1:]), target.strides, False), part, mode)
        start = b.add(start, width)
    return target


# ---- if and loop -------------------------------------------------------------------------------------------------


def gen_if(b: Builder, exp: core.If, stm: Stm, mode: Mode) -> tuple[Value, ...]:
    """Results that are scalars become mutable variables; arrays are copied into memory that both branches fill, unless
    both leave them in the same place: as they were, or updated there. Their sizes are found first."""
    if (parts := sizes_first(stm)) is not None:
        for part in parts:
            gen_stm(b, part, mode)
        return tuple(b.env[p.name] for p in stm.pat)
    values: list[tuple[Value, ...]] = []
    branches: list[list[kir.KStm]] = []
    anew = made_in_branches(b, exp, stm, mode)
    for body in (exp.then, exp.orelse):
        origins = made_here(body)
        for k, target in anew.items():
            if isinstance(atom := body.result[k], Var) and atom.name in origins:
                b.destinations.setdefault(origins[atom.name], target)
        with b.nested() as stms:
            values.append(gen_body(b, body, mode))
        branches.append(stms)
    pairs = zip(stm.pat, *values, strict=True)
    targets = [anew.get(k) or if_target(b, p, x, y, stm, mode) for k, (p, x, y) in enumerate(pairs)]
    for branch, results in zip(branches, values, strict=True):
        with b.nested() as stms:
            for target, value in zip(targets, results, strict=True):
                assign(b, target, value, mode)
        branch += stms
    b.emit(kir.KIf(b.operand(exp.cond), tuple(branches[0]), tuple(branches[1])))
    return tuple(targets)


def made_in_branches(b: Builder, exp: core.If, stm: Stm, mode: Mode) -> dict[int, ArrayRef]:
    """Memory for the results, by position, that a branch makes anew: it may do so there."""
    made = {} if b.own else made_anew(exp)
    return {k: new_array(b, stm.pat[k].name, checked_type(stm.pat[k].type, stm), mode) for k in made}


def if_target(b: Builder, param: Param, then: Value, orelse: Value, stm: Stm, mode: Mode) -> Value:
    """Where a result of a branch is, whichever side is taken."""
    if not param.type.shape:
        return b.declare(param.name.base[:12] or "r", zero(param.type.prim))
    type_ = checked_type(param.type, stm)
    return then if isinstance(then, ArrayRef) and then == orelse else new_array(b, param.name, type_, mode)


def checked_type(type_: Type, stm: Stm) -> Type:
    """The type, if its sizes are known before the statement runs."""
    own = {p.name for p in stm.pat}
    if any(not isinstance(d, Const) and d.name in own for d in type_.shape):
        raise NotLowerable("an array whose size is found inside the kernel")
    return type_


def assign(b: Builder, target: Value, value: Value, mode: Mode) -> None:
    """`target := value`: a variable is assigned, memory copied into unless it is the same."""
    match target:
        case KVar():
            b.emit(kir.Assign(target, scalar(value)))
        case ArrayRef():
            if value != target:
                copy_into(b, target, value, mode)
        case _:
            raise AssertionError("no place to assign to")


def gen_loop(b: Builder, exp: core.Loop, stm: Stm, mode: Mode) -> tuple[Value, ...]:
    """Scalar parameters become mutable variables. An array parameter that a block makes anew in each iteration has two
    halves that take turns, unless it is made where it is; any other has one buffer, which the body's result is copied
    into unless the body has updated it in place: the initial value itself where the loop overwrites that."""
    own = {p.name for p in exp.params}
    origins = made_in_turns(exp.body, exp.params) if mode is Mode.BLOCK or turns_are_alike(b, exp) else {}
    taken = taken_over(exp)
    slots: list[Slot] = []
    kept = dict[Name, ArrayRef]()
    for k, (param, init, bound, result) in enumerate(zip(exp.params, exp.inits, stm.pat, exp.body.result, strict=True)):
        if not param.type.shape:
            var = b.fresh(param.name.base[:12] or "s", param.type.prim)
            b.emit(kir.Declare(var, b.operand(init)))
            slots.append(var)
            continue
        if any(not isinstance(d, Const) and d.name in own for d in param.type.shape):
            raise NotLowerable("a loop whose arrays change their size inside the kernel")
        made = origins.get(result.name) if isinstance(result, Var) else None
        if param.name in b.own and isinstance(result, Var):
            kept[result.name] = b.registers(param.name.base, param.type)
            copy_into(b, kept[result.name], b.atom(init), mode)
            slots.append(kept[result.name])
        elif isinstance(result, Var) and is_remade_in_place(b, exp.body, param, result):
            slots.append(InPlace(loop_buffer(b, bound.name, param, b.atom(init), k in taken, mode), result.name))
        elif made is None:
            slots.append(loop_buffer(b, bound.name, param, b.atom(init), k in taken, mode))
        else:
            slots.append(take_turns(b, made, param.name.base, b.atom(init), mode))
            origins = {name: origin for name, origin in origins.items() if origin != made}
    with b.nested() as stms:
        current = [reading(b, slot) for slot in slots]
        for param, value in zip(exp.params, current, strict=True):
            b.env[param.name] = value
        targets = [making(b, slot) for slot in slots]
        b.destinations.update(kept)
        index = bind_index(b, exp.form)
        results = gen_body(b, exp.body, mode)
        next_values(b, targets, results, mode)
        for slot in slots:
            turn_over(b, slot)
    match exp.form:
        case core.ForLoop(_, bound, _):
            assert index is not None
            b.emit(kir.For(index, b.operand(bound), tuple(stms)))
        case core.WhileLoop(cond):
            position = [p.name for p in exp.params].index(cond)
            condition = slots[position]
            assert isinstance(condition, KVar)
            b.emit(kir.KWhile((), condition, tuple(stms)))
    return tuple(reading(b, slot) for slot in slots)


def turns_are_alike(b: Builder, loop: core.Loop) -> bool:
    """Whether all lanes take the same turns of a loop, whose arrays are too large for registers: how many there are,
    and how large these, is a scalar of the kernel."""
    sizes = [d for p in loop.params for d in p.type.shape]
    if b.has_threads or not isinstance(loop.form, core.ForLoop) or all(isinstance(d, Const) for d in sizes):
        return False
    return all(isinstance(d, Const) or b.operand(d) in b.scalars.values() for d in (loop.form.bound, *sizes))


def loop_buffer(b: Builder, name: Name, param: core.Param, init: Value, taken: bool, mode: Mode) -> ArrayRef:
    """The buffer of an array parameter, holding the initial value; if that is `taken` over and has memory that may be
    overwritten, this."""
    target = b.destinations.pop(name, None)
    if target is not None:
        b.used_destinations.add(name)
    elif taken:
        return owned(b, init, param.name.base, mode)
    else:
        target = b.alloc(param.name.base, param.type.prim, shape_of(init), mode.space)
    assign(b, target, init, mode)
    return target


def bind_index(b: Builder, form: core.ForLoop | core.WhileLoop) -> KVar | None:
    """The counter of a counted loop, under its name; None for a loop with a condition."""
    match form:
        case core.ForLoop(name, _, prim):
            index = b.fresh(name.base[:12] or "i", prim)
            b.env[name] = index
            return index
        case core.WhileLoop():
            return None


def next_values(b: Builder, slots: list[Value], results: tuple[Value, ...], mode: Mode) -> None:
    """All at once: what would be overwritten before it is read is copied first."""
    buffers = {slot.mem for slot in slots if isinstance(slot, ArrayRef)}
    ready: list[Value] = []
    for slot, result in zip(slots, results, strict=True):
        if (isinstance(result, ArrayRef) and result.mem in buffers and result != slot) or (
            isinstance(result, ReplicateRef) and isinstance(result.value, ArrayRef) and result.value.mem in buffers
        ):
            ready.append(stored(b, result, "n", mode))
        else:
            ready.append(result)
    for slot, result in zip(slots, ready, strict=True):
        assign(b, slot, result, mode)
