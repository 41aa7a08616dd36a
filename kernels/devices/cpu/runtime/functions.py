"""What native host programs call, compiled once per process: memory, copies, launches, guards, pauses, and calls from
Python. Its functions are symbols that host programs link to."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import Any

import llvmlite.binding as llvm

from .....ir.records import dataclass
from ....kernel_ir.values import symbol_of
from ... import disk_cache as disk
from . import jit, python_call
from . import thread_pool as pool
from .assembly import BULK, MODULES, module

SHARED: dict[str, tuple[str, tuple[str, ...]]] = {
    "soac_host_release": ("void", ("ptr",)),
    "soac_host_release_all": ("void", ("ptr", "i64", "i64")),
    "soac_host_alias": ("void", ("ptr", "ptr", "i64")),
    "soac_host_move": ("void", ("ptr", "ptr", "i64")),
    "soac_host_lay": ("i64", ("ptr", "i64", "i64")),
    "soac_host_scratch": ("i64", ("ptr", "ptr", "i64", "i64")),
    "soac_host_fresh": ("i64", ("ptr", "ptr", "ptr", "i64", "i64")),
    "soac_host_bind": ("i64", ("ptr", "ptr", "ptr", "i64", "i64")),
    "soac_host_apart": ("i64", ("ptr", "ptr", "ptr", "ptr", "i64", "i64")),
    "soac_host_give": ("i64", ("ptr", "ptr", "ptr", "i64", "i64")),
    "soac_host_copy": ("void", ("ptr", "ptr", "ptr", "i64", "i64")),
    "soac_host_iota": ("void", ("ptr", "ptr", "i64", "i64", "i64", "i64")),
    "soac_host_launch": ("i64", ("ptr", "ptr", "i64", "i64", "double", "i64")),
    "soac_host_note": ("i64", ("ptr", "i64", "i64", "i1")),
    "soac_host_mark": ("i64", ("ptr", "i64")),
    "soac_host_pause": ("i64", ("ptr",)),
    "soac_host_append": ("i64", ("ptr", "i64", "i64")),
    "soac_host_room": ("i64", ("ptr",)),
}
"""What a host program may call on every device: result and parameters."""

FUNCTIONS = {
    **SHARED,
    "soac_host_put_by": ("void", ("ptr",)),
    "soac_host_spare": ("void", ("ptr", "ptr")),
    "soac_host_end": ("void", ("ptr",)),
    "soac_host_again": ("i64", ("ptr", "ptr", "i64", "i64")),
    "soac_host_over": ("i64", ("ptr", "ptr", "ptr", "i64", "i64")),
    "soac_host_set": ("void", ("i64", "i64", "i64")),
}
"""The same on a CPU."""

OWN = ("soac_host_call", "soac_host_know", "soac_host_reset", "soac_host_need_by")
"""What Python uses."""

NEED = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
NEED_BULK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)
"""What machine code calls, without the lock of the interpreter, for a kernel by its number. They store its address (in
the state, the second argument, before a launch with the table and the blocks that follow; at the second argument, for a
copy), and nothing where it has no code. They give nothing: the result of a callback that an asynchronous
exception ends, as a time limit raises it, would be whatever was in memory."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """The addresses of a whole call (`python_call.py`) and of the stop flag. `raised`: why a kernel of a bulk operation
    could not be compiled, by the thread that needed it; `bulk`: those that are loaded; `need` must outlive the code."""

    call: int
    stop: int
    raised: dict[int, BaseException] = field(default_factory=dict)
    bulk: list[jit.CompiledKernels] = field(default_factory=list)
    need: list[Any] = field(default_factory=list)


class _Holder:
    """The runtime of this process, made on first use."""

    runtime: Runtime | None = None
    lock = threading.Lock()


def runtime() -> Runtime:
    """The runtime of this process, loaded on first use, by one thread."""
    with _Holder.lock:
        if _Holder.runtime is None:
            _Holder.runtime = _loaded()
        return _Holder.runtime


@contextmanager
def runtime_beside() -> Iterator[None]:
    """The runtime is made by another thread meanwhile, where it is not yet: its machine code needs a processor but not
    the interpreter. What fails there fails again where the runtime is needed."""
    if _Holder.runtime is not None:
        yield
        return
    maker = threading.Thread(target=_tried)
    maker.start()
    try:
        yield
    finally:
        maker.join()


def _tried() -> None:
    with suppress(Exception):
        runtime()


def _loaded() -> Runtime:
    """The runtime, its functions made known to what is linked later. Its memory is never freed."""
    workers = pool.the_pool()
    llvm.add_symbol("soac_pool_run", workers.run_address)
    for name in python_call.INTERPRETER:
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    code = _code((*FUNCTIONS, *OWN))
    for name in FUNCTIONS:
        llvm.add_symbol(name, code.address(name))
    code.engine.detach()
    know = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(code.address("soac_host_know"))
    reset = ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("soac_host_reset"))
    know(python_call.numpy_table(), threading.main_thread().ident)
    os.register_at_fork(after_in_child=lambda: _after_fork(reset, know))
    made = Runtime(code.address("soac_host_call"), ctypes.addressof(workers.stop_flag))
    made.need.append(NEED_BULK(lambda number, slot: _needed(made, number, slot)))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("soac_host_need_by"))(
        ctypes.cast(made.need[0], ctypes.c_void_p)
    )
    return made


def _needed(made: Runtime, number: int, slot: int) -> None:
    """Stores the address of a kernel of a bulk operation; nothing where it cannot be compiled."""
    try:
        kind, name = divmod(number, len(BULK))
        made.bulk.append(bulk_code(BULK[name], jit.Effort.QUICK if kind and jit.may_be_quick() else jit.Effort.FULL))
        ctypes.c_int64.from_address(slot).value = made.bulk[-1].address(symbol_of(BULK[name]))
    except BaseException as error:
        made.raised[threading.get_ident()] = error


def bulk_code(name: str, effort: jit.Effort) -> jit.CompiledKernels:
    """The code of a kernel of a bulk operation, from the cache or compiled; of full effort where the cache has that."""
    symbol, key = symbol_of(name), bulk_key(name, jit.Effort.FULL)
    found = jit.load_stored(key, (symbol,))
    if found is None and effort is jit.Effort.QUICK:
        key = bulk_key(name, effort)
        found = jit.load_stored(key, (symbol,))
    if found is not None:
        return found
    from ....lanes.module import Abilities, emit  # the cache mostly has it
    from ....schedule.cpu.bulk_copies import bulk_kernel

    text = emit((bulk_kernel(name),), None, Abilities(masks=jit.has_avx512(jit.host())))
    return jit.load_source(jit.Source((text,), effort, key), (symbol,))


def bulk_key(name: str, effort: jit.Effort) -> str:
    """Where the cache has the code of a kernel of a bulk operation."""
    return disk.key_of("bulk-1", name, effort.value, disk.compiler(), *jit.identity())


def _after_fork(reset: Callable[[], int], know: Callable[[int, int], None]) -> None:
    """Whoever held a lock is not in the child; the thread that forked is its main thread."""
    _Holder.lock = threading.Lock()
    reset()
    know(python_call.numpy_table(), threading.get_ident())


def _code(names: tuple[str, ...]) -> jit.CompiledKernels:
    """The functions, from the cache or compiled."""
    key = disk.key_of("runtime-2", disk.compiler(), *jit.identity())
    found = jit.load_stored(key, names)
    return found or jit.load_source(jit.Source(runtime_modules(jit.host().triple), jit.Effort.AS_WRITTEN, key), names)


def runtime_modules(triple: str) -> tuple[str, ...]:
    """The modules of the runtime for a target; kernels of bulk operations follow when they are needed."""
    return tuple(module(name, triple) for name in MODULES)
