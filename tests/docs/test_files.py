"""Files that the pages name are there: a name alone, or with the end of the path in front of it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
NAMED = re.compile(r"`((?:\w+/)*\w+\.(?:py|ll|lark))`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_names_exist(page: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    ends = {"/".join(parts[k:]) for parts in (name.split("/") for name in listed) for k in range(len(parts))}
    assert [name for name in NAMED.findall(page.read_text(encoding="utf-8")) if name not in ends] == []
