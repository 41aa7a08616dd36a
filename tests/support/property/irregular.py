"""Random programs of nonuniform parallelism: widths, trip counts and conditions that vary over nests.

In a nest, sizes computed from its values join the sizes that statements choose from, so that arrays of these sizes go
through everything the generator knows: maps, reductions and scans over them, loops that carry them, branches that give
them, slices, concatenations, updates; segments may be empty, and one may be larger than all others together. Run it
alone with `python -m tests.support.property.irregular FIRST COUNT`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

from soac.flatten.versions import rounds
from soac.ir.machine import Mode
from soac.ir.types import Names, Prim, Var
from soac.kernels.schedule import merge_path as mergepath
from tests.support.property.choices import Decide, Drawn
from tests.support.property.device import check_device
from tests.support.property.generate import (
    Case,
    chain_stm,
    closed,
    fill,
    hist_stm,
    if_stm,
    inputs,
    loop_stm,
    map_over,
    opened,
    scatter_stm,
    soac_stm,
    while_stm,
)
from tests.support.property.law import Tally, check_law
from tests.support.property.make import Block, Maker
from tests.support.property.simple import bulk_stm, sizes_with, varying_size

FUEL = 30


def varying_nest(b: Block) -> None:
    """A map whose body computes sizes and works on arrays of these sizes."""
    m = b.maker
    taken = inputs(b, m.size())

    def work(inner: Block) -> None:
        fill(inner, 1)
        sizes = tuple(varying_size(inner) for _ in range(1 + m.number(2)))
        with sizes_with(m, sizes):
            for _ in range(2 + m.number(3)):
                _varying_stm(inner)

    map_over(b, taken, work)


def _varying_stm(b: Block) -> None:
    m = b.maker
    if m.fuel <= 0 or b.depth <= 0:
        bulk_stm(b)
        return
    m.fuel -= 1
    match m.number(12):
        case 0:
            varying_nest(b)
        case 1 | 2 | 3:
            soac_stm(b)
        case 4:
            chain_stm(b)
        case 5:
            loop_stm(b)
        case 6 | 7:
            if_stm(b)
        case 8:
            scatter_stm(b) if m.chance(50) else hist_stm(b)
        case 9:
            while_stm(b)
        case 10:
            bulk_stm(b)
        case _:
            fill(b, 1)


def varying_case(decide: Decide) -> Case:
    """A program and its arguments, by the decisions given."""
    names = Names(0)
    n, k = names.fresh("n"), names.fresh("m")
    seed = decide(1 << 16)
    lengths = {n: (4, 3, 1, 0, 6)[decide(5)], k: (2, 1, 0, 3)[decide(4)]}
    maker = Maker(decide, names, (Var(n), Var(k)), FUEL)
    shapes = (("xs", Prim.I32, (n,)), ("ys", Prim.I32, (k,)), ("xss", Prim.I32, (n, k)), ("zs", Prim.I32, (n,)))
    block = opened(maker, shapes)
    fill(block, 1)
    varying_nest(block)
    varying_nest(block)
    return closed(block, lengths, seed)


@contextmanager
def small_parts() -> Iterator[None]:
    """Parts of three steps, so that small rows lie in several, and batches of two rounds."""
    before, mergepath.GRAIN, rounds.BATCH = (mergepath.GRAIN, rounds.BATCH), 3, 2 * rounds.LEAST
    yield
    mergepath.GRAIN, rounds.BATCH = before


def program(number: int) -> Case:
    """The program of a number, always the same."""
    return varying_case(Drawn(Random(f"varying {number}")))


def check_program(number: int, law: Callable[[Case], Tally]) -> Tally:
    with small_parts():
        return law(program(number))


def in_versions(case: Case) -> Tally:
    """The law for the mode that flattens what varies."""
    return check_law(case, Mode.INCREMENTAL)


def main(first: int, count: int, device: bool) -> None:
    total = Tally()
    for number in range(first, first + count):
        try:
            total.add(check_program(number, check_device if device else in_versions))
        except Exception as error:  # whatever breaks is a finding
            print(f"{number}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    print(f"{count} programs, {total.versions} versions")
    for rule, times in sorted(total.fired.items(), key=lambda pair: pair[0].value):
        print(f"  {times:6d}  {rule.value}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), "--device" in sys.argv)
