"""Calls of functions that stay functions, in a nest: the function lifted over the points of the nest.

    G(Σ, let ȳ = f x̄ in e)  ⟶  let ȳs = if 0 < n*m then f' (n*m) x̄s else ⟨⟩ in G(Σ, e)        [call]
    f' n x̄s = G((p < n), body of f)

So all calls of a level of the recursion are one call, and the recursion ends where no point calls. Parameters that are
the same all over the nest are so in f' too, which there is one of for each choice of these. What varies in size is
passed as flat data with the lengths of its rows; sizes that f chooses come back with their sum.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.core import Apply, Body, Copied, FunDef, If, Param, Scratch, Stm
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import rename_fun, substitute_type
from ...ir.traverse import add_types, free_in_stm, names_in_types
from ...ir.types import I64, Atom, Name, Type, Var, i64
from ..aliasing.classes import overwritten_in
from ..context.distribute import expand, frontier, settle
from ..context.nest import Elem, Flow, Lifted, Nest, Segments
from ..context.segop_bodies import defer, single
from ..context.trace import Rule
from ..versions.guards import parallelism_of
from ..versions.parallelism import may_be_flattened
from ..versions.segment_descriptors import bind_rows, by_point, over_nest, segments, segments_of
from .control import regular, with_sizes_again
from .writes import flat_copy, last_row, own_rows, relied_on

# ---- what varies -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Signature:
    """Which names of a function's parameters and results vary over the nest."""

    fun: FunDef
    varying: frozenset[Name]

    def is_row(self, t: Type) -> bool:
        """An array whose number of rows varies."""
        return bool(t.shape) and self.varies(t.shape[0])

    def row_size(self, t: Type) -> Name:
        """The size that varies, of such an array."""
        size = t.shape[0]
        assert isinstance(size, Var)
        return size.name

    def varies(self, size: Atom) -> bool:
        return isinstance(size, Var) and size.name in self.varying

    @property
    def row_sizes(self) -> tuple[Name, ...]:
        """The parameters and results that are sizes of what varies in size."""
        params = [p.type for p in self.fun.params if p.name in self.varying]
        types = [t for t in (*params, *[r.type for r in self.fun.results]) if self.is_row(t)]
        return tuple(dict.fromkeys(names_in_types(Type(t.prim, t.shape[:1]) for t in types)))

    @property
    def chosen(self) -> tuple[Name, ...]:
        """Those of these that are results."""
        results = {r.name for r in self.fun.results}
        return tuple([name for name in self.row_sizes if name in results])

    @property
    def given(self) -> tuple[Name, ...]:
        """Those that are parameters."""
        results = {r.name for r in self.fun.results}
        return tuple([name for name in self.row_sizes if name not in results])

    @property
    def is_flat(self) -> bool:
        """Whether rows have one shape."""
        types = [p.type for p in (*self.fun.params, *self.fun.results)]
        return not any(self.varies(size) for t in types for size in t.shape[1:])


def signature(fun: FunDef, varies: Iterable[bool]) -> Signature:
    """The results vary, whatever they are."""
    params = [p.name for p, v in zip(fun.params, varies, strict=True) if v]
    return Signature(fun, frozenset([*params, *[r.name for r in fun.results]]))


# ---- the rule --------------------------------------------------------------------------------------------------------


def call_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G(Σ, let ȳ = f x̄ in e)  ⟶  let ȳs = if 0 < n*m then f' (n*m) x̄s else ⟨⟩ in G(Σ, e)"""
    match stm.exp:
        case Apply(function, args) if nest.dims and may_be_flattened(flow, stm) and not flow.context.inside:
            fun = flow.context.lifts.functions.get(function)
        case _:
            return None
    varies = tuple([not flow.is_invariant(arg) for arg in args])
    wanted = frontier(flow, free_in_stm(stm))
    if fun is None or wanted is None or not (sig := signature(fun, varies)).is_flat:
        return None
    certs = relied_on(flow, stm)
    settle(flow, nest, wanted)
    flow.note(Rule.CALL, ", ".join(str(p.name) for p in stm.pat))
    _call(flow, nest, replace(stm, exp=Apply(function, _relying(flow, nest, args, certs))), sig, varies)
    return Rule.CALL


def _relying(flow: Flow, nest: Nest, args: tuple[Atom, ...], certs: tuple[Name, ...]) -> tuple[Atom, ...]:
    """The arguments, of which those that vary rely on the checks of the nest."""
    if not certs:
        return args
    made: list[Atom] = []
    for arg in args:
        if flow.is_invariant(arg) or flow.type_of(arg).shape:
            made.append(arg)
            continue
        param = flow.fresh_param("x", flow.type_of(arg))
        defer(flow, nest, (Stm((param,), Copied(arg), certs, (), flow.output.loc),))
        made.append(Var(param.name))
    return tuple(made)


