"""Host functions as native code: the same bits, guards and messages as the Python runner, on every program of the
repository and a sample of the conformance corpus; memory, failures in the middle, signals, and what a launch costs."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import soac
from soac.ir import scalar
from soac.ir.errors import DataError, RunError
from soac.ir.ops import Op, arity
from soac.ir.types import Prim
from soac.kernels.devices import host_runner
from soac.kernels.devices.cpu.executable import Executable, Runner
from soac.kernels.devices.cpu.host.emit import emit_host
from soac.kernels.devices.cpu.runtime import functions as hostruntime
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cpu.runtime import thread_pool as pool
from soac.kernels.host_ir.nodes import HostBody, HostProgram, HostStm, Interpret
from soac.testing.datasets import inputs_of
from soac.versions import runs_of
from tests.support.programs import PROGRAMS, ROOT, is_large, opened, sets_of
from tests.support.source_programs.scalars import INEXACT

CORPUS = sorted(
    path
    for path in (ROOT / "tests" / "conformance").rglob("*.fut")
    if not {"rejected", "library"} & set(path.relative_to(ROOT / "tests" / "conformance").parts)
)[::8]
LARGEST = 1 << 16  # elements of an argument; larger data sets are for other tests

WRITTEN = {Op.POW: "**"}

# ---- both runners ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PROGRAMS, *CORPUS], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_both_runners_agree(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results, guards reached and messages, on every version. All of `programs/` is native. Elementary functions
    are those of machine code in both: descents make thousands of ulp of one between ours and the C library's."""
    monkeypatch.setattr(host_runner, "scalar", SimpleNamespace(**vars(scalar) | {"meaning": meaning}))
    program = opened(path).program
    native = on_cpu(program)
    assert path not in PROGRAMS or set(native.native.entries) == set(program.entries)
    by_python = Executable.build(program.compiled.host, program.compiled.core.functions, runner=Runner.PYTHON)
    assert by_python.native.entries == {}
    for one in sets_of(path):
        if is_large(one, LARGEST):
            continue
        try:
            args = inputs_of(one, program, path)
        except RunError:  # sizes that do not fit each other: no runner sees them
            continue
        if sum(np.size(arg) for arg in args) > LARGEST:
            continue
        for sides in runs_of(program.compiled.flat, one.entry):
            same_outcome(outcome(native, one.entry, args, sides), outcome(by_python, one.entry, args, sides))


def meaning(op: Op, prim: Prim) -> Callable[..., object]:
    """What the Python runner takes for an operation."""
    return elementary(op, prim) if prim.is_float and WRITTEN.get(op, op.value) in INEXACT else scalar.meaning(op, prim)


@cache
def elementary(op: Op, prim: Prim) -> Callable[..., object]:
    """An elementary function as machine code of the host."""
    params, name = ["x", "y"][: arity(op)], prim.value
    called = "x ** y" if op is Op.POW else f"{name}.{op.value} {' '.join(params)}"
    program = soac.compile(f"entry main {' '.join(f'({x}: {name})' for x in params)}: {name} = {called}")
    dtype = scalar.DTYPES[prim].type
    return lambda *args: float(program.main(*map(dtype, args)))


def on_cpu(program: soac.Program) -> Executable:
    return Executable.build(program.compiled.host, program.compiled.core.functions)


def outcome(executable: Executable, entry: str, args: list, sides: dict[str, bool]) -> object:
    try:
        return executable.run(entry, args, forced=sides)
    except RunError as error:
        return error.diagnostics


def same_outcome(native: object, python: object) -> None:
    if not isinstance(native, tuple) or not isinstance(native[0], list):
        assert native == python
        return
    assert isinstance(python, tuple)
    assert native[1] == python[1]
    for found, wanted in zip(native[0], python[0], strict=True):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(found, wanted)


# ---- statements --------------------------------------------------------------------------------------------------

