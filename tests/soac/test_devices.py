"""`--device cuda` and `device="cuda"`, on an emulated GPU; what is said where something is missing."""

from __future__ import annotations

import json
import math
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import soac
from benchmarks import gpu as contests
from soac import devices
from soac.cli import run_cli
from soac.commands import doctor
from soac.devices import Missing, missing_for_cuda, require
from soac.frontend.source.text import Reach
from soac.ir.errors import DataError, SystemFault
from soac.kernels.devices.cuda import libcuda, nvrtc
from soac.kernels.devices.cuda.array import CudaArray
from soac.kernels.devices.cuda.gpu import Gpu
from soac.kernels.devices.cuda.libcuda import Found, NoDriver
from soac.kernels.devices.cuda.nvrtc import GET_NVRTC, NoCompiler
from soac.settings import Settings
from soac.testing.run import test_program as outcomes_of
from tests.support.emulator.driver import emulated_gpu
from tests.support.emulator.emulate import COMPILER

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
SUMS = """
-- ==
-- input { [[1, 2], [3, 4]] } output { [3, 7] }
-- input { [[1], [2]] } output { [1, 2] }
-- random input { [20][30]i32 } auto output
def main [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss
"""
H200 = Found("NVIDIA H200", "sm_90", 139 << 30, (13, 0))


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    made = emulated_gpu()
    monkeypatch.setattr(devices, "the_gpu", lambda: made)
    monkeypatch.setattr(devices, "missing_for_cuda", lambda: ())
    return made


# ---- programs ----------------------------------------------------------------------------------------------------


