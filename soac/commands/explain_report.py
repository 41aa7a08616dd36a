"""`soac explain --report`, `--html PAGE`: all that is known of a program, as text, as JSON, as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ..data.files import write_file
from ..devices import MACHINES
from ..entries import no_entry
from ..ir.core import FunDef
from ..ir.errors import NOWHERE, Diagnostic, Label, SoacError
from ..kernels.tracer.run import TraceSettings
from ..page.data import Given
from ..page.html import page_of
from ..page.report import Asked, report_of
from ..page.text import report_lines
from ..session import Plan, planned
from ..settings import Settings
from ..terminal import waiting
from .arguments import gather
from .explain import as_json_of_views, text_of_views, views_of
from .run import default_entry_of


@dataclass(frozen=True, slots=True)
class Out:
    """Where the report goes: to a page, to stdout as JSON, else as text."""

    html: Path | None
    as_json: bool


def write_report(
    file: Path, settings: Settings, entry: str | None, data: Sequence[str], out: Out, seconds: float,
    block: tuple[int | None, int],
) -> None:  # fmt: skip
    """`block`: threads of a block that is traced, if not those of the machine, and of a warp. Raises `CompileError`
    E0001 where there is no such entry."""
    plan = planned(file, settings)
    one = entry or (default_entry_of(plan.entries) if data else None)
    entries = plan.entries if one is None else (one,)
    given = [Given("as given", gather(_function(plan, entries[0]), data), None)] if data else []
    views = views_of(plan, settings, entries, None)
    traced = TraceSettings(block[0] or MACHINES[settings.device].higher[-1].threads, block[1])
    with waiting(f"running and tracing {file}"):
        found = report_of(
            Asked(file, settings, entries, given, seconds, traced), plan, as_json_of_views(str(file), views)["entries"]
        )
    if out.html is not None:
        _write(out.html, page_of(found))
        click.echo(f"wrote {out.html}", err=out.as_json)
    if out.as_json:
        click.echo(json.dumps(found, indent=1))
    elif out.html is None:
        click.echo("\n".join((*text_of_views(views), *report_lines(found))))


def _function(plan: Plan, entry: str) -> FunDef:
    """Its signature. Raises `CompileError` E0001."""
    found = next((f for f in plan.compiled.core.functions if f.entry is not None and f.entry.name == entry), None)
    if found is None:
        raise no_entry(entry, plan.entries)
    return found


def _write(path: Path, text: str) -> None:
    """Raises `SoacError` S0201 where that is not possible."""
    try:
        write_file(path, text.encode())
    except OSError as fault:
        raise SoacError(Diagnostic("S0201", f"cannot write `{path}`: {fault.strerror}", Label(NOWHERE, ""))) from None
