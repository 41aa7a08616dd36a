"""The fork–join pool: runs the blocks of a launch on several cores.

A launch has a share of blocks for each thread, handed out in ranges by an atomic counter. A worker begins with the same
share in each launch, whose data its caches may have, and goes on with what is left of the others; the caller takes
ranges like everybody else and is worker 0. Workers join through one atomic word, the gate: generation, open or not, how
many may join, how many have. The caller closes the gate when all ranges are taken and waits only for those who joined,
never for one that sleeps. Workers look for the next launch for some 100 µs before they sleep, since waking one costs as
much. Before sleepers are woken, they are kept off the processor that the caller is on, where a system may begin them
behind him. Between ranges everybody looks at the launch's failure record (the first slot of the arguments) and at the
stop flag.

One launch at a time has the pool; another one meanwhile runs on its own thread alone. After a fork the child starts
with no workers. The code (`thread_pool.ll`) is compiled once per process; its memory is never freed, as workers run in
it.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from dataclasses import field

from .....ir.records import dataclass
from ....host_ir.launch_parameters import TASKS
from ....limits import MAX_THREADS
from . import jit
from .assembly import module


@dataclass(slots=True)
class Pool:
    """The compiled functions, and the words that say how many workers have been started, and that all shall stop."""

    run: Callable[[int, int, int, int, int, int], int]
    run_address: int
    grow: Callable[[int], int]
    reset: Callable[[], int]
    stop_flag: ctypes.c_int64
    workers: ctypes.c_int64 = field(default_factory=lambda: ctypes.c_int64(0))
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Holder:
    """The pool of this process, made on first use."""

    pool: Pool | None = None
    lock = threading.Lock()


def run_blocks(kernel: int, args: int, blocks: int, threads: int, grain: int | None = None) -> None:
    """Run blocks 0 <= b < `blocks` of the kernel at address `kernel` with the argument slots at address `args`, on up
    to `threads` cores, `grain` blocks at a time. Worker numbers, by which the arena table is indexed, are below
    `threads`. Raises KeyboardInterrupt if `request_stop` was called meanwhile."""
    threads = max(1, min(threads, blocks, MAX_THREADS))
    pool = start(threads)
    if grain is None:
        grain = share(blocks, threads, TASKS)
    if pool.run(kernel, args, 0, blocks, grain, threads - 1):
        pool.stop_flag.value = 0
        raise KeyboardInterrupt


def share(blocks: int, threads: int, tasks: int) -> int:
    """How many blocks at a time make `tasks` ranges for each thread."""
    return max(1, blocks // max(1, min(threads, blocks)) // tasks)


def start(threads: int) -> Pool:
    """The pool, with workers for launches on `threads` threads."""
    pool = _Holder.pool or the_pool()
    if threads - 1 > pool.workers.value:
        _grow(pool, threads - 1)
    return pool


def request_stop() -> None:
    """Make the launches that are running now give up, at the end of the range that each worker is at. For another
    thread: the one that runs a launch does not come to it."""
    if _Holder.pool is not None:
        _Holder.pool.stop_flag.value = 1


def is_stopping() -> bool:
    """Whether `request_stop` was called, and no launch has ended for it yet."""
    return _Holder.pool is not None and _Holder.pool.stop_flag.value != 0


def forget_stop() -> None:
    """What `request_stop` asked for came too late."""
    if _Holder.pool is not None:
        _Holder.pool.stop_flag.value = 0


# ---- making it ---------------------------------------------------------------------------------------------------


def the_pool() -> Pool:
    """The pool of this process."""
    with _Holder.lock:
        if _Holder.pool is None:
            _Holder.pool = _compiled_pool()
            os.register_at_fork(after_in_child=_after_fork)
        return _Holder.pool


def _compiled_pool() -> Pool:
    i64 = ctypes.c_int64
    names = ("soac_pool_run", "soac_pool_grow", "soac_pool_reset", "soac_pool_stop_flag")
    code = jit.load_text(module("thread_pool", jit.host().triple), names, effort=jit.Effort.AS_WRITTEN)
    run = ctypes.CFUNCTYPE(i64, i64, i64, i64, i64, i64, i64)(code.address(names[0]))
    grow = ctypes.CFUNCTYPE(i64, i64)(code.address(names[1]))
    reset = ctypes.CFUNCTYPE(i64)(code.address(names[2]))
    flag = ctypes.c_int64.from_address(ctypes.CFUNCTYPE(i64)(code.address(names[3]))())
    code.engine.detach()  # sleeping workers are in this code until the process ends
    reset()
    return Pool(run, code.address(names[0]), grow, reset, flag)


def _grow(pool: Pool, workers: int) -> None:
    """Start workers until there are as many, or as many as a launch may use; fewer where the system gives no more
    threads."""
    workers = min(workers, MAX_THREADS - 1)
    with pool.lock:
        if workers > pool.workers.value:
            pool.grow(workers - pool.workers.value)
            pool.workers.value = workers


def _after_fork() -> None:
    """Only the forking thread lives on in the child: start from nothing."""
    pool = _Holder.pool
    _Holder.lock = threading.Lock()
    if pool is not None:
        pool.reset()
        pool.stop_flag.value = 0
        pool.workers.value, pool.lock = 0, threading.Lock()
