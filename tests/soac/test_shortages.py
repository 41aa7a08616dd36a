"""What the machine lacks or takes away: disk, memory, threads, time that goes on; commands that are killed.

`python -m tests.support.kills --count 300` kills and starves commands at random moments.
"""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import soac
from soac import cli
from soac.data.files import write_file
from soac.failures import report
from soac.kernels.devices import disk_cache
from soac.kernels.devices.cpu.runtime import jit
from tests.support.command_line import Command
from tests.support.kills import COMMANDS, check_afterwards, check_files, check_words, kill, prepared, start
from tests.support.kills import PROGRAM as TESTED

PROGRAM = "def main (x: i64): i64 = x * 2\n"


def test_a_command_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    prepared(folder)
    ended = start(folder, COMMANDS["run"], True).ended()
    assert (ended.code, ended.out) == (0, "[3i32, 7i32]\n"), ended.err
    kill(folder, random.Random(1), dict.fromkeys(COMMANDS, 0.3), fresh=True)
    check_afterwards(folder, "run", fresh=True)


def test_processes_at_once_on_an_empty_cache(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    prepared(folder)
    ended = [child.ended() for child in [start(folder, COMMANDS["run"], True) for _ in range(3)]]
    for one in ended:
        check_words(one)
    assert {one.code for one in ended} == {0}
    check_files(folder)


def test_a_clock_that_jumps(tmp_path: Path) -> None:
    """Entries of the future and of 1970 are found; those used longest ago go first."""
    cache = disk_cache.Cache(tmp_path / "cache", size_limit=2000)
    for name, seconds in (("old", 0), ("future", 1 << 33), ("now", None)):
        disk_cache.put(cache, name, bytes(400))
        if seconds is not None:
            os.utime(tmp_path / "cache" / f"{name}{disk_cache.SUFFIX}", (seconds, seconds))
    assert all(disk_cache.get(cache, name) == bytes(400) for name in ("old", "future", "now"))
    for number in range(8):
        disk_cache.put(cache, str(number), bytes(400))
        disk_cache.trim(cache)
    assert disk_cache.get(cache, "7") == bytes(400)
    assert sum(file.stat().st_size for file in (tmp_path / "cache").iterdir()) <= 2000


def test_a_cache_made_by_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = disk_cache.Cache(tmp_path / "cache")
    monkeypatch.setattr(jit, "user_cache", lambda: own)
    (tmp_path / "a.soac").write_text(PROGRAM)
    assert soac.load(tmp_path / "a.soac").main(4) == 8
    before = set((tmp_path / "cache").iterdir())
    monkeypatch.setattr(disk_cache, "compiler", lambda: "another")
    assert soac.load(tmp_path / "a.soac").main(4) == 8
    assert set((tmp_path / "cache").iterdir()) > before


def test_a_file_is_written_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.in"
    write_file(file, b"old")
    (tmp_path / "b.in").symlink_to(file)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            write_file(file, b"new")
    assert [(one.name, one.read_bytes()) for one in sorted(tmp_path.iterdir())] == [("a.in", b"old"), ("b.in", b"old")]
    write_file(tmp_path / "b.in", b"new")
    assert ((tmp_path / "b.in").is_symlink(), file.read_bytes()) == (True, b"new")
    write_file(Path("/dev/null"), b"new")


@pytest.mark.parametrize("words", [
    ("dataset", "-g", "[3]i32", "-o", "/proc/xs.in"), ("compile", "a.soac", "-o", "/proc/out"),
    ("test", "--json", "/proc/tested.json", "a.soac"),
])  # fmt: skip
def test_places_that_are_read_only(command: Command, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "a.soac").write_text(TESTED)
    outcome = command(*words)
    assert (outcome.code, "error[S0201]" in outcome.err) == (1, True), outcome.err


@pytest.mark.parametrize("error", [
    MemoryError(), OSError(errno.ENOSPC, "No space left on device", "a"), OSError(errno.EMFILE, "Too many open files"),
    RuntimeError("can't start new thread"),
])  # fmt: skip
def test_a_shortage_is_no_bug(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(error, ["run"]) == 3
    assert "error[S0202]" in capsys.readouterr().err


def test_no_room_for_the_thread_of_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    before = threading.stack_size()
    try:
        with pytest.raises(SystemExit) as left:
            cli.main(["--version"])
    finally:
        threading.stack_size(before)
    assert left.value.code == 3
    assert "S0202" in capsys.readouterr().err


def test_output_that_has_no_room(tmp_path: Path) -> None:
    """Standard output on a full disk."""
    (tmp_path / "a.soac").write_text(PROGRAM)
    assert np.int64(8) == soac.load(tmp_path / "a.soac").main(4)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with open("/dev/full", "wb") as full:
        words = [sys.executable, "-m", "soac", "run", "a.soac", "4"]
        found = subprocess.run(words, cwd=tmp_path, env=env, stdout=full, stderr=subprocess.PIPE, text=True)
    assert found.returncode != 0
    assert "error[S0202]" in found.stderr
    assert "Traceback" not in found.stderr
