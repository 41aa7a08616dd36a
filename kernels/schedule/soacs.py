"""SOACs inside kernels: as loops of one thread, or spread over the threads of the block.

A nest inside a kernel has one axis on the lanes; the axes above it are uniform loops, those below are loops of a
thread. Where both are possible the cheaper one by `kernels/analysis/cost.py` is taken: contiguity decides (evidence: an
affine access made a gather costs 18 times).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice

from ...ir import core
from ...ir.core import Lambda, Reduction, Stm
from ...ir.ops import Op, can_fail
from ...ir.types import Const, Prim, Var
from ..analysis.cost import LANES, cost
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import repeated
from ..kernel_ir.fma import contracted
from ..kernel_ir.nodes import KVar
from ..kernel_ir.traverse import all_statements
from .array_values import copy_into, owned, shape_of, stored
from .kernel_builder import ZERO, ArrayRef, Builder, Mode, NotLowerable, Operand, Value, scalar
from .queries import array_origins, made_in_turns
from .statements import gen_body, new_array, next_values
from .turns import InPlace, Slot, making, reading, take_turns, turn_over
from .updates_in_place import is_remade_in_place


def gen_soac(b: Builder, stm: Stm, mode: Mode) -> tuple[Value, ...]:
    """Emit a SOAC; gives the values of the statement's pattern."""
    match stm.exp:
        case core.Screma():
            if mode is Mode.THREAD:
                return sequential(b, stm, stm.exp, mode)
            return cheaper(b, spread_or_none(b, stm, stm.exp), lambda: sequential(b, stm, _screma(stm), mode))
        case core.Scatter():
            return gen_scatter(b, stm, stm.exp, mode)
        case core.Hist():
            return gen_hist(b, stm, stm.exp, mode)
        case _:
            raise AssertionError("not a SOAC")


def _screma(stm: Stm) -> core.Screma:
    assert isinstance(stm.exp, core.Screma)
    return stm.exp


Gen = Callable[[], tuple[Value, ...]]


CLEARLY, ABOUT = 0.9, 1.1
"""What SOACs on the lanes, element after element, may cost at most of elements on the lanes: where the estimates are
equal they are so for long SOACs alone, or, if it is known that SOACs fill the lanes, for many elements alone."""


def cheaper(b: Builder, spread: Gen | None, loop: Gen) -> tuple[Value, ...]:
    """Emit the cheaper of two forms; one that cannot be emitted costs nothing but the try."""
    if spread is None:
        return loop()
    before = b.snapshot()
    try:
        with b.nested() as spreading:
            values = spread()
    except NotLowerable:
        b.restore(before)
        return loop()
    after = b.snapshot()
    b.restore(before)
    with suppress(NotLowerable):
        with b.nested() as looping:
            others = loop()
        limit = ABOUT if fills_lanes(looping) and not fills_lanes(spreading) else CLEARLY
        if cost(tuple(looping)) < limit * cost(tuple(spreading)):
            b.stms += looping
            return others
    b.restore(after)
    b.stms += spreading
    return values


def fills_lanes(stms: list[kir.KStm]) -> bool:
    """Whether all that is on the lanes is known to fill them."""
    bounds = [
        (stm.lo, stm.hi)
        for stm in all_statements(stms)
        if isinstance(stm, kir.Threads | kir.BlockReduce | kir.BlockScan)
    ]
    return all(
        isinstance(lo, Const) and isinstance(hi, Const) and (int(hi.value) - int(lo.value)) % LANES == 0
        for lo, hi in bounds
    )


# ---- operators ---------------------------------------------------------------------------------------------------


def is_simple(op: Lambda) -> bool:
    """Scalar operands and code that cannot fail, loop or touch memory: fit for a collective."""
    return all(not p.type.shape for p in op.params) and _simple_body(op.body)


