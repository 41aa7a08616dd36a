"""Calls from Python: settings of a block, the interpreter's lock, entries over a leading dimension, the decorator."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soac

SUMS = "def main [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss"
SITE = "main.ys.suff_outer_0"
MATRIX = np.arange(6, dtype=np.int32).reshape(2, 3)


def test_versions_and_parameters() -> None:
    prog = soac.compile(SUMS, thresholds={SITE: 5})
    assert {"outer", "full"} <= set(prog.versions["main"][SITE])
    assert prog.params[SITE] == 5
    assert prog.params["main.threads"] == 0
    with prog.settings({SITE: 7}, threads=2):
        assert prog.params[SITE] == 7


def test_settings_of_a_block() -> None:
    prog = soac.compile(SUMS)
    main = prog.main

    def taken() -> list[bool]:
        main(MATRIX)
        return [side for name, _, side in prog.trace("main", [MATRIX])[1] if name == SITE]

    usual = taken()
    with prog.settings({SITE: 1}) as same:
        assert same is prog
        assert taken() == [True]
        with prog.settings(forced=[f"{SITE}=full"]):
            assert taken() == [False]
        with prog.settings(forced={SITE: True}, threads=1):
            assert taken() == [True]
    assert taken() == usual
    with pytest.raises(ValueError, match="mine"), prog.settings({SITE: 1}):
        raise ValueError("mine")
    assert taken() == usual


@pytest.mark.parametrize("wrong", [
    {"thresholds": {"nothing": 1}}, {"thresholds": 5}, {"thresholds": {SITE: "a"}}, {"threads": 0},
    {"forced": ["nothing=full"]}, {"forced": {SITE: 5}}, {"forced": [f"{SITE}=inner"]}, {"forced": "ab"},
])  # fmt: skip
def test_wrong_settings(wrong: dict[str, Any]) -> None:
    prog = soac.compile(SUMS)
    with pytest.raises(soac.SettingError, match="C0101"), prog.settings(**wrong):
        pytest.fail("it was entered")
    assert prog.main(MATRIX).tolist() == [3, 12]


@pytest.mark.parametrize(("call", "hint"), [
    (lambda: soac.compile(b"entry main = 1"), "`soac.load` reads a file"),  # type: ignore[arg-type]
    (lambda: soac.compile(None), "`soac.load` reads a file"),  # type: ignore[arg-type]
    (lambda: soac.load(5), "`soac.compile` takes a text"),  # type: ignore[arg-type]
    (lambda: soac.compile(SUMS, thresholds=5), "a mapping"),  # type: ignore[arg-type]
    (lambda: soac.compile(SUMS)["mian"], "did you mean `main`? the program has: main"),
    (lambda: soac.compile(SUMS)[5], "the program has: main"),  # type: ignore[index]
    (lambda: soac.vmap(print), "`soac.vmap(prog.main)`"),
    (lambda: soac.compile(SUMS).main.batched((0, 0)), "give 0 for each argument"),
    (lambda: soac.compile(SUMS).main.batched(1), "give 0 for each argument"),
    (lambda: soac.compile("entry f = 1").f.batched(), "only arguments have"),
    (lambda: soac.autotune(soac.compile(SUMS), runs=0), "a number from 1 on"),
    (lambda: soac.function(5), "above a function"),  # type: ignore[call-overload]
])  # fmt: skip
def test_misuse_is_an_error_of_ours_with_a_hint(call: Any, hint: str) -> None:
    with pytest.raises(soac.SoacError) as caught:
        call()
    assert hint in (caught.value.diagnostics[0].hint or "")
    assert caught.value.__notes__[0] == f"hint: {caught.value.diagnostics[0].hint}"


def test_settings_of_a_tuning_file(tmp_path: Path) -> None:
    file = tmp_path / "a.soac"
    file.write_text(SUMS)
    assert soac.load(file, tuning=True).thresholds == {}
    (tmp_path / "a.soac.tuning").write_text(f"{SITE}=5\nmain.threads=2\n")
    assert soac.load(file).thresholds == {}
    tuned = soac.load(file, {"main.threads": 1}, tuning=True)
    assert tuned.thresholds == {SITE: 5, "main.threads": 1}
    assert tuned.main(MATRIX).tolist() == [3, 12]
    (tmp_path / "other").write_text("nothing=1\n")
    with pytest.warns(UserWarning, match="nothing"):
        assert soac.load(str(file), tuning=str(tmp_path / "other")).thresholds == {}
    with pytest.raises(soac.TuningError, match="T0105"):
        soac.load(file, tuning=tmp_path / "missing")


# ---- the lock of the interpreter ---------------------------------------------------------------------------------

SLOW = "entry slow (n: i64): i64 = loop s = 0 for i < n do (s ^ i) * 3 + s >> 1\nentry quick (n: i64): i64 = n + 1"


@pytest.fixture
def without_interrupts() -> Iterator[None]:
    """A thread has the interpreter until it gives it away."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(100)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("without_interrupts")
