"""`soac check FILES`: errors and warnings of programs; nothing is run and nothing written."""

from __future__ import annotations

from pathlib import Path

import click

from ..entries import require_entries
from ..failures import show_diagnostics
from ..frontend.compile import compile_source
from ..ir.errors import SoacError
from ..source import read_source
from ..terminal import waiting
from .options import FILE, DataCommand, allow_outside_option, reach_of


@click.command("check", cls=DataCommand)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--werror", "--Werror", is_flag=True, help="Warnings are errors.")
@allow_outside_option
def command(files: tuple[Path, ...], werror: bool, allow_outside: bool) -> int:
    """Check the programs in FILES: parse them, infer types and sizes, check uniqueness, elaborate."""
    code = 0
    for file in files:
        try:
            with waiting(f"checking {file}"):
                source = compile_source(read_source(file), str(file), reach_of(allow_outside))
            require_entries(source.prog, str(file))
            warnings = source.warnings
        except SoacError as error:
            show_diagnostics(error.diagnostics)
            code = 1
        else:
            show_diagnostics(warnings)
            code = max(code, int(werror and bool(warnings)))
    return code
