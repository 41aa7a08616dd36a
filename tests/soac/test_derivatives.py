"""`soac.vjp` and `soac.jvp`."""

from __future__ import annotations

import numpy as np
import pytest

import soac

PROGRAM = soac.compile(
    "entry f (w: []f64) (x: *[]f64) = (f64.sum (map2 (*) w x), map (* 2) w)\nentry one (x: f64) = x * x * x\n"
)


def test_adjoints_of_all_parameters() -> None:
    dw, dx = soac.vjp(PROGRAM, "f")([1.0, 2.0], [3.0, 4.0], 1.0, [0.0, 1.0])
    np.testing.assert_array_equal(dw, [3.0, 6.0])
    np.testing.assert_array_equal(dx, [1.0, 2.0])


def test_tangents_of_all_results() -> None:
    total, doubled = soac.jvp(PROGRAM, "f")([1.0, 2.0], [3.0, 4.0], [1.0, 0.0], [0.0, 1.0])
    assert total == 5.0
    np.testing.assert_array_equal(doubled, [2.0, 0.0])


def test_one_parameter_and_result() -> None:
    assert soac.vjp(PROGRAM, "one")(2.0, 1.0) == soac.jvp(PROGRAM, "one")(2.0, 1.0) == 12.0


def test_unknown_entry() -> None:
    with pytest.raises(soac.SoacError, match="no entry point `two`"):
        soac.vjp(PROGRAM, "two")
