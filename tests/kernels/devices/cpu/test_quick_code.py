"""Kernels of little work have code of little effort in their first call."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import soac
from soac.kernels.devices import disk_cache as disk
from soac.kernels.devices.cpu import quick_code
from soac.kernels.devices.cpu.build import under_masks
from soac.kernels.devices.cpu.kernel_code import KernelCode
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cpu.runtime.jit import Effort
from soac.kernels.passes.choose_lanes import depends_on_lanes
from soac.kernels.passes.pipeline import CPU_PASSES, ready
from soac.pipeline import compile_prog

TEXT = """
entry squares [n] (xs: [n]f64): [n]f64 = map (\\x -> x * x + 1) xs
entry rounds [n] (k: i64) (xs: [n]f64): [n]f64 = loop ys = xs for i < k do scan (+) 0 (map (0.5 *) ys)
entry product [n][m][k] (a: [n][m]f64) (b: [m][k]f64): [n][k]f64 =
  map (\\row -> map (\\column -> f64.sum (map2 (*) row column)) (transpose b)) a
"""
XS = np.arange(9.0)


@pytest.fixture
def efforts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Effort]:
    """What the kernels of entries were compiled with; the cache is empty at first."""
    found: list[Effort] = []
    real = jit.compile_object

    def noting(texts: tuple[str, ...], target: jit.Host, effort: Effort = Effort.FULL) -> bytes:
        if any(re.search(r'@"kernel\.(squares|rounds|product)', text) for text in texts):
            found.append(effort)
        return real(texts, target, effort)

    own = disk.Cache(tmp_path / "cache")
    monkeypatch.delenv("SOAC_EFFORT", raising=False)
    monkeypatch.setattr(jit, "user_cache", lambda: own)
    monkeypatch.setattr(jit, "compile_object", noting)
    return found


@pytest.mark.parametrize("prepared", [True, False])
def test_the_first_call_has_quick_code_and_the_second_the_best(efforts: list[Effort], prepared: bool) -> None:
    program = soac.compile(TEXT)
    for compiled in ([Effort.QUICK], [Effort.QUICK, Effort.FULL], [Effort.QUICK, Effort.FULL]):
        found = program.squares(XS) if prepared else program.call("squares", [XS], threads=1)[0]
        assert np.asarray(found).tolist() == (XS * XS + 1).tolist()
        assert efforts == compiled


def test_all_rounds_of_a_call_have_quick_code_while_they_are_short(
    efforts: list[Effort], monkeypatch: pytest.MonkeyPatch
) -> None:
    def launched_in_rounds(text: str) -> list[float]:
        program = soac.compile(text)
        guards = [name for site in program.facts.sites if site.entry == "rounds" for name in site.thresholds]
        return program.call("rounds", [np.int64(50), XS], forced=dict.fromkeys(guards, False), threads=1)[0].tolist()

    expected = launched_in_rounds(TEXT)
    assert efforts == [Effort.QUICK]
    monkeypatch.setattr(quick_code, "NANOSECONDS", 100)
    assert launched_in_rounds(TEXT + "-- another program\n") == expected
    assert efforts == [Effort.QUICK, Effort.FULL]


def test_larger_launches_have_the_code_that_smaller_ones_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which only has to be known that it is good for them."""
    monkeypatch.setattr(quick_code, "SCALES", (1,))
    kernel = next(k for k in compile_prog(TEXT, "p.soac").host.kernels if k.name.startswith("squares"))
    compiled: list[str] = []

    def compile_it(name: str, _far: bool, _effort: Effort) -> tuple[str, jit.CompiledKernels]:
        compiled.append(name)
        return "key", jit.CompiledKernels(cast(Any, None), {name: 1})

    code, found = KernelCode(compile_it, "", lambda name: kernel), None
    sizes = sum(map(quick_code.is_number, kernel.scalars))
    for blocks, size in ((1, 20), (2, 10), (2, 20), (3, 5)):
        launch = quick_code.Launch((0, 0), (blocks, *(sizes * (size,))))
        found = quick_code.quick(code, kernel, False, launch, found)
        assert found is not None
    assert found is not None
    assert found.limits == (3, *(sizes * (20,)))
    assert compiled == [kernel.name]


def test_much_work_is_worth_full_effort(efforts: list[Effort]) -> None:
    a = np.ones((1200, 1200))
    assert np.asarray(soac.compile(TEXT).product(a, a))[0, 0] == 1200.0
    assert Effort.FULL in efforts
    assert np.asarray(soac.compile(TEXT).product(a[:4, :4], a[:4, :4]))[0, 0] == 4.0


