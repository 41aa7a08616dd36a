"""The adjoints of histograms and scatters.

A sum gives every value the adjoint of its cell; a product divides, zeros counted; a minimum or maximum goes to the
first value that is the result, to the destination before that. Any other operator is run through again, value by value
from the last: the operands of each application are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.basic import whole
from ...ir.core import Fix, ForLoop, Hist, Index, Param, Reduction, Scatter, Scratch, Stm
from ...ir.ops import Op
from ...ir.traverse import free_in_lambda
from ...ir.types import I64, Atom, Prim, Type, Var, i64, one, zero
from ..building.code import Code, in_range
from .adjoints import Sweep, no_derivative
from .normal import scalar_operator
from .reductions import others, zero_apart


def scatter_adjoints(sweep: Sweep, exp: Scatter, seeds: Sequence[Atom | None]) -> None:
    """What is written gets the adjoint of its place, the destination that of the other places. Of several writes to one
    place, which must write the same, one counts: the last that a scatter of numbers leaves there."""
    code = sweep.code
    indices = [Var(a) for a in exp.arrays[: exp.rank]]
    counted = _counted_writes(code, exp, indices)
    for dest, array, seed in zip(exp.dests, exp.arrays[exp.rank :], seeds, strict=True):
        if seed is None:
            continue
        assert isinstance(seed, Var)
        if array in sweep.active:
            sweep.add(Var(array), _where(code, counted, gathered(code, exp.width, indices, seed)))
        if dest in sweep.active:
            nothing = code.zeros(code.types[array])
            assert isinstance(nothing, Var)
            sweep.add(Var(dest), code.let("rest", code.scatter(exp.width, indices, nothing, seed), code.types[dest]))


def _counted_writes(code: Code, exp: Scatter, indices: Sequence[Var]) -> Var:
    """For each write whether it is the one that counts."""
    shape = code.types[exp.dests[0]].shape[: exp.rank]
    start = code.replicate(shape, i64(-1))
    assert isinstance(start, Var)
    numbers = code.iota(exp.width)
    writers = code.let("writers", code.scatter(exp.width, indices, numbers, start), I64.array_of(*shape))
    found = gathered(code, exp.width, indices, writers)
    return code.map(exp.width, (found, numbers), lambda inner, xs: [inner.op(Op.EQ, *xs)])[0]


def _where(code: Code, chosen: Var, values: Var) -> Var:
    """The rows of `values` that are chosen, zeros for the others."""
    row = code.types[values.name].row()

    def rows(inner: Code, xs: Sequence[Var]) -> Sequence[Atom]:
        return inner.choose(xs[0], lambda there: [xs[1]], lambda there: [there.zeros(row)], [row])

    return code.map(code.types[values.name].shape[0], (chosen, values), rows)[0]


def gathered(code: Code, width: Atom, indices: Sequence[Var], source: Var) -> Var:
    """The parts of `source` at the indices, zeros where they are out of range."""
    type = code.types[source.name]
    row = Type(type.prim, type.shape[len(indices) :])

    def rows(inner: Code, at: Sequence[Var]) -> Sequence[Atom]:
        known = in_range(inner, type.shape, at)
        return inner.choose(known, lambda there: [there.at(source, *at)], lambda there: [there.zeros(row)], [row])

    return code.map(width, indices, rows)[0]


def hist_adjoints(sweep: Sweep, stm: Stm, exp: Hist, seeds: Sequence[Atom | None]) -> None:
    """Adds the adjoints of the destinations and the values."""
    code = sweep.code
    known = scalar_operator(exp.op.op) if len(exp.dests) == 1 else None
    seed = seeds[0]
    if known is None or not isinstance(seed, Var):
        _general(sweep, stm, exp, seeds)
        return
    indices, values = [Var(a) for a in exp.arrays[: exp.rank]], Var(exp.arrays[exp.rank])
    dest, result = Var(exp.dests[0]), Var(stm.pat[0].name)
    match known:
        case Op.ADD:
            sweep.add(dest, seed)
            if sweep.is_active(values):
                sweep.add(values, gathered(code, exp.width, indices, seed))
        case Op.MUL:
            _of_product(sweep, exp, indices, values, dest, seed)
        case _:
            _of_extreme(sweep, exp, indices, values, dest, result, seed)


def _elementwise(code: Code, arrays: Sequence[Var], f: Callable[[Code, Sequence[Var]], Atom]) -> Var:
    """A map over all elements of arrays of one shape."""
    type = code.types[arrays[0].name]

    def rows(inner: Code, xs: Sequence[Var]) -> Sequence[Atom]:
        return [f(inner, xs) if type.rank == 1 else _elementwise(inner, xs, f)]

    return code.map(type.shape[0], arrays, rows)[0]


def _counted(code: Code, exp: Hist, indices: Sequence[Var], values: Var, red: Reduction) -> Var:
    """A histogram of `values` over the cells of `exp`, from the neutral element on."""
    type = code.types[exp.dests[0]]
    start = code.replicate(type.shape, red.neutral[0])
    assert isinstance(start, Var)
    arrays, f = code.as_they_are([*indices, values])
    result = Type(red.op.ret[0].prim, type.shape)
    return code.let("hist", Hist(exp.width, arrays, f, red, (start.name,), exp.rank), result)


def _of_product(sweep: Sweep, exp: Hist, indices: Sequence[Var], values: Var, dest: Var, seed: Var) -> None:
    """The zeros among the values of each cell, and the product of the rest."""
    code = sweep.code
    prim = code.types[values.name].prim

    marks, rest = code.map(exp.width, (values,), lambda inner, xs: zero_apart(inner, xs[0]))
    zeros = _counted(code, exp, indices, marks, code.monoid(Op.ADD, i64(0)))
    product = _counted(code, exp, indices, rest, code.monoid(Op.MUL, one(prim)))
    if sweep.is_active(dest):

        def cell(inner: Code, xs: Sequence[Var]) -> Atom:
            full = inner.op(Op.MUL, xs[2], xs[1])
            return inner.op(Op.SELECT, inner.op(Op.EQ, xs[0], i64(0)), full, zero(prim))

        sweep.add(dest, _elementwise(code, (zeros, product, seed), cell))
    if sweep.is_active(values):
        scaled = _elementwise(code, (seed, dest), lambda inner, xs: inner.op(Op.MUL, xs[0], xs[1]))
        parts = [gathered(code, exp.width, indices, a) for a in (zeros, product, scaled)]
        sweep.add(
            values,
            code.map(exp.width, (*parts, values), lambda inner, xs: [others(inner, xs[0], xs[1], xs[3], xs[2])])[0],
        )


def _of_extreme(
    sweep: Sweep, exp: Hist, indices: Sequence[Var], values: Var, dest: Var, result: Var, seed: Var
) -> None:
    code = sweep.code
    nothing = zero(code.types[values.name].prim)

    def kept(inner: Code, xs: Sequence[Var], otherwise: Atom = nothing) -> Atom:
        return inner.op(Op.SELECT, inner.op(Op.EQ, xs[0], xs[1]), xs[2], otherwise)

    def passed(inner: Code, xs: Sequence[Var]) -> Atom:
        return inner.op(Op.SELECT, inner.op(Op.EQ, xs[0], xs[1]), nothing, xs[2])

    if sweep.is_active(dest):
        sweep.add(dest, _elementwise(code, (dest, result, seed), kept))
    if not sweep.is_active(values):
        return
    moved = _elementwise(code, (dest, result, seed), passed)
    extremes = gathered(code, exp.width, indices, result)
    numbers = code.iota(exp.width)
    never = i64(2**63 - 1)
    (places,) = code.map(exp.width, (values, extremes, numbers), lambda inner, xs: [kept(inner, xs, never)])
    first = _counted(code, exp, indices, places, code.monoid(Op.MIN, never))
    chosen = gathered(code, exp.width, indices, first)
    given = gathered(code, exp.width, indices, moved)
    sweep.add(values, code.map(exp.width, (chosen, numbers, given), lambda inner, xs: [kept(inner, xs)])[0])


# ---- any operator -------------------------------------------------------------------------------------------------


def _general(sweep: Sweep, stm: Stm, exp: Hist, seeds: Sequence[Atom | None]) -> None:
    code, red = sweep.code, exp.op
    if any(name in sweep.active for name in free_in_lambda(red.op)):
        what = "a histogram whose operator depends on what is differentiated"
        raise no_derivative(what, stm.loc, "make what it depends on part of the values")
    olds = _operands(code, exp)
    types = red.op.ret
    number, forward = code.param("i", I64), code.inside()
    at = forward.op(Op.SUB, forward.op(Op.SUB, exp.width, i64(1)), Var(number.name))
    cells = [code.param("adj", code.types[d]) for d in exp.dests]
    values = exp.arrays[exp.rank :]
    given = [code.param("adj", code.types[v]) for v in values]
    place = [forward.at(Var(a), at) for a in exp.arrays[: exp.rank]]
    known = in_range(forward, code.types[exp.dests[0]].shape, place)
    zeros = lambda there: [there.zeros(t) for t in types]  # noqa: E731
    seeds_ = forward.choose(known, lambda there: [there.at(Var(c.name), *place) for c in cells], zeros, types)
    copy = code.fresh_lambda(red.op)
    rows = sweep.inside()
    rows.code = forward
    for param, source in zip(copy.params, (*olds, *[Var(v) for v in values]), strict=True):
        forward.emit((param,), _row(forward, source, at))
    sweep.active.update(p.name for p in copy.params)
    rows.run(copy.body, seeds_)
    found = [rows.take(p.name) or forward.zeros(p.type) for p in copy.params]
    half = len(types)
    cells_next = _written(forward, known, cells, place, found[:half])
    given_next = [forward.put(Var(g.name), (at,), a) for g, a in zip(given, found[half:], strict=True)]
    starts = [code.zeros(c.type) if s is None else s for c, s in zip(cells, seeds, strict=True)]
    starts += [code.let("adj", Scratch(g.type), g.type) for g in given]
    form = ForLoop(number.name, exp.width, Prim.I64)
    out = code.loop([*cells, *given], starts, form, forward.body([*cells_next, *given_next]))
    for target, value in zip((*exp.dests, *values), out, strict=True):
        sweep.add(Var(target), value)


def _row(code: Code, source: Var, at: Atom) -> Index:
    return Index(source.name, (Fix(at), *whole(code.types[source.name].shape[1:])), True)


def _written(
    code: Code, known: Atom, cells: Sequence[Param], place: Sequence[Atom], values: Sequence[Atom]
) -> Sequence[Var]:
    """The cells with values at a place, if that is there."""
    arrays = [Var(cell.name) for cell in cells]

    def write(there: Code) -> Sequence[Atom]:
        return [there.put(array, place, value) for array, value in zip(arrays, values, strict=True)]

    return code.choose(known, write, lambda there: arrays, [cell.type for cell in cells])


def _operands(code: Code, exp: Hist) -> list[Var]:
    """The left operand of each application, in the order of the values."""
    red, types = exp.op, exp.op.op.ret
    number, inner = code.param("i", I64), code.inside()
    at = Var(number.name)
    cells = [code.param("cell", code.types[d]) for d in exp.dests]
    olds = [code.param("old", t.array_of(exp.width)) for t in types]
    place = [inner.at(Var(a), at) for a in exp.arrays[: exp.rank]]
    known = in_range(inner, code.types[exp.dests[0]].shape, place)
    old = inner.choose(
        known, lambda there: [there.at(Var(c.name), *place) for c in cells], lambda there: list(red.neutral), types
    )
    new = inner.inline(red.op, [*old, *[inner.at(Var(v), at) for v in exp.arrays[exp.rank :]]])
    cells_next = _written(inner, known, cells, place, new)
    kept = [inner.put(Var(o.name), (at,), a) for o, a in zip(olds, old, strict=True)]
    starts = [*[Var(d) for d in exp.dests], *[code.let("old", Scratch(o.type), o.type) for o in olds]]
    form = ForLoop(number.name, exp.width, Prim.I64)
    return list(code.loop([*cells, *olds], starts, form, inner.body([*cells_next, *kept]))[len(cells) :])
