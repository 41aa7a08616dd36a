"""`soac bench FILES`: times of programs on the data sets of their test blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from ..api import Program
from ..data.files import write_file
from ..failures import source_line_of
from ..performance.summary import summary
from ..reports import svg
from ..reports.profile import Profile, lines_of, profile, trace_of
from ..reports.timing import Effort, Times, race, seconds_text
from ..session import Session, open_program
from ..settings import Settings
from ..terminal import waiting
from ..testing.datasets import DataSet, inputs_of, sets_to_run
from ..versions import misfits
from .cluster import Where, cluster_options, opened, tuned, with_guards
from .cluster import prepared as cluster_call
from .options import FILES, DataCommand, run_options
from .test import programs_in

SKIPPED = frozenset({"disable", "nobench", "no_soac"})
MIN_SECONDS = 0.2
TIMES_AS_MANY = 100  # runs, of those asked for, at most

Found = dict[str, dict[str, Times]]  # program → data set → times


@click.command("bench", cls=DataCommand)
@click.argument("files", nargs=-1, required=True, type=FILES)
@click.option("--runs", type=click.IntRange(1, 100_000), default=10, show_default=True, help="Timed runs, at least.")
@click.option(
    "--spread", type=click.FloatRange(0), default=2.0, show_default=True, metavar="PERCENT",
    help="Go on until the 95 % interval of the median is within so much of it on both sides.",
)  # fmt: skip
@click.option(
    "--most-seconds", type=click.FloatRange(0), default=5.0, show_default=True, help="But no longer on a data set."
)
@click.option("-e", "--entry", metavar="NAME", help="Only this entry point.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all times to this file.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw medians and intervals to this file (SVG).")
@click.option(
    "--profile",
    "trace",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="TRACE",
    help="Show the time of kernels, copies and host by line; write a trace (JSON) for Perfetto.",
)
@cluster_options
@run_options
def command(where: Where | None, trace: Path | None, settings: Settings, **given: Any) -> None:
    """Time the programs in FILES on the data sets of their test blocks.

    A program runs until its times do not fall any more, then at least as often as asked for and until its median is
    known well enough. Shown are the median and its 95 % interval. On a cluster the arguments are on the workers.

    With --profile a call is run operation by operation, by Python: the host takes longer then than in a plain call."""
    if trace is not None and (settings.device != "cpu" or where is not None):
        raise click.UsageError("--profile is for the CPU; on a GPU use NVIDIA's `nsys profile`")
    if where is None:
        _bench(settings, None, trace, **given)
        return
    where, settings = with_guards(where, settings)
    with opened(where, settings.threads) as cluster:

        def call(program: Program, name: str, args: list) -> Callable[[], object]:
            return cluster_call(cluster, tuned(where, settings, Path(program.source.file)), program, name, args)

        _bench(settings, call, trace, **given)


Call = Callable[[Program, str, list], Callable[[], object]]


def _bench(
    settings: Settings, call: Call | None, trace: Path | None, files: tuple[Path, ...], runs: int, spread: float,
    most_seconds: float, entry: str | None, json_file: Path | None, plot: Path | None,
) -> None:  # fmt: skip
    """`call`: how an entry is called, if not on this machine."""
    effort = Effort(runs, MIN_SECONDS, spread / 100, TIMES_AS_MANY * runs, most_seconds)
    found: Found = {}
    profiles: dict[str, Profile] = {}
    for path in programs_in(files):
        click.echo(f"{path}:")
        session = open_program(path, settings)
        if (slow := summary(session.program)) is not None:
            click.echo(f"  {slow}")
        wanted = sets_to_run(session.text, str(path), entry, SKIPPED)
        if not wanted:
            click.echo(
                f"  nothing to time: no test block has an input for {f'`{entry}`' if entry else 'an entry point'}"
            )
        for name, called, args in _benchmarks(path, session, wanted):
            with waiting(f"timing {name}"):
                run = call(session.program, called, args) if call else _call(session, called, args, settings.threads)
                times = race({name: run}, effort)[name]
            found.setdefault(str(path), {})[name] = times
            click.echo(_line(name, times))
            _write(json_file, found)
            if trace is not None:
                profiles[f"{path} {name}"] = _profile(session, called, args, settings.threads, runs)
                trace.write_text(trace_of(profiles), encoding="utf-8")
    _write(json_file, found)
    if plot is not None and found:
        groups = {program: [_bar(*one) for one in sets.items()] for program, sets in found.items()}
        svg.write(plot, svg.bars(groups, "ms"))


def _write(file: Path | None, found: Found) -> None:
    """What is timed so far, so that a run that is cut off leaves it."""
    if file is not None:
        seconds = {program: {name: times.seconds for name, times in sets.items()} for program, sets in found.items()}
        write_file(file, (json.dumps(seconds, indent=2) + "\n").encode())


def _line(name: str, times: Times) -> str:
    low, high = map(seconds_text, times.interval)
    return f"  {name:<44} {seconds_text(times.median):>10}  ({low} to {high}, {len(times.seconds)} runs)"


def _bar(name: str, times: Times) -> svg.Bar:
    low, high = times.interval
    return svg.Bar(name, times.median * 1e3, low * 1e3, high * 1e3)


def _profile(session: Session, entry: str, args: list, threads: int | None, runs: int) -> Profile:
    """Shows where the time of a call goes."""
    with waiting(f"profiling {entry}"):
        one = profile(session.program, entry, args, session.forced, threads, runs)
    for line in lines_of(one, source_line_of):
        click.echo(f"    {line}")
    return one


def _benchmarks(path: Path, session: Session, wanted: Sequence[DataSet]) -> Iterator[tuple[str, str, list]]:
    """What to time: the name, entry point and arguments of each data set."""
    for data_set in wanted:
        args = inputs_of(data_set, session.program, path)
        name = f"{data_set.entry} {data_set.label}"
        if (why := _misfits(session, data_set.entry, args)) is not None:
            click.echo(f"  {name:<44} skipped: {why}")
            continue
        yield name, data_set.entry, session.program.place(data_set.entry, args)


def _misfits(session: Session, entry: str, args: list) -> str | None:
    """Why the forced version does not run with these arguments, if there is one that does not."""
    if not any(session.forced.values()):
        return None
    return misfits(session.forced, session.program.trace(entry, args, forced=session.forced)[1])


def _call(session: Session, entry: str, args: list, threads: int | None) -> Callable[[], object]:
    call = session.program.prepare(entry, forced=session.forced, threads=threads)
    return lambda: call(args)
