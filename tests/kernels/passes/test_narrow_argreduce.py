"""Places are counted in i32 where an operator does no more than compare and select them; cheap branches are selects.
`conformance/reduce/places` has the values on every version."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import soac
from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.kernel_ir.nodes import (
    BlockReduce,
    Kernel,
    KIf,
    KLambda,
    KLet,
    KOp,
    KStm,
    KVar,
    Operand,
    Store,
)
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes import narrow_argreduce as places
from soac.kernels.passes.if_convert import if_convert
from soac.kernels.passes.narrow_argreduce import MIRRORED, counted, narrow_argreduce
from tests.support.block_kernels import BLOCK, OUT, XS, N, load
from tests.support.kernel_interpreter import State, combine
from tests.support.random_kernels import COMPARISONS, K, check

ARGMAX = """
def larger (x: f32, i: i64) (y: f32, j: i64): (f32, i64) =
  if j < 0 then (x, i) else if i < 0 then (y, j)
  else if x > y || (x == y && i < j) then (x, i) else (y, j)

entry f [n] (xs: [n]f32) = reduce_comm larger (-f32.inf, -1) (zip xs (iota n))
"""


def kernels_of(text: str) -> list[Kernel]:
    return [narrow_argreduce(if_convert(kernel)) for kernel in soac.compile(text).compiled.host.kernels]


def reductions_of(text: str) -> list[BlockReduce]:
    return [stm for kernel in kernels_of(text) for stm in statements(kernel.body) if isinstance(stm, BlockReduce)]


def operations(stms: tuple[KStm, ...]) -> list[tuple[Op, Prim]]:
    return [(s.rhs.op, s.rhs.prim) for s in stms if isinstance(s, KLet) and isinstance(s.rhs, KOp)]


def test_an_element_is_taken_in_by_one_test_of_the_place() -> None:
    found = [stm for stm in reductions_of(ARGMAX) if stm.step is not None]
    (stm,) = found
    assert [out.prim for out in stm.outs] == [Prim.F32, Prim.I32]
    assert stm.step is not None
    integers = [op for op, prim in operations(stm.step.body) if prim is Prim.I32]
    assert sorted(op.value for op in integers) == ["lt", "select"]


def test_the_smaller_place_of_two_is_counted() -> None:
    equal = "if x == y then (x, i64.min i j) else if x > y then (x, i) else (y, j)"
    text = f"entry f [n] (xs: [n]f32) = reduce_comm (\\(x, i) (y, j) -> {equal}) (-f32.inf, -1) (zip xs (iota n))"
    (stm,) = (stm for stm in reductions_of(text) if stm.step is not None)
    assert [out.prim for out in stm.outs] == [Prim.F32, Prim.I32]


def test_a_place_ahead_of_its_element() -> None:
    larger = "if x > y || (x == y && i < j) then (i, x) else (j, y)"
    text = f"entry f [n] (xs: [n]f32) = reduce_comm (\\(i, x) (j, y) -> {larger}) (-1, -f32.inf) (zip (iota n) xs)"
    (stm,) = (stm for stm in reductions_of(text) if stm.step is not None)
    assert [[x.prim for x in part] for part in (stm.outs, stm.values, stm.neutral)] == [[Prim.I32, Prim.F32]] * 3


@pytest.mark.parametrize(
    "operator",
    [
        "if x > y then (x, i + 1) else (y, j)",  # a place is computed with
        "if x > y then (x, i) else (y, if j < 7 then i else j)",  # a place is compared with one of the places
        "if x > y then (x, i) else (f32.i64 i, j)",  # a place is another thing too
        "if x > y then (x, 5) else (y, j)",  # a place of no element
    ],
)
def test_other_operators_stay(operator: str) -> None:
    text = f"entry f [n] (xs: [n]f32) = reduce_comm (\\(x, i) (y, j) -> {operator}) (0, -1) (zip xs (iota n))"
    assert all(out.prim is not Prim.I32 for stm in reductions_of(text) for out in stm.outs)


NEUTRAL = ["0", "n", "i64.highest", "-5"]


@pytest.mark.parametrize("neutral", NEUTRAL)
@pytest.mark.parametrize("tie", ["", "|| (x == y && j < i)"])
def test_any_neutral_place(monkeypatch: pytest.MonkeyPatch, neutral: str, tie: str) -> None:
    monkeypatch.setattr(places, "PIECE", 64)
    larger = f"if y > x {tie} then (y, j) else (x, i)"
    text = f"entry f [n] (xs: [n]f32) = reduce (\\(x, i) (y, j) -> {larger}) (-f32.inf, {neutral}) (zip xs (iota n))"
    assert any(stm.step is not None for stm in reductions_of(text))
    program = soac.compile(text)
    for n in (0, 1, 63, 64, 65, 300):
        for least, most in ((3, 4), (0, 3), (0, 200)):
            xs = np.random.default_rng(n).integers(least, most, n).astype(np.float32)
            none = {"0": 0, "n": n, "-5": -5}.get(neutral, 2**63 - 1)
            assert program.f(xs)[1] == (xs.argmax() if n else none)


@pytest.mark.parametrize("neutral", NEUTRAL)
def test_elements_that_are_as_the_neutral_one(neutral: str) -> None:
    """By the laws of a reduction an element is found; without comparing places none is."""
    text = f"""entry f [n] (xs: [n]f32) =
      reduce (\\(x, i) (y, j) -> if y > x || (x == y && j < i) then (y, j) else (x, i)) (-f32.inf, {neutral})
             (zip xs (iota n))"""
    xs = np.full(100, -np.inf, np.float32)
    found = soac.compile(text).f(xs)[1]
    assert found == (0 if neutral != "-5" else -5)


def test_the_least_place_with_another_neutral_one_stays() -> None:
    text = """entry f [n] (xs: [n]f32) =
      reduce_comm (\\(x, i) (y, j) -> (f32.max x y, i64.min i j)) (-f32.inf, i64.highest) (zip xs (iota n))"""
    assert all(stm.step is None for stm in reductions_of(text))


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 300, 1000])
@pytest.mark.parametrize("rows", [1, 3])
def test_several_pieces(monkeypatch: pytest.MonkeyPatch, rows: int, size: int) -> None:
    monkeypatch.setattr(places, "PIECE", 64)
    text = ARGMAX.replace("entry f [n] (xs: [n]f32) =", "entry f [k][n] (xss: [k][n]f32) = unzip (map (\\xs ->")
    program = soac.compile(text + ") xss)")
    xss = np.random.default_rng(size).integers(0, 9, (rows, size)).astype(np.float32)
    for outer in (True, False):
        values, at = program.call("f", [xss], forced={"f.ys.suff_outer_0": outer})
        assert np.array_equal(at, xss.argmax(1) if size else np.full(rows, -1))
        assert np.array_equal(values, xss.max(1) if size else np.full(rows, -np.inf, np.float32))


def test_cheap_branches_are_selects() -> None:
    text = "entry f [n] (xs: [n]i32) = map (\\x -> if x < 3 then (if x > 0 then x * 5 else 1) + x else x - 1) xs"
    (kernel,) = kernels_of(text)
    assert not any(isinstance(stm, KIf) for stm in statements(kernel.body))
    assert soac.compile(text).f(np.arange(-2, 6, dtype=np.int32)).tolist() == [-1, 0, 1, 6, 12, 2, 3, 4]


def test_branches_that_divide_stay() -> None:
    text = "entry f [n] (xs: [n]i32) = map (\\x -> if x == 0 then 7 else 12 / x) xs"
    (kernel,) = kernels_of(text)
    assert any(isinstance(stm, KIf) for stm in statements(kernel.body))
    assert soac.compile(text).f(np.array([0, 3, -5], np.int32)).tolist() == [7, 4, -3]


A, B = KVar("a", Prim.I64), KVar("b", Prim.I64)
P, Q = KVar("p", Prim.I64), KVar("q", Prim.I64)


def first_if(op: Op, x: Operand, y: Operand, *, place: Operand | None = None) -> KLambda:
    """(a, p) (b, q) -> if x op y then (a, p) else (b, q), or with another place."""
    test, value, at = KVar("t", Prim.BOOL), KVar("v", Prim.I64), KVar("r", Prim.I64)
    body = (
        KLet(test, KOp(op, Prim.I64, (x, y))),
        KLet(value, KOp(Op.SELECT, Prim.I64, (test, A, B))),
        KLet(at, KOp(Op.SELECT, Prim.I64, (test, P, Q))),
    )
    return KLambda((A, P), (B, Q), body, (value, place or at))


@pytest.mark.parametrize("op", COMPARISONS)
def test_a_comparison_that_finds_no_place_is_one_of_signs(op: Op) -> None:
    end = i64(0 if op in (Op.LT, Op.GE) else -1)
    for x, mirrored in itertools.product((P, Q), (False, True)):
        before = first_if(MIRRORED[op], end, x) if mirrored else first_if(op, x, end)
        found = counted(before, 1, i64(-1))
        assert found is not None
        after, _ = found
        for p, q in itertools.product((-1, 0, 1, 5), repeat=2):
            left, right = ([3, p], [4, q])
            assert combine(State({}, {}), before, [*left], [*right]) == combine(State({}, {}), after, [*left], [*right])


def test_a_place_that_is_always_the_same_is_not_counted() -> None:
    assert counted(first_if(Op.LT, A, B, place=i64(5)), 1, i64(-1)) is None
    assert counted(first_if(Op.LT, A, B, place=i64(-1)), 1, i64(-1)) is not None


@pytest.mark.parametrize("first", [K, BLOCK, N])
def test_places_from_somewhere_on(first: KVar) -> None:
    """A place that may be negative could be taken for none."""
    index, at = KVar("i", Prim.I64), KVar("at", Prim.I64)
    x, read = load(XS, index)
    place = KLet(at, KOp(Op.ADD, Prim.I64, (first, index), True))
    none = Const(Prim.I64, -(2**63))
    outs = (KVar("most", Prim.I64), KVar("where", Prim.I64))
    op, neutral = first_if(Op.GE, A, B), (none, i64(-1))
    reduce = BlockReduce(outs, index, i64(0), N, (read, place), (x, at), op, neutral, True)
    stores = tuple(Store(OUT, i64(k), out) for k, out in enumerate(outs))
    kernel = Kernel("k", BLOCK, (XS, OUT), (N, K), (reduce, *stores), (), Level.BLOCK)
    sizes = [{"n": n, "m": 1, "k": k} for n, k in ((0, 0), (9, 3), (9, -4))]
    assert bool(check(kernel, sizes, ["narrow-argreduce"])) == (first != K)


CHOICES = {
    "the first of the largest": ("if x >= y then (x, i) else (y, j)", "lowest", lambda xs: int(np.argmax(xs))),
    "the last of the largest": (
        "if x > y then (x, i) else (y, j)", "lowest", lambda xs: len(xs) - 1 - int(np.argmax(xs[::-1])),
    ),
    "the first of the smallest": ("if y < x then (y, j) else (x, i)", "highest", lambda xs: int(np.argmin(xs))),
    "the first of all": ("if i < 0 then (y, j) else (x, i)", "lowest", lambda xs: 0),
    "the last of all": ("if j < 0 then (x, i) else (y, j)", "lowest", lambda xs: len(xs) - 1),
}  # fmt: skip


@pytest.mark.parametrize("prim", ["u8", "i32", "f64"])
@pytest.mark.parametrize("name", CHOICES)
def test_choices_in_order_are_made_in_any_order(name: str, prim: str) -> None:
    body, bound, wanted = CHOICES[name]
    text = f"""
        def choose (x: {prim}, i: i64) (y: {prim}, j: i64): ({prim}, i64) = {body}
        entry f [n] (xs: [n]{prim}) = reduce choose ({prim}.{bound}, -1) (zip xs (iota n))"""
    reductions = [stm for stm in reductions_of(text) if stm.step is not None]
    assert reductions
    assert all(stm.commutative for stm in reductions)
    program = soac.compile(text)
    rng = np.random.default_rng(1)
    for n in (1, 2, 7, 63, 64, 65, 1000, 70_001):
        for least, most in ((3, 4), (0, 3), (0, 200)):
            xs = rng.integers(least, most, n).astype({"u8": np.uint8, "i32": np.int32, "f64": np.float64}[prim])
            value, place = program.f(xs)
            assert (int(place), value) == (wanted(xs), xs[wanted(xs)])


def test_what_is_no_choice_of_an_operand_keeps_its_order() -> None:
    text = """
        def both (x: i32, i: i64) (y: i32, j: i64): (i32, i64) = (i32.max x y, if x >= y then i else j)
        entry f [n] (xs: [n]i32) = reduce both (i32.lowest, -1) (zip xs (iota n))"""
    assert not any(stm.commutative for stm in reductions_of(text))
