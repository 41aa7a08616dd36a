"""Maps that are computed where their neighbours are read mean what they meant."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.flatten.flatten import flatten_traced
from soac.flatten.fusion.driver import fuse
from soac.flatten.memory.fuse_stencils import fuse_far_stencils, fuse_stencils
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Prog, SegMap
from soac.ir.interpret import Prepared, Thresholds, prepare
from soac.ir.machine import CPU, Mode
from soac.ir.traverse import all_exps

SIZES = ((0, 3), (1, 1), (4, 5))
offsets = st.integers(0, 3)
operations = st.sampled_from(("+", "-", "*", "^"))


@st.composite
def reads(draw: st.DrawFn, array: str, most: int) -> str:
    """A few neighbours of a point of an array that has 3 rows and columns more, combined."""
    places = draw(st.lists(st.tuples(offsets, offsets), min_size=1, max_size=most))
    text = f"{array}[i + {places[0][0]}, j + {places[0][1]}]"
    for i, j in places[1:]:
        text = f"({text} {draw(operations)} {array}[i + {i}, j + {j}])"
    return text


@st.composite
def entries(draw: st.DrawFn) -> str:
    first, second, third = draw(reads("xs", 5)), draw(reads("as", 5)), draw(reads("bs", 2))
    other = draw(
        st.sampled_from(
            ("0", "i64.sum ys", "as[0, j]", "as[j % 3, i % 3]", "xs[i, j]", "if i > j then as[i, j] else 1")
        )
    )
    chosen = draw(st.sampled_from(("", "if xs[i, j] > 9 then xs[i, j + 1] else 1 + ")))
    last = draw(st.sampled_from(("bs[i, j]", third, f"{third} * {draw(reads('as', 2))}")))
    return (
        f"[n][m] (xs: [n + 9][m + 9]i64) (ys: [n]i64) (zs: [m]i64): [n][m]i64 ="
        f" let as = tabulate_2d (n + 6) (m + 6) (\\i j -> {chosen}{first})"
        f" let bs = tabulate_2d (n + 3) (m + 3) (\\i j -> {second} + {other})"
        f" in tabulate_2d n m (\\i j -> {last})"
    )


@settings(max_examples=4)
@given(st.lists(entries(), min_size=8, max_size=8))
def test_stencils(texts: list[str]) -> None:
    source = compile_text("\n".join(f"entry e{k} {text}" for k, text in enumerate(texts)), "stencils.soac")
    prog = simplify(flatten_traced(fuse(simplify(source)), Mode.FULL, CPU).prog)
    fused = fuse_stencils(prog)
    assert _maps(fused) < _maps(prog), "none of eight programs has changed"
    with patch("soac.flatten.memory.fuse_stencils.FAR", 8 * 9 * 10):
        by_size = fuse_far_stencils(fused)
    before = prepare(source)
    for after in (fused, by_size):
        check(after, Stage.FLAT)
        compare(texts, before, prepare(after))


def compare(texts: list[str], before: Prepared, after: Prepared) -> None:
    for k, text in enumerate(texts):
        for n, m in SIZES:
            xs = np.arange((n + 9) * (m + 9)).reshape(n + 9, m + 9) ** 2 % 31
            args = (xs, np.arange(n), np.arange(m))
            (expected,), _ = before.run(f"e{k}", args, Thresholds())
            (found,), _ = after.run(f"e{k}", args, Thresholds())
            np.testing.assert_array_equal(found, expected, err_msg=f"{text} {n} {m}")


def test_what_memory_takes_longer_for() -> None:
    """A Laplacian of a Laplacian is one map where arrays are large; what divides or blurs is stored."""
    lap = "a[i, j + 1] + a[i + 2, j + 1] + a[i + 1, j] + a[i + 1, j + 2] - 4 * a[i + 1, j + 1]"

    def sizes(made: str) -> list[int]:
        of = "[p][q] (a: [p][q]f32) = tabulate_2d (p - 2) (q - 2)"
        text = (
            f"def f {of} (\\i j -> {lap}) def g {of} (\\i j -> {made})"
            " entry main [n][m] (xs: [n][m]f32): [][]f32 = f (g xs)"
        )
        flat = simplify(flatten_traced(fuse(simplify(compile_text(text, "twice.soac"))), Mode.FULL, CPU).prog)
        return [_maps(flat), _maps(fuse_stencils(flat)), _maps(fuse_far_stencils(fuse_stencils(flat)))]

    assert sizes(lap) == [2, 2, 3]
    assert sizes(lap.replace("+", "/")) == [2, 2, 2]


def _maps(prog: Prog) -> int:
    return sum(isinstance(exp, SegMap) for fun in prog.functions for exp in all_exps(fun.body))
