"""Timed runs in a process of their own: what faults, hangs or stays broken there is a run that failed, and no more."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soac.autotune.isolated import Gone, Message, Run, Silent, started
from soac.autotune.measure import UNTUNED, Version
from soac.ir.errors import IRError
from soac.tuning.isolated_run import Watched
from tests.support.faulty_searches import torture

ECHO = [sys.executable, "-c", "import os, sys\nfor line in sys.stdin.buffer: os.write(int(sys.argv[1]), line)"]


def test_faults_and_hangs_lose_no_trial() -> None:
    faults, searches = torture(4, 11)
    assert faults >= 4
    assert searches >= 1


def test_messages_come_whole_and_in_order() -> None:
    child = started(ECHO, os.environ, {"first": 1})
    child.ask({"long": "x" * 100_000})
    assert child.hear(60) == {"first": 1}
    assert child.hear(60) == {"long": "x" * 100_000}
    with pytest.raises(Silent):
        child.hear(0.01)
    child.process.kill()
    with pytest.raises(Gone):
        child.hear(60)
    assert child.end() < 0


def test_the_child_ends_with_its_parent() -> None:
    text = (
        "import os, sys\nfrom soac.tuning.isolated_run import messages_from_parent\nprint(next(messages_from_parent()))"
    )
    child = subprocess.Popen([sys.executable, "-c", f"{text}\nimport time; time.sleep(600)"], stdin=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.write(b"{}\n")
    child.stdin.close()
    assert child.wait(60) == 1


def test_a_gpu_works_before_what_is_timed() -> None:
    """Each call says that it begins, so that one that hangs is found."""
    calls: list[int] = []
    said: list[Message] = []

    class Prepared:
        def prepare(self, case: int, version: Version) -> Callable[[], object]:
            return lambda: (calls.append(case), time.sleep(0.001))

    subject: Any = Prepared()
    Watched(subject, subject, said.append).prepare(7, UNTUNED)
    assert (calls, said) == ([], [])
    Watched(subject, subject, said.append, warm=0.05).prepare(7, UNTUNED)
    assert len(calls) > 3
    assert said == [{"began": True}] * len(calls)


def test_an_unknown_message_is_a_bug() -> None:
    with pytest.raises(IRError):
        Run(math.inf).note({"what": 1})


def test_a_program_is_tuned_in_a_process_of_its_own(tmp_path: Path) -> None:
    program = tmp_path / "rows.soac"
    program.write_text(
        "-- ==\n-- random input { [10][200]i32 }\n-- random input { [200][10]i32 }\n"
        "entry main [n][m] (xss: [n][m]i32): [n]i32 = map i32.sum xss\n"
    )
    words = ["autotune", "--isolate", "--runs", "1", "--trials", "1", str(program)]
    done = subprocess.run([sys.executable, "-m", "soac", *words], check=True, capture_output=True, text=True)
    assert "2 to confirm" in done.stdout
    assert (tmp_path / "rows.soac.tuning").exists()
