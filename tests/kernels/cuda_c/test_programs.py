"""CUDA C without a GPU: it compiles for sm_90, is clean in the tracer, and emulated it gives what the interpreter does.

A sample of the corpus and of random programs, other ones every day; all: `tests.support.emulator.check --all`.
"""

from __future__ import annotations

import datetime
import itertools
import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from soac.ir.core import Level
from soac.ir.errors import Loc
from soac.ir.machine import CPU
from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.cuda_c.module import CudaKernel, cuda_kernel
from soac.kernels.devices.cuda.nvrtc import NoCompiler, nvrtc
from soac.kernels.devices.cuda.ptxas_report import Resources, parsed
from soac.kernels.devices.device import KernelFailure
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, KLet, KLoad, KVar, Space
from soac.kernels.passes.pipeline import CUDA_PASSES, Passes, ready
from soac.kernels.tracer.run import trace_kernel
from tests.support.emulator import check, checks, subjects
from tests.support.emulator.emulate import COMPILER, build

ROOT = Path(__file__).parents[3]
CONFORMANCE = ROOT / "tests" / "conformance"
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
FIXED = [
    ROOT / "programs" / f"{name}.soac"
    for name in ("sumrows", "rowscan", "p08_map_loop", "p14_tiling", "p15_segscatter")
]
FIXED += [CONFORMANCE / f"{name}.fut" for name in ("nests/string_search", "numbers/grouping")]
SAMPLE, RANDOM = 6, 2
DURATIONS = json.loads((ROOT / "tests" / "durations.json").read_text(encoding="utf-8"))
ACCEPTED = "tests/conformance/test_conformance.py::test_accepted[{}]"
LIGHT = [
    path
    for path in subjects.corpus()
    if path.suffix == ".fut" and DURATIONS.get(ACCEPTED.format(path.relative_to(CONFORMANCE).with_suffix("")), 0) < 1
]
"""The benchmarks, and programs that another test takes a second for, are for the command."""


def today(count: int) -> int:
    """Where the sample of a day starts, of `count` each day."""
    return datetime.date.today().toordinal() * count


def of_today(paths: list[Path], count: int) -> list[Path]:
    return [paths[(today(count) + k) % len(paths)] for k in range(count)]


def test_this_machine_can_check_everything() -> None:
    """What is missing is said once, and loudly; the other tests then check less."""
    try:
        nvrtc()
    except NoCompiler as why:
        pytest.skip(f"kernels are not compiled for a GPU here: {why}")
    if COMPILER is None:
        pytest.skip("kernels are not emulated here: there is no g++ or clang++")


@pytest.fixture(autouse=True)
def _in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a program with many runs those that there is time for; the command does them all."""
    monkeypatch.setattr(checks, "PROGRAM_SECONDS", 8.0)
    monkeypatch.setattr(subjects, "RANDOM_SECONDS", 1.0)


@pytest.mark.parametrize("path", FIXED + of_today(LIGHT, SAMPLE), ids=lambda path: path.stem)
def test_program(path: Path) -> None:
    found = checks.check(subjects.of_file(path))
    assert not found.faults, "\n".join(found.faults[:10])
    assert all(one.registers > 0 for one in found.kernels.values())


@pytest.mark.parametrize("number", [today(RANDOM) % 100_000 + k for k in range(RANDOM)])
def test_random_program(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose cases all take long gives its place to the next one."""
    for name, seconds in (("TRACE_SECONDS", 2.0), ("PROGRAM_SECONDS", 2.0), ("CHECK_SECONDS", 4.0)):
        monkeypatch.setattr(checks, name, seconds)
    ones = (subjects.of_number(1, other) for other in itertools.count(number, RANDOM))
    found = checks.check(next(one for one in ones if one.calls))
    assert not found.faults, "\n".join(found.faults[:10])