def test_other_threads_run_python_and_programs_during_a_call() -> None:
    prog = soac.compile(SLOW)
    slow, quick, done, order = prog.slow, prog.quick, threading.Event(), []
    quick(1)
    begun = threading.Event()

    def other() -> None:
        begun.wait()
        while not done.is_set():
            order.append(quick(len(order)))
            done.wait(0)

    thread = threading.Thread(target=other)
    thread.start()
    slow(1)
    begun.set()
    counted = len(order)
    slow(30_000_000)
    during = len(order) - counted
    done.set()
    thread.join()
    assert during > 1  # without the lock given back it is 0: the other thread would never have had a turn
    assert order[:during] == list(range(1, during + 1))


# ---- over a leading dimension ------------------------------------------------------------------------------------

DOT = """
type pair = {x: i32, y: i32}
entry dot [n] (xs: [n]i32) (ys: [n]i32): i32 = reduce (+) 0 (map2 (*) xs ys)
entry mark [n] (xs: *[n]i32) (map1: i32): *[n]i32 = xs with [0] = map1
entry swap (p: pair): (pair, i32) = ({x = p.y, y = p.x}, p.x + p.y)
entry odd [n] (xs: [n]i32): []i32 = filter (\\x -> x % 2 == 1) xs
-- a last line that is a comment"""


def test_entries_over_a_leading_dimension() -> None:
    prog = soac.compile(DOT)
    dots = soac.vmap(prog.dot)
    assert dots(MATRIX, MATRIX).tolist() == [5, 50]
    assert dots.parameters == ["xs", "ys"]
    assert dots.__doc__ == "`dot` over a leading dimension of xs, ys."
    assert prog.dot.batched() is dots
    assert prog.dot.batched((0, None))(MATRIX, ys=[1, 0, 1]).tolist() == [2, 8]
    assert dots.batched()([MATRIX], [MATRIX]).tolist() == [[5, 50]]
    assert dots.program.versions["dot_batched"]
    marked = prog.mark.batched((0, None))(MATRIX, 9)
    assert marked.tolist() == [[9, 1, 2], [9, 4, 5]]
    assert MATRIX[0, 0] == 0
    swapped, sums = soac.vmap(prog.swap)([{"x": 1, "y": 2}])
    assert (swapped.x.tolist(), sums.tolist()) == ([2], [3])


def test_results_that_would_be_irregular() -> None:
    with pytest.raises(soac.CompileError):
        soac.vmap(soac.compile(DOT).odd)


# ---- the decorator -----------------------------------------------------------------------------------------------


@soac.function
def scaled(xs: Any, k: float) -> np.ndarray:
    r"""
    -- | `xs`, each times `k`.
    entry scaled [n] (xs: [n]f32) (k: f32): [n]f32 = map (\x -> x * k) xs
    """
    raise NotImplementedError


@soac.function("entry f (x: i64): i64 = x + 1\nentry g (x: i64): i64 = f x * 2", entry="g")
def doubled(x: int) -> np.int64:
    raise NotImplementedError


def test_a_function_whose_documentation_is_a_program() -> None:
    assert isinstance(scaled, soac.Entry)
    assert scaled([1, 2], k=3).tolist() == [3, 6]
    assert scaled.__doc__ == "`xs`, each times `k`."
    assert (scaled.__module__, scaled.__qualname__) == (__name__, "scaled")
    assert doubled(3) == 8


def test_mistakes_have_the_line_of_the_file() -> None:
    with pytest.raises(soac.CompileError, match="E0201") as caught:

        @soac.function
        def wrong(x: int) -> int:
            """entry wrong (x: i32): i32 =
            lenght x"""
            raise NotImplementedError

    loc = caught.value.diagnostics[0].primary.loc
    assert loc.file == __file__
    with open(__file__, encoding="utf-8") as file:
        assert file.read().splitlines()[loc.line - 1].strip() == 'lenght x"""'


def test_a_stub_has_the_parameters_of_the_entry() -> None:
    with pytest.raises(soac.SettingError, match="other parameters") as caught:

        @soac.function("entry main (x: i32): i32 = x")
        def main(y: int) -> int:
            raise NotImplementedError

    assert caught.value.__notes__ == ["hint: write `def main(x)`", "more: soac errors C0101"]
    with pytest.raises(soac.SettingError, match="no documentation"):

        @soac.function
        def silent(y: int) -> int:
            raise NotImplementedError
