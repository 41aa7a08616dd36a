"""Arrays that are only copied are gone, where what is read meanwhile is an element's own or of another row; values are
those of the interpreter."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.frontend.compile import compile_text
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import CPU, Mode
from soac.ir.ops import Op
from soac.ir.types import i64
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.kernel_ir.nodes import Alloc, For, Kernel, Operand, Store, Threads
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.forward_stores import forward_stores
from soac.pipeline import compile_core
from tests.support.block_kernels import OUT, XS, ZERO, N, kernel, let, load, shared, var
from tests.support.kernel_interpreter import interpret

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


FIRST, SEEN = 8, shared("seen")


def copied(width: Operand, rows: int, more: int, late: bool, in_turn: bool, turned: bool) -> Kernel:
    """`ys[i] := xs[i]; seen[i] := out[FIRST + rows*width + more + i]`, the last read `late` or early, for all i; then
    `out[FIRST + c] := ys[c]` for all c. `turned`: the element stored is `ys[width - 1 - i]`."""
    ys, i, c = shared("ys"), var("i"), var("c")
    (x, load_x), (y, load_y) = load(XS, i), load(ys, c)
    (moved, move), (there, to_there), (here, to_here) = (let(op, a, b) for op, a, b in (
        (Op.MUL, width, i64(rows)), (Op.ADD, i, i64(FIRST + more)), (Op.ADD, c, i64(FIRST)),
    ))  # fmt: skip
    at, to_row = let(Op.ADD, there, moved)
    o, load_o = load(OUT, at)
    last, to_last = let(Op.SUB, width, i64(1))
    back, turn = let(Op.SUB, last, i)
    store = Store(ys, back if turned else i, x)
    making = (load_x, turn, to_there, to_row, *((store, load_o) if late else (load_o, store)), Store(SEEN, i, o))
    copying = (to_here, load_y, Store(OUT, here, y))
    loops = [
        For(index, width, body) if in_turn else Threads(index, ZERO, width, body)
        for index, body in ((i, making), (c, copying))
    ]
    return kernel(Alloc(ys, width), move, to_last, *loops, arrays=(XS, OUT, SEEN))


@pytest.mark.parametrize("width", [N, i64(3)], ids=["n", "3"])
@pytest.mark.parametrize("in_turn", [False, True], ids=["threads", "in turn"])
def test_what_is_read_of_the_target(width: Operand, in_turn: bool) -> None:
    """Nothing that has been stored by then, wherever it is and in whatever order threads run."""
    gone = 0
    for rows, more, late, turned in product((-2, -1, 0, 1), (-2, -1, 0, 1, 2), (False, True), (False, True)):
        before = copied(width, rows, more, late, in_turn, turned)
        after = forward_stores(before)
        gone += after is not before
        for n in (1, 3) if width is N else (3,):
            results = [
                {"xs": np.arange(1, n + 1), "out": np.arange(50, 80), "seen": np.zeros(n, np.int64)} for _ in range(2)
            ]
            for one, data in zip((before, after), results, strict=True):
                interpret(one, data, {"n": n}, 1)
            for x, y in zip(*(data.values() for data in results), strict=True):
                np.testing.assert_array_equal(x, y, f"{rows} {more} {late} {turned}")
    assert gone
