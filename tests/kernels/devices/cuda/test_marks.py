"""Timed runs on a GPU: events in the stream instead of waits, read once, and what becomes of failures and stops."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from soac.arguments import to_arguments
from soac.autotune.isolated import Message, Spoken
from soac.autotune.measure import UNTUNED, Version, measure
from soac.autotune.observe import Key, Status
from soac.ir.errors import RunError
from soac.ir.machine import CUDA
from soac.kernels.devices.cpu.runtime import thread_pool
from soac.kernels.devices.cuda.driver import DriverMemoryError, GpuLost
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.marks import FEWEST
from soac.kernels.host_ir.timing_events import (
    Begin,
    Careful,
    End,
    Event,
    Note,
    Outline,
    Whole,
    executions,
    whole_of,
)
from soac.pipeline import Compiled, compile_prog
from tests.kernels.devices.cuda.test_graphs import turns
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER
from tests.support.null_driver import NullDriver, null_gpu

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")

SOURCE = """
entry two [n][m] (xss: [n][m]i32): ([n]i32, [n]i32) =
  let xs = map i32.sum xss
  let ys = #[opaque] map2 (\\x ys -> i32.sum (map (* x) ys)) xs xss
  in (xs, ys)
entry looped [n][m] (k: i64) (xss: [n][m]i32): i32 =
  #[flattening(no_intra)] loop s = 0 for i < k do s + i32.sum (map i32.sum xss[: i % n])
entry chained [n][m] (k: i64) (xss: [n][m]i32): [n]i32 =
  #[flattening(no_intra)] loop xs = replicate n 1 for _i < k do
    let ys = #[opaque] map (+ 1) xs
    let zs = #[opaque] rotate 1 ys
    in map2 (\\z xs -> i32.sum (map (\\x -> (x + z) % 7) xs)) zs xss
entry gathered [n][m] (xss: [n][m]i32) (is: [n]i64): ([n]i32, [n]i32) =
  let xs = map i32.sum xss
  let ys = #[opaque] map2 (\\i ys -> i32.sum (map (* xs[i]) ys)) is xss
  let zs = #[opaque] map2 (\\y ys -> i32.sum (map (* y) ys)) ys xss
  in (ys, zs)