def _call(flow: Flow, nest: Nest, stm: Stm, sig: Signature, varies: tuple[bool, ...]) -> None:
    assert isinstance(stm.exp, Apply)
    lifted, points = _lifted(flow, sig.fun, varies), parallelism_of(flow, nest)
    known: dict[Name, Atom] = dict(zip([p.name for p in sig.fun.params], stm.exp.args, strict=True))
    segs = {size: segments(flow, nest, known[size], stm) for size in sig.given}
    args = _arguments(flow, nest, sig, known, segs)
    totals = tuple(flow.fresh_param("total", I64) for _ in sig.chosen)
    sums: dict[Name, Atom] = {size: seg.total for size, seg in segs.items()}
    sums |= {size: Var(p.name) for size, p in zip(sig.chosen, totals, strict=True)}
    made = tuple(
        flow.fresh_param(p.name.base, _outside(sig, r.type, points, sums, known))
        for p, r in zip(stm.pat, sig.fun.results, strict=True)
    )
    some = flow.op("some", Op.LT, i64(0), points)
    apply = Apply(lifted.name, (points, *[segs[size].total for size in sig.given], *args))
    flow.emit((*totals, *made), If(some, _body_of(flow, (*totals, *made), apply), _nothing(flow, totals, made)))
    _bind(flow, nest, stm, sig, segs, totals, made)


def _outside(sig: Signature, t: Type, points: Atom, sums: dict[Name, Atom], known: dict[Name, Atom]) -> Type:
    """The type of an array for all points, in which parameters that are the same for all are what is `known`."""
    if sig.is_row(t):
        return Type(t.prim, (sums[sig.row_size(t)], *substitute_type(t, known).shape[1:]))
    return substitute_type(t, known).array_of(points)


def _arguments(
    flow: Flow, nest: Nest, sig: Signature, known: dict[Name, Atom], segs: dict[Name, Segments]
) -> tuple[Atom, ...]:
    """What varies as arrays for all points or as flat data; what the function may overwrite is its own."""
    made: list[Atom] = []
    for param in sig.fun.params:
        arg, owned = known[param.name], param.name in sig.fun.consumes
        if param.name not in sig.varying:
            made.append(arg)
        elif sig.is_row(param.type):
            assert isinstance(arg, Var)
            others = [a.name for p, a in known.items() if p != param.name and isinstance(a, Var)]
            made.append(Var(_flat(flow, nest, segs[sig.row_size(param.type)], arg.name, owned, others)))
        else:
            value = regular(flow, nest, arg, substitute_type(param.type, known))
            array = _array(flow, nest, value, owned)
            made.append(Var(by_point(flow, nest, array, parallelism_of(flow, nest))))
    return tuple(made)


def _array(flow: Flow, nest: Nest, atom: Atom, owned: bool) -> Name:
    elem = flow.known.elems.get(atom.name) if isinstance(atom, Var) else None
    if elem is not None and elem.indices == nest.indices and not owned:
        return elem.array
    return expand(flow, nest, (atom,))[0]


def _flat(flow: Flow, nest: Nest, seg: Segments, name: Name, owned: bool, others: list[Name]) -> Name:
    row = flow.known.rows.get(name)
    if owned:
        return own_rows(flow, nest, seg, (name,), others)[0]
    if row is not None and row.segments.rows == seg.rows:
        return row.array
    return flat_copy(flow, nest, seg, name)


def _body_of(flow: Flow, pat: tuple[Param, ...], apply: Apply) -> Body:
    made = with_sizes_again(flow, pat)
    return Body((Stm(made, apply, (), (), flow.output.loc),), tuple(Var(p.name) for p in made))


def _nothing(flow: Flow, totals: tuple[Param, ...], made: tuple[Param, ...]) -> Body:
    """No point, no results."""
    none: dict[Name, Atom] = {p.name: i64(0) for p in totals}
    empty = tuple(flow.fresh_param(p.name.base, substitute_type(p.type, none)) for p in made)
    stms = tuple(single(Scratch(p.type), p, flow.output.loc) for p in empty)
    return Body(stms, (*[i64(0) for _ in totals], *[Var(p.name) for p in empty]))


