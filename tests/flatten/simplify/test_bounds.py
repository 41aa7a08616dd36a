"""An index that is taken to be in bounds is: a simplified program fails for the sizes that it failed for before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.flatten.simplify.bounds import DEPTH
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.core import Index
from soac.ir.errors import RunError
from soac.ir.interpret import Prepared, Thresholds, prepare
from soac.ir.parse import parse_prog
from soac.ir.traverse import all_stms

SIZES = range(5)
OPERATORS = ("({} + {})", "({} - {})", "({} * {})", "(i64.min {} {})", "(i64.max {} {})", "({} % {})")
numbers = st.sampled_from(("0", "1", "2", "3", "i64.highest"))
atoms = st.sampled_from(("i", "i", "i", "n")) | numbers


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(
        ("({} + {})", "({} - {})", "({} * {})", "(i64.min {} {})", "(i64.max {} {})", "({} % {})")
    )
    return st.builds(str.format, operators, inner, atoms) | st.builds(
        str.format, st.just("({} / {})"), inner, st.just("2")
    )


places = atoms | combined(atoms) | combined(combined(atoms))
conditions = st.builds(
    "{} {} {}".format, combined(atoms) | atoms, st.sampled_from(("<", "<=", ">", ">=", "==", "!=")), atoms
)
arrays = st.sampled_from(("xs", "ys", "zs", "xs", "us"))
slices = st.builds("{}[{}:{}]".format, arrays, numbers | st.just("i"), numbers | st.just("n"))
reads = st.builds("{}[{}]".format, arrays, places) | slices.map("i64.sum ({})".format)
bodies = (
    st.builds("if {} then {} else 0".format, conditions, reads)
    | st.builds("if {} && {} then {} else 0".format, conditions, conditions, reads)
    | st.builds("if {} then 0 else {}".format, conditions, reads)
    | reads
)
widths = st.sampled_from(("n", "n + 1", "2", "n"))
maps = st.builds("map (\\i -> {}) (iota ({}))".format, bodies, widths)


@settings(max_examples=8)
@given(st.lists(maps, min_size=20, max_size=20))
def test_a_program_fails_where_it_failed(texts: list[str]) -> None:
    given = "let ys = [1, 2, 3i64] let zs = replicate (2 * n + 1) 1i64 let us = replicate (n / 2) 1i64 in"
    entries = (f"entry e{k} [n] (xs: [n]i64): []i64 = {given} {text}" for k, text in enumerate(texts))
    prog = compile_text("\n".join(entries), "bounds.soac")
    before, after = prepare(prog), prepare(simplify(prog))
    for k, text in enumerate(texts):
        for n in SIZES:
            assert outcome(before, k, n) == outcome(after, k, n), (text, n)


def outcome(prepared: Prepared, entry: int, n: int) -> list[int] | None:
    try:
        ((found,), _) = prepared.run(f"e{entry}", (np.arange(n),), Thresholds())
    except RunError:
        return None
    return np.asarray(found).tolist()


STEPS = {
    "(i64.min {} {})": ("7", "n", "i"),
    "(i64.max {} {})": ("i", "j"),
    "({} / {})": ("2", "3"),
}
"""What keeps an index in bounds that was: operators, and right operands that do."""


@st.composite
def kept_in_bounds(draw: st.DrawFn, depth: int) -> str:
    """An index of rows of n under `depth` operators, of which each keeps it in bounds."""
    place = draw(st.sampled_from(("i", "((i * i - 5) % n)")))
    for _ in range(depth - place.count("%")):
        step = draw(st.sampled_from(sorted(STEPS)))
        place = step.format(place, draw(st.sampled_from(STEPS[step])))
    return place


@pytest.mark.whole
@settings(max_examples=20)
@given(st.integers(1, DEPTH).flatmap(kept_in_bounds))
def test_what_keeps_an_index_in_bounds_is_proved(place: str) -> None:
    assert are_safe(place)


@pytest.mark.parametrize("step", ["(i64.min {} 7)", "(i64.max {} j)", "({} / 2)"])
def test_proofs_are_as_deep_as_they_may_be(step: str) -> None:
    place = "i"
    for _ in range(DEPTH):
        place = step.format(place)
    assert are_safe(place)
    assert not are_safe(step.format(place))


@pytest.mark.parametrize(
    "inner",
    ["i64.min 7 {}", "i64.min {} 7", "{} / 2", "7 % {}", "(if j < 3 then 7 else {})", "(if j < 3 then {} else 7)"],
)
def test_what_is_made_of_a_sum_that_wraps_may_be_negative(inner: str) -> None:
    """Its minimum with the index of a row is below the size, and in bounds only where it is not negative."""
    assert are_safe(f"i64.min ({inner.format('i')}) i")
    assert not are_safe(f"i64.min ({inner.format('(i + 9223372036854775807)')}) i")


def are_safe(place: str) -> bool:
    """Whether an element of n rows at this place is known to be in bounds, i and j counting the rows."""
    text = f"entry main [n] (xs: [n]i64): []i64 = map (\\i -> i64.sum (map (\\j -> j + xs[{place}]) (iota n))) (iota n)"
    return all_safe(text)


TRIANGLE = "entry main [n] (xs: [n]i64) (k: i64): []i64 = map (\\i -> i64.sum (map (\\j -> xs[{}]) ({}))) (iota n)"


@pytest.mark.parametrize("range_", ["i..<n", "i+1..<n", "i+3..<n", "1..<n"])
def test_what_counts_on_up_to_a_size_is_below_it(range_: str) -> None:
    assert all_safe(TRIANGLE.format("j", range_)) == (range_ not in ("i+3..<n", "1..<n"))
    assert not all_safe(TRIANGLE.format("j + 1", range_))


@pytest.mark.parametrize("range_", ["i..<k", "k..<n", "i-1..<n", "i..<n+1", "i...n", "n-i..<n"])
def test_what_counts_from_or_to_another_number_is_checked(range_: str) -> None:
    assert not all_safe(TRIANGLE.format("j", range_))


@pytest.mark.parametrize(("place", "safe"), [("i64.i32 k", True), ("i64.i32 k + 91", True), ("i64.i32 k + 92", False),
                                             ("i64.i32 k - 1", False)])  # fmt: skip
def test_a_converted_index_is_the_number_that_it_was(place: str, safe: bool) -> None:
    assert all_safe(f"entry main (xs: [100]i64): i64 = loop s = 0 for k < 9i32 do s * 3 + xs[{place}]") is safe


@pytest.mark.parametrize(("place", "safe"), [("k + 91", True), ("k + 92", False), ("k - 1", False),
                                             ("91 + k - 1", True), ("k + 2147483640", False),
                                             ("i32.i64 j + k", False)])  # fmt: skip
def test_a_narrow_sum_of_what_has_constant_bounds_does_not_wrap(place: str, safe: bool) -> None:
    text = f"entry main (xs: [100]i64) (j: i64): i64 = loop s = 0 for k < 9i32 do s * 3 + xs[{place}] + j"
    assert all_safe(text) is safe


@pytest.mark.parametrize("k", [-(2**63), 2**63 - 1, 0])
def test_sums_of_numbers_of_which_nothing_is_known_wrap(k: int) -> None:
    texts = ("k - 1 < k", "k - 1 <= k", "k < k + 1", "k + 1 >= k", "k - 3 < k - 1", "2 * k < 2 * k + 1")
    entries = (f"entry e{number} (k: i64): bool = {text}" for number, text in enumerate(texts))
    prog = compile_text("\n".join(entries), "bounds.soac")
    programs = prepare(prog), prepare(simplify(prog))
    for number, text in enumerate(texts):
        before, after = (one.run(f"e{number}", (np.int64(k),), Thresholds())[0] for one in programs)
        assert before == after, text


WINDOW = "entry main [c][h] (xs: [c][h]i64): [][]i64 = tabulate_2d (c * 9) (h - 2) (\\q i -> xs[{}, {}])"


@pytest.mark.parametrize(
    ("plane", "row"),
    [("q / 9", "i + q % 9 / 3"), ("q / 9", "i + q % 3"), ("q / 9", "i + (i + q - 5) % 3")],
)
def test_rests_and_quotients_by_constants_have_bounds(plane: str, row: str) -> None:
    assert all_safe(WINDOW.format(plane, row))


@pytest.mark.parametrize(
    ("plane", "row"), [("q / 8", "i"), ("(q + 1) / 9", "i"), ("q / 9", "i + q % 4"), ("q / 9", "i + q % 9 / 2")]
)
def test_others_are_too_large(plane: str, row: str) -> None:
    assert not all_safe(WINDOW.format(plane, row))


def all_safe(text: str) -> bool:
    """Whether all elements that a program reads are known to be in bounds."""
    prog = simplify(compile_text(text, "bounds.soac"))
    return all(stm.exp.safe for body in prog.bodies for stm in all_stms(body) if isinstance(stm.exp, Index))


OUTSIDE = (
    "xs[1:n + 1]", "xs[k + 1:n + k + 1]", "map (\\i -> xs[i + (k % 3 - 2)]) (iota n)",
    "map (\\i -> xs[i + k % 3 - 2]) (iota n)", "map (\\i -> xs[i + (k + 2) % 3]) (iota n)",
    "map (\\i -> if i >= n - 1 || 7 / (i + 1) > k then xs[i + 1] else 0) (iota n)",
    "map (\\i -> if i >= 1 then xs[i - 2] else 0) (iota n)", "map (\\i -> if 0 < i then xs[i - 2] else 0) (iota n)",
)  # fmt: skip
INSIDE = (
    "xs[0:n]", "map (\\i -> xs[i]) (iota n)", "map (\\i -> ys[i + k % 3]) (iota n)",
    "map (\\i -> if i < n - 1 && 7 / (i + 1) > k then xs[i + 1] else 0) (iota n)",
    "map (\\i -> if i >= n - 1 || 7 / (i + 1) > k then 0 else xs[i + 1]) (iota n)",
    "map (\\i -> if i >= 1 then xs[i - 1] else 0) (iota n)", "map (\\i -> if 0 < i then xs[i - 1] else 0) (iota n)",
    "map (\\i -> if k >= 0 && k < 3 then if k < 9 then ys[i + k] else k else 0) (iota n)",
)  # fmt: skip


@pytest.mark.parametrize("text", (*OUTSIDE, *INSIDE))
def test_what_may_be_out_of_bounds_is_checked(text: str) -> None:
    """By the forms of indices; the law above seldom makes these."""
    prog = simplify(compile_text(f"entry e0 [n] (xs: [n]i64) (ys: [n + 2]i64) (k: i64): []i64 = {text}", "bounds.soac"))
    if text in INSIDE:
        (fun,) = prog.functions
        assert all(stm.exp.safe for stm in all_stms(fun.body) if isinstance(stm.exp, Index))
        return
    with pytest.raises(RunError):
        prepare(prog).run("e0", (np.arange(3), np.arange(5), np.int64(0)), Thresholds())


@pytest.mark.parametrize("part", ("1i64 :+ n_1 * 1i64", "0i64 :+ n_1 * 2i64", "1i64 :+ n_1 * 2i64"))
def test_a_part_with_as_many_elements_is_in_bounds_only_as_a_whole(part: str) -> None:
    prog = parse_prog(
        "next_name 100 fun main_0 (n_1: i64, xs_2: [n_1]i64) : (r_3: [n_1]i64)"
        ' entry "main" sizes 1 ("xs": "" 1) : ("" (0)) ='
        f" {{ let (ys_4: [n_1]i64) = xs_2[{part}] in (ys_4) }}"
    )
    with pytest.raises(RunError):
        prepare(simplify(prog)).run("main", (np.arange(3),), Thresholds())
