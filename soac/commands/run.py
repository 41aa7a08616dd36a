"""`soac run FILE [DATA..]`: values in, results out, one on a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..data.read_write import Format, write_values
from ..frontend.source.text import Reach
from ..kernels.devices.device import on_host
from ..performance.summary import summary
from ..session import open_program
from ..settings import Settings
from ..terminal import waiting
from ..versions import misfits
from .arguments import gather
from .cluster import Where, call, cluster_options, gathered, opened, tuned, with_guards
from .options import FILE, DataCommand, run_options


@click.command("run", cls=DataCommand)
@click.argument("file", type=FILE)
@click.argument("data", nargs=-1)
@click.option("-e", "--entry", metavar="NAME", help="Entry point; default: main, or the only one.")
@click.option(
    "--max-input", type=click.IntRange(1), metavar="BYTES", help="Most bytes of input; default: 80 % of memory."
)
@click.option("-b", "--binary", is_flag=True, help="Write results in the binary format.")
@click.option(
    "--untrusted", is_flag=True,
    help="Run in a process with limits of time, memory and threads, without `#[unsafe]` and files of other projects.",
)  # fmt: skip
@click.option(
    "--time-limit", type=click.FloatRange(0, 1e6, min_open=True), default=10.0, show_default=True, metavar="SECONDS",
    help="Of an untrusted run.",
)  # fmt: skip
@click.option(
    "--memory-limit", type=click.IntRange(1, 1 << 24), default=1024, show_default=True, metavar="MIB",
    help="Of an untrusted run, beside what soac itself takes.",
)  # fmt: skip
@click.option("--confined", type=int, hidden=True)
@cluster_options
@run_options
def command(settings: Settings, untrusted: bool, where: Where | None, **given: Any) -> int:
    """Run an entry point of FILE.

    Each DATA is a value (`"[1, 2, 3]"`), or a file of values: text, binary or .npy. Without DATA they are read from
    stdin.

    --untrusted: for programs of others, as on a server (SECURITY.md says what is promised). It runs on one CPU thread
    unless --threads says otherwise; DATA and tuning files must be in the directory of FILE."""
    if where is not None:
        if untrusted:
            raise click.UsageError("`--untrusted` goes with neither `--cluster` nor `--workers`")
        return _on_cluster(where, settings, **given)
    if untrusted:
        return _untrusted(settings, **given)
    return _run(settings, **given)


def _on_cluster(
    where: Where, settings: Settings, file: Path, data: tuple[str, ...], entry: str | None, max_input: int | None,
    binary: bool, **_limits: Any,
) -> int:  # fmt: skip
    where, settings = with_guards(where, settings)
    where = tuned(where, settings, file)
    session = open_program(file, settings)
    name = entry or default_entry(session.program.entries)
    with opened(where, settings.threads) as cluster:
        args = gathered(cluster, session.program.function(name), data, max_input)
        results = on_host(call(cluster, where, session.program, name, args))
    click.echo(write_values(results, Format.BINARY if binary else Format.TEXT), nl=False)
    return 0


def _untrusted(
    settings: Settings, file: Path, data: tuple[str, ...], entry: str | None, max_input: int | None, binary: bool,
    time_limit: float, memory_limit: int, confined: int | None,
) -> int:  # fmt: skip
    """The same command in a child. Its words are made from what was read of these, so that none counts as an option."""
    from ..confined import Limits, run_confined

    if settings.device != "cpu" or settings.reach is Reach.ANYWHERE:
        raise click.UsageError("`--untrusted` goes with neither `--device cuda` nor `--allow-outside`")
    options = [
        *([f"--entry={entry}"] if entry is not None else []),
        *([f"--max-input={max_input}"] if max_input is not None else []),
        *(["--binary"] if binary else []),
        *([] if settings.use_tuning else ["--no-tuning"]),
        *([f"--tuning={settings.tuning}"] if settings.tuning is not None else []),
        *(f"--param={param}" for param in settings.params),
        *(f"--force={force}" for force in settings.forces),
    ]
    limits = Limits(time_limit, memory_limit << 20, settings.threads or 1)
    return run_confined(["run", *options, "--", str(file), *data], limits)


def _run(
    settings: Settings, file: Path, data: tuple[str, ...], entry: str | None, max_input: int | None, binary: bool,
    time_limit: float, memory_limit: int, confined: int | None,
) -> int:  # fmt: skip
    if confined is not None:
        from ..confined import Limits, confine, is_lifeline

        if not is_lifeline(confined):
            raise click.UsageError("`--confined` is what soac gives to its child, with a pipe; use `--untrusted`")
        settings = replace(settings, reach=Reach.UNTRUSTED)
        confine(Limits(time_limit, memory_limit << 20, settings.threads or 1), file.parent, confined)
    session = open_program(file, settings)
    name = entry or default_entry(session.program.entries)
    args = gather(session.program.function(name), data, max_input)
    with waiting(f"running {name}"):
        results, reached = session.program.trace(name, args, forced=session.forced, threads=settings.threads)
    if (why := misfits(session.forced, reached)) is not None:
        click.echo(f"skipped: {why}", err=True)
    click.echo(write_values(results, Format.BINARY if binary else Format.TEXT), nl=False)
    if (slow := summary(session.program)) is not None:
        click.echo(slow, err=True)
    return 0


def default_entry(entries: Sequence[str]) -> str:
    """`main`, or the only one."""
    return entries[0] if len(entries) == 1 else "main"
