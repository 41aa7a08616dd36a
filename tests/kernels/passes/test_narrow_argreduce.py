"""Places are counted in i32 where an operator does no more than compare and select them; cheap branches are selects.
`conformance/reduce/places` has the values on every version."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.ops import Op
from soac.ir.types import Prim
from soac.kernels.kernel_ir.nodes import BlockReduce, Kernel, KIf, KLet, KOp, KStm
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes import narrow_argreduce as places
from soac.kernels.passes.if_convert import if_convert
from soac.kernels.passes.narrow_argreduce import narrow_argreduce

ARGMAX = """
def larger (x: f32, i: i64) (y: f32, j: i64): (f32, i64) =
  if j < 0 then (x, i) else if i < 0 then (y, j)
  else if x > y || (x == y && i < j) then (x, i) else (y, j)

entry f [n] (xs: [n]f32) = reduce_comm larger (-f32.inf, -1) (zip xs (iota n))
"""


def kernels_of(text: str) -> list[Kernel]:
    return [narrow_argreduce(if_convert(kernel)) for kernel in soac.compile(text).compiled.host.kernels]


def reductions_of(text: str) -> list[BlockReduce]:
    return [stm for kernel in kernels_of(text) for stm in statements(kernel.body) if isinstance(stm, BlockReduce)]


def operations(stms: tuple[KStm, ...]) -> list[tuple[Op, Prim]]:
    return [(s.rhs.op, s.rhs.prim) for s in stms if isinstance(s, KLet) and isinstance(s.rhs, KOp)]


def test_an_element_is_taken_in_by_one_test_of_the_place() -> None:
    found = [stm for stm in reductions_of(ARGMAX) if stm.step is not None]
    (stm,) = found
    assert [out.prim for out in stm.outs] == [Prim.F32, Prim.I32]
    assert stm.step is not None
    integers = [op for op, prim in operations(stm.step.body) if prim is Prim.I32]
    assert sorted(op.value for op in integers) == ["lt", "select"]


@pytest.mark.parametrize(
    "operator",
    [
        "if x > y then (x, i + 1) else (y, j)",  # a place is computed with
        "if x > y then (x, i) else (y, if j < 7 then i else j)",  # a place is compared with one of the places
        "if x > y then (x, i) else (f32.i64 i, j)",  # a place is another thing too
        "if x > y then (x, 5) else (y, j)",  # a place of no element
    ],
)
def test_other_operators_stay(operator: str) -> None:
    text = f"entry f [n] (xs: [n]f32) = reduce_comm (\\(x, i) (y, j) -> {operator}) (0, -1) (zip xs (iota n))"
    assert all(out.prim is not Prim.I32 for stm in reductions_of(text) for out in stm.outs)


@pytest.mark.parametrize("neutral", ["0", "i64.highest"])
def test_a_neutral_place_that_an_element_may_have_is_not_counted(neutral: str) -> None:
    text = f"""entry f [n] (xs: [n]f32) =
      reduce_comm (\\(x, i) (y, j) -> if x > y then (x, i) else (y, j)) (-f32.inf, {neutral}) (zip xs (iota n))"""
    assert all(stm.step is None for stm in reductions_of(text))


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 300, 1000])
@pytest.mark.parametrize("rows", [1, 3])
def test_several_pieces(monkeypatch: pytest.MonkeyPatch, rows: int, size: int) -> None:
    monkeypatch.setattr(places, "PIECE", 64)
    text = ARGMAX.replace("entry f [n] (xs: [n]f32) =", "entry f [k][n] (xss: [k][n]f32) = unzip (map (\\xs ->")
    program = soac.compile(text + ") xss)")
    xss = np.random.default_rng(size).integers(0, 9, (rows, size)).astype(np.float32)
    for outer in (True, False):
        values, at = program.call("f", [xss], forced={"f.ys.suff_outer_0": outer})
        assert np.array_equal(at, xss.argmax(1) if size else np.full(rows, -1))
        assert np.array_equal(values, xss.max(1) if size else np.full(rows, -np.inf, np.float32))


def test_cheap_branches_are_selects() -> None:
    text = "entry f [n] (xs: [n]i32) = map (\\x -> if x < 3 then (if x > 0 then x * 5 else 1) + x else x - 1) xs"
    (kernel,) = kernels_of(text)
    assert not any(isinstance(stm, KIf) for stm in statements(kernel.body))
    assert soac.compile(text).f(np.arange(-2, 6, dtype=np.int32)).tolist() == [-1, 0, 1, 6, 12, 2, 3, 4]


def test_branches_that_divide_stay() -> None:
    text = "entry f [n] (xs: [n]i32) = map (\\x -> if x == 0 then 7 else 12 / x) xs"
    (kernel,) = kernels_of(text)
    assert any(isinstance(stm, KIf) for stm in statements(kernel.body))
    assert soac.compile(text).f(np.array([0, 3, -5], np.int32)).tolist() == [7, 4, -3]
