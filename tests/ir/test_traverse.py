"""The kit for passes: bodies, free names, substitution and renaming."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soac.ir.check import Stage, check
from soac.ir.core import Body, Loop, Prog, Screma, SegRed
from soac.ir.errors import IRError
from soac.ir.interpret import interpret
from soac.ir.parse import parse_body, parse_exp, parse_lambda, parse_prog, parse_stm
from soac.ir.rename import (
    rename_body,
    rename_exp,
    rename_fun,
    rename_lambda,
    renumbered,
    substitute_body,
    substitute_exp,
    substitute_lambda,
)
from soac.ir.show import same, show, show_body, show_exp, show_lambda
from soac.ir.traverse import (
    all_exps,
    bodies,
    bound_in_body,
    called_functions,
    consumed_by,
    free_in_body,
    free_in_lambda,
    free_in_stm,
    free_names,
    lambdas,
    map_bodies,
    operands,
    result_types,
    scoped_bodies,
    types_in,
    with_bodies,
    with_lambdas,
)
from soac.ir.types import I64, Name, Names, Prim, Type, Var, i64

PROGRAMS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("programs/*.ir"))}
FLAT = {"matmul_flat", "segops"}

LOOP = """
loop (xs_1: [n_2]i32 = ys_3, k_4: i64 = 0i64) for i_5: i64 < m_6 do {
  let (x_7: i32) = xs_1[i_5]
  #{c_8} let (zs_9: [q_10]i32) = xs_1 with [k_4] <- x_7
  in (zs_9, j_11)
}
"""
SEGRED = r"""
segred^thread (i_1 < n_2)
  reduce (ne_3) \(a_4: i32, b_5: i32) : (i32) -> { let (c_6: i32) = add_i32 a_4 w_7 in (c_6) }
  : (i32) { let (x_8: i32) = xs_9[i_1] in (x_8) }
