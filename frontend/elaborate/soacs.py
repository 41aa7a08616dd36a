"""The second-order array combinators: maps, reductions, scans, histograms, scatters."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.commute import is_commutative
from ...ir.core import Body, Fix, Hist, If, Index, Iota, Lambda, Param, Reduction, Scatter, Screma, Soac
from ...ir.errors import Loc
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import I64, Atom, Name, Prim, Type, Var, i64
from ..source import syntax as s
from .assertions import note_sizes
from .indexing import distinct_arrays
from .loops import component_names
from .shapes import coerce_like, coerce_sizes
from .state import Builder, Stage, body_of, emit, emit_pattern, prim_op, to_i64, with_names
from .values import Arr, Closure, Native, Partial, Rec, Value, atoms_of, components, sizes_of, with_atoms


@dataclass(frozen=True, slots=True)
class Rows:
    """A function mapped over the rows of arrays: the lambda, its inputs, and the row it gives (in the lambda's names,
    with sizes that are known outside)."""

    width: Atom
    arrays: tuple[Name, ...]
    function: Lambda
    row: Value


# ---- map ----------------------------------------------------------------------------------------------------------


def map_value(st: Stage, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    """`map f xs ..`: `[n]a -> .. -> [n]b`."""
    rows = _rows(st, args[0], same_width(st, args[1:], loc), loc)
    return Arr(rows.width, _mapped(st, rows, hint, loc))


def _mapped(st: Stage, rows: Rows, hint: str, loc: Loc) -> Value:
    if not rows.function.ret:
        return rows.row
    results = _emit(st, _screma(rows, (), ()), [t.array_of(rows.width) for t in rows.function.ret], hint or "ys", loc)
    return with_atoms(rows.row, results)


def _screma(rows: Rows, scans: tuple[Reduction, ...], reds: tuple[Reduction, ...]) -> Screma:
    return Screma(rows.width, rows.arrays, rows.function, scans, reds)


def _emit(st: Stage, exp: Soac, types: list[Type], base: str, loc: Loc) -> list[Atom]:
    params = [st.param(base, type) for type in types]
    emit_pattern(st, tuple(params), exp, loc)
    return [Var(param.name) for param in params]


def same_width(st: Stage, arrays: tuple[Value, ...], loc: Loc) -> list[Arr]:
    """The arrays with the outer size of the first."""
    first, *others = [xs for xs in arrays if isinstance(xs, Arr)]
    same = [coerce_like(st, xs, Arr(first.size, xs.row), "an array", loc) for xs in others]
    return [first, *[xs for xs in same if isinstance(xs, Arr)]]


def _rows(st: Stage, function: Value, arrays: list[Arr], loc: Loc) -> Rows:
    """`function` on the rows of `arrays`, all of one width."""
    width = arrays[0].size
    inputs = [(atom, type) for xs in arrays for atom, type in components(xs)]
    with st.nested() as builder:
        params, args = row_params(st, function, arrays)
        row = st.apply(function, args, loc, "")
    row = _regular(st, function, arrays, builder, row, loc)
    if not inputs:
        params, inputs = dummy_input(st, width, builder, loc)
    lam = Lambda(tuple(params), body_of(builder, atoms_of(row)), tuple([type for _, type in components(row)]))
    return Rows(width, names_of([atom for atom, _ in inputs]), lam, row)


def names_of(atoms: Sequence[Atom]) -> tuple[Name, ...]:
    return tuple([atom.name for atom in atoms if isinstance(atom, Var)])


def row_params(st: Stage, function: Value, arrays: list[Arr]) -> tuple[list[Param], tuple[Value, ...]]:
    """Parameters for one row of each array, named after the parameters of `function`."""
    params: list[Param] = []
    args: list[Value] = []
    for k, xs in enumerate(arrays):
        bases = _bases(function, k, xs.row)
        mine = [st.param(base, type.row()) for base, (_, type) in zip(bases, components(xs), strict=True)]
        params += mine
        args.append(with_atoms(xs.row, [Var(param.name) for param in mine]))
    return params, tuple(args)


def _bases(function: Value, position: int, row: Value) -> list[str]:
    """Names for the components of the argument at `position`."""
    match function:
        case Closure(fun) if position < len(fun.params) and _fits(fun.params[position], row):
            return [base or "x" for base in component_names(fun.params[position], row)]
        case Partial(inner, args):
            return _bases(inner, position + len(args), row)
        case _:
            return ["x"] * len(atoms_of(row))


def _fits(pat: s.Pat, row: Value) -> bool:
    """Whether the names in `pat` can be matched with the components of `row` one by one."""
    match pat:
        case s.PAscript(inner) | s.PAttr(_, inner):
            return _fits(inner, row)
        case s.PTuple(elems):
            return isinstance(row, Rec) and all(_fits(p, v) for p, (_, v) in zip(elems, row.fields, strict=True))
        case s.PRecord(written):
            return isinstance(row, Rec) and len(written) == len(row.fields)
        case _:
            return True


def dummy_input(st: Stage, width: Atom, builder: Builder, loc: Loc) -> tuple[list[Param], list[tuple[Atom, Type]]]:
    """Something to map over where the rows hold nothing: the indices."""
    type = I64.array_of(width)
    indices = emit(st, "is", Iota(width, i64(0), i64(1), Prim.I64), type, loc)
    with st.resumed(builder):
        param = st.param("i", I64)
    return [param], [(indices, type)]


# ---- rows whose size is computed row by row -----------------------------------------------------------------------


def _regular(st: Stage, function: Value, arrays: list[Arr], builder: Builder, row: Value, loc: Loc) -> Value:
    """`row` with sizes that mean something outside the lambda.

    All rows have one size, but it may be computed in each of them. Then the sizes are computed first, for all rows,
    that of the first row is taken, and each row checks that it agrees."""
    sizes = sizes_of(row)
    inner = [i for i, size in enumerate(sizes) if st.is_local(size, builder)]
    if not inner:
        return row
    outside = sizes_of_first_row(st, function, arrays, inner, loc)
    wanted = [outside.get(i) for i in range(len(sizes))]
    with st.resumed(builder):
        return coerce_sizes(st, row, wanted, "a row", loc)


def sizes_of_first_row(
    st: Stage, function: Value, arrays: list[Arr], positions: list[int], loc: Loc
) -> dict[int, Atom]:
    width = arrays[0].size
    with st.nested() as builder:
        params, args = row_params(st, function, arrays)
        found = sizes_of(st.apply(function, args, loc, ""))
    result = [found[i] for i in positions]
    lam = Lambda(tuple(params), body_of(builder, result), (I64,) * len(result))
    inputs = names_of([atom for xs in arrays for atom in atoms_of(xs)])
    if not inputs:
        lam_params, dummy = dummy_input(st, width, builder, loc)
        lam, inputs = Lambda(tuple(lam_params), lam.body, lam.ret), names_of([atom for atom, _ in dummy])
    sizes = _emit(st, Screma(width, inputs, lam, (), ()), [I64.array_of(width)] * len(result), "sizes", loc)
    some = prim_op(st, Op.LT, Prim.I64, (i64(0), width), loc)
    chosen: dict[int, Atom] = {}
    for position, array in zip(positions, sizes, strict=True):
        assert isinstance(array, Var)
        with st.nested() as first:
            size = emit(st, "n", Index(array.name, (Fix(i64(0)),), True), I64, loc)
        chosen[position] = emit(st, "n", If(some, body_of(first, [size]), Body((), (i64(0),))), I64, loc)
    note_sizes(st, list(chosen.values()))
    return chosen


# ---- reduce and scan ----------------------------------------------------------------------------------------------


def reduce_value(st: Stage, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    """`reduce op ne xs`."""
    op, ne, xs = args
    return _redomap(st, op, IDENTITY, ne, (xs,), False, loc, hint)


def reduce_comm_value(st: Stage, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    """`reduce_comm op ne xs`: the order of the elements does not matter."""
    op, ne, xs = args
    return _redomap(st, op, IDENTITY, ne, (xs,), True, loc, hint)


def redomap_value(st: Stage, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    """`redomap op f ne xs .. = reduce op ne (map f xs ..)`."""
    op, f, ne, *xs = args
    return _redomap(st, op, f, ne, tuple(xs), False, loc, hint)


def scan_value(st: Stage, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    """`scan op ne xs`, inclusive."""
    op, ne, xs = args
    return _scanomap(st, op, IDENTITY, ne, (xs,), loc, hint)


def scanomap_value(st: Stage, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    """`scanomap op f ne xs .. = scan op ne (map f xs ..)`."""
    op, f, ne, *xs = args
    return _scanomap(st, op, f, ne, tuple(xs), loc, hint)


IDENTITY = Native("id", 1, lambda st, args, loc, hint: args[0])


def _redomap(
    st: Stage, op: Value, f: Value, ne: Value, xs: tuple[Value, ...], comm: bool, loc: Loc, hint: str
) -> Value:
    rows = _rows(st, f, same_width(st, xs, loc), loc)
    ne = coerce_like(st, ne, rows.row, "the neutral element", loc)
    if not rows.function.ret:
        return ne
    function = operator(st, op, ne, loc)
    reduction = Reduction(function, tuple(atoms_of(ne)), comm or is_commutative(function))
    results = _emit(st, _screma(rows, (), (reduction,)), list(rows.function.ret), hint or "red", loc)
    return with_atoms(rows.row, results)


def _scanomap(st: Stage, op: Value, f: Value, ne: Value, xs: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    rows = _rows(st, f, same_width(st, xs, loc), loc)
    if not rows.function.ret:
        return Arr(rows.width, rows.row)
    ne = coerce_like(st, ne, rows.row, "the neutral element", loc)
    reduction = Reduction(operator(st, op, ne, loc), tuple(atoms_of(ne)), False)
    types = [type.array_of(rows.width) for type in rows.function.ret]
    results = _emit(st, _screma(rows, (reduction,), ()), types, hint or "scan", loc)
    return Arr(rows.width, with_atoms(rows.row, results))


def operator(st: Stage, op: Value, ne: Value, loc: Loc) -> Lambda:
    """`op` on two values of the form of its neutral element `ne`."""
    types = [type for _, type in components(ne)]
    with st.nested() as builder:
        (left, x), (right, y) = (with_names(st, base, ne) for base in "xy")
        result = coerce_like(st, st.apply(op, (x, y), loc, ""), ne, "the result of the operator", loc)
    return Lambda((*left, *right), body_of(builder, atoms_of(result)), tuple(types))


# ---- scatter and histograms ---------------------------------------------------------------------------------------


def scatter_value(st: Stage, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    """`scatter dest is vs`, and with pairs or triples of indices."""
    dest, indices, values = args
    dest, rank, inputs, lam = _writes(st, dest, indices, values, loc)
    names = names_of(atoms_of(dest))
    exp = Scatter(inputs[0], inputs[1], lam, names, rank)
    return with_atoms(dest, _emit(st, exp, [type for _, type in components(dest)], hint or "dest", loc))


def hist_value(st: Stage, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    """`reduce_by_index dest op ne is vs`, and with pairs or triples of indices."""
    dest, op, ne, indices, values = args
    dest, rank, inputs, lam = _writes(st, dest, indices, values, loc)
    ne = coerce_like(st, ne, _below(dest, rank), "the neutral element", loc)
    function = operator(st, op, ne, loc)
    reduction = Reduction(function, tuple(atoms_of(ne)), is_commutative(function))
    exp = Hist(inputs[0], inputs[1], lam, reduction, names_of(atoms_of(dest)), rank)
    return with_atoms(dest, _emit(st, exp, [type for _, type in components(dest)], hint or "dest", loc))


def _below(value: Value, rank: int) -> Value:
    """An element of a destination of `rank` dimensions."""
    for _ in range(rank):
        assert isinstance(value, Arr)
        value = value.row
    return value


def _writes(
    st: Stage, dest: Value, indices: Value, values: Value, loc: Loc
) -> tuple[Value, int, tuple[Atom, tuple[Name, ...]], Lambda]:
    """What scatters and histograms share: the destination, its rank, the inputs, and the lambda that passes on an
    index and a value."""
    indices, values = same_width(st, (indices, values), loc)
    rank = len(components(indices))
    dest = distinct_arrays(st, dest, loc)
    element = _below(dest, rank)
    like: list[Atom | None] = [values.size, *sizes_of(element)]
    values = coerce_sizes(st, values, like, "a value", loc)
    sources = components(indices) + components(values)
    with st.nested() as builder:
        params = [st.param("i" if k < rank else "v", type.row()) for k, (_, type) in enumerate(sources)]
        places = [to_i64(st, Var(p.name), p.type.prim, loc) for p in params[:rank]]
    result: list[Atom] = [*places, *[Var(p.name) for p in params[rank:]]]
    ret = (I64,) * rank + tuple([p.type for p in params[rank:]])
    lam = Lambda(tuple(params), body_of(builder, result), ret)
    return dest, rank, (indices.size, names_of([atom for atom, _ in sources])), lam
