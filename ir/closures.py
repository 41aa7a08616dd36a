"""Bodies and expressions as closures over a frame: the interpreter's preparation of a program.

Every name and every constant of a function has a place in the function's frame (a list), found once here; names are
unique and functions not recursive, so one frame serves all bodies of a call. A statement becomes steps: evaluate and
store, then compare what is an array with its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from . import arrays, parallel, scalar
from .core import (
    Apply,
    ArrayLit,
    Assert,
    Body,
    Concat,
    Convert,
    Copied,
    Copy,
    DimIndex,
    Exp,
    Fix,
    ForLoop,
    GuardCmp,
    Hist,
    If,
    Index,
    Iota,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Rearrange,
    Reduction,
    Replicate,
    Reshape,
    Scatter,
    Scratch,
    Screma,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegScatter,
    SegSpace,
    SizeParam,
    Slice,
    Stm,
    Update,
    WhileLoop,
)
from .errors import NOWHERE, Diagnostic, IRError, Label, Loc, RunError
from .ops import can_fail
from .parallel import Frame, Function, Operator, RowType, Space, Value, Values
from .traverse import type_of
from .types import Atom, Const, Name, Prim, Type, Var

Step = Callable[[Frame], None]
Single = Callable[[Frame], Value]
Call = Callable[[Any, Sequence[Value]], Sequence[Value]]
Decide = Callable[[Any, str, int, bool], bool]
SizeOf = Callable[[Any, str, int], int]
Fault = Callable[[Sequence[arrays.At], np.ndarray], Exception]


class Layout:
    """The frame of a function under construction: places by name and by constant, and what the constants are."""

    def __init__(self, functions: Mapping[Name, Call], decide: Decide, size_of: SizeOf) -> None:
        self.functions = functions
        self.decide = decide
        self.size_of = size_of
        self.template: list[Any] = [None]
        self.types: dict[Name, Type] = {}
        self._names: dict[Name, int] = {}
        self._consts: dict[Const, int] = {}

    def bind(self, param: Param) -> int:
        """A place for a name."""
        self.types[param.name] = param.type
        self._names[param.name] = self._place(None)
        return self._names[param.name]

    def bind_all(self, params: Iterable[Param]) -> tuple[int, ...]:
        return tuple([self.bind(p) for p in params])

    def name(self, name: Name) -> int:
        try:
            return self._names[name]
        except KeyError:
            raise IRError(f"{name} is not in scope") from None

    def atom(self, atom: Atom) -> int:
        if isinstance(atom, Var):
            return self.name(atom.name)
        if atom not in self._consts:
            self._consts[atom] = self._place(atom.value)
        return self._consts[atom]

    def atoms(self, atoms: Iterable[Atom]) -> Values:
        """The values of `atoms` in a frame."""
        return getter(tuple([self.atom(a) for a in atoms]))

    def names(self, names: Iterable[Name]) -> Values:
        return getter(tuple([self.name(n) for n in names]))

    def prim(self, atom: Atom) -> Prim:
        return type_of(atom, self.types).prim

    def _place(self, value: Any) -> int:
        self.template.append(value)
        return len(self.template) - 1


def getter(places: tuple[int, ...]) -> Values:
    """The values at `places` of a frame, as a tuple."""
    match places:
        case ():
            return lambda frame: ()
        case (one,):
            return lambda frame: (frame[one],)
        case _:
            return itemgetter(*places)


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
    return [store, *type_checks(layout, stm.pat, stm.loc)]


def _stored(layout: Layout, stm: Stm) -> Step:
    if isinstance(stm.exp, PrimOp) and len(stm.pat) == 1:
        return _prim_step(layout, stm.exp, stm)
    if (one := _single(layout, stm.exp, stm.loc)) is not None:
        (place,) = layout.bind_all(stm.pat)

        def store_one(frame: Frame) -> None:
            frame[place] = one(frame)

        return store_one
    values = _several(layout, stm.exp)
    places = layout.bind_all(stm.pat)

    def store(frame: Frame) -> None:
        for place, value in zip(places, values(frame), strict=True):
            frame[place] = value

    return store


def type_checks(layout: Layout, params: Iterable[Param], loc: Loc = NOWHERE) -> list[Step]:
    """A step for each array among `params` that raises `IRError` unless the value has the type it should; R0104 at
    `loc` for a type that no value has."""
    return [_type_check(layout, p, loc) for p in params if p.type.shape]


def _type_check(layout: Layout, param: Param, loc: Loc) -> Step:
    place, sizes = layout.name(param.name), layout.atoms(param.type.shape)
    dtype = scalar.DTYPES[param.type.prim]

    def check(frame: Frame) -> None:
        xs, shape = frame[place], sizes(frame)
        if xs.shape != shape or xs.dtype != dtype:
            if min(shape) < 0:
                raise run_error("R0104", f"negative size: {min(shape)}", loc)
            raise IRError(
                f"{param.name} should be an array of {dtype} and shape {shape}, is of {xs.dtype} and shape {xs.shape}"
            )

    return check


# ---- expressions of one result -----------------------------------------------------------------------------------


def _prim_step(layout: Layout, exp: PrimOp, stm: Stm) -> Step:
    """Operations on scalars are most of what runs: one closure for operation and store."""
    f = scalar.meaning(exp.op, exp.prim)
    if can_fail(exp.op, exp.prim):
        f = _failing(f, stm.loc)
    places = [layout.atom(a) for a in exp.args]
    (to,) = layout.bind_all(stm.pat)
    match places:
        case [x, y]:

            def binary(frame: Frame) -> None:
                frame[to] = f(frame[x], frame[y])

            return binary
        case [x]:

            def unary(frame: Frame) -> None:
                frame[to] = f(frame[x])

            return unary
        case _:
            args = getter(tuple(places))

            def general(frame: Frame) -> None:
                frame[to] = f(*args(frame))

            return general


def _failing(f: scalar.Meaning, loc: Loc) -> scalar.Meaning:
    """`f` whose failures are reported at `loc`."""

    def g(*args: scalar.Value) -> scalar.Value:
        try:
            return f(*args)
        except scalar.ScalarFailure as failure:
            raise run_error(failure.code, failure.text, loc) from None

    return g


def run_error(code: str, text: str, loc: Loc) -> RunError:
    return RunError(Diagnostic(code, text, Label(loc, "")))


def _single(layout: Layout, exp: Exp, loc: Loc) -> Single | None:
    """The value of a basic expression; None for expressions of several results."""
    match exp:
        case PrimOp(op, prim, args):
            f, values = _failing(scalar.meaning(op, prim), loc), layout.atoms(args)
            return lambda frame: f(*values(frame))
        case Convert(source, target, arg):
            x, g = layout.atom(arg), scalar.conversion(source, target)
            return lambda frame: g(frame[x])
        case Copied(atom):
            x = layout.atom(atom)
            return lambda frame: frame[x]
        case Copy(array):
            x = layout.name(array)
            return lambda frame: frame[x]
        case Index(array, dims, safe):
            return _index(layout, array, dims, _fault_at(loc, safe))
        case Update():
            return _update(layout, exp, _fault_at(loc, exp.safe))
        case Assert():
            return _assert(layout, exp, loc)
        case GuardCmp(threshold, par, _, pays):
            x, y, decide = layout.atom(par), layout.atom(pays), layout.decide
            return lambda frame: decide(frame[0], threshold, frame[x], frame[y])
        case SizeParam(name, default):
            size_of = layout.size_of
            return lambda frame: size_of(frame[0], name, default)
        case _:
            return _new_array(layout, exp)


def _new_array(layout: Layout, exp: Exp) -> Single | None:
    match exp:
        case Iota(count, start, step, prim):
            n, first, by = layout.atom(count), layout.atom(start), layout.atom(step)
            return lambda frame: arrays.iota(frame[n], frame[first], frame[by], prim)
        case Replicate(shape, value):
            sizes, x, prim = layout.atoms(shape), layout.atom(value), layout.prim(value)
            return lambda frame: arrays.replicate(tuple(sizes(frame)), frame[x], prim)
        case Scratch(type_):
            sizes, prim = layout.atoms(type_.shape), type_.prim
            return lambda frame: arrays.scratch(tuple(sizes(frame)), prim)
        case ArrayLit(elems, row):
            values, t = layout.atoms(elems), row_type(layout, row)
            return lambda frame: t.collect(frame, values(frame), (len(elems),))
        case Rearrange(perm, array):
            x = layout.name(array)
            return lambda frame: frame[x].transpose(perm)
        case Reshape(shape, array):
            x, sizes = layout.name(array), layout.atoms(shape)
            return lambda frame: frame[x].reshape(sizes(frame))
        case Concat(names, _):
            values = layout.names(names)
            return lambda frame: np.concatenate(values(frame))
        case _:
            return None


def _fault_at(loc: Loc, safe: bool) -> Fault:
    """The exception for an index out of bounds: the user's fault, ours where the index is said to be safe."""

    def fault(ats: Sequence[arrays.At], xs: np.ndarray) -> Exception:
        text = arrays.out_of_bounds_text(ats, xs.shape)
        return IRError(f"{text}, though marked safe, at {loc}") if safe else run_error("R0101", text, loc)

    return fault


