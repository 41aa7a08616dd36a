"""A collective reads the elements of a row once, whatever its segops do with them; those at other places beside."""

from __future__ import annotations

import pytest

from soac.ir.core import Index, Level, SegMap
from soac.ir.machine import CUDA
from soac.ir.traverse import all_exps
from soac.pipeline import flat_prog

BODIES = {
    "let s = i32.sum xs in map (* s) xs": 1,
    "let ys = scan (+) 0 xs in map2 (*) ys xs": 1,
    "let ys = scan (+) 0 xs in let s = i32.maximum ys in map2 (\\x y -> (x + s) * y) xs ys": 1,
    "let s = i32.sum xs in map (\\i -> s * xs[n - 1 - i]) (iota n)": 2,
    "let s = i32.sum (map2 (*) xs xs[::-1]) in map (* s) xs": 2,
}
"""What is done with each row of n elements, and how many reads of elements there are in code."""


@pytest.mark.parametrize("body", BODIES)
def test_a_collective_reads_a_row_once(body: str) -> None:
    text = f"entry main [m][n] (xss: [m][n]i32): [m][n]i32 = map (\\xs -> {body}) xss"
    (fun,) = flat_prog(text, "rows.soac", machine=CUDA).flat.functions
    xss = next(p.name for p in fun.params if p.type.shape)
    blocks = [e for e in all_exps(fun.body) if isinstance(e, SegMap) and e.level is not Level.THREAD]
    reads = [[e for e in all_exps(block.body) if isinstance(e, Index) and e.array == xss] for block in blocks]
    assert [len(found) for found in reads] == [BODIES[body]] * len(blocks)
    assert blocks
