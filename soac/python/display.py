"""A program as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from .entry import Entry


def html_of_program(file: str, device: str, entries: Sequence[Entry], params: Mapping[str, int]) -> str:
    """Its entry points with their comments, and what may be set."""
    rows = "".join(f"<tr><td style='text-align:left'>{entry._repr_html_()}</td></tr>" for entry in entries)
    settable = "".join(f"<li><code>{escape(name)} = {value}</code></li>" for name, value in params.items())
    return (
        f"<div><b>{escape(file)}</b> on {escape(device)}<table>{rows}</table>"
        f"<details><summary>{len(params)} settings</summary><ul>{settable}</ul></details></div>"
    )
