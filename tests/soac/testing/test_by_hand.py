"""Kernels by hand compared with what they implement."""

from __future__ import annotations

import pytest

from soac.frontend.compile import compile_text
from soac.ir.by_hand import versions_by_hand
from soac.testing import by_hand
from soac.testing.by_hand import unlike
from tests.support.by_hand import changed, text_of

WRONG = {
    "block_sum": ("64 >> step", "32 >> step"),
    "product": ("tb[q, t % T]", "tb[t % T, q]"),
    "stencil": ("first + t + 31", "first + t + 30"),
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_hand, "SECONDS", 1.0)


def said_of(text: str) -> str | None:
    core = compile_text(text, "k.soac")
    return unlike(core, next(iter(versions_by_hand(core))), 0)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_results_are_found(name: str) -> None:
    said = said_of(changed(name, *WRONG[name]))
    assert said is not None
    assert "expected" in said


def test_what_is_right_passes() -> None:
    assert said_of(text_of("stencil")) is None


def test_races_are_found() -> None:
    """Threads of one loop write the same element, which fences cannot order."""
    said = said_of(changed("stencil", "near[w, t + 32] =", "near[w, t] ="))
    assert said is not None


def test_a_kernel_out_of_bounds_is_found() -> None:
    said = said_of(changed("stencil", "if first + t < n then", "if true then"))
    assert said is not None
    assert "out of bounds" in said
