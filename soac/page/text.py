"""The report for a terminal: what the page shows but for the programs themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..reports.tables import table
from ..reports.timing import seconds_text

Data = Mapping[str, Any]

MOST_ROWS, INDEX = 12, 56
"""Runs of a search that are shown; columns of an access, which is cut where it is longer."""


def report_lines(report: Data) -> Iterator[str]:
    """The data sets and searches of the entries, then the kernels."""
    for entry in report["entries"]:
        yield from _entry_lines(entry)
    for kernel in report["kernels"]:
        yield ""
        yield from kernel_lines(kernel)
    if report["notes"]:
        yield ""
        yield from (f"note: {note}" for note in report["notes"])


# ---- entries ------------------------------------------------------------------------------------------------------


def _entry_lines(entry: Data) -> Iterator[str]:
    sets, tuning = entry["data"], entry["tuning"]
    if sets:
        yield f"\nentry {entry['name']}: data sets"
        names = list(dict.fromkeys(name for one in sets for name in one["times"]))
        rows = [["", "takes", *names]]
        for one in sets:
            times = [seconds_text(one["times"][name]) if name in one["times"] else "-" for name in names]
            rows.append([one["label"][:44], _taken(one) or "-", *times])
        yield from table(rows)
        yield from (f"    {one['label'][:44]}: {one['why']}" for one in sets if one["why"])
    if tuning is not None:
        yield f"\nentry {entry['name']}: {len(tuning['runs']) + tuning['more']} timed runs of `soac autotune`"
        rows = [["run", "data set", "version", "time"]]
        for number, run in enumerate(tuning["runs"][:MOST_ROWS], start=1):
            time = run["status"] if run["seconds"] is None else seconds_text(run["seconds"])
            rows.append([f"{number} {run['phase']}", run["data"][:30], run["version"][:40], time])
        yield from table(rows)
        if (more := len(tuning["runs"]) + tuning["more"] - MOST_ROWS) > 0:
            yield f"    and {more} more"


def _taken(one: Data) -> str:
    """The versions that a data set takes."""
    return ", ".join("/".join(versions) for versions in one["taken"].values() if versions)


# ---- kernels ------------------------------------------------------------------------------------------------------


def kernel_lines(kernel: Data) -> Iterator[str]:
    under = f"  {', '.join(kernel['under'])}" if kernel["under"] else ""
    yield f"kernel {kernel['name']} [{kernel['blocks']} blocks]{under}"
    for where in ("space", "time"):
        axes = [f"{a['name']} ({a['extent']} {a['unit']})" for a in kernel["axes"] if a["where"] == where]
        yield f"  {where + ':':<6} {', '.join(axes) or '-'}"
    yield from (f"  {binding}" for binding in kernel["bindings"])
    yield from _access_lines(kernel)
    yield from _work_lines(kernel)
    if "resources" in kernel:
        taken = kernel["resources"]
        yield f"  {taken['registers']} registers, {taken['shared']} bytes of shared memory, {taken['spills']} spilled"
    for segop in kernel["schedules"]:
        yield f"  {segop['binding']}: {segop['segop']}^{segop['level']} ({', '.join(segop['space'])})"
        rows = [["schedule", "cost", "taken"]]
        for row in segop["schedules"]:
            cost = "-" if row["cost"] is None else f"{row['cost']:.3g}"
            rows.append(["  " * row["nesting"] + row["name"], cost, row["words"]])
        yield from table(rows, sides="<><")


def _access_lines(kernel: Data) -> Iterator[str]:
    """What each access costs; shared memory in turns of its banks."""
    rows = [["access", "requests", "lanes", "units", "least", "each"]]
    for one in kernel["accesses"]:
        arrow = "→ " if one["writes"] else ""
        what = f"{arrow}{one['array']}[{one['index']}]"
        what = what if len(what) <= INDEX else what[: INDEX - 1] + "…"
        if not one.get("requests"):
            rows.append([what, "-", "-", "-", "-", ""])
            continue
        lanes = f"{one['lanes'] / one['requests']:.1f}"
        unit = "turns" if one["space"] == "shared" else "sectors"
        each = f"{one['units'] / one['requests']:.2f} {unit}"
        rows.append([what, str(one["requests"]), lanes, str(one["units"]), str(one.get("least", "-")), each])
    if len(rows) > 1:
        yield from table(rows, "  ")


def _work_lines(kernel: Data) -> Iterator[str]:
    """Statements by threads, warps and blocks, idle ones counted, as far as the report has them."""
    traced = kernel["traced"]
    if traced is None:
        yield "  not traced: accesses are predicted for large sizes"
        return
    each = traced["work"]["each"]
    yield (
        f"  traced on {traced['of']}: {traced['launches']} launches, {traced['blocks']} blocks of {kernel['threads']} "
        f"threads, {traced['fences']} fences, {traced['shared']} bytes shared, balance {traced['work']['balance']:.2f}"
    )
    rows = [["work", "count", "idle", "least", "mean", "most"]]
    for name, found in units_of_work(each, kernel["warp"]).items():
        if found:
            numbers = (len(found), found.count(0), min(found), round(sum(found) / len(found)), max(found))
            rows.append([name, *map(str, numbers)])
    yield from table(rows, "  ")


def units_of_work(each: Sequence[Sequence[int]], warp: int) -> dict[str, list[int]]:
    """Of each thread its statements; a warp takes as long as its busiest thread, and a block as its busiest warp."""
    warps = [max(block[k : k + warp]) for block in each for k in range(0, len(block), warp)]
    return {
        "threads": [work for block in each for work in block],
        "warps": warps,
        "blocks": [max(block, default=0) for block in each],
    }
