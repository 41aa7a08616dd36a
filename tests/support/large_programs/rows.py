"""Statements over arrays of two dimensions."""

from __future__ import annotations

import numpy as np

from tests.support.large_programs.flat import UFUNCS, _bind, applied, parts_of, unzipped
from tests.support.large_programs.generate import Array, Writer
from tests.support.large_programs.operators import (
    DTYPES,
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


def _lambda(parts: int) -> tuple[str, list[str]]:
    names = [f"p{k}" for k in range(parts)]
    return f"map{parts if parts > 1 else ''}", names


def reduced_rows(w: Writer) -> None:
    xs = w.array(2)
    op = operator(w.r, xs.prim)
    parts = parts_of(w, xs, op)
    what, names = _lambda(len(parts))
    text = f"{what} (\\{' '.join(names)} -> {applied(op, 'reduce', names)}) {' '.join(p.name for p in parts)}"
    found = reduced(op, tuple(p.value for p in parts))
    row = Array("", xs.prim, xs.dims[:1], xs.value[:, :0])
    _bind(w, op, text, found, [row, *parts])


def scanned_rows(w: Writer) -> None:
    xs = w.array(2)
    op = operator(w.r, xs.prim)
    parts = parts_of(w, xs, op)
    what, names = _lambda(len(parts))
    one = applied(op, "scan", names)
    found = scanned(op, tuple(p.value for p in parts))
    if len(parts) == 1:
        text, value = f"map (\\p0 -> {one}) {xs.name}", found[0]
        if op.wide:
            text, value = f"map (\\p0 -> map (\\x -> {limited(xs.prim, 'x')}) ({one})) {xs.name}", limit(xs.prim, value)
        w.let("ys", xs.prim, xs.dims, text, value, xs)
        return
    k = w.r.randrange(len(parts))
    prim, value = op.prims[k], found[k]
    text = f"let us = {unzipped(len(parts), one)} in us.{k}"
    if is_float(prim):
        text, value = (
            f"let us = {unzipped(len(parts), one)} in map (\\x -> {limited(prim, 'x')}) us.{k}",
            limit(prim, value),
        )
    text = f"{what} (\\{' '.join(names)} -> {text}) {' '.join(p.name for p in parts)}"
    w.let("ys", prim, xs.dims, text, value, *parts)


def over_columns(w: Writer) -> None:
    """A reduction or scan of rows."""
    xs = w.array(2)
    op = simple_operator(w.r, xs.prim)
    size = xs.dims[1]
    turned = (np.ascontiguousarray(xs.value.T),)
    text = f"(map2 {op.text}) (replicate {size} {op.neutral_text}) {xs.name}"
    if w.r.random() < 0.6:
        text, value, dims = f"reduce {text}", reduced(op, turned)[0], xs.dims[1:]
        if is_float(xs.prim):
            text, value = f"map (\\x -> {limited(xs.prim, 'x')}) ({text})", limit(xs.prim, value)
    else:
        text, value, dims = f"scan {text}", np.ascontiguousarray(scanned(op, turned)[0].T), xs.dims
        if is_float(xs.prim):
            text, value = f"map (map (\\x -> {limited(xs.prim, 'x')})) ({text})", limit(xs.prim, value)
    w.let("ys", xs.prim, dims, text, value.astype(DTYPES[xs.prim]), xs)


def turned(w: Writer) -> None:
    xs = w.array(2)
    f = unary(w.r, xs.prim)
    text = f"map (map (\\x -> {f.text('x')})) (transpose {xs.name})"
    w.let("ys", f.prim, xs.dims[::-1], text, np.ascontiguousarray(f.of(xs.value).T), xs)


def flattened(w: Writer) -> None:
    xs = w.array(2)
    value = xs.value if w.r.random() < 0.5 else xs.value.T
    inner = xs.name if value is xs.value else f"(transpose {xs.name})"
    w.let_sized(xs.prim, (), f"flatten {inner}", np.ascontiguousarray(value).ravel(), xs)


def folded(w: Writer) -> None:
    """An array of one dimension as rows."""
    xs = w.array(1)
    width = w.r.choice((1, 3, 8, 17, 64, 1000))
    rows = len(xs.value) // width
    a, b = w.fresh("k"), w.fresh("k")
    w.line(a, f"length {xs.name} / {width}", (a,), [xs])
    w.line(b, f"{width}i64", (b,), [])
    text = f"unflatten (sized ({a} * {b}) {xs.name}[:{a} * {b}])"
    w.let("ys", xs.prim, (a, b), text, xs.value[: rows * width].reshape(rows, width), xs)


def rows_moved(w: Writer) -> None:
    """Rows gathered or scattered."""
    xs = w.array(2)
    n, (size, _) = xs.value.shape[0], xs.dims
    if n == 0:
        raise LookupError
    text, at, used = w.indices(size, n, n, True)
    if w.r.random() < 0.5:
        body = f"map (\\i -> {xs.name}[i64.max 0 (i64.min ({size} - 1) i)]) {text}"
        w.let("ys", xs.prim, xs.dims, body, xs.value[np.clip(at, 0, n - 1)], xs, *used)
        return
    ys = w.beside(xs, xs.prim)
    value, inside = xs.value.copy(), (at >= 0) & (at < n)
    value[at[inside]] = ys.value[inside]
    w.let("ys", xs.prim, xs.dims, f"scatter (copy {xs.name}) {text} {ys.name}", value, xs, ys, *used)


def row_histograms(w: Writer) -> None:
    """Bins of rows, or bins for each row."""
    xs = w.array(2)
    op = simple_operator(w.r, xs.prim)
    ufunc = UFUNCS.get(op.text.strip("()").split(".")[-1])
    rows, columns = xs.value.shape
    bins = w.r.choice(w.scale.bins[:6])
    if ufunc is None or bins * max(rows, columns) > 2_000_000:
        raise LookupError
    size, step = w.fresh("b"), w.r.choice((1, 3, 7))
    w.line(size, f"{bins}i64", (size,), [])
    if w.r.random() < 0.5:
        at = np.arange(rows) * step % bins
        value = np.full((bins, columns), op.neutral[0], DTYPES[xs.prim])
        ufunc.at(value, at, xs.value)
        text = (
            f"hist (map2 {op.text}) (replicate {xs.dims[1]} {op.neutral_text}) {size} "
            f"(map (\\i -> i * {step} % {bins}) (iota {xs.dims[0]})) {xs.name}"
        )
        dims = (size, xs.dims[1])
    else:
        at = np.arange(columns) * step % bins
        value = np.full((rows, bins), op.neutral[0], DTYPES[xs.prim])
        ufunc.at(value, (slice(None), at), xs.value)
        text = (
            f"map (\\row -> hist {op.text} {op.neutral_text} {size} (map (\\i -> i * {step} % {bins}) "
            f"(iota {xs.dims[1]})) row) {xs.name}"
        )
        dims = (xs.dims[0], size)
    if is_float(xs.prim):
        text, value = f"map (map (\\x -> {limited(xs.prim, 'x')})) ({text})", limit(xs.prim, value)
    w.let("ys", xs.prim, dims, text, value, xs)


def stencil(w: Writer) -> None:
    xs = w.array(2)
    f, (n, m) = binary(w.r, xs.prim), xs.value.shape
    if n == 0 or m == 0:
        raise LookupError
    a, b = xs.dims
    d, e = w.r.choice(((0, 1), (1, 0), (1, 1), (2, 5)))
    text = (
        f"tabulate_2d {a} {b} (\\i j -> let x = {xs.name}[i64.max 0 (i - {d}), i64.max 0 (j - {e})] "
        f"let y = {xs.name}[i64.min ({a} - 1) (i + {d}), i64.min ({b} - 1) (j + {e})] in {f.text('x', 'y')})"
    )
    i, j = np.arange(n)[:, None], np.arange(m)[None, :]
    x = xs.value[np.maximum(i - d, 0), np.maximum(j - e, 0)]
    y = xs.value[np.minimum(i + d, n - 1), np.minimum(j + e, m - 1)]
    w.let("ys", xs.prim, xs.dims, text, np.ascontiguousarray(f.of(x, y)), xs)


def rows_updated(w: Writer) -> None:
    """An element of each row, a row, a column."""
    xs = w.array(2)
    n, m = xs.value.shape
    if n == 0 or m == 0:
        raise LookupError
    i, j = w.r.randrange(n), w.r.randrange(m)
    c = True if xs.prim == "bool" else 3
    value = xs.value.copy()
    match w.r.randrange(3):
        case 0:
            value[:, j] = c
            text = f"map (\\row -> copy row with [{j}] = {literal(xs.prim, c)}) {xs.name}"
        case 1:
            k = w.r.randrange(n)
            value[i] = xs.value[k]
            text = f"copy {xs.name} with [{i}] = {xs.name}[{k}]"
        case _:
            k = w.r.randrange(m)
            value[:, j] = xs.value[:, k]
            text = f"copy {xs.name} with [:, {j}] = {xs.name}[:, {k}]"
    w.let("ys", xs.prim, xs.dims, text, value, xs)


def filtered_rows(w: Writer) -> None:
    """How many elements of each row pass, and their sum."""
    xs = w.array(2)
    if xs.prim == "bool" or is_float(xs.prim):
        raise LookupError
    text = f"map (\\row -> {xs.prim}.sum (filter (\\x -> x < {literal(xs.prim, 4)}) row)) {xs.name}"
    value = np.where(xs.value < 4, xs.value, 0).sum(1, dtype=DTYPES[xs.prim])
    w.let("ys", xs.prim, xs.dims[:1], text, value, xs)


def product(w: Writer) -> None:
    """A product of matrices whose elements are bytes."""
    xs = w.array(2)
    n, m = xs.value.shape
    columns = w.r.choice((1, 3, 16, 33))
    given = {dim for x in w.inputs for dim in x.dims}
    if xs.prim == "bool" or n * m * columns > 8_000_000 or xs.dims[1] not in given:
        raise LookupError
    prim = xs.prim
    size = w.fresh("c")
    ys = w.input(prim, (xs.dims[1], size), w.numbers(prim, (m, columns)))
    if is_float(prim):
        value = limit(prim, xs.value @ ys.value)
    else:
        value = np.zeros((n, columns), DTYPES[prim])
        for k in range(columns):
            value[:, k] = (xs.value * ys.value[:, k]).sum(1, dtype=DTYPES[prim])
    inner = limited(prim, f"{prim}.sum (map2 (*) row column)")
    text = f"map (\\row -> map (\\column -> {inner}) (transpose {ys.name})) {xs.name}"
    w.let("ys", prim, (xs.dims[0], size), text, value, xs, ys)


ROWS = (
    reduced_rows, reduced_rows, scanned_rows, over_columns, over_columns, turned, flattened, folded, rows_moved,
    row_histograms, stencil, rows_updated, filtered_rows, product,
)  # fmt: skip
