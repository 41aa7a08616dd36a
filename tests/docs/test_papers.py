"""The commands of docs/papers.md run, its tests and modules are there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import caller

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
SPANS = re.findall(r"`((?:soac|pytest|python -m) [^`]+)`", PAGE)
OF_SOAC = sorted({span for span in SPANS if span.startswith("soac ")})


def test_every_row_is_there() -> None:
    rows = re.findall(r"^\| ([A-N]) \| [^|]+\| ([^|]+)\| ([^|]*)\|", PAGE, re.MULTILINE)
    assert [name for name, _, _ in rows] == list("ABCDEFGHIJKLMN")
    assert all(bool(command.strip()) != (what.strip() == "Nothing") for _, what, command in rows)


@pytest.mark.parametrize("line", OF_SOAC)
def test_commands(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    words = [str(tmp_path / word) if word == "OUT" else word for word in shlex.split(line)[1:]]
    assert caller(monkeypatch)(*words).clean().out


def test_tests_and_modules() -> None:
    for span in SPANS:
        kind, *words = span.split()
        if kind == "pytest":
            file, _, name = words[0].partition("::")
            assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8")
        elif kind == "python":
            assert words[1] in SMALL


SMALL = {
    "benchmarks.slides": ("--work", "10", "--part", "64", "--rounds", "1"),
    "benchmarks.skew": ("--machine", "cuda"),
}
"""What makes a benchmark of the page small; on a GPU skew is counted, not timed."""


@pytest.mark.slow
@pytest.mark.parametrize("line", sorted({span for span in SPANS if span.startswith("python ")}))
def test_benchmarks_run(line: str) -> None:
    module = line.split()[2]
    done = subprocess.run(
        [sys.executable, *line.split()[1:], *SMALL[module]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    tables = [row for row in done.stdout.splitlines() if row.count("|") > 2 or "worst" in row]
    assert tables
    if module == "benchmarks.skew":
        mean, worst = re.findall(r"geometric mean ([\d.]+), worst ([\d.]+)", done.stdout)[0]
        assert float(mean) <= 1.14
        assert float(worst) <= 1.5
