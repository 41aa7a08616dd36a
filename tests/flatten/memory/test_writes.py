"""Writes into one array, one after the other, mean what they meant: scatters, updates and concatenations that meet in
some places, with reads in between."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.frontend.compile import compile_text
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import CPU, Mode
from soac.pipeline import compile_core

SIZES = (1, 2, 5)
widths = st.sampled_from(("n", "n", "n", "n - 1", "2"))
places = st.sampled_from(("i", "n - 1 - i", "i + 1", "2 * i", "2 * i + 1", "i - 1", "i * i"))
values = st.sampled_from(
    ("i", "i * 3 + 1", "ys[i % m]", "i + ys[(i + 1) % m]", "xs[i % n]", "d[i % n]", "d[(i + 1) % n]")
)
parts = st.sampled_from(("0:n / 2", "n / 2:n", "1:n", "0:n - 1", "0:n"))


@st.composite
def writes(draw: st.DrawFn) -> str:
    """A new value of `d`, in which it is overwritten."""
    match draw(st.integers(0, 5)):
        case 0 | 1 | 2:
            width, place, value = draw(widths), draw(places), draw(values)
            to = "(copy d)" if "d[" in value else "d"
            return f"scatter {to} (map (\\i -> {place}) (iota ({width}))) (map (\\i -> {value}) (iota ({width})))"
        case 3:
            first, second = draw(places), draw(places)
            pair = f"(map (\\i -> {first}) (iota n) ++ map (\\i -> 2 * n + {second}) (iota n))"
            return f"scatter d {pair} (xs ++ map (+ 1) xs)"
        case 4:
            part, k = draw(parts), draw(st.integers(0, 3))
            return f"let part = map (\\x -> x * 2 + {k}) (copy d[{part}]) in d with [{part}] = part"
        case _:
            return f"let v = d[{draw(st.sampled_from(('0', 'n / 2', 'n - 1')))}] in map (+ v) d"


@st.composite
def entries(draw: st.DrawFn) -> str:
    steps = " ".join(f"let d = {write}" for write in draw(st.lists(writes(), min_size=2, max_size=4)))
    return f"[n][m] (xs: [n]i64) (ys: [m]i64): [n]i64 = let d = map (* 5) xs {steps} in d"


@settings(max_examples=3)
@given(st.lists(entries(), min_size=8, max_size=8))
def test_writes_in_turn(texts: list[str]) -> None:
    prog = compile_text("\n".join(f"entry e{k} {text}" for k, text in enumerate(texts)), "writes.soac")
    before, after = prepare(prog), prepare(compile_core(prog, Mode.FULL, CPU).flat)
    for k, text in enumerate(texts):
        for n in SIZES:
            args = (np.arange(n) + 1, np.arange(3) * 7)
            (expected,), _ = before.run(f"e{k}", args, Thresholds())
            (found,), _ = after.run(f"e{k}", args, Thresholds())
            np.testing.assert_array_equal(found, expected, err_msg=f"{text} {n}")
