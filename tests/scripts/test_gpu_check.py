"""`scripts/gpu_check.py` where there is no GPU: it says so at once; with a stand-in for the driver its parts run, in a
layout as on a machine without a network (`scripts/gpu_carry.py rehearse`)."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from soac.ir.machine import CUDA
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.libcuda import NoDriver, gpus
from soac.kernels.devices.cuda.nvrtc import GET_NVRTC
from soac.kernels.devices.cuda.variants import rivals
from soac.pipeline import compile_prog
from tests.support.emulator.checks import has_nvrtc
from tests.support.emulator.emulate import COMPILER
from tests.support.gpu import fill
from tests.support.null_driver import NullDriver, null_gpu

SCRIPTS = Path(__file__).parents[2] / "scripts"
WITH_RIVAL = "p02_sumrows"
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: there is no stand-in for the driver")


def script(name: str, *words: str, libraries: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = dict(os.environ) if libraries is None else os.environ | {"LD_LIBRARY_PATH": str(libraries)}
    command = [sys.executable, str(SCRIPTS / f"{name}.py"), *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)


def module(name: str) -> Any:
    """A script, to call its functions."""
    spec = importlib.util.spec_from_file_location(f"script_{name}", SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def options(check: Any, tmp_path: Path, **more: Any) -> Any:
    given = {
        "out": tmp_path / "out", "work": tmp_path / "work", "venv": None, "carry": None, "end": time.monotonic() + 60,
        "workers": 1, "random": 1, "log_size": 8, "most_seconds": 0.1, "tune_seconds": 1.0, "programs": ("sumrows",),
        "tuned": ("sumrows",),
    }  # fmt: skip
    made = check.Options(**(given | more))
    made.logs.mkdir(parents=True, exist_ok=True)
    return made


def missing() -> str | None:
    try:
        gpus()
    except NoDriver as why:
        return str(why)
    return None


def test_without_a_gpu_nothing_begins(tmp_path: Path) -> None:
    why = missing()
    if why is None:
        pytest.skip("there is a GPU")
    done = script("gpu_check", "run", "--out", str(tmp_path / "out"), "--venv", str(tmp_path / "venv"))
    assert (done.returncode, done.stdout.startswith(f"nothing is checked: {why}")) == (3, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_there_is_not_is_refused(tmp_path: Path) -> None:
    done = script("gpu_check", "run", "--out", str(tmp_path / "out"), "--steps", "tets,bench")
    assert done.returncode == 2
    assert "no such step: tets; there are install, machine, doctor" in done.stderr


@needs_compiler
def test_a_run_leaves_results_and_one_archive(tmp_path: Path) -> None:
    """With a driver that shows a GPU; whether PyCUDA is there is what the step tells."""
    libraries, out = module("gpu_carry").stand_in(tmp_path, "libcuda.so.1"), tmp_path / "out"
    done = script("gpu_check", "run", "--out", str(out), "--steps", "doctor", libraries=libraries)
    record = json.loads((out / "gpu-check.json").read_text())["steps"]["doctor"]
    assert done.returncode == (0 if record["passed"] else 1), done.stderr
    said = "\n".join(record["machine"])
    assert record["passed"] == ("not usable" not in said and "device cuda" in said)
    assert "stand-in" in said or "PyCUDA" in said
    assert sorted(path.name for path in out.iterdir()) == ["gpu-check.json", "gpu-check.tar.xz"]
    with tarfile.open(out / "gpu-check.tar.xz") as archive:
        assert "gpu-check/doctor.log" in archive.getnames()


def test_what_takes_too_long_is_ended_with_what_it_has_started(tmp_path: Path) -> None:
    check = module("gpu_check")
    here = options(check, tmp_path)
    text = (
        "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print(p.pid, flush=True); time.sleep(60)"
    )
    begin = time.monotonic()
    assert check.logged(here, "slow", [sys.executable, "-c", text], begin + 3) == 124
    assert time.monotonic() - begin < 20
    pid = int((here.logs / "slow.log").read_text().split()[-1])
    status = Path(f"/proc/{pid}/status")
    while status.exists() and "zombie" not in status.read_text():
        assert time.monotonic() < begin + 50
        time.sleep(0.1)


def test_what_a_cut_off_run_of_tests_has_found_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = module("gpu_check")
    here = options(check, tmp_path)
    log = (
        "[gw0] [ 10%] PASSED tests/gpu/test_programs.py::test_blocks[lud] \n"
        "[gw1] [ 20%] SKIPPED tests/gpu/test_device.py::test_arrays_of_others[jax] \n"
        "tests/gpu/test_device.py::test_events_time_what_runs PASSED [ 30%]\n"
        "SKIPPED [1] tests/gpu/test_device.py:92: could not import 'jax'\n"
    )

    def logged(options: Any, name: str, command: list[str], end: float, more: object = None) -> int:
        (options.logs / f"{name}.log").write_text(log + bad)
        return code

    monkeypatch.setattr(check, "logged", logged)
    bad, code = "", 124
    found = check.pytest(here, "cut", 0.0)
    assert (found["passed"], found["whole"], found["tests"], found["skipped"]) == (True, False, 3, 1)
    bad, code = "[gw0] [ 40%] FAILED tests/gpu/test_programs.py::test_blocks[nn] \n", 124
    found = check.pytest(here, "bad", 0.0)
    assert (found["passed"], found["failures"]) == (False, ["tests/gpu/test_programs.py::test_blocks[nn]"])


def test_what_a_cut_off_search_has_found_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = module("gpu_check")
    here = options(check, tmp_path)

    def logged(options: Any, name: str, command: list[str], end: float, more: object = None) -> int:
        if "--json" in command:
            file = Path(command[command.index("--json") + 1])
            file.write_text('{"a.soac": {"main": [0.1]}}' if "-untuned" in file.name else '{"a.soac": {"ma')
        return 124

    monkeypatch.setattr(check, "logged", logged)
    found = check.tune(here, time.monotonic() + 60)
    assert (found["passed"], found["whole"]) == (True, False)
    assert found["seconds_of_runs"] == {"sumrows untuned": {"a.soac": {"main": [0.1]}}}


def wheel(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as packed:
        packed.writestr(f"{name}/__init__.py", "carried = True\n")


def test_packages_are_carried_where_there_are_none_of_the_name(tmp_path: Path) -> None:
    check = module("gpu_check")
    for name in ("carried_along", "numpy"):
        wheel(tmp_path / "carry", name)
    here = options(check, tmp_path, carry=tmp_path / "carry")
    check.unpack(here)
    assert [path.name for path in (here.work / "site").iterdir()] == ["carried_along"]
    (here.work / "site" / "mark").touch()
    check.unpack(here)
    assert (here.work / "site" / "mark").exists()
    text = "import carried_along, numpy; assert carried_along.carried and not hasattr(numpy, 'carried')"
    assert check.logged(here, "import", [sys.executable, "-c", text], time.monotonic() + 60) == 0


def test_what_is_carried_is_what_a_run_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules of CUDA C to the letter, also of a rival, by which the cache knows them."""
    path = SCRIPTS.parent / "programs" / f"{WITH_RIVAL}.soac"
    monkeypatch.setattr(fill, "sources", lambda names: iter([(path.read_text(encoding="utf-8"), str(path))]))
    compiled = compile_prog(path.read_text(encoding="utf-8"), str(path), machine=CUDA)
    gpu, driver = null_gpu()
    asked, load = list[str](), driver.load
    monkeypatch.setattr(NullDriver, "load", lambda _, text, kernels: asked.append(text) or load(text, kernels))
    program = CudaExecutable.build(compiled.host, compiled.core.functions, gpu)
    others = rivals(compiled.host)
    assert others
    for name in others:
        program.device.variant(name, program.device.threads, False, False, False)
    _, *carried = fill.modules([WITH_RIVAL])
    assert sorted(carried) == sorted(asked)


@needs_compiler
@pytest.mark.skipif(not has_nvrtc(), reason=f"NVRTC is missing: {GET_NVRTC}")
def test_a_rehearsal_of_all_parts(tmp_path: Path) -> None:
    """Small; `python scripts/gpu_carry.py rehearse DIR --python PYTHON` is the whole."""
    wheel(tmp_path / "carry", "carried_along")
    small = ["--programs", "p02_sumrows", "--tuned", "p02_sumrows", "--random", "1", "--workers", "1"]
    small += ["--log-size", "6", "--most-seconds", "0.01", "--tune-seconds", "2"]
    command = ["rehearse", str(tmp_path / "carry"), "--out", str(tmp_path / "out"), "--as-it-is", "--limit", "120"]
    done = script("gpu_carry", *command, "--", *small)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    for part in (1, 2, 3, 4):
        names = sorted(path.name for path in (tmp_path / "out" / f"out-{part}").iterdir())
        assert names == [f"part-{part}.json", f"part-{part}.tar.xz"]
    steps = json.loads((tmp_path / "out" / "out-1" / "part-1.json").read_text())["steps"]
    assert steps["device"]["tests"] > 0
    assert steps["blocks"]["failures"] == []
