"""`soac explain --report`, `--html PAGE`: all that is known of a program, as text, as JSON, as a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..ir.machine import MACHINES
from ..kernels.tracer.run import TraceSettings
from ..output import write_out
from ..page.data import Given
from ..page.html import page_of
from ..page.report import Asked, report_of
from ..page.text import report_lines
from ..session import Plan
from ..settings import Settings
from ..terminal import waiting
from .arguments import gather


@dataclass(frozen=True, slots=True)
class Out:
    """Where the report goes: to a page, to stdout as JSON, else as text."""

    html: Path | None
    as_json: bool


def write_report(
    file: Path, settings: Settings, plan: Plan, shown: tuple[Sequence[Mapping[str, Any]], Sequence[str]],
    data: Sequence[str], out: Out, effort: tuple[float, int | None, int],
) -> None:  # fmt: skip
    """`shown`: what `soac explain` says of the entries, as JSON data and as lines. `effort`: seconds; threads of a
    traced block, if not those of the machine, and of a warp."""
    views, lines = shown
    entries = [view["name"] for view in views]
    seconds, block, warp = effort
    functions = {f.entry.name: f for f in plan.compiled.core.functions if f.entry is not None}
    given = [Given("as given", gather(functions[entries[0]], data), None)] if data else []
    traced = TraceSettings(block or MACHINES[settings.device].higher[-1].threads, warp)
    with waiting(f"running and tracing {file}"):
        found = report_of(Asked(file, settings, entries, given, seconds, traced), plan, views)
    if out.html is not None:
        write_out(out.html, page_of(found).encode("utf-8", "replace"))
        click.echo(f"wrote {out.html}", err=out.as_json)
    if out.as_json:
        click.echo(json.dumps(found, indent=1))
    elif out.html is None:
        click.echo("\n".join((*lines, *report_lines(found))))
