"""Words: the field's terms, in code, documentation, messages and names of tests.

None of `WORDS` is used, also not as a part of an identifier. A line that needs one, such as a quotation or a name of
another library, ends with the comment `quoted`; there are at most `MOST_QUOTED`.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KINDS = (".py", ".md", ".toml", ".soac", ".lark")
DATA = ("benchmarks/results/", "tests/test_words.py")
QUOTED = re.compile(r"(?:#|--|<!--) quoted(?: -->)?$", re.MULTILINE)
MOST_QUOTED = 3

WORDS = {
    "expensive": r"dear(?:er|est|ly)?",
    "version": r"leaf|(?:the|its|all|their|these|most) leaves",
    "layer, package, or bound": r"floors|(?:a|the|each|every|this|next|lower|upper) floor",
    "no one, nothing, or a passive": r"nobody",
    "the number": r"so many",
    "is, is at, or is stored": r"lies",
    "reached, seen, or recorded": r"met",
    "given, stated, or reported": r"told",
    "outcome or status": r"fates?",
    "consumed": r"eaten",
}
"""What to say instead, and what is not said."""


def texts() -> dict[str, str]:
    """The tracked files that the rule is for, by name."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = [name for name in listed.splitlines() if name.endswith(KINDS) and not name.startswith(DATA)]
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in names if (ROOT / name).is_file()}


def found_in(text: str, words: str) -> list[str]:
    """The lines with such a word, whole or between underscores, with their numbers, but for those marked."""
    pattern = re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE)
    if not pattern.search(text):
        return []
    lines = enumerate(text.splitlines(), start=1)
    return [f"{number}: {line.strip()}" for number, line in lines if pattern.search(line) and not QUOTED.search(line)]


@pytest.mark.parametrize("instead", WORDS)
def test_words_of_our_own_are_gone(instead: str) -> None:
    wrong = [f"{name}:{line}" for name, text in texts().items() for line in found_in(text, WORDS[instead])]
    assert not wrong, f"say {instead}:\n" + "\n".join(wrong)


def test_exceptions_are_few() -> None:
    assert sum(len(QUOTED.findall(text)) for text in texts().values()) <= MOST_QUOTED


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("the guards met", True),
        ("is_met(side)", True),
        ("class Met:", True),
        ("metadata and method", False),
        ("a guard that is met  # quoted", False),
    ],
)
def test_parts_of_identifiers_count(line: str, is_found: bool) -> None:
    assert bool(found_in(line, "met")) == is_found
