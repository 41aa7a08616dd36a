"""Normal forms of sizes."""

from __future__ import annotations

from soac.frontend.elaborate.size_forms import MAX_TERMS, combine
from soac.ir.ops import Op
from soac.ir.polynomials import atom


def test_squares_of_squares_are_compared_for_a_while() -> None:
    """Each has twice as many factors as the one before."""
    form, limited = atom(0), 0
    for k in range(60):
        squared = combine(Op.MUL, form, form)
        limited += squared is None
        form = atom(k) if squared is None else squared
        assert len(form[0][0]) <= MAX_TERMS
    assert limited
