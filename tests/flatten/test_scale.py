"""Deep nests compile in time, and their versions stay few: linear in the nests, not exponential."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

import soac
from soac.ir.machine import CUDA, Mode
from soac.ir.version_tree import sites
from soac.pipeline import compile_prog

DEPTH, SIBLINGS = 6, 8
SECONDS = 10.0
"""Of processor time; 3 on a core of its own. An exponential number of versions takes hours."""
LEVELS_PER_NEST = 3
"""The versions that a level of a nest may add: one per level of the machine."""


def imperfect(depth: int, siblings: int) -> str:
    """Nests of maps and sums of what they give; innermost, operations side by side that cannot be merged."""
    dims = "".join(f"[n{k}]" for k in range(depth))
    return f"entry main {dims} (x0: {dims}i32) = {_level(1, depth, siblings)}"


def _level(d: int, depth: int, siblings: int) -> str:
    if d == depth:
        lets = " ".join(
            f"let s{k} = reduce (+) {k} (map (* {k + 1}) (scan i32.max {k} x{d - 1}))" for k in range(siblings)
        )
        return f"{lets} in " + " + ".join(f"s{k}" for k in range(siblings))
    return f"let r{d} = map (\\x{d} -> {_level(d + 1, depth, siblings)}) x{d - 1} in reduce (+) {d} r{d}"


def side_by_side(depth: int, siblings: int) -> str:
    """Operations of full depth side by side."""
    dims = "".join(f"[n{k}]" for k in range(depth))
    lets = " ".join(f"let r{k} = {_sums(depth, k)}" for k in range(siblings))
    return f"entry main {dims} (x: {dims}i32) = {lets} in ({', '.join(f'r{k}' for k in range(siblings))})"


def _sums(depth: int, k: int) -> str:
    """A scan of every row, and the sums of sums of it."""
    exp = f"reduce (+) {k} (scan i32.max {k} y{depth - 1})"
    for d in range(depth - 2, -1, -1):
        exp = f"reduce (+) {k} (map (\\y{d + 1} -> {exp}) {f'y{d}' if d else 'x'})"
    return exp


def seconds_to_compile(source: str) -> float:
    start = time.process_time()
    soac.compile(source)
    return time.process_time() - start


@pytest.mark.parametrize("make", [imperfect, side_by_side], ids=lambda make: make.__name__)
def test_deep_nests_compile_in_time(make: Callable[[int, int], str]) -> None:
    """A second try, of another program since the first is kept: processor time grows where others use the core too."""
    source = make(DEPTH, SIBLINGS)
    other = re.sub(r"(reduce \(\+\)|scan i32.max) (\d+)", lambda m: f"{m[1]} {int(m[2]) + 100}", source)
    assert any(seconds_to_compile(text) < SECONDS for text in (source, other))


@pytest.mark.parametrize("make", [imperfect, side_by_side], ids=lambda make: make.__name__)
def test_versions_are_linear_in_the_nests(make: Callable[[int, int], str]) -> None:
    compiled = compile_prog(make(DEPTH, SIBLINGS), "deep.soac", Mode.INCREMENTAL, CUDA)
    assert sum(len(site.versions) for site in sites(compiled.flat)) <= CUDA.max_versions
    assert len(compiled.host.kernels) <= LEVELS_PER_NEST * DEPTH * SIBLINGS
