"""Lanes over rows or over the elements of a row: chosen by cost, at run time where that depends on the length."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
import pytest

from soac.frontend.compile import compile_text
from soac.ir import scalar
from soac.ir.core import Convert, PrimOp
from soac.ir.interpret import interpret
from soac.ir.machine import CPU, Mode
from soac.ir.ops import Op
from soac.ir.types import Atom, Const, Name, Prim, Var
from soac.ir.version_tree import sites
from soac.kernels.analysis.cost import cost_at, cost_by_sizes, lanes_of
from soac.kernels.analysis.symbolic_cost import Role
from soac.kernels.analysis.uniformity import find_facts
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.host_ir.nodes import HostBody, HostIf
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, KVar, Space
from soac.pipeline import Compiled, compile_core

THREE_SCANS = """
entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
  let ys = map (\\xs -> let bs = scan (+) 0 xs
                       let cs = scan i32.max i32.lowest bs
                       in scan (\\a b -> if b == 0 then a else b) 0 cs) xss
  in ys
"""
BY_PLACE = """
entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
  map (\\xs -> scan (+) 0 (map2 (*) xs (map i32.i64 (iota m)))) xss
"""
FEW_AND_MANY = """
entry main [n][d][u] (xss: [n][d]i32) (ws: [u]i32): [n]i32 =
  let ys = map (\\xs -> let sums = map (\\x -> i32.sum (map (\\w -> (w * x) ^ 3) ws)) xs
                       let most = scan i32.max 0 sums
                       in i32.sum (map2 (-) most sums)) xss
  in ys
"""
SMALL = """
entry main [n] (xss: [n][3]i32): [n][3]i32 =
  let ys = map (\\xs -> let bs = scan (+) 0 xs in scan i32.max i32.lowest bs) xss in ys
