"""Which versions a GPU runs unless a tuning file says otherwise: nothing is computed, only guards are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soac.ir.machine import CUDA
from soac.ir.types import Prim
from soac.kernels.devices.cuda.driver import Signature, Value
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.gpu import Gpu
from soac.pipeline import compile_prog
from tests.support.emulator.driver import EmulatedDriver, Launched

PROGRAMS = Path(__file__).parents[3] / "programs"


@dataclass(slots=True)
class NoGpu(EmulatedDriver):
    """Memory is nowhere, and all results are 0."""

    def alloc(self, size: int) -> int:
        self.used += size
        return self.used << 8

    def free(self, address: int) -> None: ...
    def upload(self, address: int, array: np.ndarray) -> None: ...
    def copy(self, target: int, source: int, size: int) -> None: ...
    def clear(self, address: int, size: int) -> None: ...
    def set(self, address: int, word: int, width: int, count: int) -> None: ...
    def download(self, array: np.ndarray, address: int) -> None:
        array.fill(0)

    def load(self, text: str, signatures: Sequence[Signature]) -> dict[str, Any]:
        return {signature.name: signature for signature in signatures}

    def launch(self, kernel: Signature, grid: int, threads: int, shared: int, values: Sequence[Value]) -> None:  # pyright: ignore
        self.launched.append(Launched(kernel.name, grid, threads, shared, tuple(values)))


def taken(program: str, entry: str, *shapes: tuple[int, ...]) -> list[str]:
    """The guards that are taken for arrays of these shapes, without the binding."""
    path, gpu = PROGRAMS / f"{program}.soac", Gpu(NoGpu(compiled_host=False))
    compiled = compile_prog(path.read_text(), str(path), machine=CUDA)
    executable = CudaExecutable.build(compiled.host, compiled.core.functions, gpu)
    args = gpu.call(lambda: [gpu.scratch(Prim.F32, shape) for shape in shapes])
    return [name.rpartition(".")[2] for name, _, side in executable.run(entry, args)[1] if side]


@pytest.mark.parametrize(
    ("n", "m", "wanted"),
    [
        (65536, 1024, ["suff_intra_0"]),
        (65536, 100, ["suff_intra_warp_0"]),
        (65536, 8, ["suff_outer_0"]),
        (1 << 18, 100, ["suff_outer_0"]),
        (65536, 4000, ["suff_outer_0"]),
        (64, 1 << 20, []),
    ],
)
def test_rows_of_softmax(n: int, m: int, wanted: list[str]) -> None:
    """A row to a block or warp that it fills; to a thread where rows are short or do not fit, or fill the machine."""
    assert taken("softmax", "softmax", (n, m)) == wanted


@pytest.mark.parametrize(("n", "wanted"), [(256, ["suff_outer_0"]), (64, [])])
def test_products_in_tiles(n: int, wanted: list[str]) -> None:
    """There is nothing to do inside of a block: tiles are the default with far fewer points than fill the machine."""
    assert taken("matmul", "main", (n, n), (n, n)) == wanted
