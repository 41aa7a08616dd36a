"""The one contraction: a product that feeds a float `+` reduction is added unrounded."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.ops import Op
from soac.ir.types import Prim
from soac.kernels.kernel_ir.fma import contracted, contracted_step
from soac.kernels.kernel_ir.nodes import KLambda, KLet, KOp, KVar

A, B, X, Y, SUM, PRODUCT = (KVar(name, Prim.F32) for name in ("a", "b", "x", "y", "sum", "product"))


def let(var: KVar, op: Op, *args: KVar) -> KLet:
    return KLet(var, KOp(op, var.prim, args))


@pytest.mark.parametrize("args", [(X, PRODUCT), (PRODUCT, X)])
def test_a_sum_of_a_product_is_one_operation(args: tuple[KVar, KVar]) -> None:
    stms = [let(PRODUCT, Op.MUL, A, B), let(SUM, Op.ADD, *args)]
    assert contracted(stms, [SUM], [PRODUCT]) == [stms[0], let(SUM, Op.FMA, A, B, X)]


def test_only_what_the_reduction_takes_in_and_gives_is_contracted() -> None:
    stms = [let(PRODUCT, Op.MUL, A, B), let(SUM, Op.ADD, X, PRODUCT)]
    assert contracted(stms, [Y], [PRODUCT]) == stms
    assert contracted(stms, [SUM], [Y]) == stms


@pytest.mark.parametrize("prim", [Prim.I32, Prim.F16])
def test_integers_and_halves_stay(prim: Prim) -> None:
    product, total, x = (KVar(name, prim) for name in ("product", "sum", "x"))
    stms = [let(product, Op.MUL, x, x), let(total, Op.ADD, x, product)]
    assert contracted(stms, [total], [product]) == stms


def test_halves_are_contracted_where_the_machine_can() -> None:
    product, total, x = (KVar(name, Prim.F16) for name in ("product", "sum", "x"))
    stms = [let(product, Op.MUL, x, x), let(total, Op.ADD, x, product)]
    assert contracted(stms, [total], [product], halves=True) == [stms[0], let(total, Op.FMA, x, x, x)]


def test_the_step_takes_the_operands_of_the_product() -> None:
    op = KLambda((X,), (Y,), (let(SUM, Op.ADD, X, Y),), (SUM,))
    step = contracted_step(op, [let(PRODUCT, Op.MUL, A, B)], (PRODUCT,))
    assert step.body == (let(SUM, Op.FMA, A, B, X),)


DOTS = """
entry one [n] (xs: [n]f32) (ys: [n]f32): f32 = reduce (+) 0 (map2 (*) xs ys)
entry rows [n][m] (xss: [n][m]f32) (yss: [n][m]f32): [n]f32 = map2 (\\xs ys -> f32.sum (map2 (*) xs ys)) xss yss
entry matrix [n][m][p] (xss: [n][p]f32) (yss: [p][m]f32): [n][m]f32 =
  map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss
"""


def vectors(run: int) -> tuple[np.ndarray, np.ndarray]:
    """x² = 1 + 2⁻¹¹ + 2⁻²⁴ rounds to 1 + 2⁻¹¹, of which each of `run` accumulators takes in the opposite first."""
    x, rounded = np.float32(1 + 2**-12), np.float32(1 + 2**-11)
    first, second = np.array([-rounded, x], np.float32), np.array([1, x], np.float32)
    return np.repeat(first, run), np.repeat(second, run)


def test_collective_reductions_add_products_unrounded() -> None:
    program, (xs, ys) = soac.compile(DOTS), vectors(64)
    assert program.one(xs, ys) == np.float32(2**-18)
    for outer in (True, False):
        rows = program.call("rows", [xs[None], ys[None]], forced={"rows.ys.suff_outer_0": outer})[0]
        np.testing.assert_array_equal(rows, [np.float32(2**-18)])


def test_loops_of_a_thread_add_products_unrounded() -> None:
    program, (xs, ys) = soac.compile(DOTS), vectors(1)
    forced = {"matrix.ys.suff_outer_0": True}
    for rows in (1, 9):
        found = program.call("matrix", [np.tile(xs, (rows, 1)), np.tile(ys[:, None], 70)], forced=forced)[0]
        assert np.all(found == np.float32(2**-24))
