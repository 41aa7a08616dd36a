"""Commands around programs: `soac new`, `soac repl`, `soac cache`, `soac completion`, and what terminals get."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from soac import terminal
from soac.cli import cli
from soac.kernels.devices import disk_cache

ROOT = Path(__file__).parents[3]


STUCK = b"i64.sum (loop xs = iota 1000000 for _i < 1000000000 do scan (+) 1 xs)\n"
"""It would run for days."""


def run(*words: str, text: str | None = None) -> str:
    found = CliRunner().invoke(cli, list(words), input=text, standalone_mode=False)
    assert found.exception is None
    return found.output


@pytest.mark.slow
def test_a_new_project_passes_its_tests(tmp_path: Path) -> None:
    folder = tmp_path / "hello"
    assert "soac test hello.soac" in run("new", str(folder))
    assert "2 passed, 0 failed" in run("test", str(folder))
    assert run("fmt", "--check", str(folder)) == ""
    script = [sys.executable, str(folder / "example.py")]
    shown = subprocess.run(script, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert shown.stdout == "[3.535534 0.      ]\n"
    for name in (str(folder), str(tmp_path / "no-name"), str(tmp_path / "def.f")):
        assert CliRunner().invoke(cli, ["new", name]).exit_code == 2


def test_repl() -> None:
    typed = """
        1 + 2
        def f x =
          x * 2i32
        map f [1,
          2]
        :type f
        f
        y + 1
        f true
        :nothing
        :defs
        :quit
        3
    """
    shown = run("repl", text="\n".join(line.removeprefix(" " * 8) for line in typed.splitlines()))
    for line in ("3i32\n", "[2i32, 4i32]\n", "i32 -> i32\ni32 -> i32\n", "error[E0201]", "error[E0202]"):
        assert line in shown
    assert "there is no `:nothing`" in shown
    assert shown.endswith("def f x =\n  x * 2i32\n")


@pytest.mark.slow
def test_repl_on_a_terminal_keeps_history(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(tmp_path), "TERM": "xterm"}
    child, terminal_side = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-m", "soac", "repl"], environment)
    typed = [b"iota 3\n", b"1 +\x03", b"redu\t (+) 0 [1, 2]\n", STUCK, b"\x03", b"7 * 6\n", b"\x04"]
    shown, until = b"", time.monotonic() + 60
    while time.monotonic() < until:
        if not select.select([terminal_side], [], [], 1)[0]:
            continue
        try:
            shown += os.read(terminal_side, 1000)
        except OSError:  # the program has ended
            break
        if typed and (shown.endswith(b"> ") or (typed[0] == b"\x03" and shown.endswith(b"running .."))):
            os.write(terminal_side, typed.pop(0))
    if time.monotonic() >= until:
        os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, shown
    assert b"[0i64, 1i64, 2i64]" in shown
    assert b"42i32" in shown
    assert b"interrupted" in shown
    assert "iota 3" in (tmp_path / "soac" / "history").read_text()


def test_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOAC_CACHE_DIR", str(tmp_path / "cache"))
    for key in ("a" * 64, "b" * 64):
        disk_cache.put(disk_cache.user_cache(), key, bytes(3 << 19))
    assert f"{tmp_path / 'cache'}: 2 entries, 3.0 MiB of" in run("cache")
    assert [line.split()[-1] for line in run("cache", "list").splitlines()] == ["b" * 16, "a" * 16]
    assert "removed 2 entries, 3.0 MiB" in run("cache", "clear")
    assert list((tmp_path / "cache").iterdir()) == []
    monkeypatch.setenv("SOAC_CACHE_DIR", "")
    assert "off: 0 entries" in run("cache")


@pytest.mark.parametrize(
    ("shell", "files"),
    [
        ("bash", (".bashrc", ".local/share/soac/completion.bash")),
        ("zsh", (".zshrc", ".local/share/soac/completion.zsh")),
        ("fish", (".config/fish/completions/soac.fish",)),
    ],
)
def test_completion(shell: str, files: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "_SOAC_COMPLETE" in run("completion", shell)
    (tmp_path / f".{shell}rc").write_text("alias x=y")
    for _ in range(2):  # a second time adds nothing
        run("completion", shell, "--install")
    assert sorted(p for p in files if (tmp_path / p).is_file()) == sorted(files)
    if shell != "fish":
        lines = (tmp_path / f".{shell}rc").read_text().splitlines()
        assert lines[0] == "alias x=y"
        assert len(lines) == 2


@pytest.mark.parametrize(
    ("settings", "is_terminal", "colour"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"FORCE_COLOR": "0"}, False, False),
    ],
)
def test_colours(settings: dict[str, str], is_terminal: bool, colour: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TERM", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    assert terminal.has_colour(sys.stderr) == colour


def test_what_takes_long_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(terminal, "PATIENCE", 0.05)
    with terminal.waiting("compiling a.soac"):
        pass
    assert capsys.readouterr().err == ""
    with terminal.waiting("compiling a.soac"):
        time.sleep(0.2)
    assert capsys.readouterr().err == "\r\033[Kcompiling a.soac ..\r\033[K"