STATEMENTS = """
entry numbers (a: i64) (b: i64) (x: f32) : (i64, i64, i64, i64, f32, bool, f64) =
  (a / b, a % b, a // b, a ** b, f32.sqrt x + f32.i64 a, a < b && !(b == 3), f64.f32 x)
entry small (a: i8) (b: u8) (h: f16) : (i8, u8, f16, bool) = (a + a, b * b, h + h, f16.isnan h)
entry turned [n][m] (xss: [n][m]i32) : [m][n]i32 = transpose xss
entry every [n] (xs: [n]i64) (from: i64) (to: i64) (step: i64) : []i64 = copy xs[from:to:step]
entry joined [n][m] (xs: [n]u16) (ys: [m]u16) : []u16 = xs ++ ys ++ xs
entry filled (n: i64) (m: i64) (b: bool) : [n][m]bool = replicate n (replicate m b)
entry rows [m] (n: i64) (xs: [m]f64) : [n][m]f64 = replicate n xs
entry counted (n: i64) (by: i64) : [n]i64 = map (* by) (iota n)
entry shifted [n] (xs: *[n]i32) : *[n]i32 = let ys = copy xs[1:] in xs with [0:n - 1] = ys
entry swapped [n] (k: i32) (xs: [n]i32) (ys: [n]i32) : ([n]i32, [n]i32) =
  loop (xs, ys) for _i < k do (ys, map (+ 1) xs)
entry collatz (n: i64) : (i64, i64) =
  loop (steps, x) = (0, n) while x != 1 do (steps + 1, if x % 2 == 0 then x / 2 else 3 * x + 1)
entry table (i: i64) : i32 = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89][i]
entry pair [n] (xs: [n]f32) : [2][n]f32 = [xs, map (* 2) xs]
entry same [n] (xs: [n]f32) : ([n]f32, [n]f32, i64) = (xs, xs, n)
entry shape [n][m] (xss: [n][m]f32) : [m * n]f32 = flatten (transpose xss)
entry nested (n: i32) : i32 = loop acc = 0 for i < n do loop acc for j < i do acc + i * j
entry scans [n] (k: i64) (xs: [n]i32) : [n]i32 = loop ys = xs for _i < k do scan (+) 0 ys
entry grown (k: i64) : []i64 =
  loop xs: []i64 = [1, 2] for i < k do
    let ys = filter (\\x -> x % 7 != i % 7) (xs ++ map (+ i) xs)
    let ends = [0, i] ++ replicate (i % 3) 5
    in if length ys > 40 then (ys ++ ends)[::3] else ys
entry carried [n] (k: i64) (xs: [n]i64) : ([n]i64, []i64, [n]i64) =
  loop (xs: [n]i64, ys: []i64, zs: [n]i64) = (xs, [], xs) for i < k do
    let twice = filter (> i) (map (* 2) xs)
    let turned = reverse xs
    in if i % 3 == 0 then (turned, twice, turned)
       else if i % 3 == 1 then (zs, ys ++ twice, xs) else (xs, ys[:i64.min 1 (length ys)], zs)
entry must [n] (xs: [n]i32) (k: i64) : [k]i32 = assert (k <= n) (map (\\i -> xs[i]) (iota k))
entry at [n][m] (xss: [n][m]i32) (i: i64) (j: i64) : i32 = xss[i, j]
entry room (n: i64) : [n][n]f64 = replicate n (replicate n 0)
entry late [n] (xs: [n]i32) (k: i64) : i32 = let ys = scan (+) 0 xs let zs = scan (+) 1 xs in ys[k] + zs[k / k]
def halved [n] (xs: [n]i32): [n]i32 =
  if n < 2 then map (+ 1) xs else (halved xs[n / 2:] ++ halved xs[:n / 2]) :> [n]i32
entry halves [n] (xs: [n]i32) : [n]i32 = halved xs
#[depth(50)]
def sum_to [n] (xs: *[n]i64) (b: bool) (k: i64): ([n]i64, f32) =
  if k == 0 then (xs, if b then 0.5 else 1) else
  let (ys, x) = sum_to (xs with [k] = xs[k] + xs[k - 1]) b (k - 1) in (map (+ 1) ys, x + f32.i64 k)
entry sums_to [n] (xs: *[n]i64) (k: i64) : ([n]i64, f32) = sum_to xs (k > 3) k
def odd_or_even (n: i64): bool = if n == 0 then false else even_or_odd (n - 1)
def even_or_odd (n: i64): bool = n == 0 || odd_or_even (n - 1)
entry even (n: i64) : bool = even_or_odd n
"""

