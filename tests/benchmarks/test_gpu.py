"""Contests on a GPU, as far as they need none."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import soac
from benchmarks.gpu import SPMV, peers, row_lengths, sparse


def prepared(run: Callable[[], object]) -> Callable[[object], Callable[[list[np.ndarray]], Callable[[], object]]]:
    return lambda library: lambda args: run


def broken() -> None:
    raise RuntimeError("the driver lacks a function")


def unprepared(library: object) -> Callable[[list[np.ndarray]], Callable[[], object]]:
    def prepare(args: list[np.ndarray]) -> Callable[[], object]:
        raise RuntimeError("no memory")

    return prepare


def test_a_library_that_fails_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    others = {
        "no_such_library": prepared(dict), "json": unprepared, "json first run": prepared(broken),
        "json works": prepared(dict),
    }  # fmt: skip
    assert [name for name, _ in peers(others, [])] == ["json works"]
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("  without no_such_library: ModuleNotFoundError")
    assert said[1:] == [
        "  without json: RuntimeError: no memory",
        "  without json first run: RuntimeError: the driver lacks a function",
    ]


def test_sparse_matrices_have_the_rows_that_are_asked_for() -> None:
    """About as many elements in each, rows of one length or far from it; their product with a vector is NumPy's."""
    program, found = soac.compile(SPMV), dict(row_lengths(64))
    assert [int(lengths.sum()) for lengths in found.values()] == [1024, 1024, 998]
    assert max(found["1 / rank"]) > 200
    for lengths in found.values():
        off, col, value, x = sparse(lengths, np.random.default_rng(1))
        wanted = [value[a:b] @ x[col[a:b]] for a, b in pairwise(off)]
        np.testing.assert_allclose(program.main(off, col, value, x), wanted, rtol=1e-4)
