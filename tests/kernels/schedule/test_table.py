"""Tables of schedules: the driver takes the first row whose guard holds, and every row is taken by some program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from soac.frontend.source.text import Reach
from soac.ir import core
from soac.ir.core import Level, Param, SegSpace, Stm
from soac.ir.errors import NOWHERE
from soac.ir.machine import CPU, CUDA, Machine, Mode
from soac.ir.ops import Op
from soac.ir.types import I64, Atom, Const, Name, Names, Prim, Var, i64
from soac.kernels.host_ir.nodes import HostIf
from soac.kernels.kernel_ir.dedup import Kernels
from soac.kernels.lower import lower, schedules_of
from soac.kernels.schedule.host_builder import HostBuilder, Scheduled
from soac.kernels.schedule.table import Schedule, Segop, Table, run
from soac.pipeline import compile_prog

ROOT = Path(__file__).parents[3]
N, RESULT = Name("n", 0), Name("r", 1)


# ---- the driver --------------------------------------------------------------------------------------------------


def segop() -> Segop[core.SegMap]:
    """Of one result, in an entry with a size `n`."""
    h = HostBuilder("main", Names(2), Kernels(), (), CPU, schedules_of(CPU).inner)
    h.bind((Param(N, I64),))
    exp = core.SegMap(Level.THREAD, SegSpace(()), core.Body((), (i64(0),)), (I64,))
    return Segop(h, Stm((Param(RESULT, I64),), exp, (), (), NOWHERE), exp, "r", [])


def row(name: str, value: int, guard: Atom | int | None = None, applies: object = True) -> Schedule[Segop[core.SegMap]]:
    """A schedule that binds a number; `guard`: as an integer the least n that it is for."""

    def build(s: Segop[core.SegMap], _: object) -> None:
        s.h.emit(s.stm.pat, core.Copied(i64(value)), NOWHERE)

    def holds(s: Segop[core.SegMap], _: object) -> Atom:
        if isinstance(guard, int):
            return s.h.op(Op.GE, Var(N), i64(guard))
        return Const(Prim.BOOL, True) if guard is None else guard

    return Schedule(name, build, lambda s: applies, holds)


def test_a_row_without_a_guard_is_taken_and_binds_the_result_itself() -> None:
    s = segop()
    run(s, (row("first", 1), row("second", 2)))
    (stm,) = s.h.out
    assert (stm.pat, stm.exp) == (s.stm.pat, core.Copied(i64(1)))
    assert [(c.schedule, c.why_not) for c in s.h.considered] == [("first", None)]


def test_rows_that_do_not_apply_or_do_not_pay_say_so() -> None:
    s, never = segop(), Const(Prim.BOOL, False)
    run(s, (row("unfit", 1, applies="no rows"), row("costly", 2, never), row("last", 3)))
    assert [(c.schedule, c.why_not) for c in s.h.considered] == [
        ("unfit", "no rows"),
        ("costly", "not the cheapest"),
        ("last", None),
    ]
    assert [stm.exp for stm in s.h.out] == [core.Copied(i64(3))]


def test_guards_nest_in_the_order_of_rows() -> None:
    s = segop()
    run(s, (row("large", 1, 64), row("some", 2, 8), row("few", 3)))
    compared, branch = s.h.out
    assert branch.pat == s.stm.pat
    assert isinstance(branch.exp, HostIf)
    assert branch.exp.cond == Var(compared.pat[0].name)
    assert [stm.exp for stm in branch.exp.then.stms] == [core.Copied(i64(1))]
    _, inner = branch.exp.orelse.stms
    assert isinstance(inner.exp, HostIf)
    sides = (inner.exp.then, inner.exp.orelse)
    assert [stm.exp for side in sides for stm in side.stms] == [core.Copied(i64(2)), core.Copied(i64(3))]
    assert len({param.name for side in sides for stm in side.stms for param in stm.pat}) == 2


def test_what_a_row_rules_out_is_not_looked_at_where_its_guard_fails() -> None:
    s = segop()
    special = row("special", 1, 64)
    first = Schedule(special.name, special.build, special.applies, special.guard, (), ("other",))
    run(s, (first, row("other", 2, 8), row("last", 3)))
    assert [c.schedule for c in s.h.considered] == ["special", "last"]


# ---- the tables --------------------------------------------------------------------------------------------------


def paths_of(table: Table, above: tuple[str, ...] = ()) -> Iterator[str]:
    """`chunks`, `chunks / elements`: all rows of a table, with those that they are rows of."""
    for one in table:
        yield " / ".join((*above, one.name))
        yield from paths_of(one.rows, (*above, one.name))


ROWS = {
    (machine.name, kind.__name__.lower(), path)
    for machine in (CPU, CUDA)
    for kind, table in schedules_of(machine).tables.items()
    for path in paths_of(table)
}

TAKEN_BY = (
    "programs/matmul.soac", "programs/attention.soac", "programs/kmeans.soac", "programs/histogram.soac",
    "programs/rowscan.soac", "programs/spmv.soac", "programs/nw.soac", "tests/conformance/nests/scan_of_matrices.fut",
    "tests/conformance/reduce/array_valued_non_commutative.fut", "programs/calibration.soac",
    "tests/conformance/scan/columns.fut", "tests/conformance/filter/evens.fut", "programs/icfp.soac",
)  # fmt: skip
"""Programs that take every row together, with these texts."""
HALVES = """entry main [n][p][m] (xss: [n][p]f16) (yss: [m][p]f16): [n][m]f32 =
  map (\\xs -> map (\\ys -> f32.sum (map2 (\\x y -> f32.f16 x * f32.f16 y) xs ys)) yss) xss"""
APART = """entry main [n] (is: [n]i64) (xs: [n]f32): [8](f32, f32) =
  reduce_by_index (replicate 8 (f32.inf, 0)) (\\(a, b) (c, d) -> (f32.min a c, b + d)) (f32.inf, 0) is (zip xs xs)"""
SUMS = ", ".join(f"f64.max x.{k} (x.{23 - k} + y.{k})" for k in range(24))
WIDE = f"""entry main [n] (xs: [n]f64) = scan (\\x y -> ({SUMS})) ({", ".join(["0"] * 24)})
  (map (\\x -> ({", ".join(f"x * {k}" for k in range(24))})) xs)"""
MAY_FAIL = "entry main [n] (is: [n]i64) (xs: [n]i32): [8]i32 = reduce_by_index (replicate 8 1) (\\x y -> x / y) 1 is xs"
TEXTS = (MAY_FAIL, HALVES, APART, WIDE)


@cache
def scheduled(program: str, machine: Machine) -> tuple[Scheduled, ...]:
    """What is considered for the segops of a program, a file or a text."""
    text = program if program in TEXTS else (ROOT / program).read_text(encoding="utf-8")
    file = "main.soac" if program in TEXTS else str(ROOT / program)
    flat = compile_prog(text, file, Mode.INCREMENTAL, machine, reach=Reach.ANYWHERE).flat
    seen: list[Scheduled] = []
    lower(flat, machine, seen.append)
    return tuple(seen)


@dataclass(frozen=True, slots=True)
class Seen:
    """A row that was considered, of which row it is, and whether it may be taken."""

    path: str
    taken: bool


def seen_in(one: Scheduled) -> Iterator[Seen]:
    """The rows; a mapping of points to threads is none, but says how one is run."""
    above: list[str] = []
    for considered in (row for row in one.considered if row.sigma is None):
        above[considered.nesting :] = [considered.schedule]
        yield Seen(" / ".join(above), considered.why_not is None)


def row_of(machine: Machine, kind: str, path: str) -> tuple[str, str, str]:
    """The row of a table; what a row goes on with, a map or another of its kind, has rows of its own behind that
    one's name."""
    while path and not (kinds := [k for k in (kind, "segmap") if (machine.name, k, path) in ROWS]):
        path = path.partition(" / ")[2]
    return machine.name, kinds[0] if path else kind, path


