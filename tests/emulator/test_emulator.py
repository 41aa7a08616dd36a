"""CUDA C without a GPU: it compiles for sm_90, and emulated it computes what the interpreter does.

A sample of the corpus, another one every day; `python -m tests.emulator.check FILES` takes any programs.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest

from soac.flatten.levels import CPU, CUDA
from soac.ir.core import Level
from soac.ir.errors import Loc
from soac.ir.ops import Op
from soac.ir.types import Prim, i64
from soac.kernels import kir
from soac.kernels.cuda import cuda_kernel, cuda_module
from soac.kernels.device import KernelFailure
from soac.kernels.kir import KArray, KLet, KLoad, KVar, Space
from soac.kernels.nvrtc import NoCompiler, compile_cuda, nvrtc
from soac.pipeline import compile_prog
from tests.emulator.check import faults
from tests.emulator.emulate import COMPILER, build

ROOT = Path(__file__).parent.parent.parent
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
CORPUS = sorted(
    path
    for path in (ROOT / "tests" / "conformance").rglob("*.fut")
    if not {"rejected", "library"} & set(path.relative_to(ROOT).parts)
)
FIXED = [ROOT / "programs" / f"{name}.soac" for name in ("sumrows", "rowscan", "p15_segscatter")]
SAMPLE = 8


def of_today(paths: list[Path], count: int) -> list[Path]:
    start = datetime.date.today().toordinal() * count
    return [paths[(start + k) % len(paths)] for k in range(count)]


@needs_compiler
@pytest.mark.parametrize("path", FIXED + of_today(CORPUS, SAMPLE), ids=lambda path: path.stem)
def test_emulated(path: Path) -> None:
    found = faults(path, CPU)
    assert not found, "\n".join(found[:10])


@needs_compiler
def test_emulated_blocks_and_tiles() -> None:
    """The levels of a GPU: collectives inside of blocks, tiles in shared memory."""
    found = faults(ROOT / "programs" / "p14_tiling.soac", CUDA)
    assert not found, "\n".join(found[:10])


@pytest.mark.parametrize("path", [*FIXED, *of_today(CORPUS, SAMPLE)], ids=lambda path: path.stem)
def test_compiles_for_a_gpu(path: Path) -> None:
    try:
        nvrtc()
    except NoCompiler as why:
        pytest.skip(str(why))
    compiled = compile_prog(path.read_text(encoding="utf-8"), path.name, machine=CUDA)
    assert compile_cuda(cuda_module(map(cuda_kernel, compiled.host.kernels)), "sm_90")[:4] == b"\x7fELF"


# ---- the emulator tells what is wrong ----------------------------------------------------------------------------

AT, J, N, B = KVar("i", Prim.I64), KVar("j", Prim.I64), KVar("n", Prim.I64), KVar("b", Prim.I64)
X, Y = KVar("x", Prim.I32), KVar("y", Prim.I32)
IN, OUT = KArray("xs", Prim.I32, Space.GLOBAL), KArray("ys", Prim.I32, Space.GLOBAL)


def reversal() -> kir.Kernel:
    """ys[i] = xs[n-1-i], by way of shared memory; the fence is left to be placed."""
    shared, at, last = KArray("s", Prim.I32, Space.SHARED), KVar("at", Prim.I64), KVar("last", Prim.I64)
    read = (KLet(at, kir.KOp(Op.SUB, Prim.I64, (last, J))), KLet(Y, KLoad(shared, at)), kir.Store(OUT, J, Y))
    body = (
        KLet(last, kir.KOp(Op.SUB, Prim.I64, (N, i64(1)))),
        kir.Alloc(shared, i64(100)),
        kir.Threads(AT, i64(0), N, (KLet(X, KLoad(IN, AT)), kir.Store(shared, AT, X))),
        kir.Threads(J, i64(0), N, read),
    )
    return kir.Kernel("reversal", B, (IN, OUT), (N,), body, (), Level.BLOCK)


def reversed_in(order: int) -> bool:
    xs, ys = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    build((reversal(),)).launch("reversal", 1, [xs, ys], [100], order)
    return np.array_equal(ys, xs[::-1])


@needs_compiler
@pytest.mark.parametrize("order", [0, 1, 7])
def test_fences_are_placed(order: int) -> None:
    assert reversed_in(order)


@needs_compiler
def test_orders_tell_a_missing_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soac.kernels.cuda.place_fences", lambda kernel: kernel)
    assert not all(reversed_in(order) for order in (0, 1, 7))


@needs_compiler
def test_a_failing_check_ends_the_launch() -> None:
    sites = (kir.FailureSite("R0101", Loc("f", 1, 1, 1, 1), ("index ", Prim.I64, " of ", Prim.I64)),)
    body = (kir.BoundsCheck(AT, N, 0, (AT, N)), KLet(X, KLoad(IN, AT)), kir.Store(OUT, AT, X))
    kernel = kir.Kernel("checked", B, (IN, OUT), (N,), (kir.Threads(AT, i64(0), i64(9), body),), sites, Level.BLOCK)
    xs, ys = np.arange(9, dtype=np.int32), np.zeros(9, np.int32)
    with pytest.raises(KernelFailure) as failed:
        build((kernel,)).launch("checked", 1, [xs, ys], [5], 0)
    assert failed.value.values == (5, 5)
