"""A timed run: a version of an entry on a data set, in turn with the program as it is without tuning.

First each runs once, which warms up and checks results; then they take turns, so that other load falls on both. Medians
count. A run logs which guards it reached and when, which takes some microseconds that no other call takes: a brief one
is made again as a prepared call, and that time counts, as in `soac bench`. How much slower than usual the untuned
program was meanwhile is what the machine was slower (`drift`).
"""

from __future__ import annotations

import math
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..ir.errors import SoacError
from ..kernels.devices.cpu.runtime import thread_pool as pool
from ..kernels.host_ir.timing_events import Careful, Event, Outline, executions, whole_of
from .observe import Piece, Status, median_piece, piece_from_data, piece_of, piece_to_data

SURE = 0.1
"""Runs are repeated until the confidence interval of the median is so much of it wide."""

MOST_TIMES = 8
"""How many times as often as asked a run may be repeated for that."""

MOST_DRIFT = 3.0

PATIENCE = 1.5
"""Seconds after which repetitions end early."""


BRIEF = 1e-3
"""Seconds below which the log of a run would show in its time."""


@dataclass(frozen=True, slots=True)
class Version:
    """The sides that guards are forced to take, and settings: thresholds for the others, and sizes."""

    forced: Mapping[str, bool]
    settings: Mapping[str, int]


UNTUNED = Version({}, {})


class OutOfBudget(Exception):
    """The time for the search is over."""


