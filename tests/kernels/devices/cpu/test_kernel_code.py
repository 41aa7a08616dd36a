"""Kernels are compiled when they are first launched, and found again afterwards."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import soac
from soac.frontend.source.text import Reach
from soac.kernels.devices import disk_cache as disk
from soac.kernels.devices.cpu import kernel_code
from soac.kernels.devices.cpu.by_entry import ByEntry
from soac.kernels.devices.cpu.executable import Executable, Runner
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cpu.runtime.functions import NEED
from soac.kernels.schedule import host_builder

TEXT = """
entry sums [n][m] (xss: [n][m]f32): [n]f32 = map (reduce (+) 0) xss
entry twice [n] (xs: [n]i32): [n]i32 = map (2 *) xs
"""
XSS = np.arange(12, dtype=np.float32).reshape(3, 4)
SUMS = [6.0, 22.0, 38.0]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The kernels compiled so far; the cache is empty at first."""
    names: list[str] = []
    real = kernel_code.compiled

    def noting(code: kernel_code.KernelCode, name: str, far: bool) -> jit.CompiledKernels:
        names.append(f"{name} far" if far else name)
        return real(code, name, far)

    own = disk.Cache(tmp_path / "cache")
    monkeypatch.setattr(jit, "user_cache", lambda: own)
    monkeypatch.setattr(kernel_code, "compiled", noting)
    return names


def test_a_program_that_is_loaded_has_no_kernels(made: list[str]) -> None:
    program = soac.compile(TEXT)
    assert made == []
    assert program.twice(np.array([1, 2], np.int32)).tolist() == [2, 4]
    (first,) = made
    assert first.startswith("twice")
    program.twice(np.array([3], np.int32))
    assert made == [first]


def test_the_form_for_large_results_is_compiled_when_one_is_made(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_builder, "FAR_BYTES", 1 << 10)
    program = soac.compile(TEXT)
    for size, count in ((16, 1), (1024, 2), (16, 2), (4096, 2)):
        xs = np.arange(size, dtype=np.int32)
        assert program.twice(xs).tolist() == (2 * xs).tolist()
        assert len(made) == count
    assert made[1] == f"{made[0]} far"
    with soac.compile(TEXT).settings(threads=2) as again:
        assert again.twice(np.arange(1024, dtype=np.int32))[-1] == 2046
    assert len(made) == 2


def test_each_version_is_compiled_when_it_is_chosen(made: list[str]) -> None:
    program = soac.compile(TEXT)
    (guard,) = [site.thresholds[0] for site in program.facts.sites if "outer" in site.thresholds[0]]
    for taken in (True, False, True, False):
        assert program.call("sums", [XSS], forced={guard: taken})[0].tolist() == SUMS
    assert len(made) == len(set(made)) >= 2


@pytest.mark.parametrize("runner", list(Runner))
def test_every_runner_compiles_on_demand(made: list[str], runner: Runner) -> None:
    compiled = soac.compile(TEXT).compiled
    program = Executable.build(compiled.host, compiled.core.functions, runner=runner)
    assert program.run("sums", [XSS])[0][0].tolist() == SUMS
    assert 1 <= len(made) < len(compiled.host.kernels)


def test_complete_leaves_nothing_to_compile(made: list[str]) -> None:
    program = soac.compile(TEXT)
    names = list(program.executable.complete("sums"))
    assert names == made
    assert all(name.startswith("sums") for name in names)
    guards = [name for site in program.facts.sites for name in site.thresholds]
    for taken in (True, False):
        program.call("sums", [XSS], forced=dict.fromkeys(guards, taken))
    assert made == names


def test_a_stored_program_finds_its_kernels(made: list[str], tmp_path: Path) -> None:
    file = tmp_path / "p.soac"
    file.write_text(TEXT)
    for _ in range(2):
        assert soac.load(file).sums(XSS).tolist() == SUMS
    assert len(made) == len(set(made))
    soac.load(file).twice(np.array([1], np.int32))  # has never run: the program is compiled for it
    assert len(made) == len(set(made))


def test_an_import_that_changed_meanwhile_is_an_error(made: list[str], tmp_path: Path) -> None:
    library, file = tmp_path / "lib.soac", tmp_path / "p.soac"
    library.write_text("def twice (x: i32) = 2 * x\n")
    file.write_text('import "lib"\nentry a (xs: []i32) = map twice xs\nentry b (xs: []i32) = map (+ 1) xs\n')
    xs = np.array([1, 2], np.int32)
    soac.load(file).a(xs)
    program = soac.load(file)
    library.write_text("def twice (x: i32) = 3 * x\n")
    assert program.a(xs).tolist() == [2, 4]
    with pytest.raises(soac.SoacError, match=r"lib\.soac` changed after the program was loaded"):
        program.b(xs)
    assert soac.load(file).a(xs).tolist() == [3, 6]


