"""Defaults that a machine was measured to want."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import soac
from soac.autotune.model import Guard, Side
from soac.ir.thresholds import Threshold
from soac.kernels.devices.calibration import calibrated, store
from soac.kernels.devices.cpu.executable import CpuDevice
from soac.kernels.tracer.device import TracingDevice
from soac.tuning import calibrate

ROWS = "def main [n][m] (xss: [n][m]i32): [n]i32 = map i32.sum xss"


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache of its own, and nothing of it afterwards."""
    monkeypatch.setenv("SOAC_CACHE_DIR", str(tmp_path))
    calibrated.cache_clear()
    yield
    calibrated.cache_clear()


def test_the_kind_is_the_end_of_the_name() -> None:
    assert Threshold.of("main.ys.suff_outer_12").kind == "suff_outer"
    assert Threshold.of("main.ys.suff_intra_warp_0").kind == "suff_intra_warp"


@pytest.mark.usefixtures("fresh")
def test_guards_compare_with_what_was_measured() -> None:
    program, xss = soac.compile(ROWS), np.ones((20, 9), np.int32)
    assert [taken for _, _, taken in program.trace("main", [xss])[1]] == [CpuDevice.default_threshold <= 20]
    store(CpuDevice.calibration, {"suff_outer": 21})
    again = soac.compile(ROWS)
    assert [taken for _, _, taken in again.trace("main", [xss])[1]] == [False]
    assert calibrated(TracingDevice.calibration) == {}


def test_thresholds_of_a_kind_are_one() -> None:
    inner = Guard(("main.ys.suff_intra_3",), (8,), Side(1.0, ()), Side(2.0, ()))
    side = Side(0.5, (Guard(("main.ys.suff_outer_1",), (4,), Side(1.0, ()), Side(0.0, (inner,))),))
    (guard,) = calibrate.by_kind(side).guards
    assert (guard.thresholds, guard.orelse.guards[0].thresholds) == (("suff_outer",), ("suff_intra",))


@pytest.mark.usefixtures("fresh")
def test_calibrating_keeps_what_it_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "ROWS", (1, 64, 4096))
    monkeypatch.setattr(calibrate, "NESTS", calibrate.NESTS[:1])
    found = calibrate.calibrate()
    assert set(found) == {"suff_outer"}
    assert calibrated(CpuDevice.calibration) == found
