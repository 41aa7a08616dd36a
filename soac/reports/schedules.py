"""How each segop of a program is run on a machine: the schedules considered, their costs, and which are taken.

    ys: segmap^thread (n, m), main.ys.suff_outer_0 taken  at matmul.soac:5:3
        schedule           cost  taken
        collective            -  no: its points are threads
        points                -  else
          panels           1.31  if n >= 32
          lanes            3.42  else

Rows inside of a row are further to the right. Of several conditions the first that holds decides. The cost is what the
cost model gives a launch for one of its units of work, a point or an element; on a GPU, for a block. Rows of one table
can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from ..ir.core import Prog, SegOp
from ..ir.errors import NOWHERE
from ..ir.machine import Machine
from ..ir.types import Atom, Const
from ..kernels.lower import lower
from ..kernels.schedule.host_builder import Considered, Scheduled, Sigma
from .explain import reader_of
from .tables import table


@dataclass(frozen=True, slots=True)
class Row:
    """A schedule that was considered; `condition`: of the sizes, under which it is taken, None for one that needs none.
    `why_not`: why it is not taken at all."""

    name: str
    nesting: int
    cost: float | None
    condition: str | None
    why_not: str | None
    kernels: tuple[str, ...]
    sigma: Sigma | None


@dataclass(frozen=True, slots=True)
class ScheduledSegop:
    """A segop of an entry. `side`: the last guard before it in its version, and whether that is taken; `interpreted`:
    why no schedule has a kernel for it."""

    entry: str
    binding: str
    segop: str
    level: str
    space: tuple[str, ...]
    side: tuple[str, bool] | None
    at: str | None
    rows: tuple[Row, ...]
    interpreted: str | None


def schedules_of(flat: Prog, machine: Machine, entries: Sequence[str]) -> list[ScheduledSegop]:
    """All segops of some entries of a flat program, in the order in which they are lowered."""
    seen: list[Scheduled] = []
    host = lower(flat, machine, seen.append)
    show = {fun.entry.name: reader_of(fun) for fun in host.functions if fun.entry.name in entries}
    return [_segop(one, show[one.entry]) for one in seen if one.entry in show and isinstance(one.stm.exp, SegOp)]


def _segop(one: Scheduled, show: Callable[[Atom], str]) -> ScheduledSegop:
    exp, loc = one.stm.exp, one.stm.loc
    assert isinstance(exp, SegOp)
    name = ", ".join(p.name.base for p in one.stm.pat)
    rows = tuple(_row(row, show) for row in one.considered) if one.interpreted is None else ()
    widths, at = tuple(map(show, exp.space.widths)), None if loc == NOWHERE else str(loc)
    kind = type(exp).__name__.lower()
    return ScheduledSegop(one.entry, name, kind, exp.level.value, widths, one.side, at, rows, one.interpreted)


def _row(row: Considered, show: Callable[[Atom], str]) -> Row:
    condition = None if row.guard is None or isinstance(row.guard, Const) else show(row.guard)
    condition = f"({condition})" if condition is not None and condition.startswith("if ") else condition
    return Row(row.schedule, row.nesting, row.cost, condition, row.why_not, row.kernels, row.sigma)


def schedule_lines(segops: Sequence[ScheduledSegop]) -> Iterator[str]:
    """Text, a table for each segop."""
    for number, segop in enumerate(segops):
        if number == 0 or segop.entry != segops[number - 1].entry:
            yield from ([""] if number else []) + [f"entry {segop.entry}"]
        yield f"  {_title(segop)}"
        if segop.interpreted is not None:
            yield f"    interpreted: {segop.interpreted}"
            continue
        rows = [("schedule", "cost", "taken")]
        for row, taken in zip(segop.rows, taken_in_words(segop.rows), strict=True):
            rows.append(("  " * row.nesting + row.name, "-" if row.cost is None else f"{row.cost:.3g}", taken))
        yield from table(rows, sides="<><")


def _title(segop: ScheduledSegop) -> str:
    side = "" if segop.side is None else f", {segop.side[0]} {'taken' if segop.side[1] else 'not taken'}"
    at = "" if segop.at is None else f"  at {segop.at}"
    return f"{segop.binding}: {segop.segop}^{segop.level} ({', '.join(segop.space)}){side}{at}"


def sigma_lines(segops: Sequence[ScheduledSegop], settings: Mapping[str, int] = MappingProxyType({})) -> Iterator[str]:
    """Text, a table of mappings for each segop, the one that is taken with these settings marked; where a setting
    chooses between two, its values.

    add: segred^thread (m, n)  at cols.soac:3:1
        blocks                   sectors    copied  of a request        setting
          as it is                263168         0  xss 32, partial 1   main.mapping 2
        > xss as (1, 0)            33280   2097152  xss 4, partial 1    main.mapping 1
    """
    for segop in segops:
        if not any(row.sigma is not None for row in segop.rows):
            continue
        yield _title(segop)
        rows = [("schedule", "sectors", "copied", "of a request", "setting")]
        for before, row in zip((None, *segop.rows), segop.rows, strict=False):
            if (sigma := row.sigma) is None:
                continue
            if before is not None and before.sigma is None:
                rows.append((before.name, "", "", "", ""))
            mark = ">" if _is_taken(row, sigma, settings) else " "
            each = ", ".join(f"{array} {count:.3g}" for array, count in sigma.each)
            setting = "" if sigma.setting is None else "{} {}".format(*sigma.setting)
            rows.append((f"{mark} {sigma.mapping}", f"{sigma.sectors:.0f}", f"{sigma.copied:.0f}", each, setting))
        shown = 5 if any(row.sigma is not None and row.sigma.setting is not None for row in segop.rows) else 4
        yield from table([row[:shown] for row in rows], "  ", "<>><<"[:shown])


def _is_taken(row: Row, sigma: Sigma, settings: Mapping[str, int]) -> bool:
    """Whether a mapping is the one that runs."""
    if sigma.setting is None:
        return row.why_not is None
    name, value = sigma.setting
    return (value == 1) == (settings.get(name, 1) <= 1)


def taken_in_words(rows: Sequence[Row]) -> Iterator[str]:
    """Which row is taken: the first of a table whose condition holds."""
    guarded: dict[int, bool] = {}
    for row in rows:
        guarded = {nesting: before for nesting, before in guarded.items() if nesting <= row.nesting}
        before = guarded.get(row.nesting, False)
        kernels = f": {', '.join(row.kernels)}" if row.kernels else ""
        if row.why_not is not None:
            yield f"no: {row.why_not}"
        elif row.condition is not None:
            yield f"{'else ' if before else ''}if {row.condition}{kernels}"
            guarded[row.nesting] = True
        else:
            yield f"{'else' if before else 'always'}{kernels}"
            guarded[row.nesting] = False


def as_json_of(segop: ScheduledSegop) -> dict[str, Any]:
    """A segop for `--json`."""
    return {
        "entry": segop.entry,
        "binding": segop.binding,
        "segop": segop.segop,
        "level": segop.level,
        "space": list(segop.space),
        "guard": None if segop.side is None else {"threshold": segop.side[0], "taken": segop.side[1]},
        "at": segop.at,
        "interpreted": segop.interpreted,
        "schedules": [_row_json(row) for row in segop.rows],
    }


def _row_json(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "nesting": row.nesting,
        "cost": row.cost,
        "taken": row.why_not is None,
        "if": row.condition,
        "why_not": row.why_not,
        "kernels": list(row.kernels),
        **({} if row.sigma is None else {"sigma": asdict(row.sigma)}),
    }
