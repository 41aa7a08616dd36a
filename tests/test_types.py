"""basedpyright reports nothing in the packages that are checked strictly (`pyproject.toml`)."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STRICT = ("ir", "flatten")


@pytest.mark.whole
@pytest.mark.skipif(importlib.util.find_spec("basedpyright") is None, reason="basedpyright is not installed")
def test_strict_packages() -> None:
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, *STRICT]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
