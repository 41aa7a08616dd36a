"""Sizes: which versions are searched, what is found, and what is reported of it."""

from __future__ import annotations

import math
import os
import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import soac
from soac import devices
from soac.autotune.measure import OutOfBudget, Record
from soac.autotune.model import Guard, Side
from soac.autotune.observe import Piece, Status
from soac.autotune.search import Search, Tuned
from soac.autotune.sizes import (
    Block,
    Dimension,
    count_tried,
    eligible,
    least_through,
    search_sizes,
    size_dimension,
    thread_dimension,
    tried,
)
from soac.autotune.solve import Solution, solve
from soac.autotune.store import Facts, Planned, Request, open_beside, open_study
from soac.autotune.tuning import SettingError, clamped, read_tuning, require_possible, tuning_path, write_tuning
from soac.cli import run_cli
from soac.frontend.source.text import Reach
from soac.ir.version_tree import Size, sizes_of
from soac.kernels.devices.cpu.executable import Executable, Runner
from soac.kernels.devices.cpu.runtime.thread_pool import share
from soac.kernels.host_ir.launch_parameters import DEFAULTS, size_kind
from soac.session import Session, open_program
from soac.settings import Settings
from soac.tuning.runs import all_sizes, blocks_of
from tests.support.emulator.checks import driver_of
from tests.support.emulator.driver import emulated_gpu
from tests.support.emulator.emulate import COMPILER
from tests.support.killed_searches import Slow, start_child

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
        return Record(Status.ENDED, (seconds,), Piece(seconds, 1, Status.ENDED, {}), (), None, "")


def tuned_of(*cases: Side) -> Tuned:
    best = tuple(solve([case], [1.0]).cost.seconds for case in cases)
    return Tuned(cases, Solution(solve(cases, [1.0] * len(cases)).cost, {"t": 8}, True), best, best, best)


def searched(bench: Tiled, tuned: Tuned, *blocks: Block, most: int = 40) -> tuple[Search, dict[str, int]]:
    sampler = Planned(1)
    search = Search(open_study(None, "sizes", FACTS, sampler), sampler, bench, math.inf, lambda progress: None)
    found, is_whole = search_sizes(search, tuned, blocks, most)
    assert is_whole
    return search, found


def guard(then: float, orelse: float, par: int = 16) -> Side:
    return Side(0.0, (Guard(("t",), (par,), Side(then, ()), Side(orelse, ())),))


def test_values_are_around_the_default() -> None:
    assert TILE.values == (2, 4, 8, 16, 32, 64, 128, 256, 512)
    assert TILE.values[TILE.default] == 32
    assert size_dimension("x", 1).values == (1, 2, 4, 8, 16)
    threads = thread_dimension("main.threads", 6)
    assert (threads.values, threads.values[threads.default]) == ((1, 2, 4, 6), 6)


def test_only_leaves_within_twice_the_best_are_searched() -> None:
    tuned = tuned_of(guard(3.0, 2.0), guard(5.0, 1.0), guard(1.0, 9.0), guard(1.0, 1.0, par=-4))
    assert eligible(Block((TILE,), {"t": True}), tuned) == [0, 2]
    assert eligible(Block((TILE,), {"t": False}), tuned) == [0, 1, 3]
    assert eligible(Block((CHUNK,), {}), tuned) == [0, 1, 2, 3]
    assert least_through(tuned.cases[0], {"t": True}) == 3.0


def test_finds_sizes_behind_a_guard_and_of_the_entry() -> None:
    bench = Tiled()
    search, found = searched(
        bench, tuned_of(guard(1.0, 9.0), guard(1.0, 1.5)), Block((TILE,), {"t": True}), Block((CHUNK,), {})
    )
    assert found == {"main.tile_0": 64, "CHUNK": 5}
    first, *_ = bench.requests
    assert first.version.settings == {"t": 8, "main.tile_0": 32}  # the defaults come first
    assert first.version.forced == {"t": True}
    whole = [request for request in bench.requests if "CHUNK" in request.version.settings]
    assert all(request.version.settings["main.tile_0"] == 64 for request in whole)
    assert count_tried(search.study) == len(TILE.values) + len(CHUNK.values) + 4  # the best and the defaults once more