"""
REDOMAP = r"""
redomap n_1 (xs_2)
  \(x_3: [m_4]i32) : (i32, [p_5]i32) -> { in (y_6, zs_7) }
  reduce (0i32) \(a_8: i32, b_9: i32) : (i32) -> { in (v_10) }
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_types_of_results_are_those_of_lambdas_and_of_bodies(name: str) -> None:
    for exp in everywhere(parse_prog(PROGRAMS[name])):
        given = [t for f in lambdas(exp) for t in f.ret]
        assert list(result_types(exp)) == given + list(getattr(exp, "ret", ()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_lambdas_are_those_that_an_expression_was_given(name: str) -> None:
    """Others of the same types, all of them and nothing else."""
    prog = parse_prog(PROGRAMS[name])
    for exp in (exp for body in prog.bodies for exp in all_exps(body)):
        others = tuple(rename_lambda(f, Names(prog.next_name)) for f in lambdas(exp))
        made = with_lambdas(exp, others)
        assert all(x is y for x, y in zip(lambdas(made), others, strict=True))
        assert with_lambdas(made, lambdas(exp)) == exp


def spelled(names: dict[Name, None]) -> list[str]:
    return [str(name) for name in names]


def everywhere(prog: Prog) -> list:
    return [exp for fun in prog.functions for exp in all_exps(fun.body)]


# ---- bodies and names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_parts_can_be_put_back(name: str) -> None:
    for exp in everywhere(parse_prog(PROGRAMS[name])):
        assert same(with_bodies(exp, bodies(exp)), exp)
        assert same(with_lambdas(exp, lambdas(exp)), exp)
        assert map_bodies(lambda body: body, exp) is exp


def test_bodies_know_their_parameters() -> None:
    loop = parse_exp(LOOP)
    ((params, body),) = scoped_bodies(loop)
    assert [str(p.name) for p in params] == ["xs_1", "k_4", "i_5"]
    assert params[2].type == I64
    assert isinstance(loop, Loop)
    assert body is loop.body
    red = parse_exp(SEGRED)
    assert [[str(p.name) for p in params] for params, _ in scoped_bodies(red)] == [["a_4", "b_5"], ["i_1"]]


def test_map_bodies_reaches_lambdas_and_segop_bodies() -> None:
    emptied = map_bodies(lambda body: Body((), body.result), parse_exp(SEGRED))
    assert isinstance(emptied, SegRed)
    assert emptied.body.stms == ()
    assert emptied.reds[0].op.body.stms == ()
    branch = parse_exp("if c_1 then { in (a_2) } else { in (b_3) }")
    assert (
        show_exp(map_bodies(lambda body: Body((), (i64(1),)), branch)) == "if c_1 then { in (1i64) } else { in (1i64) }"
    )


def test_free_names_in_order_of_first_occurrence() -> None:
    assert spelled(free_names(parse_exp(LOOP))) == ["ys_3", "m_6", "n_2", "c_8", "q_10", "j_11"]
    assert spelled(free_names(parse_exp(SEGRED))) == ["n_2", "ne_3", "w_7", "xs_9"]
    assert spelled(free_names(parse_exp(REDOMAP))) == ["n_1", "xs_2", "m_4", "y_6", "zs_7", "v_10", "p_5"]
    assert spelled(free_names(parse_exp("f_1(x_2)"))) == ["x_2"]
    assert spelled(free_in_body(parse_body("{ let (k_1: i64, y_2: [k_1]i32) = f_3() in (y_2, k_1) }"))) == []
    assert spelled(free_in_stm(parse_stm("#{c_1} let (y_2: [n_3]i32) = scratch [m_4]i32"))) == ["m_4", "c_1", "n_3"]
    assert spelled(free_in_lambda(parse_lambda(r"\(x_1: i32) : ([n_2]i32) -> { in (y_3) }"))) == ["y_3", "n_2"]


def test_operands_are_what_the_expression_itself_uses() -> None:
    assert [str(a) for a in operands(parse_exp("xs_1 with [i_2, 0i64 :+ n_3 * 1i64] <- v_4"))][:2] == ["xs_1", "i_2"]
    hist = parse_exp(r"hist n_1 (xs_2) rank 1 dests (d_3) \(x_4: i64) : (i64, i32) -> { in (x_4, y_5) }"
                     r" reduce (ne_6) \(a_7: i32, b_8: i32) : (i32) -> { in (a_7) }")  # fmt: skip
    assert [str(a) for a in operands(hist)] == ["n_1", "xs_2", "ne_6", "d_3"]
    assert [str(n) for n in consumed_by(hist)] == ["d_3"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_have_no_free_names_but_constants(name: str) -> None:
    prog = parse_prog(PROGRAMS[name])
    consts = {p.name for stm in prog.consts for p in stm.pat}
    for fun in prog.functions:
        assert set(free_in_body(fun.body)) <= {p.name for p in fun.params} | consts
        assert bound_in_body(fun.body).keys() <= types_in(prog).keys()


def test_calls_and_types() -> None:
    prog = parse_prog(PROGRAMS["loops"])
    main = next(fun for fun in prog.functions if fun.entry)
    assert spelled(called_functions(main.body)) == ["fill_2"]
    types = types_in(prog)
    assert types[Name("both", 43)] == Type(Prim.I32, (Var(Name("two", 42)),))
    assert types[Name("i", 9)] == I64
    assert types[Name("table", 1)] == Type(Prim.I32, (i64(4),))


# ---- substitution and renaming --------------------------------------------------------------------------------------


def test_substitution_reaches_every_use_and_no_binder() -> None:
    exp = parse_exp(LOOP)
    names = free_names(exp)
    fresh = {name: Var(Name(name.base + "'", name.tag + 50)) for name in names}
    found = substitute_exp(exp, fresh)
    assert spelled(free_names(found)) == [f"{n.base}'_{n.tag + 50}" for n in names]
    assert same(substitute_exp(found, {new.name: Var(old) for old, new in fresh.items()}), exp)
    assert substitute_exp(exp, {}) is exp


def test_constants_for_sizes_and_operands() -> None:
    f = parse_lambda(
        r"\(x_1: [n_2]i32) : ([n_2]i32) -> { let (y_3: [n_2]i64) = iota_i64 n_2 from 0i64 by 1i64 in (x_1) }"
    )
    assert show_lambda(substitute_lambda(f, {Name("n", 2): i64(7)})) == (
        r"\(x_1: [7]i32) : ([7]i32) -> { let (y_3: [7]i64) = iota_i64 7i64 from 0i64 by 1i64 in (x_1) }"
    )


def test_an_array_cannot_become_a_constant() -> None:
    with pytest.raises(IRError, match="xs_1 is used as a name"):
        substitute_body(parse_body("{ let (x_2: i32) = xs_1[0i64] in (x_2) }"), {Name("xs", 1): i64(0)})


def test_renaming_gives_every_binder_a_fresh_name() -> None:
    exp = parse_exp(SEGRED)
    found = rename_exp(exp, Names(100))
    assert spelled(free_names(found)) == spelled(free_names(exp))
    assert show_exp(found).count("_10") >= 5
    assert not {str(n) for n in bound_in_body(Body((), ()))}
    body = parse_body("{ let (k_1: i64, y_2: [k_1]i32) = f_3(x_4) in (y_2) }")
    assert show_body(rename_body(body, Names(10))) == "{ let (k_10: i64, y_11: [k_10]i32) = f_3(x_4) in (y_11) }"
    f = parse_lambda(r"\(x_1: [n_2]i32) : ([n_2]i32) -> { in (x_1) }")
    assert show_lambda(rename_lambda(f, Names(10))) == r"\(x_10: [n_2]i32) : ([n_2]i32) -> { in (x_10) }"


def test_renaming_separates_copies_of_one_body() -> None:
    branch = "{ let (x_1: i32) = add_i32 y_2 1i32 in (x_1) }"
    exp = parse_exp(f"if c_3 then {branch} else {branch}")
    assert show_exp(rename_exp(exp, Names(10))).count("x_1") == 4
    assert "x_10" in show_exp(rename_exp(exp, Names(10)))
    assert "x_11" in show_exp(rename_exp(exp, Names(10)))


ARGS = {
    "matmul": [np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)],
    "matmul_flat": [np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)],
    "loops": [np.arange(5, dtype=np.int32), np.int32(100)],
    "everything": [np.int64(2), np.int64(3), np.ones((2, 3), np.int32), np.array([2, 7], np.int64)],
    "segops": [np.ones((2, 3), np.int32), np.zeros((2, 4), np.int32), np.zeros((2, 3), np.int32)],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_renaming_keeps_meaning_and_form(name: str) -> None:
    prog = parse_prog(PROGRAMS[name])
    names = Names(prog.next_name)
    again = Prog(prog.consts, tuple(rename_fun(fun, names) for fun in prog.functions), names.next)
    for other in (again, renumbered(prog)):
        check(other, Stage.FLAT if name in FLAT else Stage.CORE)
        found, expected = (interpret(p, "main", ARGS[name])[0] for p in (other, prog))
        assert all(np.array_equal(x, y) for x, y in zip(found, expected, strict=True))
    assert not bound_in_body(again.functions[0].body).keys() & bound_in_body(prog.functions[0].body).keys()
    assert show(renumbered(again)) == show(renumbered(prog))


def test_all_expressions_come_before_those_inside() -> None:
    kinds = [type(exp).__name__ for exp in everywhere(parse_prog(PROGRAMS["matmul"]))]
    assert kinds == ["Rearrange", "Screma", "Screma", "Screma", "PrimOp", "PrimOp"]
    assert isinstance(parse_exp(REDOMAP), Screma)