CALLS = [
    ("numbers", 7, 2, np.float32(2)), ("numbers", -7, 2, np.float32(2)), ("numbers", 7, 0, np.float32(2)),
    ("numbers", 7, -1, np.float32(2)), ("numbers", -(1 << 63), 1, np.float32(-1)),
    ("small", np.int8(100), np.uint8(100), np.float16(1.5)), ("small", np.int8(-1), np.uint8(255), np.float16("nan")),
    ("turned", np.arange(12, dtype=np.int32).reshape(3, 4)), ("turned", np.zeros((0, 4), np.int32)),
    ("every", np.arange(9), 7, 1, -2), ("every", np.arange(9), 1, 20, 2), ("every", np.arange(9), 0, 9, 3),
    ("every", np.arange(9), 4, 4, 1), ("every", np.arange(9), 0, 9, 0), ("every", np.arange(9), 0, 1 << 62, 1 << 61),
    ("joined", np.arange(3, dtype=np.uint16), np.arange(5, dtype=np.uint16)),
    ("joined", np.arange(0, dtype=np.uint16), np.arange(5, dtype=np.uint16)),
    ("filled", 2, 3, True), ("filled", 0, 3, True), ("filled", -1, 3, True), ("filled", 3, -2, False),
    ("rows", 3, np.arange(3.0)), ("rows", 0, np.arange(3.0)), ("counted", 5, 3), ("counted", -5, 3),
    ("shifted", np.arange(9, dtype=np.int32)), ("shifted", np.arange(0, dtype=np.int32)),
    ("swapped", np.int32(3), np.arange(4, dtype=np.int32), np.arange(4, 8, dtype=np.int32)),
    ("swapped", np.int32(-3), np.arange(4, dtype=np.int32), np.arange(4, 8, dtype=np.int32)),
    ("collatz", 27), ("table", 9), ("table", 10), ("table", -1), ("pair", np.arange(3, dtype=np.float32)),
    ("same", np.arange(3, dtype=np.float32)), ("shape", np.arange(6, dtype=np.float32).reshape(2, 3)),
    ("nested", np.int32(20)), ("scans", 5, np.arange(5, dtype=np.int32)), ("scans", 0, np.arange(5, dtype=np.int32)),
    ("grown", 0), ("grown", 60), ("carried", 50, np.arange(-4, 9)), ("carried", 3, np.arange(0)),
    ("must", np.arange(5, dtype=np.int32), 3), ("must", np.arange(5, dtype=np.int32), 6),
    ("at", np.arange(6, dtype=np.int32).reshape(2, 3), 1, 2), ("at", np.arange(6, dtype=np.int32).reshape(2, 3), 1, 3),
    ("at", np.arange(6, dtype=np.int32).reshape(2, 3), -1, 0), ("room", 1 << 22), ("room", 1 << 40),
    ("late", np.arange(5, dtype=np.int32), 4), ("late", np.arange(5, dtype=np.int32), 0),
    ("late", np.arange(5, dtype=np.int32), 5),
    ("halves", np.arange(37, dtype=np.int32)), ("halves", np.arange(0, dtype=np.int32)),
    ("sums_to", np.arange(9), 8), ("sums_to", np.arange(9), 3), ("sums_to", np.arange(9), 9),
    ("sums_to", np.arange(90), 49), ("sums_to", np.arange(90), 50), ("even", 17), ("even", 998), ("even", -1),
    ("turned", np.arange(700 * 901, dtype=np.int32).reshape(700, 901)), ("rows", 900, np.arange(901.0)),
    ("every", np.arange(300_000), 299_999, 0, -1), ("every", np.arange(300_000), 1, 300_000, 3),
    ("shifted", np.arange(300_000, dtype=np.int32)), ("filled", 700, 901, True),
    ("shape", np.arange(700 * 901, dtype=np.float32).reshape(700, 901)),
]  # fmt: skip


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(STATEMENTS, "statements.soac")


@pytest.fixture(scope="module")
def by_python(program: soac.Program) -> Executable:
    return Executable.build(program.compiled.host, program.compiled.core.functions, runner=Runner.PYTHON)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_statements(program: soac.Program, by_python: Executable, call: tuple) -> None:
    entry, *given = call
    args = [np.int64(arg) if type(arg) is int else np.bool_(arg) if type(arg) is bool else arg for arg in given]
    before = [np.array(arg) for arg in args]
    for _ in range(3):  # also with memory that was used before
        same_outcome(outcome(on_cpu(program), entry, args, {}), outcome(by_python, entry, args, {}))
    assert all(np.array_equal(a, b, equal_nan=b.dtype.kind == "f") for a, b in zip(args, before, strict=True))


