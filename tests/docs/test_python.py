"""What the page on Python prints is what happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import soac

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_every_example() -> None:
    text = re.sub(r"^```.*$", "", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, "python.md", str(PAGE), 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test, out=said.append).failed == 0, "".join(said)
    assert len(test.examples) > 25


def test_every_name_of_the_package_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [name for name in soac.__all__ if name not in text]
    assert set(missing) <= {"__version__", "load_ipython_extension", "Entry", "IRError"}
