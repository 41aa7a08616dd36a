"""What the user sees of a search: a table of data sets, the thresholds, and what could not be served."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..autotune.measure import Record, drift, interval
from ..autotune.model import FAILS, Guard, Side, guards_taken, seconds_of
from ..autotune.observe import Status
from ..autotune.search import Problem, Tuned, untuned_samples
from ..autotune.steady import GRAIN, is_clear, noise_of
from ..autotune.store import Phase, Timed
from ..ir.version_tree import Site
from ..reports.timing import seconds_text
from ..versions import named_versions

NOISE = 1.03
"""How much longer than the untuned program the tuned one may take in confirming runs."""


@dataclass(frozen=True, slots=True)
class Row:
    """A data set: seconds untuned, tuned (measured where a confirming run was made, else as predicted) with a
    confidence interval, and at best; the version that it takes at each site."""

    label: str
    before: float
    after: float
    low: float
    high: float
    best: float
    predicted: float
    version: str
    is_clear: bool = True


def rows_of(
    problem: Problem, tuned: Tuned, timed: Sequence[Timed], confirmed: Sequence[Record | None], sites: Sequence[Site]
) -> list[Row]:
    return [
        _row(problem, tuned, case, record, untuned_samples(timed, case), sites) for case, record in enumerate(confirmed)
    ]


def _row(
    problem: Problem, tuned: Tuned, case: int, record: Record | None, usual: Sequence[float], sites: Sequence[Site]
) -> Row:
    predicted, before = tuned.after[case], tuned.before[case]
    after, low, high = predicted, predicted, predicted
    if record is not None and record.status is Status.ENDED:
        factor = drift(usual, record.untuned)
        after = record.seconds * factor
        low, high = (bound * factor for bound in interval(record.samples))
    version = version_text(tuned.cases[case], tuned.solution.thresholds, sites)
    clear = is_clear(before, low, high, noise_of(usual))
    return Row(problem.labels[case], before, after, low, high, min(tuned.best[case], after), predicted, version, clear)


def version_text(case: Side, thresholds: Mapping[str, int], sites: Sequence[Site]) -> str:
    """The version that a data set takes at each site that it meets; both names where a loop takes several."""
    way = guards_taken(case, thresholds)
    found = {site.name: _version_at(site, way) for site in sites}
    return ", ".join(version for version in found.values() if version) or "-"


def _version_at(site: Site, way: Sequence[tuple[Guard, bool]]) -> str:
    sides: dict[str, set[bool]] = {}
    for one, taken in way:
        for threshold in one.thresholds:
            sides.setdefault(threshold, set()).add(taken)
    if site.name not in sides:
        return ""
    fitting = (
        name
        for name, version in named_versions(site).items()
        if all(side in sides.get(guard, {side}) for guard, side in version.items())
    )
    names = list(fitting)
    return names[0] if all(len(found) == 1 for found in sides.values()) or len(names) == 1 else "/".join(names)


# ---- text -------------------------------------------------------------------------------------------------------


def lines_of(entry: str, rows: Sequence[Row], tuned: Tuned, sizes: Mapping[str, int]) -> Iterator[str]:
    """The table, and the settings."""
    width = max(len("data set"), *(len(row.label[:44]) for row in rows))
    yield f"{entry}: {'data set':<{width}}  {'before':>9}  {'after':>9}  {'best':>9}  {'':>6}  version"
    for row in rows:
        gain = f"{row.before / row.after:.2f}×" if 0 < row.after < FAILS and row.before < FAILS else ""
        gain = gain if row.is_clear or not gain else "same"
        times = "  ".join(f"{seconds_text(seconds):>9}" for seconds in (row.before, row.after, row.best))
        yield f"{'':{len(entry)}}  {row.label[:44]:<{width}}  {times}  {gain:>6}  {row.version}"
    for name, value in sorted({**tuned.solution.thresholds, **sizes}.items()):
        yield f"  {name}={value}"


def remarks(problem: Problem, rows: Sequence[Row], tuned: Tuned, timed: Sequence[Timed]) -> Iterator[str]:
    """What should be known of the result."""
    if not tuned.solution.proved:
        yield "the thresholds were improved one by one: they are not proved to be the best"
    if tuned.indifferent:
        listed = ", ".join(f"`{name}`" for name in tuned.indifferent)
        yield f"no matter: with any value of {listed} these data sets take as long; defaults are kept"
    noises = [noise_of(untuned_samples(timed, case)) for case in range(len(rows))]
    for name, labels in non_monotone(problem, tuned, noises).items():
        yield f"not monotone: `{name}` is better taken for {labels}, and better refused at more parallelism"
    for case, row in enumerate(rows):
        ours, best = seconds_of(tuned.cases[case], tuned.solution.thresholds), tuned.best[case]
        if ours > best * (1 + noises[case]) + GRAIN:
            yield f"not separable: `{row.label}` alone would take {seconds_text(best)} with other thresholds"
        if is_clear(row.predicted, row.low, row.high, noises[case]):
            yield (
                f"not additive: `{row.label}` was to take {seconds_text(row.predicted)}, and takes "
                f"{seconds_text(row.after)} ({seconds_text(row.low)} to {seconds_text(row.high)})"
            )
    for one in timed:
        if one.record.status is Status.FAILED:
            taken = ", ".join(guard for guard, side in one.request.version.forced.items() if side) or "full"
            yield f"failed: {problem.labels[one.request.case]}, {taken}: {one.record.reason}"


def non_monotone(problem: Problem, tuned: Tuned, noises: Sequence[float]) -> dict[str, str]:
    """Guards that some data sets want taken while others with more parallelism want them refused, and these."""
    wishes: dict[str, list[tuple[int, bool, str]]] = {}
    for case, side in enumerate(tuned.cases):
        for guard in side.guards:
            first, second = _least(guard.then), _least(guard.orelse)
            if (
                len(guard.thresholds) == 1
                and guard.pars[0] >= 0
                and abs(first - second) > noises[case] * tuned.best[case]
            ):
                wishes.setdefault(guard.thresholds[0], []).append((guard.pars[0], first < second, problem.labels[case]))
    found: dict[str, str] = {}
    for name, wanted in wishes.items():
        refused = max((par for par, taken, _ in wanted if not taken), default=-1)
        labels = dict.fromkeys(f"`{label}`" for par, taken, label in wanted if taken and par < refused)
        if labels:
            found[name] = ", ".join(labels)
    return found


def is_slower(rows: Sequence[Row]) -> bool:
    """Whether tuning makes the program slower on the whole, by the mean over data sets."""
    ratios = [row.low / row.before for row in rows if row.before < FAILS]
    return bool(ratios) and sum(ratios) / len(ratios) > NOISE


def _least(side: Side) -> float:
    """The time of a side whose guards all go the better way."""
    return side.seconds + sum(min(_least(guard.then), _least(guard.orelse)) for guard in side.guards)


def counted(timed: Sequence[Timed], tried: int, bound: int) -> str:
    """How many runs it took, and may take: one that was stopped may hide a version behind it, which takes one more."""
    count = {phase: sum(t.request.phase is phase for t in timed) for phase in Phase}
    stopped = sum(t.request.phase is Phase.VERSION and t.record.status is Status.STOPPED for t in timed)
    more = f", and one more for each of {stopped} that were stopped" if stopped else ""
    text = f"{count[Phase.VERSION]} timed runs of versions (at most {bound}{more})"
    if tried:
        text += f", {tried} trials of sizes"
    return f"{text}, {count[Phase.CONFIRM]} to confirm"
