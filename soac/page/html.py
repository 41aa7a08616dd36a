"""The report as one page that needs no other file.

The page is `page.html` with its style and script; the report is in it as compressed data, which the script alone
reads: what a program says is set as text, never as markup. Its content policy lets no other script run, and nothing be
fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any


def page_of(report: Mapping[str, Any]) -> str:
    """The text of the page."""
    script, style = _asset("page.js"), _asset("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    packed = base64.b64encode(zlib.compress(json.dumps(report, separators=(",", ":")).encode(), 9)).decode()
    title = escape(f"{report['program']}: soac explain")
    parts = {"TITLE": title, "DIGEST": digest, "STYLE": style, "DATA": packed, "SCRIPT": script}
    return re.sub("@([A-Z]+)@", lambda match: parts[match[1]], _asset("page.html"))


def _asset(name: str) -> str:
    return (files(__name__.rpartition(".")[0]) / name).read_text(encoding="utf-8")
