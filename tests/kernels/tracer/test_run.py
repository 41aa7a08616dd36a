"""The tracer: what single kernels report; and every kernel of every program, clean and right, and no mutant of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soac.ir.errors import NOWHERE, RunError
from soac.ir.interpret import Thresholds, interpret
from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.analysis.check_collectives import check_collectives
from soac.kernels.analysis.uniformity import depending, loaded_names
from soac.kernels.devices.device import KernelFailure
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Kernel
from soac.kernels.kernel_ir.traverse import children, statements, with_children
from soac.kernels.passes.pipeline import CUDA_PASSES, ready
from soac.kernels.tracer.run import (
    KernelTrace,
    Report,
    TraceSettings,
    ready_kernels,
    show_finding,
    trace_kernel,
    trace_kernels,
)
from soac.kernels.tracer.visibility import Kind
from soac.testing.blocks import Fails
from soac.testing.datasets import inputs_of
from soac.versions import runs_of
from tests.kernels.lanes.test_random_kernels import inputs, make_kernel
from tests.support.block_kernels import I64, OUT, XS, N, copy, kernel, let, load, shared, threads, var
from tests.support.fences import without_fence
from tests.support.kernel_interpreter import interpret as one_by_one
from tests.support.programs import PROGRAMS, is_large, opened, sets_of

SMALL = TraceSettings(threads=8, warp=4)
OTHER = TraceSettings(threads=6, warp=3)  # where the thread that is wrong is the right one by chance
MOST_ELEMENTS = 1000  # of the arguments of a traced call
MEASURE = "_longest_"
"""In the names of kernels that measure the longest row for a guard. Their ranges are not made longer: a row more may
have a length that is there and no larger, and then the measure is the same."""
MOST_WORK = 150  # product of its numbers


# ---- single kernels ----------------------------------------------------------------------------------------------


def traced(k: Kernel, n: int, settings: TraceSettings = SMALL, blocks: int = 1) -> KernelTrace:
    return trace_kernel(k, [np.arange(n), np.zeros(n, np.int64)], [n], blocks, settings)


def found(report: KernelTrace) -> dict[Kind, int]:
    return {kind: n for kind, n in report.counts.items() if n}


def strided(step: int) -> Kernel:
    """out[i] = xs[i * step]."""
    i = var("i")
    at, index = let(Op.MUL, i, i64(step))
    x, read = load(XS, at)
    return kernel(threads(i, i64(32), index, read, kir.Store(OUT, i, x)))


@pytest.mark.parametrize(("step", "sectors"), [(0, 1), (1, 8), (2, 16), (4, 32), (8, 32)])
def test_sectors_of_a_warp(step: int, sectors: int) -> None:
    """32 threads of a warp, elements of 8 bytes, sectors of 32."""
    report = trace_kernel(strided(step), [np.zeros(256, np.int64), np.zeros(32, np.int64)], [32], 1, TraceSettings(32))
    reads, writes = report.sites
    assert (reads.requests, reads.units, reads.worst, reads.lanes) == (1, sectors, sectors, 32)
    assert writes.units == 8


def test_sectors_of_narrow_elements() -> None:
    i, x = var("i"), kir.KVar("x", Prim.F32)
    source, target = (kir.KArray(name, Prim.F32, kir.Space.GLOBAL) for name in ("a", "b"))
    body = threads(i, N, kir.KLet(x, kir.KLoad(source, i)), kir.Store(target, i, x))
    arrays = [np.zeros(96, np.float32), np.zeros(96, np.float32)]
    report = trace_kernel(kernel(body, arrays=(source, target)), arrays, [96], 1, TraceSettings(64))
    assert [(site.requests, site.units) for site in report.sites] == [(3, 12), (3, 12)]


@pytest.mark.parametrize(("step", "turns"), [(1, 2), (2, 4), (16, 32)])
def test_bank_conflicts_of_shared_memory(step: int, turns: int) -> None:
    """Banks of 4 bytes: elements of 8 begin in every other one, so that 32 of them take two turns."""
    a, i = shared("a"), var("i")
    at, index = let(Op.MUL, i, i64(step))
    report = trace_kernel(
        kernel(kir.Alloc(a, i64(512)), threads(i, i64(32), index, kir.Store(a, at, i))),
        [np.zeros(1, np.int64), np.zeros(1, np.int64)], [1], 1, TraceSettings(32),
    )  # fmt: skip
    (site,) = report.sites
    assert site.units == turns
    assert report.shared_bytes == 512 * 8


def test_work_per_thread() -> None:
    """Thread i loops i times: the block takes as long as its busiest thread, warps that wait for it too."""
    i, j = var("i"), var("j")
    report = traced(kernel(threads(i, N, kir.For(j, i, (kir.Store(OUT, i, j),)))), 8)
    assert report.work.total == 8 + sum(range(8))
    assert report.work.most == 8
    assert report.work.padded == 8 * 8
    assert report.work.slots == 8
    assert 0 < report.work.balance < 1


def test_uninitialised_and_out_of_bounds() -> None:
    a = shared("a")
    report = traced(kernel(kir.Alloc(a, i64(4)), copy(a, OUT, 4), copy(XS, a, 5)), 6)
    assert found(report) == {Kind.UNINIT: 4, Kind.BOUNDS: 1}
    texts = [show_finding(f) for f in report.findings]
    assert "read of an uninitialised element at a[0]: thread 0 of block 0 in `let x" in texts[0]
    assert texts[0].endswith("(4 times)")


def test_private_memory_is_uninitialised_in_each_thread() -> None:
    mine, i = kir.KArray("mine", I64, kir.Space.PRIVATE), var("i")
    x, read = load(mine, i64(0))
    body = (kir.Alloc(mine, i64(1)), kir.KIf(Const(Prim.BOOL, True), (), ()), read, kir.Store(OUT, i, x))
    assert found(traced(kernel(threads(i, N, *body)), 3)) == {Kind.UNINIT: 3}


def test_blocks_meet_in_global_memory() -> None:
    report = traced(kernel(copy(XS, OUT, 4)), 4, blocks=3)
    assert found(report) == {Kind.WAW: 8}
    assert "missing is the end of the launch" in show_finding(report.findings[0])


def test_a_finding_names_threads_places_and_scope() -> None:
    a = shared("a")
    report = traced(kernel(kir.Alloc(a, i64(8)), copy(XS, a, 8), copy(a, OUT, 8, mirrored=True)), 8)
    text = show_finding(report.findings[0])
    assert "read after write at a[7]: thread 0 of block 0 in `let x" in text
    assert "after thread 7 of block 0 in `a[i" in text
    assert text.endswith("missing is a fence of the block (8 times)")


def test_a_failing_check_stops_the_launch() -> None:
    i = var("i")
    site = kir.FailureSite("R0101", NOWHERE, ("index ", I64))
    k = replace(kernel(threads(i, N, kir.BoundsCheck(i, i64(3), 0, (i,)), kir.Store(OUT, i, i))), sites=(site,))
    with pytest.raises(KernelFailure) as caught:
        traced(k, 5)
    assert caught.value.values == (3,)


# ---- random kernels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_random_kernels_agree_with_the_oracle(seed: int) -> None:
    """Threads that own their elements: no hazards; values or failure as when one thread runs after the other."""
    k, _ = make_kernel(seed)
    k = replace(k, sites=tuple(kir.FailureSite("R0103", NOWHERE, (str(n),)) for n in range(1 + max(sites_of(k.body)))))
    ours = inputs(np.random.default_rng(seed))
    theirs = {name: array.copy() for name, array in ours.items()}
    failures = one_by_one(k, theirs, {"n": 17}, 1)
    if failures:
        with pytest.raises(KernelFailure) as caught:
            trace_kernel(k, [ours[a.name] for a in k.arrays], [17], 1, SMALL)
        assert (int(str(caught.value.site.parts[0])), caught.value.values) in failures
        return
    report = trace_kernel(k, [ours[a.name] for a in k.arrays], [17], 1, SMALL)
    assert report.is_clean, [show_finding(f) for f in report.findings]
    for name, expected in theirs.items():
        np.testing.assert_array_equal(ours[name], expected, name)


def sites_of(body: tuple[kir.KStm, ...]) -> list[int]:
    return [-1, *(s.site for s in statements(body) if isinstance(s, (kir.Check, kir.BoundsCheck)))]


# ---- programs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An entry point with arguments, a version, and what it gives."""

    entry: str
    args: list[Any]
    forced: dict[str, bool]
    expected: list[Any]