entry endless [n] (xs: [n]i64) (k: i64): [n]i64 = loop xs for i < k do #[opaque] map (+ i) xs
"""
XSS = np.ones((30, 50), np.int32)
both = pytest.mark.parametrize("compiled_host", [True, False], ids=["compiled", "python"])


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_prog(SOURCE, "marks.soac", machine=CUDA)


def null(compiled: Compiled, compiled_host: bool) -> tuple[CudaExecutable, NullDriver]:
    """By the clock of its driver a launch takes a second."""
    gpu, driver = null_gpu(compiled_host)
    return CudaExecutable.build(compiled.host, compiled.core.functions, gpu), driver


def waits(program: CudaExecutable, driver: NullDriver, entry: str, args: list[Any], log: list[Event] | None) -> int:
    """How often a run waits for the device."""
    before = driver.counts[1]
    program.run(entry, args, convert=to_arguments, log=log)
    return driver.counts[1] - before


# ---- what is asked of the driver -----------------------------------------------------------------------------------


@both
def test_a_timed_run_waits_no_more_than_another(compiled: Compiled, compiled_host: bool) -> None:
    """It waited at each begin and end of a branch, and took the time of the host."""
    program, driver = null(compiled, compiled_host)
    log: list[Event] = []
    assert waits(program, driver, "two", [XSS], log) == waits(program, driver, "two", [XSS], None) == 1
    assert driver.readings == 1
    first, second = (event.threshold for event in log if isinstance(event, Note))
    assert log == [
        Note(first, 30, False), Begin((first,), 0.0), End(1.0),
        Note(second, 30, False), Begin((second,), 1.0), End(2.0), Whole(2.0),
    ]  # fmt: skip


@both
def test_an_outline_is_the_whole_run_alone(compiled: Compiled, compiled_host: bool) -> None:
    program, _ = null(compiled, compiled_host)
    log = Outline()
    program.run("two", [XSS], convert=to_arguments, log=log)
    assert log == [Whole(2.0)]


@both
def test_a_careful_run_waits_at_each_mark(compiled: Compiled, compiled_host: bool) -> None:
    program, driver = null(compiled, compiled_host)
    log = Careful()
    assert waits(program, driver, "two", [XSS], log) == 5
    assert (driver.readings, whole_of(log)) == (0, None)
    assert [type(event) for event in log] == 2 * [Note, Begin, End]


@both
def test_no_time_passes_where_nothing_is_launched(compiled: Compiled, compiled_host: bool) -> None:
    program, _ = null(compiled, compiled_host)
    log: list[Event] = []
    program.run("two", [XSS[:0]], convert=to_arguments, log=log)
    assert [one.seconds for one in executions(log, 0.0)] == [0.0, 0.0]
    assert whole_of(log) == 0.0


@both
def test_thousands_of_marks(compiled: Compiled, compiled_host: bool) -> None:
    """The events of a run are used again by the next one. A turn without rows has a launch less."""
    program, driver = null(compiled, compiled_host)
    for k in (3000, 3000, 7):
        log: list[Event] = []
        program.run("looped", [np.int64(k), XSS], convert=to_arguments, log=log)
        whole = whole_of(log)
        assert whole is not None
        found = executions(log, whole)
        assert len(found) == k
        assert [one.pars for one in found[:3]] == [(0,), (1,), (2,)]
        assert all(one.seconds == 1 + (one.pars[0] > 0) for one in found)
        times = [event.at for event in log if isinstance(event, Begin | End)]
        assert times == sorted(times)
        assert times[-1] <= whole
    assert 6002 <= driver.made_events <= 2 * 6002
    assert driver.made_events % FEWEST == 0
    assert driver.readings == 3


@both
@pytest.mark.parametrize("several", [1, 4])
def test_a_graph_ends_at_a_mark(compiled: Compiled, compiled_host: bool, several: int) -> None:
    """What was launched before is in the stream before the event is, in a graph or not."""
    program, driver = null(compiled, compiled_host)
    log: list[Event] = []
    for _ in range(3):
        log.clear()
        program.run("chained", [np.int64(9), XSS], turns(compiled.host, several), convert=to_arguments, log=log)
    whole = whole_of(log)
    assert whole is not None
    assert [one.seconds for one in executions(log, whole)] == 9 * [1.0]
    assert (driver.made > 0) == (compiled_host and several > 1)


def test_no_room_for_events_fails_the_call(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which begins with some; without a log it runs as before."""
    program, _ = null(compiled, True)

    def refuse(driver: NullDriver, count: int) -> list[int]:
        raise DriverMemoryError(f"{count} events")

    program.run("looped", [np.int64(3), XSS], convert=to_arguments, log=[])
    monkeypatch.setattr(NullDriver, "make_events", refuse)
    args = [np.int64(40), XSS]
    with pytest.raises(RunError, match=f"{FEWEST} events"):
        program.run("looped", args, convert=to_arguments, log=[])
    program.run("looped", args, convert=to_arguments)


# ---- failures and stops --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Runs:
    """Runs of an entry, as the search makes them; `logs` of what kind."""

    program: CudaExecutable
    entry: str
    args: list[Any]
    logs: list[type]

    def run(self, case: int, version: Version, log: list[Event]) -> Any:
        self.logs.append(type(log))
        return self.program.run(self.entry, self.args, {}, version.forced, convert=to_arguments, log=log)[0]

    def prepare(self, case: int, version: Version) -> Callable[[], object]:
        return lambda: pytest.fail("a brief run is timed by the host")

    def check(self, case: int, version: Version, results: Any) -> None: ...


