"""Tables of a run: a line for each program, means, and the time to the first result."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from soac.reports.timing import geometric_mean

from .cases import Table
from .suite import LIBRARIES

LOW = 0.8  # a ratio below which a program is named
HEAD = "| program | preset | soac | NumPy | Numba | JAX | best peer / soac |\n|---|---|---:|---:|---:|---:|---:|"
FIRSTS = ("soac", "numba", "jax")
FIRST = "| program | soac | Numba | JAX |\n|---|---:|---:|---:|"

Row = Mapping[str, Any]


def line(row: Row) -> str:
    """Medians in milliseconds, the best peer in bold."""
    times, best = row["median_ms"], best_peer(row)
    texts = [f"{times[who]:.3g}" if who in times else "–" for who in ("soac", *LIBRARIES)]
    texts = [f"**{text}**" if who == best else text for who, text in zip(("soac", *LIBRARIES), texts)]
    faults = "".join(f" *{fault}*" for fault in row["faults"])
    return f"| {row['program']} | {row['preset']}{faults} | {' | '.join(texts)} | {ratio(row):.2f} |"


def best_peer(row: Row) -> str:
    """The library with the least median, `soac` where there is no peer."""
    times = row["median_ms"]
    return min((who for who in times if who != "soac"), key=times.__getitem__, default="soac")


def ratio(row: Row) -> float:
    """The time of the best peer over soac's."""
    return row["median_ms"][best_peer(row)] / row["median_ms"]["soac"]


def page(rows: Sequence[Row]) -> str:
    """All tables in Markdown, the worst first."""
    return "\n\n".join(parts(rows))


def parts(rows: Sequence[Row]) -> Iterator[str]:
    for table in Table:
        mine = sorted((row for row in rows if row["table"] == table.value), key=ratio)
        if mine:
            ratios = [ratio(row) for row in mine]
            low = ", ".join(f"{row['program']} {row['preset']}" for row in mine if ratio(row) < LOW) or "none"
            yield (
                f"{table.value}: {len(mine)} rows, best peer / soac: geometric mean {geometric_mean(ratios):.2f},"
                f" median {statistics.median(ratios):.2f}; below {LOW}: {low}"
            )
            yield "\n".join([HEAD, *map(line, mine)])
    if rows:
        yield first_results(rows)


def first_results(rows: Sequence[Row]) -> str:
    """Seconds to the first result with an empty cache; of Numba's variants the least."""
    found = sorted(((row, firsts(row)) for row in rows), key=lambda pair: -pair[1]["soac"])
    lines = [f"| {row['program']} {row['preset']} | {first_line(seconds)} |" for row, seconds in found]
    return "\n".join(["Seconds to the first result, compiling included:", "", FIRST, *lines])


def first_line(seconds: Mapping[str, float]) -> str:
    return " | ".join(f"{seconds[who]:.2f}" if who in seconds else "–" for who in FIRSTS)


def firsts(row: Row) -> dict[str, float]:
    """By library, the least of its variants."""
    found: dict[str, float] = {}
    for variant, seconds in row["first_s"].items():
        library = variant.partition("_")[0]
        found[library] = min(seconds, found.get(library, seconds))
    return found
