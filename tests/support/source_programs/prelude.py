"""The library of the language for the evaluator: functions in plain Python, as the reference describes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.source_programs import scalars
from tests.support.source_programs.evaluate import binary
from tests.support.source_programs.scalars import OPERATIONS, Failure, arity
from tests.support.source_programs.state import Env, State, sampled, spend
from tests.support.source_programs.values import Fun, TooLong, Value, Vec, apply, first, known, size

LARGEST = 1 << 20
"""Elements an array may have here."""


_MEMBERS: dict[str, dict[str, Value]] = {
    name: {key: Fun(arity(key), f) for key, f in table.items()} | scalars.constants(name)
    for name, table in OPERATIONS.items()
}


def prelude(st: State) -> Env:
    """What every program starts with."""
    env = Env(None)
    for name, function in _functions(st).items():
        env.values[name] = Fun(function.__code__.co_argcount, function)
    env.values |= {
        "rearrange": _rearranged,
        "map of many": lambda f, *arrays: _mapped(st, f, arrays),
        "redomap of many": lambda op, f, ne, *arrays: _folded(st, op, ne, _mapped(st, f, arrays)),
        "scanomap of many": lambda op, f, ne, *arrays: _scanned(st, op, ne, _mapped(st, f, arrays)),
    }
    for name, members in _MEMBERS.items():
        module = Env(None)
        module.values.update(members)
        module.values.update({key: Fun(1, f) for key, f in folds(st, name).items()})
        env.modules[name] = module
    return env


def folds(st: State, name: str) -> dict[str, Callable[[Vec], Value]]:
    """`sum` and the like."""
    if name == "bool":
        return {}
    table, constants = OPERATIONS[name], scalars.constants(name)
    kind = scalars.TYPES[name]

    def fold(op: str, start: Value) -> Callable[[Vec], Value]:
        return lambda xs: _folded(st, Fun(2, table[op]), start, xs)

    return {
        "sum": fold("+", kind(0)), "product": fold("*", kind(1)), "maximum": fold("max", constants["lowest"]),
        "minimum": fold("min", constants["highest"]),
    }  # fmt: skip


def _folded(st: State, op: Fun, start: Value, xs: Vec) -> Value:
    spend(st, len(xs))
    value = start
    for x in xs:
        value = apply(op, value, x)
    return value


def _scanned(st: State, op: Fun, start: Value, xs: Vec) -> Vec:
    spend(st, len(xs))
    value, sums = start, Vec([], start)
    for x in xs:
        value = apply(op, value, x)
        sums.append(value)
    return sums


def _mapped(st: State, f: Fun, arrays: tuple[Vec, ...]) -> Vec:
    count = len(arrays[0])
    spend(st, count)
    if any(len(xs) != count for xs in arrays):
        raise Failure("R0105")
    if count:
        return Vec([apply(f, *row) for row in zip(*arrays, strict=True)])
    return Vec([], sampled(st, lambda: apply(f, *[xs.row for xs in arrays])))


def _count(n: Value) -> int:
    if n < 0:
        raise Failure("R0104")
    if n > LARGEST:
        raise TooLong
    return int(n)


def _zipped(*arrays: Vec) -> Vec:
    if any(len(xs) != len(arrays[0]) for xs in arrays):
        raise Failure("R0105")
    return Vec(list(zip(*arrays, strict=True)), tuple([first(xs) for xs in arrays]))


def _unzipped(count: int, xs: Vec) -> tuple[Vec, ...]:
    row = first(xs)
    rows = row if isinstance(row, tuple) else (None,) * count
    return tuple([Vec([x[k] for x in xs], rows[k]) for k in range(count)])


def _turned(xss: Vec) -> Vec:
    """`transpose`."""
    row = known(first(xss))
    inside = first(row)
    return Vec([Vec([xs[k] for xs in xss], inside) for k in range(len(row))], Vec([inside] * len(xss), inside))


def _rearranged(order: list[int], xs: Vec) -> Vec:
    """Dimension i of the result is dimension `order[i]` of `xs`."""
    shape, inner = [], xs
    for _ in order:
        inner = known(inner)
        shape.append(len(inner))
        inner = first(inner)

    def filled(place: dict[int, int], at: int) -> Value:
        if at == len(order):
            value: Value = xs
            for k in range(len(order)):
                value = value[place[k]] if value else first(value)
            return value
        row = None if inner is None else filled({**place, order[at]: 0}, at + 1)
        return Vec([filled({**place, order[at]: k}, at + 1) for k in range(shape[order[at]])], row)

    return filled({}, 0)


def _flat(xss: Vec) -> Vec:
    row = first(xss)
    return Vec([x for xs in xss for x in xs], None if row is None else first(row))


def _scattered(dest: Vec, places: Any, values: Any, depth: int) -> Vec:
    """A copy of `dest`, of `depth` dimensions, with values at places that are in it."""
    out = _copied(dest, depth)
    for place, value in zip(places, values, strict=True):
        row, at = _row_of(out, place if depth > 1 else (place,))
        if row is not None:
            row[at] = value
    return out


def _copied(xs: Vec, depth: int) -> Vec:
    return Vec([_copied(x, depth - 1) for x in xs] if depth > 1 else xs, xs.row)


def _row_of(xs: Vec, place: tuple[Value, ...]) -> tuple[Vec | None, int]:
    for k in place[:-1]:
        if not 0 <= k < len(xs):
            return None, 0
        xs = xs[int(k)]
    k = int(place[-1])
    return (xs, k) if 0 <= k < len(xs) else (None, 0)


def _counted(dest: Vec, op: Fun, places: Vec, values: Vec, depth: int) -> Vec:
    out = _copied(dest, depth)
    if len(places) != len(values):
        raise Failure("R0105")
    for place, value in zip(places, values, strict=True):
        row, at = _row_of(out, place if depth > 1 else (place,))
        if row is not None:
            row[at] = apply(op, row[at], value)
    return out


def _parted(ps: tuple[Fun, ...], xs: Vec) -> tuple[Vec, ...]:
    """By the first of the predicates that holds; at the end those of which none does."""
    parts = tuple(Vec([], first(xs)) for _ in range(len(ps) + 1))
    for x in xs:
        parts[next((k for k, p in enumerate(ps) if apply(p, x)), len(ps))].append(x)
    return parts


def _slice(xs: Vec, start: int, end: int) -> Vec:
    if not 0 <= start <= end <= len(xs):
        raise Failure("R0101")
    return Vec(xs[start:end], first(xs))


def _element(xs: Vec, k: int) -> Value:
    if not 0 <= k < len(xs):
        raise Failure("R0101")
    return xs[k]


def _sized(n: Value, xs: Vec) -> Vec:
    if n != len(xs):
        raise Failure("R0105")
    return xs


def _rotated(k: Value, xs: Vec) -> Vec:
    at = int(k) % len(xs) if xs else 0
    return Vec(xs[at:] + xs[:at], first(xs))


def _flatmap(f: Fun, xs: Vec) -> tuple[Vec, ...]:
    rows = [apply(f, x) for x in xs]
    lengths = [len(row) for row, _ in rows]
    offsets = [sum(lengths[:k]) for k in range(len(rows))]
    starts = {offset for offset, length in zip(offsets, lengths, strict=True) if length}
    data = Vec([x for row, _ in rows for x in row], first(rows[0][0]) if rows else None)
    return (
        Vec(map(size, lengths), size(0)), Vec([k in starts for k in range(len(data))], False),
        Vec(map(size, offsets), size(0)), data, Vec([y for _, y in rows], None),
    )  # fmt: skip


def _functions(st: State) -> dict[str, Any]:
    """By name; how many parameters each takes is how many its lambda has."""

    def iterate_while(p: Fun, f: Fun, x: Value) -> Value:
        while apply(p, x):
            x = apply(f, x)
        return x

    def iterate(n: Value, f: Fun, x: Value) -> Value:
        for _ in range(int(n)):
            x = apply(f, x)
        return x

    def foldr(f: Fun, x: Value, xs: Vec) -> Value:
        for y in reversed(xs):
            x = apply(f, y, x)
        return x

    def exscan(op: Fun, ne: Value, xs: Vec) -> Vec:
        return Vec([ne, *_scanned(st, op, ne, xs)][: len(xs)], ne)

    def replicate(n: Value, x: Value) -> Vec:
        spend(st, _count(n) // 8)
        return Vec([x] * _count(n), x)

    def tabulate(n: Value, f: Fun) -> Vec:
        return _mapped(st, f, (Vec(map(size, range(_count(n))), size(0)),))

    def flatmap1(f: Fun, xs: Vec) -> tuple[Vec, ...]:
        return _flatmap(Fun(1, lambda x: (apply(f, x), ())), xs)[:4]

    def semipartition(p: Fun, xs: Vec) -> tuple[Vec, Vec]:
        yes, no = _parted((p,), xs)
        return yes, Vec(no[::-1], no.row)

    def concat(xs: Vec, ys: Vec) -> Vec:
        return binary("++", xs, ys)

    return {
        "id": lambda x: x, "const": lambda x, _: x, "flip": lambda f, y, x: apply(f, x, y),
        "curry": lambda f, x, y: apply(f, (x, y)), "uncurry": lambda f, p: apply(f, *p),
        "iterate": iterate, "iterate_while": iterate_while,
        "iterate_until": lambda p, f, x: iterate_while(Fun(1, lambda y: not apply(p, y)), f, x),
        "r32": lambda x: np.float32(x), "r64": lambda x: np.float64(x),
        "t32": OPERATIONS["i32"]["f32"], "t64": OPERATIONS["i32"]["f64"], "not": lambda x: not x,
        "map": lambda f, xs: _mapped(st, f, (xs,)), "map1": lambda f, xs: _mapped(st, f, (xs,)),
        "map2": lambda f, xs, ys: _mapped(st, f, (xs, ys)),
        "map3": lambda f, xs, ys, zs: _mapped(st, f, (xs, ys, zs)),
        "map4": lambda f, xs, ys, zs, us: _mapped(st, f, (xs, ys, zs, us)),
        "map5": lambda f, xs, ys, zs, us, vs: _mapped(st, f, (xs, ys, zs, us, vs)),
        "reduce": lambda op, ne, xs: _folded(st, op, ne, xs), "reduce_comm": lambda op, ne, xs: _folded(st, op, ne, xs),
        "redomap": lambda op, f, ne, xs: _folded(st, op, ne, _mapped(st, f, (xs,))),
        "scan": lambda op, ne, xs: _scanned(st, op, ne, xs), "exscan": exscan,
        "scanomap": lambda op, f, ne, xs: _scanned(st, op, ne, _mapped(st, f, (xs,))),
        "filter": lambda p, xs: _parted((p,), xs)[0], "partition": lambda p, xs: _parted((p,), xs),
        "partition2": lambda p, q, xs: _parted((p, q), xs), "semipartition": semipartition,
        "flatmap": _flatmap, "flatmap'": flatmap1,
        "scatter": lambda dest, places, xs: _scattered(dest, places, xs, 1),
        "scatter_2d": lambda dest, places, xs: _scattered(dest, places, xs, 2),
        "scatter_3d": lambda dest, places, xs: _scattered(dest, places, xs, 3),
        "spread": lambda n, x, places, xs: _scattered(replicate(n, x), places, xs, 1),
        "reduce_by_index": lambda dest, op, ne, places, xs: _counted(dest, op, places, xs, 1),
        "reduce_by_index_2d": lambda dest, op, ne, places, xs: _counted(dest, op, places, xs, 2),
        "reduce_by_index_3d": lambda dest, op, ne, places, xs: _counted(dest, op, places, xs, 3),
        "hist": lambda op, ne, k, places, xs: _counted(replicate(k, ne), op, places, xs, 1),
        "all": lambda p, xs: all(_mapped(st, p, (xs,))), "any": lambda p, xs: any(_mapped(st, p, (xs,))),
        "and": lambda xs: all(xs), "or": lambda xs: any(xs),
        "foldl": lambda f, x, xs: _folded(st, f, x, xs), "foldr": foldr,
        "iota": lambda n: Vec(map(size, range(_count(n))), size(0)), "replicate": replicate, "copy": lambda x: x,
        "length": lambda xs: size(len(xs)), "null": lambda xs: not xs,
        "indices": lambda xs: Vec(map(size, range(len(xs))), size(0)),
        "tabulate": tabulate,
        "tabulate_2d": lambda n, m, f: tabulate(n, Fun(1, lambda i: tabulate(m, Fun(1, lambda j: apply(f, i, j))))),
        "tabulate_3d": lambda n, m, k, f: tabulate(
            n, Fun(1, lambda i: tabulate(m, Fun(1, lambda j: tabulate(k, Fun(1, lambda o: apply(f, i, j, o))))))
        ),
        "head": lambda xs: _element(xs, 0), "last": lambda xs: _element(xs, len(xs) - 1),
        "tail": lambda xs: _slice(xs, 1, len(xs)), "init": lambda xs: _slice(xs, 0, len(xs) - 1),
        "take": lambda n, xs: _slice(xs, 0, int(n)), "drop": lambda n, xs: _slice(xs, int(n), len(xs)),
        "concat": concat, "reverse": lambda xs: Vec(xs[::-1], first(xs)), "rotate": _rotated,
        "transpose": _turned, "flatten": _flat, "flatten_3d": lambda xs: _flat(_flat(xs)),
        "flatten_4d": lambda xs: _flat(_flat(_flat(xs))),
        "zip": lambda xs, ys: _zipped(xs, ys), "zip2": lambda xs, ys: _zipped(xs, ys),
        "zip3": lambda xs, ys, zs: _zipped(xs, ys, zs), "zip4": lambda xs, ys, zs, us: _zipped(xs, ys, zs, us),
        "zip5": lambda xs, ys, zs, us, vs: _zipped(xs, ys, zs, us, vs),
        "unzip": lambda xs: _unzipped(2, xs), "unzip2": lambda xs: _unzipped(2, xs),
        "unzip3": lambda xs: _unzipped(3, xs), "unzip4": lambda xs: _unzipped(4, xs),
        "unzip5": lambda xs: _unzipped(5, xs),
        "sized": _sized, "opaque": lambda x: x, "trace": lambda x: x, "break": lambda x: x,
    }  # fmt: skip
