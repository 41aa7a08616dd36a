"""What the pages on Python and on derivatives print is what happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import soac

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "python.md"


@pytest.mark.parametrize("page, examples", [(PAGE, 26), (DOCS / "derivatives.md", 7)], ids=["python", "derivatives"])
def test_every_example(page: Path, examples: int) -> None:
    text = re.sub(r"^```.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test, out=said.append).failed == 0, "".join(said)
    assert len(test.examples) >= examples


def test_every_name_of_the_package_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [name for name in soac.__all__ if name not in text]
    assert set(missing) <= {"__version__", "load_ipython_extension", "Entry", "IRError"}
