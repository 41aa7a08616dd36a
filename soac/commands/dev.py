"""`soac dev FILE`: a program as it looks after a stage or a pass."""

from __future__ import annotations

from pathlib import Path

import click

from ..frontend.compile import compile_text
from ..ir.machine import CPU, CUDA, MACHINES, Machine, Mode
from ..pipeline import KERNEL_PASSES, PASSES, Emit, all_stages, compile_prog
from ..source import read_source
from ..stages import show_after, show_stage
from ..terminal import waiting
from .options import FILE, DataCommand


@click.command("dev", cls=DataCommand)
@click.argument("file", type=FILE)
@click.option("--emit", type=click.Choice([e.value for e in Emit]), help="Show this stage; default: flat.")
@click.option("--after", type=click.Choice(PASSES), help="Show the program, or its kernels, after this pass.")
@click.option("--trace-rules", is_flag=True, help="Print each flattening rule as it fires.")
@click.option("--flatten", "mode", type=click.Choice([m.value for m in Mode]), default=Mode.INCREMENTAL.value)
@click.option("--machine", type=click.Choice(list(MACHINES)), help="Of the levels and passes; cpu, or cuda to emit it.")
@click.option("--check", "checked", is_flag=True, help="Check the program and its kernels after every pass.")
def command(
    file: Path, emit: str | None, after: str | None, trace_rules: bool, mode: str, machine: str | None, checked: bool
) -> None:
    """Show the program in FILE as it looks inside the compiler; never runs it."""
    text = read_source(file)
    alone = {Emit.CUDA.value: CUDA, Emit.LLVM.value: CPU}.get(emit or "") or _only(after)
    levels = MACHINES[machine] if machine else CUDA if alone is CUDA else CPU
    runs_on = alone or levels
    if after is not None:
        with waiting(f"compiling {file}"):
            core = compile_text(text, str(file))
            shown = show_after(dict(all_stages(core, Mode(mode), levels, checked, runs_on))[after])
        click.echo(shown, nl=False)
        return
    with waiting(f"compiling {file}"):
        compiled = compile_prog(text, str(file), Mode(mode), levels, checked, schedules=runs_on)
    if trace_rules:
        for line in compiled.flattened.trail:
            click.echo(line)
    if emit is not None or not trace_rules:
        click.echo(show_stage(compiled, Emit(emit or Emit.FLAT.value)), nl=False)


def _only(after: str | None) -> Machine | None:
    """The one machine whose kernels go through this pass; None if both do, or if it is a pass over programs."""
    own = [name for name, passes in KERNEL_PASSES.items() if after in dict(passes)]
    return MACHINES[own[0]] if len(own) == 1 else None
