"""`soac compile FILE.. -o DIR`: what a program is compiled to, as files, and a manifest of its entries and guards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from ..autotune.tuning import program_digest
from ..failures import show_diagnostics
from ..ir.core import FunDef
from ..ir.errors import Diagnostic, SystemFault
from ..ir.machine import MACHINES
from ..ir.version_tree import sites
from ..kernels.cuda_c.module import cuda_kernel, cuda_module
from ..kernels.devices.cuda.nvrtc import NoCompiler, compile_cuda
from ..kernels.passes.pipeline import CUDA_PASSES, all_ready
from ..output import write_files
from ..pipeline import Compiled, Emit, compile_prog
from ..reports.compile_times import compile_times, time_lines
from ..source import read_source
from ..stages import show_stage
from ..terminal import waiting
from ..versions import named_versions
from .options import FILE, DataCommand, allow_outside_option, reach_of

STAGES = {
    Emit.CORE: "core.soir",
    Emit.FLAT: "flat.soir",
    Emit.KERNELS: "kernels.txt",
    Emit.HOST: "host.txt",
}


@click.command("compile", cls=DataCommand)
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Default: soac-out; several programs get a directory each inside.")  # fmt: skip
@click.option("--device", type=click.Choice(list(MACHINES)), default="cpu", show_default=True, help="For which device.")
@click.option("--arch", default="sm_90", show_default=True, help="The GPU's architecture; no GPU is needed.")
@click.option("--time", "times", is_flag=True, help="Show how long each stage and kernel takes; nothing is written.")
@allow_outside_option
def command(
    files: tuple[Path, ...], output: Path | None, device: str, arch: str, times: bool, allow_outside: bool
) -> None:
    """Write kernels, host program and manifest of each FILE to a directory; never runs them.

    For `cuda` the kernels are CUDA C and a cubin for --arch, made by NVRTC (the wheel `nvidia-cuda-nvrtc`).

    With --time processor time is shown, of the stages for the CPU and of each kernel; no cache is used."""
    if times:
        if device != "cpu" or output is not None:
            raise click.UsageError("--time is for the CPU, and writes nothing")
        for file in files:
            click.echo(f"{file}:")
            click.echo("\n".join(time_lines(*compile_times(read_source(file), str(file), reach_of(allow_outside)))))
        return
    apart = output is None or len(files) > 1
    for file in files:
        text = read_source(file)
        with waiting(f"compiling {file}"):
            compiled = compile_prog(text, str(file), machine=MACHINES[device], reach=reach_of(allow_outside))
            contents = {name: show_stage(compiled, stage).encode() for stage, name in STAGES.items()}
            code = _kernels(compiled, device, arch)
        show_diagnostics(compiled.warnings)
        contents |= {f"kernels.{suffix}": content for suffix, content in code.items()}
        names = {stage.value: name for stage, name in STAGES.items()} | {s: f"kernels.{s}" for s in code}
        manifest = json.dumps(manifest_of(compiled, text, names), indent=2) + "\n"
        folder = (output or Path("soac-out")) / (file.stem if apart else "")
        write_files(folder, contents | {"manifest.json": manifest.encode()})
        if apart:
            click.echo(folder)


def _kernels(compiled: Compiled, device: str, arch: str) -> dict[str, bytes]:
    """The code of all kernels for the device, by the suffix of its file."""
    if device == "cpu":
        return {"ll": show_stage(compiled, Emit.LLVM).encode()}
    module = cuda_module(map(cuda_kernel, all_ready(compiled.host.kernels, CUDA_PASSES)))
    try:
        return {"cu": module.encode(), "cubin": compile_cuda(module, arch)}
    except NoCompiler as why:
        hint = "`--device cpu` works everywhere"
        raise SystemFault(Diagnostic("S0101", str(why), hint=hint)) from None


def manifest_of(compiled: Compiled, text: str, files: Mapping[str, str]) -> dict[str, object]:
    """Entries with their parameters, results and guard sites; kernels; where everything is."""
    return {
        "format": 2,
        "program": program_digest(text),
        "entries": {fun.entry.name: _entry(fun, compiled) for fun in compiled.core.functions if fun.entry},
        "kernels": [kernel.name for kernel in compiled.host.kernels],
        "files": dict(files),
    }


def _entry(fun: FunDef, compiled: Compiled) -> dict[str, object]:
    assert fun.entry is not None
    return {
        "parameters": [{"name": p.name, "type": p.text, "unique": p.unique} for p in fun.entry.params],
        "results": [{"type": r.text} for r in fun.entry.results],
        "sites": {
            site.name: {"versions": list(named_versions(site)), "thresholds": site.thresholds}
            for site in sites(compiled.flat)
            if site.entry == fun.entry.name
        },
    }
