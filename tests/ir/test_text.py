"""Printing and parsing: `parse(show(p))` is `p`; what people read; errors of the parser."""

from __future__ import annotations

import dataclasses
import math
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.ir.core import Attr, Body, Copied, FunDef, If, Param, PrimOp, Prog, Stm
from soac.ir.errors import MAX_CALLS, NOWHERE, IRError, Loc
from soac.ir.floats import rounding
from soac.ir.ops import Op
from soac.ir.parse import parse_body, parse_exp, parse_prog, parse_stm
from soac.ir.rename import renumbered
from soac.ir.scalar import int_range
from soac.ir.show import WIDTH, same, show, show_body, show_exp, show_located, show_name, show_stm, without_locations
from soac.ir.types import Const, Name, Prim, Type, Var, scalar

PROGRAMS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("programs/*.ir"))}
LOOPS = PROGRAMS["loops"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_printed_programs_parse_back(name: str) -> None:
    prog = parse_prog(PROGRAMS[name])
    assert same(parse_prog(show_located(prog)), prog)
    assert same(parse_prog(show(prog)), without_locations(prog))
    assert show(parse_prog(show(prog))) == show(prog)


def test_white_space_means_nothing() -> None:
    prog = parse_prog(LOOPS)
    assert same(parse_prog(" ".join(show(prog).split())), without_locations(prog))


@pytest.mark.parametrize("more", [0, 1])
def test_what_is_as_wide_as_a_line_stands_in_one(more: int) -> None:
    name = Name("x" * (WIDTH - len("{ in (_1) }") + more), 1)
    body = Body((), (Var(name),))
    assert len(show_body(body).splitlines()) == (3 if more else 1)


def test_of_calls_in_calls_so_many_are_known() -> None:
    calls = tuple(Loc("f.soac", line, 1, line, 2) for line in range(2 * MAX_CALLS))
    here = Loc("g.soac", 1, 1, 1, 2)
    inside = here.called(calls)
    assert inside.calls == here.called(calls[:1]).called(calls[1:]).calls == calls[:MAX_CALLS]
    assert inside.as_call == (here, *calls[: MAX_CALLS - 1])
    assert (here.called(()), inside.here) == (here, here)


def test_locations_are_printed_only_when_asked() -> None:
    prog = parse_prog(LOOPS)
    assert '@"dir/f.soac":3:5-3:17' in show_located(prog)
    assert "@" not in show(prog)


@pytest.mark.parametrize("name", PROGRAMS)
def test_renumbered_programs_do_not_depend_on_the_names_used_up(name: str) -> None:
    prog = parse_prog(PROGRAMS[name])
    again = renumbered(prog)
    assert show(renumbered(again)) == show(again)
    assert len(show(prog).splitlines()) == len(show(again).splitlines())
    assert "fun fill_0" in show(again) if name == "loops" else "fun main_0" in show(again)


@pytest.mark.parametrize(
    "text",
    [
        "add_i32 x_1 1i32",
        "i32_to_f64 x_1",
        "xs_1[i_2, 0i64 :+ n_3 * 1i64]",
        "xs_1![i_2]",
        "xs_1 with [i_2] <- 0.5f32",
        "xs_1 with! [i_2] <- ys_3",
        "iota_i32 n_1 from 0i32 by 1i32",
        "replicate [n_1][3] false",
        "scratch [n_1]f16",
        "[1i8, -2i8] : i8",
        "[] : [3]i8",
        "rearrange (1, 0) xs_1",
        "reshape [n_1][2] xs_2",
        "concat n_1 (xs_2, ys_3)",
        "copy xs_1",
        'assert c_1 "R0103" ("x is ", x_2)',
        'guard "main.suff_outer_0" <= par_1 ("main.suff_outer_1" true, "b" false)',
        "f_1(x_2, 3u64)",
        "f_1()",
        "segscatter^thread (i_1 < n_2) rank 1 dests (d_3) safe { in (i_1, x_4) }",
        "segscatter^thread (i_1 < n_2) rank 1 dests (d_3) { in (i_1, x_4) }",
        "x_1",
        "-f32.inf",
        "f16.nan",
        "f64.nan<fff8000000000000>",
    ],
)
def test_expressions_print_as_they_are_written(text: str) -> None:
    assert show_exp(parse_exp(text)) == text


LINES = r"""
let (ys_1: [n_2]i32) = map n_2 (xs_3) \(x_4: i32) : (i32) -> { in (x_4) }
let (s_1: i32) = reduce n_2 (x_3: i32 <- xs_4) (0i32) \(a_5: i32, b_6: i32) : (i32) -> { in (b_6) }
let (s_1: i32) = reduce_comm n_2 (x_3: i32 <- xs_4) (0i32) \(a_5: i32, b_6: i32) : (i32) -> { in (b_6) }
let (s_1: [n_2]i32) = scan n_2 (x_3: i32 <- xs_4) (0i32) \(a_5: i32, b_6: i32) : (i32) -> { in (b_6) }
let (y_1: i32) = if c_2 then { in (1i32) } else { in (x_3) }
let (y_1: i32) = loop (x_2: i32 = 0i32) for i_3: i64 < n_4 do { in (x_2) }
#[sequential] #[unroll(4, a(b))] #{c_1, d_2} let (y_3: i32, z_4: [y_3]i32) = f_5()
let (y_1: i32) = segmap^warp (i_2 < n_3, j_4 < 8i64) : (i64) { in (j_4) }
let () = f_1()
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_statements_print_as_they_are_written(line: str) -> None:
    assert show_stm(parse_stm(line)) == line


def test_a_screma_is_called_what_it_is() -> None:
    f = r"\(x_1: i32) : (i32, i32) -> { in (x_1, 1i32) }"
    op = r"(0i32) \(a_2: i32, b_3: i32) : (i32) -> { in (b_3) }"
    for word, operators in {
        "map": "",
        "redomap": f" reduce {op}",
        "scanomap": f" scan {op}",
    }.items():
        text = f"{word} n_4 (xs_5) {f}{operators}"
        shown = show_exp(parse_exp(text))
        assert " ".join(shown.split()) == text


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{ let (x_1: i32) = add_i32 y_2\n in (x_1) }", "2:2: expected a name or a constant, found `in`"),
        ("{ in (x_1 }", "1:11: expected `,` or `)`, found `}`"),
        ("{ in (x) }", "1:7: expected a name or a constant, found `x`"),
        ("{ let (x_1: i33) = 0i32 in () }", "expected a type, found `i33`"),
        ("{ in (300i8) }", "expected a constant of i8"),
        ("{ in (1.5i8) }", "expected a constant of i8"),
        ("{ in () } }", "expected the end, found `}`"),
        ("{ in (", "expected a name or a constant, found the end"),
        ("{ in (?) }", "1:7: no token begins with '?'"),
    ],
)
def test_wrong_texts_say_where(text: str, where: str) -> None:
    with pytest.raises(IRError) as caught:
        parse_body(text)
    assert where in str(caught.value)


# ---- anything that can be in a tree ---------------------------------------------------------------------------------


def consts() -> st.SearchStrategy[Const]:
    ints = [
        st.integers(*int_range(p)).map(lambda v, p=p: Const(p, v)) for p in Prim if p.is_int
    ]  # fmt: skip
    floats = [
        st.floats(width=64).map(lambda v, p=p: Const(p, rounding(p)(v))) for p in Prim if p.is_float
    ]  # fmt: skip
    nans = st.integers(1, 2**51 - 1).map(
        lambda n: Const(Prim.F64, struct.unpack("<d", struct.pack("<Q", 0x7FF8 << 48 | n))[0])
    )
    return st.one_of(*ints, *floats, nans, st.booleans().map(lambda v: Const(Prim.BOOL, v)))


names = st.builds(Name, st.one_of(st.sampled_from(["x", "xs'", "", "x_1", "i32", "in", "+^", "a`b", 'a"\\n'])
                                  , st.text(max_size=5)), st.integers(0, 10**6))  # fmt: skip
atoms = st.one_of(names.map(Var), consts())


@given(consts())
@settings(max_examples=150)
def test_constants_parse_back_by_bits(const: Const) -> None:
    found = parse_exp(show_exp(Copied(const)))
    assert isinstance(found, Copied)
    assert found.atom == const


@given(names)
@settings(max_examples=100)
def test_names_parse_back(name: Name) -> None:
    exp = Copied(Var(name))
    assert parse_exp(show_exp(exp)) == exp


attrs = st.recursive(
    st.builds(Attr, st.one_of(st.sampled_from(["unroll", "4", "1_000"]), st.text(min_size=1, max_size=4)), st.just(())),
    lambda inner: st.builds(Attr, st.just("a"), st.lists(inner, max_size=2).map(tuple)),
    max_leaves=4,
)
locs = st.one_of(st.just(NOWHERE), st.builds(Loc, st.text(max_size=4), *[st.integers(0, 99)] * 4))


@given(st.lists(attrs, max_size=2), st.lists(names, max_size=2), locs, st.lists(atoms, max_size=3))
@settings(max_examples=100)
def test_statements_parse_back(attr_list: list[Attr], certs: list[Name], loc: Loc, sizes: list) -> None:
    stm = Stm((Param(Name("y", 0), Type(Prim.I8, tuple(sizes))),), Copied(Var(Name("x", 1))), tuple(certs),
              tuple(attr_list), loc)  # fmt: skip
    assert same(parse_stm(show_stm(stm)), stm)


# ---- equality -------------------------------------------------------------------------------------------------------


def test_same_tells_constants_apart_by_type_and_bits() -> None:
    values = [Const(Prim.I32, 1), Const(Prim.I64, 1), Const(Prim.F32, 1.0), Const(Prim.BOOL, True),
              Const(Prim.F64, 0.0), Const(Prim.F64, -0.0), Const(Prim.F64, math.nan)]  # fmt: skip
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            assert same(Copied(a), Copied(b)) == (i == j)


def test_same_sees_every_difference() -> None:
    a = parse_prog(LOOPS)
    assert not same(a, without_locations(a))
    assert not same(a, dataclasses.replace(a, next_name=a.next_name + 1))
    assert not same(a, Prog(a.consts, a.functions[:1], a.next_name))
    assert not same(a, renumbered(a))
    assert same(a, parse_prog(LOOPS))


def test_long_bodies_and_deep_branches() -> None:
    i32 = scalar(Prim.I32)
    stms = tuple(
        Stm((Param(Name("x", k + 1), i32),), PrimOp(Op.ADD, Prim.I32, (Var(Name("x", k)), Const(Prim.I32, 1))), (), (),
            NOWHERE)
        for k in range(10_000)
    )  # fmt: skip
    body = Body(stms, (Var(Name("x", 10_000)),))
    assert same(parse_body(show_body(body)), body)
    deep = Body((), (Var(Name("x", 0)),))
    for k in range(1, 400):
        exp = If(Var(Name("c", 1000)), deep, deep if k < 5 else Body((), (Const(Prim.I32, k),)))
        deep = Body((Stm((Param(Name("y", k), i32),), exp, (), (), NOWHERE),), (Var(Name("y", k)),))
    prog = Prog((), (FunDef(Name("f", 2000), (), (), (), deep, None, (), NOWHERE),), 2001)
    assert same(parse_prog(show(prog)), prog)
    assert renumbered(prog).next_name > 400


def test_odd_names_are_quoted() -> None:
    assert show_name(Name("+^", 3)) == "`+^`_3"
    assert show_name(Name("x'", 3)) == "x'_3"
    assert show_name(Name("", 3)) == "_3"