def _index(layout: Layout, array: Name, dims: tuple[DimIndex, ...], fault: Fault) -> Single:
    xs = layout.name(array)
    if len(dims) == 1 and isinstance(dims[0], Fix):
        i = layout.atom(dims[0].index)

        def element(frame: Frame) -> Value:
            index, source = frame[i], frame[xs]
            if 0 <= index < source.shape[0]:
                return source.item(index)
            raise fault([arrays.At(index, None, None)], source)

        return element
    if all(isinstance(d, Fix) for d in dims):
        indices = layout.atoms(d.index for d in dims if isinstance(d, Fix))

        def deep_element(frame: Frame) -> Value:
            index, source = indices(frame), frame[xs]
            if arrays.inside(index, source.shape):
                return source.item(index)
            raise fault([arrays.At(i, None, None) for i in index], source)

        return deep_element
    places = _index_places(layout, dims)

    def select(frame: Frame) -> Value:
        ats = places(frame)
        _require_in_bounds(ats, frame[xs], fault)
        return arrays.select(frame[xs], ats)

    return select


def _update(layout: Layout, exp: Update, fault: Fault) -> Single:
    xs, v, places = layout.name(exp.array), layout.atom(exp.value), _index_places(layout, exp.dims)

    def update(frame: Frame) -> Value:
        ats = places(frame)
        _require_in_bounds(ats, frame[xs], fault)
        return arrays.updated(frame[xs], ats, frame[v])

    return update