@needs_compiler
def test_emulated_with_the_levels_of_the_cpu() -> None:
    """The schedules of the CPU have their CUDA C too."""
    found = checks.faults(ROOT / "programs" / "rowscan.soac", CPU)
    assert not found, "\n".join(found[:10])


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Outcomes as a table and as JSON; what this machine cannot do is said, and changes the exit code. The same command
    goes on from the file, where the sources are the same."""
    monkeypatch.setattr(check, "digest", lambda _folders=(): "these sources")
    file = tmp_path / "found.json"
    program = ROOT / "programs" / "dotprod.soac"
    monkeypatch.setattr("sys.argv", ["check", str(program), "--random", "1", "--json", str(file)])
    code = check.main()
    said = capsys.readouterr().out
    assert code == (0 if "LEFT OUT" not in said else 3)
    assert "2 programs (0 as before), 0 with faults" in said
    report = json.loads(file.read_text())
    assert set(report["programs"]) == {"programs/dotprod.soac", "random 1 0"}
    dotprod = report["programs"]["programs/dotprod.soac"]
    assert dotprod["traced"] > 0
    assert (dotprod["not_traced"], dotprod["skipped"]) == ([], [])
    assert check.main() == code
    again = capsys.readouterr().out
    assert "dotprod.soac:" not in again
    assert "2 programs (0 as before), 0 with faults" in again
    monkeypatch.setattr(check, "digest", lambda folders=(): "these sources" if folders == check.RUNNERS else "others")
    assert check.main() == code
    assert "2 programs (2 as before), 0 with faults" in capsys.readouterr().out
    monkeypatch.setattr(check, "digest", lambda _folders=(): "others")
    assert check.begun(file).earlier == {}


def test_a_process_that_ends_is_a_fault_of_its_program() -> None:
    worker = check.Worker()
    missing = check.Asked("no such file", Path("no_such.soac"), 0, 0)
    worker.started()
    os.kill(worker.process.pid, signal.SIGKILL)
    worker.process.join()
    assert worker.check(missing, frozenset(), None).faults == ["the process that ran it has ended with -9"]
    assert worker.check(missing, frozenset(), None).faults[0].startswith("Traceback")
    worker.stop()


@needs_compiler
def test_the_command_finds_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "wrong.soac"
    program.write_text("-- ==\n-- input { [1, 2] }\ndef main [n] (xs: [n]i32): [n]i32 = map (+ 1) xs\n")
    subject = subjects.of_file(program)
    (call,) = subject.calls
    assert not checks.check(subject).faults
    wrong = subjects.Call(call.entry, call.label, call.args, [np.array([2, 4], np.int32)])
    (fault, *_) = checks.check(replace(subject, calls=(wrong,))).faults
    assert "result 0: at [1] expected 4i32, got 3i32" in fault


def texts_of(subject: subjects.Subject) -> dict[str, CudaKernel]:
    return {kernel.name: cuda_kernel(kernel) for kernel in checks.ready_kernels_of(subject)}


@needs_compiler
def test_register_tiles_of_each_size_are_launched() -> None:
    """Forced, and so wide that there is a whole tile along both dimensions. Tiles of shares are for longer rows."""
    subject = replace(subjects.of_file(ROOT / "programs" / "p09_matmul.soac"), calls=())
    assert {one.each for one, _ in subject.wide} == {8, 4, 2}
    sides = [(one.each, np.size(call.args[0], 0), np.size(call.args[1], 1)) for one, call in subject.wide]
    assert all(min(rows, columns) > 16 * each for each, rows, columns in sides)
    texts, found = texts_of(subject), checks.Outcome()
    of_size = {(entry, each): f"{each} x {each} results" for entry in ("main", "nested") for each in (8, 4, 2)}
    tiled = [
        {name for name, text in texts.items() if name.startswith(entry) and says in text.text}
        for (entry, _), says in of_size.items()
    ]
    checks.emulate(subject, found, [5])
    assert not found.faults
    assert all(names - set(found.not_emulated) for names in tiled)


@needs_compiler
def test_small_cases_reach_chains_and_chunks(tmp_path: Path) -> None:
    """What launches these has the kernels of the program, but for the length of their tiles."""
    program = tmp_path / "long.soac"
    cases = "-- ==\n-- input { [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]] }\n"
    program.write_text(cases + "def main [n][m] (xss: [n][m]i32): ([n][m]i32, [n]i32) =\n"
                       "  (map (scan (+) 0) xss, map (reduce (+) 0) xss)\n")  # fmt: skip
    found = checks.check(subjects.of_file(program))
    assert not found.faults
    assert found.not_traced == found.not_emulated == []
    texts = texts_of(subjects.of_file(program))
    assert any("decoupled" in text.text or "look back" in text.text for text in texts.values())
    assert any("_combine_" in name for name in texts)


def test_runs_that_launch_a_kernel_first() -> None:
    """Those alone are traced, and emulated in further orders, where a program is compiled again for some kernels."""
    runs = [checks.Key(name, ("main",), ()) for name in "abcd"]
    launched = dict(zip(runs, map(frozenset, (["x"], ["x", "y"], ["y", "other"], ["z"])), strict=True))
    assert checks.firsts(launched, frozenset("xy")) == {runs[0], runs[1]}
    assert checks.firsts(launched, frozenset("z")) == {runs[3]}
    assert checks.firsts(launched, frozenset()) == frozenset()


def test_slower_cases_are_left_out_when_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quickest case of a version is run first, and in any case; of others there are numbers."""
    subject = subjects.of_file(ROOT / "programs" / "sumrows.soac")
    seconds = [call.seconds for call in subject.calls]
    assert seconds == sorted(seconds)
    versions = {(run.call.entry, *run.forced.items()) for run in checks.runs(subject, set())}
    monkeypatch.setattr(checks.time, "process_time", iter(range(10**6)).__next__)
    found = checks.Outcome()
    monkeypatch.setattr(checks, "PROGRAM_SECONDS", 1e5)
    every = list(checks.in_time(subject, set(), found, "run"))
    assert len(every) > len(versions)
    assert (found.slower, found.skipped) == (0, [])
    monkeypatch.setattr(checks, "PROGRAM_SECONDS", 0.9)
    kept = list(checks.in_time(subject, set(), found, "run"))
    assert found.slower + len(found.skipped) + len(kept) == len(every)
    assert found.slower > 0
    monkeypatch.setattr(checks, "PROGRAM_SECONDS", 1e5)
    assert len(list(checks.in_time(replace(subject, seconds=0.9), set(), checks.Outcome(), "run"))) == len(kept)