def test_every_statement_is_tested(program: soac.Program) -> None:
    assert {entry for entry, *_ in CALLS} == set(program.entries) == set(on_cpu(program).native.entries)


def test_interpreted_statements_keep_the_python_runner(program: soac.Program) -> None:
    """A function that the interpreter has a part in is run by Python, the others of the program are not."""
    first, *others = program.compiled.host.functions
    fun = program.compiled.core.functions[0]
    interpreted = HostStm((), Interpret(fun, (), (), "for the test"), fun.loc)
    changed = replace(first, body=HostBody((interpreted, *first.body.stms), first.body.result))
    _, made = emit_host(HostProgram((changed, *others), program.compiled.host.kernels))
    assert [info.fun for info in made] == others


# ---- arguments ---------------------------------------------------------------------------------------------------


def test_arguments_of_other_forms(program: soac.Program) -> None:
    """Strided, reversed, read-only and foreign arrays are taken as they are meant; others are refused."""
    xs = np.arange(12, dtype=np.int32)
    frozen = xs.reshape(3, 4).copy()
    frozen.flags.writeable = False
    for xss in (xs.reshape(3, 4)[::2], xs.reshape(4, 3).T, xs[::-1].reshape(3, 4), frozen, [[1, 2], [3, 4]]):
        assert np.array_equal(program.turned(xss), np.transpose(xss))
    with pytest.raises(DataError):
        program.turned(xs)
    with pytest.raises(DataError):
        program.turned(xs.reshape(3, 4).astype(">i4").astype(np.float32))
    assert np.array_equal(program.turned(xs.reshape(3, 4).astype(">i4")), xs.reshape(3, 4).T)


def test_sizes_that_do_not_fit() -> None:
    program = soac.compile("entry dot [n] (xs: [n]f32) (ys: [n]f32): f32 = f32.sum (map2 (*) xs ys)", "dot.soac")
    with pytest.raises(RunError, match="R0105"):
        program.dot(np.ones(3, np.float32), np.ones(4, np.float32))
    assert program.dot(np.ones(3, np.float32), np.ones(3, np.float32)) == 3


# ---- memory ------------------------------------------------------------------------------------------------------


def test_results_own_their_memory(program: soac.Program) -> None:
    """Large results live as long as a view of them, and their memory is used again afterwards."""
    ones = program.filled(2000, 3000, True)
    last = ones[-1]
    del ones
    others = [program.filled(2000, 3000, False) for _ in range(3)]
    assert last.all()
    assert not any(other.any() for other in others)
    address = others.pop().ctypes.data
    gc.collect()
    assert program.filled(2000, 3000, True).ctypes.data == address


def test_results_are_apart(program: soac.Program) -> None:
    xs = np.arange(5000, dtype=np.float32)
    first, second, n = program.same(xs)
    assert n == 5000
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, xs)
    first[:] = 0
    assert second[-1] == xs[-1] == 4999


def test_memory_does_not_grow(program: soac.Program) -> None:
    """Buffers come back after loops, and after failures in the middle of a function."""

    def rounds() -> None:
        for _ in range(40):
            program.scans(20, np.ones(50_000, np.int32))
            program.swapped(np.int32(7), np.ones(50_000, np.int32), np.ones(50_000, np.int32))
            with pytest.raises(RunError):
                program.late(np.ones(50_000, np.int32), 50_000)
            with pytest.raises(RunError):
                program.late(np.ones(50_000, np.int32), 0)
            with pytest.raises(RunError):
                program.sums_to(np.ones(20_000, np.int64), 60)

    rounds()
    before = resident()
    for _ in range(4):
        rounds()
    assert resident() - before < 16 << 20  # a lost array in each round would make 32 MB and more


