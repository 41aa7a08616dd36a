"""Turns of a loop of the host as one graph: what the driver is asked for, and that nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soac.arguments import to_arguments
from soac.ir.errors import RunError
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import CUDA
from soac.kernels.devices.cuda.driver import DriverRefusal
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.host.limits import MOST_GRAPHS
from soac.kernels.devices.cuda.libcuda import KernelNode
from soac.kernels.devices.device import on_host
from soac.kernels.host_ir.launch_parameters import VALUES, Kind, launch_sizes, size_kind
from soac.kernels.host_ir.nodes import HostProgram
from soac.pipeline import Compiled, compile_prog
from soac.versions import runs_of
from tests.kernels.devices.cuda.test_native import SMALL, build, compiled_file
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")

SOURCE = """
entry stencil [n] (xs: [n]f32) (k: i64): [n]f32 =
  loop xs = copy xs for _i < k do
    let ys = #[opaque] map (\\j -> xs[j] + xs[(j + 1) % n] / 2) (iota n)
    in map (\\j -> ys[j] - ys[(j + n - 1) % n] / 4) (iota n)
entry walk [n] (xs: [n]i32) (m: i64): [n]i32 = loop xs = copy xs for i < m do map (\\j -> xs[j + i] + 1) (iota n)
entry scans [n] (xs: [n]i32) (m: i64): [n]i32 =
  loop xs = copy xs for i < m do let ys = #[opaque] scan (+) 0 xs in map (\\y -> y % 1000 + i32.i64 i) ys
entry kinds [n] (xs: [n]i32) (m: i64): [n]i32 =
  loop xs = copy xs for i < m do
    if i % 3 == 0 then let ys = #[opaque] map (+ 1) xs in rotate 1 ys
    else let ys = #[opaque] map (* 3) xs in let zs = #[opaque] reverse ys in map (% 10007) zs
entry until [n] (xs: [n]i32) (most: i32): [n]i32 =
  loop xs = copy xs while reduce i32.max 0 xs < most do let ys = #[opaque] map (+ 1) xs in map2 (+) ys (rotate 1 ys)
entry nested [n] (xs: [n]i32) (m: i64): [n]i32 =
  loop xs = copy xs for i < m do
    let ys = loop ys = xs for j < i do let zs = #[opaque] map (+ i32.i64 j) ys in rotate 1 zs
    in map2 (+) ys xs
entry both [n] (xs: *[n]i32) (m: i64): *[n]i32 =
  loop xs for i < m do let ys = #[opaque] map (* 2) xs in let xs[i % n] = ys[(i + 1) % n] in xs
"""
XS = np.arange(1, 8, dtype=np.int32)
CALLS: dict[str, list[Any]] = {
    "stencil": [np.linspace(0, 1, 33, dtype=np.float32), np.int64(23)],
    "walk": [np.arange(9, dtype=np.int32), np.int64(1)],
    "scans": [XS, np.int64(17)],
    "kinds": [XS, np.int64(40)],
    "until": [XS, np.int32(10000)],
    "nested": [XS, np.int64(9)],
    "both": [XS, np.int64(19)],
}


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_prog(SOURCE, "graphs.soac", machine=CUDA)


def turns(program: HostProgram, several: int) -> dict[str, int]:
    """The setting of all loops."""
    names = (size.name for fun in program.functions for size in launch_sizes(fun))
    return {name: several for name in names if size_kind(name) is Kind.GRAPH_TURNS}


def asked(program: CudaExecutable, settings: dict[str, int], args: list[Any]) -> tuple[int, int]:
    """Launches of kernels and graphs in a third call, and changes of parameters."""
    for _ in range(2):
        program.run("main", args, settings, convert=to_arguments)
    native = program.gpu.native
    assert native is not None
    assert native.queue is not None
    native.words.launches = native.queue.words.updates = 0
    program.run("main", args, settings, convert=to_arguments)
    return native.words.launches, native.queue.words.updates


def run(program: CudaExecutable, compiled: Compiled, entry: str, args: list[Any], several: int) -> list[Any]:
    """With launches of each turn."""
    forced = next(forced for forced in runs_of(compiled.flat, entry) if not any(forced.values()))
    return on_host(program.run(entry, args, turns(compiled.host, several), forced, convert=to_arguments)[0])


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("locvolcalib", SMALL, [(2046, 0), (70, 412), (28, 500)]),
        ("lud", [np.ones((256, 256), np.float32)], [(764, 0), (64, 1021), (22, 1021)]),
    ],
)
def test_what_the_driver_is_asked_for(name: str, args: list[Any], wanted: list[tuple[int, int]]) -> None:
    """Where parameters come again, as buffers do; where a counter is among those of all kernels."""
    compiled = compiled_file(name)
    program, driver = build(compiled)
    found = [asked(program, turns(compiled.host, several), args) for several in VALUES[Kind.GRAPH_TURNS]]
    assert found == wanted
    assert driver.made <= 3 * MOST_GRAPHS


@needs_compiler
@pytest.mark.parametrize("entry", CALLS)
@pytest.mark.parametrize("several", [2, 4, 7])
def test_the_values_are_those_of_the_interpreter(compiled: Compiled, entry: str, several: int) -> None:
    driver = EmulatedDriver()
    program = CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(driver), 64)
    wanted = prepare(compiled.core).run(entry, CALLS[entry], Thresholds())[0]
    settings = turns(compiled.host, several)
    for forced in [*runs_of(compiled.flat, entry)] * 2:
        found = on_host(program.run(entry, CALLS[entry], settings, forced, convert=to_arguments)[0])
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(x, y)
    assert (driver.graph_launches > 0) == (entry != "walk")


@needs_compiler
def test_a_failure_is_found_as_without_graphs(compiled: Compiled) -> None:
    found = []
    for several in (1, 2, 4, 12):
        program = CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(EmulatedDriver()), 64)
        for _ in range(2):
            with pytest.raises(RunError) as why:
                run(program, compiled, "walk", [XS, np.int64(50)], several)
            found.append(str(why.value))
        result = run(program, compiled, "stencil", CALLS["stencil"], several)
        assert np.isfinite(result[0]).all()
    assert len(set(found)) == 1
    assert "out of bounds" in found[0] or "index" in found[0]


@needs_compiler
@pytest.mark.parametrize("what", ["make", "set"])
def test_a_driver_that_refuses_has_launches_one_by_one(
    compiled: Compiled, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> Any:
        raise DriverRefusal("no graphs today")

    monkeypatch.setattr(EmulatedDriver, "make_graph" if what == "make" else "set_step", refused)
    driver = EmulatedDriver()
    program = CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(driver), 64)
    for entry in ("kinds", "stencil"):
        found = run(program, compiled, entry, CALLS[entry], 4)
        plain = run(program, compiled, entry, CALLS[entry], 1)
        np.testing.assert_array_equal(found[0], plain[0])
    assert driver.launches > 0


def test_a_node_is_what_the_driver_takes() -> None:
    """`CUDA_KERNEL_NODE_PARAMS_v2`."""
    assert KernelNode.extra.offset == 48
    assert KernelNode.context.offset + 8 == 72
