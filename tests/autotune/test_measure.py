"""Timed runs: what both runners of host programs log, what becomes of failures, and numbers."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import soac
from soac.autotune.measure import UNTUNED, OutOfBudget, Version, deadline, drift, goes_on, interval, measure
from soac.autotune.model import FAILS, Guard, Side
from soac.autotune.observe import Key, Status, piece_from_data, piece_of, piece_to_data, side_of
from soac.ir.errors import NOWHERE, Diagnostic, Label, RunError
from soac.ir.version_tree import sites
from soac.kernels.devices.cpu.executable import Executable, Runner
from soac.kernels.host_ir.timing_events import (
    Begin,
    Careful,
    End,
    Event,
    Execution,
    Note,
    Outline,
    Whole,
    executions,
)
from soac.reports.timing import Effort, race
from soac.testing.references import outer_only, reference
from soac.tuning.runs import Subject, in_time

ROWS = "def main [n][m] (xss: [n][m]i32): [n]i32 = map i32.sum xss"
LOOP = """
def main [n][m] (k: i32) (xss: [n][m]i32): i32 =
  #[flattening(no_intra)] loop s = 0 for i < k do s + i32.sum (map i32.sum xss[: i64.i32 i])
"""


def logged(text: str, args: Sequence[object], forced: dict[str, bool], runner: Runner) -> tuple[Execution, ...]:
    """The executions of a run."""
    compiled = soac.compile(text).compiled
    executable = Executable.build(compiled.host, compiled.core.functions, runner=runner)
    log: list[Event] = []
    start = time.monotonic()
    executable.run("main", args, {}, forced, 1, log=log)
    found = executions(log, time.monotonic())
    assert sum(one.seconds for one in found) <= time.monotonic() - start
    return found


@pytest.mark.parametrize("runner", list(Runner))
@pytest.mark.parametrize("side", [True, False])
def test_a_run_says_how_long_each_site_took(runner: Runner, side: bool) -> None:
    xss = np.ones((300, 5000), np.int32)
    (site,) = logged(ROWS, [xss], forced_of(ROWS, side), runner)
    assert (site.pars, site.taken, site.ended) == ((300,), side, True)
    assert 0 < site.seconds < 1


def forced_of(text: str, side: bool) -> dict[str, bool]:
    (site,) = sites(soac.compile(text).compiled.flat)
    return {site.name: side}


@pytest.mark.parametrize("runner", list(Runner))
def test_a_loop_meets_a_site_with_every_parallelism(runner: Runner) -> None:
    found = logged(LOOP, [np.int32(5), np.ones((9, 40), np.int32)], {}, runner)
    assert [one.pars for one in found] == [(0,), (1,), (2,), (3,), (4,)]


def test_events_make_a_tree() -> None:
    events = [
        Note("t", 8, True), Begin(("t",), 1.0), Note("u", 3, True), Note("v", 5, False), Begin(("u", "v"), 2.0),
        End(2.5), End(4.0), Note("w", 1, True), Begin(("w",), 5.0),
    ]  # fmt: skip
    first, second = executions(events, 7.0)
    assert (first.pars, first.taken, first.seconds, first.ended) == ((8,), True, 3.0, True)
    assert [(one.thresholds, one.pars, one.taken, one.seconds) for one in first.inner] == [
        (("u", "v"), (3, 5), False, 0.5)
    ]
    assert (second.seconds, second.ended) == (2.0, False)


def test_executions_of_equal_parallelism_are_one() -> None:
    one = Execution(("t",), (8,), True, 2.0, True, ())
    piece = piece_of(7.0, [one, one, Execution(("t",), (9,), False, 1.0, True, ())], Status.ENDED)
    assert piece.seconds == 2.0
    assert {key: inner.seconds for key, inner in piece.guards.items()} == {
        Key(("t",), (8,), True): 4.0,
        Key(("t",), (9,), False): 1.0,
    }
    assert piece_from_data(piece_to_data(piece)) == piece


def test_the_innermost_execution_is_to_blame() -> None:
    inner = Execution(("u",), (3,), True, 1.0, False, ())
    piece = piece_of(5.0, [Execution(("t",), (8,), False, 3.0, False, (inner,))], Status.FAILED)
    outer = piece.guards[Key(("t",), (8,), False)]
    assert (piece.status, outer.status, outer.guards[Key(("u",), (3,), True)].status) == (
        Status.CUT,
        Status.CUT,
        Status.FAILED,
    )


def test_pieces_of_several_runs_make_a_side() -> None:
    taken = piece_of(5.0, [Execution(("t",), (8,), True, 3.0, True, ())], Status.ENDED)
    refused = piece_of(9.0, [Execution(("t",), (8,), False, 7.0, True, ())], Status.ENDED)
    assert side_of([taken, refused]) == Side(2.0, (Guard(("t",), (8,), Side(3.0, ()), Side(7.0, ())),))
    assert side_of([taken]).guards[0].orelse.seconds == FAILS


# ---- repetitions ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Scripted:
    """A runner whose versions take their time, fail, or are wrong."""

    seconds: float = 0.0
    fails: bool = False
    is_wrong: bool = False
    ran: list[Version] = field(default_factory=list)
    checked: list[Version] = field(default_factory=list)
    called: list[Version] = field(default_factory=list)

    def run(self, case: int, version: Version, log: list[Event]) -> str:
        self.ran.append(version)
        if self.fails and version != UNTUNED:
            raise RunError(Diagnostic("R0301", "out of memory", Label(NOWHERE, "")))
        time.sleep(self.seconds)
        return "wrong" if self.is_wrong and version != UNTUNED else "right"

    def prepare(self, case: int, version: Version) -> Callable[[], object]:
        return lambda: self.called.append(version)

    def check(self, case: int, version: Version, results: str) -> None:
        self.checked.append(version)
        if results != "right":
            raise RunError(Diagnostic("T0206", "results depend on CHUNK", Label(NOWHERE, "")))


OTHER = Version({"t": True}, {})


def test_versions_take_turns_with_the_untuned_program() -> None:
    runner = Scripted(0.002)
    record = measure(runner, 0, OTHER, 4, None)
    assert len(record.samples) == len(record.untuned) >= 4
    assert runner.checked == [OTHER, UNTUNED]
    turns = runner.ran[2:]
    assert turns[:4] == [UNTUNED, OTHER, OTHER, UNTUNED]
    assert record.seconds == pytest.approx(0.002, rel=2)


def test_the_time_of_a_brief_run_is_that_of_the_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what its log takes; a long run is not made again."""
    monkeypatch.setattr("soac.autotune.measure.BRIEF", math.inf)
    runner = Scripted(0.001)
    record = measure(runner, 0, OTHER, 4, None)
    assert runner.called[::2] == runner.called[1::2] == runner.ran[2:]
    assert max(record.seconds, statistics.median(record.untuned)) < 0.0005
    assert record.piece.seconds <= record.seconds
    monkeypatch.setattr("soac.autotune.measure.BRIEF", 0.0)
    runner = Scripted(0.001)
    assert measure(runner, 0, OTHER, 4, None).seconds >= 0.001
    assert runner.called == []


