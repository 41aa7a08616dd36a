"""Statements over arrays of one dimension."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tests.support.large_programs.generate import Array, Writer
from tests.support.large_programs.operators import (
    DTYPES,
    INTEGERS,
    Operator,
    binary,
    is_float,
    limit,
    limited,
    literal,
    operator,
    reduced,
    scanned,
    simple_operator,
    unary,
)


def mapped(w: Writer) -> None:
    xs = w.array(w.r.choice((1, 1, 2)))
    f = unary(w.r, xs.prim)
    g = unary(w.r, f.prim)
    body = f"(\\x -> let y = {f.text('x')} in {g.text('y')})"
    inner = body if len(xs.dims) == 1 else f"(map {body})"
    w.let("ys", g.prim, xs.dims, f"map {inner} {xs.name}", g.of(f.of(xs.value)), xs)


def zipped(w: Writer) -> None:
    xs = w.array(1)
    ys, f = w.beside(xs, xs.prim), binary(w.r, xs.prim)
    w.let(
        "ys",
        xs.prim,
        xs.dims,
        f"map2 (\\x y -> {f.text('x', 'y')}) {xs.name} {ys.name}",
        f.of(xs.value, ys.value),
        xs,
        ys,
    )


def gathered(w: Writer) -> None:
    xs = w.array(1)
    n = len(xs.value)
    if n == 0:
        raise LookupError
    to = w.array(1)
    (count,), length = to.dims, len(to.value)
    text, at, used = w.indices(count, length, n, False)
    size = xs.dims[0]
    clamped = np.clip(at, 0, n - 1)
    body = f"map (\\i -> {xs.name}[i64.max 0 (i64.min ({size} - 1) i)]) {text}"
    w.let("ys", xs.prim, (count,), body, xs.value[clamped], xs, to, *used)


def neighbours(w: Writer) -> None:
    xs = w.array(1)
    n, size, f = len(xs.value), xs.dims[0], binary(w.r, xs.prim)
    if n == 0:
        raise LookupError
    d = w.r.choice((1, 2, 16, 100))
    i = np.arange(n)
    text = (
        f"map (\\i -> let x = {xs.name}[i64.max 0 (i - {d})] let y = {xs.name}[i64.min ({size} - 1) (i + {d})] "
        f"in {f.text('x', 'y')}) (iota {size})"
    )
    value = f.of(xs.value[np.maximum(i - d, 0)], xs.value[np.minimum(i + d, n - 1)])
    rounds = w.r.choice((0, 0, 3))
    if rounds:
        value = xs.value
        for _ in range(rounds):
            value = f.of(value[np.maximum(i - d, 0)], value[np.minimum(i + d, n - 1)])
        text = f"loop {xs.name} for _i < {rounds}i32 do {text}"
    w.let("ys", xs.prim, xs.dims, text, value, xs)


def _written(value: np.ndarray, at: np.ndarray, new: np.ndarray) -> np.ndarray:
    done, inside = value.copy(), (at >= 0) & (at < len(value))
    done[at[inside]] = new[inside]
    return done


def scattered(w: Writer) -> None:
    """A unique index, or one that writes the same value wherever it writes twice; one or two of them in turn."""
    dest = w.array(1)
    writes = 2 if w.r.random() < 0.4 else 1
    text, value, used = "", dest.value, [dest]
    if w.r.random() < 0.4:
        text, value = f"(replicate {dest.dims[0]} {literal(dest.prim, 0)})", np.zeros_like(value)
    for _ in range(writes):
        vs = w.array(1)
        unique = w.r.random() < 0.6
        count, length = vs.dims[0], len(vs.value)
        try:
            at_text, at, more = w.indices(count, length, len(dest.value), unique)
        except LookupError:
            unique = False
            at_text, at, more = w.indices(count, length, len(dest.value), unique)
        if unique:
            if vs.prim != dest.prim:
                vs = w.beside(vs, dest.prim)
            new_text, new = vs.name, vs.value
        else:
            yes, no = (True, False) if dest.prim == "bool" else (3, 5)
            kind = DTYPES[dest.prim].type
            new_text = (
                f"(map (\\i -> if i % 3 == 0 then {literal(dest.prim, yes)} else {literal(dest.prim, no)}) {at_text})"
            )
            new = np.where(np.mod(at, 3) == 0, kind(yes), kind(no))
        if not text:
            text = w.consume(dest)
        text = f"(scatter {text} {at_text} {new_text})"
        value, used = _written(value, at, new), [*used, vs, *more]
    w.let("ys", dest.prim, dest.dims, text[1:-1], value, *used)


def counted(w: Writer) -> None:
    """A histogram, of new bins or over an array that is there."""
    vs = w.array(1)
    op = simple_operator(w.r, vs.prim)
    ufunc = UFUNCS.get(op.text.strip("()").split(".")[-1])
    if ufunc is None:
        raise LookupError
    count, length = vs.dims[0], len(vs.value)
    if w.r.random() < 0.3 and (dest := w.array(1)).prim == vs.prim and not op.wide:
        bins, size = len(dest.value), dest.dims[0]
        text, value, used = w.consume(dest), dest.value.copy(), [dest]
    else:
        bins = w.r.choice(w.scale.bins)
        size, used = w.fresh("b"), []
        w.line(f"{size}", f"{bins}i64", (size,), ())
        text, value = f"(replicate {size} {op.neutral_text})", np.full(bins, op.neutral[0], DTYPES[vs.prim])
    at_text, at, more = w.indices(count, length, bins, False)
    inside = (at >= 0) & (at < bins)
    ufunc.at(value, at[inside], vs.value[inside])
    whole = f"reduce_by_index {text} {op.text} {op.neutral_text} {at_text} {vs.name}"
    if is_float(vs.prim):
        whole, value = f"map (\\x -> {limited(vs.prim, 'x')}) ({whole})", limit(vs.prim, value)
    w.let("ys", vs.prim, (size,), whole, value, vs, *used, *more)


UFUNCS = {
    "+": np.add, "*": np.multiply, "^": np.bitwise_xor, "|": np.bitwise_or, "min": np.minimum, "max": np.maximum,
    "&&": np.logical_and, "||": np.logical_or,
}  # fmt: skip


def parts_of(w: Writer, xs: Array, op: Operator) -> list[Array]:
    return [xs, *(w.beside(xs, prim) for prim in op.prims[1:])]


def applied(op: Operator, what: str, parts: list[str]) -> str:
    """`scan op ne` or `reduce op ne` of the parts."""
    if len(parts) == 1:
        return f"{what} {op.text} {op.neutral_text} {parts[0]}"
    zip_ = "zip" if len(parts) == 2 else f"zip{len(parts)}"
    return f"{what} {op.text} {op.neutral_text} ({zip_} {' '.join(parts)})"


def unzipped(count: int, text: str) -> str:
    return text if count == 1 else f"{'unzip' if count == 2 else f'unzip{count}'} ({text})"


def scanned_flat(w: Writer) -> None:
    xs = w.array(1)
    op = operator(w.r, xs.prim)
    parts = parts_of(w, xs, op)
    exclusive = w.r.random() < 0.2
    found = scanned(op, tuple(p.value for p in parts))
    if exclusive:
        ne = (np.full(1, n, DTYPES[prim]) for n, prim in zip(op.neutral, op.prims, strict=True))
        found = tuple(np.concatenate((first, x[:-1])) if len(x) else x for first, x in zip(ne, found, strict=True))
    _bind(w, op, applied(op, "exscan" if exclusive else "scan", [p.name for p in parts]), found, parts)


def _bind(w: Writer, op: Operator, text: str, found: tuple[np.ndarray, ...], parts: list[Array]) -> None:
    """The components of a scan, floats limited."""
    names = [w.fresh("ss") for _ in op.prims]
    dims = parts[0].dims
    if len(names) == 1:
        w.line(f"{names[0]}: {''.join(f'[{d}]' for d in dims)}{op.prims[0]}", text, names, parts)
    else:
        w.line(f"({', '.join(names)})", unzipped(len(names), text), names, parts)
    for name, prim, value in zip(names, op.prims, found, strict=True):
        made = Array(name, prim, dims, value)
        if is_float(prim) and op.wide:
            w.let("ys", prim, dims, f"map (\\x -> {limited(prim, 'x')}) {name}", limit(prim, value), made)
        else:
            w.keep(made)


def reduced_flat(w: Writer) -> None:
    xs = w.array(1)
    op = operator(w.r, xs.prim)
    parts = parts_of(w, xs, op)
    what = "reduce_comm" if op.commutes and w.r.random() < 0.5 else "reduce"
    found = reduced(op, tuple(p.value for p in parts))
    names = [w.fresh("s") for _ in op.prims]
    pattern = names[0] if len(names) == 1 else f"({', '.join(names)})"
    w.line(pattern, applied(op, what, [p.name for p in parts]), names, parts)
    w.results += [Array(n, p, (), np.asarray(v)) for n, p, v in zip(names, op.prims, found, strict=True)]


def filtered(w: Writer) -> None:
    xs = w.array(1)
    if xs.prim == "bool":
        ys = w.array(1)
        xs = ys if ys.prim != "bool" else w.beside(xs, w.r.choice(INTEGERS))
    c = w.r.randrange(0, 6)
    test = f"(\\x -> x < {literal(xs.prim, c)})"
    keep = xs.value < DTYPES[xs.prim].type(c)
    if w.r.random() < 0.6:
        w.let_sized(xs.prim, (), f"filter {test} {xs.name}", xs.value[keep], xs)
        return
    yes, no, k = w.fresh("ys"), w.fresh("zs"), w.fresh("k")
    size = xs.dims[0]
    w.line(
        f"[{k}] (({yes}, {no}): ([{k}]{xs.prim}, [{size}-{k}]{xs.prim}))",
        f"partition {test} {xs.name}",
        (yes, no, k),
        [xs],
    )
    w.keep(Array(yes, xs.prim, (k,), xs.value[keep]))
    w.results.append(Array(no, xs.prim, (f"{size}-{k}",), xs.value[~keep]))


def moved(w: Writer) -> None:
    xs = w.array(1)
    n, (size,) = len(xs.value), xs.dims
    match w.r.randrange(5):
        case 0:
            w.let("ys", xs.prim, xs.dims, f"reverse {xs.name}", xs.value[::-1].copy(), xs)
        case 1:
            k = w.r.choice((1, -1, 17, 1000))
            w.let("ys", xs.prim, xs.dims, f"rotate ({k}) {xs.name}", np.roll(xs.value, -k), xs)
        case 2:
            ys = w.array(1)
            if ys.prim != xs.prim:
                ys = w.beside(ys, xs.prim)
            w.let_sized(xs.prim, (), f"{xs.name} ++ {ys.name}", np.concatenate((xs.value, ys.value)), xs, ys)
        case 3:
            step = w.r.choice((2, 3, 16, -1, -3))
            w.let_sized(xs.prim, (), f"{xs.name}[::{step}]", xs.value[::step].copy(), xs)
        case _:
            low, high = sorted((w.r.randrange(n + 1), w.r.randrange(n + 1)))
            w.let_sized(xs.prim, (), f"{xs.name}[{low}:{high}]", xs.value[low:high].copy(), xs, size)


def updated(w: Writer) -> None:
    """Elements, slices, and both in loops."""
    xs = w.array(1)
    n, (size,) = len(xs.value), xs.dims
    if n < 4:
        raise LookupError
    value, r = xs.value.copy(), w.r
    c = True if xs.prim == "bool" else 3
    low = r.randrange(n // 2)
    high = r.randrange(low, n - 1)
    length = high - low
    kind = r.randrange(4)
    if kind == 0:
        text = f"{w.consume(xs)} with [{low}] = {literal(xs.prim, c)}"
        value[low] = c
    elif kind == 1:
        source = r.randrange(n - length + 1)
        text = f"let zs = {w.consume(xs)} let ws = copy zs[{source}:{source + length}] in zs with [{low}:{high}] = ws"
        value[low:high] = xs.value[source : source + length]
    elif kind == 2:
        f, rounds, step = binary(r, xs.prim), r.choice((5, 40)), r.choice((1, 7, 1023))
        for i in range(rounds):
            at, other = (i * step) % n, (i + low) % n
            value[at] = f.of(value[at : at + 1], value[other : other + 1])[0]
        text = (
            f"loop zs = {w.consume(xs)} for i < {rounds}i64 do let x = zs[(i * {step}) % {size}] "
            f"let y = zs[(i + {low}) % {size}] in zs with [(i * {step}) % {size}] = {f.text('x', 'y')}"
        )
    else:
        f, rounds = unary(r, xs.prim), 3
        if length + rounds > n:
            raise LookupError
        while f.prim != xs.prim:
            f = unary(r, xs.prim)
        for i in range(rounds):
            part = value[i : i + length].copy()
            value[i + 1 : i + 1 + length] = f.of(part)
        text = (
            f"loop zs = {w.consume(xs)} for i < {rounds}i64 do let ws = map (\\x -> {f.text('x')}) zs[i:i + {length}] "
            f"in zs with [i + 1:i + 1 + {length}] = sized ({length}) ws"
        )
    w.let("ys", xs.prim, xs.dims, text, value, xs)


def scattered_in_loop(w: Writer) -> None:
    xs = w.array(1)
    n, (size,) = len(xs.value), xs.dims
    if n == 0:
        raise LookupError
    value, i = xs.value, np.arange(n)
    yes, no = (True, False) if xs.prim == "bool" else (3, 5)
    kind = DTYPES[xs.prim].type
    step = w.r.choice((1, 2, 5, 64))
    for k in range(3):
        at = (i * step + k) % n
        value = _written(value, at, np.where((at + k) % 2 == 0, kind(yes), kind(no)))
    text = (
        f"loop zs = {w.consume(xs)} for k < 3i64 do scatter zs (map (\\i -> (i * {step} + k) % {size}) (iota {size})) "
        f"(map (\\i -> if ((i * {step} + k) % {size} + k) % 2 == 0 then {literal(xs.prim, yes)} "
        f"else {literal(xs.prim, no)}) (iota {size}))"
    )
    w.let("ys", xs.prim, xs.dims, text, value, xs)


def segments(w: Writer) -> None:
    """Rows of varying length of one array, reduced, scanned or counted, in a nest."""
    xs = w.array(1)
    if xs.prim == "bool":
        xs = w.beside(xs, w.r.choice(INTEGERS))
    n, r = len(xs.value), w.r
    rng = np.random.default_rng(r.randrange(2**32))
    count = r.choice((1, 2, 33, 300, 2000))
    cuts = np.sort(rng.integers(0, n + 1, count + 1)) if r.random() < 0.6 else np.full(count + 1, n // 2)
    if r.random() < 0.5:
        cuts[count // 2 :] = n
    lengths = np.diff(cuts)
    size = w.fresh("g")
    ls, os = w.input("i64", (size,), lengths), w.input("i64", (size,), cuts[:-1])
    rows = [xs.value[a:b] for a, b in pairwise(cuts)]
    op = simple_operator(r, xs.prim)
    form = r.randrange(4)
    if form == 0:
        body = f"reduce {op.text} {op.neutral_text} row"
        found = [reduced(op, (row,))[0] for row in rows]
    elif form == 1:
        body = f"if l > 0 then (scan {op.text} {op.neutral_text} (map id row))[l / 2] else {op.neutral_text}"
        neutral = DTYPES[xs.prim].type(op.neutral[0])
        found = [scanned(op, (row,))[0][len(row) // 2] if len(row) else neutral for row in rows]
    elif form == 2:
        body = f"loop s = {op.neutral_text} for x in row do {op.text} s x"
        found = [reduced(op, (row,))[0] for row in rows]
    else:
        body = f"reduce {op.text} {op.neutral_text} (filter (\\x -> x < {literal(xs.prim, 4)}) row)"
        found = [reduced(op, (row[row < 4],))[0] for row in rows]
    value = np.array(found, DTYPES[xs.prim])
    text = f"map2 (\\o l -> let row = {xs.name}[o:o + l] in {body}) {os.name} {ls.name}"
    if is_float(xs.prim):
        text, value = f"map (\\x -> {limited(xs.prim, 'x')}) ({text})", limit(xs.prim, value)
    w.let("ys", xs.prim, (size,), text, value, xs, ls, os)


def built(w: Writer) -> None:
    size = w.array(1)
    (n,), length = size.dims, len(size.value)
    i = np.arange(length, dtype=np.int64)
    a, m = w.r.choice((1, 3, 7919)), w.r.choice((2, 17, 1000))
    f = unary(w.r, "i64")
    w.let(
        "ys",
        f.prim,
        size.dims,
        f"map (\\i -> let x = i * {a} % {m} in {f.text('x')}) (iota {n})",
        f.of(i * a % m),
        size,
    )


FLAT = (
    mapped, zipped, gathered, neighbours, scattered, scattered, counted, counted, scanned_flat, scanned_flat,
    reduced_flat, filtered, moved, updated, scattered_in_loop, segments, built,
)  # fmt: skip
