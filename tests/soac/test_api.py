"""The Python face."""

from __future__ import annotations

import copy
import multiprocessing
import operator
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soac
from soac import devices
from soac.ir.errors import CompileError, DataError, RunError

DIVIDE = "def main [n] (xs: [n]i32) (k: i32): ([n]i32, i32) = (map (/ k) xs, k)"
SUMS = "def main [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss"
SITE = "main.ys.suff_outer_0"


def test_compile_and_call() -> None:
    prog = soac.compile(DIVIDE)
    quotients, k = prog.main(np.array([4, 6], np.int32), np.int32(2))
    assert quotients.dtype == np.int32
    assert quotients.tolist() == [2, 3]
    assert k == 2


def test_who_compiles_for_the_cpu_looks_for_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """To find out what a GPU lacks takes longer than to find a program that was compiled before."""
    monkeypatch.setattr(devices, "missing_for_cuda", lambda: pytest.fail("looked for a GPU"))
    assert soac.compile(DIVIDE, device="cpu").main([4], 2)[1] == 2
    assert "LLVM lanes" in devices.described("cpu")


def test_python_values_take_the_type_of_the_entry() -> None:
    prog = soac.compile(DIVIDE + "\nentry half (x: f32): f32 = x / 2\nentry size [n][m] (xss: [n][m]f64) = (n, m)")
    assert prog.main([4, 6], 2)[0].tolist() == [2, 3]
    assert prog.half(3) == np.float32(1.5)
    assert prog.size(np.empty((0, 4))) == (0, 4)
    assert prog.entries == ("main", "half", "size")


@pytest.mark.parametrize("args", [
    ([1], 2**31), ([1.5], 1), ([1], True), (np.array([1]), 1), ([[1]], 1), ([[1], [1, 2]], 1), ([1],), ([1], 1, 1),
    ("a", 1),
])  # fmt: skip
def test_refuses_what_would_change_a_value(args: tuple[object, ...]) -> None:
    with pytest.raises(DataError):
        soac.compile(DIVIDE).main(*args)


def test_errors_are_exceptions_with_a_place() -> None:
    with pytest.raises(RunError, match=r"f\.soac:1:.*R0102"):
        soac.compile(DIVIDE, "f.soac").main([1], 0)
    with pytest.raises(CompileError, match="E0201"):
        soac.compile("def main = lenght")
    with pytest.raises(soac.SoacError, match="E0001"):
        soac.compile("def f = 1")
    with pytest.raises(AttributeError, match="main"):
        _ = soac.compile(DIVIDE).mian


def test_entries_that_are_called_like_methods() -> None:
    with pytest.warns(UserWarning, match="`prog") as seen:
        prog = soac.compile("entry call (x: i32) = x + 1\nentry entries (x: i32) = x + 2\nentry twice (x: i32) = 2 * x")
    assert [str(one.message) for one in seen] == [
        '`prog.call` is not the entry point `call`: write `prog["call"]`',
        '`prog.entries` is not the entry point `entries`: write `prog["entries"]`',
    ]
    assert {one.filename for one in seen} == {__file__}
    assert prog.entries == ("call", "entries", "twice")
    assert [prog[name](5) for name in prog.entries] == [6, 7, 10]
    assert prog["entries"].__name__ == "entries"
    with pytest.raises(CompileError, match="E0001"):
        prog["twise"]


def test_long_names_are_cut_in_messages() -> None:
    long = "a" * 10_000
    prog = soac.compile(f"entry {long}b (x: i32) = x")
    for look in (lambda: prog[long], lambda: getattr(prog, long)):
        with pytest.raises((CompileError, AttributeError), match=r"a\.\.\.a") as found:
            look()
        assert len(str(found.value)) < 400