def small(args: list[Any]) -> bool:
    """Few elements, and numbers whose product is small: they may be sizes."""
    numbers = [int(a) for a in args if np.asarray(a).dtype.kind in "iu" and np.ndim(a) == 0 and a > 1]
    return sum(np.size(a) for a in args) <= MOST_ELEMENTS and math.prod(numbers) <= MOST_WORK


@cache
def calls(path: Path) -> list[Call]:
    """Every small case of the test block on every version; the values are the interpreter's, of core."""
    session, found = opened(path), []
    for one in sets_of(path):
        if isinstance(one.case.expected, Fails) or is_large(one, MOST_ELEMENTS):
            continue
        args = inputs_of(one, session.program, path)
        if not small(args):
            continue
        expected = interpret(session.program.compiled.fused, one.entry, args, Thresholds())[0]
        for forced in runs_of(session.program.compiled.flat, one.entry):
            found.append(Call(one.entry, args, dict(forced), expected))
    return found


def agree(got: list[Any], wanted: list[Any]) -> bool:
    """Integers exactly, floats up to the order of reductions."""
    return all(
        np.allclose(g, w, rtol=1e-4, atol=1e-4, equal_nan=True) if np.asarray(g).dtype.kind == "f"
        else np.array_equal(g, w)
        for g, w in zip(got, wanted, strict=True)
    )  # fmt: skip


