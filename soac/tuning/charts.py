"""Pictures of a search: times of all versions over the data sets, times over parallelism, and the tree of versions."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ..autotune.model import FAILS, Guard, Side, guards_taken
from ..autotune.search import Problem, Tuned
from ..ir.version_tree import Branch, Sides, Site, combinations
from ..reports import svg
from ..reports.timing import seconds_text
from ..versions import named_versions
from .report import Row

MOST_CURVES = 12


def pictures(entry: str, problem: Problem, tuned: Tuned, rows: Sequence[Row], sites: Sequence[Site]) -> dict[str, str]:
    """The pictures of an entry by the names of their files."""
    found = {f"{entry}.times.svg": svg.chart(times_of_versions(entry, tuned, rows, sites))}
    for site in sites:
        drawn = times_over_parallelism(site, tuned)
        if any(curve.points for curve in drawn.curves):
            found[f"{site.name}.parallelism.svg"] = svg.chart(drawn)
        found[f"{site.name}.tree.svg"] = svg.tree(site.name, version_tree(site, problem, tuned))
    return found


# ---- every version and the tuned program ------------------------------------------------------------------------


def times_of_versions(entry: str, tuned: Tuned, rows: Sequence[Row], sites: Sequence[Site]) -> svg.Chart:
    """A curve for each fixed version, and for the tuned program, over the data sets in their order."""
    curves = [
        svg.Curve(name, tuple((k, forced_seconds(case, version)) for k, case in enumerate(tuned.cases)), False)
        for name, version in fixed_versions(sites)
    ]
    after = svg.Curve("tuned", tuple((k, row.after) for k, row in enumerate(rows)), True)
    ticks = tuple((float(k), row.label[:26]) for k, row in enumerate(rows))
    return svg.Chart(
        f"{entry}: every fixed version and the tuned program",
        "data set",
        "time",
        (*curves, after),
        ticks,
        svg.seconds_label,
    )


def fixed_versions(sites: Sequence[Site]) -> Iterator[tuple[str, Sides]]:
    """Versions that take one version at each site, with their names; the first ones if there are many."""
    for number, version in enumerate(combinations(tuple(sites))[:MOST_CURVES]):
        names = [name for site in sites for name, own in named_versions(site).items() if own.items() <= version.items()]
        yield ", ".join(names) or str(number), version


def forced_seconds(side: Side, version: Mapping[str, bool]) -> float:
    """The time of a data set whose guards all take these sides, where they fit."""
    return side.seconds + sum(forced_seconds(_forced(guard, version), version) for guard in side.guards)


def _forced(guard: Guard, version: Mapping[str, bool]) -> Side:
    wants = all(version.get(t, False) for t in guard.thresholds)
    return guard.then if wants and min(guard.pars) >= 0 else guard.orelse


# ---- over parallelism -------------------------------------------------------------------------------------------


def times_over_parallelism(site: Site, tuned: Tuned) -> svg.Chart:
    """For each version of a site its time over that of the best, by the parallelism that the first guard compared."""
    guards = [one for case in tuned.cases for one in case.guards if one.thresholds == site.tree.thresholds]
    versions = named_versions(site)
    fitting = [one for one in guards if one.pars[0] >= 0]
    curves = [
        svg.Curve(name, _ratios(fitting, version, versions.values()), False) for name, version in versions.items()
    ]
    points = [(one, _tuned_sides(one, tuned)) for one in fitting]
    ratios = [(one.pars[0], _ratio(one, sides, versions.values())) for one, sides in points]
    curves.append(svg.Curve("tuned", _means(ratios), True))
    title = f"{site.name}: versions by parallelism"
    return svg.Chart(title, "parallelism", "time over best version", tuple(curves), (), svg.ratio_label)


def _ratios(guards: Sequence[Guard], version: Sides, versions: Iterable[Sides]) -> tuple[tuple[float, float], ...]:
    every = list(versions)
    return _means([(one.pars[0], _ratio(one, version, every)) for one in guards])


def _ratio(guard: Guard, version: Sides, versions: Iterable[Sides]) -> float:
    side = Side(0.0, (guard,))
    best = min(forced_seconds(side, other) for other in versions)
    return forced_seconds(side, version) / best if best > 0 else 1.0


def _means(points: Iterable[tuple[int, float]]) -> tuple[tuple[float, float], ...]:
    """The geometric mean of the points at each x."""
    groups: dict[float, list[float]] = {}
    for x, y in points:
        groups.setdefault(max(x, 1), []).append(y)
    return tuple((x, statistics.geometric_mean(ys)) for x, ys in sorted(groups.items()))


def _tuned_sides(guard: Guard, tuned: Tuned) -> Sides:
    way = guards_taken(Side(0.0, (guard,)), tuned.solution.thresholds)
    return {t: taken for one, taken in way for t in one.thresholds}


# ---- the tree ---------------------------------------------------------------------------------------------------


def version_tree(site: Site, problem: Problem, tuned: Tuned) -> svg.Box:
    """The guards of a site with their thresholds; at the ends the data sets that come there."""
    ways = [
        (label, {(t, side) for one, side in guards_taken(case, tuned.solution.thresholds) for t in one.thresholds})
        for label, case in zip(problem.labels, tuned.cases, strict=True)
    ]
    return _guard(site.tree, Place(ways, {}, site), tuned.solution.thresholds)


@dataclass(frozen=True, slots=True)
class Place:
    """Where we are in the tree: the data sets that come here with the sides they take, and the way here."""

    ways: Sequence[tuple[str, set[tuple[str, bool]]]]
    path: Sides
    site: Site

    def under(self, branch: Branch, side: bool) -> Place:
        ways = [(label, way) for label, way in self.ways if (branch.threshold, side) in way]
        return Place(ways, {**self.path, **dict.fromkeys(branch.thresholds, side)}, self.site)


def _guard(branch: Branch, place: Place, thresholds: Mapping[str, int]) -> svg.Box:
    is_reached = any(t == branch.threshold for _, way in place.ways for t, _ in way)
    lines = tuple(_short(t) + _value(thresholds.get(t)) for t in branch.thresholds)
    below = tuple(
        (word, _side(inner, place.under(branch, side), thresholds))
        for word, side, inner in (("t ≤ par", True, branch.then), ("t > par", False, branch.orelse))
    )
    return svg.Box(lines, below, is_reached)


def _side(branches: Sequence[Branch], place: Place, thresholds: Mapping[str, int]) -> svg.Box:
    if len(branches) == 1:
        return _guard(branches[0], place, thresholds)
    labels = [label for label, _ in place.ways]
    if branches:
        boxes = tuple(("", _guard(branch, place, thresholds)) for branch in branches)
        return svg.Box((f"{len(branches)} guards",), boxes, bool(labels))
    named = (name for name, version in named_versions(place.site).items() if version == place.path)
    more = (f"and {len(labels) - 3} more",) if len(labels) > 3 else ()
    return svg.Box((next(named, "version"), *(f"· {label[:22]}" for label in labels[:3]), *more), (), bool(labels))


def _short(threshold: str) -> str:
    return threshold.split(".", 1)[-1]


def _value(value: int | None) -> str:
    if value is None:
        return ""
    return " = ∞" if value > 1 << 60 else f" = {value}"


# ---- the report -------------------------------------------------------------------------------------------------

STYLE = (
    "body{font-family:sans-serif;max-width:60em;margin:2em auto;color:#222}table{border-collapse:collapse}"
    "td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child,td:last-child"
    "{text-align:left}svg{max-width:100%;height:auto}"
)


def page(title: str, sections: Mapping[str, tuple[Sequence[Row], Sequence[str], Mapping[str, str]]]) -> str:
    """One file with all of it: for each entry its rows, remarks and pictures."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for entry, (rows, said, drawn) in sections.items():
        parts.append(f"<h2>{escape(entry)}</h2>")
        parts.append(_table(rows))
        parts += [f"<p>{escape(line)}</p>" for line in said]
        parts += drawn.values()
    body = "\n".join(parts)
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    return f"<!doctype html>\n<html><head>{head}</head><body>\n{body}\n</body></html>\n"


def _table(rows: Sequence[Row]) -> str:
    head = "".join(f"<th>{word}</th>" for word in ("data set", "before", "after", "interval", "best", "version"))
    lines = []
    for row in rows:
        interval = f"{seconds_text(row.low)} – {seconds_text(row.high)}" if row.high < FAILS else ""
        cells = (
            row.label,
            seconds_text(row.before),
            seconds_text(row.after),
            interval,
            seconds_text(row.best),
            row.version,
        )
        lines.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


def write_pictures(folder: Path, drawn: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in drawn.items():
        svg.write(folder / name, content)
