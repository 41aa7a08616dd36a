"""Long bodies and long chains take time in proportion: no pass looks at all statements for each statement."""

from __future__ import annotations

import time
from collections.abc import Callable

from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.ir.core import Prog
from soac.ir.parse import parse_prog

LIMIT = 20.0
"""Seconds; a machine that is not busy needs a tenth of it."""


def seconds(run: Callable[[Prog], Prog], prog: Prog) -> tuple[float, Prog]:
    start = time.perf_counter()
    result = run(prog)
    return time.perf_counter() - start, result


def long_body(count: int) -> Prog:
    """A chain of scalar operations, each on the two before it."""
    lines = [f"let (v_{k}: i32) = {op}_i32 v_{k - 1} v_{k - 2}" for k, op in _numbered(count)]
    head = 'fun main_0 (v_1: i32, v_2: i32) : (r_3: i32) entry "main" sizes 0 ("x": "" 1, "y": "" 1) : ("" (0)) ='
    body = "\n".join(["let (v_10: i32) = add_i32 v_1 v_2", "let (v_11: i32) = mul_i32 v_10 v_2", *lines])
    return parse_prog(f"next_name {count + 100}\n{head} {{\n{body}\nin (v_{count + 11}) }}")


def _numbered(count: int) -> list[tuple[int, str]]:
    return [(k + 12, ("add", "mul", "sub", "xor")[k % 4]) for k in range(count)]


def chain_of_maps(count: int) -> Prog:
    lines = [
        f"let (v_{10 * k + 10}: [n_2]i32) = map n_2 (v_{10 * k}) \\(x_{10 * k + 1}: i32) : (i32) -> "
        f"{{ let (y_{10 * k + 2}: i32) = xor_i32 x_{10 * k + 1} {k}i32 in (y_{10 * k + 2}) }}"
        for k in range(1, count + 1)
    ]
    head = 'fun main_0 (n_2: i64, v_10: [n_2]i32) : (r_3: [n_2]i32) entry "main" sizes 1 ("xs": "" 1) : ("" (0)) ='
    return parse_prog(
        f"next_name {10 * count + 100}\n{head} {{\n" + "\n".join(lines) + f"\nin (v_{10 * count + 10}) }}"
    )


def test_ten_thousand_statements() -> None:
    took, prog = seconds(lambda prog: fuse(simplify(inline(prog))), long_body(10_000))
    assert took < LIMIT
    assert len(prog.functions[0].body.stms) > 9_000


def test_a_thousand_maps_become_one() -> None:
    took, prog = seconds(fuse, chain_of_maps(1_000))
    assert took < LIMIT
    assert len(prog.functions[0].body.stms) == 1
