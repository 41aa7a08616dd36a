"""What each code of a message means, its cause and the remedy: the sections of `docs/errors.md`, which is installed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("errors.md")
_SECTION = re.compile(r"^### ([EWRDTCS]\d{4}) ([^\n]+)\n\n(.*?)\n*(?=^##|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """What is said of one code."""

    code: str
    title: str
    text: str

    @property
    def anchor(self) -> str:
        """The name that MkDocs gives its heading."""
        kept = re.sub(r"[^\w\s-]", "", f"{self.code} {self.title}").strip().lower()
        return re.sub(r"[-\s]+", "-", kept)


@cache
def pages() -> Mapping[str, Page]:
    """All pages by their codes."""
    return {found[1]: Page(*found.groups()) for found in _SECTION.finditer(FILE.read_text(encoding="utf-8"))}


def address(code: str) -> str:
    """The address of a page: on the site whose address is in `SOAC_DOCS`, else in the file that is installed."""
    site = os.environ.get("SOAC_DOCS", "").rstrip("/")
    return f"{f'{site}/errors/' if site else FILE.resolve().as_uri()}#{pages()[code].anchor}"
