"""Long runs in processes of their own: what they give, and that nothing of them is left when they are stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import results

ROOT = Path(__file__).parents[2]
WAITS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # what is begun in the background leaves it out

from tests.property.test_processes import begin
from tests.support.processes import results

list(results(begin, [({folder!r},)] * 3, 2))
"""


def test_results_come_with_their_numbers() -> None:
    assert sorted(results(pow, [(2, 3), (3, 2)], 2)) == [(0, 8), (1, 9)]


def test_a_call_that_fails_ends_the_run() -> None:
    start = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        list(results(divmod, [(1, 0)], 1))
    with pytest.raises(TypeError):
        list(results(time.sleep, [("",), (600,), (600,)], 2))
    assert time.monotonic() - start < 300


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_leaves_no_process(number: signal.Signals, tmp_path: Path) -> None:
    """Its calls each write a file as they begin."""
    text = WAITS.format(folder=str(tmp_path))
    run = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        until(lambda: len(list(tmp_path.iterdir())) == 2)
        run.send_signal(number)
        run.wait(60)
    finally:
        run.kill()
        run.wait()
    processes = [int(path.name) for path in tmp_path.iterdir()]
    until(lambda: not any(map(is_there, processes)))
    assert len(processes) == 2


def begin(folder: str) -> None:
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(600)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
