"""Streams mean the same as histograms, scatters and reductions, after the pass, as they do as values."""

from __future__ import annotations

import numpy as np
import pytest

from soac.frontend.accumulators.lower import has_accumulators, lower_accumulators
from soac.frontend.compile import compile_source
from soac.frontend.source.text import Reach
from soac.ir.check import Stage, check
from soac.ir.core import Prog
from soac.ir.interpret import interpret
from soac.ir.parse import parse_prog
from soac.ir.show import show

HEADER = """
type~ acc 't = intrinsics.acc t
type~ bins = acc ([]i32)
def hist [k] 'b (f: *acc ([k]i32) -> b -> acc ([k]i32)) (dest: *[k]i32) (bs: []b) : *[k]i32 =
  intrinsics.hist_stream dest (+) 0 f bs
def write [k] 'a (acc: *acc ([k]a)) (i: i64) (v: a) : *acc ([k]a) = intrinsics.acc_write acc i v
"""

FUNCTION = "def f (acc: *bins) i = "
IS = np.array([3, 0, 5, 1, 3, 2, 9, 1], np.int64)

PROGRAMS = {
    "a point": "write acc i 1",
    "several points": "let acc = write acc i 1 in write acc (i + 1) 2",
    "out of range": "write (write acc (i - 2) 1) (100 * i) 7",
    "one place": "write acc 2 (i32.i64 i)",
    "a loop": "loop acc for j < 4 do write acc (i + j) (i32.i64 j)",
    "a loop at one place": "loop acc for j < 4 do write acc i (i32.i64 j)",
    "a loop with a state": "(loop (acc, s) = (acc, 1) for j < 4i64 do (write acc (i + j) s, s * 3)).0",
    "a loop with a sum": "(loop (acc, s) = (acc, 1) for j < 4i64 do (write acc 4 s, s + i32.i64 i)).0",
    "a loop over an array": "loop acc for j in scan (+) 0 [i, 1, 2] do write acc j 1",
    "a loop in a loop": "loop acc for j < 3 do loop acc for k < 2 do write acc (i + j * k) (i32.i64 k)",
    "a branch": "if i % 2 == 0 then write acc i 1 else acc",
    "a branch with two sides": "if i % 2 == 0 then write acc i 1 else write (write acc 1 2) i 3",
    "a branch at one place": "if i < 3 then write acc 1 (i32.i64 i) else acc",
    "a loop in a branch": "if i < 4 then loop acc for j < 3 do write acc (i + j) 1 else write acc 0 9",
    "a varying loop": "loop acc for j < i do write acc (i - j) (i32.i64 j)",
    "a varying loop with a state": "(loop (acc, s) = (acc, 1) for j < i do (write acc j s, s * 2)).0",
    "a while loop": "(loop (acc, j) = (acc, i) while j > 0 do (write acc j 1, j / 2)).0",
    "varying loops in a branch": """
  if i % 3 == 0 then loop acc for j < i do loop acc for k < j do write acc k 1 else write acc i 10""",
    "a stream in a row": """
  let own = hist (\\(acc: *bins) j -> loop acc for k < j do write acc k 1) (replicate 4 0) (iota (i % 4))
  in loop acc for j < i do write acc j own[j % 4]""",
}

OTHERS = {
    "a scatter": """
entry main (dest: *[]i32) (is: []i64) =
  intrinsics.scatter_stream dest
    (\\(acc: *bins) i -> loop acc for j < i do write acc (2 * i + j % 2) (i32.i64 i)) is""",
    "rows": """
entry main (dest: *[]i32) (is: []i64) =
  intrinsics.hist_stream (map (\\x -> [x, 2 * x]) dest) (map2 (+)) [0, 0]
    (\\(acc: *acc ([][]i32)) i -> write acc i [1, i32.i64 i]) is""",
    "rows that are overwritten": """
def f (acc: *acc ([][]i32)) i =
  let v = replicate 2 (i32.i64 i) let acc = write acc i v let v = v with [0] = 5 in write acc (i + 1) v
entry main (dest: *[]i32) (is: []i64) = intrinsics.hist_stream (map (\\x -> [x, x]) dest) (map2 (+)) [0, 0] f is""",
    "tuples": """
def arg_max (a: i32, i: i64) (b: i32, j: i64) = if a < b || (a == b && i < j) then (b, j) else (a, i)
def f (acc: *acc ([](i32, i64))) i = loop acc for j < i do write acc (j % 3) (i32.i64 (i ^ j), i)
entry main (dest: *[]i32) (is: []i64) =
  unzip (intrinsics.hist_stream (map (\\x -> (x, -1i64)) dest) arg_max (i32.lowest, -1) f is)""",
    "a nest": """
entry main (dest: *[]i32) (is: []i64) =
  map (\\i -> hist (\\(acc: *bins) j -> loop acc for k < j do write acc k 1) (copy dest) (iota i)) is""",
}


def core(text: str) -> Prog:
    prog = compile_source(HEADER + text, "test.soac", Reach.PROJECT).prog
    check(prog, Stage.CORE)
    return prog


def agree(prog: Prog, *args: np.ndarray) -> Prog:
    assert any(has_accumulators(fun.body) for fun in prog.functions)
    lowered = lower_accumulators(prog)
    check(lowered, Stage.CORE)
    assert not any(has_accumulators(fun.body) for fun in lowered.functions)
    before, _ = interpret(prog, "main", args)
    after, _ = interpret(lowered, "main", args)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
    return lowered


@pytest.mark.parametrize("name", PROGRAMS)
def test_stream(name: str) -> None:
    prog = core(FUNCTION + PROGRAMS[name] + "\nentry main (dest: *[]i32) (is: []i64) : []i32 = hist f dest is")
    for is_ in (IS, IS[:0], IS[:1]):
        agree(prog, np.arange(10, dtype=np.int32), is_)


@pytest.mark.parametrize("name", OTHERS)
def test_other_streams(name: str) -> None:
    agree(core(OTHERS[name]), np.arange(10, dtype=np.int32), IS)


@pytest.mark.parametrize("text", [*PROGRAMS.values()][:3])
def test_text(text: str) -> None:
    prog = core(FUNCTION + text + "\nentry main (dest: *[]i32) (is: []i64) : []i32 = hist f dest is")
    assert show(parse_prog(show(prog))) == show(prog)
