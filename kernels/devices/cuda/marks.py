"""When things happen on a GPU: events in its stream, recorded without waiting and read once, when a run has ended.

Host programs record them as machine code (`soac_host_mark` in `host/launches.ll`) and by Python, and log their numbers.
Each run uses the same events again, so that there are at most twice as many as the longest run has recorded, and
`FEWEST`. They go with the context.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from ctypes import c_void_p
from dataclasses import field, replace
from typing import Any

from ....ir.records import dataclass
from ...host_ir.timing_events import Begin, End, Event, Whole
from .driver import Driver
from .host import structs

FEWEST = 16


@dataclass(slots=True)
class Marks:
    """`words`: what machine code reads; `events` of the driver."""

    driver: Driver
    words: structs.Marks = field(default_factory=structs.Marks)
    events: Any = ()

    def begin(self) -> None:
        """A run begins."""
        self.words.used = 0
        self.mark()

    def mark(self) -> int:
        """Record the next event; its number."""
        number = self.words.used
        if number == self.words.room:
            self.grow()
        self.driver.record(self.events[number])
        self.words.used = number + 1
        return number

    def grow(self) -> None:
        """Twice as many events."""
        count = max(FEWEST, 2 * self.words.room)
        self.events = (c_void_p * count)(*self.events, *self.driver.make_events(count - self.words.room))
        self.words.events, self.words.room = ctypes.addressof(self.events), count

    def end(self, events: Sequence[Event]) -> Iterator[Event]:
        """A run ends, whose log has numbers of marks for times: the log with seconds since its beginning."""
        self.mark()
        seconds = self.driver.elapsed(self.events[: self.words.used])
        for event in events:
            yield replace(event, at=seconds[int(event.at)]) if isinstance(event, Begin | End) else event
        yield Whole(seconds[-1])
