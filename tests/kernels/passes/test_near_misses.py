"""What passes make of near misses of their golden pairs and of random kernels, and what all of them make of near misses
of kernels as they are lowered (`lowered_*.kir`): `near_misses.txt`. Its last column is written by `pytest --update`,
the others by `python -m tests.support.mutation.choose passes`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from scripts.emit_digest import renumbered
from soac.ir.errors import IRError
from soac.ir.machine import CPU, CUDA, Machine
from soac.kernels.analysis.check_collectives import check_kernels
from soac.kernels.kernel_ir.nodes import Kernel
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.kernel_ir.show import show_kernel
from soac.kernels.passes.pipeline import CPU_PASSES, CUDA_PASSES, ready
from tests.kernels.passes.test_goldens import GOLDEN, PASSES
from tests.support import random_kernels, random_rows
from tests.support.near_misses import Ledger, variant

RANDOM = {
    make.__name__: make
    for make in (
        random_kernels.random_kernel,
        random_kernels.kernel_of_nest,
        random_kernels.kernel_of_row_scans,
        random_kernels.kernel_of_rows,
        random_rows.kernel_of_rounds,
        random_rows.kernel_of_short_rows,
    )
}

LOWERED = {
    f"all-{machine}": Path(__file__).with_name(f"lowered_{machine}.kir").read_text("utf-8").split("\n\n")
    for machine in ("cpu", "cuda")
}
ALL: dict[str, tuple[Callable[[Kernel], Kernel], Machine]] = {
    "all-cpu": (lambda kernel: ready(kernel, CPU_PASSES), CPU),
    "all-cuda": (lambda kernel: ready(kernel, CUDA_PASSES), CUDA),
}
RUNS = PASSES | ALL


def became(name: str, text: str, number: int) -> str:
    run, machine = RUNS[name]
    try:
        if text in RANDOM:
            given = parse_kernel(renumbered(show_kernel(RANDOM[text](Random(number))).replace("..", " .. ")))
        elif name in ALL:
            given = parse_kernel(variant(LOWERED[name][int(text)], number))
        else:
            given = parse_kernel(variant((GOLDEN / f"{text}.kir").read_text("utf-8").partition("\n=>")[0], number))
        check_kernels((given,), machine)
    except IRError as error:
        return str(error)
    made = run(given)
    return "the same" if made == given else show_kernel(made)


LEDGER = Ledger(Path(__file__).with_name("near_misses.txt"), became)


@pytest.mark.whole
@pytest.mark.parametrize("name", LEDGER.names())
def test_near_misses_become_what_they_became(name: str, update: bool) -> None:
    if not update:
        LEDGER.compare(name)


def test_the_ledger_is_of_all_passes(update: bool) -> None:
    if update:
        LEDGER.write(row[:3] for row in LEDGER.known())
    assert set(LEDGER.names()) == RUNS.keys()
