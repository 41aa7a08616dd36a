"""`soac benchcmp BEFORE AFTER`: two files of `soac bench --json` side by side."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ..ir.errors import DataError, Diagnostic
from ..ir.json_text import json_of
from ..reports.timing import seconds_text
from .options import FILE

Times = Mapping[str, Mapping[str, Sequence[float]]]  # program → data set → seconds of each run


@dataclass(frozen=True, slots=True)
class Row:
    """A data set before and after; `ratio` above 1 is faster, `is_clear` if the middle halves do not overlap."""

    program: str
    label: str
    before: float
    after: float
    is_clear: bool

    @property
    def ratio(self) -> float:
        return self.before / self.after if self.after else math.inf


@click.command("benchcmp")
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option(
    "--fail-over", type=click.FloatRange(0), metavar="PERCENT",
    help="End with exit code 1 if a data set is clearly slower by more than this.",
)  # fmt: skip
def command(before: Path, after: Path, fail_over: float | None) -> int:
    """Compare two files of times that `soac bench --json` wrote.

    Shown are medians, and how many times as fast AFTER is; `~` where that may be chance, because the middle halves of
    the times overlap: in the geometric mean it counts as no change. Data sets that only one file has are named."""
    old, new = _read(before), _read(after)
    rows = list(_rows(old, new))
    for program in dict.fromkeys(row.program for row in rows):
        click.echo(f"{program}:")
        for row in rows:
            if row.program == program:
                click.echo(_line(row))
    for times, others, file in ((old, new, before), (new, old, after)):
        for program, label in _only(times, others):
            click.echo(f"only in {file}: {program}, {label}")
    logarithms = [math.log(row.ratio) if row.is_clear else 0.0 for row in rows if 0 < row.ratio < math.inf]
    if logarithms:
        mean = math.exp(statistics.fmean(logarithms))
        click.echo(f"geometric mean over {len(logarithms)} data sets: {mean:.2f} times as fast")
    limit = math.inf if fail_over is None else 1 + fail_over / 100
    return int(any(row.is_clear and row.after > limit * row.before for row in rows))


def _line(row: Row) -> str:
    sign = " " if row.is_clear else "~"
    return f"  {row.label:<44} {seconds_text(row.before):>10} {seconds_text(row.after):>10}  {sign}{row.ratio:.2f}x"


def _rows(old: Times, new: Times) -> Iterator[Row]:
    for program, sets in new.items():
        for label, after in sets.items():
            before = old.get(program, {}).get(label)
            if before is not None:
                low, high = sorted((_middle_half(before), _middle_half(after)))
                yield Row(program, label, statistics.median(before), statistics.median(after), low[1] < high[0])


def _middle_half(times: Sequence[float]) -> tuple[float, float]:
    """The quartiles."""
    if len(times) == 1:
        return times[0], times[0]
    low, _, high = statistics.quantiles(times, n=4, method="inclusive")
    return low, high


def _only(times: Times, others: Times) -> Iterator[tuple[str, str]]:
    for program, sets in times.items():
        for label in sets:
            if label not in others.get(program, {}):
                yield program, label


def _read(file: Path) -> Times:
    """The times in a file; raises `DataError` D0114."""
    try:
        found = json_of(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise _fault(file, str(fault)) from None
    if not isinstance(found, dict) or not all(isinstance(sets, dict) for sets in found.values()):
        raise _fault(file, "expected an object for each program")
    for program, sets in found.items():
        for label, times in sets.items():
            if not _are_times(times):
                raise _fault(file, f"{program}, {label}: expected a list of seconds")
    return found


def _are_times(times: object) -> bool:
    if not isinstance(times, list) or not times:
        return False
    return all(type(time) in (int, float) and 0 <= time < math.inf for time in times)


def _fault(file: Path, why: str) -> DataError:
    text = f"`{file}` is not a file of `soac bench --json`: {why}"
    return DataError(Diagnostic("D0114", text))
