"""The adjoint of a matrix product is two matrix products: nothing of the size of all products is made."""

from __future__ import annotations

import pytest

from soac.flatten.simplify.driver import simplify
from soac.frontend.accumulators.lower import lower_accumulators
from soac.frontend.compile import compile_text
from soac.ir.core import Hist, Loop, PrimOp, Screma
from soac.ir.ops import Op
from soac.ir.traverse import all_exps, types_in
from soac.ir.types import Var

PRODUCTS = {
    "rows": r"\(a, b) -> map (\r -> map (\c -> f64.sum (map2 (*) r c)) b) a",
    "transposed": r"\(a, b) -> map (\r -> map (\c -> 2 * f64.sum (map2 (*) r c)) (transpose b)) a",
}


@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_no_array_of_three_dimensions(product: str) -> None:
    text = f"entry f [n] (a: [n][n]f64) (b: [n][n]f64) (y: [n][n]f64) = vjp ({product}) (a, b) y"
    assert max(t.rank for t in types_in(simplify(compile_text(text, "t.soac"))).values()) == 2


def test_no_adjoint_for_each_row() -> None:
    """Rows that read a free array a varying number of times add to one adjoint."""
    row = r"(\o len -> loop s = 0 for j < len do s + xs[is[o + j]])"
    text = f"""
entry f [n] [k] [l] (xs: [k]f64) (is: [l]i64) (offs: [n]i64) (lens: [n]i64) (y: [n]f64) =
  vjp (\\xs -> map2 {row} offs lens) xs y"""
    prog = lower_accumulators(compile_text(text, "t.soac"))
    n, k, *_ = [Var(p.name) for p in prog.functions[0].params]
    shapes = [set(t.shape) for t in types_in(prog).values()]
    assert {k} in shapes
    assert not any({n, k} <= shape for shape in shapes)


def test_reads_at_the_own_row_are_inputs() -> None:
    """What `tabulate` reads at its number has an adjoint that a map gives: no histogram."""
    text = r"""
entry f [k] [n] (xs: [k][2][n]f64) (y: [k][n]f64) =
  vjp (\xs -> tabulate_2d k n (\i j -> xs[i, 0, j] * xs[i, 1, j] + xs[i, 1, j])) xs y"""
    prog = lower_accumulators(compile_text(text, "t.soac"))
    assert not any(isinstance(exp, Hist) for fun in prog.functions for exp in all_exps(fun.body))


def test_of_a_minimum_one_row_is_run_backward() -> None:
    """Of each row one map is left, that of the distances; what is differentiated is one of them."""
    text = r"""
entry f [n] [k] (xs: [n]f64) (cs: [k]f64) =
  vjp (\cs -> f64.sum (map (\x -> f64.minimum (map (\c -> f64.exp (x - c)) cs)) xs)) cs 1"""
    prog = simplify(lower_accumulators(compile_text(text, "t.soac")))
    (nest,) = [exp.map.body for stm in prog.functions[0].body.stms if isinstance(exp := stm.exp, Screma)]
    assert len([stm for stm in nest.stms if isinstance(stm.exp, Screma) and not stm.exp.reds]) == 1


def test_loops_keep_what_they_overwrite() -> None:
    """Of an array that a loop updates in place it keeps elements, not the array of each iteration."""
    text = r"""
entry f [n] (xs: [n]f64) (y: [n]f64) =
  vjp (\xs -> loop ys = copy xs for i < n - 1 do ys with [i + 1] = f64.sin ys[i] * ys[i + 1]) xs y"""
    prog = simplify(compile_text(text, "t.soac"))
    assert max(t.rank for t in types_in(prog).values()) == 1


RECURRENCE = r"""
entry f [n] (xs: [n]f64) (y: [n]f64) =
  vjp (\xs -> loop ys = copy xs for i in 1..<n do ys with [i] = xs[i] / (1 + f64.sin ys[i - 1])) xs y"""


def test_of_a_recurrence_nothing_is_kept() -> None:
    """What an iteration reads stands in the array after the loop, and what it writes: only the factors are computed."""
    loops = [exp for fun in simplify(compile_text(RECURRENCE, "t.soac")).functions for exp in all_exps(fun.body)]
    forward, backward = (exp for exp in loops if isinstance(exp, Loop))
    assert len(forward.params) == 1
    assert len(backward.params) == 2
    made = [stm.exp.op for stm in backward.body.stms if isinstance(stm.exp, PrimOp)]
    assert made.count(Op.DIV) == 1


def test_loops_of_rows_are_run_once() -> None:
    """The adjoints that rows give for several arrays come from one sweep over the rows."""
    text = r"""
entry f [n][m] (xss: [n][m]f64) (a: [m]f64) (b: [m]f64) (y: [n][m]f64) =
  let row a b xs = (loop (p, q) = (copy a, copy b) for i < m - 1 do
                      let (x, y) = (q[i] * xs[i], f64.sin p[i]) in (p with [i + 1] = x, q with [i + 1] = y)).0
  in vjp (\(a, b) -> map (row a b) xss) (a, b) y"""
    prog = simplify(lower_accumulators(compile_text(text, "t.soac")))
    assert len([exp for fun in prog.functions for exp in all_exps(fun.body) if isinstance(exp, Loop)]) == 2


def test_what_rows_add_once_is_not_padded() -> None:
    """Beside adjoints that rows add to a varying number of times: rows of one that they add to once."""
    text = r"""
entry f [n] [k] [m] (xs: [k]f64) (rows: [k][m]f64) (is: [n]i64) (lens: [n]i64) (y: [n]f64) =
  vjp (\(xs, rows) -> map2 (\i len -> f64.sum rows[i] * loop s = 0 for j < len do s + xs[i + j]) is lens)
      (xs, rows) y"""
    prog = lower_accumulators(compile_text(text, "t.soac"))
    m = next(p.type.shape[1] for p in prog.functions[0].params if p.type.rank == 2)
    assert max(t.rank for t in types_in(prog).values() if m in t.shape) == 2


def test_branches_compute_functions_once() -> None:
    """What a side computes by expensive operations goes out of the branch."""
    text = r"""
entry f (x: f64) =
  let g x = if x > 0 then let s = f64.sin x in (s * x, f64.sqrt s) else (x, 2 * x)
  in vjp (\x -> let (a, b) = g x in f64.exp (a * b)) x 1"""
    prog = simplify(compile_text(text, "t.soac"))
    made = [exp.op for fun in prog.functions for exp in all_exps(fun.body) if isinstance(exp, PrimOp)]
    assert (made.count(Op.SIN), made.count(Op.SQRT)) == (1, 1)