def _simple_body(body: core.Body) -> bool:
    for stm in body.stms:
        match stm.exp:
            case core.PrimOp(op, prim, args):
                divisor = args[-1]
                if can_fail(op, prim) and not (isinstance(divisor, Const) and divisor.value > 0):
                    return False
            case core.Convert() | core.Copied():
                pass
            case core.If(_, then, orelse):
                if any(p.type.shape for p in stm.pat) or not (_simple_body(then) and _simple_body(orelse)):
                    return False
            case _:
                return False
    return True


def row_reduction(stm: Stm) -> Stm | None:
    """What the warps of a block do, if each reduces a row with a collective's operators, beside scalars: the reduction.
    Its other results are not used but as they are."""
    if not isinstance(stm.exp, core.SegMap) or stm.exp.level is not core.Level.WARP:
        return None
    body = stm.exp.body
    found = [inner for inner in body.stms if isinstance(inner.exp, core.SegOp)]
    if len(found) != 1 or not isinstance(exp := found[0].exp, core.SegRed) or exp.ends is not None:
        return None
    is_plain = len(exp.space.dims) == 1 and all(is_simple(red.op) for red in exp.reds)
    is_alone = len(body.stms) == 1 and body.result == tuple(Var(p.name) for p in found[0].pat)
    is_scalar = len(exp.ret) == exp.num_reds and not any(t.shape for t in stm.exp.ret)
    return found[0] if is_plain and (is_alone or is_scalar) else None


def k_lambda(b: Builder, ops: tuple[Reduction, ...]) -> kir.KLambda:
    """All operators of a Screma as one operator on all components."""
    left: list[KVar] = []
    right: list[KVar] = []
    results: list[Operand] = []
    noted = b.noted
    with b.nested() as stms:
        for red in ops:
            k = len(red.neutral)
            for param in red.op.params:
                b.env[param.name] = b.fresh(param.name.base[:12] or "a", param.type.prim)
            variables = [b.env[p.name] for p in red.op.params]
            left += [v for v in variables[:k] if isinstance(v, KVar)]
            right += [v for v in variables[k:] if isinstance(v, KVar)]
            results += map(scalar, gen_body(b, red.op.body, Mode.THREAD))
    b.noted, body = noted, tuple(stm for stm in stms if not isinstance(stm, kir.Note))
    return kir.KLambda(tuple(left), tuple(right), body, tuple(results))


def starting_anew(b: Builder, op: kir.KLambda) -> kir.KLambda:
    """The operator on (flag, value): what stands left of a start does not reach what stands right of it."""
    f, g, either = (b.fresh(base, Prim.BOOL) for base in ("f", "g", "either"))
    results = tuple(b.fresh("chosen", r.prim) for r in op.results)
    choices = (
        kir.KLet(to, kir.KOp(Op.SELECT, to.prim, (g, right, result)))
        for to, right, result in zip(results, op.right, op.results, strict=True)
    )
    flags = kir.KLet(either, kir.KOp(Op.OR, Prim.BOOL, (f, g)))
    return kir.KLambda((f, *op.left), (g, *op.right), (*op.body, flags, *choices), (either, *results))


def neutral_of(b: Builder, ops: tuple[Reduction, ...]) -> tuple[Operand, ...]:
    """The neutral elements of all operators, one for each component."""
    return tuple(b.operand(a) for red in ops for a in red.neutral)


def apply_lambda(b: Builder, lam: Lambda, args: list[Value], mode: Mode) -> tuple[Value, ...]:
    """Emit a lambda's body on arguments; gives its results."""
    for param, arg in zip(lam.params, args, strict=True):
        b.env[param.name] = arg
    return gen_body(b, lam.body, mode)


def combined(
    b: Builder, ops: tuple[Reduction, ...], left: Iterable[Value], right: Iterable[Value], mode: Mode
) -> tuple[Value, ...]:
    """`left op right` by all operators, each on its components, which are found when it is its turn."""
    left, right = iter(left), iter(right)
    results: list[Value] = []
    for red in ops:
        k = len(red.neutral)
        results += apply_lambda(b, red.op, [*islice(left, k), *islice(right, k)], mode)
    return tuple(results)