def test_slow_trials_are_pruned() -> None:
    bench = Tiled()
    cases = tuple(guard(1.0, 9.0) for _ in range(4))
    search, _ = searched(bench, tuned_of(*cases), Block((TILE,), {"t": True}))
    tries = tried(search.study.get_trials(deepcopy=False), 0)
    assert {len(one.steps) for one in tries if not one.ended} == {1}
    assert len(bench.requests) < len(cases) * len(tries)


def test_noise_alone_changes_no_size() -> None:
    level = Tiled(noise=0.02)
    _, found = searched(level, tuned_of(guard(1.0, 9.0)), Block((thread_dimension("main.threads", 2),), {}))
    assert found == {}


def test_what_was_lucky_once_is_tried_again() -> None:
    """The best of many is not better than the defaults where nothing but noise makes a difference."""
    wrong = 0
    for seed in range(20):
        noisy = Tiled(noise=0.08, source=random.Random(seed))
        search, found = searched(noisy, tuned_of(guard(1.0, 9.0)), Block((thread_dimension("main.threads", 64),), {}))
        assert count_tried(search.study) <= 7 + 4
        wrong += bool(found)
    assert wrong <= 4


def test_a_search_of_sizes_goes_on_where_it_was() -> None:
    bench = Tiled()
    tuned, block = tuned_of(guard(1.0, 9.0)), Block((TILE, CHUNK), {"t": True})
    search, found = searched(bench, tuned, block, most=9)
    assert search_sizes(search, tuned, [block], 9) == (found, True)
    whole = len(bench.requests)
    other, _ = searched(Tiled(), tuned, block, most=4)
    assert search_sizes(other, tuned, [block], 9) == (found, True)
    assert 9 <= whole <= 11  # the best and the defaults once more


@dataclass(slots=True)
class Ending:
    """A bench whose time is over after a number of runs."""

    bench: Tiled
    left: int

    def __call__(self, request: Request) -> Record:
        if not self.left:
            raise OutOfBudget
        self.left -= 1
        return self.bench(request)


@pytest.mark.parametrize("runs", range(len(TILE.values) + len(CHUNK.values)))
def test_when_the_time_is_over_the_best_so_far_counts(runs: int) -> None:
    """A block that is done keeps its sizes; of the one that is not, the best trial."""
    sampler = Planned(1)
    ending = Ending(Tiled(), runs)
    search = Search(open_study(None, "sizes", FACTS, sampler), sampler, ending, math.inf, lambda progress: None)
    blocks = Block((TILE,), {"t": True}), Block((CHUNK,), {})
    found, is_whole = search_sizes(search, tuned_of(guard(1.0, 9.0)), blocks, 40)
    assert not is_whole
    assert found.get("main.tile_0") == (64 if runs >= 3 else None)  # the defaults come first, then what is next to them
    assert ("CHUNK" in found) == (runs >= len(TILE.values) + 2 + 2)  # the best and the defaults once more


