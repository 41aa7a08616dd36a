"""A thread that fails: its block ends where all meet, in every order of threads; until then it does nothing that relies
on what the check was to ensure, and comes to what its warp exchanges. Nothing is read where nothing can have failed."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from soac.ir.core import Level
from soac.ir.errors import Loc, RunError
from soac.ir.machine import CUDA
from soac.ir.ops import Op
from soac.ir.types import Prim, i64
from soac.kernels.cuda_c.module import cuda_kernel, prelude
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.device import KernelFailure
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Kernel, KStm, KVar
from soac.kernels.passes.pipeline import CUDA_PASSES, ready
from soac.pipeline import compile_prog
from tests.kernels.cuda_c.test_collectives import composed, plus
from tests.support.block_kernels import BLOCK, OUT, XS, N, copy, let, load, shared, threads, var
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER, build

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
SITES = (kir.FailureSite("R0101", Loc("f", 1, 1, 1, 1), ("element ", Prim.I64)),)
COUNT, BAD = 150, 77
"""Elements, and which of them fails: it is not below N."""
Stms = tuple[KStm, ...]


def read(i: KVar) -> tuple[KVar, Stms]:
    x, stm = load(XS, i)
    return x, (stm,)


def checked(i: KVar) -> tuple[KVar, Stms]:
    x, stm = load(XS, i)
    return x, (stm, kir.BoundsCheck(x, N, 0, (i,)))


def reduction(kind: str) -> Stms:
    i, slope, start = var("i"), var("slope"), var("start")
    x, body = checked(i)
    if kind == "any order":
        stm = kir.BlockReduce((start,), i, i64(0), i64(COUNT), body, (x,), plus(), (i64(0),), True)
    else:
        neutral, long = (i64(1), i64(0)), kind == "staged"
        stm = kir.BlockReduce(
            (slope, start), i, i64(0), i64(COUNT), body, (i64(3), x), composed(), neutral, False, long
        )
    return (stm,)


def scan(in_body: bool, long: bool) -> Stms:
    i, s, carry = var("i"), var("s"), var("carry")
    (x, body), (_, after) = (checked(i), read(i)) if in_body else (read(i), checked(i))
    zero = (i64(0),)
    stm = kir.BlockScan((s,), (carry,), i, i64(0), i64(COUNT), body, (x,), plus(), zero, zero, after, long)
    return (stm,)


def teams(commutative: bool, in_body: bool) -> Stms:
    """Four threads for each of 15 segments of 10 elements."""
    segment, i, total = var("segment"), var("i"), var("total")
    first, scaled = let(Op.MUL, segment, i64(10))
    at, place = let(Op.ADD, first, i)
    last, end = let(Op.ADD, first, i64(7))
    (x, body), (_, after) = (checked(at), read(last)) if in_body else (read(at), checked(last))
    stm = kir.TeamReduce(
        (total,), i64(4), segment, i64(0), i64(15), i, i64(10), (scaled, place, *body), (x,), plus(), (i64(0),),
        commutative, (scaled, end, *after),
    )  # fmt: skip
    return (stm,)


def the_first_thread() -> Stms:
    """Uniform code that writes: one thread does it, and fails alone."""
    i = var("i")
    x, body = checked(i)
    return (kir.For(i, i64(COUNT), (*body, kir.Store(OUT, i64(2), x))),)


def two_phases() -> Stms:
    """What the second loop reads of the array the same thread has written in the first, behind a check."""
    s, i, j = shared("s"), var("i"), var("j")
    x, body = checked(i)
    at, found = load(s, j)
    y, use = load(XS, at)
    place, beyond = let(Op.ADD, j, i64(COUNT))
    first, second = (
        threads(i, i64(COUNT), *body, kir.Store(s, i, x)),
        threads(j, i64(COUNT), found, use, beyond, kir.Store(OUT, place, y)),
    )
    return kir.Alloc(s, i64(COUNT)), first, second


def meeting() -> Stms:
    """out = xs mirrored, by way of shared memory: all threads meet."""
    return (
        kir.Alloc(shared("mirrored"), i64(COUNT)),
        copy(XS, shared("mirrored"), COUNT),
        copy(shared("mirrored"), OUT, COUNT, True),
    )


KINDS: dict[str, Callable[[], Stms]] = {
    **{kind: lambda kind=kind: reduction(kind) for kind in ("any order", "in order", "staged")},
    "scan": lambda: scan(True, False),
    "after a scan": lambda: scan(False, False),
    "staged scan": lambda: scan(True, True),
    "teams": lambda: teams(True, True),
    "teams in order": lambda: teams(False, True),
    "after teams": lambda: teams(True, False),
    "the first thread": the_first_thread,
    "two phases": two_phases,
}


def kernel_of(kind: str) -> Kernel:
    return Kernel("k", BLOCK, (XS, OUT), (N,), (*KINDS[kind](), *meeting()), SITES, Level.BLOCK)


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
def test_a_thread_that_fails_ends_its_block(kind: str) -> None:
    """With the element that failed in the message, and without the store behind the next meeting."""
    emulator = build((kernel_of(kind),), 64)
    for bad in (True, False):
        xs = np.full(COUNT, 3, np.int64)
        xs[BAD] = 1 << 40 if bad else 4
        for order in (0, 1, 5):
            out = np.zeros(2 * COUNT, np.int64)
            if not bad:
                emulator.launch("k", 1, [xs, out], [10], order)
                assert np.array_equal(out[:COUNT], xs[::-1])
                continue
            with pytest.raises(KernelFailure) as failed:
                emulator.launch("k", 1, [xs, out], [10], order)
            assert failed.value.values == (BAD,)
            assert not out[4:COUNT].any()


FORMS = tuple(product(("for", "while", "then", "else"), repeat=2))
ZERO, SECOND = i64(0), i64(2)


def one_in_another(forms: tuple[str, ...], body: Stms, mark: KStm) -> Stms:
    """Loops and branches in each other, the innermost with the body; behind each of them the mark."""
    for form in forms:
        k = var("k")
        match form:
            case "for":
                stms: Stms = (kir.For(k, SECOND, body),)
            case "while":
                (cond, test), (following, step) = let(Op.LT, k, SECOND, prim=Prim.BOOL), let(Op.ADD, k, i64(1))
                rest = step, kir.Assign(k, following)
                stms = kir.Declare(k, ZERO), kir.KWhile((test,), cond, (*body, *rest))
            case "then":
                cond, test = let(Op.LT, ZERO, N, prim=Prim.BOOL)
                stms = test, kir.KIf(cond, body, ())
            case _:
                cond, test = let(Op.LT, N, ZERO, prim=Prim.BOOL)
                stms = test, kir.KIf(cond, (), body)
        body = *stms, mark
    return body


def nested(number: int, forms: tuple[str, ...]) -> Kernel:
    i = var("i")
    at, place = let(Op.ADD, i, i64(COUNT))
    _, body = checked(i)
    stms = one_in_another(forms, body, kir.Store(OUT, at, i64(1)))
    each = threads(i, i64(COUNT), place, *stms)
    return Kernel(f"k{number}", BLOCK, (XS, OUT), (N,), (each, *meeting()), SITES, Level.BLOCK)


@needs_compiler
@pytest.mark.whole
def test_a_thread_that_fails_leaves_all_that_is_around_it() -> None:
    """Of loops and branches in each other: it does nothing behind one of them, nor for its next element."""
    kernels = tuple(nested(k, forms) for k, forms in enumerate(FORMS))
    emulator = build(kernels, 64)
    for kernel in kernels:
        xs, out = np.full(COUNT, 3, np.int64), np.zeros(2 * COUNT, np.int64)
        emulator.launch(kernel.name, 1, [xs, out], [10], 0)
        assert out[COUNT:].all()
        xs[BAD], out[COUNT:] = 1 << 40, 0
        with pytest.raises(KernelFailure):
            emulator.launch(kernel.name, 1, [xs, out], [10], 0)
        assert not out[COUNT + BAD :: 64].any()


@pytest.mark.parametrize("kind", KINDS)
def test_the_flag_is_what_threads_bring_to_the_barrier(kind: str) -> None:
    """No word of shared memory that one thread writes while others read it, and no thread that is gone."""
    text = cuda_kernel(ready(kernel_of(kind), CUDA_PASSES)).text
    assert "__syncthreads_or(failed)" in text
    assert "__shared__ i32 failed" not in text
    assert not re.search(r"failed = \w+;\s+return;", text)
    assert "__syncthreads();" not in text


def test_the_record_is_read_through_the_cache() -> None:
    """By kernels that wait for other blocks it is read in memory."""
    (read_it,) = re.findall(r"DEVICE bool has_failed.*", prelude())
    assert "volatile" not in read_it
    assert re.search(r"\(seen = acquire.*\n.*volatile", prelude())


SOURCE = """
entry safe [n] (xs: [n]i32): [n]i32 = let ys = scan (+) 0 xs in map (\\i -> ys[i] + ys[n - 1 - i]) (iota n)
entry gather [n] (xs: [n]i32) (is: [n]i64): [n]i32 = let ys = map (\\i -> xs[i]) is in scan (+) 0 (scan (+) 1 ys)
"""


@pytest.fixture(scope="module")
def program() -> Any:
    compiled = compile_prog(SOURCE, "fails.soac", machine=CUDA)
    return CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(EmulatedDriver()), 64)


@needs_compiler
def test_nothing_is_read_where_nothing_can_have_failed(program: CudaExecutable) -> None:
    """A launch is given the record if a kernel before it may have failed; a call begins without."""
    driver, xs = program.gpu.driver, np.arange(5, dtype=np.int32)
    assert isinstance(driver, EmulatedDriver)

    def given_records(entry: str, *args: np.ndarray) -> list[tuple[bool, bool]]:
        """Of each launch: whether it is given, and whether one before it can fail."""
        driver.launched.clear()
        program.run(entry, args)
        kernels = {name: kernel.text.fails for name, kernel in program.device.kernels.items()}
        mine = [one for one in driver.launched if one.name in kernels]
        can = [any(kernels[before.name] for before in mine[:k]) for k in range(len(mine))]
        return [(one.values[1] != 0, before) for one, before in zip(mine, can, strict=True)]

    for _ in range(2):
        found = given_records("gather", xs, np.array([4, 3, 2, 1, 0]))
        assert {is_given for is_given, _ in found} == {True, False}
        assert all(is_given == before for is_given, before in found)
    with pytest.raises(RunError, match=r"index \[7\]"):
        program.run("gather", [xs, np.array([7, 3, 2, 1, 0])])
    assert given_records("gather", xs, np.array([4, 3, 2, 1, 0]))[0] == (False, False)