def resident() -> int:
    """Bytes of memory of this process."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the size of a process is read from /proc")
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_calls_from_several_threads(program: soac.Program) -> None:
    inputs = [np.arange(k, k + 3000, dtype=np.int32) for k in range(12)]
    expected = [program.scans(4, x) for x in inputs]
    with ThreadPoolExecutor(6) as threads:
        for _ in range(5):
            for found, wanted in zip(threads.map(lambda x: program.scans(4, x), inputs), expected, strict=True):
                assert np.array_equal(found, wanted)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_works_after_fork(program: soac.Program) -> None:
    xs = np.arange(200_000, dtype=np.int32)
    expected = program.scans(2, xs)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(program.scans(2, xs), expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# ---- stopping ----------------------------------------------------------------------------------------------------

ENDLESS = "entry main (n: i64): [16]i64 = loop xs = iota 16 while xs[0] < n do scan (+) 0 xs"


@pytest.fixture(scope="module")
def endless() -> soac.Program:
    return soac.compile(ENDLESS, "endless.soac")


def test_a_stop_request_ends_a_recursion() -> None:
    source = """
      #[depth(100)]
      def fib (n: i64): i64 = if n < 2 then n else fib (n - 1) + fib (n - 2)
      entry main (n: i64) = fib n
    """
    program = soac.compile(source, "fib.soac")
    assert program.main(10) == 55
    threading.Timer(0.1, pool.request_stop).start()
    with pytest.raises(KeyboardInterrupt):
        program.main(90)


def test_a_stop_request_ends_a_loop(endless: soac.Program) -> None:
    timer = threading.Timer(0.1, pool.request_stop)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        endless.main(1)
    assert endless.main(0)[1] == 1


@pytest.fixture
def alarm() -> Iterator[None]:
    def late(number: int, frame: object) -> None:
        raise TimeoutError("the alarm")

    before = signal.signal(signal.SIGALRM, late)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background may ignore it
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    signal.signal(signal.SIGINT, interrupt)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarm here")
@pytest.mark.usefixtures("alarm")
def test_signal_handlers_end_a_loop(endless: soac.Program) -> None:
    """What a handler raises comes out of the call; Ctrl-C is one of them."""
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(TimeoutError, match="the alarm"):
        endless.main(1)
    timer = threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        endless.main(1)


# ---- guards and cost ---------------------------------------------------------------------------------------------


def test_thresholds_are_inputs() -> None:
    program = soac.compile("entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss", "sums.soac")
    xss = np.ones((20, 3), np.float32)
    name = program.trace("main", [xss])[1][0][0]
    for threshold, taken in ((20, True), (21, False), ((1 << 63) - 1, False), (0, True), (None, True)):
        settings = {} if threshold is None else {name: threshold}
        assert program.trace("main", [xss], settings)[1] == ((name, 20, taken),)
        assert program.trace("main", [xss], settings, {name: not taken})[1] == ((name, 20, not taken),)


def test_defaults_are_those_of_the_threads() -> None:
    """A guard on skew compares with the number of threads of the call."""
    source = "entry main (ns: []i64): []i64 = map (\\n -> i64.sum (map (+ n) (iota n))) ns"
    executable = on_cpu(soac.compile(source, "uneven.soac"))
    ns = np.array([1 << 16, 1])
    for threads, taken in ((1, True), (2, False), (1, True)):
        assert [guard[2] for guard in executable.run("main", [ns], threads=threads)[1]] == [taken]


def test_a_long_trace(program: soac.Program) -> None:
    source = """
    entry main [n] (k: i64) (xss: [n][n]f32): [n][n]f32 =
      #[flattening(no_intra)] loop xss for _i < k do map (\\xs -> map (+ f32.sum xs) xs) (transpose xss)
    """
    looped = soac.compile(source, "looped.soac")
    trace = looped.trace("main", [1000, np.zeros((10, 10), np.float32)])[1]
    assert len(trace) >= 1000
    assert {par for _, par, _ in trace} == {10}


def test_a_launch_costs_little(program: soac.Program) -> None:
    """A launch in a loop of the host, with an array that each iteration makes: a fraction of a microsecond; the bound
    leaves room for slow and busy machines."""
    xs = np.ones(16, np.int32)
    program.scans(1, xs)
    best = min(timed(lambda: program.scans(1000, xs)) for _ in range(10))
    assert best / 1000 < 20e-6


def timed(action) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


@pytest.mark.parametrize(
    "triple, cpu", [("aarch64-unknown-linux-gnu", "neoverse-n1"), ("x86_64-unknown-linux-gnu", "x86-64-v3")]
)
def test_other_machines_can_be_compiled_for(program: soac.Program, triple: str, cpu: str) -> None:
    jit.llvm.initialize_all_targets()
    jit.llvm.initialize_all_asmprinters()
    target = jit.Host(triple, cpu, "")
    assert jit.compile_object(hostruntime.runtime_modules(target.triple), target)
    assert jit.compile_object((emit_host(program.compiled.host)[0],), target, jit.Effort.QUICK)


def test_the_runtime_is_made_once() -> None:
    assert hostruntime.runtime() is hostruntime.runtime()
