"""Copies of arrays that are read along other dimensions than written: tiles, what reaches back over them, threads,
results written past the caches; against NumPy."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import soac
from soac.kernels.host_ir.copy_sizes import FAR_BYTES

TYPES = {"i8": np.int8, "bool": np.bool_, "u16": np.uint16, "f16": np.float16, "f32": np.float32, "i64": np.int64}
PERMS = {"".join(map(str, perm)): perm for perm in permutations(range(3))}


@pytest.fixture(scope="module")
def programs() -> dict[str, soac.Program]:
    """Transposition, and every order of three dimensions, of each type."""
    return {type_: soac.compile(source(type_), "planes.soac") for type_ in TYPES}


def source(type_: str) -> str:
    lines = [f"entry turned [n][m] (xss: [n][m]{type_}): [m][n]{type_} = copy (transpose xss)"]
    for name, perm in PERMS.items():
        sizes = "".join(f"[{'abc'[d]}]" for d in perm)
        body = f"copy (rearrange ({', '.join(map(str, perm))}) xs)"
        lines.append(f"entry order{name} [a][b][c] (xs: [a][b][c]{type_}): {sizes}{type_} = {body}")
    return "\n".join(lines)


def values(type_: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(0, 100, shape).astype(TYPES[type_])


@pytest.mark.parametrize("type_", TYPES)
def test_sides_around_a_tile(programs: dict[str, soac.Program], type_: str) -> None:
    """Shorter than a tile, one tile, and several of which the last reaches back."""
    side = 64 // np.dtype(TYPES[type_]).itemsize
    lengths = (1, 3, side - 1, side, side + 1, 2 * side, 3 * side - 1, 5 * side + 3)
    for n in lengths:
        for m in lengths:
            xss = values(type_, n, m)
            assert np.array_equal(programs[type_].turned(xss), xss.T)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", PERMS)
def test_orders_of_three_dimensions(programs: dict[str, soac.Program], type_: str, name: str) -> None:
    for shape in ((2, 70, 66), (67, 3, 65), (66, 130, 2), (9, 10, 11), (64, 64, 64)):
        xs = values(type_, *shape)
        assert np.array_equal(programs[type_].call(f"order{name}", [xs])[0], xs.transpose(PERMS[name]))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("type_", ["i8", "f32", "i64"])
def test_large_planes_on_threads(programs: dict[str, soac.Program], type_: str, threads: int) -> None:
    """Results that are shared out in rows, some parts of which are shorter than a tile."""
    for n, m in ((1100, 1003), (40_000, 70), (70, 40_000)):
        xss = values(type_, n, m)
        assert np.array_equal(programs[type_].call("turned", [xss], threads=threads)[0], xss.T)


@pytest.mark.parametrize("m", [4096, 4100])
def test_results_past_the_caches(programs: dict[str, soac.Program], m: int) -> None:
    """With lines that begin where lines of the cache do, and with others."""
    n = FAR_BYTES // 2 // m + 64
    xss = np.arange(n * m, dtype=np.uint16).reshape(n, m)
    for threads in (1, 2):
        assert np.array_equal(programs["u16"].call("turned", [xss], threads=threads)[0], xss.T)


BACKWARDS = """
entry right [h][w] (a: [h][w]u8): [w][h]u8 = tabulate_2d w h (\\i j -> a[h - 1 - j, i])
entry left [h][w] (a: [h][w]u8): [w][h]u8 = copy ((transpose a)[::-1])
entry flip [h][w] (a: [h][w]u8): [h][w]u8 = tabulate_2d h w (\\i j -> a[i, w - j - 1])
entry half [h][w] (a: [h][w]u8): [h][w]u8 = copy (map (\\r -> r[::-1]) a[::-1])
entry both [h][w] (a: *[h][w]u8): ([w][h]u8, [h][w]u8) =
  let turned = tabulate_2d w h (\\i j -> a[h - 1 - j, i])
  in (turned, a with [0, 0] = 77)
"""


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (64, 64), (70, 129)])
def test_rows_and_columns_backwards(shape: tuple[int, int]) -> None:
    """Also where what is turned is overwritten afterwards."""
    program, a = soac.compile(BACKWARDS), np.random.default_rng(0).integers(0, 99, shape).astype(np.uint8)
    for name, wanted in (("right", a[::-1].T), ("left", a.T[::-1]), ("flip", a[:, ::-1]), ("half", a[::-1, ::-1])):
        assert np.array_equal(getattr(program, name)(a), wanted), name
    turned, changed = program.both(a.copy())
    assert np.array_equal(turned, a[::-1].T)
    assert changed[0, 0] == 77


def test_reading_by_columns_or_backwards_is_a_view() -> None:
    text = "entry f [h][w] (a: [h][w]u8): [w][h]u8 = tabulate_2d w h (\\i j -> a[h - 1 - j, i])"
    assert not soac.compile(text).compiled.host.kernels
