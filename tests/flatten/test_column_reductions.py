"""Sums and the like of planes that do not lie together: of the columns of each first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import soac
from soac.flatten.column_reductions import column_reductions
from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.core import Prog, Reshape
from soac.ir.interpret import interpret
from soac.ir.traverse import all_stms

PROGRAM = """
entry sums [a][b][c] (x: [a][b][c]f32): [b]f32 = map (\\m -> f32.sum (flatten m)) (transpose x)
entry means [a][b][c] (x: [a][b][c]f32) (k: f32): [b]f32 =
  map (\\m -> f32.sum (map (\\v -> v * v + k) (flatten m)) / f32.i64 (a * c) + m[a - 1, 0]) (transpose x)
entry most [a][b][c] (x: [a][b][c]i8): [b](i8, i32) =
  map (\\m -> (i8.maximum (flatten m), i32.sum (map i32.i8 (flatten m)))) (transpose x)
entry products [a][b][c] (x: [a][b][c]i32) (y: [a][b][c]i32): [b]i32 =
  map2 (\\m k -> i32.sum (map2 (*) (flatten m) (flatten k))) (transpose x) (transpose y)
entry greatest [a][b][c] (x: [a][b][c]i32): (i32, [b]i32) =
  let ys = map (\\m -> i32.maximum (flatten m)) (transpose x) in (i32.sum ys, scan (+) 0 ys)
entry less [a][b][c] (x: [a][b][c]i32): [b]i32 =
  map (\\m -> let k = m[0, 0] in i32.sum (map (\\v -> v - k) (flatten m))) (transpose x)
entry ordered [a][b][c] (x: [a][b][c]i32): [b]i32 =
  map (\\m -> reduce (\\v w -> if v == 0 then w else v) 0 (flatten m)) (transpose x)
entry one_ordered [a][b][c] (x: [a][b][c]i32): [b](i32, i32) =
  map (\\m -> (i32.sum (flatten m), reduce (\\v w -> if v == 0 then w else v) 0 (flatten m))) (transpose x)
entry crossed [a][b][c] (x: [a][b][c]i32) (y: [c][b][a]i32): [b]i32 =
  map2 (\\m k -> i32.sum (map2 (*) (flatten m :> [a*c]i32) (flatten k :> [a*c]i32))) (transpose x) (transpose y)
entry kept [a][b][c] (x: [a][b][c]i32): ([b]i32, [b][]i32) =
  unzip (map (\\m -> let ys = map (* 2) (flatten m) in (i32.sum ys, ys)) (transpose x))
entry together [a][b][c] (x: [a][b][c]f32): [a]f32 = map (\\m -> f32.sum (flatten m)) x
"""
SPLIT = ("sums", "means", "most", "products", "greatest")
ENTRIES = (*SPLIT, "less", "ordered", "one_ordered", "crossed", "kept", "together")
SIZES = [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1), (40, 3, 5), (300, 20, 4), (5, 9, 700), (30, 30, 30)]
Array = NDArray[Any]


def wanted(entry: str, x: Array) -> tuple[Array, ...]:
    a, b, c = x.shape
    rows = x.transpose(1, 0, 2).reshape(b, a * c)
    match entry:
        case "sums":
            return (rows.sum(1),)
        case "means":
            return ((rows * rows + 1).sum(1) / x.dtype.type(a * c) + x[a - 1, :, 0],)
        case "most":
            return np.max(rows, 1, initial=np.int8(-128)), rows.sum(1, dtype=np.int32)
        case "products":
            return ((rows * rows[::-1]).sum(1, dtype=np.int32),)
        case "greatest":
            most = np.max(rows, 1, initial=np.iinfo(np.int32).min)
            return most.sum(dtype=np.int32, keepdims=True), np.cumsum(most, dtype=np.int32)
        case "less":
            return ((rows - x[0, :, :1]).sum(1, dtype=np.int32),)
        case "crossed":
            return ((rows * x.transpose(1, 2, 0).reshape(b, a * c)[::-1]).sum(1, dtype=np.int32),)
        case "kept":
            return 2 * rows.sum(1, dtype=np.int32), 2 * rows
        case "one_ordered":
            return rows.sum(1, dtype=np.int32), *wanted("ordered", x)
        case "ordered":
            return (np.array([next((v for v in row if v), 0) for row in rows], np.int32),)
        case _:
            return (x.sum((1, 2)),)


def arguments(entry: str, shape: tuple[int, int, int]) -> list[Any]:
    dtype = {"most": np.int8, "sums": np.float32, "means": np.float32, "together": np.float32}.get(entry, np.int32)
    x = np.random.default_rng(sum(shape)).integers(0, 5, shape).astype(dtype)
    turned = x[:, ::-1]
    more = {"means": [np.float32(1)], "products": [turned.copy()], "crossed": [turned.T.copy()]}
    return [x, *more.get(entry, [])]


@pytest.mark.parametrize("entry", ENTRIES)
def test_values(entry: str) -> None:
    program = soac.compile(PROGRAM)
    for a, b, c in SIZES:
        if entry in ("means", "less") and not a * c:
            continue
        args = arguments(entry, (a, b, c))
        found = program.prepare(entry, threads=1)(args)
        for one, expected in zip(found, wanted(entry, args[0]), strict=True):
            assert np.allclose(one, expected, rtol=1e-6), (a, b, c)


@pytest.fixture(scope="module")
def before() -> Prog:
    return simplify(fuse(simplify(inline(compile_text(PROGRAM, "planes.soac")))))


def test_planes_are_not_made_flat(before: Prog) -> None:
    """Where they do not lie together, and the order does not matter."""
    bodies = {f.entry.name: f.body for f in column_reductions(before).functions if f.entry is not None}
    flat = {name for name, body in bodies.items() if any(isinstance(s.exp, Reshape) for s in all_stms(body))}
    assert flat == set(ENTRIES) - set(SPLIT)


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_pass_alone_keeps_values(before: Prog, entry: str) -> None:
    split = column_reductions(before)
    for shape in ((2, 3, 5), (3, 1, 2), (1, 2, 0)):
        args = arguments(entry, shape)
        if shape[2] or entry not in ("means", "less"):
            (found, _), (expected, _) = interpret(split, entry, args), interpret(before, entry, args)
            assert all(map(np.array_equal, found, expected)), shape
