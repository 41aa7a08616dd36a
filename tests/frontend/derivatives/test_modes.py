"""Reverse mode against forward mode, and that against finite differences, construct by construct."""

from __future__ import annotations

import numpy as np
import pytest

from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Prog
from soac.ir.interpret import interpret

N = 5
FUNCTIONS = {
    "arithmetic": r"\(x: [5]f64) -> map (\a -> (a + 2) * a / (a * a + 1) - a ** 3) x",
    "elementary": r"\(x: [5]f64) -> map (\a -> f64.exp (f64.sin a) + f64.log (f64.abs a + 1) + f64.sqrt (a * a + 1)) x",
    "special": r"\(x: [5]f64) -> map (\a -> f64.lgamma (a + 3) + f64.gamma (a + 2) + f64.erf a + f64.atan2 a 2) x",
    "hyperbolic": r"\(x: [5]f64) -> map (\a -> f64.tanh a + f64.asinh a + f64.hypot a 3 + f64.fma a a a) x",
    "select": r"\(x: [5]f64) -> map (\a -> if a > 0 then a * a else f64.min (3 * a) (a * a * a)) x",
    "sum": r"\(x: [5]f64) -> f64.sum (map (\a -> a * a) x)",
    "product": r"\(x: [5]f64) -> f64.product x",
    "product_one_zero": r"\(x: [5]f64) -> f64.product (map2 (\i a -> if i == 2 then 0 * a else a) (iota 5) x)",
    "extremes": r"\(x: [5]f64) -> (f64.maximum x, f64.minimum (map (\a -> a * a) x))",
    "extreme_of_parts": r"\(x: [5]f64) -> loop s = 1 for _i < 3i64 do s * (x[1] + x[4]) + f64.maximum x",
    "reduce_general": r"\(x: [5]f64) -> reduce (\a b -> a + b + a * b) 0 x",
    "reduce_pair": r"\(x: [5]f64) -> reduce (\(a, b) (c, d) -> (a * c, a * d + b)) (1, 0) (zip x (reverse x))",
    "reduce_free": r"\(x: [5]f64) -> let c = x[0] in reduce (\a b -> a + b + c * a * b) 0 x",
    "reduce_vector": r"\(x: [5]f64) -> reduce (map2 (*)) (replicate 5 1) (map (\a -> map (+ a) x) x)",
    "reduce_matrix": r"\(x: [5]f64) -> reduce (\a b -> map (\r -> map (\c -> f64.sum (map2 (*) r c)) (transpose b)) a)"
    r" [[1, 0], [0, 1]] (map (\a -> [[a, 1], [a * a, 2]]) x)",
    "scan_sum": r"\(x: [5]f64) -> scan (+) 0 (map (\a -> a * a) x)",
    "scan_product": r"\(x: [5]f64) -> scan (*) 1 x",
    "scan_linear": r"\(x: [5]f64) -> scan (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (zip x x) |> map (.1)",
    "scan_free": r"\(x: [5]f64) -> let c = x[1] in scan (\a b -> a + b + c * a * b) 0 x",
    "scan_vector": r"\(x: [5]f64) -> scan (map2 (*)) (replicate 2 1) (map (\a -> [a, a + 1]) x)",
    "scan_of_arrays": r"\(x: [5]f64) -> scan (\a b -> [a[0] * b[0], a[1] * b[0] + b[1]]) [1, 0]"
    r" (map (\a -> [a, 2 * a]) x)",
    "gather": r"\(x: [5]f64) -> map (\i -> x[i] * x[(i + 1) % 5]) [0, 3, 3, 1]",
    "gather_slices": r"\(x: [5]f64) -> map (\i -> f64.sum (x[i : i + 2])) [0, 3, 3, 1]",
    "gather_in_loop": r"\(x: [5]f64) -> map (\i -> loop a = 1 for j < 3 do a * x[(i + j) % 5]) (iota 5)",
    "gather_in_branch": r"\(x: [5]f64) -> map (\i -> if i > 1 then x[i - 1] * x[i] else x[0]) (iota 5)",
    "gather_rows": r"\(x: [5]f64) -> let m = map (\a -> map (* a) x) x in map (\i -> f64.sum m[i] * m[i, 1]) [0, 3, 3]",
    "irregular": r"\(x: [5]f64) -> map (\n -> f64.sum (map (\i -> x[i] * x[n]) (iota n))) (iota 5)",
    "matrix_product": r"\(x: [5]f64) -> let m = map (\a -> map (* a) x) x in"
    r" map (\r -> map (\c -> f64.sum (map2 (*) r c)) (transpose m)) m",
    "free_of_nest": r"\(x: [5]f64) -> map (\a -> map (\b -> a * b * x[2]) x |> f64.sum) x",
    "flatmap": r"\(x: [5]f64) -> let (_, _, _, a, b) = flatmap (\v -> (replicate (1 + i64.f64 (v * v)) (v * v), v)) x"
    r" in map (* f64.sum (map (\v -> v * v) a)) b",
    "square_in_nest": r"\(x: [5]f64) -> map (\a -> a * f64.sum (map2 (*) x x)) x",
    "hist_sum": r"\(x: [5]f64) -> reduce_by_index (replicate 3 1) (+) 0 [0, 2, 0, 7, 1] x",
    "hist_product": r"\(x: [5]f64) -> reduce_by_index (copy x) (*) 1 [0, 2, 0, 7, 1] x",
    "hist_extreme": r"\(x: [5]f64) -> reduce_by_index (replicate 3 0.1) f64.max (-10) [0, 2, 0, 7, 1] x",
    "hist_general": r"\(x: [5]f64) -> reduce_by_index (copy (take 3 x)) (\a b -> a + b + a * b) 0 [0, 2, 0, 7, 1] x",
    "hist_vector": r"\(x: [5]f64) -> reduce_by_index (replicate 3 [1, 2]) (map2 (*)) [1, 1] [0, 2, 0, 7, 1]"
    r" (map (\a -> [a, a + 1]) x)",
    "scatter": r"\(x: [5]f64) -> scatter (map (* 2) x) [4, 0, 9] (map (\a -> a * a) (take 3 x))",
    "filter": r"\(x: [5]f64) -> f64.sum (map (\a -> a * a) (filter (> 0) x))",
    "views": r"\(x: [5]f64) -> let m = map (\a -> map (* a) x) x in"
    r" (flatten (transpose (reverse m)))[3:9] ++ rotate 2 x ++ m[1:4:2, 2] :> [13]f64",
    "replicated": r"\(x: [5]f64) -> map2 (*) (replicate 5 x[1]) (concat (take 2 x) (drop 2 x) :> [5]f64)",
    "literal": r"\(x: [5]f64) -> let a = [x[0], x[1] * x[2], 3] in map (\i -> a[i] * a[0]) (iota 3)",
    "updates": r"\(x: [5]f64) -> let y = copy x with [1] = x[0] * x[1] with [2:4] = [x[4], x[3]] in map2 (*) x y",
    "loop": r"\(x: [5]f64) -> loop y = x for i < 3 do map2 (\a b -> a * b + f64.i64 i) y x",
    "loop_of_loops": r"\(x: [5]f64) -> loop a = x[0] for i < 3 do loop b = a * x[i] for j < 2 do b * b + x[j]",
    "loop_in_place": r"\(x: [5]f64) -> loop y = copy x for i < 4 do let v = y[i] * y[i + 1] in y with [i + 1] = v",
    "loop_over": r"\(x: [5]f64) -> loop a = 1 for b in x do a * b + 1",
    "while": r"\(x: [5]f64) -> (loop (a, i) = (x[0], 0) while i < 4 do (a * x[i] + 1, i + 1)).0",
    "branch_of_arrays": r"\(x: [5]f64) -> if x[0] > 0 then map (* 2) x else map (\a -> a * a * x[1]) x",
    "match": r"\(x: [5]f64) -> match i64.f64 (x[0] * 10) % 2 case 0 -> x[1] * x[2] case _ -> x[3]",
    "integers_beside": r"\(x: [5]f64) -> (loop (a, i) = (0, 1) for _j < 3 do (a + x[i], (i * 2) % 5)).0",
    "widths": r"\(x: [5]f64) -> f64.f32 (f32.f64 x[0]) * x[1] * 1e-9 + x[2]",
    "nested_reverse": r"\(x: [5]f64) -> vjp (\y -> f64.product (map2 (+) y x)) x 1",
    "nested_forward": r"\(x: [5]f64) -> jvp (\y -> scan (*) 1 (map2 (*) y x)) x x",
    "nested_recurrence": r"\(x: [5]f64) -> vjp (\y -> loop a = copy y for i in 1..<5 do"
    r" let v = a[i - 1] * a[i - 1] in a with [i] = v) x x",
    "third": r"\(x: [5]f64) -> vjp (\y -> f64.sum (vjp (\z -> f64.product z) y 1)) x 1",
}


