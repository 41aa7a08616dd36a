"""What a nest without points does not compute does not fail, wherever it stands in the nest and whatever of the nest it
needs: before and after each pass over core, and in flat code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.frontend.compile import compile_text
from soac.ir.core import Prog
from soac.ir.errors import RunError
from soac.ir.interpret import Prepared, Thresholds, prepare
from soac.ir.machine import CPU, Mode
from soac.pipeline import CORE_PASSES, stages
from tests.support.property.generate import Case
from tests.support.property.law import check_law

WIDTHS = ("n", "m", "3")
FAILING = (
    "{} / d",
    "({} + 1) / i64.max d 0",
    "1 % i64.max ({}) d",
    "xs[{} + d]",
    "i64.sum (map (\\k -> (k + {}) * 3 / d) (iota 9))",
    "i64.sum (map (\\k -> xs[d + k] * {}) (iota 9))",
    "(loop s = 1 for k < 9 do s + ({} + k) / d)",
)


@st.composite
def nests(draw: st.DrawFn) -> str:
    """Two or three maps, and at the bottom something that may fail, of some of their indices, beside all of them."""
    widths = draw(st.lists(st.sampled_from(WIDTHS), min_size=2, max_size=3))
    indices = [f"i{k}" for k in range(len(widths))]
    needed = [index for index in indices if draw(st.booleans())]
    cost = draw(st.sampled_from(FAILING)).format(" + ".join(needed) or "7")
    text = f"{cost} + {' * '.join(indices)}"
    if draw(st.booleans()):
        text = f"if {indices[-1]} < 1 then {text} else {indices[0]}"
    for index, width in reversed(list(zip(indices, widths, strict=True))):
        text = f"i64.sum (map (\\{index} -> {text}) (iota {width}))"
    return text


@pytest.mark.whole
@settings(max_examples=5)
@given(st.lists(nests(), min_size=10, max_size=10))
def test_a_nest_fails_only_where_it_has_points(texts: list[str]) -> None:
    programs = list(programs_of(texts))
    assert_fail_alike([*programs[: len(CORE_PASSES) + 1], programs[-1]], texts)


@pytest.mark.whole
def test_what_some_rows_share_fails_only_where_they_have_points() -> None:
    """It is worth an array, so that core passes move it."""
    widths = product(WIDTHS, repeat=2)
    shared = "({0} + 1) / d + ({0} + 7) % d"
    texts = [
        f"i64.sum (map (\\i -> i64.sum (map (\\j -> {shared.format(index)} + i * j) (iota {m}))) (iota {n}))"
        for (n, m), index in product(widths, "ij")
    ]
    assert_fail_alike(list(islice(programs_of(texts), len(CORE_PASSES) + 1)), texts)


ROWS = (
    "i32.sum xs[2 % n, :]", "(scan (+) 0 xs[2 % n, :])[i % m]", "(reverse xs[2 % n, :])[i % m]",
    "(hist (+) 0 2 (iota m) xs[2 % n, :])[1]", "i32.sum (map (\\x -> x + i32.sum xs[(i + 1) % n, :]) xs[0])",
    "i32.sum (map (\\x -> x + xs[2 % n, 1 % m] * i32.sum xs[1 % n, :]) xs[i, :])",
    "i32.sum (map (\\x -> let k = 2 % n + 3 in x / xs[k % n, 0] * i32.sum xs[k - 3, :]) xs[i, :])",
)  # fmt: skip


def test_rows_of_an_array_without_rows_are_of_no_use() -> None:
    """The row that all points share stands before the nest, wherever it is then."""
    for row in ROWS:
        text = f"entry main [n][m] (xs: [n][m]i32): [n]i32 = map (\\i -> {row} + i32.i64 i) (iota n)"
        prog = compile_text(text, "rows.soac")
        for n, m in ((0, 2), (3, 2)):
            check_law(Case(prog, [np.arange(n * m, dtype=np.int32).reshape(n, m)]), Mode.INCREMENTAL)


SHARED = (
    "7 / d + 3 % d", "if d > 5 then 7 / d else 2", "if d > 5 then 2 else 7 / d", "if d > 5 then xs[d] else xs[0]",
    "if d > 5 then 7 / d else 7 % d",
)  # fmt: skip


def test_what_all_points_share_fails_only_where_there_are_some() -> None:
    """Flattened, it is computed before the nest."""
    texts = [
        f"i64.sum (map (\\i -> let q = {shared} in i64.sum (map (\\j -> q + i * j) (iota m))) (iota {n}))"
        for n, shared in product(WIDTHS, SHARED)
    ]
    core, *_, flat = programs_of(texts, Mode.FULL)
    assert_fail_alike([core, flat], texts, (0, 1, 2))


def programs_of(texts: list[str], mode: Mode = Mode.INCREMENTAL) -> Iterator[Prog]:
    """An entry for each, before and after each pass."""
    entries = (f"entry e{k} [n] (xs: [n]i64) (m: i64) (d: i64): i64 = {text}" for k, text in enumerate(texts))
    core = compile_text("\n".join(entries), "nests.soac")
    return (prog for _, prog in stages(core, mode, CPU, False))


def assert_fail_alike(programs: list[Prog], texts: list[str], lengths: Sequence[int] = (0, 2)) -> None:
    """What gives a value in the first program gives it in the others."""
    core, *others = map(prepare, programs)
    for n, m, d in product(lengths, (-1, 0, 2), (0, 1)):
        args = np.arange(n), np.int64(m), np.int64(d)
        for k, text in enumerate(texts):
            value = outcome(core, k, args)
            assert value is None or all(outcome(prog, k, args) == value for prog in others), (text, n, m, d)


def outcome(prog: Prepared, entry: int, args: Sequence[Any]) -> int | None:
    try:
        ((found,), _) = prog.run(f"e{entry}", args, Thresholds())
    except RunError:
        return None
    return int(found)