each_program = pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)


@each_program
def test_every_kernel_is_clean_and_right(path: Path) -> None:
    compiled = opened(path).program.compiled
    kernels = ready_kernels(compiled)
    for call in calls(path):
        report = trace_kernels(compiled, kernels, call.entry, call.args, call.forced, SMALL)
        assert report.is_clean, [show_finding(f) for f in report.findings]
        assert agree(report.results, call.expected)


@each_program
def test_collectives_are_well_placed(path: Path) -> None:
    for k in opened(path).program.compiled.host.kernels:
        assert check_collectives(k) == ()
        assert check_collectives(ready(k, CUDA_PASSES)) == ()


# ---- mutants -----------------------------------------------------------------------------------------------------


def mutants(k: Kernel) -> Iterator[tuple[str, Kernel]]:
    """The kernel with one thing wrong: a fence left out, or one thread more than there are elements."""
    for number, following in enumerate(after_fences(k.body)):
        if not updates_loaded_rows(k, following):
            yield f"fence {number} dropped", without_fence(k, number)
    roomy, hurried = arrays_with_room(k), list(hurried_ranges(k))
    for number, stm in enumerate(ranges(k.body) if MEASURE not in k.name else ()):
        if not fills(stm, roomy) and all(stm is not other for other in hurried):
            yield f"range {number} longer", replace(k, body=longer(k.body, number))


def after_fences(stms: tuple[kir.KStm, ...]) -> Iterator[kir.KStm]:
    """What comes after each fence in its list, in the order of the text; the last one itself."""
    for number, stm in enumerate(stms):
        if isinstance(stm, kir.Fence):
            yield stms[min(number + 1, len(stms) - 1)]
        for inner in children(stm):
            yield from after_fences(inner)


def updates_loaded_rows(k: Kernel, stm: kir.KStm) -> bool:
    """Is it a loop over a row that begins at a place read from memory? Such rows lie apart by multiples of their
    length, so that each thread meets its own elements again; the placing of fences does not know that, and keeps
    one."""
    everything = tuple(statements(k.body))
    loaded = depending(everything, loaded_names(everything))
    stores = [inner for inner in statements((stm,)) if isinstance(inner, kir.Store)]
    return isinstance(stm, (kir.For, kir.Threads)) and any(
        isinstance(s.index, kir.KVar) and s.index.name in loaded for s in stores
    )


def hurried_ranges(k: Kernel) -> Iterator[kir.KStm]:
    """What a block of a chain does only because others are under way: here they run one after the other. See
    `tests/kernels/schedule/cpu/test_segscan.py`."""
    if any(isinstance(stm, kir.WaitFor) for stm in statements(k.body)):
        yield from ranges(tuple(stm for stm in k.body if isinstance(stm, kir.KIf)))


