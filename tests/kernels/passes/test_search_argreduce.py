"""The place of an extremum of integers: the first or the last of the greatest or least, whatever the order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import soac
from soac.kernels.kernel_ir.nodes import BlockReduce
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.if_convert import if_convert
from soac.kernels.passes.narrow_argreduce import narrow_argreduce
from soac.kernels.passes.search_argreduce import LEAST_PIECES, PIECE_BYTES

PROGRAM = """
def choose [n] (takes: T -> T -> bool) (none: T) (x: [n]T): (T, i64) =
  reduce (\\(a, i) (b, j) -> if takes a b then (b, j) else (a, i)) (none, -1) (zip x (iota n))
entry first_max [n] (x: [n]T) = choose (\\a b -> !(a >= b)) T.lowest x
entry last_max [n] (x: [n]T) = choose (\\a b -> a <= b) T.lowest x
entry first_min [n] (x: [n]T) = choose (\\a b -> b < a) T.highest x
entry last_min [n] (x: [n]T) = choose (\\a b -> b <= a) T.highest x
entry above [n] (x: [n]T) = choose (\\a b -> a < b) 9 x
entry larger [n] (x: [n]T) =
  reduce_comm (\\(x, i) (y, j) -> if j < 0 then (x, i) else if i < 0 then (y, j)
                                  else if x > y || (x == y && i < j) then (x, i) else (y, j))
              (T.lowest, -1) (zip (map (^ 3) x) (iota n))
"""
"""`T` is a type of elements."""
ENTRIES = ["first_max", "last_max", "first_min", "last_min", "above", "larger"]
Array = NDArray[Any]


def wanted(entry: str, x: Array) -> tuple[int, int]:
    """Operand by operand, as the programs say."""
    info = np.iinfo(x.dtype)
    best, place = {"above": 9}.get(entry, info.max if "min" in entry else info.min), -1
    for j, b in enumerate(map(int, x ^ 3 if entry == "larger" else x)):
        match entry:
            case "last_max":
                takes = b >= best
            case "first_min":
                takes = b < best
            case "last_min":
                takes = b <= best
            case "larger":
                takes = place < 0 or b > best
            case _:
                takes = b > best
        if takes:
            best, place = b, j
    return best, place


@pytest.mark.parametrize("prim", ["u8", "i8", "i16", "i32", "i64"])
def test_values(prim: str) -> None:
    """Elements that ascend, descend, are equal or at a bound of the type; few, some pieces, one more than these."""
    program = soac.compile(PROGRAM.replace("T", prim))
    dtype = np.dtype(prim[0] + str(int(prim[1:]) // 8))
    size, info = PIECE_BYTES // dtype.itemsize, np.iinfo(dtype)
    source = np.random.default_rng(3)
    for n in (0, 1, 70, LEAST_PIECES * size - 1, LEAST_PIECES * size, LEAST_PIECES * size + size + 1):
        some = source.integers(0, 50, n).astype(dtype)
        bounds = (np.full(n, bound, dtype) for bound in (info.min, info.max))
        for x in (some, np.sort(some), np.sort(some)[::-1].copy(), some % 3, *bounds):
            for entry in ENTRIES:
                assert tuple(map(int, program.prepare(entry, threads=1)([x]))) == wanted(entry, x), (entry, n)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("prim", ["i32", "f32"])
def test_integers_are_searched(entry: str, prim: str) -> None:
    """Three reductions of the elements: without the place, of the place, and both where they are few."""
    text = PROGRAM.replace("(^ 3)", "(+ 0)").replace("T", prim)
    kernels = [k for k in soac.compile(text).compiled.host.kernels if k.name.startswith(f"{entry}_")]
    first = narrow_argreduce(if_convert(kernels[0]))
    found = [stm for stm in statements(first.body) if isinstance(stm, BlockReduce)]
    assert len(found) == (3 if prim == "i32" else 1)


@pytest.mark.parametrize(
    "choice",
    [
        "if a < b || a <= 5 then (b, j) else (a, i)",
        "if i >= 0 && a < b || i < 0 && b > 5 then (b, j) else (a, i)",
        "(if a < b || i < 0 then b else a, if a < b then j else i)",
    ],
)
def test_what_depends_on_more_than_the_order_is_not_searched(choice: str) -> None:
    """Also where that is the first element alone."""
    text = f"entry f [n] (x: [n]i32) = reduce_comm (\\(a, i) (b, j) -> {choice}) (-1, -1) (zip x (iota n))"
    first = narrow_argreduce(if_convert(soac.compile(text).compiled.host.kernels[0]))
    assert sum(isinstance(stm, BlockReduce) for stm in statements(first.body)) == 1