# ---- one thread's loop -------------------------------------------------------------------------------------------


def sequential(b: Builder, stm: Stm, exp: core.Screma, mode: Mode) -> tuple[Value, ...]:
    """`for i < w`: accumulators for scans and reductions, stores for what is scanned or mapped."""
    mapped = range(exp.num_ops, len(stm.pat))
    arrays = {k: new_array(b, p.name, p.type, mode) for k, p in enumerate(stm.pat) if k >= exp.num_reds}
    accs = [slot for red in exp.ops for slot in accumulators(b, red, mode)]
    index = b.fresh("i", Prim.I64)
    with b.nested() as stms:
        rows = [b.element(b.input(a), (index,)) for a in exp.arrays]
        places = rows_in_place(b, exp.map.body, {k: arrays[k] for k in mapped}, index, mode)
        values = apply_lambda(b, exp.map, rows, mode)
        targets = [making(b, slot) for slot in accs]
        results = combined(b, exp.ops, (reading(b, slot) for slot in accs), values, mode)
        stms[:] = contracted(stms, only_scalars(results), only_scalars(values), halves=b.has_threads)
        next_values(b, targets, results, mode)
        for k in range(exp.num_scans):
            put(b, arrays[k], index, targets[k], mode)
        for k in mapped:
            if values[k] != places.get(k):
                put(b, arrays[k], index, values[k], mode)
        for slot in accs:
            turn_over(b, slot)
    b.emit(kir.For(index, b.operand(exp.width), tuple(stms)))
    return (*(reading(b, slot) for slot in accs[exp.num_scans :]), *arrays.values())


def rows_in_place(
    b: Builder, body: core.Body, arrays: dict[int, ArrayRef], index: Operand, mode: Mode
) -> dict[int, ArrayRef]:
    """Rows that a block makes are made where they belong; gives the places of those that may be. A thread makes them in
    its own memory, where its accesses lie better."""
    places: dict[int, ArrayRef] = {}
    origins = array_origins(body) if mode is Mode.BLOCK else {}
    for k, array in arrays.items():
        result = body.result[k]
        origin = origins.get(result.name) if isinstance(result, Var) else None
        if origin is None or origin in b.destinations:
            continue
        row = b.element(array, (index,))
        assert isinstance(row, ArrayRef)
        b.destinations[origin] = places[k] = row
    return places


def only_scalars(values: Iterable[Value]) -> list[Operand]:
    """Those of the values that are scalars."""
    return [v for v in values if isinstance(v, (KVar, Const))]


def accumulators(b: Builder, red: Reduction, mode: Mode) -> Iterator[Slot]:
    """What a reduction accumulates in, holding the neutral values: mutable variables, and memory of the thread or
    block; arrays that the operator makes anew are made where they are, or in a block take turns, as those of loops."""
    left = red.op.params[: len(red.neutral)]
    origins = made_in_turns(red.op.body, left) if mode is Mode.BLOCK else {}
    for param, neutral, result in zip(left, map(b.atom, red.neutral), red.op.body.result, strict=True):
        made = origins.get(result.name) if isinstance(result, Var) else None
        if isinstance(result, Var) and param.type.shape and is_remade_in_place(b, red.op.body, param, result):
            yield InPlace(stored(b, neutral, "acc", mode), result.name)
        elif made is not None:
            origins = {name: origin for name, origin in origins.items() if origin != made}
            yield take_turns(b, made, "acc", neutral, mode)
        elif shape_of(neutral):
            yield stored(b, neutral, "acc", mode)
        else:
            yield b.declare("acc", scalar(neutral))


def put(b: Builder, array: ArrayRef, index: Operand, value: Value, mode: Mode) -> None:
    """`array[index] := value`."""
    put_at(b, array, (index,), value, mode)


