"""What native host programs call: launches, guards, pauses; memory is in `hostmemory`, `hostarrays` and `hostcopy`.

The runtime is LLVM text, compiled once per process; its functions are symbols that host programs link to. A call of an
entry point has a state, a table of words (`Word`) that caller and host program share.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import llvmlite.binding as llvm

from ....host_ir.launch_parameters import TASKS
from . import jit
from . import python_call as hostcall
from . import thread_pool as pool
from .copy import copy_text
from .descriptors import array_text
from .memory import memory_text

INLINE_WORK = 200_000.0
"""Cost units (kernels/analysis/cost.py) below which a launch stays on the calling thread."""

LOOK_EVERY = 50_000_000
"""Nanoseconds between two looks for signals in a loop of the host."""


class Word:
    """The words of a state; behind them parameters, results and thresholds (`emit.py`). Numbers, and no enum, since
    every call uses them."""

    ARENAS = 0  # table of arenas
    THREADS = 1  # how many a launch may use
    KERNELS = 2  # table of addresses
    RECORD = 3  # address of the failure record
    STOP = 4  # address of the pool's stop flag
    LISTEN = 5  # look for signals? The main thread does
    NEXT_LOOK = 6  # when, in nanoseconds
    TRACE = 7  # pairs: 2 * guard + taken, parallelism; when timed, also `mark` of a site, nanoseconds
    TRACED = 8  # how many
    TRACE_ROOM = 9  # for how many there is room
    FAILED = 10  # which site of the host or which kernel
    THREAD = 11  # Python's state of this thread, while it is without the lock of the interpreter
    TIMED = 12  # note when each execution of a guard site begins and ends?
    FIRST = 13  # what follows


class Status(IntEnum):
    """What a host program returns."""

    FINE = 0
    SITE = 1  # a check of the host failed
    KERNEL = 2  # a check of a kernel failed
    STOPPED = 3
    MEMORY = 4


FUNCTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "soac_host_release": ("void", ("ptr",)),
    "soac_host_release_all": ("void", ("ptr", "i64", "i64")),
    "soac_host_alias": ("void", ("ptr", "ptr", "i64")),
    "soac_host_move": ("void", ("ptr", "ptr", "i64")),
    "soac_host_lay": ("i64", ("ptr", "i64", "i64")),
    "soac_host_scratch": ("i64", ("ptr", "i64", "i64")),
    "soac_host_fresh": ("i64", ("ptr", "ptr", "ptr", "i64", "i64")),
    "soac_host_bind": ("i64", ("ptr", "ptr", "ptr", "i64", "i64")),
    "soac_host_apart": ("i64", ("ptr", "ptr", "ptr", "ptr", "i64", "i64")),
    "soac_host_give": ("i64", ("ptr", "ptr", "ptr", "i64", "i64")),
    "soac_host_copy": ("void", ("ptr", "ptr", "ptr", "i64", "i64")),
    "soac_host_iota": ("void", ("ptr", "i64", "i64", "i64", "i64")),
    "soac_host_launch": ("i64", ("ptr", "ptr", "i64", "i64", "double", "i64")),
    "soac_host_note": ("i64", ("ptr", "i64", "i64", "i1")),
    "soac_host_mark": ("i64", ("ptr", "i64")),
    "soac_host_pause": ("i64", ("ptr",)),
}
"""What a host program may call: result and parameters."""

PYTHON = ("PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_CheckSignals")
"""What the runtime calls of the interpreter: to run without its lock, and to run signal handlers."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What Python uses: `enter(code, state)` runs a host program and gives its status, or raises what a signal handler
    raises; `results(table, state)` gives its results, `forget(table, state)` drops them; the address of a whole call
    (`python_call.py`); that of the stop flag."""

    enter: Callable[[int, int], int]
    results: Callable[[int, int], list[Any]]
    forget: Callable[[int, int], None]
    call: int
    stop: int


class _Holder:
    """The runtime of this process, made on first use."""

    runtime: Runtime | None = None
    lock = threading.Lock()


def runtime() -> Runtime:
    with _Holder.lock:
        if _Holder.runtime is None:
            _Holder.runtime = _compiled()
        return _Holder.runtime


def _compiled() -> Runtime:
    """The runtime, its functions made known to what is linked later. Its memory is never freed."""
    workers = pool.the_pool()
    llvm.add_symbol("soac_pool_run", workers.run_address)
    for name in (*PYTHON, *hostcall.INTERPRETER):
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    used = ("enter", "results", "forget", "call", "reset", "know")
    code = jit.load_text(runtime_text(), (*FUNCTIONS, *(f"soac_host_{name}" for name in used)))
    for name in FUNCTIONS:
        llvm.add_symbol(name, code.address(name))
    code.engine.detach()
    i64, at = ctypes.c_int64, {name: code.address(f"soac_host_{name}") for name in used}
    enter = ctypes.PYFUNCTYPE(i64, i64, i64)(at["enter"])
    results = ctypes.PYFUNCTYPE(ctypes.py_object, i64, i64)(at["results"])
    forget = ctypes.PYFUNCTYPE(None, i64, i64)(at["forget"])
    reset, know = ctypes.CFUNCTYPE(i64)(at["reset"]), ctypes.CFUNCTYPE(i64, i64, i64)(at["know"])
    know(hostcall.numpy_table(), threading.main_thread().ident)
    os.register_at_fork(after_in_child=lambda: _after_fork(reset, know))
    return Runtime(enter, results, forget, at["call"], ctypes.addressof(workers.stop_flag))


def _after_fork(reset: Callable[[], int], know: Callable[[int, int], int]) -> None:
    """Whoever held a lock is not in the child; the thread that forked is its main thread."""
    _Holder.lock = threading.Lock()
    reset()
    know(hostcall.numpy_table(), threading.get_ident())


# ---- the code ----------------------------------------------------------------------------------------------------


def runtime_text() -> str:
    words = {f"{name}_WORD": word for name, word in vars(Word).items() if isinstance(word, int)}
    statuses = {status.name: int(status) for status in Status}
    constants = {
        **words, **statuses, **hostcall.constants(), "INLINE_WORK": f"{INLINE_WORK:e}", "RANGES": TASKS,
        "CLOCK": time.CLOCK_MONOTONIC, "LOOK_EVERY": LOOK_EVERY,
    }  # fmt: skip
    text = memory_text() + array_text() + copy_text() + _TEXT + hostcall.call_text()
    for name, value in constants.items():
        text = text.replace(f"${name}$", str(value))
    return text


_TEXT = """
declare i64 @soac_pool_run(i64, i64, i64, i64, i64)
declare ptr @realloc(ptr, i64)
declare i32 @clock_gettime(i32, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyErr_CheckSignals()
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

; Run a host program without the lock of the interpreter.
define i64 @soac_host_enter(ptr %code, ptr %state) {
  %thread = call ptr @PyEval_SaveThread()
  %place = getelementptr i64, ptr %state, i64 $THREAD_WORD$
  store ptr %thread, ptr %place
  %status = call i64 %code(ptr %state)
  call void @PyEval_RestoreThread(ptr %thread)
  ret i64 %status
}

; Run all blocks of kernel number %kernel, on this thread where the whole costs little, else in so many tasks for each.
define i64 @soac_host_launch(ptr %state, ptr %table, i64 %kernel, i64 %blocks, double %cost, i64 %tasks) {
entry:
  %any = icmp sgt i64 %blocks, 0
  br i1 %any, label %prepare, label %fine
prepare:
  %kernels_place = getelementptr i64, ptr %state, i64 $KERNELS_WORD$
  %kernels = load ptr, ptr %kernels_place
  %place = getelementptr i64, ptr %kernels, i64 %kernel
  %arenas_place = getelementptr i64, ptr %state, i64 $ARENAS_WORD$
  %arenas = load ptr, ptr %arenas_place
  %record_place = getelementptr i64, ptr %state, i64 $RECORD_WORD$
  %record = load ptr, ptr %record_place
  store ptr %record, ptr %table
  %second = getelementptr i64, ptr %table, i64 1
  store ptr %arenas, ptr %second
  %small = fcmp olt double %cost, $INLINE_WORK$
  br i1 %small, label %inline, label %fork
inline:
  %code = load ptr, ptr %place
  call void %code(ptr %table, i64 0, i64 %blocks, i64 0)
  br label %look
fork:
  %threads_place = getelementptr i64, ptr %state, i64 $THREADS_WORD$
  %threads = load i64, ptr %threads_place
  %used = call i64 @llvm.smin.i64(i64 %threads, i64 %blocks)
  %each = sdiv i64 %blocks, %used
  %share = sdiv i64 %each, %tasks
  %grain = call i64 @llvm.smax.i64(i64 %share, i64 1)
  %helpers = sub i64 %used, 1
  %address = load i64, ptr %place
  %args = ptrtoint ptr %table to i64
  %stopped = call i64 @soac_pool_run(i64 %address, i64 %args, i64 %blocks, i64 %grain, i64 %helpers)
  %stop = icmp ne i64 %stopped, 0
  br i1 %stop, label %interrupted, label %look
look:
  %failure = load i64, ptr %record
  %failed = icmp ne i64 %failure, 0
  br i1 %failed, label %fail, label %fine
fail:
  %failed_place = getelementptr i64, ptr %state, i64 $FAILED_WORD$
  store i64 %kernel, ptr %failed_place
  ret i64 $KERNEL$
interrupted:
  ret i64 $STOPPED$
fine:
  ret i64 $FINE$
}

; Append two words to the trace.
define i64 @soac_host_append(ptr %state, i64 %word, i64 %value) {
entry:
  %trace_place = getelementptr i64, ptr %state, i64 $TRACE_WORD$
  %count_place = getelementptr i64, ptr %state, i64 $TRACED_WORD$
  %room_place = getelementptr i64, ptr %state, i64 $TRACE_ROOM_WORD$
  %trace = load ptr, ptr %trace_place
  %count = load i64, ptr %count_place
  %room = load i64, ptr %room_place
  %fits = icmp slt i64 %count, %room
  br i1 %fits, label %write, label %grow
grow:
  %twice = mul i64 %room, 2
  %wanted = call i64 @llvm.smax.i64(i64 %twice, i64 64)
  %bytes = mul i64 %wanted, 16
  %larger = call ptr @realloc(ptr %trace, i64 %bytes)
  %none = icmp eq ptr %larger, null
  br i1 %none, label %fail, label %grown
grown:
  store ptr %larger, ptr %trace_place
  store i64 %wanted, ptr %room_place
  br label %write
write:
  %pairs = phi ptr [ %trace, %entry ], [ %larger, %grown ]
  %at = mul i64 %count, 2
  %first = getelementptr i64, ptr %pairs, i64 %at
  %second = getelementptr i64, ptr %first, i64 1
  store i64 %word, ptr %first
  store i64 %value, ptr %second
  %more = add i64 %count, 1
  store i64 %more, ptr %count_place
  ret i64 $FINE$
fail:
  ret i64 $MEMORY$
}

; Note what guard number %guard has decided.
define i64 @soac_host_note(ptr %state, i64 %guard, i64 %parallelism, i1 %taken) {
  %number = mul i64 %guard, 2
  %side = zext i1 %taken to i64
  %word = add i64 %number, %side
  %status = call i64 @soac_host_append(ptr %state, i64 %word, i64 %parallelism)
  ret i64 %status
}

; Nanoseconds of a monotonic clock.
define i64 @soac_host_now() {
  %time = alloca { i64, i64 }, align 8
  %error = call i32 @clock_gettime(i32 $CLOCK$, ptr %time)
  %seconds = load i64, ptr %time
  %rest_place = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_place
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %rest
  ret i64 %now
}

; If the run is timed, note that a branch begins or ends, and when.
define i64 @soac_host_mark(ptr %state, i64 %what) {
entry:
  %timed_place = getelementptr i64, ptr %state, i64 $TIMED_WORD$
  %timed = load i64, ptr %timed_place
  %untimed = icmp eq i64 %timed, 0
  br i1 %untimed, label %fine, label %note
note:
  %now = call i64 @soac_host_now()
  %status = call i64 @soac_host_append(ptr %state, i64 %what, i64 %now)
  ret i64 %status
fine:
  ret i64 $FINE$
}

; At the end of an iteration: does somebody want to stop? What a signal handler raises is left for the caller.
define i64 @soac_host_pause(ptr %state) {
entry:
  %stop_place = getelementptr i64, ptr %state, i64 $STOP_WORD$
  %flag = load ptr, ptr %stop_place
  %stop = load atomic i64, ptr %flag monotonic, align 8
  %stopping = icmp ne i64 %stop, 0
  br i1 %stopping, label %stopped, label %listen
listen:
  %listen_place = getelementptr i64, ptr %state, i64 $LISTEN_WORD$
  %listens = load i64, ptr %listen_place
  %deaf = icmp eq i64 %listens, 0
  br i1 %deaf, label %fine, label %look
look:
  %now = call i64 @soac_host_now()
  %next_place = getelementptr i64, ptr %state, i64 $NEXT_LOOK_WORD$
  %next = load i64, ptr %next_place
  %early = icmp slt i64 %now, %next
  br i1 %early, label %fine, label %ask
ask:
  %later = add i64 %now, $LOOK_EVERY$
  store i64 %later, ptr %next_place
  %thread_place = getelementptr i64, ptr %state, i64 $THREAD_WORD$
  %thread = load ptr, ptr %thread_place
  call void @PyEval_RestoreThread(ptr %thread)
  %raised = call i32 @PyErr_CheckSignals()
  %same = call ptr @PyEval_SaveThread()
  %bad = icmp ne i32 %raised, 0
  br i1 %bad, label %stopped, label %fine
stopped:
  ret i64 $STOPPED$
fine:
  ret i64 $FINE$
}
"""
