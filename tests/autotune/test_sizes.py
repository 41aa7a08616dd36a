"""Sizes: which leaves are searched, what is found, and what is told of it."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import soac
from soac.autotune.measure import Record
from soac.autotune.model import Met, Side
from soac.autotune.observe import Fate, Piece
from soac.autotune.search import Search, Tuned
from soac.autotune.sizes import (
    Block,
    count_tried,
    eligible,
    least_through,
    search_sizes,
    size_dimension,
    thread_dimension,
    tried,
)
from soac.autotune.solve import Solution, solve
from soac.autotune.store import Facts, Planned, Request, open_study
from soac.commands.options import Settings
from soac.flatten.tree import Size, sizes_of
from soac.frontend.compile import Reach
from soac.ir.errors import TuningError
from soac.session import open_program

FACTS = Facts("program", "made up", "1")
TILE, CHUNK = size_dimension("main.tile_0", 32), size_dimension("CHUNK", 10)


@dataclass(slots=True)
class Tiled:
    """Each data set takes the longer, the further the tile is from 64 and the chunk from 5."""

    noise: float = 0.0
    requests: list[Request] = field(default_factory=list)
    source: random.Random = field(default_factory=lambda: random.Random(3))

    def __call__(self, request: Request) -> Record:
        self.requests.append(request)
        settings = request.version.settings
        off = abs(math.log2(settings.get("main.tile_0", 32) / 64)) + abs(math.log2(settings.get("CHUNK", 10) / 5))
        seconds = (1 + off) * (1 + self.noise * self.source.random())
        return Record(Fate.ENDED, (seconds,), Piece(seconds, 1, Fate.ENDED, {}), (), None, "")


def tuned_of(*cases: Side) -> Tuned:
    best = tuple(solve([case], [1.0]).cost.seconds for case in cases)
    return Tuned(cases, Solution(solve(cases, [1.0] * len(cases)).cost, {"t": 8}, True), best, best, best)


def searched(bench: Tiled, tuned: Tuned, *blocks: Block, most: int = 40) -> tuple[Search, dict[str, int]]:
    sampler = Planned(1)
    search = Search(open_study(None, "sizes", FACTS, sampler), sampler, bench, math.inf, lambda progress: None)
    return search, search_sizes(search, tuned, blocks, most)


def met(then: float, orelse: float, par: int = 16) -> Side:
    return Side(0.0, (Met(("t",), (par,), Side(then, ()), Side(orelse, ())),))


def test_values_are_around_the_default() -> None:
    assert TILE.values == (2, 4, 8, 16, 32, 64, 128, 256, 512)
    assert TILE.values[TILE.default] == 32
    assert size_dimension("x", 1).values == (1, 2, 4, 8, 16)
    threads = thread_dimension("main.threads", 6)
    assert (threads.values, threads.values[threads.default]) == ((1, 2, 4, 6), 6)


def test_only_leaves_within_twice_the_best_are_searched() -> None:
    tuned = tuned_of(met(3.0, 2.0), met(5.0, 1.0), met(1.0, 9.0), met(1.0, 1.0, par=-4))
    assert eligible(Block((TILE,), {"t": True}), tuned) == [0, 2]
    assert eligible(Block((TILE,), {"t": False}), tuned) == [0, 1, 3]
    assert eligible(Block((CHUNK,), {}), tuned) == [0, 1, 2, 3]
    assert least_through(tuned.cases[0], {"t": True}) == 3.0


def test_finds_sizes_behind_a_guard_and_of_the_entry() -> None:
    bench = Tiled()
    search, found = searched(
        bench, tuned_of(met(1.0, 9.0), met(1.0, 1.5)), Block((TILE,), {"t": True}), Block((CHUNK,), {})
    )
    assert found == {"main.tile_0": 64, "CHUNK": 5}
    first, *_ = bench.requests
    assert first.version.settings == {"t": 8, "main.tile_0": 32}  # the defaults come first
    assert first.version.forced == {"t": True}
    whole = [request for request in bench.requests if "CHUNK" in request.version.settings]
    assert all(request.version.settings["main.tile_0"] == 64 for request in whole)
    assert count_tried(search.study) <= len(TILE.values) + len(CHUNK.values)


def test_slow_trials_are_pruned() -> None:
    bench = Tiled()
    cases = tuple(met(1.0, 9.0) for _ in range(4))
    search, _ = searched(bench, tuned_of(*cases), Block((TILE,), {"t": True}))
    tries = tried(search.study.get_trials(deepcopy=False), 0)
    assert {len(one.steps) for one in tries if not one.ended} == {1}
    assert len(bench.requests) < len(cases) * len(tries)


def test_noise_alone_changes_no_size() -> None:
    level = Tiled(noise=0.02)
    _, found = searched(level, tuned_of(met(1.0, 9.0)), Block((thread_dimension("main.threads", 2),), {}))
    assert found == {}


def test_a_search_of_sizes_goes_on_where_it_was() -> None:
    bench = Tiled()
    tuned, block = tuned_of(met(1.0, 9.0)), Block((TILE, CHUNK), {"t": True})
    search, found = searched(bench, tuned, block, most=9)
    assert search_sizes(search, tuned, [block], 9) == found
    whole = len(bench.requests)
    other, _ = searched(Tiled(), tuned, block, most=4)
    assert search_sizes(other, tuned, [block], 9) == found
    assert whole == 9


# ---- parameters of programs ---------------------------------------------------------------------------------------

CHUNKED = """
#[noinline]
def part (n: i64): i64 = i64.min n (#[param(CHUNK)] 64)

def main [n] (xs: [n]i32): i32 =
  let c = part n
  let k = n / c
  let sums = map i32.sum (unflatten (take (k * c) xs :> [k * c]i32))
  in i32.sum sums + i32.sum (drop (k * c) xs)

entry half (n: i32): i32 = n / #[param(HALF)] 2i32
entry odd (n: i32): i32 = #[param(ODD)] n
"""


def test_a_parameter_of_the_program_is_a_size() -> None:
    program = soac.compile(CHUNKED)
    flat = program.compiled.flat
    assert sizes_of(flat, "main") == (Size("CHUNK", 64, ()),)
    assert [size.name for size in sizes_of(flat, "half")] == ["HALF"]
    assert sizes_of(flat, "odd") == ()
    xs = np.arange(1000, dtype=np.int32)
    for chunk in (1, 7, 64, 5000):
        assert program.call("main", [xs], thresholds={"CHUNK": chunk}) == [xs.sum()]
    assert program.call("half", [np.int32(12)]) == [6]
    assert program.call("half", [np.int32(12)], thresholds={"HALF": 4}) == [3]


def test_an_unknown_parameter_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.soac"
    path.write_text(CHUNKED)
    (tmp_path / "a.soac.tuning").write_text("CHUNKS=3\n")
    with pytest.raises(TuningError, match="CHUNKS"):
        open_program(path, Settings("cpu", None, None, True, (), (), Reach.PROJECT))
