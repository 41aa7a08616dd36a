"""The bounds of sums, scans and maps: loops by hand give what the programs give."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba")

from benchmarks import bounds
from benchmarks.peers.on_numba import by_hand


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).integers(-9, 9, shape).astype(np.int32)


def test_rows() -> None:
    xss = numbers(7, 33)
    sums, prefixes, turned = np.zeros(7, np.int32), np.zeros_like(xss), np.zeros((33, 7), np.int32)
    by_hand.sums(xss, sums)
    by_hand.scans(xss, prefixes)
    by_hand.transposed(xss, turned)
    for kind, found in (("sums", sums), ("scans", prefixes), ("transposed", turned)):
        program = bounds.program_of(kind, "i32")
        assert np.array_equal(program.call("main", [xss])[0], found)


def test_streams_read_everything() -> None:
    """Its results are others than sums of rows, but their sum is the same."""
    xs, out = numbers(1003 * 3).reshape(-1), np.zeros(1003, np.int32)
    by_hand.streams(xs, out)
    assert out.sum() == xs.sum()


def test_a_case_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SHAPES", ((8, 100),))
    effort = bounds.Effort(2, 0.0, 1.0, 2, 1.0)
    (case,) = bounds.sums("f32")
    row = bounds.measured(case, bounds.program_of("sums", "f32"), 1e9, effort)
    assert row.shape == (8, 100)
    assert row.bound in row.least_ms
    assert row.best_version in row.least_ms
    assert row.ratio == pytest.approx(row.least_ms[row.bound] / row.least_ms["soac"])
