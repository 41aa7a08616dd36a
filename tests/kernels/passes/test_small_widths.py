"""Nests over small constant widths, interleaved channels and indices that wrap around: the values of the interpreter at
sizes around those that the passes look at, on every version, by one thread and by two."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.interpret import interpret
from soac.versions import runs_of

CLAMP = "def at (n: i64) (i: i64): i64 = i64.max 0 (i64.min (n - 1) i)\n"

LINES = {
    "window": "tabulate n (\\i -> T.sum (tabulate 5 (\\k -> a[at n (i + k - 2)] * T.i64 k)))",
    "window_by_iota": "map (\\i -> T.maximum (map (\\k -> a[at n (i - k)]) (iota 3))) (iota n)",
    "window_by_loop": "map (\\i -> loop s = 0 for k < 4 do s * 2 + a[at n (i + k)]) (iota n)",
    "wide_window": "tabulate n (\\i -> T.sum (map (\\k -> if i + k < n then a[i + k] else 1) (iota 9)))",
    "local_arrays": "map (\\x -> let v = [x, x + 1, x * x] in T.sum (map2 (*) v (reverse v))) a",
    "updates": "map (\\x -> let v = replicate 3 x with [1] = x + x in T.sum (scan (+) 0 v)) a",
    "small_arrays": "map (\\x -> let m = [[x, 2], [3, x]] in T.sum (flatten (transpose m) ++ m[0])) a",
    "wraps": "tabulate n (\\i -> a[(i + n - 1) % n] - a[(i + 1) % n])",
    "wraps_far": "tabulate n (\\i -> a[(i - 37) % n] - a[(i + 50) % n] + a[(3 - i) % n])",
    "rotates": "map2 (-) (rotate 1 a) (rotate (-2) a)",
    "again_and_again": "tabulate (3 * n + 1) (\\i -> if n == 0 then 7 else a[i % n] + T.i64 (i / n))",
    "truncated": "tabulate n (\\i -> a[(i + 2) %% n] + T.i64 ((i - 40) // i64.max 1 n))",
    "pairs_apart": "tabulate n (\\i -> let s = 1i64 << 5 in if i / s % 2 == 0 then a[i] else a[i - s])",
    "every_other": "tabulate (n / 2) (\\i -> a[2 * i] - a[2 * i + 1])",
    "backwards": "tabulate (n / 3) (\\i -> a[n - 1 - 3 * i])",
}  # fmt: skip

GRIDS = {
    "window": "tabulate_2d h w (\\i j -> T.sum (tabulate 3 (\\x -> T.sum (tabulate 3 (\\y ->"
    "a[at h (i + x - 1), at w (j + y - 1)])))))",
    "torus": "tabulate_2d h w (\\i j -> a[(i + 1) % h, j] - a[i, (j + w - 1) % w])",
    "rotated_rows": "map2 (map2 (-)) (map (rotate 1) a) (rotate (-1) (map (rotate (-2)) a))",
    "flattened": "tabulate (h * w) (\\k -> a[k / w, k % w] + T.i64 (k % w))",
    "unflattened": "map (map (+ 1)) (unflatten (reverse (flatten a)))",
    "largest": "tabulate_2d h w (\\i j -> T.maximum (flatten (tabulate_2d 5 5 (\\x y ->"
    "if i + x < h && j + y < w then a[i + x, j + y] else 0))))",
}

POINTS = {
    "sums": "map T.sum a",
    "turned": "map (\\p -> map (\\r -> T.sum (map2 (*) r p)) (replicate C p)) a",
    "scaled": "map (\\p -> let s = T.sum p in map (+ s) p) a",
    "in_other_order": "map reverse a",
    "one_of_them": "map (\\p -> p[C - 1]) a",
    "with_neighbours": "tabulate n (\\i -> a[i, 0] - a[i64.max 0 (i - 1), C - 1])",
    "prefixes": "map (scan (+) 0) a",
}


def check(head: str, bodies: dict[str, str], type_: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    """All bodies as entries of one program."""
    entries = [f"entry {name} {head} = {body}" for name, body in bodies.items()]
    program = soac.compile("\n".join((CLAMP, *entries)).replace("T", type_))
    for name in bodies:
        for shape in shapes:
            if name == "wraps_far" and shape[0] == 0:
                continue
            args = [values(type_, *shape)]
            expected, _ = interpret(program.compiled.core, name, args)
            for forced in runs_of(program.compiled.flat, name):
                for threads in (1, 2):
                    results, _ = program.trace(name, args, {}, forced, threads)
                    for got, wanted in zip(results, expected, strict=True):
                        assert np.allclose(got, wanted, 1e-4, 1e-4), f"{name} {shape}"
                        assert np.shape(got) == np.shape(wanted)


def values(type_: str, *shape: int) -> np.ndarray:
    prim = {"i": "int", "u": "uint", "f": "float"}[type_[0]] + type_[1:]
    return (np.arange(np.prod(shape)) * 7 % 11).astype(prim).reshape(shape)


@pytest.mark.parametrize("type_", ("i8", "u16", "f32", "f64"))
def test_lines(type_: str) -> None:
    check("[n] (a: [n]T)", LINES, type_, tuple((n,) for n in (0, 1, 2, 3, 31, 32, 33, 34, 100)))


@pytest.mark.parametrize("type_", ("u8", "i32", "f64"))
def test_grids(type_: str) -> None:
    check("[h][w] (a: [h][w]T)", GRIDS, type_, ((0, 3), (3, 0), (1, 1), (2, 1), (1, 40), (3, 35), (5, 2), (2, 64)))


@pytest.mark.parametrize("channels", (1, 2, 3, 5, 9))
@pytest.mark.parametrize("type_", ("u8", "f32", "f64"))
def test_points(type_: str, channels: int) -> None:
    bodies = {name: body.replace("C", str(channels)) for name, body in POINTS.items()}
    check(f"[n] (a: [n][{channels}]T)", bodies, type_, tuple((n, channels) for n in (0, 1, 15, 16, 17, 65, 150)))
