"""Expressions of CUDA C are put into each other with the parentheses that they need."""

from __future__ import annotations

import pytest

from soac.kernels.cuda_c.inline_expressions import is_call


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("f(x)", True),
        ("bit_cast<f32>(x)", True),
        ("float_max(x - y, (f32)z)", True),
        ("f(g(x), h(y))", True),
        ("x + (y * z)", False),
        ("f(x) + g(y)", False),
        ("sinpi(x) / cospi(x)", False),
        ("(x + y)", False),
        ("x", False),
        ("xs[i]", False),
        ("(f32)f(x)", False),
    ],
)
def test_calls(text: str, call: bool) -> None:
    """What only begins and ends like one is none: `x + (y * z)` beside a `*` keeps its parentheses."""
    assert is_call(text) is call
