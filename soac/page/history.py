"""What `soac autotune` has tried for an entry: the timed runs that are stored beside the program, in their order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna

from ..autotune.sizes import timed_sizes
from ..autotune.store import TRIALS, Phase, Timed, open_storage, storing, timed_of
from ..autotune.tuning import working_path
from ..ir.version_tree import Sides, Site
from ..reports import svg
from ..tuning.charts import fixed_versions

ORDER = (Phase.VERSION, Phase.SIZES, Phase.CONFIRM)
MOST = 400
"""Runs that are shown, the first ones."""


def history_of(
    path: Path, entry: str, device: str, labels: Sequence[str], sites: Sequence[Site]
) -> dict[str, Any] | None:
    """The latest study of an entry as JSON data; None where there is none. `labels` of its data sets."""
    file = working_path(path.resolve(), ".tuning.db")
    if not file.exists():
        return None
    with storing():
        storage = open_storage(f"sqlite:///{file}")
        start, end = f"{path.resolve().name} {entry} {device} ", f" {TRIALS}"
        found = [
            one
            for one in optuna.get_all_study_summaries(storage, include_best_trial=False)
            if one.study_name.startswith(start) and one.study_name.endswith(end) and one.datetime_start is not None
        ]
        if not found:
            return None
        latest = max(found, key=lambda one: (one.datetime_start is not None, one.datetime_start))
        trials = optuna.load_study(study_name=latest.study_name, storage=storage).get_trials(deepcopy=False)
    timed = sorted((*timed_of(trials), *timed_sizes(trials)), key=lambda one: ORDER.index(one.request.phase))
    named = dict(fixed_versions(sites)) if sites else {}
    runs = [_run(one, labels, named) for one in timed[:MOST]]
    return {"runs": runs, "more": max(0, len(timed) - MOST), "chart": _chart(entry, timed)}


def _run(one: Timed, labels: Sequence[str], named: Mapping[str, Sides]) -> dict[str, Any]:
    request, record = one.request, one.record
    forced = dict(request.version.forced)
    name = next((name for name, sides in named.items() if dict(sides) == forced), None)
    sides = ", ".join(f"{threshold} {'yes' if side else 'no'}" for threshold, side in forced.items())
    settings = ", ".join(f"{key}={value}" for key, value in request.version.settings.items())
    case = labels[request.case] if request.case < len(labels) else f"#{request.case}"
    return {
        "phase": request.phase.value,
        "data": case,
        "version": ", ".join(text for text in (name or sides, settings) if text) or "untuned",
        "status": record.status.value,
        "seconds": record.seconds if math.isfinite(record.seconds) else None,
    }


def _chart(entry: str, timed: Sequence[Timed]) -> str | None:
    """The least time so far of each data set over its least time at the end, by runs."""
    least: dict[int, float] = {}
    for one in timed:
        least[one.request.case] = min(least.get(one.request.case, math.inf), one.record.seconds)
    points: dict[int, list[tuple[float, float]]] = {}
    best: dict[int, float] = {}
    for number, one in enumerate(timed, start=1):
        case = one.request.case
        best[case] = min(best.get(case, math.inf), one.record.seconds)
        if math.isfinite(best[case]):
            points.setdefault(case, []).append((float(number), best[case] / least[case]))
    means = _means(points, len(timed))
    if len(means) < 2:
        return None
    step = max(1, len(timed) // 8)
    ticks = tuple((float(k), str(k)) for k in range(1, len(timed) + 1, step))
    curve = svg.Curve("mean of data sets", means, True)
    return svg.chart(
        svg.Chart(f"{entry}: the search", "timed runs", "best so far over best", (curve,), ticks, svg.ratio_label)
    )


def _means(points: Mapping[int, Sequence[tuple[float, float]]], count: int) -> tuple[tuple[float, float], ...]:
    """The mean over the data sets that were timed so far, after each run."""
    found: list[tuple[float, float]] = []
    for number in range(1, count + 1):
        now = [max((x, y) for x, y in own if x <= number)[1] for own in points.values() if own[0][0] <= number]
        if now:
            found.append((float(number), sum(now) / len(now)))
    return tuple(found)
