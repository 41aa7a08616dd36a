"""`soac check FILES`: errors and warnings of programs; nothing is run and nothing written."""

from __future__ import annotations

from pathlib import Path

import click

from ..entries import require_entries
from ..failures import show_diagnostics
from ..frontend.compile import compile_source
from ..frontend.source.text import Reach
from ..ir.errors import Diagnostic, SoacError
from ..source import read_source
from ..terminal import waiting
from .options import FILE, DataCommand, allow_outside_option, reach_of


@click.command("check", cls=DataCommand)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--werror", "--Werror", is_flag=True, help="Warnings are errors.")
@click.option("--performance", is_flag=True, help="Compile them, and warn of what makes them slow (W05xx).")
@allow_outside_option
def command(files: tuple[Path, ...], werror: bool, performance: bool, allow_outside: bool) -> int:
    """Check the programs in FILES: parse them, infer types and sizes, check uniqueness, elaborate.

    With --performance also what they are compiled to for the CPU: what is interpreted or runs sequentially, strided
    access, products that are not recognised, arrays for each point, divisions for indices, copies."""
    code = 0
    for file in files:
        try:
            with waiting(f"checking {file}"):
                warnings = _warnings(file, performance, reach_of(allow_outside))
        except SoacError as error:
            show_diagnostics(error.diagnostics)
            code = 1
        else:
            show_diagnostics(warnings)
            code = max(code, int(werror and bool(warnings)))
    return code


def _warnings(file: Path, performance: bool, reach: Reach) -> tuple[Diagnostic, ...]:
    text = read_source(file)
    if not performance:
        source = compile_source(text, str(file), reach)
        require_entries(source.prog, str(file))
        return source.warnings
    from ..api import compile_prog, with_entries
    from ..performance.checks import performance_warnings

    compiled = with_entries(compile_prog(text, str(file), reach=reach), str(file))
    return (*compiled.warnings, *performance_warnings(compiled))
