"""What the versions of a nest move through global memory, counted by the tracer: the goldens' figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from soac.ir.machine import CUDA
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Space
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.tracer.run import KernelTrace, TraceSettings, ready_kernels, trace_kernels
from soac.pipeline import Compiled, compile_prog
from tests.support.programs import ROOT

THREADS = TraceSettings(threads=256)


@cache
def compiled(name: str) -> Compiled:
    path = ROOT / "programs" / f"{name}.soac"
    return compile_prog(path.read_text(encoding="utf-8"), str(path), machine=CUDA)


def launches(name: str, version: str, args: Sequence[np.ndarray]) -> tuple[KernelTrace, ...]:
    """The launches of the version with this letter for each guard: taken or not."""
    guards = ["main.ys.suff_outer_0", "main.ys.suff_intra_warp_0", "main.ys.suff_intra_0"]
    forced = {guard: side == "y" for guard, side in zip(guards, version, strict=False)}
    report = trace_kernels(compiled(name), ready_kernels(compiled(name)), "main", args, forced, THREADS)
    assert report.is_clean
    return report.launches


def elements(found: Sequence[KernelTrace]) -> int:
    """Elements of global memory that are read and written."""
    return sum(site.lanes for launch in found for site in launch.sites if site.array.space is Space.GLOBAL)


def sectors(found: Sequence[KernelTrace]) -> int:
    return sum(site.units for launch in found for site in launch.sites if site.array.space is Space.GLOBAL)


GRID = np.arange(4 * 8 * 128, dtype=np.int32).reshape(4, 8, 128) % 5


@pytest.mark.parametrize("version", ["ny", "nny"])
def test_a_collective_reads_a_row_once(version: str) -> None:
    """4.2: a warp or a block keeps what its reduction has read for the map behind it."""
    rows = GRID.reshape(32, 128)
    found = launches("p06_reduce_then_map", version, [rows])
    assert (elements(found), sectors(found)) == (2 * rows.size, 2 * rows.nbytes // 32)


@pytest.mark.parametrize(("version", "units"), [("y", 2), ("ny", 2), ("nny", 2), ("nnn", 6)])
def test_three_scans(version: str, units: int) -> None:
    """4.5: a thread, a warp or a block reads a row once and writes one."""
    assert elements(launches("p13_three_scans", version, [GRID])) == units * GRID.size


def test_a_thread_keeps_no_row_between_scans() -> None:
    """4.5: its three scans are one loop, without arrays of its own."""
    kernel = compiled("p13_three_scans").host.kernels[0]
    kinds = [type(stm) for stm in statements(kernel.body)]
    assert (kinds.count(kir.For), kinds.count(kir.Alloc)) == (1, 0)


def test_tiles_of_one_dimension() -> None:
    """4.6: two blocks that read 64 sectors of tiles each, 64 of the elements of their own, and 64 of results."""
    xs = np.arange(512, dtype=np.int32)
    assert sectors(launches("p14_tiling", "y", [xs])) == 2 * 64 + 64 + 64
    kernel = compiled("p14_tiling").host.kernels[0]
    assert [type(stm) for stm in statements(kernel.body)].count(kir.Distribute) == 2
