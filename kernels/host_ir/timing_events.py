"""What a timed run says: each execution of each branch that guards decide, with its seconds and those inside it.

A runner logs events (`Note`, `Begin`, `End`), `executions` makes the tree of them. A run that failed or was stopped has
branches that did not end; their seconds are those until then.
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
    """A branch begins whose condition is the conjunction of these guards; `at` in seconds of a monotonic clock."""

    thresholds: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class End:
    """The branch that began last ends."""

    at: float


Event = Note | Begin | End


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
    while len(stack) > 1:
        done = stack.pop().closed(until, False)
        stack[-1].inner.append(done)
    return tuple(stack[0].inner)
