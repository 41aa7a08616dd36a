"""`soac run FILE [DATA..]`: values in, results out, one on a line."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..data.read_write import Format, write_values
from ..session import Session, open_program
from ..settings import Settings
from ..terminal import waiting
from ..versions import misfits
from .arguments import gather
from .options import FILE, DataCommand, run_options


@click.command("run", cls=DataCommand)
@click.argument("file", type=FILE)
@click.argument("data", nargs=-1)
@click.option("-e", "--entry", metavar="NAME", help="Entry point; default: main, or the only one.")
@click.option(
    "--max-input", type=click.IntRange(1), metavar="BYTES", help="Most bytes of input; default: 80 % of memory."
)
@click.option("-b", "--binary", is_flag=True, help="Write results in the binary format.")
@run_options
def command(
    file: Path, data: tuple[str, ...], entry: str | None, max_input: int | None, binary: bool, settings: Settings
) -> None:
    """Run an entry point of FILE.

    Each DATA is a value (`"[1, 2, 3]"`), or a file of values: text, binary or .npy. Without DATA they are read from
    stdin."""
    session = open_program(file, settings)
    name = entry or default_entry(session)
    args = gather(session.program.function(name), data, max_input)
    with waiting(f"running {name}"):
        results, reached = session.program.trace(name, args, forced=session.forced, threads=settings.threads)
    if (why := misfits(session.forced, reached)) is not None:
        click.echo(f"skipped: {why}", err=True)
    form = Format.BINARY if binary else Format.TEXT
    sys.stdout.buffer.write(write_values(results, form))
    sys.stdout.buffer.flush()


def default_entry(session: Session) -> str:
    """`main`, or the only entry point there is."""
    entries = session.program.entries
    return entries[0] if len(entries) == 1 else "main"
