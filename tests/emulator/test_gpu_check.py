"""`scripts/gpu_check.py` where there is no GPU: it says so at once; with a stand-in for the driver its steps run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from soac.kernels.devices.cuda.libcuda import NoDriver, gpus

from .emulate import COMPILER, HERE

SCRIPT = HERE.parent.parent / "scripts" / "gpu_check.py"


def gpu_check(*words: str, libraries: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = dict(os.environ) if libraries is None else os.environ | {"LD_LIBRARY_PATH": str(libraries)}
    return subprocess.run([sys.executable, str(SCRIPT), *words], env=env, capture_output=True, text=True, timeout=300)


def test_without_a_gpu_nothing_begins(tmp_path: Path) -> None:
    why = missing()
    if why is None:
        pytest.skip("there is a GPU")
    done = gpu_check("run", "--out", str(tmp_path / "out"), "--venv", str(tmp_path / "venv"))
    assert (done.returncode, done.stdout.startswith(f"nothing is checked: {why}")) == (3, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def missing() -> str | None:
    try:
        gpus()
    except NoDriver as why:
        return str(why)
    return None


def test_a_step_that_there_is_not_is_refused(tmp_path: Path) -> None:
    done = gpu_check("run", "--out", str(tmp_path / "out"), "--steps", "tets,bench")
    assert done.returncode == 2
    assert "no such step: tets; there are install, doctor, tests" in done.stderr


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: there is no stand-in for the driver's library")
def test_steps_leave_logs_and_results(tmp_path: Path) -> None:
    """With a driver that shows a GPU; whether PyCUDA is there is what the first step tells."""
    library = tmp_path / "libcuda.so.1"
    assert COMPILER is not None
    flags = ["-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([COMPILER, *flags, "-o", str(library), str(HERE / "libcuda.cpp"), "-ldl"], check=True)
    out = tmp_path / "out"
    done = gpu_check("run", "--out", str(out), "--steps", "doctor", libraries=tmp_path)
    record = json.loads((out / "gpu-check.json").read_text())["steps"]["doctor"]
    assert done.returncode == (0 if record["passed"] else 1), done.stderr
    said = "\n".join(record["machine"])
    assert record["passed"] == ("not usable" not in said and "device cuda" in said)
    assert "stand-in" in said or "PyCUDA" in said
    assert (out / "doctor.log").read_text().splitlines() == record["machine"]
    (out / "doctor.log").write_text("what an earlier run has left: not usable\n")
    gpu_check("run", "--out", str(out), "--steps", "doctor", libraries=tmp_path)
    assert "an earlier run" not in (out / "doctor.log").read_text()
