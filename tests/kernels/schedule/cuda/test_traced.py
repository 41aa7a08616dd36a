"""A GPU's schedules under the tracer and the collective check; what is left out of a chain of blocks is reported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from soac.ir.interpret import Thresholds, prepare
from soac.ir.types import Const
from soac.kernels.analysis.check_collectives import check_collectives
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Kernel, KStm
from soac.kernels.kernel_ir.traverse import children, statements, with_children
from soac.kernels.passes.pipeline import CUDA_PASSES, ready
from soac.kernels.tracer.run import TraceSettings, show_finding, trace_kernels, trace_program
from soac.kernels.tracer.visibility import Kind
from soac.versions import runs_of
from tests.support.emulator.checks import Outcome, trace
from tests.support.emulator.subjects import ROOT, of_file
from tests.support.fences import count_fences, without_fence
from tests.support.gpu_programs import arguments, compiled, floats, ints, same

CALLS = arguments()
SETTINGS = TraceSettings(threads=64)
SHORT = 2000  # elements of a call that is traced
TILES = 10_000  # elements of one that has several tiles, traced where a shorter one shows nothing


def test_what_no_round_has_written_is_not_read() -> None:
    """Memory without values for all points of a nest is not copied under the checks of its size."""
    found = Outcome()
    trace(of_file(ROOT / "tests" / "regress" / "rows_overwritten_in_nests.soac"), found)
    assert found.traced
    assert not found.faults


@pytest.mark.parametrize("entry", CALLS)
def test_nothing_is_reported(entry: str) -> None:
    oracle = prepare(compiled().core)
    for args in CALLS[entry]:
        if sum(np.size(a) for a in args) > SHORT:
            continue
        wanted = oracle.run(entry, args, Thresholds())[0]
        for version in runs_of(compiled().flat, entry):
            report = trace_program(compiled(), entry, args, version, SETTINGS)
            assert report.is_clean, [show_finding(f) for f in report.findings]
            for x, y in zip(report.results, wanted, strict=True):
                same(x, y)


def test_every_statement_stands_where_its_threads_are() -> None:
    assert [found for kernel in compiled().host.kernels for found in check_collectives(kernel)] == []


def test_all_schedules_are_there() -> None:
    kinds = {type(stm) for kernel in compiled().host.kernels for stm in statements(kernel.body)}
    assert {kir.TeamReduce, kir.BlockReduce, kir.BlockScan, kir.WarpTurns, kir.Atomic} <= kinds
    assert kir.LookBack in kinds


# ---- a chain of blocks -------------------------------------------------------------------------------------------


def chain() -> Kernel:
    (kernel,) = (k for k in compiled().host.kernels if k.name.startswith("prefixes_") and looks_back(k))
    return ready(kernel, CUDA_PASSES)


def looks_back(kernel: Kernel) -> bool:
    return any(isinstance(stm, kir.LookBack) for stm in statements(kernel.body))


def kinds_of(mutant: Kernel) -> set[Kind]:
    """What is wrong when `mutant` runs in the place of the chain, over three tiles."""
    others = {kernel.name: ready(kernel, CUDA_PASSES) for kernel in compiled().host.kernels}
    kernels = {**others, mutant.name: mutant}
    report = trace_kernels(compiled(), kernels.__getitem__, "prefixes", [ints(9000)], None, SETTINGS)
    return {kind for launch in report.launches for kind, count in launch.counts.items() if count}


def changed(stms: tuple[KStm, ...], change: dict[int, tuple[KStm, ...]]) -> tuple[KStm, ...]:
    """The statements with those whose numbers (in the order of the text) are keys replaced."""
    numbers = iter(range(1_000_000))

    def walk(stms: tuple[KStm, ...]) -> Iterator[KStm]:
        for stm in stms:
            number = next(numbers)
            inner = with_children(stm, tuple(tuple(walk(part)) for part in children(stm)))
            yield from change.get(number, (inner,))

    return tuple(walk(stms))


def places(kernel: Kernel, kind: type) -> list[int]:
    return [k for k, stm in enumerate(statements(kernel.body)) if isinstance(stm, kind)]


def test_the_chain_is_clean() -> None:
    assert kinds_of(chain()) == set()


def test_a_tile_that_posts_its_total_elsewhere_is_reported() -> None:
    """Its successors wait for ever."""
    right = chain()
    (at,) = places(right, kir.LookBack)
    look = list(statements(right.body))[at]
    assert isinstance(look, kir.LookBack)
    twice = kir.KVar("twice", kir.Prim.I64)
    times = kir.KLet(twice, kir.KOp(kir.Op.MUL, kir.Prim.I64, (look.tile, Const(kir.Prim.I64, 2))))
    wrong = replace(right, body=changed(right.body, {at: (times, replace(look, tile=twice))}))
    assert {Kind.STUCK, Kind.BOUNDS} <= kinds_of(wrong)


def test_blocks_that_take_no_number_in_order_would_wait_for_each_other() -> None:
    """A block whose predecessors begin after it waits for a flag that is not yet set."""
    right = chain()
    (at,) = places(right, kir.Atomic)
    ticket = list(statements(right.body))[at]
    assert isinstance(ticket, kir.Atomic)
    assert ticket.out is not None
    last = Const(kir.Prim.I64, 2)
    backwards = kir.KLet(ticket.out, kir.KOp(kir.Op.SUB, kir.Prim.I64, (last, right.block)))
    assert Kind.STUCK in kinds_of(replace(right, body=changed(right.body, {at: (backwards,)})))


def test_every_fence_is_needed() -> None:
    """In all schedules: without any one of its fences a kernel has a hazard in one of the calls that reach it."""
    kernels = {kernel.name: ready(kernel, CUDA_PASSES) for kernel in compiled().host.kernels}
    mutants = [(name, without_fence(k, number)) for name, k in kernels.items() for number in range(count_fences(k))]
    assert mutants
    for name, mutant in mutants:
        assert any(is_reported(kernels | {name: mutant}, name, entry, args) for entry, args in calls_of(name)), name


def calls_of(kernel: str) -> Iterator[tuple[str, list]]:
    """The shortest calls first."""
    for entry, calls in CALLS.items():
        if kernel.startswith(f"{entry}_"):
            found = [(size, args) for args in calls if (size := sum(np.size(a) for a in args)) <= TILES]
            yield from ((entry, args) for _, args in sorted(found, key=lambda call: call[0]))


def is_reported(kernels: dict[str, Kernel], name: str, entry: str, args: list) -> bool:
    for version in runs_of(compiled().flat, entry):
        report = trace_kernels(compiled(), kernels.__getitem__, entry, args, version, SETTINGS)
        if any(launch.kernel == name and not launch.is_clean for launch in report.launches):
            return True
    return False


def test_a_scan_of_floats_is_traced_too() -> None:
    """A total goes from tile to tile."""
    report = trace_program(compiled(), "means", [floats(17000)], None, SETTINGS)
    assert report.is_clean
    same(report.results[0], np.cumsum(floats(17000)) / np.arange(1, 17001))
