"""basedpyright reports nothing in the packages that are checked strictly (`pyproject.toml`)."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STRICT = ("ir", "flatten")
VERSION = (3, 11)  # `pythonVersion`: what other versions install of NumPy has stubs that this one cannot read


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("basedpyright") is None, reason="basedpyright is not installed")
@pytest.mark.skipif(sys.version_info[:2] != VERSION, reason=f"types are checked on Python {VERSION[0]}.{VERSION[1]}")
def test_strict_packages() -> None:
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, *STRICT]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
