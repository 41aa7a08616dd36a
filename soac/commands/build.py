"""`soac build FILE -o DIR`: a library of a program, for C, C++, Rust and what else calls C, and wheels for Python."""

from __future__ import annotations

from pathlib import Path

import click

from ..library.build import Order, build_library, library_name, library_version, targets_of
from ..library.gpus import gpus_of
from ..session import planned
from ..settings import Settings
from ..source import read_source
from ..terminal import waiting
from .options import FILE, DataCommand, allow_outside_option, reach_of


@click.command("build", cls=DataCommand)
@click.argument("file", type=FILE)
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="DIR",
              help="The directory to write to.")  # fmt: skip
@click.option(
    "--target", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="For which device."
)
@click.option("--arch", multiple=True, metavar="NAME",
              help="Processors to have code for: x86-64-v2, x86-64-v3, x86-64-v4, aarch64, native; more than one of a "
                   "kind are chosen from at run time. Default: all of this machine's kind. For GPUs: sm_90 and so on, "
                   "compute_80 for PTX.")  # fmt: skip
@click.option("--name", help="The name of the library; default: that of the file.")
@click.option("--version", default="0.1.0", show_default=True, help="The version of the library.")
@click.option("--python", is_flag=True, help="Write a wheel too, which needs NumPy alone.")
@click.option("--tuning", type=click.Path(path_type=Path), help="Tuning file to start with; default: FILE.tuning.")
@click.option("--no-tuning", is_flag=True, help="Do not read a tuning file.")
@click.option("--param", multiple=True, metavar="NAME=INT", help="Set a threshold, over the tuning file.")
@allow_outside_option
def command(
    file: Path, output: Path, target: str, arch: tuple[str, ...], name: str | None, version: str, python: bool,
    tuning: Path | None, no_tuning: bool, param: tuple[str, ...], allow_outside: bool,
) -> None:  # fmt: skip
    """Write FILE as a library that needs neither Python nor soac: a header, a static library and, where a C compiler
    brings a linker, a shared one, files for pkg-config and CMake, a manifest."""
    plan = planned(file, Settings(target, None, tuning, not no_tuning, param, (), reach_of(allow_outside)))
    called, targets = library_name(name or file.stem), gpus_of(arch) if target == "cuda" else targets_of(arch)
    order = Order(called, library_version(version), targets, plan.thresholds, read_source(file), python)
    with waiting(f"building {called}"):
        made = build_library(plan.compiled, order, output)
    for one in made.files:
        click.echo(output / one)
    if made.why_static:
        click.echo(f"soac: warning: no shared library: {made.why_static}", err=True)