@pytest.mark.parametrize("machine", [CPU, CUDA], ids=lambda machine: machine.name)
def test_every_row_is_taken_by_some_program(machine: Machine) -> None:
    taken = {
        row_of(machine, type(one.stm.exp).__name__.lower(), seen.path)
        for program in (*TAKEN_BY, *TEXTS)
        for one in scheduled(program, machine)
        for seen in seen_in(one)
        if seen.taken
    }
    assert taken == {key for key in ROWS if key[0] == machine.name}


@pytest.mark.parametrize("machine", [CPU, CUDA], ids=lambda machine: machine.name)
def test_what_is_considered_are_rows_and_one_is_always_taken(machine: Machine) -> None:
    for program in (*TAKEN_BY, *TEXTS):
        for one in scheduled(program, machine):
            kind, found = type(one.stm.exp).__name__.lower(), tuple(seen_in(one))
            assert {row_of(machine, kind, seen.path) for seen in found} <= ROWS
            assert one.interpreted is not None or any(seen.taken for seen in found)
            for considered in one.considered:
                assert (considered.why_not is None) == (considered.guard is not None)
                assert considered.cost is None or considered.cost > 0 or considered.sigma is not None


def test_machines_have_tables() -> None:
    assert schedules_of(CPU).tables.keys() == schedules_of(CUDA).tables.keys()
