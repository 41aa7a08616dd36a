"""The command line as a fixture."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import Command, caller


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """`command("run", file, "1", stdin=b"")` in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return caller(monkeypatch)
