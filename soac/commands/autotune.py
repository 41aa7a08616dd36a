"""`soac autotune FILE`: every version of a program timed on the data sets of its test blocks, thresholds solved."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from ..arguments import Argument
from ..autotune.measure import INFINITE, Measured, Met, Run, measure
from ..autotune.solve import Solution, solve
from ..autotune.tuning import program_digest, tuning_path, write_tuning
from ..datasets import DataSet, data_sets, inputs_of
from ..frontend.data import compare_values
from ..frontend.testblocks import Fails, parse_tests
from ..ir.errors import NOWHERE, Diagnostic, IRError, Label, TuningError
from ..session import Session, open_program
from .options import FILE, DataCommand, Settings, run_options

SKIPPED = frozenset({"disable", "notune", "no_soac"})


@click.command("autotune", cls=DataCommand)
@click.argument("file", type=FILE)
@click.option("--runs", type=click.IntRange(1, 1000), default=5, show_default=True, help="Timed runs of each version.")
@run_options
def command(file: Path, runs: int, settings: Settings) -> None:
    """Time every version of FILE on the data sets of its test blocks, and write the best thresholds to FILE.tuning."""
    session = open_program(file, replace(settings, use_tuning=False))
    if not session.sites:
        click.echo(f"{file}: one version only, nothing to tune")
        return
    path = settings.tuning or tuning_path(file)
    found: dict[str, int] = {}
    report: dict[str, object] = {"format": 1, "program": program_digest(session.text), "machine": platform.processor()}
    try:
        for entry in dict.fromkeys(site.entry for site in session.sites):
            sets = _data_sets(file, session, entry)
            if sets:
                measured, solution = _tune(file, session, entry, sets, runs, settings.threads)
                found |= solution.thresholds
                report[entry] = _record(sets, measured, solution)
    except KeyboardInterrupt:
        write_tuning(path.with_name(path.name + ".partial"), found, report)
        raise
    if len(report) == 3:
        text = "nothing to tune with: no test block has data for an entry point with versions"
        hint = "add a `-- ==` block with an input to the program"
        raise TuningError(Diagnostic("T0201", text, Label(NOWHERE, ""), hint=hint))
    write_tuning(path, found, report)
    click.echo(f"wrote {path}")


def _data_sets(file: Path, session: Session, entry: str) -> list[DataSet]:
    """The data sets of an entry that are to be tuned for."""
    return [
        found
        for found in data_sets(parse_tests(session.text, str(file)), session.program.entries)
        if found.entry == entry and not SKIPPED & set(found.case.tags) and not isinstance(found.case.expected, Fails)
    ]


def _tune(
    file: Path, session: Session, entry: str, sets: Sequence[DataSet], runs: int, threads: int | None
) -> tuple[Measured, Solution]:
    calls = [_run(session, entry, inputs_of(one, session.program, file), threads) for one in sets]
    trees = [site.tree for site in session.sites if site.entry == entry]
    measured = measure(trees, calls, runs)
    if all(time == INFINITE for times in measured.times.values() for time in times):
        text = f"all runs of `{entry}` failed"
        raise TuningError(Diagnostic("T0202", text, Label(NOWHERE, ""), notes=measured.failures[:10]))
    solution = solve(measured.guards, measured.pars, len(sets))
    _show(entry, sets, measured, solution)
    return measured, solution


def _run(session: Session, entry: str, args: list[Argument], threads: int | None) -> Run:
    """A case as the tuner calls it. Versions that disagree are a bug of the compiler."""
    expected: list[Argument] = []

    def run(forced: Mapping[str, bool]) -> Met:
        results, met = session.program.trace(entry, args, forced=forced, threads=threads)
        if not expected:
            expected.extend(results)
        for got, wanted in zip(results, expected, strict=True):
            if (difference := compare_values(got, wanted)) is not None:
                raise IRError(f"versions of {entry} disagree under {dict(forced)}: {difference}")
        return met

    return run


# ---- the report -------------------------------------------------------------------------------------------------


def _show(entry: str, sets: Sequence[DataSet], measured: Measured, solution: Solution) -> None:
    """Milliseconds of every version on every data set, the thresholds, and what they could not serve."""
    versions = list(measured.times)
    click.echo(f"{entry + ' [ms]':<44}" + "".join(f"  {name:>12}" for name in versions))
    for position, one in enumerate(sets):
        times = (measured.times[name][position] * 1e3 for name in versions)
        shown = "".join(f"  {time:>{max(12, len(name))}.3f}" for name, time in zip(versions, times))
        click.echo(f"  {one.label[:42]:<42}{shown}")
    for name, value in sorted(solution.thresholds.items()):
        click.echo(f"  {name}={value}")
    for failure in measured.failures:
        click.echo(f"  failed: {failure}")
    for position in _not_best(measured, solution):
        click.echo(f"  not at its best, because no thresholds suit all data sets: {sets[position].label}")


def _not_best(measured: Measured, solution: Solution) -> list[int]:
    """The data sets that alone would be more than 5 % faster with other thresholds."""
    cases = range(len(measured.reference))
    alone = {j: solve(measured.guards, _only(measured, j), len(cases)).extra for j in cases}
    if sum(alone.values()) >= solution.extra - 0.05 * sum(measured.reference):
        return []
    return [j for j in cases if _extra_of(measured, solution.thresholds, j) - alone[j] > 0.05 * measured.reference[j]]


def _only(measured: Measured, case: int) -> dict[str, list]:
    """The parallelism as if `case` were the only data set."""
    return {name: [i if j == case else None for j, i in enumerate(seen)] for name, seen in measured.pars.items()}


def _extra_of(measured: Measured, thresholds: Mapping[str, int], case: int) -> float:
    """What the thresholds cost a case above its reference run."""

    def of(guards: Sequence) -> float:
        total = 0.0
        for guard in guards:
            met = measured.pars[guard.threshold][case]
            if met is not None:
                side = guard.then if thresholds[guard.threshold] <= met[0] else guard.orelse
                total += side.extra[case] + of(side.guards)
        return total

    return of(measured.guards)


def _record(sets: Sequence[DataSet], measured: Measured, solution: Solution) -> dict[str, object]:
    """What the sidecar keeps of an entry."""
    return {
        "data_sets": [one.label for one in sets],
        "seconds": {version: [t if t < INFINITE else None for t in times] for version, times in measured.times.items()},
        "parallelism": {name: list(seen) for name, seen in measured.pars.items()},
        "thresholds": dict(solution.thresholds),
        "failures": list(measured.failures),
    }