def test_a_program_that_is_loaded_warns_as_well(tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("entry prepare (x: i32) = x")
    with pytest.warns(UserWarning, match="prog.prepare") as seen:
        soac.load(tmp_path / "a.soac")
    assert seen[0].filename == __file__


@pytest.mark.parametrize("remade", [
    copy.deepcopy, copy.copy, lambda prog: pickle.loads(pickle.dumps(prog)),  # noqa: S301
])  # fmt: skip
def test_programs_are_copied_and_pickled(remade: Callable[[soac.Program], soac.Program], tmp_path: Path) -> None:
    """With what they import and their settings."""
    (tmp_path / "one.soac").write_text("let one = 1i32")
    text = f'import "one"\n{SUMS} |> map (+ one)\nentry twice (x: i32) = 2 * x'
    prog = soac.compile(text, str(tmp_path / "a.soac"), thresholds={SITE: 1})
    prog.main([[1]])
    found = remade(prog)
    assert found is not prog
    assert (found.entries, found.thresholds) == (prog.entries, {SITE: 1})
    assert found.main([[1, 2]]).tolist() == [4]
    assert found.trace("main", [[[1]]])[1] == ((SITE, 1, True),)
    assert found.twice(4) == 8


def test_programs_run_in_other_processes() -> None:
    """As `multiprocessing` hands arguments over."""
    with multiprocessing.get_context("spawn").Pool(1) as workers:
        assert workers.apply(operator.methodcaller("main", [4, 6], 2), (soac.compile(DIVIDE),))[0].tolist() == [2, 3]


def test_a_device_that_there_is_not() -> None:
    with pytest.raises(soac.SoacError, match=r"S0101.*no device `gpu`") as caught:
        soac.compile(DIVIDE, device="gpu")
    assert caught.value.diagnostics[0].hint == "there are: `cpu`, `cuda`"


def test_load(tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(DIVIDE)
    assert soac.load(tmp_path / "a.soac").main([9], 3)[0].tolist() == [3]


def test_arguments_are_not_written_and_not_shared() -> None:
    prog = soac.compile("def main [n] (xs: *[n]i32): *[n]i32 = xs with [0] = 7\nentry same [n] (xs: [n]i32) = xs")
    xs = np.arange(3, dtype=np.int32)
    assert prog.main(xs).tolist() == [7, 1, 2]
    assert xs.tolist() == [0, 1, 2]
    result = prog.same(xs)
    result[0] = 9
    assert xs.tolist() == [0, 1, 2]


def test_any_layout_of_arguments() -> None:
    prog = soac.compile("def main [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss")
    matrix = np.arange(12, dtype=np.int32).reshape(3, 4)
    for view in (matrix.T, matrix[::2, ::-1], matrix.astype(">i4"), np.asfortranarray(matrix)):
        assert prog.main(view).tolist() == view.sum(axis=1).tolist()


def test_thresholds_choose_the_version() -> None:
    prog = soac.compile("def main [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss")
    matrix = np.ones((3, 4), np.int32)
    _, ((threshold, par, taken),) = prog.trace("main", [matrix])
    assert (par, taken) == (3, False)
    for value, expected in ((3, True), (4, False)):
        results, reached = prog.trace("main", [matrix], thresholds={threshold: value})
        assert reached == ((threshold, 3, expected),)
        assert results[0].tolist() == [4, 4, 4]


@pytest.mark.parametrize(("settings", "words"), [
    ({"threads": 0}, ["`threads` is 0", "from 1 to 1024"]),
    ({"threads": -1}, ["`threads` is -1"]),
    ({"threads": 1025}, ["`threads` is 1025"]),
    ({"threads": 2.0}, ["`threads` is 2.0"]),
    ({"threads": True}, ["`threads` is True"]),
    ({"thresholds": {"main.sum_outer_0": 1}}, ["tuning parameter `main.sum_outer_0`", f"did you mean `{SITE}`"]),
    ({"thresholds": {0: 1}}, ["unknown tuning parameter `0`"]),
    ({"thresholds": {SITE: "1"}}, [f"`{SITE}` is '1'", "an integer from 0 to 2^63-1"]),
    ({"thresholds": {SITE: 1.0}}, ["is 1.0"]),
    ({"thresholds": {SITE: None}}, ["is None"]),
    ({"thresholds": {SITE: True}}, ["is True"]),
    ({"thresholds": {SITE: -1}}, ["is -1"]),
    ({"thresholds": {SITE: 2**63}}, ["is 9223372036854775808"]),
    ({"thresholds": {"main.threads": 5000}}, ["`main.threads` is 5000, and at most 1024"]),
    ({"forced": {"main.sum_outer_0": True}}, ["unknown guard `main.sum_outer_0`", f"did you mean `{SITE}`"]),
    ({"forced": {"main.threads": True}}, ["unknown guard `main.threads`"]),
    ({"forced": {SITE: 1}}, [f"the side of `{SITE}` is 1", "True takes the first version"]),
])  # fmt: skip
def test_wrong_settings_are_refused(settings: dict[str, Any], words: list[str]) -> None:
    """As on the command line, by everything that takes settings."""
    prog = soac.compile(SUMS)
    takers: list[Callable[[], Any]] = [
        lambda: prog.call("main", [[[1]]], **settings),
        lambda: prog.trace("main", [[[1]]], **settings),
        lambda: prog.prepare("main", **settings),
    ]
    if "thresholds" in settings:
        takers.append(lambda: soac.compile(SUMS, **settings))
    for take in takers:
        with pytest.raises(soac.SoacError) as caught:
            take()
        (said,) = caught.value.diagnostics
        assert all(word in f"{said.message}; {said.hint}" for word in words)


def test_settings_may_be_numbers_of_numpy() -> None:
    numbers: dict[str, Any] = {SITE: np.int64(1), "main.threads": 0}
    others: dict[str, Any] = {"forced": {SITE: np.bool_(False)}, "threads": np.int32(1)}
    trace = soac.compile(SUMS, thresholds=numbers).trace("main", [[[1]]], numbers, **others)
    assert trace[1] == ((SITE, 1, False),)


def test_masked_elements_have_no_value() -> None:
    prog = soac.compile("def main (xs: []i32) = i32.sum xs")
    xs = np.ma.MaskedArray(np.arange(4, dtype=np.int32), mask=[False, True, False, False])
    with pytest.raises(DataError, match="masked elements"):
        prog.main(xs)
    assert prog.main(xs.filled(9)) == 14
    assert prog.main(np.ma.MaskedArray(np.arange(4, dtype=np.int32))) == 6


def test_concurrent_calls() -> None:
    prog = soac.compile("def main [n] (k: i64) (xs: [n]i64): i64 = reduce (+) 0 (map (* k) xs)")
    xs = np.arange(100_000)
    wrong: list[int] = []

    def work(k: int) -> None:
        wrong.extend(k for _ in range(20) if prog.main(k, xs) != k * xs.sum())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


FLOATS = """
entry single (x: f32) = x
entry list [n] (xs: [n]f32) = xs
entry half (x: f16) = x
entry double (x: f64) = x
"""


@pytest.mark.parametrize(("entry", "arg", "message"), [
    ("single", 1e300, "`1e+300` does not fit f32 (at most 3.40282347e+38)"),
    ("single", -(2**62) ** 2.5, "does not fit f32"),
    ("list", [0.1, 1e39], "`1e+39` does not fit f32"),
    ("list", np.array([1e39]), "expected []f32, got [1]f64"),
    ("half", 65520, "`65520` does not fit f16 (at most 65504)"),
])  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_floats_do_not_overflow(entry: str, arg: object, message: str) -> None:
    with pytest.raises(DataError) as caught:
        soac.compile(FLOATS).call(entry, [arg])
    assert message in str(caught.value)


def test_floats_are_rounded() -> None:
    prog = soac.compile(FLOATS)
    assert prog.single(0.1) == np.float32(0.1)
    assert prog.single(16777217) == 16777216
    assert prog.list([0.1, float("inf")]).tolist() == [np.float32(0.1), np.inf]
    assert prog.half(-float("inf")) == -np.inf
    assert prog.double(1e300) == 1e300


@pytest.mark.parametrize(("args", "message"), [
    ((["x"], 1), "argument 1: expected []i32, got ['x']"),
    (([1], 2**40), f"argument 2: expected i32, got {2**40}"),
    ((np.zeros((2, 3)), 1), "argument 1: expected []i32, got [2][3]f64"),
])  # fmt: skip
def test_wrong_values_are_shown_in_the_words_of_the_language(args: tuple, message: str) -> None:
    with pytest.raises(soac.SoacError) as caught:
        soac.compile(DIVIDE).main(*args)
    assert str(caught.value) == f"error[D0104]: {message}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_that_ran_kernels_can_fork() -> None:
    """The memory set aside for kernels is address space only."""
    prog = soac.compile("def main [n] (xs: [n]i32): [n]i32 = map (+ 1) xs")
    prog.main(np.arange(100_000, dtype=np.int32))
    child = os.fork()
    if child == 0:
        os._exit(0 if prog.main(np.arange(100_000, dtype=np.int32))[-1] == 100_000 else 1)
    assert os.waitpid(child, 0)[1] == 0
