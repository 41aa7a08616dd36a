"""Kernels that spill get more registers; what a refusal says."""

from __future__ import annotations

from pathlib import Path

import pytest

from soac.frontend.source.text import Reach
from soac.ir.errors import IRError
from soac.ir.machine import CUDA
from soac.kernels.cuda_c.module import cuda_kernel, cuda_module
from soac.kernels.devices.cuda import nvrtc as compiler
from soac.kernels.devices.cuda.launch_bounds import more_registers
from soac.kernels.devices.cuda.nvrtc import NoCompiler, nvrtc, resources
from soac.kernels.devices.cuda.ptxas_report import Resources
from soac.kernels.devices.disk_cache import Cache
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.pipeline import compile_prog

PROGRAMS = Path(__file__).parents[4] / "programs"


@pytest.fixture
def nvidia() -> None:
    try:
        nvrtc()
    except NoCompiler as why:
        pytest.skip(str(why))


def use(registers: int, spilled: int) -> Resources:
    return Resources(registers, spilled, 0, spilled, 0, 0)


@pytest.mark.parametrize(
    ("bounds", "registers", "wanted"),
    [
        ("256", 32, "256, 6"),
        ("128", 32, "128, 12"),
        ("256, 4", 64, "256, 3"),
        ("256, 5", 46, "256, 4"),
        ("256", 128, "256, 1"),
        ("256, 1", 255, "256, 1"),
        ("1024, 1", 64, "1024, 1"),
    ],
)
def test_fewer_blocks_at_once(bounds: str, registers: int, wanted: str) -> None:
    text = 'extern "C" __global__ void __launch_bounds__({})\nf(i64 n) {{}}\n'
    other = 'extern "C" __global__ void __launch_bounds__(256)\nf_2(i64 n) {}\n'
    found = more_registers(text.format(bounds) + other, {"f": use(registers, 4), "f_2": use(32, 0)})
    assert found == text.format(wanted) + other


def module(name: str) -> str:
    path = PROGRAMS / f"{name}.soac"
    compiled = compile_prog(path.read_text(encoding="utf-8"), str(path), machine=CUDA, reach=Reach.ANYWHERE)
    return cuda_module(map(cuda_kernel, all_ready(compiled.host.kernels, CUDA_PASSES)))


@pytest.mark.usefixtures("nvidia")
def test_the_assembler_spills_unless_it_is_asked_for_fewer_warps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = module("pathfinder")
    with monkeypatch.context() as patch:
        patch.setattr(compiler, "more_registers", lambda text, uses: text)
        before = resources(text, "sm_90", Cache(tmp_path))
    after = resources(text, "sm_90", Cache(tmp_path / "other"))
    assert [name for name, one in before.items() if one.spills] == ["main_ys_0"]
    assert {name: one for name, one in after.items() if name != "main_ys_0"} == {
        name: one for name, one in before.items() if name != "main_ys_0"
    }
    assert (after["main_ys_0"].registers, after["main_ys_0"].spills) == (48, False)


@pytest.mark.usefixtures("nvidia")
@pytest.mark.parametrize(
    "name", ["softmax", "hotspot", "pathfinder", "attention", "nbody", "matmul", "nw", "locvolcalib", "optionpricing"]
)
def test_no_kernel_spills(name: str) -> None:
    """Of the programs whose kernels `docs/gpu.md` describes."""
    assert [kernel for kernel, one in resources(module(name), "sm_90").items() if one.spills] == []


def test_a_refusal_begins_with_the_first_error(nvidia: None) -> None:
    """Warnings, which a long text has many of, come first in the log."""
    unused = " ".join(f"int unused{k}; unused{k} = {k};" for k in range(100))
    with pytest.raises(IRError, match=r"refuses generated code: kernels.cu\(\d+\): error: .*nowhere"):
        compiler.compile_cuda(f"__global__ void k() {{ {unused} nowhere(); }}", "sm_90", Cache(None))
