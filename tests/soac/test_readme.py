"""What the README prints is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.support.command_line import Command

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SAID = re.findall(r"^    \$ soac (run programs/.*)\n((?:    \S.*\n)+)", README, re.MULTILINE)


def test_has_examples() -> None:
    assert SAID


@pytest.mark.parametrize(("line", "output"), SAID)
def test_example(command: Command, monkeypatch: pytest.MonkeyPatch, line: str, output: str) -> None:
    monkeypatch.chdir(ROOT)
    assert command(*shlex.split(line), "--no-tuning").clean().out.split() == output.split()


def test_first_command(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (line,) = re.findall(r"^    pip install \. && soac (.*)$", README, re.MULTILINE)
    assert f"    {command(*shlex.split(line), '--no-tuning').clean().out}" in README


def test_failing_example(command: Command, tmp_path: Path) -> None:
    (tmp_path / "shift.soac").write_text("def main [n] (xs: [n]i32): [n]i32 =\n  map (\\i -> xs[i+1]) (iota n)\n")
    printed = command("run", "shift.soac", "[1, 2, 3]").err
    assert "".join(f"    {line}".rstrip() + "\n" for line in printed.splitlines()) in README
