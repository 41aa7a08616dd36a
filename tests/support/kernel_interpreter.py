"""Kernel IR executed one thread after the other, in Python: what lanes are compared with, and how kernels are run."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import numpy as np

from soac.ir import scalar
from soac.ir.types import Const, Prim, i64
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.disk_cache import Cache
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.lanes.checks import MAX_VALUES
from soac.kernels.passes.choose_lanes import LaneSettings

from .compiled_kernels import compile_kernels

Value = bool | int | float
Arrays = dict[str, np.ndarray]
Failure = tuple[int, tuple[Value, ...]]


class Failed(Exception):
    """A check that failed."""

    def __init__(self, failures: set[Failure]) -> None:
        super().__init__(str(failures))
        self.failures = failures


@dataclass
class State:
    env: dict[str, Value]
    arrays: dict[kir.KArray, np.ndarray]
    junk: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))


def interpret(kernel: kir.Kernel, arrays: Arrays, scalars: dict[str, Value], blocks: int) -> set[Failure]:
    """Run all blocks on `arrays`, in place; gives the failures that may be reported (of one block: the first)."""
    for b in range(blocks):
        state = State({kernel.block.name: b, **scalars}, {a: arrays[a.name] for a in kernel.arrays})
        try:
            run(state, kernel.body)
        except Failed as failed:
            return failed.failures
    return set()


def read(state: State, x: kir.Operand) -> Value:
    return x.value if isinstance(x, Const) else state.env[x.name]


def position(state: State, index: kir.Operand, array: np.ndarray) -> int:
    i = int(read(state, index))
    assert 0 <= i < len(array), "an access out of bounds"
    return i


def run(state: State, stms: tuple[kir.KStm, ...]) -> None:
    for stm in stms:
        step(state, stm)


def step(state: State, stm: kir.KStm) -> None:
    env = state.env
    match stm:
        case kir.KLet(var, rhs):
            env[var.name] = evaluate(state, rhs)
        case kir.Declare(var, value) | kir.Assign(var, value):
            env[var.name] = read(state, value)
        case kir.Store(array, index, value):
            target = state.arrays[array]
            target[position(state, index, target)] = read(state, value)
        case kir.Alloc(array, count):
            bits = state.junk.integers(0, 2, max(0, int(read(state, count))))
            state.arrays[array] = bits.astype(scalar.DTYPES[array.prim])
        case kir.Check(ok, site, values):
            if not read(state, ok):
                raise Failed({(site, tuple(read(state, v) for v in values))})
        case kir.BoundsCheck(index, size, site, values):
            if not 0 <= read(state, index) < read(state, size):
                raise Failed({(site, tuple(read(state, v) for v in values))})
        case kir.KIf(cond, then, orelse):
            run(state, then if read(state, cond) else orelse)
        case kir.For(index, bound, body):
            for i in range(int(read(state, bound))):
                env[index.name] = i
                run(state, body)
        case kir.KWhile(before, cond, body):
            run(state, before)
            while read(state, cond):
                run(state, body)
                run(state, before)
        case kir.Threads(index, lo, hi, body):
            threads(state, index, lo, hi, lambda: run(state, body))
        case kir.PeeledThreads(index, lo, hi, since, until, body, middle):
            a, b = (int(read(state, x)) for x in (since, until))
            threads(state, index, lo, hi, lambda: run(state, middle if a <= int(env[index.name]) < b else body))
        case kir.BlockReduce():
            reduce(state, stm)
        case kir.BlockScan():
            scan(state, stm)
        case kir.Atomic(op, prim, array, index, value, None):
            target = state.arrays[array]
            i = position(state, index, target)
            target[i] = scalar.apply(op, prim, (target[i].item(), read(state, value)))
        case kir.LoadRow(names, array, index):
            source = state.arrays[array]
            first = position(state, index, source[: len(source) - len(names) + 1])
            env.update((var.name, x.item()) for var, x in zip(names, source[first:], strict=False))
        case kir.StoreRow(array, index, values):
            target = state.arrays[array]
            first = position(state, index, target[: len(target) - len(values) + 1])
            target[first : first + len(values)] = [read(state, x) for x in values]
        case kir.StoreSome(array, index, values, keeps):
            target, first = state.arrays[array], int(read(state, index))
            for k, (value, keep) in enumerate(zip(values, keeps, strict=True)):
                if read(state, keep):
                    assert 0 <= first + k < len(target)
                    target[first + k] = read(state, value)
        case kir.RowScan():
            row_scan(state, stm)
        case kir.Fence():
            pass
        case _:
            raise AssertionError(f"{type(stm).__name__} is for machines with threads")


def threads(state: State, index: kir.KVar, lo: kir.Operand, hi: kir.Operand, body) -> None:
    """Every thread runs, so that every failure that lanes may report is known."""
    failures: set[Failure] = set()
    for i in range(int(read(state, lo)), int(read(state, hi))):
        state.env[index.name] = i
        try:
            body()
        except Failed as failed:
            failures |= failed.failures
    if failures:
        raise Failed(failures)


def evaluate(state: State, rhs: kir.Rhs) -> Value:
    match rhs:
        case kir.KOp(op, prim, args):
            return scalar.apply(op, prim, tuple(read(state, a) for a in args))
        case kir.KConvert(source, target, arg):
            return scalar.convert(source, target, read(state, arg))
        case kir.KLoad(array, index):
            source = state.arrays[array]
            return source[position(state, index, source)].item()
        case kir.KAligned(array, index, count):
            return position(state, index, state.arrays[array]) % count == 0


def combine(state: State, op: kir.KLambda, left: list[Value], right: list[Value]) -> list[Value]:
    for var, value in zip((*op.left, *op.right), (*left, *right), strict=True):
        state.env[var.name] = value
    run(state, op.body)
    return [read(state, r) for r in op.results]


def reduce(state: State, stm: kir.BlockReduce) -> None:
    total = [read(state, x) for x in stm.neutral]

    def body() -> None:
        nonlocal total
        run(state, stm.body)
        total = combine(state, stm.op, total, [read(state, v) for v in stm.values])

    threads(state, stm.index, stm.lo, stm.hi, body)
    for var, value in zip(stm.outs, total, strict=True):
        state.env[var.name] = value


def scan(state: State, stm: kir.BlockScan) -> None:
    total = [read(state, x) for x in stm.carry]

    def body() -> None:
        nonlocal total
        run(state, stm.body)
        total = combine(state, stm.op, total, [read(state, v) for v in stm.values])
        for var, value in zip(stm.scanned, total, strict=True):
            state.env[var.name] = value
        run(state, stm.after)

    threads(state, stm.index, stm.lo, stm.hi, body)
    for var, value in zip(stm.carry_out, total, strict=True):
        state.env[var.name] = value


def row_scan(state: State, stm: kir.RowScan) -> None:
    total: list[Value] = []

    def body() -> None:
        nonlocal total
        run(state, stm.body)
        if int(state.env[stm.index.name]) % int(read(state, stm.width)) == 0:
            total = [read(state, x) for x in stm.neutral]
        total = combine(state, stm.op, total, [read(state, v) for v in stm.values])
        for var, value in zip(stm.scanned, total, strict=True):
            state.env[var.name] = value
        run(state, stm.after)

    threads(state, stm.index, i64(0), stm.count, body)


# ---- running kernels ------------------------------------------------------------------------------------------------

ARENA_BYTES = 1 << 16
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
NO_CACHE = Cache(None)


@dataclass
class Runner:
    """A compiled kernel and its scratch memory."""

    kernel: kir.Kernel
    compiled: jit.CompiledKernels
    arena: np.ndarray = field(default_factory=lambda: np.empty(ARENA_BYTES + 64, np.uint8))

    def __call__(self, arrays: Arrays, scalars: dict[str, Value], blocks: int, first: int = 0) -> np.ndarray:
        """Run `blocks` blocks from `first` on; gives the failure record."""
        record = np.zeros(1 + MAX_VALUES, np.int64)
        start = -(-self.arena.ctypes.data // 64) * 64
        table = np.array([start, 0, ARENA_BYTES], np.int64)
        slots = argument_slots(self.kernel, record, table, arrays, scalars)
        KERNEL(self.compiled.address(self.kernel.name))(slots.ctypes.data, first, first + blocks, 0)
        return record


def argument_slots(
    kernel: kir.Kernel, record: np.ndarray, table: np.ndarray, arrays: Arrays, scalars: dict[str, Value]
) -> np.ndarray:
    slots = np.zeros(2 + len(kernel.arrays) + len(kernel.scalars), np.int64)
    slots[0], slots[1] = record.ctypes.data, table.ctypes.data
    for k, array in enumerate(kernel.arrays, 2):
        given = arrays[array.name]
        assert given.dtype == scalar.DTYPES[array.prim]
        assert given.flags.c_contiguous
        slots[k] = given.ctypes.data
    for k, var in enumerate(kernel.scalars, 2 + len(kernel.arrays)):
        slots[k : k + 1].view(scalar.DTYPES[var.prim])[0] = scalars[var.name]
    return slots


def compiled(kernel: kir.Kernel, settings: LaneSettings) -> Runner:
    return Runner(kernel, compile_kernels((kernel,), settings, NO_CACHE))


def failure_of(record: np.ndarray, sites: dict[int, tuple[Prim, ...]]) -> Failure:
    """What a failure record says, its words read at the types of the values."""
    site = int(record[0]) - 1
    return site, tuple(_unword(prim, record[1 + k]) for k, prim in enumerate(sites[site]))


def _unword(prim: Prim, word: np.int64) -> Value:
    if prim.is_float:
        return np.array([word]).view(np.float64)[0].item()
    return bool(word) if prim is Prim.BOOL else int(word.view(np.uint64) if prim is Prim.U64 else word)
