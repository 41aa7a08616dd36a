"""`soac test --gradients` passes right derivatives, refutes wrong ones, and leaves out what has none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import soac
from soac.cli import run_cli
from soac.testing.gradients import wrong_gradient

PROGRAM = """
entry right (x: []f64) (n: i64) = f64.sum (map (\\a -> a * a * f64.i64 n) x)
entry wrong (x: []f64) (n: i64) = with_vjp (\\x -> f64.sum x * f64.i64 n) (\\_ y -> map (\\a -> a + y) x) x
entry kink (x: []f64) (n: i64) = f64.abs (x[0] - 1) + f64.sum x
"""


@pytest.mark.parametrize(("entry", "said"), [("right", None), ("kink", None), ("wrong", "reverse mode gives")])
def test_derivatives_are_compared(entry: str, said: str | None) -> None:
    prog = soac.compile(PROGRAM)
    found = wrong_gradient(prog, entry, [np.array([1.0, 2.0, 3.0]), np.int64(3)], 1)
    assert found is None if said is None else said in (found or "")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.soac"
    block = "-- ==\n-- entry: wrong\n-- input { [1.0, 2.0] 1i64 }\n-- ==\n-- entry: whole\n-- input { [1, 2] }\n"
    path.write_text(block + PROGRAM + "entry whole (x: []i32) = i32.sum x\n", encoding="utf-8")
    assert run_cli(["test", "--gradients", str(path)]) == 1
    shown = capsys.readouterr()
    assert "2 passed, 1 failed, 1 skipped" in shown.out
    assert "gradient of wrong [1.0, 2.0] 1i64: reverse mode gives" in shown.err