class Runner(Protocol):
    """`run` gives the results of a version on a data set, and raises what the program raises; `check` raises for
    wrong ones; `prepare` gives the same run as a call without a log, its settings decided beforehand."""

    def run(self, case: int, version: Version, log: list[Event]) -> Any: ...
    def prepare(self, case: int, version: Version) -> Callable[[], object]: ...
    def check(self, case: int, version: Version, results: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Record:
    """What a timed run saw: seconds of each repetition, of the version and of the untuned program, and the pieces of
    both; why it failed."""

    status: Status
    samples: tuple[float, ...]
    piece: Piece
    untuned: tuple[float, ...]
    untuned_piece: Piece | None
    reason: str

    @property
    def seconds(self) -> float:
        """The median; infinite if it did not end."""
        return statistics.median(self.samples) if self.status is Status.ENDED else math.inf


@dataclass(frozen=True, slots=True)
class Shot:
    """One run."""

    seconds: float
    piece: Piece
    reason: str

    @property
    def ended(self) -> bool:
        return self.piece.status is Status.ENDED


def measure(
    runner: Runner, case: int, version: Version, repetitions: int, limit: float | None, until: float = math.inf
) -> Record:
    """Times a version on a data set; it is stopped where it takes longer than `limit` seconds. Where the time for the
    search is over, at `until`, what has run counts; raises `OutOfBudget` if that is nothing."""
    first = checked(runner, case, version, limit, until)
    if not (first.ended or first.reason):  # stopped: copies wait for the compiler when they are first needed
        first = checked(runner, case, version, limit, until)
    if not first.ended:
        return Record(_status(first), (first.seconds,), first.piece, (), None, first.reason)
    shots: list[Shot] = []
    others: list[Shot] = shots if version == UNTUNED else []
    with suppress(OutOfBudget):
        untuned = None if version == UNTUNED else checked(runner, case, UNTUNED, limit, until)
        turns = [(version, runner.prepare(case, version), shots)]
        if untuned is not None and untuned.ended:
            turns.append((UNTUNED, runner.prepare(case, UNTUNED), others))
        started = time.monotonic()
        while goes_on([shot.seconds for shot in shots], time.monotonic() - started, repetitions):
            turns.reverse()  # what comes second finds workers awake and caches warm
            for what, call, found in turns:
                shot = shoot(runner, case, what, None, until, log := list[Event]())[0]
                if shot.ended and shot.seconds < BRIEF:
                    is_hosts = whole_of(log) is None
                    again = second(call) if is_hosts else shoot(runner, case, what, None, until, Outline())[0].seconds
                    shot = without_log(shot, again)
                found.append(shot)
    if not shots:
        shots.append(first)
    return Record(
        Status.ENDED,
        tuple(shot.seconds for shot in shots),
        median_piece([shot.piece for shot in shots]),
        tuple(shot.seconds for shot in others),
        median_piece([shot.piece for shot in others]) if others else None,
        "",
    )


def second(call: Callable[[], object]) -> float:
    """What a call takes the second time, with warm caches."""
    call()
    start = time.monotonic()
    call()
    return time.monotonic() - start


def without_log(shot: Shot, seconds: float) -> Shot:
    """A run that took `seconds` when it was made again without a log: the difference is taken from what is outside of
    all guards."""
    own = max(0.0, shot.piece.seconds - (shot.seconds - seconds))
    return Shot(seconds, replace(shot.piece, seconds=own), "")


def goes_on(samples: Sequence[float], seconds: float, repetitions: int) -> bool:
    """Whether a run is to be repeated: as often as asked, and until its median is sure, but not for ever."""
    if not samples:
        return True
    if seconds > PATIENCE or len(samples) >= MOST_TIMES * repetitions:
        return False
    low, high = interval(samples)
    return len(samples) < repetitions or high - low > SURE * statistics.median(samples)


def _status(shot: Shot) -> Status:
    return Status.FAILED if shot.reason else Status.STOPPED


def checked(runner: Runner, case: int, version: Version, limit: float | None, until: float) -> Shot:
    """One run, and its results looked at: wrong ones are a bug of the compiler, and raised, unless they depend on a
    parameter of the program."""
    shot, results = shoot(runner, case, version, limit, until, [])
    if shot.ended:
        try:
            runner.check(case, version, results)
        except SoacError as error:
            return Shot(shot.seconds, replace(shot.piece, status=Status.FAILED), str(error))
    return shot


def shoot(
    runner: Runner, case: int, version: Version, limit: float | None, until: float, log: list[Event]
) -> tuple[Shot, Any]:
    """One run, and its results; times are the device's where it has a clock. An error of the program is what became of
    it; where the device was not waited for, the run is made again to see in which branch. Raises `OutOfBudget` at
    `until`."""
    status, reason, results = Status.ENDED, "", None
    with deadline(min(math.inf if limit is None else limit, until - time.monotonic())) as is_over:
        start = time.monotonic()
        try:
            results = runner.run(case, version, log)
        except (SoacError, MemoryError) as error:
            status, reason = Status.FAILED, str(error) or type(error).__name__
        except KeyboardInterrupt:
            if not is_over():
                raise
            if time.monotonic() >= until:
                raise OutOfBudget from None
            status = Status.STOPPED
        end = time.monotonic()
    if (whole := whole_of(log)) is not None:
        if status is Status.FAILED:
            return shoot(runner, case, version, None, until, Careful())
        start, end = 0.0, whole
    return Shot(end - start, piece_of(end - start, executions(log, end), status), reason), results


@contextmanager
def deadline(seconds: float) -> Iterator[Callable[[], bool]]:
    """Stops the launches of this process after these seconds; gives whether it did. Raises `OutOfBudget` at once if
    none are left."""
    fired = threading.Event()
    if seconds <= 0:
        raise OutOfBudget
    if seconds == math.inf:
        yield fired.is_set
        return

    def stop() -> None:
        fired.set()
        pool.request_stop()

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        yield fired.is_set
    finally:
        timer.cancel()
        timer.join()
        if fired.is_set():
            pool.forget_stop()


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises `OutOfBudget` where what is inside takes longer, as soon as it launches a kernel."""
    with deadline(seconds) as is_over:
        try:
            yield
        except KeyboardInterrupt:
            if is_over():
                raise OutOfBudget from None
            raise


# ---- numbers ----------------------------------------------------------------------------------------------------


def interval(samples: Sequence[float]) -> tuple[float, float]:
    """A confidence interval of the median: between the k-th sample from below and from above, for the largest k that
    leaves at most 5 %. With B ~ Binomial(n, 1/2) the number of samples below the true median, they enclose it with
    probability 1 - 2 P(B < k); it assumes nothing about how samples are distributed."""
    ordered, n = sorted(samples), len(samples)
    rank, below = 0, 0.0
    for k in range(n // 2):  # what is summed up is comb(n, k) / 2^n, whatever n is
        below += math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2))
        if 2 * below > 0.05:
            break
        rank = k
    return ordered[rank], ordered[n - 1 - rank]


def drift(usual: Sequence[float], now: Sequence[float]) -> float:
    """How many times faster the untuned program usually is than it was now, which is what the machine was slower; not
    more than `MOST_DRIFT`, beyond which it says nothing."""
    if not usual or not now:
        return 1.0
    return min(MOST_DRIFT, max(1 / MOST_DRIFT, statistics.median(usual) / statistics.median(now)))


# ---- as data ----------------------------------------------------------------------------------------------------


def record_to_data(record: Record) -> dict[str, Any]:
    """For JSON."""
    return {
        "status": record.status.value,
        "samples": list(record.samples),
        "piece": piece_to_data(record.piece),
        "untuned": list(record.untuned),
        "untuned_piece": None if record.untuned_piece is None else piece_to_data(record.untuned_piece),
        "reason": record.reason,
    }


def record_from_data(data: Mapping[str, Any]) -> Record:
    other = data["untuned_piece"]
    return Record(
        Status(data["status"]),
        tuple(data["samples"]),
        piece_from_data(data["piece"]),
        tuple(data["untuned"]),
        None if other is None else piece_from_data(other),
        data["reason"],
    )
