"""Timed runs in a process of their own, which is started again where a run ends it or does not end.

A kernel that faults leaves a GPU's driver unusable for the process it ran in, and one that hangs cannot be stopped from
inside. So the search stays in this process, with the study, and a child does what touches the device:

    parent   {"request": .., "left": seconds}          one line of JSON a message
    child    {"began": untuned}                        a run begins; then its guards as they are reached
             {"thinking": true}                        what follows may take long and is no run
             {"record": ..} | {"over": true} | {"error": ..}

A run whose process died, or that says nothing for longer than it may take, is a run that failed; what it reached is
known from what it said. The next request has a new process, as it has after every failure.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..ir.errors import Diagnostic, IRError, TuningError
from ..kernels.host_ir.timing_events import Begin, Careful, End, Event, Note, Whole, executions
from .measure import UNTUNED, OutOfBudget, Record, record_from_data
from .observe import Status, piece_of
from .store import Request, request_to_data

PATIENCE = 60.0
"""Seconds that a run may take beyond its limit before its process is ended."""

Message = Mapping[str, Any]


class Silent(Exception):
    """Nothing was said in time."""


class Gone(Exception):
    """The process has ended."""


@dataclass(slots=True)
class Child:
    """A process that times, and what it has said so far of the next line."""

    process: subprocess.Popen[bytes]
    words: int
    said: bytearray = field(default_factory=bytearray)

    def ask(self, message: Message) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Gone from None

    def hear(self, seconds: float) -> Message:
        """The next message. Raises `Silent` after these seconds, `Gone` where there will be none."""
        end = time.monotonic() + seconds
        while b"\n" not in self.said:
            left = None if end == math.inf else max(0.0, end - time.monotonic())
            if not select.select([self.words], [], [], left)[0]:
                raise Silent
            if not (data := os.read(self.words, 1 << 16)):
                raise Gone
            self.said += data
        line, _, self.said = self.said.partition(b"\n")
        return json.loads(line)

    def end(self) -> int:
        """Its exit code."""
        self.process.kill()
        code = self.process.wait()
        os.close(self.words)
        if self.process.stdin is not None:
            self.process.stdin.close()
        return code


@dataclass(slots=True)
class Isolated:
    """Times requests (`Bench`) in a child started by `command`, whose first line is `configuration`, with the number of
    the file descriptor that it speaks through as the last word. `until`: when the search must end, on the monotonic
    clock."""

    command: Sequence[str]
    environment: Mapping[str, str]
    configuration: Message
    until: float = math.inf
    patience: float = PATIENCE
    child: Child | None = None
    alone: set[int] = field(default_factory=set)  # data sets on which the untuned program ends its process

    def __call__(self, request: Request) -> Record:
        run = Run(request.limit or 0.0)
        begun = time.monotonic()
        try:
            record = self._answer(request, run)
        except (Gone, Silent) as fault:
            seconds = time.monotonic() - begun
            why = self._ended(isinstance(fault, Silent), run)
            if run.is_untuned and request.version != UNTUNED:
                self.alone.add(request.case)
                return self(request)
            piece = piece_of(seconds, executions(run.events, time.monotonic()), Status.FAILED)
            return Record(Status.FAILED, (seconds,), piece, (), None, why)
        if record.status is Status.FAILED:
            self.close()
        return record

    def _answer(self, request: Request, run: Run) -> Record:
        child = self.child = self.child or started(self.command, self.environment, self.configuration)
        left = None if self.until == math.inf else self.until - time.monotonic()
        child.ask({"request": request_to_data(request), "left": left, "alone": request.case in self.alone})
        while True:
            match child.hear(self.patience + run.limit if run.is_on else math.inf):
                case {"record": data}:
                    return record_from_data(data)
                case {"over": _}:
                    raise OutOfBudget
                case {"error": text, "code": code}:
                    raise TuningError(Diagnostic(code, text)) if code else IRError(text)
                case message:
                    run.note(message)

    def _ended(self, silent: bool, run: Run) -> str:
        """Ends the child; says what became of it."""
        assert self.child is not None
        code = self.child.process.poll() if silent else self.child.process.wait()
        self.close()
        if silent:
            return f"it did not end within {self.patience + run.limit:g} seconds"
        assert code is not None
        return (
            f"its process was ended by {signal.Signals(-code).name}" if code < 0 else f"its process ended with {code}"
        )

    def close(self) -> None:
        """Ends the child, if there is one."""
        if self.child is not None:
            self.child.end()
        self.child = None


@dataclass(slots=True)
class Run:
    """What a child has said of the run at hand, which is stopped after `limit` seconds."""

    limit: float
    is_on: bool = False
    is_untuned: bool = False
    events: list[Event] = field(default_factory=list)

    def note(self, message: Message) -> None:
        match message:
            case {"began": untuned}:
                self.is_on, self.is_untuned, self.events = True, untuned, []
            case {"thinking": _}:
                self.is_on = False
            case {"note": [name, par, taken]}:
                self.events.append(Note(name, par, taken))
            case {"begin": [names, at]}:
                self.events.append(Begin(tuple(names), at))
            case {"end": at}:
                self.events.append(End(at))
            case _:
                raise IRError(f"a child that times says {message}")


def started(command: Sequence[str], environment: Mapping[str, str], configuration: Message) -> Child:
    """A child, in a session of its own: Ctrl-C is for the parent, which ends it."""
    ours, theirs = os.pipe()
    try:
        process = subprocess.Popen(
            [*command, str(theirs)],
            stdin=subprocess.PIPE,
            pass_fds=(theirs,),
            start_new_session=True,
            env=dict(environment),
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    child = Child(process, ours)
    child.ask(configuration)
    return child


# ---- what the child says ----------------------------------------------------------------------------------------


class Spoken(Careful):
    """A log that is said while it is written, so that it outlives the process; the device is waited for."""

    def __init__(self, say: Callable[[Message], None]) -> None:
        super().__init__()
        self.say = say

    def append(self, event: Event) -> None:
        super().append(event)
        match event:
            case Note(name, par, taken):
                self.say({"note": [name, par, taken]})
            case Begin(names, at):
                self.say({"begin": [list(names), at]})
            case End(at):
                self.say({"end": at})
            case Whole():
                pass


def say_through(descriptor: int) -> Callable[[Message], None]:
    """Writes a message at once."""

    def say(message: Message) -> None:
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(descriptor, data) :]

    return say