@dataclass(slots=True)
class OnDevice(Scripted):
    """A runner whose device has a clock, by which marks take a tenth of a millisecond; it fails late."""

    logs: list[type] = field(default_factory=list)

    def run(self, case: int, version: Version, log: list[Event]) -> str:
        self.logs.append(type(log))
        if isinstance(log, Outline):
            log.append(Whole(0.0004))
            return "right"
        log += [Note("t", 8, True), Begin(("t",), 0.0)]
        if not isinstance(log, Careful):
            log += [End(0.0002), Whole(0.0005)]
        return Scripted.run(self, case, version, log)


def test_a_brief_run_on_a_device_with_a_clock_is_made_again_without_marks() -> None:
    runner = OnDevice()
    record = measure(runner, 0, OTHER, 4, None)
    assert set(record.samples) == set(record.untuned) == {0.0004}
    assert record.piece.seconds == pytest.approx(0.0002)
    assert [piece.seconds for piece in record.piece.guards.values()] == [0.0002]
    assert runner.called == []
    assert runner.logs == [list, list] + [list, Outline] * (len(record.samples) + len(record.untuned))


def test_a_late_failure_is_looked_for_by_waiting() -> None:
    runner = OnDevice(fails=True)
    record = measure(runner, 0, OTHER, 4, None)
    assert (record.status, runner.logs) == (Status.FAILED, [list, Careful])
    assert [piece.status for piece in record.piece.guards.values()] == [Status.FAILED]


def test_autotune_times_a_call_as_bench_does(tmp_path: Path) -> None:
    """What a call of some microseconds takes, and nothing of how the guards are logged."""
    program = soac.compile(ROWS)
    subject = Subject(
        tmp_path,
        program,
        "main",
        (),
        [args := [np.ones((50, 40), np.int32)]],
        [args],
        None,
        math.inf,
        {0: program.call("main", args)},
    )
    call = program.prepare("main")
    alone = race({"call": lambda: call(args)}, Effort(200, 0.0, 1.0, 200, 1.0))["call"]
    record = measure(subject, 0, UNTUNED, 40, None)
    assert record.seconds < 3 * alone.median


