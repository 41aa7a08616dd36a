"""`soac test` as a command: directories, processes that hang or die, the report, exit codes."""

from __future__ import annotations

import json
import multiprocessing
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from soac.testing.outcomes import Outcome, Status
from soac.testing.workers import Ended, run_tests
from tests.support.command_line import SUMS, Command, under

ROOT = Path(__file__).parents[3]
HANGS = """-- ==
-- input { 1 } output { 1 }
-- "hang" input { 2 }
-- input { 3 } output { 1 }
def main (x: i32): i32 = (loop x while x != 1 do x + 2) % 2
"""


def program(path: Path, blocks: str, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"-- {line}\n" for line in ("==", *blocks.splitlines())) + text)


def test_directory(command: Command, tmp_path: Path) -> None:
    """Programs are found below a directory, and none that hangs or is wrong keeps another from being tested."""
    (tmp_path / "all" / "sub").mkdir(parents=True)
    program(tmp_path / "all" / "good.soac", "input { [[1], [2]] } output { [1, 2] }", SUMS)
    program(tmp_path / "all" / "sub" / "bad.fut", "input { [[1]] } output { [2] }\nnotest input { [[1]] }", SUMS)
    program(tmp_path / "all" / "rejected.fut", "error: unknown name", "def main = lenght")
    program(tmp_path / "all" / "wrong.fut", "input { 1 }", "def main = lenght")
    program(tmp_path / "all" / "regex.fut", f"input {{ 0 }} error: {'(.|.)*' * 8}#", "def main (x: i32): i32 = 1 / x\n")
    (tmp_path / "all" / "hangs.soac").write_text(HANGS)
    (tmp_path / "all" / "library.fut").write_text("def one: i32 = 1\n")
    (tmp_path / "all" / "note.txt").write_text("-- ==\n")
    outcome = command("test", "all", "--timeout", "6", "-j", "2", "--json", "out.json")
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert lines[-1] == "4 passed, 4 failed, 1 skipped"
    assert sorted(lines[:-1]) == [
        "all/good.soac: 1 passed",
        "all/hangs.soac: 2 passed, 1 failed",
        "all/regex.fut: 1 failed",
        "all/rejected.fut: 1 passed",
        "all/sub/bad.fut: 1 failed, 1 skipped",
        "all/wrong.fut: 1 failed",
    ]
    assert "  main hang: not done after 6 seconds" in outcome.err
    assert re.search(r"  main 0: the expression `.*#`: not done after 5 seconds", outcome.err)
    assert "expected 2i32, got 1i32" in outcome.err
    assert "E0201" in outcome.err
    assert "Traceback" not in outcome.err
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["summary"] == {"passed": 4, "failed": 4, "skipped": 1}
    assert [one["status"] for one in report["programs"]["all/hangs.soac"]] == ["passed", "failed", "passed"]
    assert report["programs"]["all/sub/bad.fut"][1]["why"] == "tagged `notest`"


def test_every_version_has_the_code_of_large_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small inputs get code of little effort otherwise, in which some passes do nothing."""
    path = tmp_path / "a.soac"
    program(path, "input { [1, 2] } output { [2, 3] }", "def main (xs: []i32) = map (+ 1) xs\n")

    def kept(name: str, effort: str | None, every_version: bool) -> set[str]:
        monkeypatch.setenv("SOAC_CACHE_DIR", str(tmp_path / name))
        if effort is None:
            monkeypatch.delenv("SOAC_EFFORT", raising=False)
        else:
            monkeypatch.setenv("SOAC_EFFORT", effort)
        assert [
            each.status
            for _, each in run_tests([path], under(every_version=every_version), 1)
            if isinstance(each, Outcome)
        ]
        return {each.name for each in (tmp_path / name).iterdir()}

    full = kept("full", "full", False)
    assert kept("every", None, True) == full
    assert kept("one", None, False) != full


def test_a_process_that_dies(tmp_path: Path) -> None:
    """The rest of its program is tested in another process."""
    (tmp_path / "a.soac").write_text(HANGS)
    found: list[Outcome] = []
    for _, event in run_tests([tmp_path / "a.soac"], under(), 1):
        if isinstance(event, Outcome):
            found.append(event)
        if len(found) == 1 and not isinstance(event, Ended):
            time.sleep(1)
            (child,) = multiprocessing.active_children()
            child.kill()
    assert [one.status for one in found] == [Status.PASSED, Status.FAILED, Status.PASSED]
    assert found[1].why == "the process that ran it was ended by SIGKILL"
    assert not multiprocessing.active_children()


def test_nothing_to_test(command: Command, tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    outcome = command("test", "all")
    assert outcome.code == 2
    assert "no program with a test block" in outcome.err


def test_allow_outside(command: Command, tmp_path: Path) -> None:
    """On every command that reads programs."""
    (tmp_path / "lib.soac").write_text("def one: i32 = 1\n")
    program(
        tmp_path / "in" / "a.soac", "input { 1 } output { 2 }", 'import "../lib"\ndef main (x: i32): i32 = x + one\n'
    )
    calls = [("check", "in/a.soac"), ("run", "in/a.soac", "1"), ("compile", "in/a.soac", "-o", "out")]
    for call in [*calls, ("test", "in")]:
        refused = command(*call)
        assert refused.code == 1
        assert "E0207" in refused.err
        assert "--allow-outside" in refused.err
        command(*call, "--allow-outside").clean()


def test_report_that_cannot_be_written(command: Command, tmp_path: Path) -> None:
    program(tmp_path / "a.soac", "error: unknown name", "def main = lenght")
    outcome = command("test", "a.soac", "--json", "none/out.json")
    assert outcome.code == 1
    assert "S0201" in outcome.err


def test_terminal_and_interrupt(tmp_path: Path) -> None:
    """A bar on a terminal; Ctrl-C ends everything with one line."""
    (tmp_path / "a.soac").write_text(HANGS)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "soac", "test", "a.soac"], cwd=tmp_path, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=theirs, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while b"main 1" not in seen:
        seen += os.read(ours, 10_000)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    try:
        while more := os.read(ours, 10_000):
            seen += more
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    assert process.returncode == 130
    assert b"0/1" in seen
    assert seen.rstrip().endswith(b"soac: interrupted")
    assert b"Traceback" not in seen
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")
    assert out == b""
