"""`soac fmt FILES`: programs in canonical layout."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ..failures import show_diagnostics
from ..frontend.formatting.layout import format_text
from ..ir.errors import SoacError
from ..source import read_source
from .options import DataCommand
from .test import programs_in

SOURCES = click.Path(exists=True, allow_dash=True, path_type=Path)


@click.command("fmt", cls=DataCommand)
@click.argument("files", nargs=-1, required=True, type=SOURCES)
@click.option("--check", is_flag=True, help="Write nothing; name the files that would change, and end with 1 if any.")
def command(files: tuple[Path, ...], check: bool) -> int:
    """Give the programs in FILES one layout: blanks, indentation and empty lines. Directories are searched; `-` formats
    stdin to stdout.

    Lines end where they did, but for those of more than 120 columns, which are broken; comments stay, and the meaning
    is the same. What does not parse is left as it is."""
    code = 0
    for path in programs_in(files, Path.is_file):
        try:
            text = read_source(path)
            formatted = format_text(text, str(path))
        except SoacError as error:
            show_diagnostics(error.diagnostics)
            code = 1
            continue
        if str(path) == "-" and not check:
            click.echo(formatted, nl=False)
        elif formatted != text:
            click.echo(f"would change {path}" if check else f"changed {path}")
            code = max(code, int(check))
            if not check:
                _replace(path, formatted)
    return code


def _replace(path: Path, text: str) -> None:
    """The new text at once, so that a file is never half written; permissions stay, and so do links to the file."""
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.chmod(target.stat().st_mode)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
