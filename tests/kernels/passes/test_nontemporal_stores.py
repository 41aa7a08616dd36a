"""Results that caches could not hold are written past them: the same bits, in arrays that begin anywhere."""

from __future__ import annotations

import numpy as np
import pytest

from soac.frontend.compile import compile_text
from soac.ir.interpret import interpret
from soac.ir.machine import CPU, CUDA, Machine, Mode
from soac.ir.scalar import DTYPES
from soac.ir.types import Prim
from soac.ir.version_tree import sites
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.kernel_ir.execution import read_arrays, written_arrays
from soac.kernels.kernel_ir.nodes import FAR
from soac.kernels.lanes.module import emit
from soac.kernels.passes.nontemporal_stores import streamed
from soac.kernels.passes.pipeline import CPU_PASSES, all_ready
from soac.kernels.schedule import host_builder as hostbuild
from soac.pipeline import Compiled, compile_core

PROGRAMS = {
    "map": "entry main [n] (xs: [n]T): [n]T = map (\\x -> x + x) xs",
    "rows": "entry main [n] (xs: [n]T): [][n]T = map (\\k -> map (\\x -> x + T.i64 k) xs) (iota 5)",
    "rows less their maximum": "entry main [n] (xs: [n]T): [][n]T = map (\\k -> let ys = map (\\x -> x + T.i64 k) xs"
    " let s = reduce T.max (T.i64 0) ys in map (\\y -> y - s) ys) (iota 5)",
    "pairs": "entry main [n] (xs: [n]T): ([n]T, [n]bool) = unzip (map (\\x -> (x - T.i64 1, x < T.i64 3)) xs)",
    "backwards": "entry main [n] (xs: [n]T): [n]T = reverse (map (\\x -> x * x) xs)",
    "parts": "entry main [n] (xs: [n]T): []T = map (\\x -> x + x) xs[n / 3:] ++ map (\\x -> x - T.i64 2) xs",
    "scan": "entry main [n] (xs: [n]T): [n]T = scan (+) (T.i64 0) xs",
    "scans": "entry main [n] (xs: [n]T): [][n]T = map (\\k -> scan T.max (T.i64 k) xs) (iota 3)",
    "stencil": "entry main [n] (xs: [n]T): [n]T ="
    " map (\\i -> xs[i64.max 0 (i - 1)] + xs[i64.min (n - 1) (i + 1)]) (iota n)",
    "in place": "entry main [n] (xs: *[n]T): *[n]T = loop xs for _i < 2 do map (\\x -> x + T.i64 1) xs",
}
LENGTHS = (0, 1, 15, 16, 63, 64, 65, 257, 1300)
TYPES = ("i8", "i16", "f16", "f32", "i64")


def compiled(text: str, machine: Machine = CPU) -> Compiled:
    return compile_core(compile_text(text, "streaming.soac"), Mode.EVERY, machine)


@pytest.fixture
def everything_is_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostbuild, "FAR_BYTES", 0)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_bits(name: str, type_: str, everything_is_far: None) -> None:
    made = compiled(PROGRAMS[name].replace("T", type_))
    assert any(FAR in kernel.scalars for kernel in made.host.kernels)
    program = Executable.build(made.host, made.flat.functions)
    for n in LENGTHS:
        data = np.random.default_rng(n).integers(0, 2, n).astype(DTYPES[Prim(type_)])
        expected, _ = interpret(made.core, "main", [data.copy()])
        for version in [version for site in sites(made.flat) for version in site.versions] or [{}]:
            for threads in (1, 2):
                found, _ = program.run("main", [data.copy()], forced=version, threads=threads)
                for left, right in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(left, right)


def text_of(program: str) -> str:
    return emit(all_ready(compiled(program.replace("T", "f32")).host.kernels, CPU_PASSES))


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "in place"])
def test_whole_vectors_are_streamed(name: str) -> None:
    assert "!nontemporal" in text_of(PROGRAMS[name])
    assert "fence seq_cst" in text_of(PROGRAMS[name])


@pytest.mark.parametrize(
    "program",
    [
        "entry main [n] (xs: [n]T): T = reduce (+) 0 xs",
        "entry main [n] (xs: *[n]T) (is: [n]i64): *[n]T = scatter xs is (map T.i64 is)",
        "entry main (xs: [100]T): [100]T = map (+ 1) xs",
    ],
    ids=["one number", "places that data say", "known to be small"],
)
def test_nothing_to_stream(program: str) -> None:
    assert "!nontemporal" not in text_of(program)


def test_what_is_read_again_goes_through_the_caches() -> None:
    """A block of this kernel reads, in another order, what its threads have written."""
    program = """
    entry main [n][m] (xss: [n][m]i32): ([n][m]i32, [n][m]i32) =
      unzip (map (\\xs -> let ys = scan (+) 0 xs in (ys, map (\\i -> ys[m - 1 - i]) (iota m))) xss)
    """
    kernels = compiled(program).host.kernels
    both = [kernel for kernel in kernels if read_arrays(kernel) & written_arrays(kernel)]
    assert both
    assert all(not streamed(kernel) & read_arrays(kernel) for kernel in both)
    assert any(streamed(kernel) for kernel in both)


def test_gpu_kernels_have_no_such_scalar() -> None:
    made = compiled(PROGRAMS["map"].replace("T", "f32"), CUDA)
    assert not any(FAR in kernel.scalars for kernel in made.host.kernels)