@pytest.mark.parametrize("seconds", [0.05, 0.15])
def test_repetitions_end_with_the_time_of_the_search(seconds: float) -> None:
    """What has run counts, if only the first time."""
    start = time.monotonic()
    record = measure(Scripted(seconds), 0, OTHER, 1000, None, start + 0.1)
    assert record.status is Status.ENDED
    assert record.seconds >= seconds
    assert time.monotonic() - start < 5


SLOW = "def main [n] (k: i32) (xs: [n]i32): i32 = i32.sum (loop ys = copy xs for i < k do scan (+) i ys)"


def slow_subject(until: float, tmp_path: Path) -> Subject:
    args = [np.int32(1_000_000), np.ones(100_000, np.int32)]
    return Subject(tmp_path, soac.compile(SLOW), "main", (), [args], [args], None, until)


def test_a_run_ends_with_the_time_of_the_search(tmp_path: Path) -> None:
    subject = slow_subject(math.inf, tmp_path)
    start = time.monotonic()
    with pytest.raises(OutOfBudget):
        measure(subject, 0, UNTUNED, 5, None, start + 0.2)
    assert time.monotonic() - start < 5
    assert soac.compile(ROWS).main(np.ones((2, 2), np.int32)).tolist() == [2, 2]


@pytest.mark.parametrize("find", [reference, outer_only])
def test_what_is_right_is_found_within_the_time(find: Callable[..., object]) -> None:
    """By the interpreter, and by the program itself."""
    compiled, args = soac.compile(SLOW).compiled, [np.int32(1_000_000), np.ones(100_000, np.int32)]
    start = time.monotonic()
    with pytest.raises(OutOfBudget):
        in_time(0.2, lambda: find(compiled, "main", args))
    assert time.monotonic() - start < 12


def test_a_version_that_fails_is_recorded_with_its_reason() -> None:
    record = measure(Scripted(fails=True), 0, OTHER, 4, None)
    assert (record.status, record.seconds) == (Status.FAILED, FAILS)
    assert "out of memory" in record.reason


def test_a_version_with_other_results_does_not_count() -> None:
    record = measure(Scripted(is_wrong=True), 0, OTHER, 4, None)
    assert record.status is Status.FAILED
    assert "depend on CHUNK" in record.reason


def test_repetitions_go_on_until_the_median_is_sure() -> None:
    assert goes_on([1.0] * 4, 0.0, 5)
    assert not goes_on([1.0] * 8, 0.0, 5)
    assert goes_on([1.0, 3.0] * 4, 0.0, 5)
    assert not goes_on([1.0, 3.0] * 4, 9.0, 5)
    assert not goes_on([1.0, 3.0] * 40, 0.0, 5)


def test_the_interval_holds_the_median_19_times_of_20() -> None:
    source = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        low, high = interval(list(source.exponential(size=11)))
        hits += low <= np.log(2) <= high
    assert hits >= 0.95 * 2000
    assert interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_the_interval_of_very_many_times() -> None:
    assert interval([float(k) for k in range(5000)]) == (2430.0, 2569.0)


def test_drift_is_what_the_machine_was_slower() -> None:
    assert drift([1.0, 1.1, 0.9], [2.0, 2.2, 1.8]) == 0.5
    assert drift([], [2.0]) == 1.0
    assert drift([1.0], [1000.0]) == 1 / 3


STEPS = "def main [n] (k: i32) (xs: *[n]i32): i32 = i32.sum (loop ys = xs for i < k do scan (+) i ys)"
ENDLESS = [np.int32(1_000_000), np.ones(100_000, np.int32)]


def test_a_version_that_takes_too_long_is_stopped() -> None:
    program = soac.compile(STEPS)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), deadline(0.2) as is_over:
        program.call("main", ENDLESS)
    assert is_over()
    assert time.monotonic() - start < 5
    assert soac.compile(ROWS).main(np.ones((2, 2), np.int32)).tolist() == [2, 2]


@pytest.mark.parametrize("slow", [1, 2])
def test_a_version_that_is_stopped_once_is_tried_again(slow: int) -> None:
    """What a first run waits for may be the compiler."""

    class Waiting(Scripted):
        def run(self, case: int, version: Version, log: list[Event]) -> str:
            is_slow = version == OTHER and self.ran.count(OTHER) < slow
            result = Scripted.run(self, case, version, log)
            if is_slow:
                program.call("main", ENDLESS)
            return result

    program = soac.compile(STEPS)
    record = measure(Waiting(), 0, OTHER, 3, limit=0.05)
    assert record.status is (Status.ENDED if slow == 1 else Status.STOPPED)
