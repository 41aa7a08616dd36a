"""One look at a machine: which default thresholds serve typical nests of many shapes best.

A few small nests, with the same amount of work in many shapes, are timed on all their versions; one threshold for each
kind of guard is then solved for all of them together. It takes some seconds, and is done when it is asked for
(`soac devices --calibrate`), for results of floats may depend on the version that runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..api import Program, compile
from ..autotune.measure import Record, Version, measure
from ..autotune.model import Side, guards_taken
from ..autotune.observe import side_of
from ..autotune.search import Problem, Search, pieces_of
from ..autotune.solve import descend, weights_of
from ..autotune.store import Facts, Planned, Request, open_study
from ..ir.thresholds import Threshold
from ..ir.version_tree import sites
from ..kernels.devices.calibration import store
from ..kernels.devices.cpu.executable import CpuDevice
from ..kernels.host_ir.timing_events import Event

WORK = 1 << 18
"""Elements of an input."""

ROWS = tuple(1 << k for k in range(0, 17, 2))

SUMS = "def main [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> reduce (+) 0 (map (* 2) xs)) xss"
SCANS = """
def main [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\\xs -> let ys = scan (+) 0 xs let s = f32.maximum ys in map2 (\\y i -> y / s + xs[m - 1 - i]) ys (iota m)) xss
"""
PRODUCTS = """
def main [n][p][m] (xss: [n][p]f32) (yss: [p][m]f32): [n][m]f32 =
  map (\\xs -> map (\\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss
"""


@dataclass(frozen=True, slots=True)
class Nest:
    """A program and its arguments for a number of rows."""

    text: str
    arguments: Callable[[int], list[Any]]


def matrix(rows: int, columns: int) -> np.ndarray:
    return np.linspace(0.5, 1.5, rows * columns, dtype=np.float32).reshape(rows, columns)


NESTS = (
    Nest(SUMS, lambda n: [matrix(n, WORK // n)]),
    Nest(SCANS, lambda n: [matrix(n, WORK // n)]),
    Nest(PRODUCTS, lambda n: [matrix(n, max(1, WORK // 16 // n)), matrix(max(1, WORK // 16 // n), 16)]),
)


@dataclass(frozen=True, slots=True)
class Timer:
    """Runs a nest on its shapes; results are not looked at, which is for tests."""

    program: Program
    shapes: Sequence[list[Any]]

    def run(self, case: int, version: Version, log: list[Event]) -> list[Any]:
        return self.program.timed("main", self.shapes[case], version.settings, version.forced, None, log)

    def prepare(self, case: int, version: Version) -> Callable[[], object]:
        call, args = self.program.prepare("main", version.settings, version.forced), self.shapes[case]
        return lambda: call(args)

    def check(self, case: int, version: Version, results: Any) -> None:
        pass

    def __call__(self, request: Request) -> Record:
        return measure(self, request.case, request.version, 5, request.limit)


def calibrate() -> Mapping[str, int]:
    """Measures this machine's processor, and keeps the default thresholds of the kinds of guards that mattered."""
    cases = [case for nest in NESTS for case in costs_of(nest)]
    thresholds = descend(cases, weights_of(cases)).thresholds
    reached = {t for case in cases for guard, _ in guards_taken(case, thresholds) for t in guard.thresholds}
    found = {kind: value for kind, value in thresholds.items() if kind in reached}
    store(CpuDevice.calibration, found)
    return found


def costs_of(nest: Nest) -> list[Side]:
    """What each shape of a nest costs, with the kinds of thresholds for their names."""
    program = compile(nest.text)
    timer = Timer(program, [nest.arguments(rows) for rows in ROWS])
    branches = tuple(site.tree for site in sites(program.compiled.flat) if site.entry == "main")
    problem = Problem(branches, tuple(map(str, ROWS)), {})
    sampler = Planned(1)
    study = open_study(None, "calibration", Facts("", "", ""), sampler)
    search = Search(study, sampler, timer, math.inf, lambda progress: None)
    search.see_versions(problem)
    return [by_kind(side_of(pieces_of(search.timed(), problem, case))) for case in range(len(ROWS))]


def by_kind(side: Side) -> Side:
    """Thresholds of a kind are one threshold."""
    guards = (
        replace(
            one,
            thresholds=tuple(Threshold.of(name).kind for name in one.thresholds),
            then=by_kind(one.then),
            orelse=by_kind(one.orelse),
        )
        for one in side.guards
    )
    return Side(side.seconds, tuple(guards))
