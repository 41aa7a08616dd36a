"""Libraries for a GPU, used from C++ on the stand-in for the driver's library, whose images are emulated kernels."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soac.frontend.source.text import Reach
from soac.ir.interpret import interpret
from soac.ir.machine import CUDA
from soac.kernels.devices.cpu.library import targets
from soac.kernels.devices.cuda.driver import signature_of
from soac.kernels.devices.cuda.library.objects import Image
from soac.kernels.devices.cuda.nvrtc import NoCompiler, nvrtc
from soac.kernels.kernel_ir.nodes import Kernel
from soac.library.build import Order, build_library
from soac.library.gpus import Gpus, gpus_of
from soac.pipeline import Compiled, compile_prog
from soac.testing.blocks import Fails
from soac.testing.datasets import inputs_of
from soac.versions import runs_of
from tests.support.emulator.driver import emulated_text, library_of
from tests.support.emulator.emulate import COMPILER, HERE
from tests.support.library_clients import FIVE, INFINITY, Failed, client, run, same_bits
from tests.support.programs import PROGRAMS, opened, sets_of

pytestmark = pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="no C++ compiler, or not Linux")

ROOT = Path(__file__).parents[3]
SOURCE = """
entry sums [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss
entry gather [n][m] (xs: [n]f32) (is: [m]i64) (y: f32): [m]f32 = map (\\i -> xs[i] * y) is
entry turned [n][m] (xss: *[n][m]f64) (k: i64): ([m][n]f64, [n][m]f64) =
  let yss = copy (transpose xss) in (yss, xss with [k, 0] = 7)
entry private [n] (ns: [n]i64): [n]i64 =
  map (\\n -> let xs = scan (+) 0 (iota n) let ys = scan (+) 0 (map2 (*) xs (rotate 1 xs)) in reduce (+) 0 ys) ns
entry total [n] (xs: [n]i64): i64 = let ys = #[opaque] scan (+) 0 xs in if n > 0 then ys[n - 1] else 0
def sum_to (xs: []i64) (i: i64): i64 = if i < 0 then 0 else xs[i] + sum_to (map (+ 1) xs) (i - 2)
entry sum_of (xs: []i64) (i: i64): i64 = sum_to xs i
entry columns [n][m] (xss: [n][m]f32): [m][n]f32 = map (\\c -> map (\\x -> x * 2) c) (transpose xss)
"""
ARGS: dict[str, tuple[Any, ...]] = {
    "sums": (np.arange(600, dtype=np.int32).reshape(3, 200),),
    "gather": (np.linspace(0, 1, 9, dtype=np.float32), np.array([8, 0, 3]), np.float32(2.5)),
    "turned": (np.arange(40, dtype=np.float64).reshape(5, 8), np.int64(2)),
    "private": (np.array([3, 900, 0]),),
    "total": (np.arange(50),),
    "sum_of": (np.arange(50), np.int64(9)),
    "columns": (np.arange(108_000, dtype=np.float32).reshape(360, 300),),
}
Library = tuple[Path, dict[str, Any], Compiled]


def emulated(text: str, kernels: Sequence[Kernel]) -> list[Image]:
    """An image as the stand-in takes it: the name of a library."""
    place = library_of(emulated_text(text, [signature_of(kernel) for kernel in kernels]))
    return [Image("sm_70", 70, b"none"), Image("sm_90", 90, bytes(place))]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return on_stand_in(tmp_path_factory.mktemp("gpu_library"), SOURCE, Path("gpu.soac"))


def on_stand_in(folder: Path, source: str, path: Path) -> Library:
    """A program as a library for the stand-in, which is beside it, and a client."""
    compiled = compile_prog(source, str(path), machine=CUDA, reach=Reach.ANYWHERE)
    host = targets.BASES[targets.NAMED[targets.defaults()[0]].host.triple]
    gpus = Gpus(("sm_70", "sm_90"), host, emulated)
    build_library(compiled, Order(path.stem, "0.1.0", gpus, {}, source, False), folder)
    flags = ["-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(folder / "libcuda.so.1")]
    subprocess.run([str(COMPILER), *flags, str(HERE / "libcuda.cpp"), "-ldl"], check=True, timeout=120)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return client(folder, manifest), manifest, compiled


def called(library: Library, monkeypatch: pytest.MonkeyPatch, entry: str, *args: Any, **how: Any) -> list[Any] | Failed:
    program, manifest, _ = library
    monkeypatch.setenv("LD_LIBRARY_PATH", str(how.pop("driver", program.parent)))
    return run(program, manifest, entry, args or ARGS[entry], how.pop("settings", {}), threads=0, **how)


@pytest.mark.parametrize("entry", ARGS)
def test_values_on_all_versions(library: Library, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    wanted, _ = interpret(library[2].core, entry, ARGS[entry])
    for sides in runs_of(library[2].flat, entry):
        settings = {name: 0 if side else INFINITY for name, side in sides.items()}
        found = called(library, monkeypatch, entry, settings=settings)
        assert isinstance(found, list), found
        assert same_bits(found, wanted)


def test_failures_say_where(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = called(library, monkeypatch, "gather", ARGS["gather"][0], np.array([0, 9]), np.float32(1))
    assert isinstance(inside, Failed)
    assert (inside.code, inside.message) == ("R0101", "index [9] out of bounds for array of shape [9]")
    assert inside.place[:2] == ("gpu.soac", 3)
    of_host = called(library, monkeypatch, "turned", ARGS["turned"][0], np.int64(5))
    assert isinstance(of_host, Failed)
    assert (of_host.code, of_host.values) == ("R0101", (5, 0, 5, 8))
    in_call = called(library, monkeypatch, "sum_of", np.arange(5), np.int64(7))
    assert isinstance(in_call, Failed)
    assert (in_call.code, in_call.values) == ("R0101", (7, 5))
    monkeypatch.setenv("STAND_IN_MIB", "1")
    full = called(library, monkeypatch, "total", np.ones(100_000, np.int64))
    assert isinstance(full, Failed)
    assert full.code == "R0301"


def test_contexts(library: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The image of the GPU is taken; without one, or without a driver, the context says so."""
    assert isinstance(called(library, monkeypatch, "total", target="sm_90"), list)
    other = called(library, monkeypatch, "total", target="sm_70")
    assert isinstance(other, Failed)
    assert (other.code, other.message) == ("S0101", "the library has no code for this GPU, or not that asked for")
    (tmp_path / "libcuda.so.1").touch()
    without = called(library, monkeypatch, "total", driver=tmp_path)
    assert isinstance(without, Failed)
    assert "no NVIDIA driver" in without.message


def test_sizes_that_the_library_does_not_have(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a number of threads that there is no code for have the usual one; blocks take turns."""
    values = {"block_size": 128, "factor": 4}
    names = [one["name"] for one in library[1]["settings"] if one["name"].startswith("gather")]
    sizes = {name: value for name in names for kind, value in values.items() if kind in name}
    assert sizes
    wanted, _ = interpret(library[2].core, "gather", ARGS["gather"])
    found = called(library, monkeypatch, "gather", settings=sizes)
    assert isinstance(found, list)
    assert same_bits(found, wanted)


def test_rival_mappings(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting takes the rival, which here has no copy: that is known by the memory that there is."""
    wanted, _ = interpret(library[2].core, "columns", ARGS["columns"])
    monkeypatch.setenv("STAND_IN_MIB", "1")
    for value in (2, 3, 1, 0):
        found = called(library, monkeypatch, "columns", settings={"columns.mapping": value})
        if value > 1:
            assert isinstance(found, list), found
            assert same_bits(found, wanted)
        else:
            assert isinstance(found, Failed)
            assert found.code == "R0301"


ON_GPU = """
#include "gpu.h"
#include <cstdio>
#include <dlfcn.h>

int main() {
  gpu_config there = {0, nullptr, 1}, back = {0, nullptr, 0};
  gpu_context *keeps = gpu_context_new(&there), *fetches = gpu_context_new(&back);
  float xs[] = {1, 2, 3};
  int64_t is[] = {2, 0, 2, 1, 1, 0, 2};
  const gpu_f32_1d x = {xs, {3}, nullptr};
  const gpu_i64_1d i = {is, {7}, nullptr};
  auto ask = (int (*)(size_t *, size_t *))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemGetInfo_v2");
  size_t before = 0, after = 0, all;
  for (int round = 0; round < 9; round++) {
    gpu_f32_1d once, twice, result;
    if (gpu_entry_gather(keeps, &once, &x, &i, 10)) return 1;
    if (gpu_entry_gather(keeps, &twice, &once, &i, 10)) return 2;
    const gpu_f32_1d odd = {once.data + 1, {6}, nullptr};  // at a place that is not aligned
    if (gpu_entry_gather(fetches, &result, round ? &odd : &twice, &i, 1)) return 3;
    if (round % 8 == 0) printf("%g %g %g\\n", result.data[0], result.data[1], result.data[2]);
    gpu_release(once.owner), gpu_release(twice.owner), gpu_release(result.owner);
    ask(round > 1 ? &after : &before, &all);
  }
  gpu_context_free(keeps), gpu_context_free(fetches);
  return before != after;
}
"""


def test_arrays_stay_on_the_gpu(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result is an argument as it is, also of another context; its memory is given back."""
    folder = library[0].parent
    (folder / "on_gpu.cpp").write_text(ON_GPU, encoding="utf-8")
    made = [f"-I{folder}", str(folder / "on_gpu.cpp"), "-o", str(folder / "on_gpu"), str(folder / "libgpu.a")]
    subprocess.run([str(COMPILER), *made, "-lm", "-lpthread", "-ldl"], check=True, timeout=100)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    done = subprocess.run([str(folder / "on_gpu")], capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stdout) == (0, "300 300 300\n20 10 20\n")


PYTHON = """
import sys; from pathlib import Path; import numpy as np
from soac.kernels.devices.cpu.library.client import Library, ProgramError
library = Library(Path(sys.argv[1]))
print(library.target, library.call("total", np.arange(50)), library.call("sums", np.ones((2, 3), np.int32)).tolist())
try: library.call("gather", np.ones(2, np.float32), np.array([5]), 1.0)
except ProgramError as error: print(error.code)
"""


def test_the_shared_library_from_python(library: Library) -> None:
    """The client that wheels have serves GPUs as it is."""
    folder = library[0].parent
    env = os.environ | {"LD_LIBRARY_PATH": str(folder), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PYTHON, str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "sm_90 1225 [3, 3]\nR0101\n"


MOST_ITERATIONS = 2000
"""The product of the numbers that an entry takes: what the emulator does in a second."""


@pytest.mark.slow
@pytest.mark.parametrize("stem", FIVE)
def test_programs_give_the_same_on_every_version(stem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter's values, on the first data set of each entry that is small."""
    path = next(p for p in PROGRAMS if p.stem == stem)
    made, session = on_stand_in(tmp_path, path.read_text(encoding="utf-8"), path), opened(path)
    seen = set[str]()
    for one in sets_of(path):
        if one.entry in seen or isinstance(one.case.expected, Fails) or "notest" in one.case.tags:
            continue
        args = inputs_of(one, session.program, path)
        numbers = math.prod(int(a) for a in args if isinstance(a, np.integer))
        if numbers > MOST_ITERATIONS or sum(map(np.size, args)) > MOST_ITERATIONS:
            continue
        seen.add(one.entry)
        wanted, _ = interpret(made[2].core, one.entry, args)
        for sides in runs_of(made[2].flat, one.entry):
            settings = {name: 0 if side else INFINITY for name, side in sides.items()}
            found = called(made, monkeypatch, one.entry, *args, settings=settings)
            assert isinstance(found, list), found
            for value, exact in zip(found, wanted, strict=True):
                assert np.allclose(value, exact, rtol=1e-3, atol=1e-5, equal_nan=True), sides
    assert seen


def test_ptx(tmp_path: Path) -> None:
    """What NVRTC makes is in the library, which needs no driver to be linked."""
    try:
        nvrtc()
    except NoCompiler:
        pytest.skip("NVRTC is not installed")
    assert gpus_of(("compute_80", "sm_80", "sm_90")).archs == ("sm_90", "sm_80", "compute_80")
    source = "entry main [n] (xs: [n]f32): [n]f32 = map (* 2) xs"
    compiled = compile_prog(source, "ptx.soac", machine=CUDA)
    build_library(compiled, Order("ptx", "1", gpus_of(("compute_80",)), {}, source, False), tmp_path)
    assert b".target sm_80" in (tmp_path / "libptx.a").read_bytes()
    assert (tmp_path / "libptx.so").exists()
    assert "int64_t device;" in (tmp_path / "ptx.h").read_text(encoding="utf-8")
    assert "-ldl" in (tmp_path / "ptx.pc").read_text(encoding="utf-8")
