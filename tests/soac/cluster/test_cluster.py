"""The level `node`, with tasks run in this process: what is partitioned, and that blocks give what the whole does."""

from __future__ import annotations

from collections import Counter
from copy import copy
from pathlib import Path

import numpy as np
import pytest

import soac
from soac.cluster.arrays import Piece, Pieces, bounds_of
from soac.cluster.engine import Here, Inline
from soac.cluster.plan import Group, Part
from soac.commands.cluster import Where, with_guards
from soac.frontend.source.text import Reach
from soac.ir.errors import RunError
from soac.settings import Settings
from tests.support.command_line import caller
from tests.support.property.cluster import check_cluster, interpreted, kinds, steps
from tests.support.property.soak import program

RULES = """
def rows [n][m] (xss: [n][m]i64) = map i64.sum xss
entry maps [n][m] (xss: [n][m]i64) = map (map (+ 1)) xss
entry sums [n][m] (xss: [n][m]i64) = (rows xss, i64.sum (rows xss))
entry scans [n] (xs: [n]i64) = scan (+) 0 xs
entry row_scans [n][m] (xss: [n][m]i64) = scan (map2 (+)) (replicate m 0) xss
entry hists [n] (xs: [n]i64) = hist (+) 0 5 (map (% 5) xs) xs
entry columns [n][m] (xss: [n][m]i64) = rows (transpose xss)
entry part [n] (xs: [n]i64) = i64.sum (map (* 2) xs[2:n - 1]) + xs[n / 2]
entry joined [n] (xs: [n]i64) = scan (+) 0 (xs ++ map (* 3) xs)
entry steps [n] (xs: [n]i64) (k: i64) =
  loop xs for i < k do map (\\i -> xs[i64.max 0 (i - 1)] - 2 * xs[i] + xs[i64.min (n - 1) (i + 2)]) (iota n)
entry branch [n] (xs: [n]i64) (k: i64) = if i64.sum xs < k then map (+ 1) xs else scan (+) 0 xs
entry whole [n] (xs: [n]i64) = map (\\x -> i64.sum (map (* x) xs)) xs
entry filtered [n] (xs: [n]i64) = map (* 2) (filter (> 3) xs)
entry scattered [n] (xs: [n]i64) = map (+ 1) (scatter (copy xs) (map (+ 1) (iota n)) xs)
entry one_task [n] (xs: [n]i64) = map (+ 1) (loop ys = copy xs for i < n - 1 do ys with [i + 1] = ys[i] + 1)
entry parted [n] (xs: [n]i64) = partition (> 3) xs
entry written [n][m] (xs: *[n][m]i64) (k: i64) =
  let xs[k] = map (+ 1) xs[0]
  let xs[k + 1, 2] = 7
  in map i64.sum xs
entry written_rows [n] (xs: *[n]i64) (k: i64) = let xs[k:k + 5] = [1, 2, 3, 4, 5] in map (+ 1) xs
entry flat [n][m] (xss: [n][m]i64) = map (+ 1) (flatten xss)
entry unflat (n: i64) (xs: [n * 3]i64) = map i64.sum (unflatten xs)
entry strided [n] (xs: [n]i64) = map (+ 1) xs[1::3]
entry backwards [n] (xss: [n][3]i64) = map i64.sum xss[::-2, ::-1]
entry inner [n] (xss: [n][3]i64) = map i64.sum xss[:, 1:3]
entry placed [n][m][k] (xss: *[n][m]i64) (xs: [k]i64) = map i64.sum (scatter_2d xss (map (\\x -> (x, x / 2)) xs) xs)
"""
XS = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5])
XSS = np.arange(33).reshape(11, 3) % 7
CASES = {
    "maps": ([XSS], "segmap"),
    "sums": ([XSS], "segred"),
    "scans": ([XS], "segscan"),
    "row_scans": ([XSS], "segscan"),
    "hists": ([XS], "seghist"),
    "columns": ([XSS], "Rearrange"),
    "part": ([XS], "Index"),
    "joined": ([XS], "Concat"),
    "steps": ([XS, np.int64(3)], "neighbours"),
    "branch": ([XS, np.int64(3)], "Choice"),
    "whole": ([XS], "segmap"),
    "filtered": ([XS], "Scatter"),
    "scattered": ([XS], "Scatter"),
    "parted": ([XS], "Scatter"),
    "written": ([XSS, np.int64(4)], "Update"),
    "written_rows": ([XS, np.int64(2)], "Update"),
    "flat": ([XSS], "Reshape"),
    "unflat": ([np.int64(11), XSS.reshape(-1)], "Reshape"),
    "strided": ([XS], "Index"),
    "backwards": ([XSS], "Index"),
    "inner": ([XSS], "Index"),
    "placed": ([XSS, XS], "Scatter"),
}


@pytest.fixture(scope="module")
def rules() -> soac.Program:
    return soac.compile(RULES)


def cluster(blocks: int) -> soac.Cluster:
    return soac.Cluster(Inline(interpreted), blocks=blocks, default=0)


@pytest.mark.parametrize("entry", CASES)
def test_blocks_give_what_the_whole_gives(rules: soac.Program, entry: str) -> None:
    args, kind = CASES[entry]
    expected = rules.call(entry, args)
    for blocks in (1, 4, 100):
        here = cluster(blocks)
        results = here.run(rules, args, entry)
        for found, wanted in zip(results, expected, strict=True):
            assert np.array_equal(np.asarray(found), wanted), (entry, blocks)
        assert kind in [one for step in steps(here.plan(rules, entry).block) for one in kinds(step)]


