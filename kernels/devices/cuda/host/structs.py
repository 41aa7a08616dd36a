"""What machine code and Python share of a GPU: the structs of `types.ll`, under the same names."""

from __future__ import annotations

import ctypes
from ctypes import c_int64, c_void_p

LISTS = 512
"""Of free buffers, by size."""
VARIANTS = 256
"""Of a kernel: blocks of 32 to 1024 threads that do not take turns, then those that do; then both with indices of 64
bits, for launches that need these; then all four with arrays of a block that may be in global memory."""
WARPS = 32


class Gpu(ctypes.Structure):
    """The driver's functions, its stream, what gives memory, kernels of bulk operations and stacks; the failure record
    and pinned memory for it; what is under way: kernels (`pending`), how many since one that may fail (`failing`), the
    first error of the driver; how much was asked of it; free buffers by size; the queue of what is to be a graph, if
    the driver has graphs; the marks of a timed run, none in libraries."""

    _fields_ = (
        ("launch", c_void_p), ("download", c_void_p), ("upload", c_void_p), ("copy", c_void_p), ("clear", c_void_p),
        ("set_16", c_void_p), ("set_32", c_void_p), ("wait", c_void_p), ("stream", c_void_p), ("allocate", c_void_p),
        ("free", c_void_p), ("stacks", c_void_p), ("need", c_void_p), ("record", c_int64), ("pinned", c_void_p),
        ("multiprocessors", c_int64), ("pending", c_int64), ("failing", c_int64), ("error", c_int64),
        ("stack", c_int64), ("stack_room", c_int64), ("bulk", c_void_p), ("lists", c_void_p), ("launches", c_int64),
        ("downloads", c_int64), ("allocations", c_int64), ("queue", c_void_p), ("marks", c_void_p),
    )  # fmt: skip


class Buffer(ctypes.Structure):
    """A counted piece of memory at `address`."""

    _fields_ = (
        ("references", c_int64), ("class_", c_int64), ("capacity", c_int64), ("address", c_void_p), ("gpu", c_void_p),
        ("next", c_void_p),
    )  # fmt: skip


class Variant(ctypes.Structure):
    """A kernel as the driver has it, for blocks of a number of threads."""

    _fields_ = (
        ("code", c_void_p), ("threads", c_int64), ("together", c_int64), ("turns", c_int64), ("fails", c_int64),
        ("stacks", c_int64), ("shared_left", c_int64), ("near", c_int64),
    )  # fmt: skip


class Step(ctypes.Structure):
    """A launch in a graph; a copy, if it has no code. Its parameters are `STEP_ROOM` bytes somewhere else."""

    _fields_ = (
        ("code", c_void_p), ("grid", c_int64), ("threads", c_int64), ("shared", c_int64), ("bytes", c_int64),
    )  # fmt: skip


class Graph(ctypes.Structure):
    """An executable graph of steps one after the other, with what they were launched with last, and their nodes."""

    _fields_ = (
        ("handle", c_void_p), ("count", c_int64), ("steps", c_void_p), ("data", c_void_p), ("nodes", c_void_p),
    )  # fmt: skip


class Queue(ctypes.Structure):
    """Launches of turns of a loop that are kept: after how many turns they are launched (1: at once), which turn it is,
    how many steps there are, which kinds of queues were no graph, how many parameters of graphs have changed; steps and
    their parameters; the graphs; the driver's functions, its context, and what makes a graph of the queue."""

    _fields_ = (
        ("turns", c_int64), ("turn", c_int64), ("count", c_int64), ("missed", c_int64 * 8), ("updates", c_int64),
        ("steps", c_void_p), ("data", c_void_p), ("graphs", c_void_p), ("launch", c_void_p), ("set_kernel", c_void_p),
        ("set_copy", c_void_p), ("context", c_void_p), ("make", c_void_p),
    )  # fmt: skip


class Marks(ctypes.Structure):
    """Events of the driver, how many there are and how many this run has recorded; the driver's function for that, and
    what makes more of them."""

    _fields_ = (
        ("events", c_void_p), ("room", c_int64), ("used", c_int64), ("record", c_void_p), ("more", c_void_p),
    )  # fmt: skip


class Kernel(ctypes.Structure):
    """A kernel: shared memory for arrays of which only it finds out how large they are, its usual threads, the bytes of
    its stacks where only it knows them, and its variants as far as they are loaded."""

    _fields_ = (
        ("most", c_int64), ("threads", c_int64), ("block_stack", c_int64), ("thread_stack", c_int64),
        ("variants", c_void_p * VARIANTS),
    )  # fmt: skip


STRUCTS: tuple[type[ctypes.Structure], ...] = (Gpu, Buffer, Variant, Step, Graph, Queue, Marks, Kernel)


def variant_number(threads: int, takes_turns: bool, wide: bool, far: bool) -> int:
    """The place of a variant in the table of its kernel."""
    return (4 * far + 2 * wide + takes_turns) * WARPS + threads // 32 - 1


def variant_of(number: int) -> tuple[int, bool, bool, bool]:
    """The threads of a block, whether blocks take turns, whether indices are wide, and whether arrays of a block may be
    in global memory."""
    kind = number // WARPS
    return (number % WARPS + 1) * 32, bool(kind & 1), bool(kind & 2), bool(kind & 4)
