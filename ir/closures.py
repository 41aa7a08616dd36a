"""Bodies and expressions as closures over a frame: the interpreter's preparation of a program.

A statement becomes steps: evaluate and store, then compare what is an array with its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import arrays, parallel, scalar
from .core import (
    Accumulate,
    Apply,
    Body,
    Exp,
    ForLoop,
    Hist,
    If,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Reduction,
    Scatter,
    Screma,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegScatter,
    SegSpace,
    Stm,
    WhileLoop,
    WithAcc,
)
from .errors import IRError, Loc, RunError
from .frames import Layout, Step, getter, row_type
from .parallel import Frame, Function, Operator, RowType, Space, Value, Values
from .single_values import prim_step, single
from .types import Prim, Type

# ---- bodies ------------------------------------------------------------------------------------------------------


def body_values(layout: Layout, body: Body) -> Values:
    """Runs the statements, gives the results."""
    steps = [step for stm in body.stms for step in statement_steps(layout, stm)]
    result = layout.atoms(body.result)
    if not steps:
        return result
    if len(steps) == 1:
        (only,) = steps

        def run_one(frame: Frame) -> Sequence[Value]:
            only(frame)
            return result(frame)

        return run_one

    def run(frame: Frame) -> Sequence[Value]:
        for step in steps:
            step(frame)
        return result(frame)

    return run


def lambda_function(layout: Layout, f: Lambda) -> Function:
    """A function that stores its arguments at the places of the parameters and runs the body."""
    places = layout.bind_all(f.params)
    run = body_values(layout, f.body)
    if len(places) == 1:
        (place,) = places

        def apply_one(frame: Frame, args: Sequence[Value]) -> Sequence[Value]:
            frame[place] = args[0]
            return run(frame)

        return apply_one
    if len(places) == 2:
        left, right = places

        def apply_two(frame: Frame, args: Sequence[Value]) -> Sequence[Value]:
            frame[left], frame[right] = args
            return run(frame)

        return apply_two

    def apply(frame: Frame, args: Sequence[Value]) -> Sequence[Value]:
        for place, arg in zip(places, args, strict=True):
            frame[place] = arg
        return run(frame)

    return apply


def statement_steps(layout: Layout, stm: Stm) -> list[Step]:
    """Evaluate and store; then one step that compares arrays with their types, where there are arrays."""
    store = _stored(layout, stm)
    return [store, *type_checks(layout, stm.pat)]


def _stored(layout: Layout, stm: Stm) -> Step:
    if isinstance(stm.exp, PrimOp):
        return prim_step(layout, stm.exp, stm)
    if (one := single(layout, stm.exp, stm.loc)) is not None:
        (place,) = layout.bind_all(stm.pat)

        def store_one(frame: Frame) -> None:
            frame[place] = one(frame)

        return store_one
    values = _several(layout, stm.exp)
    if isinstance(stm.exp, Apply):
        values = _with_call(values, stm.loc)
    places = layout.bind_all(stm.pat)

    def store(frame: Frame) -> None:
        for place, value in zip(places, values(frame), strict=True):
            frame[place] = value

    return store


def _with_call(values: Values, loc: Loc) -> Values:
    """The results of a call; its place is added to what an error says."""

    def run(frame: Frame) -> Sequence[Value]:
        try:
            return values(frame)
        except RunError as error:
            raise RunError(*[diag.called(loc.as_call) for diag in error.diagnostics]) from None

    return run


def type_checks(layout: Layout, params: Iterable[Param]) -> list[Step]:
    """A step for each array among `params` that raises `IRError` unless the value has the type it should."""
    return [_type_check(layout, p) for p in params if p.type.shape]


def _type_check(layout: Layout, param: Param) -> Step:
    place, sizes = layout.name(param.name), layout.atoms(param.type.shape)
    dtype = scalar.DTYPES[param.type.prim]

    def check(frame: Frame) -> None:
        xs, shape = frame[place], arrays.settled(tuple(sizes(frame)))
        if xs.shape != shape or xs.dtype != dtype:
            raise IRError(
                f"{param.name} should be an array of {dtype} and shape {shape}, is of {xs.dtype} and shape {xs.shape}"
            )

    return check


# ---- expressions of several results ------------------------------------------------------------------------------


def _several(layout: Layout, exp: Exp) -> Values:
    match exp:
        case If(cond, then, orelse):
            c, yes, no = layout.atom(cond), body_values(layout, then), body_values(layout, orelse)
            return lambda frame: yes(frame) if frame[c] else no(frame)
        case Loop():
            return _loop(layout, exp)
        case Apply(function, args):
            values, functions = layout.atoms(args), layout.functions
            return lambda frame: functions[function](frame[0], values(frame))
        case Screma() | Hist() | Scatter():
            return _soac(layout, exp)
        case WithAcc(width, arrays, f, dests):
            kept = _row_types(layout, f.ret[len(dests) :])
            sources, accs = layout.names(arrays), layout.names(dests)
            return parallel.with_acc(layout.atom(width), sources, lambda_function(layout, f), accs, kept)
        case Accumulate(accs, index, values, op):
            row, dests = layout.atoms((*index, *values)), layout.names(accs)
            if op is None:
                return parallel.written(lambda frame: [row(frame)], dests, len(index))
            return parallel.combined(lambda frame: [row(frame)], _operator(layout, op), dests, len(index))
        case SegMap() | SegRed() | SegScan() | SegScatter() | SegHist():
            return _segop(layout, exp)
        case _:
            raise IRError(f"no meaning for {type(exp).__name__}")


def _loop(layout: Layout, loop: Loop) -> Values:
    inits = layout.atoms(loop.inits)
    match loop.form:
        case ForLoop(_, bound, _):
            n = layout.atom(bound)
        case WhileLoop():
            n = 0
    places = layout.bind_all(loop.params)
    if isinstance(loop.form, ForLoop):
        cond = layout.bind(Param(loop.form.index, Type(loop.form.prim, ())))
    else:
        cond = layout.name(loop.form.cond)
    checks = type_checks(layout, loop.params)
    run = body_values(layout, loop.body)
    last = getter(places)

    def enter(frame: Frame, values: Sequence[Value]) -> None:
        for place, value in zip(places, values, strict=True):
            frame[place] = value
        for check in checks:
            check(frame)

    def run_for(frame: Frame) -> Sequence[Value]:
        enter(frame, inits(frame))
        for i in range(frame[n]):
            frame[cond] = i
            enter(frame, run(frame))
        return last(frame)

    def run_while(frame: Frame) -> Sequence[Value]:
        enter(frame, inits(frame))
        while frame[cond]:
            enter(frame, run(frame))
        return last(frame)

    return run_for if isinstance(loop.form, ForLoop) else run_while


def _row_types(layout: Layout, types: Iterable[Type]) -> tuple[RowType, ...]:
    return tuple([row_type(layout, t) for t in types])


def _operator(layout: Layout, red: Reduction) -> Operator:
    neutral = layout.atoms(red.neutral)
    return Operator(lambda_function(layout, red.op), neutral, len(red.neutral))


def _operators(layout: Layout, reds: Iterable[Reduction]) -> tuple[Operator, ...]:
    return tuple([_operator(layout, red) for red in reds])


def _soac(layout: Layout, exp: Screma | Hist | Scatter) -> Values:
    width, sources = layout.atom(exp.width), layout.names(exp.arrays)
    match exp:
        case Screma(_, _, f, scans):
            kept = _row_types(layout, (*(t for s in scans for t in s.op.ret), *f.ret[exp.num_ops :]))
            operators, is_scan = _operators(layout, exp.ops), bool(scans)
            return parallel.screma(width, sources, lambda_function(layout, f), operators, is_scan, kept)
        case Scatter(_, _, f, dests, rank):
            rows = parallel.mapped(width, sources, lambda_function(layout, f))
            return parallel.written(rows, layout.names(dests), rank)
        case Hist(_, _, f, op, dests, rank):
            rows = parallel.mapped(width, sources, lambda_function(layout, f))
            return parallel.combined(rows, _operator(layout, op), layout.names(dests), rank)


def _space(layout: Layout, space: SegSpace) -> Space:
    widths = layout.atoms(space.widths)
    return Space(layout.bind_all(Param(name, Type(Prim.I64, ())) for name in space.indices), widths)


def _segop(layout: Layout, exp: SegMap | SegRed | SegScan | SegScatter | SegHist) -> Values:
    space, body = _space(layout, exp.space), body_values(layout, exp.body)
    match exp:
        case SegMap(_, _, _, ret):
            return parallel.segmap(space, body, _row_types(layout, ret))
        case SegRed(_, _, reds, _, ret, ends):
            spans = parallel.whole_rows if ends is None else parallel.rows_to(layout.name(ends))
            return parallel.folded(space, spans, _operators(layout, reds), False, body, _row_types(layout, ret))
        case SegScan(_, _, scans, _, ret):
            operators, types = _operators(layout, scans), _row_types(layout, ret)
            return parallel.folded(space, parallel.whole_rows, operators, True, body, types)
        case SegScatter(_, _, dests, rank, _, safe):
            rows = parallel.in_pieces(parallel.over(space, body), rank + len(dests))
            return parallel.written(rows, layout.names(dests), rank, safe)
        case SegHist(_, _, op, dests, rank, _):
            rows = parallel.in_pieces(parallel.over(space, body), rank + len(dests))
            return parallel.combined(rows, _operator(layout, op), layout.names(dests), rank)