"""


def compiled(text: str) -> Compiled:
    return compile_core(compile_text(text, "lanes.soac"), Mode.EVERY, CPU)


@pytest.mark.parametrize("width", [0, 1, 3, 31, 64, 65, 300])
def test_both_forms_give_the_same(width: int) -> None:
    made = compiled(THREE_SCANS)
    program = Executable.build(made.host, made.flat.functions)
    data = np.random.default_rng(width).integers(-3, 4, (20, width)).astype(np.int32)
    (expected,), _ = interpret(made.core, "main", [data])
    (site,) = sites(made.flat)
    for version in site.versions:
        (found,), _ = program.run("main", [data], forced=version, threads=1)
        np.testing.assert_array_equal(found, expected)


def test_the_length_of_rows_decides() -> None:
    """Short rows are walked by lanes of their own, long ones shared."""
    made = compiled(BY_PLACE)
    cheaper = [spread_is_cheaper(made, {"n": 1000, "m": m}) for m in (4, 16, 64, 256, 1024)]
    assert sorted(cheaper) == cheaper
    assert not cheaper[0]
    assert cheaper[-1]


def test_a_constant_length_leaves_nothing_to_compare() -> None:
    """Not of costs, but by how many points there are."""
    made = compiled(SMALL)
    assert not [exp for exp in all_host_exps(made) if isinstance(exp, PrimOp) and exp.prim is Prim.F64]


def all_host_exps(made: Compiled) -> Iterator[Any]:
    def walk(body: HostBody) -> Iterator[Any]:
        for stm in body.stms:
            yield stm.exp
            if isinstance(stm.exp, HostIf):
                yield from (*walk(stm.exp.then), *walk(stm.exp.orelse))

    for fun in made.host.functions:
        yield from walk(fun.body)


def spread_is_cheaper(made: Compiled, sizes: dict[str, int]) -> bool:
    """What the host finds when it first compares costs at these sizes."""
    (fun,) = made.host.functions
    values: dict[Name, Any] = {p.name: sizes[p.name.base] for p in fun.params if p.name.base in sizes}
    compares: set[Name] = set()

    def known(args: tuple[Atom, ...]) -> bool:
        return all(isinstance(a, Const) or a.name in values for a in args)

    def of(atom: Atom) -> Any:
        return atom.value if isinstance(atom, Const) else values[atom.name]

    def walk(body: HostBody) -> Iterator[bool]:
        for stm in body.stms:
            match stm.exp:
                case PrimOp(op, prim, args) if known(args):
                    values[stm.pat[0].name] = scalar.apply(op, prim, tuple(map(of, args)))
                    if (op, prim) in ((Op.LT, Prim.F64), (Op.SELECT, Prim.BOOL)):
                        compares.add(stm.pat[0].name)
                case Convert(source, target, arg) if known((arg,)):
                    values[stm.pat[0].name] = scalar.convert(source, target, of(arg))
                case HostIf(Var(name), _, _) if name in compares:
                    yield bool(values[name])
                case HostIf(_, then, orelse):
                    yield from walk(then)
                    yield from walk(orelse)
                case _:
                    pass

    return next(walk(fun.body))


def test_lanes_that_are_off_count() -> None:
    """Few rows are shared from a shorter length on than many, whose groups of lanes are full and read them in tiles."""
    made, lengths = compiled(THREE_SCANS), [2**k for k in range(12)]
    least = [next(m for m in lengths if spread_is_cheaper(made, {"n": points, "m": m})) for points in (2, 4, 20, 1000)]
    assert least == sorted(least)
    assert least[0] < least[-1]


def test_where_several_sizes_matter_all_of_them_decide() -> None:
    """Many short inner rows are no reason to share the outer one; long ones are, however few."""
    made = compiled(FEW_AND_MANY)
    assert not spread_is_cheaper(made, {"n": 1000, "d": 1000, "u": 3})
    assert not spread_is_cheaper(made, {"n": 1000, "d": 3, "u": 3})
    assert spread_is_cheaper(made, {"n": 1000, "d": 3, "u": 1000})
    assert spread_is_cheaper(made, {"n": 1000, "d": 1000, "u": 1000})


@pytest.mark.parametrize(("d", "u"), [(0, 5), (5, 0), (300, 3), (3, 300), (40, 40)])
def test_both_forms_give_the_same_whatever_decides(d: int, u: int) -> None:
    made = compiled(FEW_AND_MANY)
    program = Executable.build(made.host, made.flat.functions)
    rng = np.random.default_rng(d)
    data = [rng.integers(-3, 4, (20, d)).astype(np.int32), rng.integers(-3, 4, u).astype(np.int32)]
    (expected,), _ = interpret(made.core, "main", data)
    for version in sites(made.flat)[0].versions:
        (found,), _ = program.run("main", data, forced=version, threads=1)
        np.testing.assert_array_equal(found, expected)


def test_a_sum_over_sizes_is_the_cost_at_these_sizes() -> None:
    """`for j < m { threads i in 0..n { .. } }` with nothing strided, at n = m."""
    i, j, n, m, x = (KVar(name, Prim.I64) for name in "ijnmx")
    array = KArray("a", Prim.I64, Space.GLOBAL)
    threads = kir.Threads(i, Const(Prim.I64, 0), n, (kir.KLet(x, kir.KLoad(array, i)), kir.Store(array, i, x)))
    body = (kir.For(j, m, (threads,)), threads)
    names = {n: Name("n", 1), m: Name("m", 2)}
    facts = find_facts(body)
    total = cost_by_sizes(body, names, names[m], frozenset(), facts)
    for length in (16.0, 64.0, 256.0):
        meaning = {Role.STEPS: length, Role.GROUPS: length / 16, Role.FAR: max(length, 64.0) / 64.0}
        products = (c * prod(meaning[factor.role] for factor in product) for product, c in total.terms)
        assert sum(products) == pytest.approx(cost_at(body, length, length, frozenset(), facts, lanes_of(body, facts)))


def test_strides_cost_more_along_long_rows() -> None:
    """`a[i*m + j]` with lanes over i is a gather of lines that short rows share, `a[j*m + i]` is one access."""
    i, j, m, t, u, x = (KVar(name, Prim.I64) for name in "ijmtux")
    array = KArray("a", Prim.I64, Space.GLOBAL)

    def step(row: KVar, place: KVar, length: float) -> float:
        body = (
            kir.KLet(t, kir.KOp(Op.MUL, Prim.I64, (row, m))),
            kir.KLet(u, kir.KOp(Op.ADD, Prim.I64, (t, place))),
            kir.KLet(x, kir.KLoad(array, u)),
        )
        loop = kir.For(j, m, body)
        threads = (kir.Threads(i, Const(Prim.I64, 0), m, (loop,)),)
        facts = find_facts(threads)
        return cost_at(threads, length, 256.0, frozenset(), facts, lanes_of(threads, facts)) / length

    assert step(i, j, 16.0) > 4 * step(j, i, 16.0)
    assert step(i, j, 64.0) > 4 * step(j, i, 64.0)
    assert step(i, j, 1024.0) > 8 * step(i, j, 64.0)