def _bind(
    flow: Flow,
    nest: Nest,
    stm: Stm,
    sig: Signature,
    segs: dict[Name, Segments],
    totals: tuple[Param, ...],
    made: tuple[Param, ...],
) -> None:
    """Variables of the nest as elements and rows of what the function gives."""
    results = list(zip(stm.pat, sig.fun.results, made, strict=True))
    for param, result, array in results:
        flow.known.types[param.name] = param.type
        if not sig.is_row(result.type):
            flow.known.elems[param.name] = Elem(over_nest(flow, nest, array.name), nest.indices)
            flow.known.fresh.add(flow.known.elems[param.name].array)
    named = {result.name: param.name for param, result, _ in results}
    for size, total in zip(sig.chosen, totals, strict=True):
        segs[size] = segments_of(flow, nest, Var(named[size]), Var(total.name))
    for param, result, array in results:
        if sig.is_row(result.type):
            bind_rows(flow, nest, segs[sig.row_size(result.type)], (param,), (array.name,))


# ---- the lifted function ---------------------------------------------------------------------------------------------


def _lifted(flow: Flow, fun: FunDef, varies: tuple[bool, ...]) -> Lifted:
    """The function over a nest; if there is none yet, it is to be made (`lift`)."""
    lifts = flow.context.lifts
    key = (fun.name, varies)
    if key not in lifts.made:
        lifts.made[key] = Lifted(flow.context.names.again(fun.name), fun, varies)
        lifts.waiting.append(lifts.made[key])
    return lifts.made[key]


def lift(flow: Flow, lifted: Lifted) -> FunDef:
    """f' n x̄s = G((p < n), body of f)"""
    fun = rename_fun(lifted.fun, flow.context.names)
    sig = signature(fun, lifted.varies)
    types = flow.known.types
    types.update((p.name, p.type) for p in (*fun.params, *fun.results))
    add_types(types, fun.body)
    flow.known.consumed.update(overwritten_in(fun.body), fun.consumes)
    points = flow.fresh_param("points", I64)
    totals = {size: flow.fresh_param("total", I64) for size in sig.given}
    sums: dict[Name, Atom] = {size: Var(p.name) for size, p in totals.items()}
    nest = Nest(((flow.fresh_param("p", I64).name, Var(points.name)),))
    params: list[Param] = []
    rows: list[tuple[Param, Param]] = []
    for param in fun.params:
        if param.name not in sig.varying:
            params.append(param)
            continue
        array = flow.fresh_param(param.name.base, _outside(sig, param.type, Var(points.name), sums, {}))
        params.append(array)
        if sig.is_row(param.type):
            rows.append((param, array))
        else:
            flow.known.elems[param.name] = Elem(array.name, nest.indices)
    given = list(zip(fun.params, params, strict=True))
    consumes = tuple([new.name for old, new in given if old.name in fun.consumes])
    flow.output.loc = fun.loc
    segs = {size: segments_of(flow, nest, Var(size), sums[size]) for size in sig.given}
    for param, array in rows:
        bind_rows(flow, nest, segs[sig.row_size(param.type)], (param,), (array.name,))
        flow.known.fresh.discard(array.name)
    flow.known.fresh.update(consumes)
    flow.context.walk(flow, nest, fun.body.stms, fun.body.result)
    results, atoms = _results(flow, nest, fun, sig, segs)
    body = Body(tuple(flow.output.stms), atoms)
    return FunDef(lifted.name, (points, *totals.values(), *params), consumes, results, body, None, fun.attrs, fun.loc)


def _results(
    flow: Flow, nest: Nest, fun: FunDef, sig: Signature, segs: dict[Name, Segments]
) -> tuple[tuple[Param, ...], tuple[Atom, ...]]:
    """What the lifted function gives: the sums of the sizes that are chosen, then all results."""
    found = dict(zip([r.name for r in fun.results], fun.body.result, strict=True))
    asking = Stm((), Copied(i64(0)), (), (), fun.loc)
    for size in sig.chosen:
        segs[size] = segments(flow, nest, found[size], replace(asking, exp=Copied(found[size])))
    totals = {size: Param(flow.context.names.fresh("total"), I64) for size in sig.chosen}
    sums: dict[Name, Atom] = {size: segs[size].total for size in sig.given}
    sums |= {size: Var(p.name) for size, p in totals.items()}
    atoms: list[Atom] = [segs[size].total for size in sig.chosen]
    params: list[Param] = list(totals.values())
    together: list[tuple[int, Atom]] = []
    for result in fun.results:
        atom = found[result.name]
        if sig.is_row(result.type):
            assert isinstance(atom, Var)
            atoms.append(Var(last_row(flow, nest, segs[sig.row_size(result.type)], atom.name)))
        else:
            together.append((len(atoms), regular(flow, nest, atom, result.type)))
            atoms.append(atom)
        t = _outside(sig, result.type, nest.widths[0], sums, {})
        params.append(Param(flow.context.names.again(result.name), t))
    arrays = expand(flow, nest, tuple(atom for _, atom in together))
    for (place, _), array in zip(together, arrays, strict=True):
        atoms[place] = Var(array)
    return tuple(params), tuple(atoms)
