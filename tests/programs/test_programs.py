"""Every program of `programs/`: its test block on every version, and its values against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soac.testing.blocks import Fails, RandomInput, parse_tests
from soac.testing.datasets import inputs_of
from soac.testing.run import Outcome, test_program
from tests.support.numpy_references import REFERENCES, in_double
from tests.support.programs import DEFAULTS, PROGRAMS, opened, sets_of

each_program = pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)


@each_program
def test_block_on_every_version(path: Path) -> None:
    outcomes = list(test_program(path, DEFAULTS, every_version=True))
    assert outcomes
    assert [o for o in outcomes if o.fault is not None] == []


@each_program
def test_has_literal_and_random_cases(path: Path) -> None:
    cases = [case for block in parse_tests(path.read_text(), str(path)) for case in block.cases]
    kinds = {isinstance(case.input, RandomInput) for case in cases}
    assert kinds == {True, False}


@each_program
def test_agrees_with_numpy(path: Path) -> None:
    """On all data of the test block: floats against f64 within the rounding of f32, integers exactly."""
    session = opened(path)
    for one in sets_of(path):
        if isinstance(one.case.expected, Fails) or "notest" in one.case.tags:
            continue
        args = inputs_of(one, session.program, path)
        got = session.program.call(one.entry, args)
        with np.errstate(all="ignore"):
            expected = REFERENCES[path.stem, one.entry](*map(in_double, args))
        for value, wanted in zip(got, expected if isinstance(expected, tuple) else [expected], strict=True):
            assert agree(value, np.asarray(wanted)), f"{one.entry} {one.label}"


def agree(value: Any, wanted: np.ndarray) -> bool:
    if value.dtype.kind != "f":
        return value.shape == wanted.shape and bool(np.all(value == wanted))
    scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)
    return value.shape == wanted.shape and bool(
        np.allclose(value, wanted, rtol=1e-3, atol=1e-5 * scale, equal_nan=True)
    )


def test_outcomes_tell_what_is_wrong(tmp_path: Path) -> None:
    """The tests above can fail: a wrong expectation is reported on every version."""
    program = tmp_path / "wrong.soac"
    program.write_text(
        "-- ==\n-- input { [[1, 2], [3, 4]] } output { [3, 8] }\n"
        "-- input { [[1], [2]] } error: never\n"
        "def main [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss\n"
    )
    outcomes = list(test_program(program, DEFAULTS, every_version=True))
    faults = [outcome.fault for outcome in outcomes]
    assert (
        faults
        == ["result 0: at [1] expected 8i32, got 7i32 (1 of 2 elements differ)"] * 2 + ["runs, but should fail"] * 2
    )
    assert len({outcome.version for outcome in outcomes}) == 2
    assert all(isinstance(outcome, Outcome) for outcome in outcomes)
