"""The adjoint of a map: a map that runs the body forward and backward for each row.

What the body uses from outside gets a contribution from each row: a scalar a reduction in the same map, an array read
as a whole a sum of rows, an array read at indices the places and values of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.core import Body, Convert, Lambda, Param, PrimOp, Screma, Stm
from ...ir.rename import substitute_type
from ...ir.traverse import bound_in_body, free_in_lambda
from ...ir.types import I64, Atom, Name, Var
from ..building.code import Code, differentiable
from .adjoints import Places, Sweep, wanted
from .sums import sum_of_rows

SweepBody = Callable[[Sweep, Body, Sequence[Atom | None]], None]


def map_adjoints(sweep: Sweep, exp: Screma, seeds: Sequence[Atom | None], sweep_body: SweepBody) -> None:
    """Adds the adjoints of the arrays of a map and of what its lambda uses, given those of its results."""
    code = sweep.code
    f = code.fresh_lambda(exp.map)
    sweep.active.update(
        p.name for p, a in zip(f.params, exp.arrays, strict=True) if a in sweep.active and differentiable(p.type)
    )
    arrays = list(exp.arrays)
    params = list(f.params)
    row_seeds: list[Atom | None] = []
    for seed in seeds:
        if seed is None:
            row_seeds.append(None)
            continue
        assert isinstance(seed, Var)
        arrays.append(seed.name)
        params.append(code.param("adj", code.types[seed.name].row()))
        row_seeds.append(Var(params[-1].name))
    free = wanted(code, list(free_in_lambda(f)), sweep.active)
    rows = sweep.inside(frozenset(n for n in free if code.types[n].shape) | sweep.far)
    sweep_body(rows, f.body, row_seeds)
    rows_adjoints(sweep, exp.width, arrays, params, exp.arrays, f.params, rows, free)


def rows_adjoints(
    sweep: Sweep,
    width: Atom,
    arrays: Sequence[Name],
    params: Sequence[Param],
    inputs: Sequence[Name],
    own: Sequence[Param],
    rows: Sweep,
    free: Sequence[Name],
) -> None:
    """Emits the map over `arrays` whose body has been swept in `rows`, and adds what it gives: the adjoints of rows of
    `inputs` (parameters `own`), and of the `free` names."""
    code = sweep.code
    lifted = _regular_places(sweep, rows, params)
    scalars = [n for n in free if n in rows.dense and not code.types[n].shape]
    wholes = [n for n in free if n in rows.dense and code.types[n].shape]
    mine = [(array, found) for array, p in zip(inputs, own, strict=True) if (found := rows.dense.get(p.name))]
    entries = [(name, entry) for name, found in rows.places.items() for entry in found]
    result = [rows.dense[n] for n in scalars]
    result += [atom for _, atom in mine]
    for _, entry in entries:
        result += [*entry.index, entry.values]
    sources = [Var(a) for a in arrays]
    for name in wholes:
        sweep.add(Var(name), sum_of_rows(code, width, sources, params, rows.code.stms, rows.dense[name]))
    if not result:
        return
    ret = tuple([substitute_type(code.type_of(a), lifted) for a in result])
    f = Lambda(tuple(params), rows.code.body(result), ret)
    reds = tuple([code.adder(code.types[n]) for n in scalars])
    out = iter(code.screma(Screma(width, tuple(arrays), f, (), reds), "adj"))
    for name in scalars:
        sweep.add(Var(name), next(out))
    for array, _ in mine:
        sweep.add(Var(array), next(out))
    for name, entry in entries:
        index = tuple([next(out) for _ in entry.index])
        nest = substitute_type(I64.array_of(*entry.nest), lifted).shape
        sweep.add_places(name, Places((width, *nest), index, next(out)))


def _regular_places(sweep: Sweep, rows: Sweep, params: Sequence[Param]) -> dict[Name, Atom]:
    """Keeps the places that every row has the same number of; the others become an array for each row. Sizes that
    are computed in the row from what is outside are computed outside instead."""
    bound = bound_in_body(rows.code.body(())) | dict.fromkeys([p.name for p in params])
    made = {stm.pat[0].name: stm for stm in rows.code.stms if len(stm.pat) == 1}
    lifted: dict[Name, Atom] = {}
    for name, entries in list(rows.places.items()):
        sizes = [s for e in entries for s in (*e.nest, *rows.code.type_of(e.values).shape)]
        if not all(_lift(sweep.code, size, bound, made, lifted) for size in sizes):
            rows.densify(name)
    return lifted


def _outside(atom: Atom, mapping: dict[Name, Atom]) -> Atom:
    return mapping.get(atom.name, atom) if isinstance(atom, Var) else atom


def _lift(code: Code, size: Atom, bound: dict[Name, None], made: dict[Name, Stm], lifted: dict[Name, Atom]) -> bool:
    """Whether `size` is known outside; then also under which name."""
    if not isinstance(size, Var) or size.name not in bound or size.name in lifted:
        return True
    stm = made.get(size.name)
    match stm and stm.exp:
        case PrimOp(op, _, args) if all(_lift(code, a, bound, made, lifted) for a in args):
            lifted[size.name] = code.op(op, *[_outside(a, lifted) for a in args])
        case Convert(_, target, arg) if _lift(code, arg, bound, made, lifted):
            lifted[size.name] = code.convert(target, _outside(arg, lifted))
        case _:
            return False
    return True
