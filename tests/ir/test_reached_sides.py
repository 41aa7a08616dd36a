"""The sides of guards that a call may take: those that it takes are among them, and few others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import soac
from soac.arguments import to_arguments
from soac.ir.core import FunDef
from soac.ir.entry import bind_sizes
from soac.ir.parse import parse_prog
from soac.ir.reached_sides import Side, Way, reached_sides
from soac.ir.version_tree import Size
from soac.kernels.devices.cpu.executable import CpuDevice
from soac.kernels.devices.device import default_of
from soac.pipeline import flat_prog
from soac.testing.blocks import parse_tests
from soac.testing.datasets import data_sets, inputs_of

ROOT = Path(__file__).parents[2]
TEXT = """
entry main [n][m] (k: i64) (xss: [n][m]f64): [n]f64 =
  if k > 3 then map (\\xs -> f64.sum (map (+ 1) xs)) xss
  else loop ys = replicate n 0 for i < n / 2 do map2 (\\y xs -> y + f64.sum (map (* f64.i64 i) xs)) ys xss
"""


def sides(text: str, args: list) -> frozenset[Side]:
    flat = flat_prog(text, "a.soac").flat
    (fun,) = (fun for fun in flat.functions if fun.entry)
    return reached_sides(flat, fun, way_of(fun, args))


def way_of(fun: FunDef, args: list) -> Way:
    """What a call of one thread takes."""
    given = to_arguments(fun, args)
    values = [None if arg.ndim else arg.item() for arg in given]
    return Way((*bind_sizes(fun, given), *values), decide, {})


def decide(threshold: str, par: int, pays: bool) -> bool:
    return pays and 0 <= par >= default_of(CpuDevice, threshold, 1)


def test_one_side_where_the_sizes_decide() -> None:
    few, many = (sides(TEXT, [np.int64(9), np.ones((n, 5))]) for n in (2, 200))
    assert {taken for _, taken in many} == {True}
    assert min(few)[0] in {threshold for threshold, _ in many}
    assert min(few) not in many


def test_guards_of_constants() -> None:
    """A constant is computed in each version that its own sizes ask for."""
    sums = "def sums = scan (+) 0 (map (\\i -> i64.sum (map (^ i) (iota 9000))) (iota 40))"
    assert sides(f"{sums} entry main (k: i64): i64 = sums[k]", [np.int64(1)])


def test_a_size_is_reached_unless_a_forced_side_leads_elsewhere() -> None:
    size = Size("main.tile", 4, (("a", True), ("b", False)))
    assert [size.is_reached(forced) for forced in ({}, {"a": True, "c": False}, {"a": False}, {"b": True})] == [
        True, True, False, False,
    ]  # fmt: skip


def test_branches_that_scalars_decide() -> None:
    """The guards of the other branch are not reached."""
    xss = np.ones((200, 5))
    one, other = ({name for name, _ in sides(TEXT, [np.int64(k), xss])} for k in (9, 1))
    assert one
    assert other
    assert not one & other


def test_both_sides_of_what_elements_decide() -> None:
    text = """
    entry main (is: []i64) (xs: []f64) =
      let some = filter (> 0) is in map (\\i -> f64.sum (map (* f64.i64 i) xs)) some
    """
    found = sides(text, [np.arange(9), np.ones(5)])
    outermost = sorted(found)[0][0]
    assert {(outermost, True), (outermost, False)} <= found


def test_sizes_have_the_values_that_they_were_set_to() -> None:
    prog = parse_prog("""
      next_name 9
      fun main_0 (n_1: i64) : (out_2: i64) entry "main" sizes 0 ("n": "i64" 1) : ("i64" (0)) = {
        let (size_3: i64) = param "main.size" default 4
        let (par_4: i64) = mul_i64 n_1 size_3
        let (outer_5: bool) = guard "main.out.suff_outer_0" <= par_4
        let (out_6: i64) = if outer_5 then { in (n_1) } else { in (par_4) }
        in (out_6)
      }
    """)
    for sizes, side in (({}, False), ({"main.size": 0}, False), ({"main.size": 5}, True)):
        way = Way((10,), lambda _name, par, pays: pays and par >= 50, sizes)
        assert reached_sides(prog, prog.functions[0], way) == {("main.out.suff_outer_0", side)}


PROGRAMS = sorted((ROOT / "programs").glob("p*.soac"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_is_taken_is_among_them(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    program, flat = soac.load(path), flat_prog(text, str(path)).flat
    for one in data_sets(parse_tests(text, str(path))):
        if "notest" in one.case.tags:
            continue
        args = inputs_of(one, program, path)
        fun = next(fun for fun in flat.functions if fun.entry and fun.entry.name == one.entry)
        try:
            way = way_of(fun, list(args))
            taken = program.trace(one.entry, args, threads=1)[1]
        except soac.SoacError:
            continue
        found = reached_sides(flat, fun, way)
        first = {name for name, _ in found}  # of a conjunction the first threshold
        assert {(name, side) for name, _, side in taken if name in first} <= found
