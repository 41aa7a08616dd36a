"""Tables in the pages of `docs/`, between their marks."""

from __future__ import annotations

from pathlib import Path


def put_between(path: Path, begin: str, end: str, text: str) -> None:
    """Replaces the lines between two marks of a Markdown file."""
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    path.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")
