"""Scalar code means bit for bit what it meant: every operation with every special constant on either side, one
operation on another, comparisons negated, choices and conversions, in every type."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from soac.flatten.simplify.driver import simplify
from soac.ir.check import Stage, check
from soac.ir.core import Body, Convert, Exp, FunDef, Param, PrimOp, Prog, Stm
from soac.ir.entry_points import Entry, EntryParam, EntryResult
from soac.ir.errors import NOWHERE
from soac.ir.interpret import interpret
from soac.ir.ops import COMPARISONS, EXPENSES, Expense, Op, arity, operand_types, result_type
from soac.ir.scalar import DTYPES, ScalarFailure, apply, constant, convert, defined, int_range
from soac.ir.types import Atom, Const, Name, Names, Prim, Type, Var, scalar

X, Y = Name("x", 1), Name("y", 2)
Tree = Const | Var | tuple[Op, Prim, tuple["Tree", ...]] | tuple[Prim, Prim, "Tree"]
"""An atom, an operation on trees, or a conversion of one."""

CHAINED = (Op.ADD, Op.SUB, Op.MUL, Op.AND, Op.XOR)


def edges(prim: Prim) -> list[Any]:
    """Values at which identities break."""
    if prim is Prim.BOOL:
        return [False, True]
    if prim.is_float:
        return [0.0, -0.0, 1.0, -1.0, 1.5, -2.5, constant(prim, 0.1).value, math.inf, -math.inf, math.nan]
    low, high = int_range(prim)
    return sorted({low, low + 1, 0, 1, 2, 3, high - 1, high, *((-1, -2) if low else ())})


def special(prim: Prim) -> list[Const]:
    """The constants of edges: of floats no nan, which is none that a program can write."""
    return [constant(prim, value) for value in edges(prim) if value == value]


def trees(prim: Prim) -> Iterator[Tree]:
    x, y, consts = Var(X), Var(Y), special(prim)
    ops = [op for op in Op if defined(op, prim) and (EXPENSES[op] is not Expense.CALL or op is Op.POW)]
    unary = [op for op in ops if arity(op) == 1 and operand_types(op, prim) == (prim,)]
    binary = [op for op in ops if arity(op) == 2 and operand_types(op, prim) == (prim, prim)]
    for op in unary:
        yield op, prim, (x,)
        yield from ((op, prim, ((other, prim, (x,)),)) for other in unary if result_type(other, prim) is prim)
    for op in binary:
        yield op, prim, (x, x)
        yield op, prim, (x, y)
        yield from ((op, prim, pair) for c in consts for pair in ((x, c), (c, x)))
        if op in COMPARISONS:
            yield Op.NOT, Prim.BOOL, ((op, prim, (x, y)),)
        if Op.NEG in unary:
            minus_x, minus_y = (Op.NEG, prim, (x,)), (Op.NEG, prim, (y,))
            yield from ((op, prim, pair) for pair in ((x, minus_y), (minus_x, y), (minus_x, minus_y)))
    few = [c for c in consts if c.value in (2, -2.5) or (prim.is_float and 0 < c.value < 1)]
    for outer, inner in itertools.product([op for op in CHAINED if op in binary], repeat=2):
        for c, d in itertools.product((*few, y), repeat=2):
            yield outer, prim, ((inner, prim, (x, c)), d)
            yield outer, prim, (d, (inner, prim, (c, x)))
    for choice in itertools.product((x, y, *consts[:2]), repeat=2):
        yield Op.SELECT, prim, ((Op.LT, prim, (x, y)), *choice)
    for middle, target in itertools.product(Prim, repeat=2):
        yield middle, target, (prim, middle, x)


def meaning(tree: Tree, values: dict[Name, Any]) -> Any:
    match tree:
        case Const(_, value):
            return value
        case Var(name):
            return values[name]
        case (Op() as op, Prim() as prim, args):
            return apply(op, prim, tuple(meaning(arg, values) for arg in args))
        case (Prim() as source, Prim() as target, arg):
            return convert(source, target, meaning(arg, values))


def fails(tree: Tree, inputs: list[dict[Name, Any]]) -> bool:
    try:
        for values in inputs:
            meaning(tree, values)
    except ScalarFailure:
        return True
    return False


def program(prim: Prim, exps: list[Tree]) -> Prog:
    """A function of x and y that gives all of them."""
    names, stms = Names(10), list[Stm]()

    def atom(tree: Tree) -> tuple[Atom, Prim]:
        match tree:
            case Const(of, _):
                return tree, of
            case Var():
                return tree, prim
            case (Op() as op, Prim() as at, args):
                exp: Exp = PrimOp(op, at, tuple(atom(arg)[0] for arg in args))
                made = result_type(op, at)
            case (Prim() as source, Prim() as target, arg):
                exp, made = Convert(source, target, atom(arg)[0]), target
        param = Param(names.fresh("t"), scalar(made))
        stms.append(Stm((param,), exp, (), (), NOWHERE))
        return Var(param.name), made

    results = [atom(tree) for tree in exps]
    body = Body(tuple(stms), tuple(result for result, _ in results))
    params = tuple(Param(name, scalar(prim)) for name in (X, Y))
    outs = tuple(Param(names.fresh("r"), Type(made, ())) for _, made in results)
    inputs = tuple(EntryParam(name.base, prim.value, 1, False) for name in (X, Y))
    outputs = tuple(EntryResult(made.value, (k,)) for k, (_, made) in enumerate(results))
    fun = FunDef(names.fresh("main"), params, (), outs, body, Entry("main", 0, inputs, outputs), (), NOWHERE)
    return Prog((), (fun,), names.next)


def bits(value: Any) -> Any:
    """Equal for the same value: nan is one value, -0 another than 0."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    return value