# ---- spread over the block ---------------------------------------------------------------------------------------


def spread_or_none(b: Builder, stm: Stm, exp: core.Screma) -> Gen | None:
    """The spread form, where its operators fit a collective."""
    if all(is_simple(r.op) for r in exp.ops):
        return lambda: spread(b, stm, exp)
    return None


def spread(b: Builder, stm: Stm, exp: core.Screma) -> tuple[Value, ...]:
    """A thread per element; scans and reductions as collectives of the block."""
    pat, width = stm.pat, b.operand(exp.width)
    arrays = {k: new_array(b, p.name, p.type, Mode.BLOCK) for k, p in enumerate(pat) if k >= exp.num_reds}
    index = b.fresh("i", Prim.I64)

    def mapped() -> list[Operand]:
        rows = [b.element(b.input(a), (index,)) for a in exp.arrays]
        values = apply_lambda(b, exp.map, rows, Mode.THREAD)
        for k in range(exp.num_ops, len(pat)):
            put(b, arrays[k], index, values[k], Mode.THREAD)
        return only_scalars(values[: exp.num_ops])

    reduced: tuple[KVar, ...] = ()
    if exp.scans:
        collective_scan(b, exp.scans, index, (ZERO, width), mapped, neutral_of(b, exp.scans), arrays)
    elif exp.reds:
        reduced = collective_reduce(b, exp.reds, index, (ZERO, width), mapped)
    else:
        with b.threads(index, ZERO, width):
            mapped()
    return (*reduced, *arrays.values())


def collective_reduce(
    b: Builder,
    reds: tuple[Reduction, ...],
    index: KVar,
    bounds: tuple[Operand, Operand],
    body: Callable[[], list[Operand]],
    is_long: bool = False,
) -> tuple[KVar, ...]:
    """BlockReduce over `bounds` of the values that `body` emits; gives the uniform results."""
    op, neutral = k_lambda(b, reds), neutral_of(b, reds)
    with b.nested() as stms:
        values = body()
    outs = tuple(b.fresh("red", v.prim) for v in op.left)
    commutative = all(r.comm for r in reds)
    b.emit(kir.BlockReduce(outs, index, *bounds, tuple(stms), tuple(values), op, neutral, commutative, is_long))
    return outs


def collective_scan(
    b: Builder,
    scans: tuple[Reduction, ...],
    index: KVar,
    bounds: tuple[Operand, Operand],
    body: Callable[[], list[Operand]],
    carry: tuple[Operand, ...],
    targets: dict[int, ArrayRef],
) -> tuple[KVar, ...]:
    """BlockScan over `bounds`; component k is stored in `targets[k]` at the index. Gives the uniform carry out."""
    op, neutral = k_lambda(b, scans), neutral_of(b, scans)
    with b.nested() as stms:
        values = body()
    scanned = tuple(b.fresh("scanned", v.prim) for v in op.left)
    outs = tuple(b.fresh("carry", v.prim) for v in op.left)
    with b.nested() as after:
        for k, value in enumerate(scanned):
            put(b, targets[k], index, value, Mode.THREAD)
    b.emit(kir.BlockScan(scanned, outs, index, *bounds, tuple(stms), tuple(values), op, carry, neutral, tuple(after)))
    return outs


# ---- scatter and hist --------------------------------------------------------------------------------------------


def in_range(b: Builder, indices: tuple[Operand, ...], shape: tuple[Operand, ...]) -> Operand:
    """Is a (possibly multi-dimensional) index inside the leading dimensions of a shape?"""
    inside: Operand = Const(Prim.BOOL, True)
    for k, index in enumerate(indices):
        low = b.op(Op.GE, Prim.I64, index, ZERO)
        high = b.op(Op.LT, Prim.I64, index, shape[k])
        both = b.op(Op.AND, Prim.BOOL, low, high)
        inside = both if isinstance(inside, Const) else b.op(Op.AND, Prim.BOOL, inside, both)
    return inside


