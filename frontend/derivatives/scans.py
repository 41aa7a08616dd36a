"""The adjoint of a scan.

With y_i = y_{i-1} ⊙ x_i, the adjoint h_i of y_i is its own seed plus J_{i+1}ᵀ h_{i+1}, where J_i is the derivative of
the operator by its left operand at i: a linear recurrence from the last row on, and so a scan of linear functions. Of a
sum, J is one. An operator on arrays, or on many values, is a loop instead; so is one that is `lawful`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.core import Body, ForLoop, Lambda, Reduction, Scratch, Screma, Stm
from ...ir.ops import Op
from ...ir.types import I64, Atom, Prim, Type, Var, one, zero
from ..building.code import Code, differentiable
from .adjoints import Sweep
from .forward import jvp
from .maps import rows_adjoints
from .normal import scalar_operator
from .shifts import shifted

MOST_VALUES = 4
"""How many values an operator may work on for its linear functions to be scanned: they have the square of it."""


def scan_adjoints(sweep: Sweep, stm: Stm, exp: Screma, seeds: Sequence[Atom | None]) -> None:
    """Adds the adjoints of the arrays that are scanned, and of what the operator uses."""
    code = sweep.code
    (red,) = exp.scans
    if scalar_operator(red.op) is Op.ADD:
        (seed,) = seeds
        assert isinstance(seed, Var)
        back = code.reversed(seed)
        total = code.screma(code.scan(exp.width, (back,), code.adder(red.op.ret[0])), "scan")[0]
        sweep.add(Var(exp.arrays[0]), code.reversed(total))
        return
    numbers = [k for k, t in enumerate(red.op.ret) if differentiable(t)]
    if len(numbers) > MOST_VALUES or any(t.shape for t in red.op.ret):
        sweep.run(scan_as_loop(code, exp), seeds)
        return
    ys = [Var(p.name) for p in stm.pat]
    before = shifted(code, exp.width, ys, red.neutral)
    given = [code.zeros(code.types[ys[k].name]) if (seed := seeds[k]) is None else seed for k in numbers]
    totals = _recurrence(sweep, exp, red, before, numbers, [g for g in given if isinstance(g, Var)])
    copy = code.fresh_lambda(red.op)
    half = len(red.neutral)
    extra = [code.param("adj", copy.ret[k]) for k in numbers]
    arrays = [*[b.name for b in before], *exp.arrays, *[t.name for t in totals]]
    adjoints = dict(zip(numbers, [Var(p.name) for p in extra], strict=True))
    row_seeds = [adjoints.get(k) for k in range(half)]
    f = Lambda((*copy.params, *extra), copy.body, ())
    rows_adjoints(sweep, exp, arrays, f, copy.params[half:], row_seeds)


def _recurrence(
    sweep: Sweep, exp: Screma, red: Reduction, before: Sequence[Var], numbers: Sequence[int], seeds: Sequence[Var]
) -> list[Var]:
    """The adjoints h of all rows, those of the results `numbers` of the operator: the others have none."""
    code, size = sweep.code, len(numbers)
    types = [red.op.ret[k] for k in numbers]

    def jacobian(inner: Code, args: Sequence[Var]) -> Sequence[Atom]:
        """C[q][p] = d result_p / d left_q, row by row."""
        found: list[Atom] = []
        for q in numbers:
            basis: list[Atom | None] = [one(red.op.ret[q].prim) if k == q else None for k in range(len(args))]
            _, tangents = jvp(inner, sweep.functions, red.op, args, basis)
            found += [zero(red.op.ret[p].prim) if (t := tangents[p]) is None else t for p in numbers]
        return found

    inputs = [Var(a) for a in exp.arrays]
    factors = [code.reversed(c) for c in code.map(exp.width, (*before, *inputs), jacobian)]
    factors = shifted(code, exp.width, factors, [zero(code.types[c.name].prim) for c in factors])
    back = [code.reversed(s) for s in seeds]
    kinds = [*[code.types[c.name].row() for c in factors], *types]
    neutral = [one(t.prim) if q == p else zero(types[p].prim) for q, t in enumerate(types) for p in range(size)]
    neutral += [zero(t.prim) for t in types]
    op = _composition(code, kinds, size)
    scan = code.scan(exp.width, [*factors, *back], Reduction(op, tuple(neutral), False))
    return [code.reversed(h) for h in code.screma(scan, "adj")[size * size :]]


def _composition(code: Code, types: Sequence[Type], size: int) -> Lambda:
    """(C, d) then (E, e): (E C, E d + e)."""
    sides = [[code.param(base, t) for t in types] for base in ("f", "g")]
    first, then = ([Var(p.name) for p in side] for side in sides)

    def product(inner: Code, row: int, column: Sequence[Atom]) -> Atom:
        total: Atom | None = None
        for k in range(size):
            total = inner.plus(total, inner.op(Op.MUL, then[row * size + k], column[k]))
        assert total is not None
        return total

    def run(inner: Code) -> Sequence[Atom]:
        found: list[Atom] = []
        for row in range(size):
            found += [product(inner, row, [first[k * size + c] for k in range(size)]) for c in range(size)]
        shift = first[size * size :]
        return found + [inner.op(Op.ADD, product(inner, row, shift), then[size * size + row]) for row in range(size)]

    return code.function([*sides[0], *sides[1]], run)


def in_order(code: Code, stm: Stm) -> list[Stm]:
    """A scan of a `lawful` operator as a loop. Such an operator is associative but for what does not count, such as a
    common factor; the rows of a parallel scan need not satisfy the recurrence that its adjoint is derived from."""
    if not isinstance(stm.exp, Screma) or not stm.exp.scans or all(attr.name != "lawful" for attr in stm.attrs):
        return [stm]
    body = scan_as_loop(code, stm.exp)
    outer = code.inside()
    outer.stms += body.stms
    outer.copies(stm, body.result)
    return outer.stms


def scan_as_loop(code: Code, exp: Screma) -> Body:
    """The scan as a loop over its rows."""
    (red,) = exp.scans
    outer = code.inside()
    types = red.op.ret
    index = code.param("i", I64)
    accs = [code.param("acc", t) for t in types]
    ys = [code.param("ys", t.array_of(exp.width)) for t in types]
    inner = code.inside()
    rows = [inner.at(Var(a), Var(index.name)) for a in exp.arrays]
    nexts = inner.inline(red.op, [*[Var(p.name) for p in accs], *rows])
    written = [inner.put(Var(y.name), (Var(index.name),), v) for y, v in zip(ys, nexts, strict=True)]
    starts = [outer.let("ys", Scratch(y.type), y.type) for y in ys]
    form = ForLoop(index.name, exp.width, Prim.I64)
    results = outer.loop([*accs, *ys], [*red.neutral, *starts], form, inner.body([*nexts, *written]))
    return outer.body(results[len(accs) :])
