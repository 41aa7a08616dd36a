"""Random programs of nonuniform parallelism: widths, trip counts and conditions that vary over nests.

In a nest, sizes computed from its values join the sizes that statements choose from, so that arrays of these sizes go
through everything the generator knows: maps, reductions and scans over them, loops that carry them, branches that give
them, slices, concatenations, updates; segments may be empty, and one may be larger than all others together. Run it
alone with `python -m tests.property.irregular FIRST COUNT`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import numpy as np

from soac.flatten import irregular_rules
from soac.flatten.levels import Mode
from soac.ir import core
from soac.ir.core import Entry, EntryParam, EntryResult, FunDef, Lambda, Param, Prog
from soac.ir.errors import NOWHERE
from soac.ir.types import I64, Const, Name, Names, Prim, Type, Var
from tests.property.choices import Decide, Drawn
from tests.property.device import check_device
from tests.property.generate import (
    Case,
    argument,
    chain_stm,
    fill,
    hist_stm,
    if_stm,
    inputs,
    loop_stm,
    scatter_stm,
    soac_stm,
    some_result,
    type_in,
    while_stm,
)  # fmt: skip
from tests.property.law import Tally, check_law
from tests.property.make import Block, Maker
from tests.property.simple import bulk_stm, sizes_with, varying_size

FUEL = 30


def varying_nest(b: Block) -> None:
    """A map whose body computes sizes and works on arrays of these sizes."""
    m = b.maker
    taken = inputs(b, m.size())
    params = tuple(m.param("row", t.row()) for _, t in taken)
    inner = b.inner(params)
    fill(inner, 1)
    sizes = tuple(varying_size(inner) for _ in range(1 + m.number(2)))
    with sizes_with(m, sizes):
        for _ in range(2 + m.number(3)):
            _varying_stm(inner)
    outside = {size for t in b.env.values() for size in t.shape} | set(m.sizes)
    result = tuple(some_result(inner, outside) for _ in range(1 + m.number(3)))
    ret = tuple(type_in(inner, atom) for atom in result)
    width = taken[0][1].shape[0]
    pat = tuple(m.param("y", t.array_of(width)) for t in ret)
    f = Lambda(params, inner.body(result), ret)
    b.lets(pat, core.Screma(width, tuple(name for name, _ in taken), f, (), ()))


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
    source = Random(decide(1 << 16))
    lengths = {n: (4, 3, 1, 0, 6)[decide(5)], k: (2, 1, 0, 3)[decide(4)]}
    maker = Maker(decide, names, (Var(n), Var(k)), FUEL)
    sizes = (Param(n, I64), Param(k, I64))
    shapes = (("xs", (n,)), ("ys", (k,)), ("xss", (n, k)), ("zs", (n,)))
    params = tuple(maker.param(base, Type(Prim.I32, tuple(map(Var, shape)))) for base, shape in shapes)
    block = Block(maker, {p.name: p.type for p in params}, 4)
    fill(block, 1)
    varying_nest(block)
    varying_nest(block)
    return _program(names, sizes, params, block, lengths, source)


def _program(
    names: Names,
    sizes: tuple[Param, ...],
    params: tuple[Param, ...],
    block: Block,
    lengths: dict[Name, int],
    source: Random,
) -> Case:
    maker = block.maker
    found = [name for name in list(block.env)[len(params) :] if _is_outside(block.env[name], maker)]
    results = tuple(maker.param("res", block.env[name]) for name in found[-8:])
    fun = FunDef(
        names.fresh("main"), sizes + params, (), results, block.body(tuple(Var(name) for name in found[-8:])),
        Entry(
            "main", len(sizes),
            tuple(EntryParam(p.name.base, "", 1, False) for p in params),
            tuple(EntryResult("", (i,)) for i in range(len(results))),
        ),
        (), NOWHERE,
    )  # fmt: skip
    numbers = np.random.default_rng(source.randrange(1 << 16))
    return Case(Prog((), (fun,), names.next), tuple(argument(numbers, p.type, lengths) for p in params))


def _is_outside(t: Type, m: Maker) -> bool:
    return all(isinstance(size, Const) or size in m.sizes for size in t.shape)


@contextmanager
def small_pieces() -> Iterator[None]:
    """Rows are cut into pieces of two, so that small ones have several."""
    before = irregular_rules.LOG_PIECE
    irregular_rules.LOG_PIECE = 1
    yield
    irregular_rules.LOG_PIECE = before


def program(number: int) -> Case:
    """The program of a number, always the same."""
    return varying_case(Drawn(Random(f"varying {number}")))


def check_program(number: int, law: Callable[[Case], Tally]) -> Tally:
    with small_pieces():
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
    print(f"{count} programs, {total.leaves} versions")
    for rule, times in sorted(total.fired.items(), key=lambda pair: pair[0].value):
        print(f"  {times:6d}  {rule.value}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), "--device" in sys.argv)
