"""Every pass keeps the meaning of kernels that come from no program: random ones, and all of a kind with a few
statements."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.types import i64
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Kernel, Operand
from soac.kernels.passes.choose_lanes import LaneSettings, choose_lanes
from soac.kernels.passes.peel_boundaries import MOST
from soac.kernels.passes.split_at_multiples import MOST_CUTS
from soac.kernels.passes.vectorise_accesses import rows_of
from tests.support.block_kernels import BLOCK, OUT, XS, N, load, var
from tests.support.random_kernels import (
    COMPARISONS,
    DIVISIONS,
    K,
    M,
    Writer,
    check,
    kernel_of_nest,
    kernel_of_row_scans,
    kernel_of_rows,
    random_kernel,
)
from tests.support.random_rows import kernel_of_rounds

I = var("i")  # noqa: E741


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_a_pass_keeps_the_meaning(number: int) -> None:
    check(random_kernel(Random(number)))


def test_rows_of_loads_and_stores() -> None:
    sizes = [{"n": n, "m": 3, "k": k} for n, k in ((8, 0), (9, 1), (0, 0))]
    passes = ("straighten-indices", "vectorise-accesses")
    changed = [name for number in range(150) for name in check(kernel_of_rows(Random(number)), sizes, passes)]
    assert changed.count("vectorise-accesses") > 5


def test_scans_of_rows() -> None:
    sizes = [{"n": n, "m": m, "k": k} for n, m, k in ((3, 4, 0), (1, 1, 1), (2, 5, 2), (0, 3, 0))]
    changed = [len(check(kernel_of_row_scans(Random(number)), sizes, ["flat-row-scans"])) for number in range(80)]
    assert sum(changed) > 8


def test_nests_over_what_is_side_by_side() -> None:
    sizes = [{"n": n, "m": m, "k": k} for n, m, k in ((3, 4, 0), (1, 1, 1), (2, 5, 2), (0, 3, 0), (-2, -3, 1))]
    changed = [len(check(kernel_of_nest(Random(number)), sizes, ["join-rows"])) for number in range(80)]
    assert sum(changed) > 20


@pytest.mark.parametrize("first", (120, 135, 150, 165))
def test_rounds_of_which_little_is_needed(first: int) -> None:
    sizes = [{"n": n, "m": m, "k": k} for n, m, k in ((6, 3, 2), (4, 6, 3), (4, 1, 1))]
    numbers = range(first, first + 15)
    changed = [len(check(kernel_of_rounds(Random(number)), sizes, ["needed-rounds"])) for number in numbers]
    assert sum(changed) > 2


def test_loops_whose_ends_differ() -> None:
    """Clamps, choices and remainders of each other, by a size no less than that of the loop or a chosen one, and of
    variables that change."""
    sizes = [{"n": n, "m": m, "k": k} for n, m, k in ((38, 38, 3), (20, 41, -1))]
    changed = 0
    for number in range(75, 95):
        inside = Writer(random := Random(number), [I], (N, M, K))
        for op in random.choices((Op.MIN, Op.MAX, Op.ADD, Op.SELECT, Op.MOD, Op.REM), k=5):
            x = random.choice((I, inside.number()))
            if op in DIVISIONS:
                inside.let(op, x, random.choice((M, inside.let(Op.SELECT, inside.test(), M, i64(2)))))
            elif op is Op.SELECT:
                inside.let(op, inside.test(), x, random.choice(inside.changing or [inside.number()]))
            else:
                inside.let(op, x, random.choice((K, i64(1), i64(3), M, inside.number())))
            if random.random() < 0.3:
                inside.changing.append(var("v"))
                inside.out.append(kir.Declare(inside.changing[-1], x))
        inside.assign()
        changed += len(check(kernel_of(inside), sizes, ["peel-boundaries"]))
    assert changed > 10


def writer(*uniform: Operand) -> Writer:
    return Writer(Random(0), [I], uniform)


def kernel_of(inside: Writer, before: Writer | None = None) -> Kernel:
    """A loop of threads, each of which stores all that it has computed."""
    inside.out.append(kir.Store(OUT, I, inside.everything()))
    loop = kir.Threads(I, i64(0), N, tuple(inside.out))
    body = (*(before.out if before is not None else ()), loop)
    return choose_lanes(Kernel("k", BLOCK, (XS, OUT), (N, M, K), body, (), Level.BLOCK), LaneSettings())


def test_comparisons_and_clamps_of_an_index() -> None:
    """Both ways round, with an end that is a number and one that is not, at the end and beside it."""
    for op, shift, late in itertools.product((*COMPARISONS, Op.MIN, Op.MAX), (-1, 2), (0, 2, None, -1)):
        before, inside = Writer(Random(0), [], ()), writer()
        end = before.let(Op.ADD, N, i64(-1)) if late == -1 else N if late is None else i64(late)
        place = inside.let(Op.ADD, I, i64(shift))
        inside.let(op, place, end)
        inside.let(op, end, place)
        sizes = [{"n": n, "m": 1, "k": 0} for n in (5, 9)]
        assert check(kernel_of(inside, before), sizes, ["peel-boundaries"])


def test_sums_of_an_index_that_wrap() -> None:
    """No index is near the greatest number, but sums with it are compared."""
    inside = writer()
    inside.let(Op.MAX, inside.let(Op.ADD, I, i64(-2)), i64(0))
    for far in (i64(2**63 - 1), i64(-(2**63))):
        place = inside.let(Op.ADD, I, far)
        for op in (*COMPARISONS, Op.MIN, Op.MAX):
            inside.let(op, place, i64(5))
            inside.let(op, N, place)
    assert check(kernel_of(inside), [{"n": 3, "m": 1, "k": 0}], ["peel-boundaries"])


def test_divisions_of_an_index() -> None:
    """By numbers and by what is known before the loop, of an index beside it, the number of the block too."""
    for op, by, beside in itertools.product(DIVISIONS, (M, i64(32), i64(3)), (i64(0), K, BLOCK)):
        inside = writer()
        inside.let(op, inside.let(Op.ADD, I, beside), by)
        sizes = [{"n": n, "m": m, "k": k} for n, m, k in ((70, 33, 0), (5, 1, 3))]
        assert bool(check(kernel_of(inside), sizes, ["split-at-multiples"])) == (by != i64(3))


def test_divisions_of_what_does_not_count_with_the_index() -> None:
    """Or counts in steps that are found at run time, beside those that do."""
    for op, which in itertools.product((Op.DIV, Op.REM), range(3)):
        inside = writer()
        inside.loaded(inside.let(Op.DIV, inside.let(Op.ADD, I, K), i64(4)))
        inside.let(op, (K, inside.let(Op.MUL, I, M), inside.numbers[-1])[which], i64(4))
        assert check(kernel_of(inside), [{"n": 40, "m": 3, "k": 9}], ["split-residues"]) or which > 0


def test_divisions_beside_the_index_of_a_loop_around() -> None:
    j, inside = var("j"), writer()
    for op in DIVISIONS:
        inside.let(op, inside.let(Op.ADD, I, j), M)
    kernel = kernel_of(inside)
    around = replace(kernel, body=(kir.For(j, i64(2), kernel.body),))
    assert check(around, [{"n": 40, "m": 33, "k": 0}], ["split-at-multiples"])


def test_loops_of_many_divisions_are_not_cut() -> None:
    """Pieces in each other are written out for each."""
    for count in (MOST_CUTS, MOST_CUTS + 1):
        inside = writer()
        for number in range(count):
            inside.let(Op.DIV, inside.let(Op.ADD, I, i64(number)), M)
        assert bool(check(kernel_of(inside), [], ["split-at-multiples"])) == (count == MOST_CUTS)


def test_what_is_beside_an_index_was_computed_from_a_variable_that_has_changed() -> None:
    """What a shift was made of says what it is only while that stays."""
    for op, by in ((Op.DIV, M), (Op.DIV, i64(3)), (Op.LE, M), (Op.MAX, M)):
        v, before, inside = var("v"), Writer(Random(0), [], ()), writer()
        before.out.append(kir.Declare(v, K))
        beside = before.let(Op.ADD, v, i64(2))
        before.out.append(kir.Assign(v, M))
        inside.let(op, inside.let(Op.ADD, I, beside), by)
        check(kernel_of(inside, before), [{"n": 40, "m": 33, "k": 1}])


def test_remainders_by_small_powers_of_two_are_left_to_masks() -> None:
    for op, by, is_cut in ((Op.MOD, 16, False), (Op.REM, 16, False), (Op.DIV, 16, True), (Op.MOD, 24, True)):
        inside = writer()
        inside.let(op, inside.let(Op.ADD, I, K), i64(by))
        assert bool(check(kernel_of(inside), [], ["split-at-multiples"])) == is_cut


def test_divisions_of_small_numbers_by_others_than_positive_ones() -> None:
    """By a power of two nothing is to gain, by others nothing is known."""
    for op, by in itertools.product(DIVISIONS, (-3, 1, 8)):
        inside = writer()
        inside.let(op, inside.let(Op.AND, inside.let(Op.SUB, K, I), i64(255)), i64(by))
        assert not check(kernel_of(inside), [{"n": 20, "m": 1, "k": 9}], ["narrow-divisions"])


def test_divisions_before_the_loop() -> None:
    """A quotient is guessed."""
    inside = writer()
    for op in DIVISIONS:
        inside.let(op, K, M)
    signs = [{"n": n, "m": m, "k": k} for n in (0, 1) for m in (-3, -1, 1, 2, 3) for k in range(-9, 10)]
    assert "hoist-invariants" in check(kernel_of(inside), signs, ["hoist-invariants"])


def test_variables_that_change_places_in_a_branch() -> None:
    """In one side, or both."""

    def swapped(value: Operand) -> tuple[kir.KStm, ...]:
        copied = var("c")
        copy = kir.KLet(copied, kir.KConvert(copied.prim, copied.prim, v))
        return (copy, kir.Assign(v, value), kir.Assign(w, copied))

    for side in range(3):
        inside, v, w = writer(), var("v"), var("w")
        inside.out += [kir.Declare(v, I), kir.Declare(w, K)]
        cond = inside.let(Op.LT, inside.let(Op.REM, I, i64(3)), i64(1))
        sides = (swapped(w), ()), ((), swapped(w)), (swapped(i64(1)), swapped(i64(2)))
        inside.out.append(kir.KIf(cond, *sides[side]))
        inside.changing += [v, w]
        assert "if-convert" in check(kernel_of(inside))


def test_checks_stay_behind_those_before_them() -> None:
    """Of a check that no thread passes, and one behind it that is the same for all, the first one fails."""
    inside = writer()
    never = inside.let(Op.LT, I, i64(0))
    inside.out += [kir.Check(never, 0, ()), kir.BoundsCheck(K, i64(1), 1, ())]
    check(kernel_of(inside), [{"n": 3, "m": 1, "k": k} for k in (0, 1)])
    inside = writer()
    inside.out += [kir.BoundsCheck(I, K, 0, ()), kir.BoundsCheck(M, i64(5), 1, ())]
    check(kernel_of(inside), [{"n": 3, "m": m, "k": k} for k in (0, 3) for m in (1, 7)])


def test_long_loops_are_not_written_out_twice() -> None:
    for length in (MOST - 40, MOST + 1):
        inside = writer()
        inside.let(Op.MAX, I, i64(1))
        inside.out += [inside.out[0]] * length
        assert bool(check(kernel_of(inside), [], ["peel-boundaries"])) == (length < MOST)


def test_loops_within_threads_have_no_rows() -> None:
    for inner in ((), (kir.For(var("j"), i64(2), ()),)):
        x, read = load(XS, I)
        body = (*inner, read, kir.Store(OUT, I, x))
        kernel = Kernel("k", BLOCK, (XS, OUT), (N, M, K), (kir.Threads(I, i64(0), N, body),), (), Level.BLOCK)
        assert (rows_of(kernel) is None) == bool(inner)
