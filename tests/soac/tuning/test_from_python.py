"""`soac.autotune` from Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import soac

SITE = "main.ys.suff_outer_0"
TEXT = """
type row = {a: []i32}
entry main [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss
entry sums [n][m] (r: {xss: [n][m]i32}): [n]i32 = map (reduce (+) 0) r.xss
-- ==
-- entry: main
-- input { [[1, 2], [3, 4]] }
""".replace("type row = {a: []i32}\n", "")


def test_a_tuned_program_comes_back() -> None:
    prog = soac.compile(TEXT)
    lines: list[str] = []
    data = [np.ones((2, 40_000), np.int32)], ([[1, 2]],)
    tuned = soac.autotune(prog, {"main": data}, trials=0, runs=2, tell=lines.append)
    assert prog.thresholds == {}
    assert set(tuned.thresholds) <= {SITE}
    assert tuned.main([[1, 2]]).tolist() == [3]
    assert lines[0].startswith("main: data set")
    assert [line.split()[0] for line in lines[1:3]] == ["#0", "#1"]
    assert "same" in lines[2]  # calls of a microsecond: no gain is reported


def test_an_entry_with_records_and_data_of_test_blocks() -> None:
    prog = soac.compile(TEXT)
    lines: list[str] = []
    soac.autotune(prog.sums, [({"xss": [[1, 2]]},)], trials=0, runs=1, tell=lines.append)
    assert lines[0].startswith("sums: data set")
    soac.autotune(prog, trials=0, runs=1, tell=lines.append)
    assert sum(line.startswith("main: data set") for line in lines) == 1


@pytest.mark.parametrize("asked", [
    (5,), ("main.soac",), (None, [1]), (None, {"main": [[1]]}), (None, {"main": 5}), (None, {"nain": [([[1]],)]}),
    (None, {"main": []}), (None, {"main": [(1,)]}),
])  # fmt: skip
def test_misuse(asked: tuple[Any, ...]) -> None:
    prog = soac.compile(TEXT)
    with pytest.raises(soac.SoacError):
        soac.autotune(*(prog if one is None else one for one in asked))  # type: ignore[arg-type]
