"""`soac test --sync`: every case on every version is traced; hazards, uninitialised reads and what accesses cost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from soac.ir.core import SizeParam
from soac.ir.machine import CUDA
from soac.ir.thresholds import Threshold
from soac.ir.traverse import all_exps
from soac.kernels.tracer import run as trace
from soac.pipeline import compile_prog
from soac.testing.around import around, tiles_of
from soac.testing.outcomes import START, Outcome, Seen, Status
from soac.testing.run import events
from tests.support.command_line import SUMS, Command, under

NORMALISE = """
def main [n][m] (xss: [n][m]i32): [n][m]i32 =
  let yss = map (\\xs -> let ys = scan (+) 0 xs let s = ys[m - 1] in map (\\y -> y + s) ys[::-1]) xss
  in yss
"""
ROWS = "input { [[1, 2], [3, 4]] } output { [[6, 4], [14, 10]] }\ninput { [[5]] } output { [[10]] }"


def program(tmp_path: Path, blocks: str, text: str) -> Path:
    path = tmp_path / "a.soac"
    path.write_text("".join(f"-- {line}\n" for line in ("==", *blocks.splitlines())) + text)
    return path


def found(path: Path) -> tuple[list[Outcome], list[Seen]]:
    seen = list(events(path, under(sync=True, timeout=60.0), START))
    return [e for e in seen if isinstance(e, Outcome)], [e for e in seen if isinstance(e, Seen)]


def test_every_version_of_every_case(tmp_path: Path) -> None:
    outcomes, seen = found(program(tmp_path, ROWS, NORMALISE))
    versions = ["suff_intra_0=yes", "suff_intra_0=no"]
    assert [o.version.rpartition(".")[2] for o in outcomes] == versions * 2
    assert {o.status for o in outcomes} == {Status.PASSED}
    assert len(seen) == len(outcomes)
    assert all(one.hazards == 0 and one.launches >= 1 for s in seen for one in s.kernels)
    assert any(one.fences and one.shared_bytes for s in seen for one in s.kernels)


def test_a_missing_fence_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block version reads backwards what its scan has stored."""
    path = program(tmp_path, ROWS, NORMALISE)
    monkeypatch.setattr(trace, "CUDA_PASSES", ())
    outcomes, _ = found(path)
    failed = [o for o in outcomes if o.status is Status.FAILED]
    assert failed
    assert all("read after write" in (o.fault or "") for o in failed)
    first, second = (failed[0].fault or "").splitlines()[:2]
    assert re.fullmatch(r"hazards: \d+ of read after write", first)
    assert re.search("thread 0 of block 0 .* missing is a fence of the", second)
    monkeypatch.undo()
    assert {o.status for o in found(path)[0]} == {Status.PASSED}


def test_versions_of_another_machine_at_sizes_around_its_tiles(command: Command, tmp_path: Path) -> None:
    """The tiles of a GPU are traced without one; one of 256 is four elements of each of 64 threads."""
    text = "def main (xs: []i32) (ys: []i32) = map (\\x -> i32.sum (map (\\y -> i32.abs (x - y)) ys)) xs\n"
    path = program(tmp_path, "input { [1, 2, 3] [5, 6] } output { [9, 7, 5] }", text)
    seen = list(events(path, under(sync=True, timeout=60.0, machine="cuda"), START))
    outcomes = [e for e in seen if isinstance(e, Outcome)]
    assert {o.status for o in outcomes} == {Status.PASSED}
    sizes = {tuple(map(int, re.findall(r"= (\d+)", o.name))) for o in outcomes[2:]}
    assert {(0, 3), (255, 3), (257, 3), (3, 770), (3, 65), (63, 63)} <= sizes
    tiled = [one for s in seen if isinstance(s, Seen) for one in s.kernels if one.shared_bytes]
    assert tiled
    assert all(one.hazards == 0 for one in tiled)
    assert "give both" in command("test", path, "--machine", "cuda").err


def test_memory_is_no_tile() -> None:
    """The bytes that a block may have are a size, too; a matrix with as many rows took minutes."""
    path = Path(__file__).parents[2] / "conformance" / "loops" / "widths_of_rounds.fut"
    compiled = compile_prog(path.read_text(encoding="utf-8"), str(path), machine=CUDA)
    sizes = [exp.name for fun in compiled.flat.functions for exp in all_exps(fun.body) if isinstance(exp, SizeParam)]
    assert "shared" in {Threshold.of(name).kind for name in sizes}
    assert tiles_of(compiled.flat, "eliminated") == (64,)


def test_no_input_is_made_that_is_too_large() -> None:
    compiled = compile_prog("def main [n] (xss: [n][n]i32): i32 = xss[0, 0]\n", "a.soac")
    fun, args = compiled.core.functions[0], [np.ones((2, 2), np.int32)]
    made = [args for _, args in around(fun, args, (64, 1 << 15))]
    assert [np.size(xss) for (xss,) in made] == [n * n for n in (0, 1, 63, 64, 65, 194)]


def test_wrong_values_and_failures_count_too(tmp_path: Path) -> None:
    blocks = 'input { [[1]] } output { [2] }\n"fails" input { empty([0][2]i32) } error: out of bounds'
    text = SUMS.replace("xss\n", "xss with [0] = (map (reduce (+) 0) xss)[0]\n")
    outcomes, _ = found(program(tmp_path, blocks, text))
    assert [o.status for o in outcomes if o.name == "main fails"] == [Status.PASSED] * 2
    assert all("result 0" in (o.fault or "") for o in outcomes if o.name != "main fails")


def test_what_does_not_fit_is_skipped(command: Command, tmp_path: Path) -> None:
    path = program(tmp_path, "input { empty([0][20000]i32) }", NORMALISE)
    outcomes, _ = found(path)
    assert [o.status for o in outcomes] == [Status.SKIPPED, Status.PASSED]
    assert outcomes[0].why == "`main.yss.suff_intra_0` does not fit: 20000 in parallel in one collective"
    timed = command("bench", "a.soac", "--runs", "1", "--force", "main.yss.suff_intra_0=block").clean().out
    assert f"skipped: {outcomes[0].why}" in timed


def test_the_report(command: Command, tmp_path: Path) -> None:
    program(tmp_path, ROWS, NORMALISE)
    outcome = command("test", "--sync", "a.soac", "--json", "out.json").clean()
    lines = outcome.out.splitlines()
    assert lines[0] == "a.soac: 4 passed"
    assert lines[1].split()[:5] == ["kernel", "launches", "blocks", "hazards", "sectors/request"]
    assert lines[-1] == "4 passed, 0 failed, 0 skipped"
    report = json.loads((tmp_path / "out.json").read_text())
    kernels = report["kernels"]["a.soac"]
    assert {row.split()[0] for row in lines[2:-1]} == {one["kernel"] for one in kernels}
    assert all(one["hazards"] == one["uninitialised"] == 0 and one["sectors"] >= one["requests"] for one in kernels)


def test_the_exit_code_of_a_failure(command: Command, tmp_path: Path) -> None:
    program(tmp_path, "input { [[1]] } output { [2] }", SUMS)
    assert command("test", "--sync", "a.soac").code == 1
