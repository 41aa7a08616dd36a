"""What a timed run says: each execution of each branch that guards decide, with its seconds and those inside it.

A runner logs events (`Note`, `Begin`, `End`), `executions` makes the tree of them. A run that failed or was stopped has
branches that did not end; their seconds are those until then. A device with a clock of its own is not waited for at
these events, and says last how long the whole run was (`Whole`); so a failure may show in a later branch than its own,
unless the log asks to wait (`Careful`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from ...ir.records import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """A guard has compared its threshold with `par`."""

    threshold: str
    par: int
    taken: bool


@dataclass(frozen=True, slots=True)
class Begin:
    """A branch begins whose condition is the conjunction of these guards; `at` in seconds of a monotonic clock: the
    host's, or the device's since the run began."""

    thresholds: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class End:
    """The branch that began last ends."""

    at: float


@dataclass(frozen=True, slots=True)
class Whole:
    """The run has ended; its seconds by the clock of the device."""

    seconds: float


Event = Note | Begin | End | Whole


class Careful(list[Event]):
    """A log for which the device is waited for at each event, so that what fails has been said to begin, and what has
    been said to end has not failed. Times are the host's."""


class Outline(list[Event]):
    """A log that a device with a clock of its own puts `Whole` into and nothing else."""


def whole_of(log: Iterable[Event]) -> float | None:
    """What the run took by the clock of the device; None if it is the host that times it."""
    return next((event.seconds for event in log if isinstance(event, Whole)), None)


@dataclass(frozen=True, slots=True)
class Execution:
    """An execution of a branch: what each guard of its condition compared, the side taken, seconds with what is inside,
    and the branches inside. `ended` is false if the run failed or was stopped in it."""

    thresholds: tuple[str, ...]
    pars: tuple[int, ...]
    taken: bool
    seconds: float
    ended: bool
    inner: tuple[Execution, ...]


@dataclass(slots=True)
class _Open:
    """A branch that has begun."""

    thresholds: tuple[str, ...]
    notes: tuple[Note, ...]
    at: float
    inner: list[Execution] = field(default_factory=list)

    def closed(self, at: float, ended: bool) -> Execution:
        pars, taken = tuple(note.par for note in self.notes), all(note.taken for note in self.notes)
        return Execution(self.thresholds, pars, taken, max(0.0, at - self.at), ended, tuple(self.inner))


def executions(events: Iterable[Event], until: float) -> tuple[Execution, ...]:
    """The outermost executions, in order; those that did not end last until `until`."""
    last: dict[str, Note] = {}
    stack = [_Open((), (), 0.0)]
    for event in events:
        match event:
            case Note(threshold):
                last[threshold] = event
            case Begin(thresholds, at):
                stack.append(_Open(thresholds, tuple(last[t] for t in thresholds), at))
            case End(at):
                done = stack.pop().closed(at, True)
                stack[-1].inner.append(done)
            case Whole():
                pass
    while len(stack) > 1:
        done = stack.pop().closed(until, False)
        stack[-1].inner.append(done)
    return tuple(stack[0].inner)
