"""The checker accepts what is well formed and says what is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from soac.ir.check import Stage, check
from soac.ir.core import Prog
from soac.ir.errors import IRError
from soac.ir.parse import parse_prog
from soac.ir.rename import substitute_body
from soac.ir.types import Const, Name, Prim

PROGRAMS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("programs/*.ir"))}
FLAT = {"matmul_flat", "segops"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_good_programs_pass(name: str) -> None:
    check(parse_prog(PROGRAMS[name]), Stage.FLAT if name in FLAT else Stage.CORE)


def core(body: str, result: str = "i32", consumes: str = "") -> str:
    params = "n_1: i64, xs_2: [n_1]i32, ys_3: [n_1]i32, x_4: i32, c_5: bool, xss_6: [n_1][n_1]i32, y_7: f32"
    taken = f"consumes ({consumes})" if consumes else ""
    return f"next_name 100 fun main_0 ({params}) {taken} : (r_8: {result}) = {{ {body} }}"


ADD = r"\(p_80: i32, q_81: i32) : (i32) -> { let (r_82: i32) = add_i32 p_80 q_81 in (r_82) }"

ILL_FORMED = {
    # scoping and names
    "not in scope": core("in (z_9)"),
    "is bound twice": core("let (z_9: i32) = x_4 let (z_9: i32) = x_4 in (z_9)"),
    "x_4 is bound twice": core("let (x_4: i32) = x_4 in (x_4)"),
    "tag that is not below next_name": core("let (z_100: i32) = x_4 in (z_100)"),
    "z_10 is not in scope": core(
        "let (z_9: i32) = if c_5 then { let (z_10: i32) = x_4 in (z_10) } else { in (z_10) } in (z_9)"
    ),
    "i_10 is not in scope": core(
        "let (z_9: i64) = loop (s_11: i64 = n_1) for i_10: i64 < n_1 do { in (i_10) } in (i_10)", "i64"
    ),
    "i_12 is not in scope": core(
        "let (z_9: [n_1]i32) = loop (s_11: [i_12]i32 = xs_2) for i_12: i64 < n_1 do { in (s_11) } in (x_4)"
    ),
    "k_9 is not in scope": core("let (z_10: [k_9]i32) = copy xs_2 in (x_4)"),
    # types of operands
    "operand 1 should be i32, is f32": core("let (z_9: i32) = add_i32 x_4 y_7 in (z_9)"),
    "there is no and_f32": core("let (z_9: f32) = and_f32 y_7 y_7 in (x_4)"),
    "operand should be f32, is i32": core("let (z_9: i64) = f32_to_i64 x_4 in (x_4)"),
    "value 0 should be i64, is i32": core("let (z_9: i64) = add_i32 x_4 x_4 in (x_4)"),
    "the condition should be bool": core("let (z_9: i32) = if x_4 then { in (x_4) } else { in (x_4) } in (z_9)"),
    "1 indices for xss_6 of rank 2": core("let (z_9: [n_1]i32) = xss_6[n_1] in (x_4)"),
    "an index should be i64, is i32": core("let (z_9: i32) = xs_2[x_4] in (z_9)"),
    "the value should be i32, is f32": core("let (z_9: [n_1]i32) = xs_2 with [n_1] <- y_7 in (x_4)", "i32", "xs_2"),
    "element 1 should be i32": core("let (z_9: [2]i32) = [x_4, y_7] : i32 in (x_4)"),
    "is [3]i32": core("let (z_9: [2]i32) = [x_4, x_4, x_4] : i32 in (x_4)"),
    "no permutation": core("let (z_9: [n_1][n_1]i32) = rearrange (1, 1) xss_6 in (x_4)"),
    "x_4 is no array": core("let (z_9: [1]i32) = reshape [1] x_4 in (x_4)"),
    "row type 1 should be i32": core("let (z_9: [n_1]i32) = concat n_1 (xs_2, xss_6) in (x_4)"),
    "a certificate should be bool": core("#{x_4} let (z_9: i32) = x_4 in (z_9)"),
    "value 0 should be i32, is [n_1]i32": core("let (z_9: i32) = copy xs_2 in (z_9)"),
    # arity of lambdas, bodies, patterns
    "value: 1 where 2 are needed": core("let (z_9: i32, u_10: i32) = x_4 in (z_9)"),
    "result: 2 where 1 are needed": core("let (z_9: i32) = if c_5 then { in (x_4, x_4) } else { in (x_4) } in (z_9)"),
    "result 0 should be i32, is f32": core(
        "let (z_9: i32) = loop (s_10: i32 = x_4) for i_11: i64 < n_1 do { in (y_7) } in (z_9)"
    ),
    "no parameter of the loop of type bool": core(
        "let (z_9: i32) = loop (s_10: i32 = x_4) while s_10 do { in (s_10) } in (z_9)"
    ),
    "argument: 1 where 7 are needed": core("let (z_9: i32) = main_0(n_1) in (z_9)"),
    "parameter 0 should be i32, is f32": core(
        r"let (z_9: [n_1]f32) = map n_1 (xs_2) \(e_10: f32) : (f32) -> { in (e_10) } in (x_4)"
    ),
    "result of the operator: 1 where 2": core(
        rf"let (z_9: i32) = redomap n_1 (xs_2) \(e_10: i32) : (i32, i32) -> {{ in (e_10, e_10) }}"
        rf" reduce (0i32, 1i32) {ADD} in (z_9)"
    ),
    "fewer values than the operators take": core(
        rf"let (z_9: i32) = redomap n_1 (xs_2) \(e_10: i32) : () -> {{ in () }} reduce (0i32) {ADD} in (z_9)"
    ),
    "neutral element 0 should be i32, is f32": core(
        rf"let (z_9: i32) = reduce n_1 (e_10: i32 <- xs_2) (y_7) {ADD} in (z_9)"
    ),
    "parameter: 2 where 4 are needed": core(
        r"let (z_9: i32, u_11: i32) = reduce n_1 (e_10: i32 <- xs_2, f_12: i32 <- ys_3) (0i32, 0i32)"
        r" \(p_80: i32, q_81: i32) : (i32, i32) -> { in (p_80, q_81) } in (z_9)"
    ),
    "index 0 should be i64, is i32": core(
        r"let (z_9: [n_1]i32) = scatter n_1 (xs_2) rank 1 dests (ys_3) \(e_10: i32) : (i32, i32) -> { in (e_10, e_10) }"
        " in (x_4)",
        "i32",
        "ys_3",
    ),
    "result of the operator 0 should be i64": core(
        r"let (z_9: [n_1]i32) = hist n_1 (xs_2) rank 1 dests (ys_3) \(e_10: i32) : (i64, i64) -> { in (n_1, n_1) }"
        rf" reduce (0i32) {ADD} in (x_4)",
        "i32",
        "ys_3",
    ),
    "index 0 should be i64": core(
        r"let (z_9: [n_1]i32) = hist n_1 (xs_2) rank 1 dests (ys_3) \(e_10: i32) : (i32, i32) -> { in (e_10, e_10) }"
        rf" reduce (0i32) {ADD} in (x_4)",
        "i32",
        "ys_3",
    ),
    "the condition should be bool, is f32": core('let (ok_9: bool) = assert y_7 "R0103" ("it is") in (x_4)'),
    "concat of nothing": core("let (z_9: [n_1]i32) = concat n_1 () in (x_4)"),
    "the map takes one parameter per array": core(
        r"let (z_9: [n_1]i32) = map n_1 (xs_2, ys_3) \(e_10: i32) : (i32) -> { in (e_10) } in (x_4)"
    ),
    "it scans or it reduces": core(
        r"let (zs_9: [n_1]i32, z_11: i32) = scanomap n_1 (xs_2) \(e_10: i32) : (i32, i32) -> { in (e_10, e_10) }"
        rf" scan (0i32) {ADD} reduce (0i32) {ADD} in (x_4)"
    ),
    "accumulator 0 should be": core(
        r"let (z_9: [n_1]i32) = with_acc n_1 (ys_3) dests (xs_2) \(a_12: [n_1]i32, p_13: i32) : (i32) -> { in (p_13) }"
        " in (x_4)",
        "i32",
        "xs_2",
    ),
    "value written: 2 where 1": core(
        r"let (z_9: [n_1]i32) = scatter n_1 (xs_2) rank 1 dests (ys_3) \(e_10: i32) : (i64, i32, i32) -> "
        "{ in (n_1, e_10, e_10) } in (x_4)",
        "i32",
        "ys_3",
    ),
    # stages
    "SegMap before flattening": core("let (z_9: [n_1]i64) = segmap^thread (i_10 < n_1) : (i64) { in (i_10) } in (x_4)"),
    "a guard before flattening": core('let (z_9: bool) = guard "t" <= n_1 in (x_4)'),
    # consumption
    "xs_2 is used after it was consumed": core(
        "let (z_9: [n_1]i32) = xs_2 with [0i64] <- 1i32 let (u_10: i32) = xs_2[0i64] in (u_10)", "i32", "xs_2"
    ),
    "ys_3 is used after it was consumed": core(
        "let (z_9: [n_1]i32) = ys_3 with [0i64] <- x_4 in (ys_3)", "[n_1]i32", "ys_3"
    ),
    "v_10 is used after it was consumed": core(
        "let (v_10: [n_1]i32) = xss_6[0i64, 0i64 :+ n_1 * 1i64]"
        " let (z_9: [n_1][n_1]i32) = xss_6 with [0i64, 0i64] <- 1i32 let (u_11: i32) = v_10[0i64] in (u_11)",
        "i32",
        "xss_6",
    ),
    "xss_6 is used after it was consumed": core(
        "let (t_10: [n_1][n_1]i32) = rearrange (1, 0) xss_6"
        " let (z_9: [n_1][n_1]i32) = t_10 with [0i64, 0i64] <- 1i32 let (u_11: i32) = xss_6[0i64, 0i64] in (u_11)",
        "i32",
        "xss_6",
    ),
    "xs_2 is consumed where": core("let (z_9: [n_1]i32) = xs_2 with [0i64] <- 1i32 in (x_4)"),
    "ys_3 is used after": core(
        "let (b_10: [n_1]i32) = if c_5 then { in (xs_2) } else { in (ys_3) }"
        " let (z_9: [n_1]i32) = b_10 with [0i64] <- 1i32 let (u_11: i32) = ys_3[0i64] in (u_11)",
        "i32",
        "xs_2, ys_3",
    ),
    "let (u_11: i32) = xs_2[0i64]": core(
        "let (z_9: [n_1]i32) = loop (a_10: [n_1]i32 = xs_2) for i_12: i64 < n_1 do "
        "{ let (b_13: [n_1]i32) = a_10 with [i_12] <- 1i32 in (b_13) } let (u_11: i32) = xs_2[0i64] in (u_11)",
        "i32",
        "xs_2",
    ),
    "xs_2 is consumed where that": core(
        "let (z_9: i32) = loop (a_10: i32 = x_4) for i_12: i64 < n_1 do "
        "{ let (b_13: [n_1]i32) = xs_2 with [i_12] <- a_10 in (a_10) } in (z_9)",
        "i32",
        "xs_2",
    ),
    "next value of a_10, which is consumed, is an array from outside": core(
        "let (z_9: [n_1]i32) = loop (a_10: [n_1]i32 = xs_2) for i_12: i64 < n_1 do "
        "{ let (b_13: [n_1]i32) = a_10 with [i_12] <- 1i32 in (ys_3) } in (x_4)",
        "i32",
        "xs_2",
    ),
    "next value of a_10, which is consumed, is also that of another parameter": core(
        "let (z_9: [n_1]i32, w_11: [n_1]i32) = loop (a_10: [n_1]i32 = xs_2, d_14: [n_1]i32 = ys_3) for i_12: i64 < n_1"
        " do { let (b_13: [n_1]i32) = a_10 with [i_12] <- 1i32 in (b_13, b_13) } in (x_4)",
        "i32",
        "xs_2",
    ),
    "xs_2 is consumed beside another use of the same array": core(
        "let (z_9: [n_1]i32, w_11: [n_1]i32) = scatter n_1 (ys_3) rank 1 dests (xs_2, xs_2)"
        r" \(p_12: i32) : (i64, i32, i32) -> { in (0i64, p_12, p_12) } in (x_4)",
        "i32",
        "xs_2",
    ),
    "e_10 is consumed where that": core(
        r"let (z_9: [n_1][n_1]i32) = map n_1 (xss_6) \(e_10: [n_1]i32) : ([n_1]i32) -> "
        "{ let (u_11: [n_1]i32) = e_10 with [0i64] <- 1i32 in (u_11) } in (x_4)",
        "i32",
        "xss_6",
    ),
    "overwritten with a part of itself": core(
        "let (v_10: [n_1]i32) = xss_6[0i64, 0i64 :+ n_1 * 1i64]"
        " let (z_9: [n_1][n_1]i32) = xss_6 with [1i64, 0i64 :+ n_1 * 1i64] <- v_10 in (x_4)",
        "i32",
        "xss_6",
    ),
}


@pytest.mark.parametrize("fault", ILL_FORMED)
def test_ill_formed_programs_are_refused(fault: str) -> None:
    with pytest.raises(IRError) as caught:
        check(parse_prog(ILL_FORMED[fault]), Stage.CORE)
    assert fault in str(caught.value)


OVERWRITES = (
    "fun g_50 (n_51: i64, a_52: [n_51]i32, b_53: [n_51]i32) consumes (a_52) : (r_54: [n_51]i32) ="
    " { let (u_55: [n_51]i32) = a_52 with [0i64] <- 1i32 in (u_55) }"
)


@pytest.mark.parametrize(
    ("call", "consumes", "fault"),
    [
        ("g_50 (n_1, xs_2, ys_3)", "", "xs_2 is consumed where that could happen several times"),
        ("g_50 (n_1, xs_2, xs_2)", "xs_2", "xs_2 is consumed beside another use of the same array"),
        ("g_50 (n_1, xs_2, ys_3) let (z_10: i32) = xs_2[0i64]", "xs_2", "xs_2 is used after it was consumed"),
        ("g_50 (n_1, xs_2, ys_3) let (z_10: i32) = ys_3[0i64]", "xs_2", None),
    ],
)
def test_what_a_call_consumes(call: str, consumes: str, fault: str | None) -> None:
    prog = parse_prog(f"{core(f'let (z_9: [n_1]i32) = {call} in (x_4)', 'i32', consumes)} {OVERWRITES}")
    if fault is None:
        check(prog, Stage.CORE)
        return
    with pytest.raises(IRError, match=fault):
        check(prog, Stage.CORE)


EXCHANGES = (
    "fun f_60 (n_61: i64, a_62: [n_61]i32, b_63: [n_61]i32) : (r_64: [n_61]i32) ="
    " { let (z_65: bool) = eq_i64 n_61 0i64"
    " let (r_66: [n_61]i32) = if z_65 then { in (a_62) } else"
    " { let (u_67: [n_61]i32) = f_60(n_61, b_63, a_62) in (u_67) } in (r_66) }"
)


@pytest.mark.parametrize("other", ["xs_2", "ys_3"])
def test_what_a_recursive_function_gives_may_be_any_of_what_its_calls_give(other: str) -> None:
    """Of two arrays that change places in each call the result is the first one, or the second."""
    made = "let (c_9: [n_1]i32) = copy xs_2 let (r_10: [n_1]i32) ="
    args = "c_9, ys_3" if other == "xs_2" else "ys_3, c_9"
    body = f"{made} f_60(n_1, {args}) let (u_11: [n_1]i32) = c_9 with [0i64] <- 1i32 let (v_12: i32) = r_10[0i64]"
    with pytest.raises(IRError, match="r_10 is used after it was consumed"):
        check(parse_prog(f"{core(f'{body} in (v_12)')} {EXCHANGES}"), Stage.CORE)


@pytest.mark.parametrize(
    "made",
    [
        "copy ys_3",
        "replicate [n_1] x_4",
        "[x_4, x_4] : i32",
        r"map n_1 (ys_3) \(p_12: i32) : (i32) -> { in (p_12) }",
        r"scatter n_1 (ys_3) rank 1 dests (xs_2) \(p_12: i32) : (i64, i32) -> { in (0i64, p_12) }",
        r"with_acc n_1 (ys_3) dests (xs_2) \(a_12: [n_1]i32, p_13: i32) : ([n_1]i32) -> { in (a_12) }",
    ],
)
def test_what_is_made_anew_is_not_used_once_it_was_overwritten(made: str) -> None:
    size = "2" if made.startswith("[") else "n_1"
    body = f"let (z_9: [{size}]i32) = {made} let (u_20: [{size}]i32) = z_9 with [0i64] <- 1i32 let (v_21: i32) ="
    check(parse_prog(core(f"{body} u_20[0i64] in (v_21)", "i32", "xs_2")), Stage.CORE)
    with pytest.raises(IRError, match="z_9 is used after it was consumed"):
        check(parse_prog(core(f"{body} z_9[0i64] in (v_21)", "i32", "xs_2")), Stage.CORE)


@pytest.mark.parametrize(
    "changed",
    [
        "xs_2 with [0i64] <- x_4",
        r"scatter n_1 (ys_3) rank 1 dests (xs_2) \(p_12: i32) : (i64, i32) -> { in (0i64, p_12) }",
        rf"hist n_1 (ys_3) rank 1 dests (xs_2) \(p_12: i32) : (i64, i32) -> {{ in (0i64, p_12) }} reduce (0i32) {ADD}",
        r"with_acc n_1 (ys_3) dests (xs_2) \(a_12: [n_1]i32, p_13: i32) : ([n_1]i32) -> { in (a_12) }",
        "loop (a_12: [n_1]i32 = xs_2) for i_13: i64 < n_1 do"
        " { let (u_14: [n_1]i32) = a_12 with [0i64] <- x_4 in (u_14) }",
    ],
)
def test_what_overwrites_an_array_consumes_it(changed: str) -> None:
    body = f"let (z_9: [n_1]i32) = {changed} let (v_21: i32) ="
    check(parse_prog(core(f"{body} z_9[0i64] in (v_21)", "i32", "xs_2")), Stage.CORE)
    for array, consumes, fault in (("xs_2", "xs_2", "used after it was consumed"), ("z_9", "", "consumed where")):
        with pytest.raises(IRError, match=f"xs_2 is {fault}"):
            check(parse_prog(core(f"{body} {array}[0i64] in (v_21)", "i32", consumes)), Stage.CORE)


def flat(body: str) -> str:
    return core(body + " in (x_4)")


ILL_FORMED_FLAT = {
    "WithAcc after flattening": flat(
        r"let (z_9: [n_1]i32) = with_acc n_1 (xs_2) dests (xs_2) \(a_12: [n_1]i32, p_13: i32) : ([n_1]i32) -> "
        "{ in (a_12) }"
    ),
    "Screma outside of segops": flat(r"let (z_9: [n_1]i32) = map n_1 (xs_2) \(e_10: i32) : (i32) -> { in (e_10) }"),
    "SegMap of level block inside level thread": flat(
        "let (z_9: [n_1][n_1]i64) = segmap^thread (i_10 < n_1) : ([n_1]i64) "
        "{ let (u_11: [n_1]i64) = segmap^block (j_12 < n_1) : (i64) { in (j_12) } in (u_11) }"
    ),
    "SegMap of level thread inside level thread": flat(
        "let (z_9: [n_1][n_1]i64) = segmap^thread (i_10 < n_1) : ([n_1]i64) "
        "{ let (u_11: [n_1]i64) = segmap^thread (j_12 < n_1) : (i64) { in (j_12) } in (u_11) }"
    ),
    "a guard inside a segop": flat(
        'let (z_9: [n_1]bool) = segmap^thread (i_10 < n_1) : (bool) { let (g_11: bool) = guard "t" <= n_1 in (g_11) }'
    ),
    "result 0 should be i32, is i64": flat("let (z_9: [n_1]i32) = segmap^thread (i_10 < n_1) : (i32) { in (i_10) }"),
    "is [n_1][n_1]i64": flat("let (z_9: [n_1]i64) = segmap^thread (i_10 < n_1, j_11 < n_1) : (i64) { in (i_10) }"),
    "width 0 should be i64": flat("let (z_9: [n_1]i64) = segmap^thread (i_10 < x_4) : (i64) { in (i_10) }"),
    "fewer values": flat(f"let (z_9: i32) = segred^thread (i_10 < n_1) reduce (0i32) {ADD} : () {{ in () }}"),
    "end of rows 0 should be [n_1]i64, is [n_1]i32": flat(
        "let (z_9: [n_1]i32) = segred^thread (p_10 < n_1, q_11 < n_1) rows xs_2 "
        f"reduce (0i32) {ADD} : (i32) {{ in (x_4) }}"
    ),
    "cannot be indexed by 2": flat(
        "let (z_9: [n_1]i32) = segscatter^thread (i_10 < n_1) rank 2 dests (xs_2) { in (i_10, i_10, x_4) }"
    ),
    "xs_2 is consumed where": flat(
        "let (z_9: [n_1]i32) = segscatter^thread (i_10 < n_1) rank 1 dests (xs_2) { in (i_10, x_4) }"
    ),
}


@pytest.mark.parametrize("fault", ILL_FORMED_FLAT)
def test_ill_formed_flat_programs_are_refused(fault: str) -> None:
    with pytest.raises(IRError) as caught:
        check(parse_prog(ILL_FORMED_FLAT[fault]), Stage.FLAT)
    assert fault in str(caught.value)


WELL_FORMED = {
    "update of one's own": core(
        "let (z_9: [n_1]i32) = copy xs_2 let (u_10: [n_1]i32) = z_9 with [0i64] <- 1i32 in (x_4)"
    ),
    "the same array overwritten in both branches": core(
        "let (z_9: [n_1]i32) = if c_5 then { let (a_10: [n_1]i32) = xs_2 with [0i64] <- 1i32 in (a_10) }"
        " else { let (b_11: [n_1]i32) = xs_2 with [0i64] <- 2i32 in (b_11) } in (x_4)",
        "i32",
        "xs_2",
    ),
    "two buffers that change places": core(
        "let (z_9: [n_1]i32, u_10: [n_1]i32) = loop (a_11: [n_1]i32 = xs_2, b_12: [n_1]i32 = ys_3) for i_13: i64 < n_1"
        " do { let (d_14: [n_1]i32) = a_11 with [i_13] <- 1i32 in (b_12, d_14) } in (x_4)",
        "i32",
        "xs_2, ys_3",
    ),
    "a loop that overwrites an array of the loop around it": core(
        "let (z_9: [n_1]i32) = loop (a_11: [n_1]i32 = xs_2) for i_13: i64 < n_1 do {"
        " let (d_14: [n_1]i32) = loop (b_15: [n_1]i32 = a_11) for j_16: i64 < n_1 do {"
        " let (e_17: [n_1]i32) = b_15 with [j_16] <- 1i32 in (e_17) } in (d_14) } in (x_4)",
        "i32",
        "xs_2",
    ),
    "an array made and overwritten inside a lambda": core(
        r"let (z_9: [n_1][n_1]i32) = map n_1 (xss_6) \(e_10: [n_1]i32) : ([n_1]i32) -> "
        "{ let (m_12: [n_1]i32) = copy e_10 let (u_11: [n_1]i32) = m_12 with [0i64] <- 1i32 in (u_11) } in (x_4)"
    ),
    "sizes by two names": core(
        "let (m_9: i64) = n_1 let (z_10: [m_9]i32) = replicate [m_9] x_4 "
        r"let (u_11: [n_1]i32) = map n_1 (xs_2, z_10) \(a_12: i32, b_13: i32) : (i32) -> { in (b_13) } in (x_4)"
    ),
}


@pytest.mark.parametrize("what", WELL_FORMED)
def test_well_formed_programs_pass(what: str) -> None:
    check(parse_prog(WELL_FORMED[what]), Stage.CORE)


def test_calls_tell_what_results_share() -> None:
    text = r"""
    next_name 100
    fun pick_1 (n_2: i64, a_3: [n_2]i32, b_4: [n_2]i32) : (r_5: [n_2]i32) = { in (b_4) }
    fun main_10 (n_11: i64, a_12: [n_11]i32, b_13: [n_11]i32) consumes (a_12, b_13) : (r_14: i32) = {
      let (c_15: [n_11]i32) = pick_1(n_11, a_12, b_13)
      let (d_16: [n_11]i32) = c_15 with [0i64] <- 1i32
      let (e_17: i32) = %s[0i64]
      in (e_17)
    }
    """
    check(parse_prog(text % "a_12"), Stage.CORE)
    with pytest.raises(IRError, match="b_13 is used after"):
        check(parse_prog(text % "b_13"), Stage.CORE)


@pytest.mark.parametrize(
    "const", [Const(Prim.F32, 0.1), Const(Prim.I8, 128), Const(Prim.I32, True), Const(Prim.F64, 1), Const(Prim.U8, -1)]
)
def test_constants_must_be_of_their_type(const: Const) -> None:
    prog = parse_prog(f"next_name 9 fun main_0 () : (r_1: {const.prim.value}) = {{ in (x_2) }}")
    body = substitute_body(prog.functions[0].body, {Name("x", 2): const})
    with pytest.raises(IRError, match=f"is no {const.prim.value}"):
        check(Prog((), (replace(prog.functions[0], body=body),), 9), Stage.CORE)


def test_the_message_shows_the_statement() -> None:
    with pytest.raises(IRError, match=r"(?s)operand 1 should be i32, is f32, in\nlet \(z_9: i32\) = add_i32 x_4 y_7"):
        check(parse_prog(core("let (z_9: i32) = add_i32 x_4 y_7 in (z_9)")), Stage.CORE)
