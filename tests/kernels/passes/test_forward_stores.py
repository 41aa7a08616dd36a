"""Arrays that are only copied are gone, where what is read meanwhile is an element's own or of another row; values are
those of the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.frontend.compile import compile_text
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import CPU, Mode
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.kernel_ir.nodes import Alloc
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.forward_stores import forward_stores
from soac.pipeline import compile_core

SUMS = "map (\\is -> reduce_comm (map2 (+)) (replicate d 0) (map (\\i -> t[i]) is)) iss"
TABLE = (
    "map (\\a -> loop a = copy a for k < n - {far} do a with [k + {far}] = map2 (\\x y -> {value}) {left} {right}) as"
)
TURNED = "map (\\a -> loop r = copy a[0] for k < n do reverse (map2 (+) r a[k])) as"


@pytest.mark.parametrize(("header", "body", "gone"), [
    ("[v][d][m][n] (t: [v][d]f32) (iss: [m][n]i64): [m][d]f32", SUMS, True),
    ("[b][n][m] (as: [b][n][m]i32): [b][n][m]i32",
     TABLE.format(far=2, value="x + y", left="a[k]", right="a[k + 1]"), True),
    ("[b][n][m] (as: [b][n][m]i32): [b][n][m]i32",
     TABLE.format(far=1, value="x + y", left="(reverse a[k + 1])", right="a[k]"), False),
    ("[b][n][m] (as: [b][n][m]i32): [b][m]i32", TURNED, False),
])  # fmt: skip
def test_what_is_only_copied_is_gone(header: str, body: str, gone: bool) -> None:
    """Not where elements of others are read that have been stored by then."""
    kernels = compile_core(compile_text(f"entry main {header} = {body}", "rows.soac"), Mode.OUTER, CPU).host.kernels
    before, after = (
        sum(isinstance(stm, Alloc) for kernel in made for stm in statements(kernel.body))
        for made in (kernels, [forward_stores(kernel) for kernel in kernels])
    )
    assert (after < before) == gone


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
