"""Results that nothing reads are neither stored nor in memory; those that something reads are."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from soac.api import compile
from soac.ir.machine import CPU, CUDA, Machine, Mode
from soac.kernels.host_ir.nodes import HostProgram, Launch, statements
from soac.kernels.kernel_ir.traverse import statements as kernel_statements
from soac.kernels.kernel_ir.traverse import stored_arrays
from soac.pipeline import compile_prog
from soac.versions import runs_of

SCANS = r"""
def best [n] (xs: [n]f64): ([n]f64, [n]i64) =
  unzip (scan (\(x, i) (y, j) -> if y > x then (y, j) else (x, i)) (f64.lowest, -1) (zip xs (iota n)))

entry places [n] (xs: [n]f64): [n]i64 = (best xs).1

entry both [n] (xs: [n]f64): ([n]f64, [n]i64) = best xs

entry in_turn [n] (xs: [n]f64) (ys: [n]f64): ([n]i64, [n]f64, [n]i64) =
  let is = (best xs).1
  let (vs, js) = best ys
  in (is, vs, js)

entry in_a_loop [n] (k: i64) (xs: [n]f64): [n]f64 =
  loop xs for _i < k do map (\i -> xs[i] * 0.5 - f64.i64 i) (best xs).1

entry of_rows [m] [n] (xss: [m][n]f64): [m][n]i64 = map (\xs -> (best xs).1) xss

entry all_of_rows [m] [n] (xss: [m][n]f64): ([m][n]f64, [m][n]i64) = unzip (map best xss)
"""
FOUND = r"scan_\d+"


def results(host: HostProgram, entry: str) -> list[int]:
    """How many results of a scan each launch of an entry stores, in order."""
    (fun,) = (fun for fun in host.functions if fun.entry is not None and fun.entry.name == entry)
    kernels = {kernel.name: kernel for kernel in host.kernels}
    found: list[int] = []
    for launch in (stm.exp for stm in statements(*fun.bodies) if isinstance(stm.exp, Launch)):
        kernel = kernels[launch.kernel]
        assert len(kernel.arrays) == len(launch.arrays) == len(launch.writes)
        stored = {array for stm in kernel_statements(kernel.body) for array in stored_arrays(stm)}
        found.append(sum(x in stored and bool(re.fullmatch(FOUND, x.name)) for x in kernel.arrays))
    return found


@pytest.mark.parametrize("machine", [CPU, CUDA], ids=lambda machine: machine.name)
def test_what_nothing_reads_is_not_stored(machine: Machine) -> None:
    """Whatever other launches of the same kernel store; of several versions, in each."""
    host = compile_prog(SCANS, "scans.soac", Mode.INCREMENTAL, machine).host
    assert set(results(host, "places")) == {1}
    assert set(results(host, "both")) == {2}
    assert sorted(set(results(host, "in_turn"))) == [1, 2]
    assert max(results(host, "in_a_loop")) <= 1
    assert set(results(host, "of_rows")) <= {0, 1}
    assert max(results(host, "all_of_rows")) == 2


def bests(xs: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    places = [int(np.argmax(xs[: k + 1])) for k in range(len(xs))]
    return np.asarray(xs)[places], np.array(places, np.int64)


@pytest.mark.parametrize("n", [0, 1, 70, 3000])
def test_values(n: int) -> None:
    program = compile(SCANS, "scans.soac")
    xs, ys = (np.random.default_rng(seed).integers(0, 9, n).astype(float) for seed in (n, n + 1))
    rows = xs[: n - n % 5].reshape(5, -1)
    wanted = {
        "places": ([xs], [bests(xs)[1]]),
        "both": ([xs], [*bests(xs)]),
        "in_turn": ([xs, ys], [bests(xs)[1], *bests(ys)]),
        "of_rows": ([rows], [np.array([bests(row)[1] for row in rows])]),
        "all_of_rows": ([rows], [np.array([bests(row)[k] for row in rows]) for k in (0, 1)]),
    }
    for entry, (args, values) in wanted.items():
        for sides in runs_of(program.compiled.flat, entry):
            found = program.call(entry, args, forced=sides)
            assert all(np.array_equal(one, value) for one, value in zip(found, values, strict=True)), (entry, sides)
