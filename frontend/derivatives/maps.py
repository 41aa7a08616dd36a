"""The adjoint of a map: a map that runs the body forward and backward for each row.

What the body uses from outside gets a contribution from each row: a scalar a reduction in the same map, an array read
as a whole a sum of rows, an array read at indices an accumulator. A sum of rows moves into the map that makes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ir.basic import whole
from ...ir.core import Body, Fix, Index, Lambda, Param, Screma, WithAcc
from ...ir.ops import Op
from ...ir.traverse import free_in_lambda
from ...ir.types import Atom, Name, Type, Var, i64
from ..accumulators.drop import without_writes
from ..building.code import differentiable
from .adjoints import Sweep, wanted
from .branches import choose
from .sums import moves_inside, sums_of_rows


def map_adjoints(sweep: Sweep, exp: Screma, seeds: Sequence[Atom | None]) -> None:
    """Adds the adjoints of the arrays of a map and of what its lambda uses, given those of its results."""
    code = sweep.code
    f = code.fresh_lambda(exp.map)
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
    rows_adjoints(sweep, exp, arrays, Lambda(tuple(params), f.body, ()), f.params, row_seeds)


def row_adjoints(sweep: Sweep, exp: Screma, place: Atom, seeds: Sequence[Atom | None]) -> None:
    """As `map_adjoints`, where the adjoints of the results are nothing but row `place`: that is run backward alone."""
    code = sweep.code
    f = code.fresh_lambda(exp.map)
    mine = [(a, p) for a, p in zip(exp.arrays, f.params, strict=True) if a in sweep.active and differentiable(p.type)]
    sweep.active.update(p.name for _, p in mine)

    def run(side: Sweep) -> None:
        for array, param in zip(exp.arrays, f.params, strict=True):
            side.code.emit((param,), Index(array, (Fix(place), *whole(param.type.shape)), True))
        side.run(f.body, seeds)

    names = [*wanted(code, list(free_in_lambda(f)), sweep.active), *[p.name for _, p in mine]]
    choose(sweep, code.op(Op.LT, i64(0), exp.width), names, (run, lambda side: None))
    for array, param in mine:
        value = sweep.take(param.name)
        if value is not None:
            sweep.add_row(Var(array), place, value)


def rows_adjoints(
    sweep: Sweep, exp: Screma, arrays: Sequence[Name], f: Lambda, own: Sequence[Param], seeds: Sequence[Atom | None]
) -> None:
    """Emits the map over `arrays` that sweeps `f`, and adds what it gives: the adjoints of rows of the inputs of `exp`
    (parameters `own`), and of what is free in `f`."""
    code, width, params = sweep.code, exp.width, f.params
    sweep.active.update(p.name for p, a in zip(own, exp.arrays, strict=True) if a in sweep.active)
    free = wanted(code, list(free_in_lambda(f)), sweep.active)
    rows, entered = sweep.rows(free)
    rows.run(f.body, seeds)
    rows.settle([p.name for p in own])
    found = [n for n in free if n in rows.dense]
    inside = [n for n in found if code.types[n].shape and moves_inside(rows.code.stms, rows.dense[n])]
    summed = sorted([n for n in found if n not in inside], key=lambda n: bool(code.types[n].shape))
    mine = [(array, found) for array, p in zip(exp.arrays, own, strict=True) if (found := rows.dense.get(p.name))]
    if inside:
        pure = without_writes(rows.code.stms, [p.name for p in entered.values()])
        body = Body(tuple(pure), tuple([rows.dense[name] for name in inside]))
        sums, kept = sums_of_rows(code, width, [Var(a) for a in arrays], params, body)
        for name, total in zip(inside, sums, strict=True):
            sweep.add(Var(name), total)
        arrays, params = [a.name for a in kept.arrays], kept.params
        rows.code.stms = kept.without_inputs(code, rows.code.stms)
    result = [*[rows.dense[n] for n in summed], *[atom for _, atom in mine]]
    ret = tuple([code.type_of(a) for a in result])
    reduced = 0
    if entered:
        out = _accumulating(sweep, width, arrays, params, rows, result, ret, entered)
    elif result:
        reds = tuple([code.adder(code.types[n]) for n in summed if not code.types[n].shape])
        reduced = len(reds)
        out = code.screma(
            Screma(width, tuple(arrays), Lambda(tuple(params), rows.code.body(result), ret), (), reds), "adj"
        )
    else:
        return
    for k, (name, adjoint) in enumerate(zip(summed, out, strict=False)):
        sweep.add(Var(name), adjoint if k < reduced else code.sum_rows(adjoint))
    for (array, _), adjoint in zip(mine, out[len(summed) :], strict=True):
        sweep.add(Var(array), adjoint)


def _accumulating(
    sweep: Sweep,
    width: Atom,
    arrays: Sequence[Name],
    params: Sequence[Param],
    rows: Sweep,
    result: Sequence[Atom],
    ret: Sequence[Type],
    entered: Mapping[Name, Param],
) -> tuple[Var, ...]:
    """The results of the map as arrays; it adds to the accumulators around it, or to arrays."""
    code = sweep.code
    dests = [sweep.acc(name) if name in sweep.far else sweep.full(name) for name in entered]
    accs = [p.type for p in entered.values()]
    f = Lambda((*entered.values(), *params), rows.code.body([*[rows.acc(n) for n in entered], *result]), (*accs, *ret))
    types = [*accs, *[t.array_of(width) for t in ret]]
    exp = WithAcc(width, tuple(arrays), f, tuple([dest.name for dest in dests]))
    out = code.emit([code.param("adj", t) for t in types], exp)
    for name, found in zip(entered, out, strict=False):
        if name in sweep.far:
            sweep.accs[name] = found
        else:
            sweep.dense[name] = found
    return out[len(accs) :]
