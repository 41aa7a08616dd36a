"""Calls whose settings were decided once: the same results, messages and guards as other calls, references and buffers
in balance, one call at a time on a turn, and little time."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import soac
from soac.ir.errors import SoacError
from soac.kernels.devices.cpu.executable import Executable

SOURCE = """
entry scalars (a: i8) (b: u8) (c: i16) (d: u16) (e: i32) (f: u32) (g: i64) (h: u64) (x: f16) (y: f32) (z: f64) (q: bool)
  : (i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64, bool) =
  (a + 1, b + 1, c + 1, d + 1, e + 1, f + 1, g + 1, h + 1, x + 1, y + 1, z + 1, q == false)
entry of_size (n: i32) (k: i64) (xs: [k]i64): ([k]i64, i64) = (map (+ i64.i32 n) xs, k)
entry fixed [n] (xs: [n][3]f32) (ys: [3]f64) (zs: [n]bool): ([n][3]f32, [3]f64, [n]bool) =
  (map (map (* 2)) xs, map (+ 1) ys, map (== false) zs)
entry twice [n] (xs: [n]f32): ([n]f32, [n]f32) = let ys = map (+ 1) xs in (ys, ys)
entry none: i32 = 7
entry scaled [n] (a: f32) (xs: [n]f32): ([n]f32, f32) = (map (* a) xs, a)
entry at [n] (xs: [n]i32) (i: i64): i32 = map (* 2) xs |> \\ys -> ys[i]
entry inside [n] (xs: [n]i32) (is: [n]i64): [n]i32 = map (\\i -> xs[i]) is
entry sums [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss
entry large (n: i64): [n]f64 = replicate n 1
"""

FLOATS = np.arange(12, dtype=np.float32).reshape(4, 3)
CALLS: list[tuple[Any, ...]] = [
    ("scalars", np.int8(-1), np.uint8(255), np.int16(-300), np.uint16(65535), np.int32(-70000), np.uint32(1 << 31),
     np.int64(-(1 << 62)), np.uint64((1 << 64) - 2), np.float16(1.5), np.float32(-0.0), np.float64(1e300), np.True_),
    ("scalars", 1, 2, 3, 4, 5, 6, 7, 8, 1.5, 2.5, 3.5, False),
    ("of_size", np.int32(-3), np.int64(4), np.arange(4)), ("of_size", np.int32(3), np.int64(5), np.arange(4)),
    ("of_size", np.int32(3), np.int64(-1), np.arange(4)), ("of_size", 3, 4, [1, 2, 3, 4]),
    ("of_size", np.int32(-3), np.int64(4), np.arange(4).astype(np.longlong)),
    ("of_size", np.int32(-3), np.int64(4), np.arange(8)[::2]), ("of_size", np.int32(0), np.int64(4)),
    ("fixed", FLOATS, np.ones(3), np.ones(4, bool)), ("fixed", FLOATS, np.ones(4), np.ones(4, bool)),
    ("fixed", FLOATS, np.ones(3), np.ones(3, bool)), ("fixed", FLOATS[:, :2], np.ones(3), np.ones(4, bool)),
    ("fixed", FLOATS.astype(np.float64), np.ones(3), np.ones(4, bool)),
    ("fixed", np.zeros((0, 3), np.float32), np.ones(3), np.zeros(0, bool)),
    ("twice", np.ones(7, np.float32)), ("twice", np.ones(70_000, np.float32)), ("none",), ("none", 1),
    ("at", np.arange(9, dtype=np.int32), np.int64(8)), ("at", np.arange(9, dtype=np.int32), np.int64(9)),
    ("inside", np.arange(9, dtype=np.int32), np.arange(9)), ("inside", np.arange(9, dtype=np.int32), np.arange(1, 10)),
    ("sums", np.ones((20, 30), np.float32)), ("large", np.int64(1 << 50)), ("large", np.int64(3000)),
]  # fmt: skip


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(SOURCE, "prepared.soac")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_the_same_as_other_calls(program: soac.Program, call: tuple[Any, ...]) -> None:
    entry, *args = call
    prepared = program.prepare(entry)
    for _ in range(3):  # a failure leaves nothing behind
        same(outcome(lambda: prepared(args)), outcome(lambda: program.trace(entry, args)[0]))


def test_arrays_in_another_order_are_only_copied(program: soac.Program, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, wide = program.prepare("sums"), np.arange(60, dtype=np.float32).reshape(6, 10)
    prepared([wide])
    monkeypatch.delattr(Executable, "run")  # where arguments are converted
    for xss in (wide.T, wide[::-1, ::2], np.asfortranarray(wide), wide[:0, 3:]):
        assert np.array_equal(prepared([xss])[0], xss.sum(1))


RANGES = ("-128 256 0 0 0 0 0 0", "127 255 -32769 0 0 0 0 0", "0 0 0 65535 2147483648 0 0 0",
          "0 0 0 0 0 -1 9223372036854775807 0", "0 0 0 0 0 4294967295 9223372036854775808 0",
          "0 0 0 0 0 0 0 18446744073709551615", "127 0 0 0 0 0 0 18446744073709551616")  # fmt: skip


@pytest.mark.parametrize("numbers", RANGES)
@pytest.mark.parametrize("others", [(1.5, 2.5, 3.5, True), (1, 2, 3, False)])
def test_numbers_of_python_are_those_of_numpy(program: soac.Program, numbers: str, others: tuple[Any, ...]) -> None:
    """In range the same as NumPy's, else refused."""
    args, types = (*map(int, numbers.split()), *others), "bBhHiIqQefd?"
    found = outcome(lambda: program.prepare("scalars")(args))
    try:
        exact = [np.array(x, t)[()] for x, t in zip(args, types, strict=True)]
    except OverflowError:
        assert "expected" in found
    else:
        same(found, outcome(lambda: program.prepare("scalars")(exact)))


def test_numbers_of_python_take_no_detour(program: soac.Program, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = program.prepare("of_size"), program.prepare("at")
    monkeypatch.setattr(Executable, "run", None)
    assert one((3, 4, np.arange(4)))[1] == 4
    assert two((np.arange(9, dtype=np.int32), 8))[0] == 16


@pytest.mark.parametrize("a", [1e-5, -0.1, 1e-46, 3.40282356e38, 3.4028235677973366e38, -1e39, 1e300,
                               float("inf"), float("-inf"), float("nan")])  # fmt: skip
def test_floats_of_python_are_rounded(program: soac.Program, monkeypatch: pytest.MonkeyPatch, a: float) -> None:
    """For an f32, as elsewhere: what overflows is refused; the others take no detour."""
    prepared, args = program.prepare("scaled"), (a, np.ones(3, np.float32))
    wanted = outcome(lambda: program.trace("scaled", args)[0])
    if abs(a) in (3.4028235677973366e38, 1e39, 1e300):
        assert "does not fit" in str(wanted)
    else:
        monkeypatch.setattr(Executable, "run", None)
    same(outcome(lambda: prepared(args)), wanted)


def outcome(run: Callable[[], list[Any]]) -> list[Any] | str:
    try:
        return run()
    except SoacError as error:
        return f"{type(error).__name__} {error}"


def same(found: list[Any] | str, wanted: list[Any] | str) -> None:
    if isinstance(found, str) or isinstance(wanted, str):
        assert found == wanted
        return
    for ours, other in zip(found, wanted, strict=True):
        assert type(ours) is type(other)
        assert (ours.dtype, ours.shape) == (other.dtype, other.shape)
        assert ours.tobytes() == other.tobytes()
        assert not ours.shape or (ours.flags.c_contiguous and ours.flags.writeable and ours.flags.aligned)


def test_settings_are_decided_once(program: soac.Program) -> None:
    """Thresholds, forced sides and the number of threads are those of the preparation."""
    ((name, par, _),) = program.trace("sums", [np.ones((20, 30), np.float32)])[1]
    xss = np.random.default_rng(0).random((par, 3000), np.float32)
    for thresholds, forced in (({}, {}), ({name: par + 1}, {}), ({}, {name: True}), ({}, {name: False})):
        for threads in (None, 1, 2):
            found = program.prepare("sums", thresholds, forced, threads)([xss])
            assert np.array_equal(found[0], program.trace("sums", [xss], thresholds, forced, threads)[0][0])


def test_results_that_share_a_buffer_are_apart(program: soac.Program) -> None:
    first, second = program.twice(np.ones(70_000, np.float32))
    assert not np.shares_memory(first, second)
    first[:] = 0
    assert (second == 2).all()


def test_references_are_in_balance(program: soac.Program) -> None:
    """Of the types, the arguments and what a call gives, also where it fails."""
    xs, dtype, failing = np.ones(70_000, np.float32), np.dtype(np.float32), np.ones((3, 3), np.float32)
    program.twice(xs)

    def references() -> tuple[int, ...]:
        gc.collect()  # others leave what refers to the types
        return sys.getrefcount(xs), sys.getrefcount(dtype), sys.getrefcount(np.ndarray)

    before = references()
    for _ in range(50):
        ours, others = program.twice(xs), (np.ones(3), np.ones(3))
        assert [sys.getrefcount(array) for array in ours] == [sys.getrefcount(array) for array in others]
        with pytest.raises(SoacError):
            program.twice(failing)
    assert all(abs(now - then) < 40 for now, then in zip(references(), before, strict=True))


def test_results_outlive_their_program() -> None:
    program = soac.compile("entry main (n: i64): [n]i64 = map (* 2) (iota n)", "short.soac")
    kept = program.main(100_000)[50_000:]
    del program
    gc.collect()
    soac.compile("entry main (n: i64): [n]i64 = map (* 3) (iota n)", "other.soac").main(100_000)
    assert np.array_equal(kept, 2 * np.arange(50_000, 100_000))


LOOP = "entry main (n: i64) (k: i64): [16]i64 = loop xs = iota 16 for _i < k do map (+ n) (scan (+) 0 xs)"


def test_calls_at_the_same_time_do_not_meet() -> None:
    """The second one finds the turn taken, and takes a state of its own."""
    program = soac.compile(LOOP, "turns.soac")
    prepared = program.prepare("main")
    expected = {n: prepared([np.int64(n), np.int64(20_000)])[0] for n in range(4)}
    wrong: list[int] = []

    def calls(n: int) -> None:
        for _ in range(10):
            if not np.array_equal(prepared([np.int64(n), np.int64(20_000)])[0], expected[n]):
                wrong.append(n)

    threads = [threading.Thread(target=calls, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarm here")
def test_a_signal_handler_may_call_the_same() -> None:
    """While its call is under way; what the handler raises ends it, and the next one is fine."""
    program = soac.compile(LOOP, "handlers.soac")
    prepared = program.prepare("main")
    short = [np.int64(5), np.int64(3)]
    expected, inner = prepared(short)[0], []

    def handler(number: int, frame: object) -> None:
        inner.append(prepared(short)[0])
        raise TimeoutError("the alarm")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(TimeoutError):
            prepared([np.int64(1), np.int64(1 << 40)])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert np.array_equal(inner[0], expected)
    assert np.array_equal(prepared(short)[0], expected)


def test_a_call_costs_little(program: soac.Program) -> None:
    """Less than a third of what the same call costs whose settings are decided each time."""
    args = [np.ones(16, np.float32)]
    prepared = program.prepare("twice", threads=1)
    quick = least(lambda: prepared(args))
    assert quick < least(lambda: program.call("twice", args, threads=1)) / 3


def least(run: Callable[[], object]) -> float:
    """Of the processor time of a hundred calls."""
    times: list[float] = []
    for _ in range(10):
        begin = time.process_time()
        for _ in range(100):
            run()
        times.append(time.process_time() - begin)
    return min(times)