def write_in_range(
    b: Builder, dests: list[ArrayRef], indices: tuple[Operand, ...], values: tuple[Value, ...], mode: Mode
) -> None:
    """`dest[indices] := value` for every destination, nothing where out of range. Indices may be equal where the values
    are."""
    inside = in_range(b, indices, dests[0].shape)
    with b.nested() as stms:
        write_at(b, dests, indices, values, mode)
    b.emit(kir.KIf(inside, tuple(map(repeated, stms)), ()))


def write_at(
    b: Builder, dests: list[ArrayRef], indices: tuple[Operand, ...], values: tuple[Value, ...], mode: Mode
) -> None:
    """`dest[indices] := value` for every destination, known to be in range."""
    for dest, value in zip(dests, values, strict=True):
        put_at(b, dest, indices, value, mode)


def put_at(b: Builder, dest: ArrayRef, indices: tuple[Operand, ...], value: Value, mode: Mode) -> None:
    """`dest[indices] := value`: a scalar is stored, a row copied unless it is there."""
    if isinstance(value, (KVar, Const)):
        b.emit(kir.Store(dest.mem, b.address(dest, indices), value))
        return
    place = b.element(dest, indices)
    assert isinstance(place, ArrayRef)
    if place != value:
        copy_into(b, place, value, mode)


def split_indices(values: tuple[Value, ...], rank: int) -> tuple[tuple[Operand, ...], tuple[Value, ...]]:
    """The first `rank` results of a scatter's lambda, which are the index, and the values to be stored."""
    return tuple(map(scalar, values[:rank])), values[rank:]


def gen_scatter(b: Builder, stm: Stm, exp: core.Scatter, mode: Mode) -> tuple[Value, ...]:
    """A scatter in place, into copies of what the kernel has not made itself; its elements one after the other, or a
    thread for each. Gives the destinations."""
    dests = [owned(b, b.array(d), d.base, mode) for d in exp.dests]
    index = b.fresh("i", Prim.I64)
    with b.nested() as stms:
        rows = [b.element(b.input(a), (index,)) for a in exp.arrays]
        indices, values = split_indices(apply_lambda(b, exp.map, rows, Mode.THREAD), exp.rank)
        write_in_range(b, dests, indices, values, Mode.THREAD)
    width = b.operand(exp.width)
    loop = kir.For(index, width, tuple(stms)) if mode is Mode.THREAD else kir.Threads(index, ZERO, width, tuple(stms))
    b.emit(loop)
    return tuple(dests)


def gen_hist(b: Builder, stm: Stm, exp: core.Hist, mode: Mode) -> tuple[Value, ...]:
    """One element after the other: dest[idx] := op dest[idx] value."""
    dests = [owned(b, b.array(d), d.base, mode) for d in exp.dests]
    index = b.fresh("i", Prim.I64)
    with b.nested() as stms:
        rows = [b.element(b.input(a), (index,)) for a in exp.arrays]
        combine_at(b, dests, exp.op, exp.rank, apply_lambda(b, exp.map, rows, mode), mode)
    b.emit(kir.For(index, b.operand(exp.width), tuple(stms)))
    return tuple(dests)


def combine_at(
    b: Builder, dests: list[ArrayRef], op: Reduction, rank: int, mapped: tuple[Value, ...], mode: Mode
) -> None:
    """`dest[idx] := op dest[idx] value` in range."""
    indices, values = split_indices(mapped, rank)
    inside = in_range(b, indices, dests[0].shape)
    with b.when(inside):
        places = [b.element(d, indices) for d in dests]
        results = apply_lambda(b, op.op, [*places, *values], mode)
        for dest, result in zip(dests, results, strict=True):
            if isinstance(result, ArrayRef) and result.mem == dest.mem:
                raise NotLowerable("an operator that gives back its argument")
            put_at(b, dest, indices, result, mode)
