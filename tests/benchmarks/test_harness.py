"""The harness of the benchmarks: rows and what they add up to."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import compile, threads
from benchmarks.clock import processor_clock
from benchmarks.contest import Rules, rows_of
from benchmarks.machine import Limits, describe_machine
from benchmarks.report import headline, markdown, page, update_page
from benchmarks.suite import SUITE, difference
from benchmarks.threads import Seen, joined
from soac.reports.timing import Effort, race

LIMITS = Limits(triad=40.0, read=40.0, sgemm=200.0)
SHORT = Effort(rounds=2, seconds=0, spread=1, most_rounds=2, most_seconds=1)


@pytest.fixture(scope="module")
def row() -> dict[str, Any]:
    rules = Rules("cpu", 1, SHORT, ("numpy",), LIMITS, 0, time.process_time)
    (found,) = rows_of("blackscholes", rules, "2^12")
    return asdict(found)


def test_a_row_says_what_was_measured(row: dict[str, Any]) -> None:
    assert (row["program"], row["entry"], row["dataset"]) == ("blackscholes", "main", "2^12")
    assert set(row["median_ms"]) == {"soac", "numpy"}
    assert row["best_peer"] == "numpy"
    assert row["ratio_to_best_peer"] == row["median_ms"]["numpy"] / row["median_ms"]["soac"]
    assert row["bound_ms"] == pytest.approx(5 * 4 * 4096 / 40e9 * 1e3)  # three arrays in, two out
    assert (row["versions"], row["regret"], row["untuned_over_tuned"]) == (1, 1.0, 1.0)
    assert row["faults"] == ()
    assert json.loads(json.dumps(row))["rounds"] == 2


def test_a_call_is_charged_with_what_its_threads_do_afterwards() -> None:
    def work() -> None:
        while turn.acquire() and not over:
            hashlib.pbkdf2_hmac("sha256", b"", b"", 100_000)  # some 30 ms, without the interpreter's lock

    turn, over = threading.Semaphore(0), []
    worker = threading.Thread(target=work)
    worker.start()
    try:
        times = race({"sets off": turn.release, "nothing": lambda: None}, SHORT, processor_clock())
    finally:
        over.append(True)
        turn.release()
        worker.join()
    assert 10 * max(times["nothing"].seconds) < times["sets off"].least


def made_row(program: str, dataset: str, soac: float, peers: dict[str, float], **rest: Any) -> dict[str, Any]:
    best = min(peers, key=lambda name: peers[name])
    times = {"soac": soac, **peers}
    return {
        "program": program, "entry": "main", "dataset": dataset, "median_ms": times, "least_ms": times,
        "interval_ms": {name: (t, t) for name, t in times.items()}, "best_peer": best,
        "ratio_to_best_peer": peers[best] / soac, "ratio_by_least": peers[best] / soac, "fraction_of_bound": 0.5,
        "versions": 2, "best_version": "outer", "regret": 1.0, "untuned_over_tuned": 2.0, "faults": (), **rest,
    }  # fmt: skip


def test_the_headline() -> None:
    """Products of matrices count against NumPy only, and regret where there are versions."""
    rows = [
        made_row("nn", "a", 1.0, {"numpy": 4.0, "jax": 2.0}),
        made_row("nn", "b", 1.0, {"numpy": 0.25, "jax": 2.0}, best_version="full", regret=1.21),
        made_row("matmul", "c", 1.0, {"numpy": 2.0, "jax": 0.1}, versions=1, regret=9.0),
    ]
    summary = headline(rows)
    assert summary["pairs"] == 3
    assert summary["ratio_geometric_mean"] == 1.0
    assert summary["ratio_median"] == 2.0
    assert summary["under_0.5"] == ["nn main b"]
    assert (summary["regret_geometric_mean"], summary["regret_worst"]) == (1.1, 1.21)
    assert summary["one_version_wins"] == []


def test_the_page(row: dict[str, Any], tmp_path: Path) -> None:
    rows = [row, made_row("nn", "a", 1.0, {"numpy": 4.0})]
    found = {
        "date": "2026-01-01", "machine": describe_machine(1), "clock": "processor", "limits": asdict(LIMITS),
        "rows": rows, "summary": headline(rows),
    }  # fmt: skip
    file = tmp_path / "page.md"
    file.write_text("before\n<!-- table -->\nold\n<!-- end of table -->\nafter\n")
    update_page(file, found)
    text = file.read_text()
    assert page(found) in text
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert markdown(rows).count("\n") == 1


def test_differences_are_reported() -> None:
    ones = np.ones(1000, np.float32)
    assert difference("matmul", "main", [ones], [ones * 1.0005]) is None
    assert difference("matmul", "main", [ones], [ones * 1.01]) is not None
    assert difference("matmul", "main", [ones], [ones[:5]]) is not None
    assert difference("nn", "main", [np.arange(5)], [np.array([0, 1, 2, 3, 5])]) is not None


def test_the_suite_has_its_programs() -> None:
    root = Path(__file__).parents[2] / "programs"
    assert [name for name in SUITE if not (root / f"{name}.soac").exists()] == []


def test_what_two_threads_gain_is_judged_by_what_limits_a_row() -> None:
    one = [
        Seen("moves", 40_000_000, {"soac": 2e-3, "numba_np": 3e-3, "numba_opr": 4e-3}),
        Seen("computes", 8, {"soac": 4e-3, "jax": 4e-3}),
        Seen("short", 8, {"soac": 4e-4}),
    ]
    two = [
        Seen("moves", 40_000_000, {"soac": 1.6e-3, "numba_np": 2e-3, "numba_opr": 3e-3}),
        Seen("computes", 8, {"soac": 2e-3, "jax": 4e-3}),
        Seen("short", 8, {"soac": 4e-4}),
    ]
    moves, computes = joined(one, two, read=40.0)
    assert moves.memory == pytest.approx(0.5)
    assert moves.wanted == moves.gains["numba"] == pytest.approx(1.5)  # of the variant that is the fastest on two
    assert (computes.wanted, computes.gains) == (1.6, {"soac": 2.0, "jax": 1.0})
    text = threads.page([moves, computes])
    assert "geometric mean 2.00 of 1 rows" in text
    assert "the best peer: moves." in text


def test_the_time_to_the_first_result_is_compared_entry_by_entry() -> None:
    rows = [
        compile.Row("a", 0.1, {"soac": 0.2, "numba": 0.8, "jax": 0.1}),
        compile.Row("b", 1.0, {"soac": 2.4, "numba": 2.4}),
    ]
    text = compile.page(rows)
    assert "soac / numba: 0.50 in the geometric mean of 2 entries" in text
    assert "soac / jax: 2.00 in the geometric mean of 1 entries" in text
    assert "over 2.0 s: b" in text
