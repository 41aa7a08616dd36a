"""Copies of the runtime between arrays laid out in any way, against NumPy: rows, repeated values, transpositions, few
and many axes, shares of threads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np
import pytest

from soac.kernels.analysis.check_collectives import check_collectives
from soac.kernels.devices.cpu.arena import make_arenas
from soac.kernels.devices.cpu.runtime import thread_pool as pool
from soac.kernels.devices.cpu.runtime.assembly import BULK, IN_LIBRARIES, Word
from soac.kernels.devices.cpu.runtime.functions import runtime
from soac.kernels.host_ir.copy_sizes import LINE
from soac.kernels.kernel_ir.nodes import Kernel
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.kernel_ir.show import show_kernel
from soac.kernels.passes.pipeline import CUDA_PASSES, ready
from soac.kernels.schedule.cpu import bulk_copies as cpu
from soac.kernels.schedule.cuda import bulk_copies as cuda

TYPES = (np.uint8, np.int16, np.float32, np.int64)
THREADS = 2


def copied(target: np.ndarray, source: np.ndarray) -> None:
    """`target[..] = source[..]` by the runtime."""
    runtime()
    pool.start(THREADS)
    copy = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 5)(llvm.address_of_symbol("soac_host_copy"))
    arenas, record, state = make_arenas(THREADS), ctypes.c_int64(0), (ctypes.c_int64 * Word.FIRST)()
    state[Word.ARENAS], state[Word.THREADS] = arenas.address, THREADS
    state[Word.RECORD] = ctypes.addressof(record)
    tables = [descriptor(array) for array in (target, source)]
    copy(ctypes.addressof(state), *map(ctypes.addressof, tables), target.ndim, target.itemsize)


def descriptor(array: np.ndarray) -> ctypes.Array[ctypes.c_int64]:
    words = (0, array.ctypes.data, *array.shape, *array.strides)
    return (ctypes.c_int64 * len(words))(*words)


def stored(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: type, repeats: bool
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Memory, and the view of it that is an array of this shape: dimensions in any order and direction, dense or
    not, and, if it may, repeated."""
    order, steps = rng.permutation(len(shape)), rng.choice([1, 1, 2, 3], len(shape))
    repeated, turned = (rng.random(len(shape)) < 0.2 for _ in range(2))
    sides = [1 if repeats and r else n * step for n, step, r in zip(shape, steps, repeated)]
    memory = rng.integers(0, 200, [sides[d] for d in order]).astype(dtype)
    parts = tuple(slice(None, None, -step if t else step) for step, t in zip(steps, turned))

    def view(memory: np.ndarray) -> np.ndarray:
        return memory.transpose(np.argsort(order))[parts]

    return memory, (lambda memory: np.broadcast_to(view(memory), shape)) if repeats else view


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", range(60))
def test_copies_of_any_layout(dtype: type, seed: int) -> None:
    rng = np.random.default_rng(seed)
    side = LINE // np.dtype(dtype).itemsize
    lengths = [1, 2, 3, 5, side - 1, side, side + 1, 2 * side + 3]
    shape = tuple(int(n) for n in rng.choice(lengths, int(rng.integers(1, 4))))
    given, source = stored(rng, shape, dtype, repeats=True)
    memory, target = stored(rng, shape, dtype, repeats=False)
    expected = memory.copy()
    target(expected)[...] = source(given)
    copied(target(memory), source(given))
    assert np.array_equal(memory, expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_copies_of_many_dimensions(dtype: type) -> None:
    shape = (2, 1, 3, 2, 2, 3, 2, 1, 2, 3, 2)
    source = np.arange(np.prod(shape)).astype(dtype).reshape(shape[::-1]).T
    target = np.zeros(shape, dtype)
    copied(target, source)
    assert np.array_equal(target, source)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(1 << 21,), (3, 1 << 19), (1 << 17, 5), (1031, 1027)])
def test_large_copies_are_shared(dtype: type, shape: tuple[int, ...]) -> None:
    """Rows, repeated values, every other element and transpositions, more than one thread's share."""
    wide = np.random.default_rng(0).integers(0, 200, (*shape[:-1], 2 * shape[-1])).astype(dtype)
    sources = wide[..., : shape[-1]], wide[..., ::2], np.broadcast_to(wide.reshape(-1)[1], shape)
    for source in (*sources, *((wide[:, : shape[-1]].copy().T,) if len(shape) == 2 else ())):
        target = np.zeros(source.shape, dtype)
        copied(target, source)
        assert np.array_equal(target, source)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", [2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 15, 16, 17, 33])
def test_rows_and_points(dtype: type, width: int) -> None:
    """Points of any width into rows and back, whole and in parts: the last vectors of a row are not full."""
    rng = np.random.default_rng(width)
    for n in (1, width, 67, 5000):
        points = rng.integers(0, 200, (n, width)).astype(dtype)
        for source in (
            points.T,
            np.ascontiguousarray(points.T).T,
            points.T[::2],
            points.T[1:, 1:],
            points[:, 1:].T[:3],
        ):
            target = np.zeros(source.shape, dtype)
            copied(target, source)
            assert np.array_equal(target, source)


def test_nothing_is_copied() -> None:
    copied(np.zeros((3, 0), np.float32), np.zeros((3, 0), np.float32))
    target = np.zeros((), np.float32)
    copied(target, np.full((), 3, np.float32))
    assert target == 3


@pytest.mark.parametrize(
    "kernel",
    [*map(cpu.bulk_kernel, BULK[:IN_LIBRARIES]), cpu.bulk_kernel("points_7_2"), *cuda.bulk_kernels()],
    ids=lambda k: k.name,
)
def test_copies_are_kernels_like_any(kernel: Kernel) -> None:
    """They print and parse back; with its fences, every thread of a GPU sees what it relies on."""
    assert parse_kernel(show_kernel(kernel)) == kernel
    if kernel.lanes is None:
        assert check_collectives(ready(kernel, CUDA_PASSES)) == ()