def _index_places(layout: Layout, dims: tuple[DimIndex, ...]) -> Callable[[Frame], list[arrays.At]]:
    gets = [_dim_places(layout, dim) for dim in dims]
    return lambda frame: [arrays.At(*get(frame)) for get in gets]


def _dim_places(layout: Layout, dim: DimIndex) -> Values:
    match dim:
        case Fix(index):
            i = layout.atom(index)
            return lambda frame: (frame[i], None, None)
        case Slice(start, count, stride):
            return layout.atoms((start, count, stride))


def _require_in_bounds(ats: Sequence[arrays.At], xs: np.ndarray, fault: Fault) -> None:
    if not arrays.in_bounds(ats, xs.shape):
        raise fault(ats, xs)


def _assert(layout: Layout, exp: Assert, loc: Loc) -> Single:
    cond = layout.atom(exp.cond)
    said = [part if isinstance(part, str) else (layout.atom(part), layout.prim(part)) for part in exp.parts]

    def check(frame: Frame) -> Value:
        if frame[cond]:
            return True
        texts = [part if isinstance(part, str) else value_text(frame[part[0]], part[1]) for part in said]
        raise run_error(exp.code, "".join(texts), loc)

    return check


def value_text(value: Value, prim: Prim) -> str:
    """A value as a message shows it."""
    if isinstance(value, np.ndarray):
        return "[" + ", ".join(value_text(row, prim) for row in parallel.rows_of(value, len(value))) + "]"
    return scalar.text_of(prim, value)


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


def row_type(layout: Layout, t: Type) -> RowType:
    return RowType(t.prim, layout.atoms(t.shape))


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
        case Screma(_, _, f, scans, reds):
            operators = (_operators(layout, scans), _operators(layout, reds))
            mapped = f.ret[exp.num_scans + exp.num_reds :]
            kept = _row_types(layout, (*(t for s in scans for t in s.op.ret), *mapped))
            return parallel.screma(width, sources, lambda_function(layout, f), operators, kept)
        case Scatter(_, _, f, dests, rank):
            return parallel.scatter(width, sources, lambda_function(layout, f), layout.names(dests), rank)
        case Hist(_, _, f, op, dests, rank):
            operator, fn = _operator(layout, op), lambda_function(layout, f)
            return parallel.hist(width, sources, fn, operator, layout.names(dests), rank)


def _space(layout: Layout, space: SegSpace) -> Space:
    widths = layout.atoms(space.widths)
    return Space(layout.bind_all(Param(name, Type(Prim.I64, ())) for name in space.indices), widths)


def _segop(layout: Layout, exp: SegMap | SegRed | SegScan | SegScatter | SegHist) -> Values:
    space = _space(layout, exp.space)
    match exp:
        case SegMap(_, _, body, ret):
            return parallel.segmap(space, body_values(layout, body), _row_types(layout, ret))
        case SegRed(_, _, reds, body, ret, ends):
            operators, types = _operators(layout, reds), _row_types(layout, ret)
            if ends is not None:
                return parallel.segred_rows(space, layout.name(ends), operators, body_values(layout, body), types)
            cut = exp.num_reds
            return parallel.segred(space, operators, body_values(layout, body), types[:cut], types[cut:])
        case SegScan(_, _, scans, body, ret):
            operators = _operators(layout, scans)
            return parallel.segscan(space, operators, body_values(layout, body), _row_types(layout, ret))
        case SegScatter(_, _, dests, rank, body, safe):
            return parallel.segscatter(space, body_values(layout, body), layout.names(dests), rank, safe)
        case SegHist(_, _, op, dests, rank, body):
            operator = _operator(layout, op)
            return parallel.seghist(space, operator, body_values(layout, body), layout.names(dests), rank)
