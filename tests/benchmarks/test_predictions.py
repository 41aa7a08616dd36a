"""What `benchmarks/predictions.py` counts: least bytes where each element is read once, places on a multiprocessor."""

from __future__ import annotations

import pytest

from benchmarks.gpu import ROWS, SCAN, SUM
from benchmarks.predictions import floats, predicted, warps_of
from soac.ir.machine import CUDA
from soac.kernels.devices.cuda.ptxas_report import Resources
from soac.pipeline import compile_prog

N = 1 << 20


@pytest.mark.parametrize(
    ("text", "shape", "least"), [(SUM, (N,), 4 * N), (SCAN, (N,), 8 * N), (ROWS, (N // 16, 16), 4 * (N + N // 16))]
)
def test_every_element_is_read_once(text: str, shape: tuple[int, ...], least: int) -> None:
    versions = list(predicted(compile_prog(text, "one.soac", machine=CUDA), [floats(*shape)]))
    assert 0.99 * least < min(version.bytes for version in versions) < 1.25 * least


@pytest.mark.parametrize(
    ("registers", "shared", "warps"), [(32, 0, 64), (127, 17000, 16), (255, 0, 8), (16, 48 << 10, 32)]
)
def test_warps_of_a_multiprocessor(registers: int, shared: int, warps: int) -> None:
    assert warps_of(Resources(registers, 0, 0, 0, shared, 1), 256) == warps
