"""Arrays that rounds make anew have two halves that take turns, those of reductions too: nothing is copied from round
to round; values are those of the interpreter, whatever an operator reads of what it has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.frontend.compile import compile_text
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import CPU, Mode
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.kernel_ir.nodes import For, Kernel, Store, Threads
from soac.kernels.kernel_ir.traverse import statements
from soac.pipeline import compile_core

ROW, PAIR = "(replicate m 0)", "(replicate m 0, replicate m 0)"
SUM = "(map2 (+))"
TABLE = (
    "map (\\a -> loop a = copy a for k < n - {far} do a with [k + {far}] = map2 (\\x y -> {value}) {left} {right}) as"
)


def copies(kernel: Kernel) -> int:
    """Thread loops in the rounds of a kernel that do nothing but load and store."""
    rounds = [stm for stm in statements(kernel.body) if isinstance(stm, For)]
    loops = [stm for one in rounds for stm in one.body if isinstance(stm, Threads)]
    return sum(sum(isinstance(stm, Store) for stm in loop.body) == 1 and len(loop.body) == 2 for loop in loops)


@pytest.mark.parametrize("divided", [False, True])
def test_an_accumulator_is_not_copied(divided: bool) -> None:
    row = f"reduce_comm {SUM} {ROW} (map (\\i -> t[i]) is)"
    text = f"entry main [v][m][b][n] (t: [v][m]f32) (iss: [b][n]i64): [b][m]f32 = map (\\is -> {row}) iss"
    if divided:
        text = text.replace(row, f"map (/ 2) ({row})")
    kernels = compile_core(compile_text(text, "rows.soac"), Mode.OUTER, CPU).host.kernels
    assert kernels
    assert not any(map(copies, kernels))


OPERATORS = (
    (SUM, ROW, "ass"),
    ("(\\a c -> map2 (\\x y -> x * 3 + y) a c)", ROW, "ass"),
    ("(\\a c -> reverse (map2 (+) a c))", ROW, "ass"),
    ("(\\a c -> map2 (+) (reverse a) c)", ROW, "ass"),
    ("(\\a c -> map2 (\\i x -> x + (if i == 0 then 1 else a[i - 1])) (iota m) c)", ROW, "ass"),
    ("(\\a c -> if m > 0 && a[0] > c[0] then a else map2 (-) c a)", ROW, "ass"),
    ("(\\a _ -> a)", ROW, "ass"),
    ("(\\_ c -> c)", ROW, "ass"),
    ("(\\(a, b) (c, d) -> (map2 (+) a c, map2 (*) (map2 (+) a b) d))", PAIR, "(zip as as)"),
    ("(\\(a, b) (c, d) -> (b, map2 (+) (map2 (+) a c) d))", PAIR, "(zip as as)"),
    ("(\\(a, _) (c, _) -> let s = map2 (+) a c in (s, s))", PAIR, "(zip as as)"),
)


@pytest.mark.parametrize("soac", ["reduce", "scan"])
def test_operators_on_rows(soac: str) -> None:
    """In order, as the interpreter combines them: most of these are not associative."""
    entries: list[str] = []
    for k, (op, ne, arrays) in enumerate(OPERATORS):
        given_ = "[b][n][m] (ass: [b][n][m]i32): "
        inner = "[n]" if soac == "scan" else ""
        result = f"[b]{inner}[m]i32" if ne == ROW else f"([b]{inner}[m]i32, [b]{inner}[m]i32)"
        rows = f"{soac} {op} {ne} {arrays.replace('ass', 'as')}"
        one = f"map (\\as -> {f'unzip ({rows})' if inner and ne == PAIR else rows}) ass"
        entries.append(f"entry e{k} {given_}{result} = {one if ne == ROW else f'unzip ({one})'}")
    prog = compile_text("\n".join(entries), "operators.soac")
    compiled, oracle = compile_core(prog, Mode.OUTER, CPU), prepare(prog)
    device = Executable.build(compiled.host, compiled.flat.functions)
    for b, n, m in ((3, 5, 7), (2, 1, 40), (2, 0, 3), (1, 4, 0), (0, 3, 3)):
        args = (np.random.default_rng(m).integers(-9, 9, (b, n, m)).astype(np.int32),)
        for k, (op, *_) in enumerate(OPERATORS):
            wanted, got = oracle.run(f"e{k}", args, Thresholds())[0], device.run(f"e{k}", args)[0]
            for x, y in zip(wanted, got, strict=True):
                np.testing.assert_array_equal(y, x, f"{soac} {op} {b} {n} {m}")


row = st.sampled_from(
    ("a[k]", "a[k + 1]", "a[k + 2]", "a[0]", "(reverse a[k])", "(reverse a[k + 1])", "(rotate 1 a[k + 2])")
)
values = st.sampled_from(("x + y", "x - y", "if x > y then y else x * 3", "x + y * x"))


@settings(max_examples=6)
@given(st.lists(st.tuples(row, row, values), min_size=6, max_size=6, unique=True), st.integers(0, 2))
def test_rows_of_a_table(chosen: list[tuple[str, str, str]], more: int) -> None:
    """Each made of rows around it, its own among them."""
    bodies = [TABLE.format(far=2, value=value, left=left, right=right) for left, right, value in chosen]
    text = "\n".join(f"entry e{k} [b][n][m] (as: [b][n][m]i32): [b][n][m]i32 = {body}" for k, body in enumerate(bodies))
    prog = compile_text(text, "tables.soac")
    compiled, oracle = compile_core(prog, Mode.OUTER, CPU), prepare(prog)
    device = Executable.build(compiled.host, compiled.flat.functions)
    for m in (1, 5, 16 + more, 70):
        args = (np.random.default_rng(m).integers(-9, 9, (2, 4, m)).astype(np.int32),)
        for k, body in enumerate(bodies):
            wanted = oracle.run(f"e{k}", args, Thresholds())[0][0]
            np.testing.assert_array_equal(device.run(f"e{k}", args)[0][0], wanted, body)
