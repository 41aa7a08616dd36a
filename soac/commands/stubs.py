"""`soac stubs FILES`: what type checkers need to know of programs that are imported; nothing is run."""

from __future__ import annotations

from pathlib import Path

import click

from ..entries import require_entries
from ..failures import show_diagnostics
from ..frontend.compile import compile_source
from ..output import write_out
from ..python.stubs import stub_text
from ..source import read_source
from ..terminal import waiting
from .options import FILE, DataCommand, allow_outside_option, reach_of


@click.command("stubs", cls=DataCommand)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("-o", "--output", type=click.Path(path_type=Path, allow_dash=True), help="Write here; `-`: to stdout.")
@allow_outside_option
def command(files: tuple[Path, ...], output: Path | None, allow_outside: bool) -> None:
    """Write a stub, NAME.pyi, beside each program NAME.soac.

    With it mypy and pyright know the entry points of a program that Python imports (`soac.install_importer()`)."""
    if output is not None and len(files) > 1:
        raise click.UsageError("one file at a time with `--output`")
    for file in files:
        with waiting(f"checking {file}"):
            source = compile_source(read_source(file), str(file), reach_of(allow_outside))
        require_entries(source.prog, str(file))
        show_diagnostics(source.warnings)
        functions = [fun for fun in source.prog.functions if fun.entry is not None]
        text = stub_text(click.format_filename(file.name), functions, source.interface.docs, source.interface.types)
        target = output or file.with_suffix(".pyi")
        if str(target) == "-":
            click.echo(text, nl=False)
        else:
            write_out(target, text.encode())
            click.echo(f"wrote {click.format_filename(target)}")