TWO_RESULTS = {"extremes", "reduce_pair"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_modes_agree_with_finite_differences(name: str) -> None:
    prog = compile_text(_program(name), "t.soac")
    check(prog, Stage.CORE)
    rng = np.random.default_rng(7)
    x, t = rng.uniform(-1, 1, N), rng.uniform(-1, 1, N)
    seeds = [np.asarray(rng.uniform(-1, 1, part.shape)) for part in _run(prog, "value", x)]
    (back,) = _run(prog, "reverse", x, *[s if s.shape else s[()] for s in seeds])
    step = 1e-6
    above, below = (_run(prog, "value", x + s * t) for s in (step, -step))
    central = sum(float(np.sum(s * (a - b))) / (2 * step) for s, a, b in zip(seeds, above, below, strict=True))
    forward = sum(float(np.sum(s * p)) for s, p in zip(seeds, _run(prog, "forward", x, t), strict=True))
    assert forward == pytest.approx(central, rel=1e-5, abs=1e-6)
    assert float(np.sum(back * t)) == pytest.approx(forward, rel=1e-9, abs=1e-9)


def _program(name: str) -> str:
    seeds, packed = ("y z", "(y, z)") if name in TWO_RESULTS else ("y", "y")
    head = f"def f = {FUNCTIONS[name]}\nentry value x = f x\nentry forward x t = jvp f x t\n"
    return f"{head}entry reverse x {seeds} = vjp f x {packed}\n"


def _run(prog: Prog, entry: str, *args: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(result) for result in interpret(prog, entry, args)[0]]
