"""Diagnostics."""

from __future__ import annotations

import pytest

from soac.ir.errors import NOTES, Diagnostic


@pytest.mark.parametrize(
    ("code", "expected"), [("W0305", True), ("E0201", False), ("T0201", False), (min(NOTES), True)]
)
def test_warnings_are_those_of_w_and_notes_of_other_letters(code: str, expected: bool) -> None:
    """A tuning file that does not fit is reported, and left out."""
    assert Diagnostic(code, "a message").is_warning == expected
