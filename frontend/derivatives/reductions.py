"""The adjoint of a reduction of arrays.

sum                 every element gets the adjoint of the result
product             the product of the others: by division, zeros counted
minimum, maximum    one row, the first that is the result
any operator ⊙      l ⊙ x ⊙ r, with the reductions l and r of what is before and behind: two exclusive scans
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.core import Lambda, Reduction, Screma, Stm
from ...ir.ops import Op
from ...ir.traverse import free_in_lambda
from ...ir.types import I64, Atom, Type, Var, i64, one, scalar, zero
from ..building.code import Code
from .adjoints import Sweep
from .maps import rows_adjoints
from .normal import scalar_operator
from .scans import scan_adjoints
from .shifts import exclusive


def reduce_adjoints(sweep: Sweep, stm: Stm, exp: Screma, seeds: Sequence[Atom | None]) -> None:
    """Adds the adjoints of the arrays that are reduced, and of what the operator uses."""
    code = sweep.code
    (red,) = exp.reds
    array, seed = Var(exp.arrays[0]), seeds[0]
    known = scalar_operator(red.op)
    if any(sweep.is_active(a) for a in red.neutral) and known is Op.ADD:
        sweep.add(red.neutral[0], seed)
    if known is None or seed is None:
        _general(sweep, stm, exp, seeds)
    elif sweep.is_active(array):
        result = Var(stm.pat[0].name)
        match known:
            case Op.ADD:
                sweep.add(array, code.replicate((exp.width,), seed))
            case Op.MUL:
                sweep.add(array, _of_product(code, exp.width, array, result, seed))
            case _:
                place, found = _extreme_row(code, exp, known)
                own = code.op(Op.SELECT, found, seed, zero(code.type_of(seed).prim))
                sweep.add_row(array, place, own)


def _of_product(code: Code, width: Atom, array: Var, result: Atom, seed: Atom) -> Atom:
    prim = code.type_of(result).prim

    params = [code.param("x", scalar(prim))]
    f = code.function(params, lambda inner: zero_apart(inner, Var(params[0].name)))
    reds = (code.monoid(Op.ADD, i64(0)), code.monoid(Op.MUL, one(prim)))
    count, product = code.screma(Screma(width, (array.name,), f, (), reds), "red")
    return code.map(width, (array,), lambda inner, xs: [others(inner, count, product, xs[0], seed)])[0]


def zero_apart(code: Code, x: Var) -> list[Atom]:
    """Whether x is 0, as a number, and x or else 1: their sum and product are zeros and the product of the rest."""
    is_zero, prim = code.op(Op.EQ, x, zero(code.type_of(x).prim)), code.type_of(x).prim
    return [code.op(Op.SELECT, is_zero, i64(1), i64(0)), code.op(Op.SELECT, is_zero, one(prim), x)]


def others(code: Code, count: Atom, product: Atom, x: Atom, seed: Atom) -> Atom:
    """`seed` times the product of the others, of `count` zeros and a `product` of the rest, x among them."""
    prim = code.type_of(x).prim
    is_zero = code.op(Op.EQ, x, zero(prim))
    divisor = code.op(Op.SELECT, is_zero, one(prim), x)
    rest = code.op(Op.DIV, product, divisor)
    alone = code.op(Op.SELECT, is_zero, i64(1), i64(0))
    return code.op(Op.SELECT, code.op(Op.EQ, count, alone), code.op(Op.MUL, seed, rest), zero(prim))


def _extreme_row(code: Code, exp: Screma, op: Op) -> tuple[Atom, Atom]:
    """The first element that is the result of a minimum or maximum, and whether there is one; its place is 0 if not."""
    (neutral,) = exp.reds[0].neutral
    prim = code.type_of(neutral).prim
    x, y, i, j = (code.param(base, t) for base, t in (("x", scalar(prim)), ("y", scalar(prim)), ("i", I64), ("j", I64)))
    f = code.function((x, i, y, j), lambda inner: _first(inner, op, *[Var(p.name) for p in (x, i, y, j)]))
    arrays = (Var(exp.arrays[0]), code.iota(exp.width))
    value, place = code.screma(code.reduction(exp.width, arrays, Reduction(f, (neutral, i64(-1)), True)), "first")
    beaten = code.op(Op.LE if op is Op.MIN else Op.GE, value, neutral)
    found = code.op(Op.AND, beaten, code.op(Op.LE, i64(0), place))
    return code.op(Op.SELECT, found, place, i64(0)), found


def _first(code: Code, op: Op, x: Atom, i: Atom, y: Atom, j: Atom) -> list[Atom]:
    """Of two elements with their places that which `op` chooses; of equal ones the first, before none (place -1)."""
    is_first = code.op(Op.AND, code.op(Op.EQ, x, y), code.op(Op.LT, i, j))
    keeps = code.op(Op.OR, code.op(Op.LT if op is Op.MIN else Op.GT, x, y), is_first)
    if code.type_of(x).prim.is_float:
        keeps = code.op(Op.OR, keeps, code.op(Op.NE, y, y))
    keeps = code.op(Op.AND, keeps, code.op(Op.LE, i64(0), i))
    keeps = code.op(Op.OR, code.op(Op.LT, j, i64(0)), keeps)
    return [code.op(Op.SELECT, keeps, x, y), code.op(Op.SELECT, keeps, i, j)]


# ---- any operator -------------------------------------------------------------------------------------------------


def _general(sweep: Sweep, stm: Stm, exp: Screma, seeds: Sequence[Atom | None]) -> None:
    code = sweep.code
    (red,) = exp.reds
    if any(name in sweep.active for name in free_in_lambda(red.op)):
        _as_scan(sweep, stm, exp, seeds)
        return
    arrays = [Var(a) for a in exp.arrays]
    before = exclusive(code, exp.width, red, arrays)
    flipped = Reduction(_flipped(code, red), red.neutral, False)
    behind = exclusive(code, exp.width, flipped, [code.reversed(a) for a in arrays])
    behind = [code.reversed(a) for a in behind]
    sides = [[code.param(base, t) for t in red.op.ret] for base in ("l", "x", "r")]
    left, own, right = ([Var(p.name) for p in side] for side in sides)
    composed = code.inside()
    first = composed.inline(red.op, [*left, *own])
    body = composed.body(composed.inline(red.op, [*first, *right]))
    names = [a.name for a in (*before, *arrays, *behind)]
    f = Lambda(tuple([p for side in sides for p in side]), body, ())
    rows_adjoints(sweep, exp, names, f, sides[1], seeds)


def _flipped(code: Code, red: Reduction) -> Lambda:
    copy = code.fresh_lambda(red.op)
    half = len(red.neutral)
    return Lambda(copy.params[half:] + copy.params[:half], copy.body, copy.ret)


def _as_scan(sweep: Sweep, stm: Stm, exp: Screma, seeds: Sequence[Atom | None]) -> None:
    """The last row of a scan: every application of the operator has its own adjoint there."""
    code = sweep.code
    (red,) = exp.reds
    fresh = Reduction(code.fresh_lambda(red.op), red.neutral, red.comm)
    scan = code.scan(exp.width, [*map(Var, exp.arrays)], fresh)
    pat = tuple([code.param("scan", t.array_of(exp.width)) for t in red.op.ret])
    code.emit(pat, scan)
    given = [None if seed is None else _last_only(code, exp.width, seed, t) for seed, t in
             zip(seeds, red.op.ret, strict=True)]  # fmt: skip
    scan_adjoints(sweep, Stm(pat, scan, (), (), stm.loc), scan, given)


def _last_only(code: Code, width: Atom, seed: Atom, type: Type) -> Atom:
    last = code.op(Op.SUB, width, i64(1))

    def rows(inner: Code, i: Sequence[Var]) -> Sequence[Atom]:
        here = inner.op(Op.EQ, i[0], last)
        return inner.choose(here, lambda there: [seed], lambda there: [there.zeros(type)], [type])

    return code.map(width, (code.iota(width),), rows)[0]
