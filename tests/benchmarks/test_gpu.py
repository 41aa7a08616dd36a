"""Contests on a GPU, as far as they need none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.gpu import peers


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