def test_a_stencil_is_given_its_neighbours_alone(rules: soac.Program) -> None:
    plan = cluster(4).plan(rules, "steps")
    (group,) = [step for step in steps(plan.block) if isinstance(step, Group)]
    parts = {(given.below, given.above) for given in group.task.given if isinstance(given, Part)}
    assert (-1, 2) in parts


def test_statements_over_one_width_are_one_task() -> None:
    text = "entry main [n] (xs: [n]i64) = let ys = map (+ 1) xs in (i64.sum ys, i64.maximum ys, map (* 2) ys)"
    plan = cluster(4).plan(soac.compile(text))
    assert len([step for step in steps(plan.block) if isinstance(step, Group)]) == 1


def test_guards_are_set_and_forced(rules: soac.Program) -> None:
    here = soac.Cluster(Inline(interpreted), blocks=4)
    here.run(rules, [XS], "scans")
    assert here.reached == []
    name = next(iter(step.threshold for step in steps(here.plan(rules, "scans").block) if isinstance(step, Group)))
    here.run(rules, [XS], "scans", thresholds={name: len(XS)})
    assert here.reached == [(name, len(XS), True)]
    here.run(rules, [XS], "scans", forced={name: True})
    assert here.reached == [(name, len(XS), True)]
    with pytest.raises(soac.SoacError, match="C0101"):
        here.run(rules, [XS], "scans", forced={"scans.other": True})


FAILS = """
entry main [n] (xs: [n]i64) = map (\\i -> xs[i] + xs[i + 1]) (iota n)
"""


def test_a_failure_is_that_of_the_whole_program() -> None:
    prog = soac.compile(FAILS, "fails.soac")
    with pytest.raises(RunError) as wanted:
        prog.main(XS)
    with pytest.raises(RunError) as found:
        cluster(4).run(prog, [XS])
    assert found.value.diagnostics == wanted.value.diagnostics


def test_errors_from_another_process_are_whole() -> None:
    with pytest.raises(RunError) as found:
        soac.compile(FAILS, "fails.soac").main(XS)
    assert copy(found.value).diagnostics == found.value.diagnostics


def test_compiled_tasks(tmp_path: Path) -> None:
    prog = soac.compile(RULES)
    here = soac.Cluster(Inline(), blocks=4, threads=1, default=0)
    np.save(tmp_path / "xs.npy", XS)
    (scanned,) = here.run(prog, [here.read(tmp_path / "xs.npy")], "scans")
    assert (scanned.shape, scanned.dtype, len(scanned.pieces.pieces)) == ((11,), np.dtype(np.int64), 4)
    scanned.save(tmp_path / "ys.npy")
    assert np.array_equal(np.load(tmp_path / "ys.npy"), np.cumsum(XS))


def test_partition_follows_from_sizes_alone() -> None:
    assert bounds_of(10, 4) == [0, 2, 5, 7, 10]
    assert bounds_of(2, 4) == [0, 1, 2]
    assert bounds_of(0, 4) == [0, 0]


def test_rows_of_pieces() -> None:
    pieces = Pieces((Piece(Here(np.arange(4)), 0, 4, 4), Piece(Here(np.arange(4, 10)), 0, 6, 6)))
    for lo in range(11):
        for hi in range(lo, 12):
            rows = np.concatenate([handle.value for handle in pieces.part(lo, hi).handles(Inline())])
            assert np.array_equal(rows, np.arange(10)[lo:hi])


def test_random_programs() -> None:
    seen: Counter[str] = Counter()
    for number in range(12):
        check_cluster(program(0, number), Inline(interpreted), seen)
    assert {"segmap", "segred"} <= set(seen)


def test_explain_says_what_is_partitioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rules.soac"
    file.write_text(RULES, encoding="utf-8")
    call = caller(monkeypatch)
    assert "reads rows -1 .. +2 around its own of xs" in call("explain", file, "--node", "-e", "steps").clean().out
    assert "is sent all of xs" in call("explain", file, "--node", "-e", "whole").clean().out
    assert "values go to the blocks" in call("explain", file, "--node", "-e", "scattered").clean().out
    assert "on one worker" in call("explain", file, "--node", "-e", "one_task").clean().out


def test_large_operands_are_not_broadcast(rules: soac.Program) -> None:
    here = soac.Cluster(Inline(interpreted), blocks=4, default=0, broadcast=8)
    (result,) = here.run(rules, [XS], "whole")
    assert np.array_equal(np.asarray(result), rules.call("whole", [XS])[0])
    assert not any(taken for _, _, taken in here.reached)


def test_what_a_command_sets() -> None:
    params, forces = ("main.ys.suff_node_0=5", "main.ys.suff_outer_0=1"), ("main.ys.suff_node_1=cluster",)
    settings = Settings("cpu", None, None, True, params, forces, Reach.PROJECT)
    where, others = with_guards(Where(None, 2, None), settings)
    assert where == Where(None, 2, None, {"main.ys.suff_node_0": 5}, {"main.ys.suff_node_1": True})
    assert (others.params, others.forces) == (("main.ys.suff_outer_0=1",), ())
