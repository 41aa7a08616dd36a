"""The programs of the benchmarks of derivatives: what they compute, and their slopes, without the peers' libraries."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from benchmarks.gradients.cases import CASES, Case
from benchmarks.gradients.peers import FUNCTIONS
from benchmarks.gradients.run import Row, different, page

SIZE = 0.004


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_derivatives_are_slopes(case: Case) -> None:
    """Along a random direction; a Jacobian that is written by hand is the same."""
    program, args = soac.load(case.path), case.arguments(SIZE)
    found = program.call("derivative", args)
    if case.is_jacobian:
        assert different("by hand", case, program.call("by_hand", args), found) == []
        return
    random, step = np.random.default_rng(2), 1e-3 if case.tolerance > 1e-6 else 1e-6
    along = [random.normal(size=np.shape(arg)).astype(arg.dtype) for arg in args[-case.by :]]
    above, below = (
        program.call(
            "main", [*args[: -case.by], *[(a + k * d).astype(a.dtype) for a, d in zip(args[-case.by :], along)]]
        )
        for k in (step, -step)
    )
    slope = (float(above[0]) - float(below[0])) / (2 * step)
    assert sum(float((d * f).sum()) for d, f in zip(along, found)) == pytest.approx(slope, rel=1e-2)


@pytest.mark.parametrize("name", ["gmm", "lstm", "kmeans", "hand", "xsbench", "rsbench", "lbm", "locvolcalib"])
def test_programs_compute_what_peers_do(name: str) -> None:
    case = CASES[name]
    args = case.arguments(SIZE)
    (found,) = soac.load(case.path).call("main", args)
    np.testing.assert_allclose(found, FUNCTIONS[name](np, *args), rtol=max(case.tolerance, 1e-10))


def test_page() -> None:
    rows = [
        Row("a", False, {"soac main": 1, "soac derivative": 4, "jax main": 2, "jax derivative": 8}, ()),
        Row("b", True, {"soac main": 1, "soac derivative": 3, "soac by_hand": 2}, ("by hand: wrong",)),
    ]
    text = page(rows)
    assert "| a | jax | 2.000 | 8.000 | 4.0 |" in text
    assert "geometric mean 4.0, worst 4.0" in text
    assert "by hand: worst 1.5" in text
    assert "geometric mean 2.00, least 2.00" in text
    assert text.endswith("b: by hand: wrong")
