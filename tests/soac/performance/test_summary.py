"""Commands say how many performance warnings a program has, whether it was compiled for them or found on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import soac
from soac.kernels.devices import disk_cache as disk
from soac.kernels.devices.cpu.runtime import jit
from soac.performance.summary import summary

TEXT = r"""
entry main [n] (is: [n]i64) (xs: [n]f64) =
  map (\i -> f64.sum (map (\j -> xs[(i + j * j) % n]) (iota (i % 5)))) is
"""


def test_they_are_counted_when_a_program_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = disk.Cache(tmp_path / "cache")
    monkeypatch.setattr(jit, "user_cache", lambda: own)
    first, second = said(True), said(False)
    assert first is not None
    assert "1 performance warning;" in first
    assert first == second


def said(is_compiled: bool) -> str | None:
    """What is said after a call of the program, which is compiled for it or was before."""
    program = soac.compile(TEXT)
    program.main(np.arange(3), np.ones(3))
    assert program.stages.is_begun == is_compiled
    return summary(program)


def test_what_was_never_counted_is_not_compiled_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = disk.Cache(tmp_path / "cache")
    monkeypatch.setattr(jit, "user_cache", lambda: own)
    soac.compile(TEXT)
    assert summary(soac.compile(TEXT)) is None
