"""`soac dev FILE`: a program as it looks after a stage or a pass."""

from __future__ import annotations

from pathlib import Path

import click

from ..frontend.compile import compile_text
from ..ir.machine import CPU, CUDA, Mode
from ..ir.show import show
from ..pipeline import PASSES, Emit, compile_prog, stages
from ..source import read_source
from ..stages import show_stage
from .options import FILE, DataCommand

MACHINES = {"cpu": CPU, "cuda": CUDA}


@click.command("dev", cls=DataCommand)
@click.argument("file", type=FILE)
@click.option("--emit", type=click.Choice([e.value for e in Emit]), help="Show this stage; default: flat.")
@click.option("--after", type=click.Choice(PASSES), help="Show the program after this pass.")
@click.option("--trace-rules", is_flag=True, help="Print each flattening rule as it fires.")
@click.option("--flatten", "mode", type=click.Choice([m.value for m in Mode]), default=Mode.INCREMENTAL.value)
@click.option("--machine", type=click.Choice(list(MACHINES)), help="Whose levels; default: cpu, or cuda to emit it.")
@click.option("--check", "checked", is_flag=True, help="Check the program after every pass, and its kernels.")
def command(
    file: Path, emit: str | None, after: str | None, trace_rules: bool, mode: str, machine: str | None, checked: bool
) -> None:
    """Show the program in FILE as it looks inside the compiler; never runs it."""
    text = read_source(file)
    levels = MACHINES[machine or ("cuda" if emit == Emit.CUDA.value else "cpu")]
    if after is not None:
        core = compile_text(text, str(file))
        after_pass = dict(stages(core, Mode(mode), levels, checked))
        click.echo(show(after_pass[after]), nl=False)
        return
    runs_on = CPU if emit == Emit.LLVM.value else levels
    compiled = compile_prog(text, str(file), Mode(mode), levels, checked, schedules=runs_on)
    if trace_rules:
        for line in compiled.flattened.trail:
            click.echo(line)
    if emit is not None or not trace_rules:
        click.echo(show_stage(compiled, Emit(emit or Emit.FLAT.value)), nl=False)
