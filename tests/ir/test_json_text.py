"""JSON of others: nesting is counted, whatever the interpreter's stack would bear."""

from __future__ import annotations

import sys

import pytest

from soac.ir.depth import MOST_LEVELS
from soac.ir.json_text import json_of


@pytest.mark.parametrize("opening", ["[", '{"a":', '["\\"]",'])
def test_too_deep_is_a_value_error(opening: str) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    try:
        with pytest.raises(ValueError, match=f"nested deeper than {MOST_LEVELS} levels"):
            json_of(opening * 1_000_000)
    finally:
        sys.setrecursionlimit(limit)


def test_brackets_in_strings_do_not_count() -> None:
    text = "[" * 1000 + '"'
    assert json_of('["' + "[" * 1000 + '\\"", {"a": []}]') == [text, {"a": []}]
