"""What fails in a function says where it was called, however the call is carried out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soac
from soac.frontend.source.diagnostics import render
from soac.ir.errors import MAX_CALLS, RunError
from soac.ir.interpret import interpret
from soac.ir.machine import CUDA
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.pipeline import Compiled, compile_prog
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

TEXT = """\
def get (xs: []i32) (i: i64) = xs[i]
def second xs i = get xs (i + 1)
def within xs i =
  let third j = second xs (j + 1)
  in third i
entry host (xs: []i32) (i: i64) = within xs i
entry kernel (xs: []i32) (is: []i64) = map (\\i -> within xs i + get xs i) is
entry folded (xs: []i32) (is: []i64) = reduce (+) 0 (map (\\i -> get xs i) is)
"""
XS = np.arange(3, dtype=np.int32)
LOCAL = ["2:19", "4:17", "5:6"]
CASES = [
    ("host", np.int64(1), [*LOCAL, "6:35"]),
    ("kernel", np.array([0, 1]), [*LOCAL, "7:51"]),
    ("kernel", np.array([-1]), ["7:65"]),
    ("folded", np.array([0, 3]), ["8:65"]),
]


def calls_of(error: RunError) -> list[str]:
    (diag,) = error.diagnostics
    assert diag.primary.loc.line == 1
    return [f"{call.line}:{call.col}" for call in diag.primary.loc.calls]


@pytest.mark.parametrize(("entry", "arg", "calls"), CASES)
def test_on_the_cpu(entry: str, arg: Any, calls: list[str]) -> None:
    with pytest.raises(RunError) as failed:
        soac.compile(TEXT).call(entry, (XS, arg))
    assert calls_of(failed.value) == calls


@pytest.mark.parametrize(("entry", "arg", "calls"), CASES)
def test_in_the_interpreter(entry: str, arg: Any, calls: list[str]) -> None:
    with pytest.raises(RunError) as failed:
        interpret(compile_prog(TEXT, "f.soac").core, entry, [XS, arg])
    assert calls_of(failed.value) == calls


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
@pytest.mark.parametrize(("entry", "arg", "calls"), CASES)
def test_on_an_emulated_gpu(entry: str, arg: Any, calls: list[str]) -> None:
    compiled = compile_prog(TEXT, "f.soac", machine=CUDA)
    program = CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(EmulatedDriver()), 64)
    with pytest.raises(RunError) as failed:
        program.run(entry, (XS, arg))
    assert calls_of(failed.value) == calls


LARGE = f"""\
def sums (xs: []f64) (i: i64) =
  let y = xs[i]
{"".join(f"  let y = f64.sin y + f64.sum (map (* y) xs) + {k}" + chr(10) for k in range(12))}  in y
entry main (xs: []f64) (i: i64) = sums xs i + sums xs (i + 1)
"""


def large(on: str) -> Compiled:
    compiled = compile_prog(LARGE, "f.soac")
    kept = [fun.name.base for fun in compiled.core.functions]
    assert kept == ["sums", "main"], on
    return compiled


def test_calls_of_core_functions() -> None:
    """In the interpreter such a function is called; for kernels it is inlined."""
    with pytest.raises(RunError) as interpreted:
        interpret(large("core").core, "main", [np.ones(3), np.int64(2)])
    with pytest.raises(RunError) as compiled:
        soac.compile(LARGE).call("main", (np.ones(3), 2))
    for failed in (interpreted, compiled):
        loc = failed.value.diagnostics[0].primary.loc
        assert [loc.line, *(call.line for call in loc.calls)] == [2, 16]
        assert loc.calls[0].col == 47


def test_the_text_has_a_line_for_each_call() -> None:
    with pytest.raises(RunError) as failed:
        soac.compile(TEXT).call("host", (XS, 1))
    text = render(failed.value.diagnostics[0], lambda _: TEXT)
    assert text.splitlines()[5:] == [
        "  = note: called at <text>:2:19",
        "          called at <text>:4:17",
        "          called at <text>:5:6",
        "          called at <text>:6:35",
    ]
    assert str(failed.value).splitlines()[1:] == [f"called at <text>:{at}" for at in (*LOCAL, "6:35")]


def test_a_stored_program_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOAC_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "f.soac"
    file.write_text(TEXT)
    for _ in range(2):
        with pytest.raises(RunError) as failed:
            soac.load(file).call("kernel", (XS, np.array([1])))
        assert calls_of(failed.value) == [*LOCAL, "7:51"]


def test_of_many_calls_the_innermost_are_kept() -> None:
    names = "\n".join(f"def f{k + 1} xs i = f{k} xs i" for k in range(2 * MAX_CALLS))
    text = f"def f0 (xs: []i32) (i: i64) = xs[i]\n{names}\nentry main xs i = f{2 * MAX_CALLS} xs i"
    with pytest.raises(RunError) as failed:
        soac.compile(text).call("main", (XS, 3))
    assert [call.line for call in failed.value.diagnostics[0].primary.loc.calls] == list(range(2, MAX_CALLS + 2))


def test_a_kernel_that_two_calls_share_says_what_both_have() -> None:
    """No kernel is emitted twice for the sake of what it says."""
    text = """\
def get (xs: []i32) (i: i64) = xs[i]
def all (xs: []i32) (is: []i64) = map (\\i -> get xs i) is
entry first (xs: []i32) (is: []i64) = all xs is
entry second (xs: []i32) (is: []i64) = all xs is
"""
    compiled = compile_prog(text, "f.soac")
    assert len(compiled.host.kernels) == 1
    program = Executable.build(compiled.host, compiled.core.functions)
    for entry in ("first", "second"):
        with pytest.raises(RunError) as failed:
            program.run(entry, (XS, np.array([3])))
        assert calls_of(failed.value) == ["2:46"]


def test_entries_that_are_called_share_no_kernels() -> None:
    """They are lowered one by one."""
    text = """\
def get (xs: []i32) (i: i64) = xs[i]
entry first (xs: []i32) (is: []i64) = map (get xs) is
entry second (xs: []i32) (is: []i64) = map (get xs) is
"""
    program = soac.compile(text)
    for line, entry in ((2, "first"), (3, "second")):
        with pytest.raises(RunError) as failed:
            program.call(entry, (XS, np.array([3])))
        assert [call.partition(":")[0] for call in calls_of(failed.value)] == [str(line)]


def test_only_what_may_fail_has_calls() -> None:
    prog = compile_prog("def f (xs: []i32) = map (/ 2) (map (+ xs[0]) xs)\nentry main xs = f xs", "f.soac").core
    assert [type(stm.exp).__name__ for fun in prog.functions for stm in fun.body.stms if stm.loc.calls] == ["Index"]
