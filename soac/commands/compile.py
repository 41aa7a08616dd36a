"""`soac compile FILE -o DIR`: what a program is compiled to, as files, and a manifest of its entries and guards."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..autotune.tuning import program_digest
from ..failures import show_diagnostics
from ..flatten.tree import sites
from ..ir.core import FunDef
from ..ir.errors import NOWHERE, Diagnostic, Label, SoacError
from ..pipeline import Compiled, Emit, compile_prog
from ..source import read_source
from ..stages import show_stage
from ..versions import leaf_name
from .options import FILE, DataCommand, allow_outside_option, reach_of

STAGES = {
    Emit.CORE: "core.soir",
    Emit.FLAT: "flat.soir",
    Emit.KERNELS: "kernels.txt",
    Emit.HOST: "host.txt",
    Emit.LLVM: "kernels.ll",
}


@click.command("compile", cls=DataCommand)
@click.argument("file", type=FILE)
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="DIR")
@allow_outside_option
def command(file: Path, output: Path, allow_outside: bool) -> None:
    """Write kernels, host program and manifest of FILE to a directory; never runs it."""
    text = read_source(file)
    compiled = compile_prog(text, str(file), reach=reach_of(allow_outside))
    show_diagnostics(compiled.warnings)
    manifest = json.dumps(manifest_of(compiled, text), indent=2) + "\n"
    contents = {name: show_stage(compiled, stage) for stage, name in STAGES.items()} | {"manifest.json": manifest}
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (output / name).write_text(content, encoding="utf-8")
    except OSError as fault:
        text = f"cannot write to `{output}`: {fault.strerror}"
        raise SoacError(Diagnostic("S0201", text, Label(NOWHERE, ""))) from None


def manifest_of(compiled: Compiled, text: str) -> dict[str, object]:
    """Entries with their parameters, results and guard sites; kernels; where everything is."""
    return {
        "format": 1,
        "program": program_digest(text),
        "entries": {fun.entry.name: _entry(fun, compiled) for fun in compiled.core.functions if fun.entry},
        "kernels": [kernel.name for kernel in compiled.host.kernels],
        "files": {stage.value: name for stage, name in STAGES.items()},
    }


def _entry(fun: FunDef, compiled: Compiled) -> dict[str, object]:
    assert fun.entry is not None
    return {
        "parameters": [{"name": p.name, "type": p.text, "unique": p.unique} for p in fun.entry.params],
        "results": [{"type": r.text} for r in fun.entry.results],
        "sites": {
            site.name: {"leaves": [leaf_name(site, leaf) for leaf in site.leaves], "thresholds": site.thresholds}
            for site in sites(compiled.flat)
            if site.entry == fun.entry.name
        },
    }