def arrays_with_room(k: Kernel) -> set[kir.KArray]:
    """Arrays of block memory with elements that are not used: bins in memory of constant size, and the two halves of a
    buffer, which lie apart."""
    known = {stm.var: stm.rhs for stm in statements(k.body) if isinstance(stm, kir.KLet)}

    def has_room(count: kir.Operand) -> bool:
        match known.get(count) if isinstance(count, kir.KVar) else count:
            case Const() | kir.KOp(Op.ADD, _, (kir.KVar(), Const())):
                return True
            case kir.KOp(Op.MUL, _, (Const(), kir.KVar() as half)):
                return has_room(half)
            case _:
                return False

    return {stm.array for stm in statements(k.body) if isinstance(stm, kir.Alloc) and has_room(stm.count)}


def fills(stm: kir.KStm, arrays: set[kir.KArray]) -> bool:
    """Is all that the statement does to store to one of these arrays? One element more is not looked at by anybody."""
    stored = [inner.array for inner in statements((stm,)) if isinstance(inner, kir.Store)]
    return isinstance(stm, kir.Threads) and stored != [] and all(array in arrays for array in stored)


def ranges(stms: tuple[kir.KStm, ...]) -> Iterator[kir.KStm]:
    for stm in stms:
        if isinstance(stm, (kir.Threads, kir.BlockReduce, kir.BlockScan)):
            yield stm
        else:
            for inner in children(stm):
                yield from ranges(inner)


def longer(stms: tuple[kir.KStm, ...], number: int) -> tuple[kir.KStm, ...]:
    """The `number`-th range of threads is one index too long."""
    done: list[kir.KStm] = []
    for stm in stms:
        if isinstance(stm, (kir.Threads, kir.BlockReduce, kir.BlockScan)):
            if number == 0:
                end, one_more = let(Op.ADD, stm.hi, i64(1))
                done.append(one_more)
                stm = replace(stm, hi=end)
            number -= 1
        else:
            here = sum(1 for _ in ranges((stm,)))
            if 0 <= number < here:
                stm = within(stm, number)
            number -= here
        done.append(stm)
    return tuple(done)


def within(stm: kir.KStm, number: int) -> kir.KStm:
    lists = []
    for inner in children(stm):
        lists.append(longer(inner, number))
        number -= sum(1 for _ in ranges(inner))
    return with_children(stm, tuple(lists))


def outcome(path: Path, kernels: dict[str, Kernel], call: Call, settings: TraceSettings) -> Report | None:
    """What a call reports; None where it fails."""
    try:
        return trace_kernels(
            opened(path).program.compiled, kernels.__getitem__, call.entry, call.args, call.forced, settings
        )
    except (RunError, RecursionError):
        return None


Guards = tuple[tuple[str, int, bool], ...]


def is_caught(path: Path, kernels: dict[str, Kernel], reached: list[tuple[Call, Guards]]) -> bool:
    """Kernels that measure sizes are only seen in the guards."""
    for settings, (call, guards) in product((SMALL, OTHER), reached):
        report = outcome(path, kernels, call, settings)
        if report is None or not report.is_clean or report.guards != guards:
            return True
        if not agree(report.results, call.expected):
            return True
    return False


NOT_NEEDED = {"main_a_0: fence 1 dropped", "main_a_0: fence 3 dropped"}
"""In the rounds of `lud`: between rows of the rest, which overlap in no case, since a row of it is no longer than one
of the matrix. Only a check says so, and fences are set without what checks say."""


@each_program
def test_every_mutant_is_caught(path: Path) -> None:
    """By a hazard, an access out of bounds, a failing check or a wrong value, in one of the calls that reach it."""
    right = {k.name: ready(k, CUDA_PASSES) for k in opened(path).program.compiled.host.kernels}
    reach: dict[str, list[tuple[Call, Guards]]] = {}
    for call in sorted(calls(path), key=lambda c: sum(np.size(a) for a in c.args)):
        report = outcome(path, right, call, SMALL)
        assert report is not None
        for launch in report.launches:
            known = reach.setdefault(launch.kernel, [])
            if all(call is not other for other, _ in known):
                known.append((call, report.guards))
    alive = []
    for name, known in reach.items():
        for what, mutant in mutants(right[name]):
            if not is_caught(path, {**right, name: mutant}, known):
                alive.append(f"{name}: {what}")
    assert set(alive) == (NOT_NEEDED if path.stem == "lud" else set())
