"""`soac run --untrusted`: within limits, in the project, with all checks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INDEX = "def main [n] (xs: [n]i32) (i: i64): i32 = #[unsafe] xs[i]\n"
FOREVER = "def main (n: i64): i64 = loop x = 1 while x != 0 do x + 2 * n\n"
LARGE = "def main (n: i64): i64 = let xs = map (* n) (iota (n * 1000000)) in xs[n] + xs[n + 1]\n"


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "soac", "run", "--untrusted", "--time-limit", "60", *words]
    return subprocess.Popen(
        command, cwd=folder, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def run(folder: Path, *words: str, stdin: str = "") -> tuple[int, str, str]:
    process = started(folder, *words)
    out, err = process.communicate(stdin, timeout=60)
    return process.returncode, out, err


def test_a_run_gives_what_it_gives_otherwise(tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(INDEX)
    assert run(tmp_path, "a.soac", "--", "[7, 8, -9]", "2") == (0, "-9i32\n", "")
    assert run(tmp_path, "--threads", "2", "a.soac", stdin="[7, 8, 9] 1") == (0, "8i32\n", "")


def test_unsafe_is_ignored(tmp_path: Path) -> None:
    """Also in a file that is called like the library."""
    for name in ("a.soac", "prelude.soac"):
        (tmp_path / name).write_text(INDEX)
        code, _, err = run(tmp_path, name, "[7, 8, 9]", "3")
        assert (code, "error[R0101]" in err) == (1, True), err


def test_over_the_limit_of_time(tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(FOREVER)
    begin = time.monotonic()
    code, _, err = run(tmp_path, "--time-limit", "2", "a.soac", "1")
    assert (code, "error[R0303]" in err) == (1, True), err
    assert time.monotonic() - begin < 20


def test_over_the_limit_of_memory(tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(LARGE)
    assert run(tmp_path, "a.soac", "1")[0] == 0
    code, _, err = run(tmp_path, "a.soac", "1000")
    assert (code, "out of memory" in err) == (1, True), err


def test_files_outside_of_the_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "xs.in").write_text("[1, 2, 3]")
    (project / "linked.in").symlink_to("../xs.in")
    (project / "xs.in").write_text("[4, 5, 6]")
    (project / "a.soac").write_text(INDEX)
    (project / "b.soac").write_text('import "../c"\n' + INDEX)
    (tmp_path / "c.soac").write_text("")
    assert run(tmp_path, "project/a.soac", "project/xs.in", "1")[:2] == (0, "5i32\n")
    for data in ("xs.in", "project/linked.in", "/etc/passwd"):
        code, out, err = run(tmp_path, "project/a.soac", data, "1")
        assert (code, out, "outside of the project" in err) == (2, "", True), err
    assert "E0207" in run(tmp_path, "project/b.soac", "[1]", "0")[2]
    assert run(tmp_path, "--allow-outside", "project/b.soac", "[1]", "0")[0] == 2


HOOKED = """
import os, socket, subprocess, sys
from pathlib import Path
from soac.confined import Limits, confine
from soac.kernels.devices.cpu.runtime import jit
confine(Limits(20, 1 << 30, 1), Path("."), os.pipe()[0])
def refused(work):
    try:
        work()
    except PermissionError:
        return True
    return False
print(
    refused(lambda: subprocess.run(["true"])), refused(lambda: os.system("true")), refused(os.fork),
    refused(lambda: socket.create_connection(("127.0.0.1", 9))), refused(lambda: open("/etc/passwd")),
    refused(lambda: open("out", "w")), refused(lambda: open("../a")), not refused(lambda: open("a.soac")),
)
"""


def test_processes_sockets_and_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run([sys.executable, "-c", HOOKED], cwd=tmp_path, env=env, text=True, capture_output=True)
    assert found.stdout.split() == ["True"] * 8, found.stderr


@pytest.mark.parametrize("pipe", ["-1", "0", "999"])
def test_a_lifeline_that_is_no_pipe_is_refused(tmp_path: Path, pipe: str) -> None:
    (tmp_path / "a.soac").write_text(INDEX)
    command = [sys.executable, "-m", "soac", "run", f"--confined={pipe}", "a.soac", "[5]", "0"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open(os.devnull) as nothing:
        found = subprocess.run(command, cwd=tmp_path, env=env, text=True, stdin=nothing, capture_output=True)
    assert (found.returncode, "use `--untrusted`" in found.stderr) == (2, True), found.stderr


@pytest.mark.parametrize("which", [signal.SIGKILL, signal.SIGINT])
def test_the_child_ends_with_its_parent(tmp_path: Path, which: signal.Signals) -> None:
    (tmp_path / "a.soac").write_text(FOREVER)
    process = started(tmp_path, "--time-limit", "600", "a.soac", "1")
    until = time.monotonic() + 30
    while not (found := _descendants(process.pid)) and time.monotonic() < until:
        time.sleep(0.05)
    assert found
    time.sleep(2.0)
    process.send_signal(which)
    process.communicate(timeout=30)
    while any(Path(f"/proc/{child}/stat").exists() for child in found) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [child for child in found if Path(f"/proc/{child}/stat").exists()]


def _descendants(process: int) -> list[int]:
    """The children of a process, of whichever of its threads."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return found
