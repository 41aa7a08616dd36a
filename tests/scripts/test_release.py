"""What is published is consistent; `scripts/release` builds and tries it out."""

from __future__ import annotations

import importlib.util
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import soac

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "release"


def test_one_version() -> None:
    release = runpy.run_path(str(SCRIPT))
    assert release["version_of_tree"]() == soac.__version__
    assert set(release["wrong"]()) <= {"the tree is not clean"}


def test_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3.1" in line}
    assert named == set(runpy.run_path(str(SCRIPT))["PYTHONS"])
    assert {"notebook", "release", "typing", "cuda", "dev"} <= set(project["optional-dependencies"])


@pytest.mark.slow
def test_the_files_are_built_and_work(tmp_path: Path) -> None:
    for package in ("build", "twine"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    ran = subprocess.run(
        [sys.executable, SCRIPT, "--out", tmp_path, "--only", "3.11"], capture_output=True, text=True, cwd=ROOT
    )
    assert ran.stdout.count(f"soac {soac.__version__} works") == 2, ran.stdout + ran.stderr