@pytest.mark.parametrize("prim", [prim for prim in Prim if prim not in (Prim.I16, Prim.U16)])
def test_scalar_code_keeps_its_bits(prim: Prim) -> None:
    values = edges(prim)
    inputs = [{X: x, Y: y} for k, x in enumerate(values) for y in (x, *values[k % 3 :: 3])]
    exps = [tree for tree in trees(prim) if not fails(tree, inputs)]
    before = program(prim, exps)
    after = simplify(before)
    check(after, Stage.CORE)
    for given in inputs:
        found, _ = interpret(after, "main", [DTYPES[prim].type(value) for value in given.values()])
        for tree, value in zip(exps, found, strict=True):
            assert bits(value.item()) == bits(meaning(tree, given)), (tree, given)


KNOWN = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.QUOT, Op.MIN, Op.MAX, Op.AND, Op.OR, Op.XOR, *COMPARISONS)


def unary(prim: Prim) -> list[Op]:
    """Cheap operations on a number that give one of its type."""
    ops = [op for op in Op if defined(op, prim) and EXPENSES[op] is not Expense.CALL and arity(op) == 1]
    return [op for op in ops if operand_types(op, prim) == (prim,) and result_type(op, prim) is prim]


def test_what_is_an_operand_or_always_the_same_is_no_operation() -> None:
    """Of bytes: an operation on x and itself, 0, 1 or -1, and two operations on x in turn."""
    i8, x = Prim.I8, Var(X)
    pairs = [pair for c in (0, 1, -1) for pair in ((x, constant(i8, c)), (constant(i8, c), x))]
    exps: list[Tree] = [(op, i8, pair) for op in KNOWN for pair in ((x, x), *pairs)]
    exps += [(op, i8, ((other, i8, (x,)),)) for op in unary(i8) for other in unary(i8)]
    inputs = [{X: x, Y: 0} for x in (*range(-128, 128, 9), *edges(i8))]
    values = {tree: [meaning(tree, given) for given in inputs] for tree in exps if not fails(tree, inputs)}
    same = [tree for tree, xs in values.items() if len(set(xs)) == 1 or xs == [given[X] for given in inputs]]
    assert len(same) > 20
    (fun,) = simplify(program(i8, same)).functions
    made = {Var(p.name) for stm in fun.body.stms for p in stm.pat}
    assert not [tree for tree, result in zip(same, fun.body.result, strict=True) if result in made]


@pytest.mark.parametrize("prim", [Prim.I32, Prim.F32])
def test_what_changes_nothing_the_second_time_is_computed_once(prim: Prim) -> None:
    for op in unary(prim):
        once: Tree = (op, prim, (Var(X),))
        twice: Tree = (op, prim, (once,))
        (fun,) = simplify(program(prim, [twice])).functions
        changed = any(bits(meaning(once, {X: x})) != bits(meaning(twice, {X: x})) for x in edges(prim))
        assert changed or len(fun.body.stms) == 1, op