@pytest.mark.parametrize("fault", [RuntimeError("no code"), KeyboardInterrupt(), MemoryError("for LLVM")])
@pytest.mark.parametrize("prepared", [True, False])
def test_a_kernel_without_code_ends_the_call(
    monkeypatch: pytest.MonkeyPatch, fault: BaseException, prepared: bool
) -> None:
    def fail(code: kernel_code.KernelCode, name: str, far: bool) -> NoReturn:
        raise fault

    program = soac.compile(TEXT)
    xs = np.array([1, 2], np.int32)
    call = (lambda: program.twice(xs)) if prepared else (lambda: program.call("twice", [xs], threads=1))
    with monkeypatch.context() as broken:
        broken.setattr(kernel_code, "stored", lambda code, name, far: None)
        broken.setattr(kernel_code, "compiled", fail)
        for _ in range(2):
            with pytest.raises((type(fault), soac.SoacError)):
                call()
    result = call()
    assert np.asarray(result).reshape(-1).tolist() == [2, 4]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_time_limit_that_ends_the_callback_before_it_begins() -> None:
    """An asynchronous exception may strike anywhere: then there is no code, and no garbage is called."""

    def struck(which: int, state: int, table: int, blocks: int) -> None:
        raise TimeoutError

    program = soac.compile(TEXT)
    assert isinstance(program.executable, ByEntry)
    entry = program.executable.whole("twice").native.entries["twice"]
    real, entry.kernels.need = entry.kernels.need, NEED(struck)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            program.call("twice", [np.array([1, 2], np.int32)], threads=1)
    entry.kernels.need = real
    entry.idle.clear()
    assert program.call("twice", [np.array([1, 2], np.int32)], threads=1)[0].tolist() == [2, 4]


def test_threads_that_need_the_same_kernel(made: list[str]) -> None:
    program, xs = soac.compile(TEXT), np.arange(1000, dtype=np.int32)
    results: list[bool] = []
    start = threading.Barrier(4)

    def run() -> None:
        start.wait()
        results.append(bool((program.call("twice", [xs], threads=1)[0] == 2 * xs).all()))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


def test_equal_kernels_of_two_programs_share_an_object(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The second program's kernel is printed, and found by its text."""
    asked: list[int] = []
    real = jit.compile_object
    monkeypatch.setattr(jit, "compile_object", lambda *args: asked.append(1) or real(*args))
    for text in (TEXT, TEXT + "-- another program\n"):
        soac.compile(text, "<text>", reach=Reach.PROJECT).twice(np.array([1], np.int32))
    assert len(made) == 2
    kernels = len(asked) - 1  # the host functions are one module, equal too
    assert kernels == 1


def test_a_copy_without_code_ends_the_call() -> None:
    """In a process of its own: copies are compiled once in a process."""
    code = """if True:
        import numpy, soac
        from soac.kernels.devices.cpu.runtime import functions
        program = soac.compile("entry main [n][m] (xss: [n][m]i16): [m][n]i16 = transpose xss")
        real, xss = functions.bulk_code, numpy.arange(6, dtype=numpy.int16).reshape(2, 3)
        def fail(name, effort):
            raise KeyboardInterrupt(name)
        functions.bulk_code = fail
        for _ in range(2):
            try:
                program.main(xss)
            except KeyboardInterrupt:
                print("stopped")
        functions.bulk_code = real
        print(program.main(xss).tolist())"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == ["stopped", "stopped", "[[0, 3], [1, 4], [2, 5]]"]


def test_nothing_runs_on_a_copy_that_was_not_made() -> None:
    """The counters of a scan in one pass are filled by a copy: without it, blocks would go by garbage."""
    code = """if True:
        import numpy, soac
        from soac.kernels.devices.cpu.runtime import functions
        text = "entry main [n] (k: i32) (xs: [n]i32): i32 = i32.sum (loop ys = copy xs for i < k do scan (+) i ys)"
        program, real = soac.compile(text), functions.bulk_code
        small = {name: 1024 for name in program.params if "chunk" in name}
        xs = numpy.ones(200_000, numpy.int32)
        def fail(name, effort):
            raise KeyboardInterrupt(name)
        functions.bulk_code = fail
        for _ in range(20):
            try:
                program.call("main", [numpy.int32(50), xs], small, threads=1)
            except KeyboardInterrupt as reason:
                print(reason)
        functions.bulk_code = real
        print(program.call("main", [numpy.int32(1), xs], threads=1)[0])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    names = done.stdout.split()
    assert len(names) == 21
    assert names[-1] == str((np.cumsum(np.ones(200_000, np.int32)).sum()).astype(np.int32))


def test_nothing_is_called_after_a_copy_that_was_not_made() -> None:
    """A recursion that launches nothing would go on for years."""
    code = """if True:
        import numpy, soac
        from soac.kernels.devices.cpu.runtime import functions
        text = "def f [n] (xss: [n][n]i16) (k: i64): i16 = "
        text += "if k == 0 then xss[0, 1] else f (transpose xss) (k - 1) + f xss (k - 1)"
        program = soac.compile(text + " entry main [n] (xss: [n][n]i16): i16 = f xss 60")
        def fail(name, effort):
            raise KeyboardInterrupt(name)
        functions.bulk_code = fail
        try:
            program.main(numpy.ones((9, 9), numpy.int16))
        except KeyboardInterrupt:
            print("stopped")"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "stopped\n"
