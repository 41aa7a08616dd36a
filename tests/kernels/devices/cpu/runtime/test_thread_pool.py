"""The fork–join pool: every block once, several callers, failures, forks, stops."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from soac.ir.core import Level
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cpu.runtime import thread_pool as pool
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.limits import MAX_THREADS
from soac.kernels.passes.choose_lanes import LaneSettings
from tests.support.compiled_kernels import compile_kernels
from tests.support.kernel_interpreter import NO_CACHE, argument_slots

B, N = kir.KVar("b", Prim.I64), kir.KVar("n", Prim.I64)
OUT = kir.KArray("out", Prim.I64, kir.Space.GLOBAL)
SLOT_WORKERS = 8


def counting_kernel() -> kir.Kernel:
    """Block b adds 1 to out[b], n times; fails where out[b] was negative."""
    old, new, k, fine = (kir.KVar(x, p) for x, p in zip("okuf", [Prim.I64] * 3 + [Prim.BOOL], strict=True))
    body = (
        kir.KLet(old, kir.KLoad(OUT, B)),
        kir.KLet(fine, kir.KOp(Op.GE, Prim.I64, (old, i64(0)))),
        kir.Check(fine, 0, (B,)),
        kir.For(k, N, (kir.KLet(new, kir.KLoad(OUT, B)), kir.Atomic(Op.ADD, Prim.I64, OUT, B, Const(Prim.I64, 1)))),
    )
    site = kir.FailureSite("R0103", NOWHERE, ("block ", Prim.I64))
    return kir.Kernel("count", B, (OUT,), (N,), body, (site,), Level.BLOCK)


def test_no_more_workers_than_a_launch_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many threads are asked for: each worker is a thread that stays until the process ends."""
    started: list[int] = []
    asked = replace(pool.the_pool(), grow=lambda count: started.append(count) or 0, workers=ctypes.c_int64(3))
    monkeypatch.setattr(pool._Holder, "pool", asked)
    pool.start(10**6)
    pool.start(5000)
    assert started == [MAX_THREADS - 1 - 3]


class Launch:
    """A launch of the counting kernel, ready to run."""

    def __init__(self, blocks: int, times: int = 1) -> None:
        self.compiled = compiled()
        self.out = np.zeros(max(1, blocks), np.int64)
        self.record = np.zeros(16, np.int64)
        self.table = np.zeros(3 * SLOT_WORKERS, np.int64)
        self.blocks = blocks
        self.slots = argument_slots(counting_kernel(), self.record, self.table, {"out": self.out}, {"n": times})

    def run(self, threads: int, grain: int | None = None) -> None:
        pool.run_blocks(self.compiled.address("count"), self.slots.ctypes.data, self.blocks, threads, grain)


_COMPILED: list[jit.CompiledKernels] = []


def compiled() -> jit.CompiledKernels:
    if not _COMPILED:
        _COMPILED.append(compile_kernels((counting_kernel(),), LaneSettings(), NO_CACHE))
    return _COMPILED[0]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("blocks", [0, 1, 2, 7, 1000])
def test_every_block_runs_once(threads: int, blocks: int) -> None:
    launch = Launch(blocks)
    for _ in range(20):
        launch.run(threads)
    assert (launch.out[:blocks] == 20).all()


def test_grain_does_not_matter() -> None:
    launch = Launch(100)
    for grain in (1, 3, 64, 100, 1000):
        launch.run(3, grain)
    assert (launch.out == 5).all()


def test_workers_sleep_and_wake() -> None:
    launch = Launch(64, 100)
    for _ in range(5):
        launch.run(4)
        time.sleep(0.01)
    assert (launch.out == 500).all()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinities on this system")
def test_workers_keep_off_the_processor_of_who_wakes_them() -> None:
    """In a new process, since workers of this one have been woken from anywhere."""
    queue = multiprocessing.get_context("fork").Queue()

    def child() -> None:
        own = os.sched_getaffinity(0)
        Launch(64, 100).run(3)
        found: list[tuple[set[int], list[set[int]], list[set[int]]]] = []
        for here in [{cpu} for cpu in sorted(own)[:2]] + [own]:
            time.sleep(0.02)  # they sleep then
            others = sorted({int(name) for name in os.listdir("/proc/self/task")} - {os.getpid()})
            before = [os.sched_getaffinity(other) for other in others]
            os.sched_setaffinity(0, here)
            Launch(64, 100).run(3)
            found.append((here, before, [os.sched_getaffinity(other) for other in others]))
        queue.put((own, found))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    own, found = queue.get(timeout=20)
    process.join(20)
    assert len(found[-1][1]) >= 2, "workers"
    for here, before, workers in found:
        for was, allowed in zip(before, workers, strict=True):
            if len(here) == 1:  # there is no other: they stay as they were
                assert allowed == was
            else:
                assert allowed < own
                assert len(allowed) == len(own) - 1


def test_each_worker_begins_with_its_share() -> None:
    """So that from launch to launch a core goes through the same blocks; who is done takes what others have left."""
    seen: list[tuple[int, int, int]] = []
    blocks, record = 64, np.zeros(16, np.int64)
    table = np.array([record.ctypes.data, 0], np.int64)

    def kernel(_args: int, first: int, end: int, worker: int) -> None:
        seen.append((worker, first, end))
        time.sleep(0.06 if first >= blocks // 2 else 0.02)

    code = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(kernel)
    address = ctypes.cast(code, ctypes.c_void_p).value
    assert address is not None
    pool.run_blocks(address, table.ctypes.data, blocks, 2, 4)
    by = {worker: [first for who, first, _ in seen if who == worker] for worker, _, _ in seen}
    assert sorted(first for _, first, _ in seen) == list(range(0, blocks, 4))
    assert {worker: firsts[0] for worker, firsts in by.items()} == {0: 0, 1: blocks // 2}
    assert len(by[0]) > len(by[1]), "what is long is taken over"


def test_several_callers_at_once() -> None:
    launches = [Launch(200, 50) for _ in range(4)]

    def many(launch: Launch) -> None:
        for _ in range(50):
            launch.run(3)

    threads = [threading.Thread(target=many, args=(launch,)) for launch in launches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((launch.out == 2500).all() for launch in launches)


def test_a_failure_is_recorded_once_and_stops_the_rest() -> None:
    launch = Launch(10_000)
    launch.out[5:] = -1
    launch.run(2, 1)
    assert launch.record[0] == 1
    assert launch.record[1] >= 5
    assert (launch.out[-100:] == -1).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_the_pool_starts_anew_after_a_fork() -> None:
    Launch(100).run(3)
    queue = multiprocessing.get_context("fork").Queue()

    def child() -> None:
        launch = Launch(100)
        launch.run(3)
        queue.put(int(launch.out.sum()))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    assert queue.get(timeout=20) == 100
    process.join(20)
    assert process.exitcode == 0


def test_a_launch_can_be_stopped_from_another_thread() -> None:
    launch = Launch(1 << 20, 2000)
    timer = threading.Timer(0.05, pool.request_stop)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        launch.run(2)
    assert (launch.out == 0).any()
    Launch(10).run(2)


def test_a_launch_on_one_thread_is_cheap() -> None:
    launch = Launch(1)
    launch.run(1)
    start = time.thread_time()  # of the processor: other load does not count
    for _ in range(2000):
        launch.run(1)
    assert (time.thread_time() - start) / 2000 < 2e-5
