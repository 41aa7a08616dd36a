"""The numeric modules: their members, and what these mean."""

from __future__ import annotations

import math

import pytest

from soac.frontend.source.numeric_modules import (
    Arg,
    Cast,
    Fold,
    Formula,
    Node,
    Scalar,
    Value,
    highest,
    lowest,
    meanings,
    members,
)
from soac.frontend.typing.show import Shower
from soac.frontend.typing.unify import Solver
from soac.ir.ops import Op, arity, operand_types, result_type
from soac.ir.types import Prim


def type_of(prim: Prim, name: str) -> str:
    return Shower(Solver(1)).type(members(prim)[name])


@pytest.mark.parametrize(
    "prim,name,text",
    [
        (Prim.F32, "sqrt", "f32 -> f32"),
        (Prim.F64, "f32", "f32 -> f64"),
        (Prim.I32, "bool", "bool -> i32"),
        (Prim.BOOL, "i8", "i8 -> bool"),
        (Prim.I64, "+", "i64 -> i64 -> i64"),
        (Prim.U8, "<", "u8 -> u8 -> bool"),
        (Prim.F16, "to_bits", "f16 -> u16"),
        (Prim.F64, "from_bits", "u64 -> f64"),
        (Prim.F32, "isnan", "f32 -> bool"),
        (Prim.I16, "popc", "i16 -> i32"),
        (Prim.F64, "ldexp", "f64 -> i32 -> f64"),
        (Prim.I32, "sum", "[n]i32 -> i32"),
        (Prim.I32, "set_bit", "i32 -> i32 -> i32 -> i32"),
        (Prim.U16, "highest", "u16"),
        (Prim.F32, "num_bits", "i32"),
        (Prim.F32, "fma", "f32 -> f32 -> f32 -> f32"),
    ],
)
def test_types(prim: Prim, name: str, text: str) -> None:
    assert type_of(prim, name) == text


def check(formula: Formula, params: tuple[Prim, ...]) -> Prim:
    """The type of a formula; fails where it is not well typed."""
    match formula:
        case Arg(index):
            return params[index]
        case Value(prim, value):
            assert prim.is_float or lowest(prim) <= value <= highest(prim)
            return prim
        case Cast(source, target, arg):
            assert check(arg, params) is source
            assert source is not target
            return target
        case Node(op, prim, args):
            assert len(args) == arity(op)
            assert tuple(check(arg, params) for arg in args) == operand_types(op, prim)
            return result_type(op, prim)


@pytest.mark.parametrize("prim", list(Prim))
def test_every_formula_is_well_typed(prim: Prim) -> None:
    for name, member in meanings(prim).items():
        match member:
            case Scalar(params, result, formula):
                assert check(formula, params) is result, name
            case Fold(op, at, _):
                assert at is prim
                assert op in {Op.ADD, Op.MUL, Op.MIN, Op.MAX}


def test_constants_are_exact_at_their_type() -> None:
    pi = meanings(Prim.F32)["pi"]
    assert isinstance(pi, Scalar)
    assert pi.formula == Value(Prim.F32, 3.1415927410125732)
    assert (lowest(Prim.I8), highest(Prim.I8), highest(Prim.U64)) == (-128, 127, 2**64 - 1)
    assert lowest(Prim.F32) == -math.inf
