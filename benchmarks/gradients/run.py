"""Runs the programs, compares what they give with JAX and PyTorch, and prints how long derivatives take."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import soac
from soac.reports.timing import Effort, race

from .cases import CASES, Case
from .peers import peers_of

EFFORT = Effort(rounds=7, seconds=1.0, spread=0.1, most_rounds=100, most_seconds=10.0)


@dataclass(frozen=True, slots=True)
class Row:
    """A program: medians of milliseconds by who ran and what (`soac main`, `jax derivative`, ..)."""

    program: str
    is_jacobian: bool
    ms: Mapping[str, float]
    faults: Sequence[str]

    @property
    def ratio(self) -> float:
        """The cost of soac's derivative over that of the function; of a Jacobian over that of the one by hand."""
        return self.ms["soac derivative"] / self.ms["soac by_hand" if self.is_jacobian else "soac main"]

    @property
    def gain(self) -> float | None:
        """The time of the best peer over soac's; None without peers."""
        peers = [ms for who, ms in self.ms.items() if who.endswith(" derivative") and not who.startswith("soac")]
        return min(peers) / self.ms["soac derivative"] if peers else None


def row_of(case: Case, size: float, threads: int, effort: Effort) -> Row:
    args = case.arguments(size)
    program = soac.load(case.path)
    runs: dict[str, Callable[[], Any]] = {}
    faults: list[str] = []
    for entry in program.entries:
        prepared = program.prepare(entry, threads=threads)
        runs[f"soac {entry}"] = lambda prepared=prepared: prepared(args)
    wanted = runs["soac derivative"]()
    if "soac by_hand" in runs:
        faults += different("by hand", case, runs["soac by_hand"](), wanted)
    for peer in peers_of(case, args, threads):
        faults += different(peer.library, case, peer.fetch(peer.derivative()), wanted)
        runs |= {f"{peer.library} main": peer.main, f"{peer.library} derivative": peer.derivative}
    times = race(runs, effort)
    return Row(case.name, case.is_jacobian, {who: seen.median * 1e3 for who, seen in times.items()}, tuple(faults))


def different(who: str, case: Case, found: Sequence[Any], wanted: Sequence[Any]) -> list[str]:
    """What differs by more than rounding, relative to the largest element."""
    said = [] if len(found) == len(wanted) else [f"{who}: {len(found)} results instead of {len(wanted)}"]
    for k, (one, other) in enumerate(zip(found, wanted)):
        apart = float(np.abs(one - other).max() / np.abs(other).max()) if np.shape(one) == np.shape(other) else math.nan
        if not apart <= case.tolerance:
            said.append(f"{who}: result {k} differs by {apart:.1e}")
    return said


def page(rows: Sequence[Row]) -> str:
    """The table, and what the rows have together."""
    lines = ["| program | who | function ms | derivative ms | ratio |", "|---|---|---|---|---|"]
    for row in rows:
        for who in dict.fromkeys(key.split()[0] for key in row.ms):
            main, derivative = row.ms[f"{who} main"], row.ms[f"{who} derivative"]
            lines.append(f"| {row.program} | {who} | {main:.3f} | {derivative:.3f} | {derivative / main:.1f} |")
        if "soac by_hand" in row.ms:
            hand = row.ms["soac by_hand"]
            lines.append(f"| {row.program} | by hand | | {hand:.3f} | {hand / row.ms['soac main']:.1f} |")
    scalars, jacobians = ([row.ratio for row in rows if row.is_jacobian == which] for which in (False, True))
    gains = [row.gain for row in rows if row.gain is not None]
    lines.append("")
    if scalars:
        lines.append(f"derivative over function: geometric mean {mean(scalars):.1f}, worst {max(scalars):.1f}")
    if jacobians:
        lines.append(f"Jacobian over the one by hand: worst {max(jacobians):.1f}")
    if gains:
        lines.append(f"best of JAX and PyTorch over soac: geometric mean {mean(gains):.2f}, least {min(gains):.2f}")
    return "\n".join(lines + [f"{row.program}: {fault}" for row in rows for fault in row.faults])


def mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradients", description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"default: all of {', '.join(CASES)}")
    parser.add_argument("--size", type=float, default=1.0, help="of the arguments, between 0 and 1")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="where to write the rows")
    options = parser.parse_args()
    begin, rows = time.perf_counter(), []
    for name in options.programs or CASES:
        rows.append(row_of(CASES[name], options.size, options.threads, EFFORT))
        print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
        if options.json:
            options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    print(page(rows))
