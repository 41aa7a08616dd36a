"""NPBench's programs give what plain definitions give on small inputs; the harness on a suite of one program."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soac
from benchmarks.npbench.cases import CASES, PROGRAMS, components, difference, one_by_one, unordered_difference
from benchmarks.npbench.contest import Rules, check, row_of
from benchmarks.npbench.report import page
from benchmarks.npbench.suite import original, peers_of
from soac.reports.timing import Effort
from tests.support.npbench_references import REFERENCES

EXPENSIVE = """
    cavity_flow channel_flow contour_integral conv2d_bias correlation covariance2 doitgen gramschmidt k2mm k3mm lenet
    mlp nussinov resnet scattering_self_energies softmax stockham_fft symm syr2k syrk
"""
"""These compile for more than a second."""

SHORT = Effort(rounds=2, seconds=0, spread=1, most_rounds=2, most_seconds=1)


def cases() -> list[Any]:
    slow = EXPENSIVE.split()
    return [pytest.param(name, marks=[pytest.mark.slow] if name in slow else []) for name in CASES]


def test_there_is_a_case_and_a_reference_for_each_program() -> None:
    assert len(CASES) == 54
    assert {path.stem for path in PROGRAMS.glob("*.soac")} == set(CASES) == set(REFERENCES)


@pytest.mark.parametrize("name", cases())
def test_a_program_gives_what_its_reference_gives(name: str) -> None:
    inputs, reference = REFERENCES[name]
    args = inputs(np.random.default_rng(1))
    wanted = components(one_by_one(reference(*args)))
    got = soac.load(CASES[name].path).call("main", components(args))
    assert difference(CASES[name], got, wanted) is None


# ---- the harness ----------------------------------------------------------------------------------------------------


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite of Floyd and Warshall's algorithm alone, in place as NPBench has it."""
    description = {
        "relative_path": "paths",
        "module_name": "paths",
        "func_name": "kernel",
        "parameters": {"S": {"N": 5}},
        "init": {"func_name": "make", "output_args": ["path"]},
        "input_args": ["path"],
    }
    folder = tmp_path / "npbench" / "benchmarks" / "paths"
    folder.mkdir(parents=True)
    (tmp_path / "bench_info").mkdir()
    (tmp_path / "bench_info" / "floyd_warshall.json").write_text(json.dumps({"benchmark": description}))
    (folder / "paths.py").write_text(
        "import numpy as np\n"
        "def make(N):\n"
        "    return np.arange(N * N, dtype=np.int32).reshape(N, N) * 7 % 11 + 1\n"
    )  # fmt: skip
    (folder / "paths_numpy.py").write_text(
        "import numpy as np\n"
        "def kernel(path):\n"
        "    for k in range(len(path)):\n"
        "        path[:] = np.minimum(path, path[:, k, None] + path[k])\n"
    )  # fmt: skip
    return tmp_path


def test_a_check_compares_with_the_suite(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # which is as long and as old as what takes its place
    case = CASES["floyd_warshall"]
    assert check(case, suite, "S") is None
    version = suite / "npbench" / "benchmarks" / "paths" / "paths_numpy.py"
    version.write_text(version.read_text().replace("minimum", "maximum"))
    assert "differ" in (check(case, suite, "S") or "")


def test_a_peer_gets_fresh_arguments(suite: Path) -> None:
    case = CASES["floyd_warshall"]
    own = original(suite, case)
    values = own.inputs("S")
    before = values["path"].copy()
    (peer,) = peers_of(case, own, values, ["numpy"])
    first, second = (peer.fetch(peer.call(args), args) for args in (peer.fresh(), peer.fresh()))
    assert np.array_equal(values["path"], before)
    assert difference(case, first, second) is None


def test_results_in_another_order() -> None:
    case, (a, b) = CASES["mvt"], (np.arange(3.0), np.arange(2.0))
    assert unordered_difference(case, [b, a], [a, b]) is None
    assert unordered_difference(case, [b], [a, b]) is None
    assert unordered_difference(case, [b + 1], [a, b]) is not None
    assert unordered_difference(case, [], [a, b]) is not None


def test_a_row_says_what_was_measured(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOAC_CACHE_DIR", "")  # a race sets it
    rules = Rules(suite, "S", 1, {"numpy": ["numpy"]}, SHORT, time.process_time, 5.0)
    row = row_of("floyd_warshall", rules)
    assert row is not None
    assert (set(row.median_ms), row.variants, row.faults) == ({"soac", "numpy"}, {"numpy": "numpy"}, ())
    assert set(row.first_s) == {"soac", "numpy"}
    text = page([asdict(row)])
    assert "| floyd_warshall | S |" in text
    assert "Seconds to the first result" in text
