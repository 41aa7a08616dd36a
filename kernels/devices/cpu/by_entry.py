"""A program on the CPU whose entries are made ready when they are first called, in the versions that the call needs.

The sizes of a call tell which sides of guards it may take (`ir/reached_sides.py`). Only what these lead to is lowered
and compiled; where a later call takes another side, its run fails with `LEFT_OUT`, the whole entry is made, and the
call is done again: an entry is made twice at most. A caller's arrays are never written, so that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ....ir.core import FunDef
from ....ir.entry import bind_sizes
from ....ir.errors import RunError
from ....ir.reached_sides import Way
from ....ir.records import dataclass
from ...host_ir.timing_events import Event
from ...lower_parts import LEFT_OUT
from ..device import Call, Trace, default_of
from .executable import Convert, CpuDevice, Executable
from .native import Settings


@dataclass(frozen=True, slots=True)
class Part:
    """An entry that is ready to run; `is_whole`: in all of its versions."""

    executable: Executable
    is_whole: bool


Make = Callable[[str, Way | None], Part]
"""Makes an entry ready: in the versions that a call needs, or (None) in all."""


@dataclass(slots=True)
class ByEntry:
    """The entry points of a program, by their signatures; `device`: the memory of all; `made`: those that are ready.
    `run` may be called from several threads, of which two may make the same entry."""

    functions: dict[str, FunDef]
    device: CpuDevice
    make: Make
    made: dict[str, Part] = field(default_factory=dict[str, Part])

    def run(
        self,
        entry: str,
        args: Sequence[Any],
        thresholds: Mapping[str, int] | None = None,
        forced: Mapping[str, bool] | None = None,
        threads: int | None = None,
        convert: Convert = lambda fun, args: args,
        log: list[Event] | None = None,
    ) -> tuple[list[np.ndarray | np.generic], Trace]:
        """As `Executable.run`."""
        settings = (thresholds or {}, forced or {})
        part, args = self.ready(entry, args, settings, threads, convert)
        before = 0 if log is None else len(log)
        try:
            return part.executable.run(entry, args, *settings, threads, convert, log)
        except RunError as error:
            if part.is_whole or not is_left_out(error):
                raise
        if log is not None:
            del log[before:]
        return self.whole(entry).run(entry, args, *settings, threads, convert, log)

    def prepare(self, entry: str, settings: Settings, threads: int | None, convert: Convert) -> Call:
        """As `Executable.prepare`; the entry is made ready by the first call."""
        found = self.made.get(entry)
        if found is not None and found.is_whole:
            return found.executable.prepare(entry, settings, threads, convert)
        inner: Call | None = None

        def call(args: Sequence[Any]) -> list[Any]:
            nonlocal inner
            if inner is None:
                part, args = self.ready(entry, args, settings, threads, convert)
                inner = part.executable.prepare(entry, settings, threads, convert)
            try:
                return inner(args)
            except RunError as error:
                if not is_left_out(error):
                    raise
            inner = self.whole(entry).prepare(entry, settings, threads, convert)
            return inner(args)

        return call

    def place(self, entry: str, args: Sequence[Any]) -> list[Any]:
        return list(args)

    def complete(self, entry: str, every: bool = False) -> Iterator[str]:
        return self.whole(entry).complete(entry, every)

    def whole(self, entry: str) -> Executable:
        """The entry in all of its versions."""
        found = self.made.get(entry)
        if found is None or not found.is_whole:
            found = self.made[entry] = self.joined(self.make(entry, None))
        return found.executable

    def joined(self, part: Part) -> Part:
        """With the memory and the arenas of all entries."""
        device = part.executable.device
        device.pool, device.arenas, device.turns = self.device.pool, self.device.arenas, self.device.turns
        return part

    def ready(
        self, entry: str, args: Sequence[Any], settings: Settings, threads: int | None, convert: Convert
    ) -> tuple[Part, Sequence[Any]]:
        """The entry as it was made ready, or for this call; and its arguments, which may have been converted. Who
        forces a version will ask for others, too: then it is the whole entry."""
        found = self.made.get(entry)
        if found is None and settings[1]:
            self.whole(entry)
        elif found is None:
            args = convert(self.functions[entry], args)
            made = self.make(entry, self.way(entry, args, settings, threads))
            return self.made.setdefault(entry, self.joined(made)), args
        return self.made[entry], args

    def way(self, entry: str, args: Sequence[Any], settings: Settings, threads: int | None) -> Way:
        """What a call says about the guards on its way. Raises what `bind_sizes` raises."""
        thresholds, workers = settings[0], threads or self.device.threads

        def decide(threshold: str, par: int, pays: bool) -> bool:
            if threshold in thresholds:
                return 0 <= par >= thresholds[threshold]
            return pays and 0 <= par >= default_of(self.device, threshold, workers)

        values = [None if arg.ndim else arg.item() for arg in args]
        return Way((*bind_sizes(self.functions[entry], args), *values), decide, thresholds)


def is_left_out(error: RunError) -> bool:
    """Whether a run came to a version that was not made."""
    return error.diagnostics[0].code == LEFT_OUT
