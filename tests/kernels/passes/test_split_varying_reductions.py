"""Short rows whose bounds are read from memory are reduced one by one, where elements are gathered and cheap;
`conformance/nests/rows_of_all_lengths` has the values on every version."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import soac
from soac.ir.core import Level
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import (
    BlockReduce,
    BoundsCheck,
    FailureSite,
    KArray,
    Kernel,
    KLambda,
    KLet,
    KLoad,
    KOp,
    KVar,
    LaneShape,
    Space,
    Store,
)  # fmt: skip
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.choose_lanes import LaneSettings
from soac.kernels.passes.split_varying_reductions import split_varying_reductions
from tests.support.kernel_interpreter import Arrays, Value, compiled, failure_of, interpret

WIDTH = 16
ROWS = """
entry f [n][m][k] (off: [n]i64) (at: [m]i64) (xs: [k]f32) =
  tabulate (n - 1) (\\i -> reduce ({op}) {ne} (map (\\j -> {body}) at[off[i]:off[i + 1]]))
"""


def rows(op: str = "+", ne: str = "0f32", body: str = "xs[j] * 2") -> str:
    return ROWS.format(op=op, ne=ne, body=body)


def with_lanes(text: str) -> list[Kernel]:
    lanes = LaneShape(WIDTH, 1, True)
    return [replace(kernel, lanes=lanes) for kernel in soac.compile(text).compiled.host.kernels]


def changed(text: str) -> list[Kernel]:
    """The kernels that the pass changes."""
    return [after for kernel in with_lanes(text) if (after := split_varying_reductions(kernel)) is not kernel]


AFFINE = """entry f [n][k] (off: [n]i64) (xs: [k]f32) = tabulate (n - 1) (\\i ->
  (reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\\x -> (0.9, x)) xs[off[i]:off[i + 1]])).1)"""
SLICES = "entry f [n][k] (off: [n]i64) (xs: [k]f32) = tabulate (n - 1) (\\i -> let r = xs[off[i]:off[i + 1]] in {})"
LONG_FOLDS = SLICES.format("f32.maximum r"), SLICES.format("(f32.sum r, f32.sum (map (\\x -> x * x) r))"), AFFINE
CHEAP = *LONG_FOLDS, rows(), rows("\\x y -> x"), rows("i64.max", "i64.lowest", "if xs[j] > 0 then j else 3")


@pytest.mark.parametrize("text", CHEAP)
def test_short_rows_are_taken_one_by_one(text: str) -> None:
    found = changed(text)
    assert found
    for kernel in found:
        choices = [stm for stm in statements(kernel.body) if isinstance(stm, kir.KIf)]
        assert any(
            any(isinstance(one, kir.For) for one in stm.then)
            and any(isinstance(one, BlockReduce) for one in stm.orelse)
            and not any(isinstance(one, BlockReduce) for one in statements(stm.then))
            for stm in choices
        )


WAITING = """entry f [n] (t: i64) (cs: [n]i64) =
  loop best = replicate (t + 1) 0i32 for i < t do
    best with [i + 1] = i32.minimum (map (\\c -> if c <= i + 1 then best[i + 1 - c] + 1 else 1000) cs)"""


def test_few_elements_of_what_a_loop_has_just_written_are_taken_one_by_one() -> None:
    assert changed(WAITING)
    assert not changed("""entry f [n] (t: i64) (ps: [n]i32) =
      loop best = replicate (t + n) 0i32 for i < t do
        best with [i] = i32.minimum (map2 (+) ps (best[i:i + n] :> [n]i32))""")
    program = soac.compile(WAITING)
    for coins in ([1], [4, 1, 3], list(range(1, 13)), list(range(1, 40))):
        best = [0]
        for x in range(1, 60):
            best.append(min(best[x - c] + 1 if c <= x else 1000 for c in coins))
        assert program.f(59, np.array(coins)).tolist() == best


@pytest.mark.parametrize("body", ["f32.exp xs[j]", "loop x = xs[j] for i < j do x * 0.5f32"])
def test_an_expensive_element_stays_on_lanes(body: str) -> None:
    assert not changed(rows(body=body))


@pytest.mark.parametrize("row", ["f32.sum xs[off[i]:off[i + 1]]", "f32.sum (map (* 2) xs[off[i]:off[i + 1]])"])
def test_elements_side_by_side_stay_on_lanes(row: str) -> None:
    assert not changed(f"entry f [n][k] (off: [n]i64) (xs: [k]f32) = tabulate (n - 1) (\\i -> {row})")


@pytest.mark.parametrize(
    "text",
    [
        "entry f [n][m] (xss: [n][m]f32) = map (\\xs -> (f32.sum xs, f32.maximum xs)) xss",
        "entry f [n][m][k] (xs: [k]f32) (ats: [n][m]i64) = map (\\at -> f32.sum (map (\\j -> xs[j]) at)) ats",
    ],
)
def test_rows_of_one_length_stay_as_they_are(text: str) -> None:
    """Gathered elements too."""
    assert all(split_varying_reductions(kernel) is kernel for kernel in with_lanes(text))


# ---- values and failures --------------------------------------------------------------------------------------------

I64, I32 = Prim.I64, Prim.I32
LENGTHS = (0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 79, 80, 81, 128, 200)
SHAPES = (
    LaneSettings(width=16, unroll=1),
    LaneSettings(width=8, unroll=4),
    LaneSettings(width=16, unroll=4, peel_limit=0),
)
B, OFF, AT, XS = KVar("b", I64), *(KArray(n, t, Space.GLOBAL) for n, t in (("off", I64), ("at", I64), ("xs", I32)))
OUTS = tuple(KArray(name, I32, Space.GLOBAL) for name in ("scales", "shifts"))
SIZE = KVar("size", I64)


def let(name: str, prim: Prim, rhs: kir.Rhs) -> KLet:
    return KLet(KVar(name, prim), rhs)


def row_kernel(commutative: bool) -> Kernel:
    """The composition of `x -> a*x + b` over the elements `xs[at[i]]` of row b, or their sums and greatest ones."""
    i, j, x, y = KVar("i", I64), KVar("j", I64), KVar("x", I32), KVar("y", I32)
    left, right = ((KVar(f"a{k}", I32), KVar(f"b{k}", I32)) for k in (0, 1))
    results = KVar("r0", I32), KVar("r1", I32)
    sums = let("r0", I32, KOp(Op.ADD, I32, (left[0], right[0]))), let("r1", I32, KOp(Op.MAX, I32, (left[1], right[1])))
    composed = (
        let("r0", I32, KOp(Op.MUL, I32, (left[0], right[0]))),
        let("t", I32, KOp(Op.MUL, I32, (left[1], right[0]))),
        let("r1", I32, KOp(Op.ADD, I32, (KVar("t", I32), right[1]))),
    )
    neutral = (Const(I32, 0), Const(I32, -(1 << 31))) if commutative else (Const(I32, 1), Const(I32, 0))
    outs = KVar("out0", I32), KVar("out1", I32)
    return Kernel(
        "rows",
        B,
        (OFF, AT, XS, *OUTS),
        (SIZE,),
        (
            let("lo", I64, KLoad(OFF, B)),
            let("next", I64, KOp(Op.ADD, I64, (B, i64(1)))),
            let("hi", I64, KLoad(OFF, KVar("next", I64))),
            BlockReduce(
                outs,
                i,
                KVar("lo", I64),
                KVar("hi", I64),
                (
                    let("j", I64, KLoad(AT, i)),
                    BoundsCheck(j, SIZE, 0, (j,)),
                    let("x", I32, KLoad(XS, j)),
                    let("y", I32, KOp(Op.ADD, I32, (x, Const(I32, 1)))),
                ),
                (x, y),
                KLambda(left, right, sums if commutative else composed, results),
                neutral,
                commutative,
            ),
            *(Store(out, B, value) for out, value in zip(OUTS, outs, strict=True)),
        ),
        (FailureSite("R0101", NOWHERE, (I64,)),),
        Level.BLOCK,
    )


def arguments() -> Arrays:
    off = np.cumsum([0, *LENGTHS])
    rng = np.random.default_rng(7)
    outs = (np.zeros(len(LENGTHS), np.int32) for _ in range(2))
    at, xs = rng.integers(0, 50, off[-1]), rng.integers(-9, 9, 50).astype(np.int32)
    return dict(zip(("off", "at", "xs", "scales", "shifts"), (off, at, xs, *outs), strict=True))


@pytest.mark.parametrize("settings", SHAPES, ids=str)
@pytest.mark.parametrize("commutative", [True, False])
def test_every_length_gives_what_one_thread_gives(commutative: bool, settings: LaneSettings) -> None:
    kernel, ours, theirs = row_kernel(commutative), arguments(), arguments()
    scalars: dict[str, Value] = {"size": 50}
    assert interpret(kernel, theirs, scalars, len(LENGTHS)) == set()
    assert compiled(kernel, settings)(ours, scalars, len(LENGTHS))[0] == 0
    assert all(np.array_equal(ours[out.name], theirs[out.name]) for out in OUTS)


@pytest.mark.parametrize("settings", SHAPES, ids=str)
def test_a_bad_element_is_found_wherever_it_stands(settings: LaneSettings) -> None:
    kernel, given = row_kernel(True), arguments()
    run, row = compiled(kernel, settings), LENGTHS.index(81)
    start = int(given["off"][row])
    for place in (0, 15, 16, 63, 64, 79, 80):
        at = given["at"].copy()
        at[start + place] = 50 + place
        record = run({**given, "at": at}, {"size": 50}, len(LENGTHS))
        assert failure_of(record, {0: (I64,)}) == (0, (50 + place,))
