"""Commands say how many performance warnings a program has, where they were counted or that is little work."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import soac
from soac.cli import cli
from soac.kernels.devices import disk_cache as disk
from soac.kernels.devices.cpu.runtime import jit
from soac.performance import summary as counting

TEXT = r"""
-- ==
-- input { [0i64, 1i64, 2i64] [1.0, 1.0, 1.0] }

entry main [n] (is: [n]i64) (xs: [n]f64) =
  map (\i -> f64.sum (map (\j -> xs[(i + j * j) % n]) (iota (i % 5)))) is
"""
SAID = "1 performance warning; `soac check --performance"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A program with a warning that nothing has counted."""
    own = disk.Cache(tmp_path / "cache")
    monkeypatch.setattr(jit, "user_cache", lambda: own)
    path = tmp_path / "slow.soac"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


def said(*words: str) -> bool:
    """Whether a command says how many there are."""
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    return SAID in result.output


def run(file: str) -> bool:
    return said("run", file, "[0, 1, 2]", "[1, 1, 1]")


def test_a_short_run_does_not_lower_all_versions_to_count_them(file: str) -> None:
    program = soac.compile(TEXT, file=file)
    program.main([0, 1, 2], [1.0, 1.0, 1.0])
    assert counting.summary(program, 0.1) is None
    assert program.stages.done is None
    assert not run(file)


def test_a_run_says_what_the_check_has_counted(file: str) -> None:
    CliRunner().invoke(cli, ["check", "--performance", file])
    assert run(file)


def test_a_long_run_counts_them(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "LONG", 0.0)
    assert run(file)


def test_bench_counts_them(file: str) -> None:
    assert said("bench", "--runs", "1", file)
    assert run(file)