def test_what_the_assembler_reports() -> None:
    log = """
ptxas info    : Compiling entry function 'spills' for 'sm_90'
ptxas info    : Function properties for spills
ptxas         .     160 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 160 bytes cumulative stack size, 1200 bytes smem
ptxas info    : Compiling entry function 'small' for 'sm_90'
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""
    assert parsed(log) == {"spills": Resources(64, 8, 12, 160, 1200, 1), "small": Resources(8, 0, 0, 0, 0, 0)}
    assert [one.spills for one in parsed(log).values()] == [True, False]


# ---- the emulator tells what is wrong ----------------------------------------------------------------------------

AT, J, N, B = KVar("i", Prim.I64), KVar("j", Prim.I64), KVar("n", Prim.I64), KVar("b", Prim.I64)
X, Y = KVar("x", Prim.I32), KVar("y", Prim.I32)
IN, OUT = KArray("xs", Prim.I32, Space.GLOBAL), KArray("ys", Prim.I32, Space.GLOBAL)


def reversal() -> kir.Kernel:
    """ys[i] = xs[n-1-i], by way of shared memory; the fence is left to be placed."""
    shared, at, last = KArray("s", Prim.I32, Space.SHARED), KVar("at", Prim.I64), KVar("last", Prim.I64)
    read = (KLet(at, kir.KOp(Op.SUB, Prim.I64, (last, J))), KLet(Y, KLoad(shared, at)), kir.Store(OUT, J, Y))
    body = (
        KLet(last, kir.KOp(Op.SUB, Prim.I64, (N, i64(1)))),
        kir.Alloc(shared, i64(100)),
        kir.Threads(AT, i64(0), N, (KLet(X, KLoad(IN, AT)), kir.Store(shared, AT, X))),
        kir.Threads(J, i64(0), N, read),
    )
    return kir.Kernel("reversal", B, (IN, OUT), (N,), body, (), Level.BLOCK)


def reversed_in(order: int, passes: Passes = CUDA_PASSES, kernel: kir.Kernel | None = None) -> bool:
    xs, ys = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    build((kernel or reversal(),), passes=passes).launch("reversal", 1, [xs, ys], [100], order)
    return np.array_equal(ys, xs[::-1])


@needs_compiler
@pytest.mark.parametrize("order", [0, 1, 7])
def test_fences_are_placed(order: int) -> None:
    assert reversed_in(order)


@needs_compiler
def test_orders_tell_a_missing_fence() -> None:
    assert not all(reversed_in(order, passes=()) for order in (0, 1, 7))


def reversal_and_more() -> kir.Kernel:
    """ys[i] = xs[n-1-i], and another array is filled: of sizes that are not known, they share memory."""
    last, _, *reverses = reversal().body
    s, t = (KArray(name, Prim.I32, Space.SHARED) for name in "st")
    fills = (kir.Alloc(t, N), kir.Threads(AT, i64(0), N, (kir.Store(t, AT, Const(Prim.I32, -1)),)))
    lists = (kir.KIf(Const(Prim.BOOL, True), own, ()) for own in ((kir.Alloc(s, N), *reverses), fills))
    return replace(reversal(), body=(last, *lists))


@needs_compiler
@pytest.mark.parametrize("waits", [True, False])
def test_memory_of_a_block_is_taken_again(monkeypatch: pytest.MonkeyPatch, waits: bool) -> None:
    """Not before all threads have done with it: where the placing of fences takes each array to have memory of its own,
    an order of threads tells, and the tracer."""
    if not waits:
        monkeypatch.setattr("soac.kernels.analysis.accesses.is_on_block_stack", lambda stm: False)
    assert all(reversed_in(order, kernel=reversal_and_more()) for order in (0, 1, 7)) is waits
    arrays = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    assert trace_kernel(ready(reversal_and_more(), CUDA_PASSES), arrays, [100], 1).is_clean is waits


@needs_compiler
def test_a_failing_check_ends_the_launch() -> None:
    sites = (kir.FailureSite("R0101", Loc("f", 1, 1, 1, 1), ("index ", Prim.I64, " of ", Prim.I64)),)
    body = (kir.BoundsCheck(AT, N, 0, (AT, N)), KLet(X, KLoad(IN, AT)), kir.Store(OUT, AT, X))
    kernel = kir.Kernel("checked", B, (IN, OUT), (N,), (kir.Threads(AT, i64(0), i64(9), body),), sites, Level.BLOCK)
    xs, ys = np.arange(9, dtype=np.int32), np.zeros(9, np.int32)
    with pytest.raises(KernelFailure) as failed:
        build((kernel,)).launch("checked", 1, [xs, ys], [5], 0)
    assert failed.value.values == (5, 5)
