"""JSON that others may have written: its nesting is counted before the recursive reader of Python sees it."""

from __future__ import annotations

import json
import re
from typing import Any

from .depth import MOST_LEVELS

_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]')


def json_of(text: str) -> Any:
    """The value of a text; raises ValueError where it is no JSON or nested deeper than MOST_LEVELS levels."""
    levels = 0
    for found in _BRACKET.finditer(text):
        levels += (found[0] in "[{") - (found[0] in "]}")
        if levels > MOST_LEVELS:
            raise ValueError(f"nested deeper than {MOST_LEVELS} levels")
    return json.loads(text)