def test_processes_share_the_trials_of_a_block(tmp_path: Path) -> None:
    """None leaves out what another one began; who is last tries the best once more."""
    block = Block((TILE,), {"t": True})

    def work() -> None:
        with open_beside(tmp_path / "db") as storage:
            sampler = Planned(1)
            study = open_study(storage, "sizes", FACTS, sampler)
            search = Search(study, sampler, Slow(Tiled(), 0.05), math.inf, lambda progress: None)
            assert search_sizes(search, tuned_of(guard(1.0, 9.0)), [block], 40) == ({"main.tile_0": 64}, True)

    children = [start_child(work) for _ in range(3)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    with open_beside(tmp_path / "db") as storage:
        tries = tried(open_study(storage, "sizes", FACTS, Planned(1)).get_trials(), 0)
    assert {one.settings["main.tile_0"] for one in tries} == set(TILE.values)


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


def test_a_parameter_may_have_a_computed_default() -> None:
    """Inside of kernels too; it is known by name, and not searched."""
    text = (
        CHUNKED + "entry each (xs: []i64): []i64 = map (\\x -> #[param(EACH)] x) xs\nentry zero: i64 = #[param(NONE)] 0"
    )
    program = soac.compile(text)
    assert sizes_of(program.compiled.flat, "each") == ()
    assert program.call("odd", [np.int32(-5)]) == [-5]
    assert program.call("odd", [np.int32(-5)], thresholds={"ODD": 3}) == [3]
    (xs,) = program.call("each", [np.array([4, -5])])
    (threes,) = program.call("each", [np.array([4, -5])], thresholds={"EACH": 3})
    assert (xs.tolist(), threes.tolist()) == ([4, -5], [3, 3])
    assert program.call("zero", [], thresholds={"NONE": 7}) == [7]
    assert program.call("zero", []) == [0]


# ---- sizes of the back end ---------------------------------------------------------------------------------------

SUMS = """
def main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 xs) xss
entry running [n] (xs: [n]i32): [n]i32 = scan (+) 0 xs
entry pairs [n] (xss: [n][2]i32): [n]i32 = #[flattening(only_inner)] map (\\xs -> reduce (+) 0 xs) xss
"""


def opened(tmp_path: Path, params: tuple[str, ...] = (), device: str = "cpu") -> Session:
    path = tmp_path / "a.soac"
    path.write_text(SUMS)
    return open_program(path, Settings(device, None, None, True, params, (), Reach.PROJECT))


def test_each_version_of_the_cpu_has_the_sizes_that_it_uses(tmp_path: Path) -> None:
    """Only what is long may be cut into chunks."""
    session = opened(tmp_path)
    taken, refused = (("main.ys.suff_outer_0", True),), (("main.ys.suff_outer_0", False),)
    assert {size.name: size.path for size in all_sizes(session, "main")} == {
        "main.ys.tasks_outer_0": taken,
        "main.ys.chunk_below_outer_0": refused,
        "main.ys.tasks_below_outer_0": refused,
    }
    assert {size.name for size in all_sizes(session, "running")} == {"running.chunk", "running.tasks"}
    assert not [size.name for size in all_sizes(session, "pairs") if "chunk" in size.name]


@pytest.mark.parametrize("size", [1, 100, 1 << 14, 1 << 62, 2**63 - 1])
def test_results_do_not_depend_on_chunks_and_tasks(tmp_path: Path, size: int) -> None:
    """Neither where the host program is native nor where Python runs it; on one thread or more."""
    program = opened(tmp_path).program
    xs = np.arange(70_000, dtype=np.int32) % 1000
    sizes = {"running.chunk": max(size, 10), "running.tasks": size, "main.ys.suff_outer_0": 100}
    sizes |= {"main.ys.chunk_below_outer_0": max(size, 10), "main.ys.tasks_below_outer_0": size}
    python = Executable.build(program.compiled.host, program.compiled.core.functions, 3, Runner.PYTHON)
    for threads in (1, 3):
        assert np.array_equal(program.call("running", [xs], sizes, threads=threads)[0], np.cumsum(xs, dtype=np.int32))
        assert np.array_equal(python.run("running", [xs], sizes, threads=threads)[0][0], np.cumsum(xs, dtype=np.int32))
        assert program.call("main", [xs.reshape(2, -1)], sizes, threads=threads)[0].sum() == xs.sum(dtype=np.int32)


def test_cores_get_as_many_tasks_as_is_said() -> None:
    assert share(1000, 4, 8) == 31
    assert share(1000, 4, 1) == 250
    assert share(3, 4, 8) == share(0, 4, 8) == share(1000, 4, 1 << 62) == 1


def test_sizes_of_the_back_end_are_searched_where_their_version_is_good(tmp_path: Path) -> None:
    """In blocks by sides of guards; on one thread there are no tasks to be cut."""
    session = opened(tmp_path)
    blocks = blocks_of(session, "main", "cpu", 2)
    assert [(dict(block.path), sorted(d.name.split(".")[2] for d in block.dimensions)) for block in blocks] == [
        ({"main.ys.suff_outer_0": True}, ["tasks_outer_0"]),
        ({"main.ys.suff_outer_0": False}, ["chunk_below_outer_0", "tasks_below_outer_0"]),
    ]
    assert all(d.values[d.default] == DEFAULTS[kind] for block in blocks for d in block.dimensions
               if (kind := size_kind(d.name)) is not None)  # fmt: skip
    names = {d.name for block in blocks_of(session, "main", "cpu", 1) for d in block.dimensions}
    assert names == {"main.ys.chunk_below_outer_0"}


TURNED = "entry main [n][m] (xss: [n][m]i32): [m][n]i32 = map (\\c -> map (\\x -> x * 2) c) (transpose xss)"


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
def test_rivals_of_mappings_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """On a GPU, beside the other sizes; what is found is kept, and taken when it is set by a file or by hand."""
    gpu = emulated_gpu()
    monkeypatch.setattr(devices, "the_gpu", lambda: gpu)
    monkeypatch.setattr(devices, "missing_for_cuda", lambda: ())
    path = tmp_path / "turned.soac"
    path.write_text(TURNED)
    session = open_program(path, Settings("cuda", None, None, True, (), (), Reach.PROJECT))
    (block,) = blocks_of(session, "main", "cuda", None)
    assert Dimension("main.mapping", (1, 2), 0) in block.dimensions

    def bench(request: Request) -> Record:
        seconds = 3.0 - request.version.settings.get("main.mapping", 1)
        return Record(Status.ENDED, (seconds,), Piece(seconds, 1, Status.ENDED, {}), (), None, "")

    sampler = Planned(1)
    search = Search(open_study(None, "sizes", FACTS, sampler), sampler, bench, math.inf, lambda progress: None)
    found, _ = search_sizes(search, tuned_of(Side(1.0, ())), [block], 60)
    assert found["main.mapping"] == 2
    driver, launched = driver_of(gpu), list[frozenset[str]]()
    file = tuning_path(path)
    for by_hand, in_file in (((), {}), (("--param", "main.mapping=2"), {}), ((), {"main.mapping": 2})):
        write_tuning(file, in_file, {"device": "cuda"})
        driver.names.clear()
        assert run_cli(["run", "--device", "cuda", *by_hand, str(path), "[[1i32, 2i32, 3i32]]"]) == 0
        assert capfd.readouterr().out == "[[2i32], [4i32], [6i32]]\n"
        launched.append(frozenset(driver.names))
    assert launched == [{"main_ys_0"}, {"main_ys_1"}, {"main_ys_1"}]
    assert run_cli(["explain", "--device", "cuda", "--sigma", str(path)]) == 0
    assert {"main.mapping 1", "main.mapping 2"} <= {line[-14:] for line in capfd.readouterr().out.splitlines()}


def test_values_that_no_machine_has() -> None:
    """Files say what they like: it is brought into bounds with a note; by hand it is an error."""
    name = "main.ys.block_size_outer_0"
    for value, made in ((0, 0), (1, 32), (31, 32), (256, 256), (257, 256), (1 << 40, 1024)):
        values, notes = clamped(Path("a.soac.tuning"), {name: value, "main.tasks": value})
        assert values == {name: made, "main.tasks": value}
        assert [note.code for note in notes] == ["T0104"] * (made != value)
    assert "`main.ys.block_size_outer_0` is 1099511627776: a block has 32 to 1024 threads" in notes[0].message
    with pytest.raises(SettingError, match="is 5000: a block has 32 to 1024 threads"):
        require_possible(name, 5000)
    require_possible(name, 512)
    with pytest.raises(SettingError, match=r"`main\.threads` is 1025, and at most 1024"):
        require_possible("main.threads", 1025)
    require_possible("main.threads", 1024)


def test_a_file_of_another_kind_of_device_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    """It names sizes that are not here; a file of this device may not."""
    opened(tmp_path)
    file = tmp_path / "a.soac.tuning"
    file.write_text("main.ys.block_size_outer_0=512\nmain.ys.suff_outer_0=7\n")
    (tmp_path / ".soac").mkdir()
    (tmp_path / ".soac" / "a.soac.tuning.json").write_text('{"device": "cuda", "described": "some GPU"}')
    values, (warning,) = read_tuning(file, ["main.ys.suff_outer_0"], SUMS, "some cores")
    assert values == {"main.ys.suff_outer_0": 7}
    assert warning.code == "T0103"
    assert "ignored: main.ys.block_size_outer_0" in warning.message
    _, warnings = read_tuning(file, ["main.ys.suff_outer_0"], SUMS, "some GPU")
    assert "T0102" in [one.code for one in warnings]


def test_an_unknown_parameter_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.soac"
    path.write_text(CHUNKED)
    (tmp_path / "a.soac.tuning").write_text("CHUNKS=3\n")
    open_program(path, Settings("cpu", None, None, True, (), (), Reach.PROJECT))
    assert "`CHUNKS`" in capsys.readouterr().err
