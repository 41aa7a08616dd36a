"""The child of `autotune/isolated.py`: an entry on its data sets, timed as it is asked. `python -m` with the number of
the file descriptor that it answers through; it ends when its parent does."""

from __future__ import annotations

import json
import math
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..autotune.isolated import Message, Spoken, say_through
from ..autotune.measure import UNTUNED, OutOfBudget, Record, Version, measure, record_to_data
from ..autotune.store import Request, request_of
from ..confined import PACKAGES
from ..frontend.source.text import Reach
from ..ir.errors import Diagnostic, IRError, RunError, TuningError
from ..kernels.devices.cpu.executable import Executable, Runner
from ..kernels.host_ir.timing_events import Event
from ..session import open_program
from ..settings import Settings
from .runs import Subject, sets_of, subject_of

Say = Callable[[Message], None]

WARM = 0.1
"""Seconds of work in which a GPU reaches its clocks, which fall while results are checked and the search thinks."""


@dataclass(slots=True)
class Watched:
    """A subject that says what it runs. The first run of a version has its host program in Python, which says of each
    guard that it is reached before what follows can end the process. `alone`: the untuned program must not run. `warm`:
    seconds of calls before those that are timed."""

    subject: Subject
    careful: Subject
    say: Say
    alone: bool = False
    warm: float = 0.0
    seen: list[tuple[int, Version]] = field(default_factory=list)

    def run(self, case: int, version: Version, log: list[Event]) -> list[Any]:
        if self.alone and version == UNTUNED:
            raise RunError(Diagnostic("T0202", "the untuned program ends its process"))
        self.say({"began": version == UNTUNED})
        if (case, version) in self.seen:
            return self.subject.run(case, version, log)
        self.seen.append((case, version))
        spoken = Spoken(self.say)
        try:
            return self.careful.run(case, version, spoken)
        finally:
            log.extend(spoken)

    def prepare(self, case: int, version: Version) -> Callable[[], object]:
        call, end = self.subject.prepare(case, version), time.monotonic() + self.warm
        while time.monotonic() < end:
            self.say({"began": version == UNTUNED})
            call()
        return call

    def check(self, case: int, version: Version, results: Any) -> None:
        self.say({"thinking": True})
        self.subject.check(case, version, results)


def serve(answer: Callable[[Message, Request], Record], messages: Iterator[Message], say: Say) -> None:
    """Answers one request after another."""
    for message in messages:
        try:
            say({"record": record_to_data(answer(message, request_of(message["request"])))})
        except OutOfBudget:
            say({"over": True})
        except TuningError as error:
            say({"error": str(error), "code": error.diagnostics[0].code})
        except IRError as error:
            say({"error": str(error), "code": None})


def messages_from_parent() -> Iterator[Message]:
    """What the parent says, line by line; the process ends where the parent has, whatever it is at."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin.buffer:
            lines.put(line)
        os._exit(1)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield json.loads(lines.get())


def starting() -> tuple[list[str], dict[str, str]]:
    """The command that starts a child, and its environment."""
    path = os.pathsep.join(filter(None, (PACKAGES, os.environ.get("PYTHONPATH"))))
    return [sys.executable, "-P", "-m", __name__], {**os.environ, "PYTHONPATH": path}


def configuration_of(path: Path, settings: Settings, entry: str, runs: int) -> dict[str, Any]:
    """The first line that a child reads."""
    words = {key: value for key, value in asdict(settings).items() if key not in ("reach", "tuning")}
    return {"path": str(path), "entry": entry, "runs": runs, "reach": settings.reach.value, "settings": words}


def watched(configuration: Mapping[str, Any], say: Say) -> Watched:
    """The entry with its arguments made."""
    path, words = Path(configuration["path"]), configuration["settings"]
    texts = {"params": tuple(words["params"]), "forces": tuple(words["forces"]), "use_tuning": False}
    settings = Settings(**{**words, **texts}, tuning=None, reach=Reach(configuration["reach"]))
    session = open_program(path, settings)
    entry = configuration["entry"]
    subject = subject_of(path, session, entry, sets_of(path, session, entry), settings.threads)
    program = session.program
    if settings.device == "cpu":
        host, functions = program.compiled.host, program.compiled.core.functions
        program = replace(program, executable=Executable.build(host, functions, runner=Runner.PYTHON))
    return Watched(subject, replace(subject, program=program), say, warm=WARM if settings.device == "cuda" else 0.0)


def main() -> None:
    say, messages = say_through(int(sys.argv[1])), messages_from_parent()
    configuration = next(messages)
    runner = watched(configuration, say)

    def answer(message: Message, request: Request) -> Record:
        left = message["left"]
        until = math.inf if left is None else time.monotonic() + left
        runner.alone, runner.subject.until = message["alone"], until
        return measure(runner, request.case, request.version, configuration["runs"], request.limit, until)

    serve(answer, messages, say)


if __name__ == "__main__":
    main()