@needs_compiler
def test_python(gpu: Gpu) -> None:
    program = soac.compile(SUMS, device="cuda")
    sums = program.main(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert isinstance(sums, CudaArray)
    assert sums.numpy().tolist() == [3, 12]
    assert program.main([[1, 2], [3, 4]]).numpy().tolist() == [3, 7]
    (traced,), reached = program.trace("main", [np.ones((2, 3), np.int32)])
    assert isinstance(traced, np.ndarray)
    assert reached
    with pytest.raises(DataError, match="D0104"):
        program.main(sums)
    again = soac.compile("def main [n] (xs: [n]i32): i32 = reduce (+) 0 xs", device="cuda")
    assert again.main(sums) == 15


@needs_compiler
def test_arrays_of_a_gpu_go_into_programs_of_the_cpu(gpu: Gpu) -> None:
    sums = soac.compile(SUMS, device="cuda").main(np.ones((2, 3), np.int32))
    assert soac.compile("def main [n] (xs: [n]i32): i32 = reduce (+) 0 xs").main(sums) == 6


@needs_compiler
def test_commands(gpu: Gpu, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soac.tuning.report.NOISE", math.inf)  # an emulated GPU takes what it takes
    program, times = tmp_path / "sums.soac", tmp_path / "times.json"
    program.write_text(SUMS)
    assert run_cli(["run", "--device", "cuda", str(program), "[[1i32, 2i32], [5i32, 6i32]]"]) == 0
    assert capfd.readouterr().out == "[3i32, 11i32]\n"
    assert run_cli(["run", "--device", "cuda", "--force", "main.suff=nothing", str(program), "[[1i32]]"]) == 2
    options = ["--runs", "2", "--most-seconds", "0.1", "--json", str(times)]
    assert run_cli(["bench", "--device", "cuda", *options, str(program)]) == 0
    assert len(json.loads(times.read_text())[str(program)]) == 3
    assert run_cli(["autotune", "--device", "cuda", "--runs", "1", str(program)]) == 0
    assert "main.ys.suff_outer_0=" in (tmp_path / "sums.soac.tuning").read_text()
    assert run_cli(["explain", "--device", "cuda", str(program), "[[1i32]]"]) == 0
    assert "(tuning file)" in capfd.readouterr().out


@needs_compiler
def test_test_blocks_on_every_version(gpu: Gpu, tmp_path: Path) -> None:
    program = tmp_path / "sums.soac"
    program.write_text(SUMS)
    settings = Settings("cuda", None, None, use_tuning=False, params=(), forces=(), reach=Reach.PROJECT)
    outcomes = list(outcomes_of(program, settings, every_version=True))
    assert len({outcome.version for outcome in outcomes}) == 2
    assert [outcome for outcome in outcomes if outcome.fault is not None] == []


# ---- what is missing ---------------------------------------------------------------------------------------------


def no_driver() -> tuple[Found, ...]:
    raise NoDriver("no NVIDIA driver: the library libcuda.so.1 is not on this machine")


def no_compiler() -> object:
    raise NoCompiler("NVRTC is not installed")


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has everything."""
    monkeypatch.setattr(libcuda, "gpus", lambda: (H200,))
    monkeypatch.setattr(nvrtc, "nvrtc", lambda: nvrtc.Nvrtc(None, (13, 0)))  # type: ignore[arg-type]
    monkeypatch.setattr(nvrtc, "architectures", lambda: ("sm_75", "sm_90", "sm_121"))
    monkeypatch.setattr(devices.importlib.util, "find_spec", lambda name: object())
    for name in ("pycuda", "pycuda.driver"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))


@pytest.mark.usefixtures("complete")
def test_nothing_is_missing() -> None:
    assert missing_for_cuda() == ()
    assert devices.described_gpu() == "NVIDIA H200, sm_90, 139.0 GiB, driver for CUDA 13.0"
    require("cuda")


@pytest.mark.usefixtures("complete")
def test_everything_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(libcuda, "gpus", no_driver)
    monkeypatch.setattr(nvrtc, "nvrtc", no_compiler)
    monkeypatch.setattr(devices.importlib.util, "find_spec", lambda name: None)
    assert [one.what for one in missing_for_cuda()] == [
        "no NVIDIA driver: the library libcuda.so.1 is not on this machine",
        "PyCUDA is not installed",
        "NVRTC, the compiler of CUDA C, is not installed",
    ]
    assert all(one.how for one in missing_for_cuda())
    with pytest.raises(SystemFault) as fault:
        require("cuda")
    assert fault.value.exit_code == 3
    assert run_cli(["devices"]) == 0
    said = capsys.readouterr().out
    assert "cpu " in said
    assert "(ready)" in said
    assert "cuda  NVIDIA GPU (not usable)" in said
    assert "`pip install 'pycuda>=2024.1'`" in said
    assert "`pip install 'nvidia-cuda-nvrtc>=13.0,<13.1'`" in said


@pytest.mark.usefixtures("complete")
def test_pycuda_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(name: str) -> object:
        raise ImportError("undefined symbol: cuArrayCreate_v2")

    monkeypatch.setattr(devices.importlib, "import_module", fails)
    (one,) = missing_for_cuda()
    assert one.what == "PyCUDA does not start: undefined symbol: cuArrayCreate_v2"


@pytest.mark.usefixtures("complete")
@pytest.mark.parametrize(
    "found, what",
    [
        (Found("a GPU", "sm_61", 1 << 30, (13, 0)), "NVRTC 13.0 compiles for sm_75 to sm_121, not for sm_61"),
        (Found("a GPU", "sm_90", 1 << 30, (12, 4)), "the driver knows CUDA 12.4, NVRTC is of CUDA 13.0"),
    ],
)
def test_versions_that_do_not_fit(monkeypatch: pytest.MonkeyPatch, found: Found, what: str) -> None:
    monkeypatch.setattr(libcuda, "gpus", lambda: (found,))
    (one,) = missing_for_cuda()
    assert one.what == what


def test_doctor_says_what_could_be_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "nvrtc", no_compiler)
    monkeypatch.setattr(doctor, "cxx_compiler", lambda: None)
    assert run_cli(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "CUDA C compiler      none: `pip install 'nvidia-cuda-nvrtc>=13.0,<13.1'`" in said
    assert "C++ compiler         none; tests that emulate kernels are skipped: install g++ or clang++" in said


def test_hints_name_what_an_index_has() -> None:
    """The packages that an extra of the project asks for; the project itself is on no index."""
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    hints = [devices.GET_PYCUDA, GET_NVRTC]
    found = [package for hint in hints for package in re.findall(r"`pip install '([^']+)'`", hint)]
    assert sorted(found) == sorted(extras["cuda"])


def test_missing_is_said_with_a_way_out() -> None:
    fault = devices.unusable("cuda", (Missing("PyCUDA is not installed", "`pip install pycuda`"),))
    (said,) = fault.diagnostics
    assert said.message == "the device `cuda` cannot be used: PyCUDA is not installed"
    assert said.notes == ("PyCUDA is not installed: `pip install pycuda`",)
    assert said.hint == "`--device cpu` works everywhere"


@needs_compiler
def test_benchmarks(gpu: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The contests of `benchmarks/gpu.py`, so small that they can be emulated."""
    file = tmp_path / "found.json"
    sizes = ["--log-size", "7", "--log-edge", "3", "--most-seconds", "0.01"]
    monkeypatch.setattr("sys.argv", ["gpu", *sizes, "--json", str(file)])
    contests.main()
    found = json.loads(file.read_text())
    assert [row["name"] for row in found["rows"]][:4] == ["copy 2^7", "sum 2^7", "scan 2^7", "rows [2^0][2^5]"]
    assert found["summary"]["sum_of_copy"] > 0
    assert any(who.startswith("soac main.") for who in found["rows"][3]["milliseconds"])