def emulated(compiled: Compiled, compiled_host: bool) -> CudaExecutable:
    gpu = emulated_gpu(EmulatedDriver(compiled_host=compiled_host))
    return CudaExecutable.build(compiled.host, compiled.core.functions, gpu, 64)


@needs_compiler
@both
@pytest.mark.parametrize("at", [0, 7])
def test_a_failure_is_that_of_its_branch(compiled: Compiled, compiled_host: bool, at: int) -> None:
    """The host sees it when all branches have ended; the run is made again, waiting for each."""
    runs = Runs(emulated(compiled, compiled_host), "gathered", [XSS[:5], np.array([0, 1, at, 2, 3])], [])
    record = measure(runs, 0, UNTUNED, 2, None)
    names = [key.thresholds[0] for key in record.piece.guards]
    outcomes = [piece.status for piece in record.piece.guards.values()]
    if at == 0:
        assert (record.status, outcomes) == (Status.ENDED, 3 * [Status.ENDED])
        assert Careful not in runs.logs
        return
    assert (record.status, record.piece.status) == (Status.FAILED, Status.CUT)
    assert "index [7] out of bounds" in record.reason
    assert outcomes == [Status.ENDED, Status.FAILED]
    assert [name.split(".")[1] for name in names] == ["xs", "ys"]
    assert runs.logs == [list, Careful]


@needs_compiler
@both
def test_times_of_versions(compiled: Compiled, compiled_host: bool) -> None:
    """By the device's clock the parts are at most the whole, which a brief run takes from one without marks."""
    runs = Runs(emulated(compiled, compiled_host), "two", [XSS], [])
    names = [event.threshold for event in noted(runs)]
    record = measure(runs, 0, Version(dict.fromkeys(names, True), {}), 2, None)
    assert set(record.piece.guards) == {Key((name,), (30,), True) for name in names}
    assert sum(piece.seconds for piece in record.piece.guards.values()) > 0
    assert all(0 < seconds < 1 for seconds in (*record.samples, *record.untuned))


def noted(runs: Runs) -> list[Note]:
    log: list[Event] = []
    runs.run(0, UNTUNED, log)
    return [event for event in log if isinstance(event, Note)]


@both
@pytest.mark.parametrize("kind", [list, Outline, Careful])
def test_a_run_that_is_stopped_has_the_time_until_then(
    compiled: Compiled, compiled_host: bool, kind: type[list[Event]]
) -> None:
    """Also where Python runs the loop, which did not look for it."""
    program, driver = null(compiled, compiled_host)
    log, before = kind(), driver.counts[0]
    timer = threading.Timer(0.2, thread_pool.request_stop)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        program.run("endless", [np.arange(3), np.int64(1 << 60)], convert=to_arguments, log=log)
    assert whole_of(log) == (None if kind is Careful else driver.counts[0] - before)
    assert len(program.run("endless", [np.arange(3), np.int64(2)], convert=to_arguments)[0]) == 1


@both
def test_the_search_stops_a_run(compiled: Compiled, compiled_host: bool) -> None:
    program, _ = null(compiled, compiled_host)
    record = measure(Runs(program, "endless", [np.arange(3), np.int64(1 << 60)], []), 0, UNTUNED, 2, 0.2)
    assert (record.status, record.seconds) == (Status.STOPPED, math.inf)
    assert record.samples[0] == int(record.samples[0]) > 100  # launches


@needs_compiler
@both
def test_what_a_fault_ends_was_said_to_begin(compiled: Compiled, compiled_host: bool) -> None:
    """Compiled host programs gave their log when they had ended, which a fault leaves no time for."""
    program = emulated(compiled, compiled_host)
    said: list[Message] = []
    driver = program.gpu.driver
    assert isinstance(driver, EmulatedDriver)
    driver.broken = "an illegal memory access was encountered"
    with pytest.raises(GpuLost):
        program.run("two", [XSS], convert=to_arguments, log=Spoken(said.append))
    assert [key for message in said for key in message] == ["note", "begin"]
