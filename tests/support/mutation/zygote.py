"""Tests on mutants without a new start for each: a pytest plugin that collects tests once, then forks for each mutant.

A command is a line of JSON on the file that $SOAC_MUTATION_FILES names first: the changed file (none: as it is), tests,
seconds of processor time, and of time. The answer, on the second one, is what `Answer` lists, or the name of the test
that failed. In a child the functions of the module get the code that the file has now.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from threading import Thread
from typing import Any

import hypothesis
import pytest
from _pytest.runner import runtestprotocol

from tests.support.property.faults import executed, module_of, replace_code

FOUND = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
"""What is found need not be made smaller."""
SAID = Path("answer.txt")
MEMORY = 8 << 30
"""Bytes in memory; address space is no measure, as arenas of kernels reserve all that there is."""


class Answer(StrEnum):
    READY = "ready"
    """Everything is imported; files may change."""
    PASSED = "passed"
    TIME = "time"
    ENDED = "ended"
    OTHER = "other"
    """The change is not in the code of a function: a new process has to try it."""


class Zygote:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        commands, answers = map(int, os.environ["SOAC_MUTATION_FILES"].split())
        with os.fdopen(commands) as asked, os.fdopen(answers, "w") as answered:
            print(Answer.READY, file=answered, flush=True)
            for line in asked:
                print(_answer(items, **json.loads(line)), file=answered, flush=True)
        return True


def _answer(items: Mapping[str, pytest.Item], **command: Any) -> str:
    SAID.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            SAID.write_text(_in_child(items, **command))
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        end = os.WTERMSIG(status)
        return Answer.TIME if end in (signal.SIGXCPU, signal.SIGKILL, signal.SIGALRM) else f"signal {end}"
    return SAID.read_text() if SAID.exists() else Answer.ENDED


def _in_child(items: Mapping[str, pytest.Item], file: str | None, tests: list[str], cpu: float, wall: float) -> str:
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu), int(cpu) + 5))
    Thread(target=_watch_memory, daemon=True).start()
    signal.alarm(int(wall))
    if file is not None:
        module = sys.modules.get(module_of(file))
        if module is None or not replace_code(module, executed(Path(file).read_text(encoding="utf-8"), module)):
            return Answer.OTHER
    wanted = [items[test] for test in tests if test in items]
    for item, following in zip(wanted, [*wanted[1:], None], strict=True):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return Answer.PASSED


def _watch_memory() -> None:
    """Ends the process when it has too much."""
    page = resource.getpagesize()
    while int(Path("/proc/self/statm").read_text().split()[1]) * page < MEMORY:
        time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGKILL)


hypothesis.settings.register_profile("first failure", derandomize=True, deadline=None, phases=FOUND)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Zygote())
