"""Proofs that an index is in bounds, by the shape of the program alone.

Known are ranges of names: a loop index, the element of an `iota`, a size, and inside a branch what its condition says.
An index of the form x + c with 0 <= x + c and x + c < n is in bounds of a dimension n; so is x + y with y from l to m,
if x + l and x + m are. x % c is from 0 to c - 1, and x / c below n where x is below n c. Sizes do not wrap around.

What is proved by ranges holds wherever the operands are known, so that an index marked safe may still be moved. That
a body is executed at all, and its width therefore positive, holds only inside: it lets an index be hoisted as far as
there, and marks nothing (see `in_bounds_at`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...ir.core import Body, Convert, Copied, DimIndex, Exp, Fix, If, Index, PrimOp, SegScatter, Slice, Stm, Update
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Atom, Const, Name, Prim, Var
from .env import NOTHING_KNOWN, Env, Range, is_one, is_zero, known_i64
from .scalars import offset_of

Linear = tuple[Name | None, int]
"""x + c, or c alone."""

DEPTH = 8
"""How many definitions a proof looks through."""
SMALL = 1 << 32
"""Numbers below it may be added to an index that is in bounds, and do not wrap."""


def mark_in_bounds(stm: Stm, env: Env) -> Stm | None:
    """xs[i]  ⟶  xs[i] (safe), where 0 <= i < n is known of xs : [n]        [S-InBounds]"""
    match stm.exp:
        case Index(array, dims, False) | Update(array, dims, _, False) if in_bounds(array, dims, env):
            return replace(stm, exp=replace(stm.exp, safe=True))
        case _:
            return None


def in_bounds(array: Name, dims: tuple[DimIndex, ...], env: Env) -> bool:
    """Whether the index, of all dimensions or of the first ones, is in bounds wherever its operands are known."""
    return all(_dim_in_bounds(dim, size, env) for dim, size in zip(dims, env.types[array].shape, strict=False))


def writes_in_bounds(scatter: SegScatter, body: Body, env: Env) -> bool:
    """Whether all that a body with known operands writes is in bounds of the destinations."""
    rank, each = scatter.rank, scatter.rank + len(scatter.dests)
    places = (body.result[k : k + rank] for k in range(0, len(body.result), each))
    return all(in_bounds(dest, tuple(map(Fix, place)), env) for place in places for dest in scatter.dests)


def in_bounds_at(array: Name, dims: tuple[DimIndex, ...], level: int, env: Env) -> bool:
    """Whether the index is in bounds in the frame at `level` where that is executed: in a map of n rows, n > 0."""
    width = env.innermost_width(level)
    return all(
        _dim_in_bounds(dim, size, env) or (width is not None and _below_positive(dim, size, width, env))
        for dim, size in zip(dims, env.types[array].shape, strict=True)
    )


def _below_positive(dim: DimIndex, size: Atom, width: Atom, env: Env) -> bool:
    """Whether a constant index is below a size that exceeds `width` or is it, where `width` is positive."""
    if not isinstance(dim, Fix) or not isinstance(dim.index, Const) or dim.index.value < 0:
        return False
    (base, offset), (limit, more) = linear(width, env), linear(size, env)
    return base is not None and base == limit and dim.index.value <= more - offset


def _dim_in_bounds(dim: DimIndex, size: Atom, env: Env) -> bool:
    match dim:
        case Fix(index):
            return any(_is_between(span, size, env) for span in _spans(index, env))
        case Slice(start, count, stride):
            if is_zero(start) and is_one(stride):
                return linear(count, env) == linear(size, env)
            return _constant_slice(start, count, stride, size)


@dataclass(frozen=True, slots=True)
class Span:
    """An index that is `base` + c, where c is one of `least` .. `most`."""

    base: Atom
    least: int
    most: int


def _spans(index: Atom, env: Env) -> Iterator[Span]:
    """The index; where it is a sum of x and a y that has bounds, x and the bounds of y; and so on for x."""
    span = Span(index, 0, 0)
    for _ in range(DEPTH):
        yield span
        base, offset = linear(span.base, env)
        match env.value_of(Var(base)) if base is not None else None:
            case PrimOp(Op.ADD, Prim.I64, (x, y)):
                bounds, rest = (_bounds(y, env), x) if _bounds(y, env) else (_bounds(x, env), y)
            case _:
                return
        if bounds is None:
            return
        span = Span(rest, span.least + offset + bounds[0], span.most + offset + bounds[1])


def _bounds(x: Atom, env: Env, depth: int = DEPTH) -> tuple[int, int] | None:
    """The least and the greatest value of a name which is not negative, or of the rest or quotient by a constant."""
    base, offset = linear(x, env)
    if abs(offset) >= SMALL:
        return None
    match env.value_of(Var(base)) if base is not None and depth > 0 else None:
        case PrimOp(Op.MOD, prim, (_, Const(_, c))) if prim.is_signed and 0 < c < SMALL:
            return offset, int(c) - 1 + offset
        case PrimOp(Op.DIV, prim, (y, Const(_, c))) if prim.is_signed and c > 0:
            whole = _bounds(y, env, depth - 1)
            return whole and (whole[0] // int(c) + offset, whole[1] // int(c) + offset)
        case _:
            pass
    known = env.range_of(base) if base is not None else NOTHING_KNOWN
    most = min((below for name, below in known.below if name is None), default=SMALL)
    if known.low is None or known.low < 0 or most >= SMALL:
        return None
    return known.low + offset, most - 1 + offset


def _is_between(span: Span, size: Atom, env: Env) -> bool:
    """Whether 0 <= x + c < size for all c of the span."""
    between = _at_least_zero(span.base, env, DEPTH, span.least) and _is_below(span.base, size, env, DEPTH, span.most)
    return between or _is_multiple_in_bounds(span, size, env)


def _constant_slice(start: Atom, count: Atom, stride: Atom, size: Atom) -> bool:
    i, k, s, n = known_i64(start), known_i64(count), known_i64(stride), known_i64(size)
    if i is None or k is None or s is None or n is None:
        return False
    return k == 0 or (k > 0 and 0 <= i < n and 0 <= i + (k - 1) * s < n)


def linear(atom: Atom, env: Env) -> Linear:
    """`atom` as x + c, looking through sums with constants and conversions that keep the value."""
    offset = 0
    for _ in range(DEPTH):
        step = _linear_step(env.value_of(atom), env)
        if step is None:
            break
        atom, offset = step[0], offset + step[1]
    return (None, int(atom.value) + offset) if isinstance(atom, Const) else (atom.name, offset)


def _linear_step(exp: Exp | None, env: Env) -> tuple[Atom, int] | None:
    match exp:
        case PrimOp(Op.ADD | Op.SUB, prim, _) if prim.is_signed and (step := offset_of(exp)):
            return step if prim is Prim.I64 or _fits(*step, prim, env) else None  # a narrow sum may wrap
        case Convert(source, target, arg) if source.is_signed and target.is_signed:
            return (arg, 0) if target.bits >= source.bits or _fits(arg, 0, target, env) else None
        case _:
            return None


def _fits(x: Atom, more: int, prim: Prim, env: Env) -> bool:
    """Whether x + more is a value of a narrow type, by constant bounds of x."""
    bounds, end = _bounds(x, env), 1 << prim.bits - 1
    return bounds is not None and -end <= bounds[0] + more and bounds[1] + more < end


def _difference(base: Name, env: Env) -> tuple[Linear, Name] | None:
    """The definition `x - k` of a name, with x as a linear form."""
    match env.value_of(Var(base)):
        case PrimOp(Op.SUB, Prim.I64, (x, Var(k))):
            return linear(x, env), k
        case _:
            return None


def _at_least_zero(atom: Atom, env: Env, depth: int, more: int = 0) -> bool:
    """Whether 0 <= x + more."""
    base, offset = linear(atom, env)
    offset += more
    if base is None:
        return offset >= 0
    low = env.range_of(base).low
    outermost = depth == DEPTH  # then x + c is also known to be below a size, and has not wrapped
    if low is not None and low + offset >= 0 and (outermost or offset <= 0):
        return True
    apart = _difference(base, env)
    if apart is not None and outermost and _at_most(apart[1], apart[0], offset, env):
        return True
    if offset != 0 or depth == 0:
        return False
    match env.value_of(Var(base)):
        case PrimOp(Op.MAX, prim, (x, y)) if prim.is_signed:
            return _at_least_zero(x, env, depth - 1) or _at_least_zero(y, env, depth - 1)
        case PrimOp(Op.MIN | Op.DIV | Op.QUOT, prim, (x, y)) if prim.is_signed:
            return _at_least_zero(x, env, depth - 1) and _at_least_zero(y, env, depth - 1)
        case PrimOp(Op.SELECT, prim, (_, x, y)) if prim.is_signed:
            return _at_least_zero(x, env, depth - 1) and _at_least_zero(y, env, depth - 1)
        case PrimOp(Op.MOD, prim, (_, y)) if prim.is_signed:
            return _at_least_zero(y, env, depth - 1)
        case _:
            return False


def _multiple(base: Name, env: Env) -> tuple[Name, int] | None:
    """The definition `x * k` of a name, k a positive constant."""
    match env.value_of(Var(base)):
        case PrimOp(Op.MUL, Prim.I64, (Var(x), Const(_, k)) | (Const(_, k), Var(x))) if k > 0:
            return x, int(k)
        case _:
            return None


def _is_multiple_in_bounds(span: Span, size: Atom, env: Env) -> bool:
    """Whether 0 <= k x + c < size for all c of a span, where x < n + b, and the size is k n + d or n is (size - d) / k:
    then k x is at most k n + k (b - 1), and does not wrap where a size does not."""
    base, offset = linear(span.base, env)
    limit, more = linear(size, env)
    multiple = _multiple(base, env) if base is not None else None
    if multiple is None or limit is None:
        return False
    x, k = multiple
    low = env.range_of(x).low
    return (
        low is not None
        and low >= 0
        and low * k + offset + span.least >= 0
        and _multiple_is_below(multiple, offset + span.most, (limit, more), env)
    )


def _multiple_is_below(multiple: tuple[Name, int], offset: int, limit: Linear, env: Env) -> bool:
    """Whether k x + c is below a size, as in `_is_multiple_in_bounds`."""
    (x, k), (base, _) = multiple, limit
    whole = _multiple(base, env) if base is not None else None
    for name, below in env.range_of(x).below:
        room = _room(name, k, limit, whole, env) if name is not None and below <= 1 else None
        if room is not None and k * (below - 1) + offset < room:
            return True
    return False


def _room(n: Name, k: int, limit: Linear, whole: tuple[Name, int] | None, env: Env) -> int | None:
    """d, where the limit is at least k n + d."""
    if whole == (n, k):
        return limit[1]
    size = _divided(n, k, env)
    return limit[1] - size[1] if size is not None and size[0] == limit[0] else None


def _at_most(k: Name, x: Linear, offset: int, env: Env) -> bool:
    """Whether 0 <= k <= x + offset."""
    known = env.range_of(k)
    low_enough = any(name == x[0] and below <= x[1] + offset + 1 for name, below in known.below)
    return low_enough and known.low is not None and known.low >= 0


def _is_below(atom: Atom, size: Atom, env: Env, depth: int, extra: int = 0) -> bool:
    """Whether x + extra < size."""
    base, offset = linear(atom, env)
    offset += extra
    limit, more = linear(size, env)
    if base is None:
        return limit is None and offset < more
    may_wrap = offset != 0 and depth != DEPTH  # outermost, x + c is also known not to be negative
    if not may_wrap and any(name == limit and offset + below <= more for name, below in env.range_of(base).below):
        return True
    apart = _difference(base, env)
    if apart is not None and depth == DEPTH and _at_most(apart[1], apart[0], offset, env):
        (name, constant), k = apart
        low = env.range_of(k).low or 0
        return name == limit and constant + offset - low < more
    if offset != 0 or depth == 0:
        return False
    match env.value_of(Var(base)):
        case PrimOp(Op.MIN, prim, (x, y)) if prim.is_signed:
            return _is_below(x, size, env, depth - 1) or _is_below(y, size, env, depth - 1)
        case PrimOp(Op.MAX, prim, (x, y)) if prim.is_signed:
            return _is_below(x, size, env, depth - 1) and _is_below(y, size, env, depth - 1)
        case PrimOp(Op.SELECT, prim, (_, x, y)) if prim.is_signed:
            return _is_below(x, size, env, depth - 1) and _is_below(y, size, env, depth - 1)
        case PrimOp(Op.MOD, prim, (_, y)) if prim.is_signed:
            return linear(y, env) == (limit, more)  # the divisor is a size, hence positive where it does not fail
        case PrimOp(Op.DIV | Op.QUOT, prim, (x, Const(_, c))) if prim.is_signed and c >= 1:
            smaller = _is_below(x, size, env, depth - 1) or _is_below_multiple(x, int(c), (limit, more), env)
            return _at_least_zero(x, env, depth - 1) and smaller
        case _:
            return False


def _is_below_multiple(x: Atom, k: int, limit: Linear, env: Env) -> bool:
    """Whether x < k (n + d), of a size n + d."""
    base, offset = linear(x, env)
    n, d = limit
    found = env.range_of(base).below if base is not None and offset == 0 else ()
    return any(
        name is not None and n is not None and _multiple(name, env) == (n, k) and b <= k * d for name, b in found
    )


# ---- comparisons ------------------------------------------------------------------------------------------------


def decide_comparison(stm: Stm, env: Env) -> Stm | None:
    """i + 1 <= n  ⟶  true, where i < n is known;  0 <= i  ⟶  true        [S-CompareRange] (i64)
    k i + k <= n, 0 <= k i, k i <= k i + k  ⟶  true, where i < n / k is known"""
    match stm.exp:
        case PrimOp(Op.LE, Prim.I64, (x, y)):
            holds = _is_less(x, y, 1, env)
        case PrimOp(Op.LT, Prim.I64, (x, y)):
            holds = _is_less(x, y, 0, env)
        case PrimOp(Op.GE, Prim.I64, (x, y)):
            holds = _is_less(y, x, 1, env)
        case PrimOp(Op.GT, Prim.I64, (x, y)):
            holds = _is_less(y, x, 0, env)
        case _:
            return None
    return replace(stm, exp=Copied(Const(Prim.BOOL, True))) if holds else None


def _is_less(x: Atom, y: Atom, slack: int, env: Env) -> bool:
    """Whether x < y + slack, of linear forms that do not wrap around."""
    (base, offset), (limit, more) = linear(x, env), linear(y, env)
    known = env.range_of(base).below if base is not None and offset == more == 0 else ()
    if limit is not None and any(name == limit and 0 <= below <= slack for name, below in known):
        return True  # as it stands: where n + 1 wraps around, nothing is below that
    if limit is None or not _keeps_range(limit, more, env):
        return False
    low = _low(limit, env)
    if base is None:
        return low is not None and offset < low + more + slack
    if not _keeps_range(base, offset, env):
        return False
    if base == limit:
        return offset < more + slack
    multiple = _multiple(base, env)
    if multiple is not None and _multiple_is_below(multiple, offset, (limit, more + slack), env):
        return True
    return any(name == limit and offset + below <= more + slack for name, below in env.range_of(base).below)


def _low(name: Name, env: Env) -> int | None:
    """The least value that is known of a name, of a multiple k x that does not wrap too."""
    multiple = _multiple(name, env)
    low = env.range_of(multiple[0]).low if multiple is not None else None
    return env.range_of(name).low if multiple is None or low is None else low * multiple[1]


def _keeps_range(base: Name, offset: int, env: Env) -> bool:
    """Whether x + c cannot wrap: x is not negative, and below a size if c is added; or x is k i, and k i + c at most a
    size n, of which i < n / k is known."""
    multiple = _multiple(base, env)
    if multiple is not None:
        x, k = multiple
        low = env.range_of(x).low
        return (
            low is not None
            and low >= 0
            and any(
                k * (below - 1) + offset <= 0 and name is not None and _is_quotient_of_size(name, k, env)
                for name, below in env.range_of(x).below
            )
        )
    known = env.range_of(base)
    if known.low is None or known.low < 0:
        return False
    sizes = ((name, below) for name, below in known.below if name is not None)
    return offset <= 0 or any(_is_size(name, env) and below + offset <= 1 for name, below in sizes)


def _is_quotient_of_size(name: Name, k: int, env: Env) -> bool:
    size = _divided(name, k, env)
    return size is not None and size[0] is not None and size[1] <= 0 and _is_size(size[0], env)


def _divided(name: Name, k: int, env: Env) -> Linear | None:
    """What a name is the quotient of, by k."""
    match env.value_of(Var(name)):
        case PrimOp(Op.DIV | Op.QUOT, Prim.I64, (size, Const(_, divisor))) if divisor == k:
            return linear(size, env)
        case _:
            return None


def _is_size(name: Name, env: Env) -> bool:
    low = env.range_of(name).low
    return low is not None and low >= 0


# ---- where ranges come from -------------------------------------------------------------------------------------


def counting(bound: Atom, env: Env) -> Range:
    """The range of an index that counts from 0 up to a bound."""
    return Range(0, (linear(bound, env),))


def counting_from(start: Atom, count: Atom, env: Env) -> Range:
    """The range of an index that counts on from a number: up to a size, where the count is what is left of that."""
    (base, offset), (rest, more) = linear(start, env), linear(count, env)
    apart = _difference(rest, env) if rest is not None else None
    if apart is None or base is None or not _keeps_range(base, offset, env):
        return NOTHING_KNOWN
    (limit, room), (taken, less) = apart[0], linear(Var(apart[1]), env)
    low = env.range_of(base).low
    if taken != base or low is None or low + offset < 0 or limit is None or not _keeps_range(limit, room, env):
        return NOTHING_KNOWN
    return Range(low + offset, ((limit, room + more + offset - less),))


def assume(cond: Atom, truth: bool, env: Env) -> dict[Name, Range]:
    """Notes what follows from `cond` being `truth`; gives the ranges that were known before, to be put back."""
    before: dict[Name, Range] = {}
    for name, fact in _consequences(cond, truth, env, DEPTH):
        old = env.range_of(name)
        before.setdefault(name, old)
        env.ranges[name] = _both(old, fact)
    return before


def _both(x: Range, y: Range) -> Range:
    low = x.low if y.low is None else y.low if x.low is None else max(x.low, y.low)
    return Range(low, tuple(dict.fromkeys((*x.below, *y.below))))


def _consequences(cond: Atom, truth: bool, env: Env, depth: int) -> Iterator[tuple[Name, Range]]:
    exp = env.value_of(cond)
    if isinstance(exp, If) and depth > 0:
        yield from _of_branch(exp, truth, env, depth)
    if not isinstance(exp, PrimOp) or depth == 0:
        return
    match exp.op, exp.args:
        case Op.NOT, (x,):
            yield from _consequences(x, not truth, env, depth - 1)
        case (Op.AND, args) if truth and exp.prim is Prim.BOOL:
            for arg in args:
                yield from _consequences(arg, True, env, depth - 1)
        case (Op.OR, args) if not truth and exp.prim is Prim.BOOL:
            for arg in args:
                yield from _consequences(arg, False, env, depth - 1)
        case ((Op.LT | Op.LE | Op.GT | Op.GE | Op.EQ | Op.NE), (x, y)) if exp.prim.is_signed:
            yield from _of_comparison(exp.op, truth, x, y, env)
        case _:
            pass


def _of_branch(branch: If, truth: bool, env: Env, depth: int) -> Iterator[tuple[Name, Range]]:
    """What `if c then x else y` says of c where x or y is the opposite of its value: `a && b` is such a branch."""
    opposite = Const(Prim.BOOL, not truth)
    if branch.orelse.result == (opposite,):
        yield from _consequences(branch.cond, True, env, depth - 1)
    if branch.then.result == (opposite,):
        yield from _consequences(branch.cond, False, env, depth - 1)


def _of_comparison(op: Op, truth: bool, x: Atom, y: Atom, env: Env) -> Iterator[tuple[Name, Range]]:
    match op, truth:
        case (Op.LT, True) | (Op.GE, False):
            yield from _less(x, y, 0, env)
        case (Op.LE, True) | (Op.GT, False):
            yield from _less(x, y, 1, env)
        case (Op.GT, True) | (Op.LE, False):
            yield from _less(y, x, 0, env)
        case (Op.GE, True) | (Op.LT, False):
            yield from _less(y, x, 1, env)
        case (Op.EQ, True) | (Op.NE, False):
            yield from _less(x, y, 1, env)
            yield from _less(y, x, 1, env)
        case (Op.NE, True) | (Op.EQ, False):
            yield from _apart(x, y, env)
        case _:
            pass


def _less(x: Atom, y: Atom, slack: int, env: Env) -> Iterator[tuple[Name, Range]]:
    """From x < y + slack: an upper bound of x where y is linear, a lower bound of y where x is constant."""
    if isinstance(x, Var):
        base, offset = linear(y, env)
        yield x.name, Range(None, ((base, offset + slack),))
    if isinstance(x, Const) and isinstance(y, Var):
        yield y.name, Range(int(x.value) + 1 - slack, ())


def _apart(x: Atom, y: Atom, env: Env) -> Iterator[tuple[Name, Range]]:
    """From x != y where y is the least value of x: x is above it; where it is the greatest: below."""
    for var, other in ((x, y), (y, x)):
        if not isinstance(var, Var):
            continue
        known, (base, offset) = env.range_of(var.name), linear(other, env)
        if isinstance(other, Const) and known.low == other.value:
            yield var.name, Range(int(other.value) + 1, ())
        if (base, offset + 1) in known.below:
            yield var.name, Range(None, ((base, offset),))


def restore(before: dict[Name, Range], env: Env) -> None:
    """Forgets what `assume` noted."""
    for name, old in before.items():
        if old is NOTHING_KNOWN:
            env.ranges.pop(name, None)
        else:
            env.ranges[name] = old
