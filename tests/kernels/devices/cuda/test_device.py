"""The CUDA device on an emulated driver: failures, memory and its end, what callers get and give, several threads."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

from soac.arguments import to_arguments
from soac.ir.core import Level
from soac.ir.errors import RunError
from soac.ir.machine import CUDA
from soac.kernels.devices.cuda.array import CudaArray
from soac.kernels.devices.cuda.driver import GpuLost
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.gpu import Gpu
from soac.kernels.devices.cuda.host.limits import MOST_UNSEEN
from soac.kernels.devices.device import KernelCall, on_host
from soac.kernels.kernel_ir.nodes import Space
from soac.pipeline import compile_prog
from soac.versions import runs_of
from tests.support.emulator.driver import EmulatedDriver, Launched, emulated_gpu
from tests.support.emulator.emulate import COMPILER

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")

SOURCE = """
entry sums [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss
entry gather [n] (xs: [n]i32) (is: [n]i64): [n]i32 = map (\\i -> xs[i] + 1) is
entry twice [n] (xs: [n]i32) (is: [n]i64) (js: [n]i64): [n]i32 =
  let ys = map (\\i -> xs[i]) is
  let k = reduce i64.max 0 (map i64.i32 ys)
  in map (\\j -> ys[j + k]) js
entry same [n] (xs: [n]i32): ([n]i32, [n]i32) = (xs, xs)
entry update [n] (xs: *[n]i32): *[n]i32 = xs with [0] = 7
entry big (n: i64): i64 = let xs = replicate n 1i64 let ys = #[opaque] scan (+) 0 xs in if n > 0 then ys[n - 1] else 0
entry halves [n] (xs: [n]f16) (y: f16) (b: bool): [n]f16 = map (\\x -> if b then x * y else x) xs
entry private [n] (ns: [n]i64): [n]i64 =
  map (\\n -> let xs = scan (+) 0 (iota n) let ys = scan (+) 0 (map2 (*) xs (rotate 1 xs)) in reduce (+) 0 ys) ns
entry walk [n] (xs: [n]i32) (m: i64): [n]i32 = loop xs = copy xs for i < m do map (\\j -> xs[j + i] + 1) (iota n)
entry steps (n: i64): i64 = loop s = 1 for i < n do reduce (+) 0 (map (+ s) (iota i)) % 1000
entry until [n] (xs: [n]i64) (is: [n]i64): i64 =
  loop s = 1 for i < i64.sum (map (\\i -> xs[i]) is) do reduce (+) 0 (map (+ s) (iota i)) % 1000
"""


@pytest.fixture(scope="module")
def compiled() -> Any:
    return compile_prog(SOURCE, "device.soac", machine=CUDA)


@pytest.fixture(params=[True, False], ids=["compiled", "python"])
def program(compiled: Any, request: pytest.FixtureRequest) -> CudaExecutable:
    """Host programs are compiled, or run by Python."""
    return build(compiled, EmulatedDriver(compiled_host=request.param))


def build(compiled: Any, driver: EmulatedDriver) -> CudaExecutable:
    return CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(driver), 64)


def driver_of(program: CudaExecutable) -> EmulatedDriver:
    assert isinstance(program.gpu.driver, EmulatedDriver)
    return program.gpu.driver


def call(program: CudaExecutable, entry: str, *args: Any) -> list[Any]:
    return on_host(program.run(entry, args, convert=to_arguments)[0])


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


XS = np.arange(10, 15, dtype=np.int32)


# ---- failures ----------------------------------------------------------------------------------------------------


def test_a_failure_says_where_and_what(program: CudaExecutable) -> None:
    with pytest.raises(RunError) as failed:
        call(program, "gather", XS, ints(0, 4, 5, 1, 2))
    assert "index [5] out of bounds for array of shape [5]" in str(failed.value)
    assert failed.value.diagnostics[0].primary.loc.line == 3
    (good,) = call(program, "gather", XS, ints(4, 3, 2, 1, 0))
    assert good.tolist() == [15, 14, 13, 12, 11]


def test_each_kernel_has_its_own_sites(program: CudaExecutable) -> None:
    """Sites are numbered throughout the program; the record of one kernel is not read as another's."""
    with pytest.raises(RunError, match=r"index \[9\]") as failed:
        call(program, "twice", XS, ints(0, 1, 2, 3, 9), ints(0, 1, 2, 3, 4))
    assert failed.value.diagnostics[0].primary.loc.line == 5
    with pytest.raises(RunError, match=r"index \[-2\]") as failed:
        call(program, "twice", XS, ints(0, 1, 2, 3, 4), ints(-16, 0, 0, 0, 0))
    assert failed.value.diagnostics[0].primary.loc.line == 7


def test_kernels_after_a_failure_do_nothing(program: CudaExecutable) -> None:
    """What follows in the stream may rely on what failed; it must not run."""
    device, gpu = program.device, program.gpu
    wanted, failed = np.zeros(3, np.int32), np.array([1], np.int64)

    def job() -> np.ndarray:
        out = gpu.upload(wanted)
        gpu.driver.upload(device.record.address, failed)
        device.unseen = 1
        kernel = next(k for k in device.kernels.values() if k.kernel.arrays and not k.text.take_turns)
        inputs = [gpu.upload(np.ones(9, np.int32)) for _ in kernel.kernel.arrays[:-1]]
        call = KernelCall(kernel.kernel.name, 1, [*inputs, out], [0 for _ in kernel.kernel.scalars], 1.0, [])
        device.launch(call)
        found = gpu.to_host(out)
        device.begin()
        return found

    assert np.array_equal(gpu.call(job), wanted)


def test_failures_are_read_where_the_host_waits(program: CudaExecutable) -> None:
    """Not after each launch: a run of several kernels waits once, and once for each scalar that the host uses."""
    driver = driver_of(program)
    xss = program.place("sums", [np.ones((3, 4), np.int32)])
    program.run("sums", xss)
    waits, launches = driver.waits, driver.launches
    program.run("sums", xss)
    assert driver.waits == waits + 1
    assert driver.launches > launches
    assert call(program, "steps", 5) == [30]


def test_a_loop_ends_after_a_failure(program: CudaExecutable) -> None:
    """Its host looks now and then, not only at its end."""
    driver = driver_of(program)
    before = driver.launches
    with pytest.raises(RunError, match=r"index \[5\] out of bounds"):
        call(program, "walk", XS, 1 << 40)
    assert driver.launches - before < 2 * MOST_UNSEEN


def test_a_scalar_behind_a_failure_is_not_used(program: CudaExecutable) -> None:
    """It may be anything; how often a loop is run, for example."""
    driver = driver_of(program)
    assert call(program, "until", ints(2, 3), ints(1, 0)) == call(program, "steps", 5)
    before = driver.launches
    with pytest.raises(RunError, match=r"index \[2\] out of bounds"):
        call(program, "until", ints(2, 3), ints(1, 2))
    assert driver.launches - before <= 2


# ---- memory ------------------------------------------------------------------------------------------------------


def test_out_of_memory_says_how_much(compiled: Any) -> None:
    program = build(compiled, EmulatedDriver(limit=1 << 22))
    with pytest.raises(RunError) as failed:
        call(program, "big", 1 << 20)
    (said,) = failed.value.diagnostics
    assert said.code == "R0301"
    assert said.message.startswith("device out of memory: needs 8.0 MiB for `")
    assert "of 4.0 MiB" in said.message
    assert said.primary.loc.line == 10
    assert said.hint is not None
    assert "version" in said.hint
    assert call(program, "big", 100) == [100]


def test_out_of_memory_for_an_argument(compiled: Any) -> None:
    program = build(compiled, EmulatedDriver(limit=1 << 20))
    with pytest.raises(RunError, match=r"needs 4\.0 MiB for the argument `xs`"):
        call(program, "same", np.zeros(1 << 20, np.int32))


def test_free_blocks_are_given_up_for_others(compiled: Any) -> None:
    """What the pool keeps is no reason to fail."""
    program = build(compiled, EmulatedDriver(limit=3 << 20))
    assert call(program, "big", 1 << 16) == [1 << 16]
    gc.collect()
    program.gpu.call(program.gpu.pool.take_back)
    assert driver_of(program).used > 1 << 19
    xs = np.ones((1, 650_000), np.int32)
    assert call(program, "sums", xs)[0].tolist() == [650_000]


def test_memory_is_used_again(program: CudaExecutable) -> None:
    for _ in range(3):
        call(program, "big", 1 << 13)
    used = driver_of(program).used
    for _ in range(5):
        call(program, "big", 1 << 13)
    assert driver_of(program).used == used


def test_blocks_may_die_in_any_thread(program: CudaExecutable) -> None:
    held = [program.run("same", [XS])[0] for _ in range(3)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    before = program.gpu.pool.held
    program.gpu.call(program.gpu.pool.take_back)
    assert program.gpu.pool.held > before


def test_arrays_inside_of_kernels_get_more_room(compiled: Any) -> None:
    """Their sizes are known in the kernel only: it runs again with larger stacks."""
    program = build(compiled, EmulatedDriver())
    sizes = [0, 1, 30, 2000]

    def expected(n: int) -> int:
        xs = np.cumsum(np.arange(n, dtype=np.int64))
        return int(np.cumsum(xs * np.roll(xs, -1)).sum())

    (small,) = call(program, "private", ints(*sizes[:2]))
    assert program.device.grown == {}
    for forced in ({}, {t: True for t, _, _ in program.run("private", [ints(*sizes)])[1]}):
        got = on_host(program.run("private", [ints(*sizes)], forced=forced)[0])[0]
        assert got.tolist() == [expected(n) for n in sizes]
    assert small.tolist() == [expected(n) for n in sizes[:2]]


def test_what_is_uploaded_stays_until_the_copy_is_done(program: CudaExecutable) -> None:
    """Copies that the upload makes for itself, those of the host program, a caller's own, also if the call fails."""
    xss = np.asfortranarray(np.ones((3, 4), np.int32))
    assert call(program, "sums", xss)[0].tolist() == [4, 4, 4]
    assert call(program, "halves", np.ones(8, np.float16)[::2], np.float16(2), True)[0].tolist() == [2] * 4
    (there,) = program.place("sums", [xss])
    xss[:] = 2
    assert call(program, "sums", there)[0].tolist() == [4, 4, 4]
    xs = XS.copy()
    with pytest.raises(RunError, match="R0105"):
        call(program, "gather", xs, ints(0))
    xs[:] = 0
    assert call(program, "same", XS)[0].tolist() == XS.tolist()
    assert program.gpu.uploading == []


def test_uploads_hold_no_more_than_their_limit(program: CudaExecutable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soac.kernels.devices.cuda.gpu.MOST_UPLOADING", 100)
    waits = driver_of(program).waits
    program.gpu.call(lambda: [program.gpu.upload(XS) for _ in range(10)])
    assert driver_of(program).waits == waits + 1
    assert program.gpu.uploading_bytes <= 100


STACKS = """
entry known [n][m] (xss: [n][m]i64): [n]i64 =
  map (\\xs -> let ys = scan (+) 0 xs let zs = scan (+) 0 (map2 (*) ys (reverse ys)) in reduce (+) 0 zs) xss
entry rows [n][m] (xss: [n][m]i64): [n][m]i64 =
  map (\\xs -> let ys = scan (+) 0 xs in scan (+) 0 (map (\\i -> ys[m - 1 - i]) (iota m))) xss
entry found [n] (ns: [n]i64): [n]i64 =
  map (\\n -> let xs = scan (+) 0 (iota n) let ys = scan (+) 0 (map2 (*) xs (rotate 1 xs)) in reduce (+) 0 ys) ns
entry both [n][m] (ns: [n]i64) (ms: [m]i64): ([n]i64, [m]i64) =
  (found ns, map (\\m -> let xs = scan (+) 0 (iota m) let ys = scan (+) 0 (reverse xs) in reduce (*) 1 ys) ms)
"""


@pytest.fixture(scope="module")
def with_stacks() -> Any:
    return compile_prog(STACKS, "stacks.soac", machine=CUDA)


def settings_of(compiled: Any, entry: str) -> list[dict[str, bool]]:
    return list(runs_of(compiled.flat, entry))


def stacks_of(program: CudaExecutable, entry: str, arg: np.ndarray, forced: dict[str, bool]) -> list[tuple[Any, ...]]:
    """Name, grid and `Memory` (without the address) of each launch that has stacks."""
    launched = launches_of(program, entry, arg, forced)
    found = [one for one in launched if program.device.kernels[one.name].text.stacks]
    return [(one.name, one.grid, one.shared, *one.values[4:7]) for one in found]


def launches_of(program: CudaExecutable, entry: str, arg: np.ndarray, forced: dict[str, bool]) -> list[Launched]:
    """Those of the program's own kernels."""
    driver_of(program).launched.clear()
    program.run(entry, [arg], forced=forced)
    return [one for one in driver_of(program).launched if one.name in program.device.kernels]


def test_stacks_have_the_size_that_is_known_at_the_launch(with_stacks: Any) -> None:
    """Arrays of threads that are as long as a row need no second try, and no more than that."""
    program = build(with_stacks, EmulatedDriver())
    xss, sizes = np.arange(1400, dtype=np.int64).reshape(2, 700), set[tuple[int, int]]()
    for forced in settings_of(with_stacks, "known"):
        sizes |= {(block, thread) for _, _, _, block, thread, _ in stacks_of(program, "known", xss, forced)}
    assert program.device.grown == {}
    assert max(thread for _, thread in sizes) == 700 * 8
    assert all(0 in parts for parts in sizes)


@pytest.mark.parametrize("width", [40, 200])
def test_shared_memory_is_what_arrays_of_blocks_take(with_stacks: Any, width: int) -> None:
    """Not all that a block may have; several warps are one block of threads, each with its own arrays."""
    program, found = build(with_stacks, EmulatedDriver()), dict[Level, set[tuple[int, int]]]()
    xss = np.ones((50, width), np.int64)
    for forced in settings_of(with_stacks, "rows"):
        (got,), _ = program.run("rows", [xss], forced=forced)
        assert np.array_equal(got.numpy()[7], np.cumsum(np.cumsum(xss[7])[::-1]))
        for one in launches_of(program, "rows", xss, forced):
            kernel = program.device.kernels[one.name]
            if Space.SHARED in kernel.text.stacks:
                assert one.values[6] * kernel.text.together == one.shared
                assert (one.grid, one.values[4]) == (-(-50 // kernel.text.together), 0)
                found.setdefault(kernel.kernel.collective, set()).add((one.threads, one.shared))
    assert found == {Level.WARP: {(64, 2 * width * 8)}, Level.BLOCK: {(64, width * 8)}}


MANY = """
entry many [n][m] (xss: [n][m]i64): [n][m]i64 = map (\\xs ->
  let a = scan (+) 0 xs let b = scan (+) 0 (reverse a) let c = scan (+) 0 (reverse b) let d = scan (+) 0 (reverse c)
  let e = scan (+) 0 (reverse d) let f = scan (+) 0 (reverse e) let g = scan (+) 0 (reverse f)
  in scan (+) 0 (map (\\i -> let j = m - 1 - i in a[j] + b[j] + c[j] + d[j] + e[j] + f[j] + g[j]) (iota m))) xss
"""


def test_arrays_of_a_block_are_in_shared_memory_as_far_as_it_may_ask() -> None:
    """Above 48 KiB the driver is asked for leave, where a size says that it may; else another version is taken."""
    compiled, driver = compile_prog(MANY, "many.soac", machine=CUDA), EmulatedDriver()
    program = CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(driver), 64)
    xss = np.ones((2, 1000), np.int64)
    (wanted,), _ = program.run("many", [xss])
    for room, shared in ((48 << 10, set[int]()), (96 << 10, {8 * 7000})):
        sizes = {f"many.ys.shared_{k}": room for k in range(2)}
        found = set[int]()
        for forced in settings_of(compiled, "many"):
            driver.launched.clear()
            (got,), _ = program.run("many", [xss], thresholds=sizes, forced=forced)
            assert np.array_equal(got.numpy(), wanted.numpy())
            found |= {one.shared for one in driver.launched if one.shared > 48 << 10}
        assert found == shared
    driver.allowed.clear()
    assert driver.most_shared(program.device.kernels[driver.launched[-1].name].loaded) == 48 << 10


def test_shared_memory_of_warps_has_room_for_what_is_found_in_the_kernel(with_stacks: Any) -> None:
    """No more than the versions are made for, so that a multiprocessor has as many warps."""
    program = build(with_stacks, EmulatedDriver())
    sizes = {
        (kernel.kernel.collective, one.shared // kernel.text.together)
        for forced in settings_of(with_stacks, "found")
        for one in launches_of(program, "found", ints(5, 7, 0, 3), forced)
        if Space.SHARED in (kernel := program.device.kernels[one.name]).text.stacks
    }
    assert {size for level, size in sizes if level is Level.WARP} <= {6 << 10}


def test_a_version_leaves_the_stacks_of_others_as_they_are(with_stacks: Any) -> None:
    """What one has taken much memory for is no reason for fewer blocks of another."""
    xss, ns = np.arange(40, dtype=np.int64).reshape(4, 10), ints(5000, 7, 0, 3)
    fresh, used = build(with_stacks, EmulatedDriver()), build(with_stacks, EmulatedDriver())
    wanted = [stacks_of(fresh, "known", xss, forced) for forced in settings_of(with_stacks, "known")]
    assert any(wanted)
    for large in settings_of(with_stacks, "found"):
        used.run("found", [ns], forced=large)
        found = [stacks_of(used, "known", xss, forced) for forced in settings_of(with_stacks, "known")]
        assert found == wanted


def test_stacks_grow_for_one_kernel_and_version(with_stacks: Any) -> None:
    """Where sizes are found in kernels only, another kernel of the version has as little as before, and the kernel
    itself in another version."""
    program, small = build(with_stacks, EmulatedDriver()), ints(5, 7)
    forced = settings_of(with_stacks, "both")[0]

    def stacks(*args: np.ndarray, **settings: Any) -> dict[str, tuple[Any, ...]]:
        driver_of(program).launched.clear()
        program.run("both", args, forced=forced, **settings)
        return {one.name: one.values[4:7] for one in driver_of(program).launched}

    first = stacks(small, small)
    grown = stacks(ints(5000, 7), small)
    ((name, _),) = program.device.grown
    assert [one for one in first if grown[one] != first[one]] == [name]
    assert sum(size == first[name] for size in first.values()) == 2
    assert stacks(small, small) == grown
    assert stacks(small, small, thresholds={"other": 1}) == first


def test_memory_for_stacks_goes_back_between_versions(with_stacks: Any) -> None:
    program = build(with_stacks, EmulatedDriver())
    large, *_, flat = settings_of(with_stacks, "found")
    used: list[int] = []
    for forced in (flat, large, flat):
        program.run("found", [ints(50000, 7, 0, 3)], forced=forced)
        gc.collect()
        program.gpu.call(program.gpu.pool.take_back)
        used.append(driver_of(program).used)
    assert used[1] > used[2] + (1 << 20)
    assert used[0] == used[2] or used[2] < 1 << 22


# ---- what callers give and get -----------------------------------------------------------------------------------


def test_arguments_are_never_written_and_results_never_shared(program: CudaExecutable) -> None:
    xs = XS.copy()
    assert call(program, "update", xs)[0].tolist() == [7, 11, 12, 13, 14]
    assert np.array_equal(xs, XS)
    (there,) = program.place("update", [xs])
    assert call(program, "update", there)[0].tolist() == [7, 11, 12, 13, 14]
    assert np.array_equal(there.numpy(), XS)
    first, second = program.run("same", [there])[0]
    assert len({first.address, second.address, there.address}) == 3


def test_results_stay_and_are_arguments(program: CudaExecutable) -> None:
    (rows,) = program.run("sums", [np.ones((3, 4), np.int32)])[0]
    assert isinstance(rows, CudaArray)
    assert call(program, "gather", rows, ints(2, 1, 0))[0].tolist() == [5, 5, 5]


def test_results_of_another_gpu_are_arguments(program: CudaExecutable, compiled: Any) -> None:
    (there,) = build(compiled, EmulatedDriver()).run("same", [XS])[0][:1]
    assert call(program, "gather", there, ints(0, 0, 0, 0, 0))[0].tolist() == [11] * 5


def test_scalars_of_all_kinds(program: CudaExecutable) -> None:
    xs = np.array([1.5, -2.0], np.float16)
    assert call(program, "halves", xs, np.float16(2.0), True)[0].tolist() == [3.0, -4.0]
    assert call(program, "halves", xs, np.float16(2.0), False)[0].tolist() == [1.5, -2.0]


def test_empty_arrays(program: CudaExecutable) -> None:
    assert call(program, "sums", np.zeros((0, 4), np.int32))[0].shape == (0,)
    assert call(program, "sums", np.zeros((3, 0), np.int32))[0].tolist() == [0, 0, 0]
    assert call(program, "big", 0) == [0]


def test_sizes_that_do_not_fit(program: CudaExecutable) -> None:
    with pytest.raises(RunError, match="R0105"):
        call(program, "gather", XS, ints(0))


RECURSIVE = """
#[depth(20)]
def depth (n: i64): i64 = if n == 0 then 0 else depth (n - 1) + 1
entry depths [n] (ns: [n]i64): [n]i64 = map depth ns
"""


@pytest.fixture(scope="module")
def recursive() -> Any:
    return compile_prog(RECURSIVE, "recursive.soac", machine=CUDA)


@pytest.mark.parametrize("compiled_host", [True, False])
def test_recursion_in_every_version_is_as_deep_as_allowed(recursive: Any, compiled_host: bool) -> None:
    """On a stack in each thread, and level by level."""
    program = build(recursive, EmulatedDriver(compiled_host=compiled_host))
    versions = settings_of(recursive, "depths")
    assert len(versions) > 1
    for forced in versions:
        assert on_host(program.run("depths", [ints(0, 19, 7)], forced=forced)[0])[0].tolist() == [0, 19, 7]
        with pytest.raises(RunError, match=r"R0107.*recursion of `depth` is deeper than 20 calls"):
            program.run("depths", [ints(3, 20, 7)], forced=forced)
        assert on_host(program.run("depths", [ints(4)], forced=forced)[0])[0].tolist() == [4]


def test_more_blocks_than_a_grid_has(compiled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the grid take turns, in kernels whose blocks wait for each other too."""
    monkeypatch.setattr("soac.kernels.devices.cuda.device.MOST_GRID", 16)
    program = build(compiled, EmulatedDriver(most_grid=16))
    xss = np.arange(3000, dtype=np.int32).reshape(1000, 3)
    at = np.arange(3000)[::-1].copy()
    assert np.array_equal(call(program, "sums", xss)[0], xss.sum(axis=1))
    assert np.array_equal(call(program, "gather", xss.reshape(-1), at)[0], at + 1)
    assert call(program, "big", 20000) == [20000]
    with pytest.raises(RunError, match=r"index \[3000\]"):
        call(program, "gather", xss.reshape(-1), at + 1)


def test_threads_take_turns(program: CudaExecutable) -> None:
    found: list[list[int]] = []

    def work(k: int) -> None:
        for _ in range(5):
            found.append(call(program, "sums", np.full((2, 3), k, np.int32))[0].tolist())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted([3 * k] * 2 for k in range(4) for _ in range(5))


# ---- a GPU that fails --------------------------------------------------------------------------------------------


def test_a_fault_ends_the_gpu(compiled: Any) -> None:
    program = build(compiled, EmulatedDriver())
    driver_of(program).broken = "an illegal memory access was encountered"
    with pytest.raises(GpuLost, match="illegal memory access"):
        call(program, "sums", np.ones((3, 4), np.int32))
    driver_of(program).broken = None
    with pytest.raises(GpuLost, match="has failed before"):
        call(program, "sums", np.ones((3, 4), np.int32))


def test_a_launch_that_the_driver_refuses_ends_the_call_alone(compiled: Any) -> None:
    program = build(compiled, EmulatedDriver(most_grid=0))
    with pytest.raises(RunError, match=r"the driver of the GPU refuses: a launch of \d+ blocks") as failed:
        call(program, "sums", np.ones((3, 4), np.int32))
    assert failed.value.diagnostics[0].code == "R0302"
    driver_of(program).most_grid = 1 << 20
    assert call(program, "sums", np.ones((3, 4), np.int32))[0].tolist() == [4, 4, 4]


def test_a_driver_that_does_not_start() -> None:
    class Stuck(EmulatedDriver):
        def attach(self) -> None:
            raise RuntimeError("no context")

    gpu = Gpu(Stuck())
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no context"):
            gpu.call(lambda: None)
    gpu.thread.close()