def test_complete_and_timed_runs_have_the_best_code(efforts: list[Effort]) -> None:
    program = soac.compile(TEXT)
    program.timed("rounds", [np.int64(3), XS], {}, {}, 1, [])
    assert set(efforts) == {Effort.FULL}
    efforts.clear()
    list(program.executable.complete("squares"))
    program.squares(XS)
    assert set(efforts) == {Effort.FULL}


def test_another_process_finds_quick_code_without_the_compiler(tmp_path: Path) -> None:
    """Unless a launch has larger numbers than the code is known to be good for."""
    file = tmp_path / "p.soac"
    file.write_text(TEXT)
    code = f"""if True:
        import sys, numpy, soac
        program = soac.load({str(file)!r})
        xs = numpy.arange(int(sys.argv[1]) + 0.0)
        assert (numpy.asarray(program.squares(xs)) == xs * xs + 1).all()
        print("soac.pipeline" in sys.modules)"""
    variables = {key: value for key, value in os.environ.items() if key != "SOAC_EFFORT"}
    variables["SOAC_CACHE_DIR"] = str(tmp_path / "cache")

    def run(size: int) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, str(size)], capture_output=True, text=True, check=True, env=variables
        )
        return done.stdout.strip()

    assert [run(size) for size in (10, 2000, 100_000, 10)] == ["True", "False", "True", "False"]


def test_large_copies_have_the_best_code(tmp_path: Path) -> None:
    """In a process of its own: copies are compiled once in a process."""
    code = """if True:
        import numpy, soac
        from soac.kernels.devices.cpu.runtime import functions
        program = soac.compile("entry main [n][m] (xss: [n][m]i32): [m][n]i32 = transpose xss")
        real, made = functions.bulk_code, []
        functions.bulk_code = lambda name, effort: made.append(effort.value) or real(name, effort)
        for size in (20, 20, 3000):
            xss = numpy.arange(size * size, dtype=numpy.int32).reshape(size, size)
            assert (numpy.asarray(program.main(xss)) == xss.T).all()
            print(made)
        program = soac.compile("entry main [n] (xs: [n]i64): [3][n]i64 = replicate 3 xs")
        for size in (3_000_000, 10):
            program.main(numpy.arange(size))
        print(made[2:])"""
    variables = {key: value for key, value in os.environ.items() if key != "SOAC_EFFORT"}
    variables["SOAC_CACHE_DIR"] = str(tmp_path / "cache")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=variables)
    assert done.stdout.splitlines() == ["['quick']", "['quick', 'full']", "['quick', 'full']", "['full']"]


@pytest.mark.parametrize("entry", ["squares", "rounds"])
def test_vectors_are_of_a_register(entry: str) -> None:
    """But where results depend on how many lanes there are."""
    kernels = compile_prog(TEXT, "quick.soac").host.kernels
    kernel = next(ready(k, CPU_PASSES) for k in kernels if f".{entry}" in k.name or k.name.startswith(entry))
    small = replace(jit.host(), triple="x86_64-unknown-linux-gnu", features="+avx2,+bmi2")
    large = replace(small, features="+avx2,+bmi2,+avx512f")
    widths = [under_masks(kernel, target).lanes for target in (small, large)]
    assert kernel.lanes is not None
    full, is_order_free = kernel.lanes.width, not depends_on_lanes(kernel)
    assert is_order_free == (entry == "squares")
    assert [lanes and lanes.width for lanes in widths] == ([full // 2, full] if is_order_free else [full, full])


@pytest.mark.parametrize("m", [1, 3, 4, 7, 15, 16, 17, 40, 100])
def test_long_rows_in_narrow_vectors(efforts: list[Effort], m: int) -> None:
    """Tiles have more columns than a vector of little effort has lanes."""
    text = """entry rounds [n][m] (x: [n][m]f64): [n][m]f64 =
      map (\\r -> (loop (out, s) = (replicate m 0, 1) for i < m do
        let s = (s + r[i]) * 0.5 in (out with [i] = s, s)).0) x"""
    x = np.random.default_rng(m).integers(0, 9, (70, m)).astype(np.float64)
    wanted, s = np.empty_like(x), np.ones(70)
    for i in range(m):
        s = (s + x[:, i]) * 0.5
        wanted[:, i] = s
    program = soac.compile(text)
    for _ in range(2):
        assert np.array_equal(program.rounds(x), wanted)
    assert efforts[0] is Effort.QUICK
