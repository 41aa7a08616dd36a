"""What is swept: the text of each entry, with T for the type of the elements, and the same in NumPy.

An entry `main` is made of `params -> result = body`; arguments are one array of random elements for each shape, and
for `gather` and its like a permutation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
FIRST = "(\\(a, i) (b, j) -> if a >= b then (a, i) else (b, j)) (T.lowest, -1)"


@dataclass(frozen=True, slots=True)
class Operation:
    """`text`: parameters, result and body of an entry; `peer`: the same in NumPy; `more`: how many more arguments it
    takes, permutations (`p`), or rows (`r`), columns (`c`) and arrays of the same shape (`m`), of the same type."""

    text: str
    peer: Callable[..., Any]
    more: str = ""


def _softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _shifted(x: Array) -> Array:
    y = x.copy()
    y[1:] = x[1:] - x[:-1]
    return y


def _cross(x: Array) -> Array:
    y = x.copy()
    four = x.dtype.type(4)
    y[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - four * x[1:-1, 1:-1]
    return y


def _pooled(x: Array) -> Array:
    a, b, c = x.shape
    return x[:, : b // 2 * 2, : c // 2 * 2].reshape(a, b // 2, 2, c // 2, 2).max((2, 4))


def _scattered(x: Array, p: Array) -> Array:
    y = np.empty_like(x)
    y[p] = x
    return y


def _ranks(x: Array, v: Array) -> Array:
    k = np.zeros(x.size, np.int64)
    for a in v[:16]:
        k += a < x
    return k


def _standardised(x: Array) -> Array:
    d = x - x.mean(0)
    return d / np.sqrt((d * d).mean(0) + 1)


def _between(x: Array, v: Array) -> Array:
    return np.interp(x, np.arange(v.size, dtype=v.dtype), v).astype(x.dtype)


SOFTMAX = "let t = T.maximum r let e = map (\\v -> T.exp (v - t)) r let s = T.sum e in map (/ s) e"

ROW = {
    "sum": Operation("[n] (x: [n]T): T = T.sum x", lambda x: x.sum(dtype=x.dtype)),
    "maximum": Operation("[n] (x: [n]T): T = T.maximum x", lambda x: x.max()),
    "sums": Operation("[n] (x: [n]T): [n]T = scan (+) 0 x", lambda x: np.cumsum(x, dtype=x.dtype)),
    "maxima": Operation("[n] (x: [n]T): [n]T = scan T.max T.lowest x", np.maximum.accumulate),
    "clip": Operation(
        "[n] (x: [n]T): [n]T = map (\\a -> T.min 50 (T.max 10 a)) x",
        lambda x: np.clip(x, x.dtype.type(10), x.dtype.type(50)),
    ),
    "some": Operation("[n] (x: [n]T): []T = filter (> 50) x", lambda x: x[x > 50]),
    "count": Operation("[n] (x: [n]T): i64 = i64.sum (map (\\a -> i64.bool (a > 50)) x)", lambda x: (x > 50).sum()),
    "argmax": Operation(f"[n] (x: [n]T): i64 = (reduce {FIRST} (zip x (iota n))).1", lambda x: x.argmax()),
    "turned": Operation("[n] (x: [n]T): [n]T = copy (reverse x)", lambda x: x[::-1].copy()),
    "shifted": Operation(
        "[n] (x: [n]T): [n]T = map (\\i -> if i == 0 then x[0] else x[i] - x[i-1]) (iota n)", _shifted
    ),
    "gather": Operation("[n] (x: [n]T) (p: [n]i32): [n]T = map (\\i -> x[i]) p", lambda x, p: x[p], "p"),
    "scattered": Operation(
        "[n] (x: [n]T) (p: [n]i32): [n]T = scatter (replicate n 0) (map i64.i32 p) x", _scattered, "p"
    ),
    "bins": Operation(
        "[n] (x: [n]T) (p: [n]i32): [256]T = hist (+) 0 256 (map (\\i -> i64.i32 i % 256) p) x",
        lambda x, p: np.bincount(p % 256, x, 256).astype(np.int64 if x.dtype.kind != "f" else x.dtype).astype(x.dtype),
        "p",
    ),
    "where": Operation(
        "[n] (x: [n]T) (v: [n]T): [n]T = map2 (\\a b -> if a > 50 then a else b) x v",
        lambda x, v: np.where(x > 50, x, v),
        "r",
    ),
    "dot": Operation("[n] (x: [n]T) (v: [n]T): T = T.sum (map2 (*) x v)", np.dot, "r"),
    "polynomial": Operation(
        "[n] (x: [n]T): [n]T = map (\\a -> (((3*a + 2)*a + 7)*a + 1)*a + 4) x",
        lambda x: (((3 * x + 2) * x + 7) * x + 1) * x + 4,
    ),
    "buckets": Operation(
        "[n] (x: [n]T): [100]i32 = hist (+) 0 100 (map (\\a -> i64.T a) x) (replicate n 1)",
        lambda x: np.bincount(x.astype(np.int64), minlength=100),
    ),
    "changes": Operation(
        "[n] (x: [n]T): i64 = i64.sum (map2 (\\a b -> i64.bool (a != b)) (tail x) (init x))",
        lambda x: np.count_nonzero(x[1:] != x[:-1]),
    ),
    "ranks": Operation(
        "[n] (x: [n]T) (v: [n]T): [n]i64 = map (\\a -> i64.sum (map (\\b -> i64.bool (b < a)) v[:16])) x", _ranks, "r"
    ),
}
FLOAT_ROW = {
    "between": Operation(
        "[n] (x: [n]T) (v: [n]T): [n]T = map (\\a -> let j = i64.T a let k = T.i64 j"
        " in v[j] + (a - k) * (v[j+1] - v[j])) x",
        _between,
        "r",
    ),
}
INTEGER_ROW = {
    "ones": Operation("[n] (x: [n]T): [n]i32 = map T.popc x", lambda x: np.bitwise_count(x).astype(np.int32)),
}
MATRIX = {
    "row_sums": Operation("[n][m] (x: [n][m]T): [n]T = map T.sum x", lambda x: x.sum(1, dtype=x.dtype)),
    "column_sums": Operation("[n][m] (x: [n][m]T): [m]T = map T.sum (transpose x)", lambda x: x.sum(0, dtype=x.dtype)),
    "row_maxima": Operation("[n][m] (x: [n][m]T): [n]T = map T.maximum x", lambda x: x.max(1)),
    "column_maxima": Operation("[n][m] (x: [n][m]T): [m]T = map T.maximum (transpose x)", lambda x: x.max(0)),
    "row_scans": Operation("[n][m] (x: [n][m]T): [n][m]T = map (scan (+) 0) x", lambda x: np.cumsum(x, 1, x.dtype)),
    "column_scans": Operation(
        "[n][m] (x: [n][m]T): [n][m]T = transpose (map (scan (+) 0) (transpose x))",
        lambda x: np.cumsum(x, 0, x.dtype),
    ),
    "transposed": Operation("[n][m] (x: [n][m]T): [m][n]T = copy (transpose x)", lambda x: np.ascontiguousarray(x.T)),
    "add_row": Operation(
        "[n][m] (x: [n][m]T) (v: [m]T): [n][m]T = map (\\r -> map2 (+) r v) x", lambda x, v: x + v, "r"
    ),
    "add_column": Operation(
        "[n][m] (x: [n][m]T) (v: [n]T): [n][m]T = map2 (\\r a -> map (+ a) r) x v",
        lambda x, v: x + v[:, None],
        "c",
    ),
    "times_row": Operation(
        "[n][m] (x: [n][m]T) (v: [m]T): [n]T = map (\\r -> T.sum (map2 (*) r v)) x", lambda x, v: x @ v, "r"
    ),
    "cross": Operation(
        "[n][m] (x: [n][m]T): [n][m]T = tabulate_2d n m (\\i j -> if i > 0 && i < n-1 && j > 0 && j < m-1"
        " then x[i-1,j] + x[i+1,j] + x[i,j-1] + x[i,j+1] - 4 * x[i,j] else x[i,j])",
        _cross,
    ),
    "torus": Operation(
        "[n][m] (x: [n][m]T): [n][m]T = tabulate_2d n m (\\i j -> T.max (T.max x[i,j] x[(i+1)%n,j])"
        " (T.max x[i,(j+1)%m] x[(i+1)%n,(j+1)%m]))",
        lambda x: np.maximum(np.maximum(x, np.roll(x, -1, 0)), np.roll(np.maximum(x, np.roll(x, -1, 0)), -1, 1)),
    ),
    "row_dots": Operation(
        "[n][m] (x: [n][m]T) (y: [n][m]T): [n]T = map2 (\\r s -> T.sum (map2 (*) r s)) x y",
        lambda x, y: np.einsum("ij,ij->i", x, y),
        "m",
    ),
    "add_outer": Operation(
        "[n][m] (x: [n][m]T) (u: [n]T) (v: [m]T): [n][m]T = map2 (\\r a -> map2 (\\e b -> e + a * b) r v) x u",
        lambda x, u, v: x + u[:, None] * v,
        "cr",
    ),
}
FLOAT_MATRIX = {
    "log_sum_exp": Operation(
        "[n][m] (x: [n][m]T): [n]T = map (\\r -> let t = T.maximum r in"
        " t + T.log (T.sum (map (\\a -> T.exp (a - t)) r))) x",
        lambda x: np.log(np.exp(x - x.max(1, keepdims=True)).sum(1)) + x.max(1),
    ),
    "cosines": Operation(
        "[n][m] (x: [n][m]T) (v: [m]T): [n]T = map (\\r -> T.sum (map2 (*) r v) /"
        " T.sqrt (T.sum (map2 (*) r r) * T.sum (map2 (*) v v))) x",
        lambda x, v: x @ v / np.sqrt((x * x).sum(1) * (v @ v)),
        "r",
    ),
    "normalised": Operation(
        "[n][m] (x: [n][m]T): [n][m]T = map (\\r -> let s = T.sqrt (T.sum (map2 (*) r r)) in map (/ s) r) x",
        lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)),
    ),
    "standardised": Operation(
        "[n][m] (x: [n][m]T): [n][m]T = let mu = map (\\c -> T.sum c / T.i64 n) (transpose x)"
        " let d = map (\\r -> map2 (-) r mu) x"
        " let s = map (\\c -> T.sqrt (T.sum (map2 (*) c c) / T.i64 n + 1)) (transpose d)"
        " in map (\\r -> map2 (/) r s) d",
        _standardised,
    ),
}
CUBE = {
    "sum_first": Operation(
        "[a][b][c] (x: [a][b][c]T): [b][c]T = tabulate_2d b c (\\j k -> T.sum (map (\\i -> x[i,j,k]) (iota a)))",
        lambda x: x.sum(0),
    ),
    "sum_middle": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][c]T = map (\\m -> map T.sum (transpose m)) x", lambda x: x.sum(1)
    ),
    "sum_last": Operation("[a][b][c] (x: [a][b][c]T): [a][b]T = map (map T.sum) x", lambda x: x.sum(2)),
    "sum_but_last": Operation(
        "[a][b][c] (x: [a][b][c]T): [c]T = map T.sum (transpose (flatten x))", lambda x: x.sum((0, 1))
    ),
    "sum_but_middle": Operation(
        "[a][b][c] (x: [a][b][c]T): [b]T = map (\\m -> T.sum (flatten m)) (transpose x)", lambda x: x.sum((0, 2))
    ),
    "max_middle": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][c]T = map (\\m -> map T.maximum (transpose m)) x", lambda x: x.max(1)
    ),
    "scan_middle": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][b][c]T = map (\\m -> transpose (map (scan (+) 0) (transpose m))) x",
        lambda x: np.cumsum(x, 1),
    ),
    "centred": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][b][c]T = map (\\m -> let mu = map (\\r -> T.sum r / T.i64 b) (transpose m)"
        " in map (\\r -> map2 (-) r mu) m) x",
        lambda x: x - x.mean(1, keepdims=True),
    ),
    "softmax_last": Operation(
        f"[a][b][c] (x: [a][b][c]T): [a][b][c]T = map (map (\\r -> {SOFTMAX})) x", lambda x: _softmax(x, 2)
    ),
    "softmax_middle": Operation(
        f"[a][b][c] (x: [a][b][c]T): [a][b][c]T = map (\\m -> transpose (map (\\r -> {SOFTMAX}) (transpose m))) x",
        lambda x: _softmax(x, 1),
    ),
    "swap_last": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][c][b]T = map transpose x", lambda x: x.transpose(0, 2, 1).copy()
    ),
    "swap_first": Operation(
        "[a][b][c] (x: [a][b][c]T): [b][a][c]T = copy (transpose x)", lambda x: x.transpose(1, 0, 2).copy()
    ),
    "backwards": Operation(
        "[a][b][c] (x: [a][b][c]T): [c][b][a]T = copy (map transpose (transpose (map transpose x)))",
        lambda x: x.transpose(2, 1, 0).copy(),
    ),
    "first_last": Operation(
        "[a][b][c] (x: [a][b][c]T): [b][c][a]T = copy (map transpose (transpose x))",
        lambda x: x.transpose(1, 2, 0).copy(),
    ),
    "flip_middle": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][b][c]T = map (\\m -> copy (m[::-1])) x", lambda x: x[:, ::-1].copy()
    ),
    "flip_last": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][b][c]T = map (map (\\r -> copy (r[::-1]))) x", lambda x: x[:, :, ::-1].copy()
    ),
    "rolled": Operation("[a][b][c] (x: [a][b][c]T): [a][b][c]T = map (map (rotate 1)) x", lambda x: np.roll(x, -1, 2)),
    "steps_first": Operation(
        "[a][b][c] (x: [a][b][c]T): [][b][c]T = map2 (map2 (map2 (-))) (tail x) (init x)", lambda x: x[1:] - x[:-1]
    ),
    "steps_middle": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][][c]T = map (\\m -> map2 (map2 (-)) (tail m) (init m)) x",
        lambda x: x[:, 1:] - x[:, :-1],
    ),
    "padded": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][][]T = tabulate_3d a (b+2) (c+2) (\\i j k -> if j >= 1 && j <= b && k >= 1 &&"
        " k <= c then x[i,j-1,k-1] else 0)",
        lambda x: np.pad(x, ((0, 0), (1, 1), (1, 1))),
    ),
    "pooled": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][][]T = tabulate_3d a (b/2) (c/2) (\\i j k -> T.max (T.max x[i,2*j,2*k]"
        " x[i,2*j,2*k+1]) (T.max x[i,2*j+1,2*k] x[i,2*j+1,2*k+1]))",
        _pooled,
    ),
    "doubled": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][][]T = tabulate_3d a (2*b) (2*c) (\\i j k -> x[i,j/2,k/2])",
        lambda x: x.repeat(2, 1).repeat(2, 2),
    ),
    "twice_middle": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][][c]T = map (\\m -> m ++ m) x", lambda x: np.concatenate((x, x), 1)
    ),
    "twice_last": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][b][]T = map (map (\\r -> r ++ r)) x", lambda x: np.concatenate((x, x), 2)
    ),
    "norms": Operation(
        "[a][b][c] (x: [a][b][c]T): [a][b]T = map (map (\\r -> T.sqrt (T.sum (map (\\v -> v * v) r)))) x",
        lambda x: np.sqrt((x * x).sum(2)),
    ),
    "argmax_last": Operation(
        f"[a][b][c] (x: [a][b][c]T): [a][b]i64 = map (map (\\r -> (reduce {FIRST} (zip r (iota c))).1)) x",
        lambda x: x.argmax(2),
    ),
    "argmax_middle": Operation(
        f"[a][b][c] (x: [a][b][c]T): [a][c]i64 = map (\\m -> map (\\r -> (reduce {FIRST} (zip r (iota b))).1)"
        " (transpose m)) x",
        lambda x: x.argmax(1),
    ),
}
