"""What a run of the suite says: tables, means and pictures."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from soac.reports.svg import Bar, bars, write
from soac.reports.timing import geometric_mean

from .pages import put_between
from .peers import CPU, MORE

BEGIN, END = "<!-- table -->", "<!-- end of table -->"
HEAD = (
    "| program | data set | soac | NumPy | Numba | JAX | PyTorch | compiled | SciPy | best peer / soac | of the bound"
    " | versions | best | regret | untuned / tuned |"
    "\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|"
)

Row = dict[str, Any]


def markdown(rows: Sequence[Row]) -> str:
    """A line for each row: medians and, in parentheses, minima in milliseconds."""
    return "\n".join(map(_line, rows))


def _line(row: Row) -> str:
    name = row["program"] if row["entry"] == "main" else f"{row['program']} ({row['entry']})"
    times = " | ".join(_times(row, who) for who in ("soac", *CPU, *MORE))
    ratio = f"{row['ratio_to_best_peer']:.2f} ({row['ratio_by_least']:.2f})" if row["best_peer"] else "–"
    best = row["best_version"] if row["versions"] > 1 else ""
    tuned = f"{row['regret']:.2f} | {row['untuned_over_tuned']:.2f}"
    note = "".join(f" *{fault}*" for fault in row["faults"])
    return (
        f"| {name} | {row['dataset']}{note} | {times} | {ratio} | {row['fraction_of_bound']:.2f}"
        f" | {row['versions']} | {best} | {tuned} |"
    )


def _times(row: Row, who: str) -> str:
    if who not in row["median_ms"]:
        return "–"
    text = f"{row['median_ms'][who]:.3g} ({row['least_ms'][who]:.3g})"
    return f"**{text}**" if who == row["best_peer"] else text


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """The means over all rows; matrix products count against NumPy only."""
    ratios = {f"{row['program']} {row['entry']} {row['dataset']}": _counted_ratio(row) for row in rows}
    counted = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    if not counted:
        return {}
    regrets = [row["regret"] for row in rows if row["versions"] > 1]
    untuned = [row["untuned_over_tuned"] for row in rows if row["versions"] > 1]
    values = sorted(counted.values())
    return {
        "pairs": len(values),
        "ratio_geometric_mean": round(geometric_mean(values), 3),
        "ratio_median": round(statistics.median(values), 3),
        "share_at_least_0.9": round(sum(value >= 0.9 for value in values) / len(values), 3),
        "under_0.5": [name for name, value in counted.items() if value < 0.5],
        "regret_geometric_mean": round(geometric_mean(regrets), 3) if regrets else None,
        "regret_worst": round(max(regrets), 3) if regrets else None,
        "untuned_over_tuned_geometric_mean": round(geometric_mean(untuned), 3) if untuned else None,
        "one_version_wins": one_version_wins(rows),
    }


def _counted_ratio(row: Row) -> float | None:
    if row["program"] == "matmul":
        return row["median_ms"]["numpy"] / row["median_ms"]["soac"] if "numpy" in row["median_ms"] else None
    return row["ratio_to_best_peer"] if row["best_peer"] else None


def one_version_wins(rows: Sequence[Row]) -> list[str]:
    """Entry points with several versions of which one is the best on all their data sets."""
    winners: dict[str, set[str]] = {}
    for row in rows:
        if row["versions"] > 1:
            winners.setdefault(f"{row['program']} {row['entry']}", set()).add(row["best_version"])
    return [name for name, best in winners.items() if len(best) == 1]


def update_page(path: Path, found: dict[str, Any]) -> None:
    """Puts the table between the markers of the Markdown file."""
    put_between(path, BEGIN, END, page(found))


def page(found: dict[str, Any]) -> str:
    machine, limits, summary = found["machine"], found["limits"], found["summary"]
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    one_wins = ", ".join(summary["one_version_wins"]) or "none"
    return f"""\
{found["date"]}, {machine["cpu"]} ({machine["cores"]} cores), {machine["threads"]} thread(s), load {machine["load"][0]};
{libraries}. Limits in the same run: triad {limits["triad"]:.1f} GB/s, reading {limits["read"]:.1f} GB/s, sgemm
{limits["sgemm"]:.0f} GFLOP/s.

| of {summary["pairs"]} pairs | |
|---|---:|
| best peer / soac, geometric mean | **{summary["ratio_geometric_mean"]}** |
| best peer / soac, median | **{summary["ratio_median"]}** |
| share of the pairs at 0.9 or more | {summary["share_at_least_0.9"]:.0%} |
| pairs under 0.5 | {len(summary["under_0.5"])} |
| regret, geometric mean (worst) | {summary["regret_geometric_mean"]} ({summary["regret_worst"]}) |
| untuned / tuned, geometric mean | {summary["untuned_over_tuned_geometric_mean"]} |

One version wins on all data sets of: {one_wins}.

{HEAD}
{markdown(found["rows"])}"""


def pictures(found: dict[str, Any], path: Path) -> None:
    """The ratio to the best peer of every row, by program; the interval is that of soac's median."""
    groups: dict[str, list[Bar]] = {}
    for row in found["rows"]:
        if row["best_peer"]:
            peer = row["median_ms"][row["best_peer"]]
            low, high = row["interval_ms"]["soac"]
            label = row["dataset"] if row["entry"] == "main" else f"{row['entry']} {row['dataset']}"
            bar = Bar(label, row["ratio_to_best_peer"], peer / high, peer / low)
            groups.setdefault(row["program"], []).append(bar)
    if groups:
        write(path, bars(groups, "time of the best peer over soac's"))
