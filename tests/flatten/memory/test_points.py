"""Histograms whose points are computed, side by side or in several updates, mean what they meant where points are
concatenations, literals, spaces of several dimensions or views, read elsewhere too, or read what is updated."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.frontend.compile import compile_text
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import CPU, CUDA, Machine, Mode
from soac.pipeline import compile_core

SHAPES = ((0, 2), (1, 1), (3, 2), (4, 5))
indices = st.sampled_from(("i", "j", "i + j", "i * j - 1", "xss[i, j] % 4", "w - 1 - j", "i - j", "2"))
values = st.sampled_from(("1", "i", "xss[i, j]", "i * 3 - j", "xss[i, j] * ys[j]", "d[j]"))
operators = st.sampled_from(("(+) 0", "i64.max i64.lowest", "i64.min i64.highest", "(*) 1"))


@st.composite
def points(draw: st.DrawFn) -> tuple[str, str]:
    """Definitions of `is` and `vs`, of one length."""
    index, value, other, further = draw(indices), draw(values), draw(indices), draw(values)
    match draw(st.integers(0, 4)):
        case 0:
            return f"flatten (tabulate_2d h w (\\i j -> {index}))", f"flatten (tabulate_2d h w (\\i j -> {value}))"
        case 1:
            is_ = f"flatten_3d (tabulate_2d h w (\\i j -> [{index}, {other}]))"
            row = draw(st.sampled_from((f"[{value}, {further}]", f"replicate 2 ({value})")))
            return is_, f"flatten_3d (tabulate_2d h w (\\i j -> {row}))"
        case 2:
            rows = [
                f"map (\\j -> let i = j + {k} in {x.replace('xss[i, j]', 'ys[j]')}) (iota w)"
                for k, x in enumerate((index, other, value, further))
            ]
            return f"{rows[0]} ++ {rows[1]}", f"{rows[2]} ++ {rows[3]}"
        case 3:
            return "flatten xss[:, 1:]", f"flatten (map (\\i -> map (\\j -> {value}) (1..<w)) (iota h))"
        case _:
            return "flatten (replicate h (iota w))", f"flatten (transpose (tabulate_2d w h (\\j i -> {value})))"


@st.composite
def entries(draw: st.DrawFn) -> str:
    """Two histograms of the same points, or of others, one after the other or side by side; in a map or not."""
    (is_, vs), first, second = draw(points()), draw(operators), draw(operators)
    more = draw(st.sampled_from(("", "", "let vs = map (* 2) vs", "let is = map (\\k -> k / 2) is")))
    into = draw(st.sampled_from(("(copy d)", "(copy e)")))
    also = draw(st.sampled_from(("0", "0", "i64.sum vs", "i64.sum is")))
    text = (
        f"let d = map (% 7) ys let is = {is_} let vs = {vs} let e = reduce_by_index (copy d) {first} is vs {more}"
        f" let g = reduce_by_index {into} {second} is vs in (e, g, {also})"
    )
    if draw(st.booleans()):
        inner = f"let ys = map (* o) ys let xss = map (map (+ o)) xss {text}"
        return f"[h][w] (xss: [h][w]i64) (ys: [w]i64) = unzip3 (map (\\o -> {inner}) (iota 2))"
    return f"[h][w] (xss: [h][w]i64) (ys: [w]i64): ([w]i64, [w]i64, i64) = {text}"


@settings(max_examples=3)
@given(st.lists(entries(), min_size=6, max_size=6), st.sampled_from((CPU, CUDA)))
def test_points(texts: list[str], machine: Machine) -> None:
    prog = compile_text("\n".join(f"entry e{k} {text}" for k, text in enumerate(texts)), "points.soac")
    before, after = prepare(prog), prepare(compile_core(prog, Mode.FULL, machine, checked=True).flat)
    for k, text in enumerate(texts):
        for h, w in SHAPES:
            args = (np.arange(h * w).reshape(h, w) * 5 % 11, np.arange(w) * 7)
            expected, _ = before.run(f"e{k}", args, Thresholds())
            found, _ = after.run(f"e{k}", args, Thresholds())
            for x, y in zip(expected, found, strict=True):
                np.testing.assert_array_equal(y, x, err_msg=f"{text} {h} {w}")
