"""The guide to clusters: its program, its commands and its Python, as far as one machine allows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import caller

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
ROWS = np.arange(120, dtype=np.float32).reshape(40, 3)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the program and its data."""
    (tmp_path / "rows.soac").write_text(blocks("soac")[0], encoding="utf-8")
    np.save(tmp_path / "rows.npy", ROWS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_partitioned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert caller(monkeypatch)("explain", "rows.soac", "--node").clean().out == blocks("")[-1]


@pytest.mark.slow
def test_commands_and_python(folder: Path) -> None:
    pytest.importorskip("distributed")
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    (command,) = [line for line in TEXT.splitlines() if "--workers 2" in line]
    words = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "354.0f32"
    for number, block in enumerate(blocks("python")):
        (folder / f"block{number}.py").write_text(block, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, f"block{number}.py"], env=env, capture_output=True, text=True, check=True
        )
        assert "False" not in done.stdout
