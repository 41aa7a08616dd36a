"""Operators, equality of whole values, and the members of the numeric modules."""

from __future__ import annotations

from functools import cache

from ...ir.core import Body, If, Lambda, Param, PrimOp, Reduction, Screma
from ...ir.errors import IRError, Loc
from ...ir.ops import Op
from ...ir.types import BOOL, Atom, Const, Prim, Var, scalar
from ..source import numeric_modules as numeric
from ..source.atoms import Qual
from .state import Stage, body_of, convert, emit, prim_op
from .values import Arr, Component, Env, ModuleLike, ModuleValue, Native, Rec, Sum, Value, components

TRUE, FALSE = Const(Prim.BOOL, True), Const(Prim.BOOL, False)

OPERATORS = {
    "+": Op.ADD, "-": Op.SUB, "*": Op.MUL, "/": Op.DIV, "%": Op.MOD, "//": Op.QUOT, "%%": Op.REM, "**": Op.POW,
    "&": Op.AND, "|": Op.OR, "^": Op.XOR, "<<": Op.SHL, ">>": Op.SHR, ">>>": Op.USHR,
    "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE, "&&": Op.AND, "||": Op.OR,
}  # fmt: skip


def builtin_operators() -> dict[str, Value]:
    """The operators every program starts with; their operand type is that of their operands."""
    return {name: _operator(name) for name in (*OPERATORS, "==", "!=")}


def _operator(name: str) -> Native:
    return Native(name, 2, lambda st, args, loc, hint: binary(st, name, args[0], args[1], loc, hint))


def binary(st: Stage, name: str, left: Value, right: Value, loc: Loc, hint: str) -> Value:
    """`left name right` for a built-in operator."""
    if name in {"==", "!="}:
        same = equal(st, left, right, loc)
        return Component(same if name == "==" else prim_op(st, Op.NOT, Prim.BOOL, (same,), loc), Prim.BOOL)
    assert isinstance(left, Component)
    assert isinstance(right, Component)
    op = OPERATORS[name]
    atom = prim_op(st, op, left.prim, (left.atom, right.atom), loc, hint)
    return Component(atom, Prim.BOOL if op in numeric.COMPARISON.values() else left.prim)


def negate(st: Stage, value: Value, loc: Loc, hint: str) -> Value:
    assert isinstance(value, Component)
    if isinstance(value.atom, Const) and value.prim.is_float:
        return Component(Const(value.prim, -value.atom.value), value.prim)
    return Component(prim_op(st, Op.NEG, value.prim, (value.atom,), loc, hint), value.prim)


def complement(st: Stage, value: Value, loc: Loc, hint: str) -> Value:
    assert isinstance(value, Component)
    return Component(prim_op(st, Op.NOT, value.prim, (value.atom,), loc, hint), value.prim)


# ---- equality -----------------------------------------------------------------------------------------------------


def equal(st: Stage, left: Value, right: Value, loc: Loc) -> Atom:
    """`left == right`, a truth value: arrays are equal if their sizes and all their elements are."""
    match left, right:
        case Component(x, prim), Component(y, _):
            return prim_op(st, Op.EQ, prim, (x, y), loc)
        case Rec(fields), Rec(others):
            return conjunction(st, [equal(st, a, b, loc) for (_, a), (_, b) in zip(fields, others, strict=True)], loc)
        case Arr(), Arr():
            return _equal_arrays(st, left, right, loc)
        case Sum(), Sum():
            return _equal_sums(st, left, right, loc)
        case _:
            raise IRError(f"elaborate: equality of functions at {loc}")


def conjunction(st: Stage, conds: list[Atom], loc: Loc) -> Atom:
    result: Atom = TRUE
    for cond in conds:
        result = prim_op(st, Op.AND, Prim.BOOL, (result, cond), loc)
    return result


def _equal_sums(st: Stage, left: Sum, right: Sum, loc: Loc) -> Atom:
    """The same constructor, and equal payloads of that one."""
    same = prim_op(st, Op.EQ, Prim.I8, (left.tag.atom, right.tag.atom), loc)
    conds = [same]
    for i, ((_, args), (_, others)) in enumerate(zip(left.cases, right.cases, strict=True)):
        if not args:
            continue
        other_case = prim_op(st, Op.NE, Prim.I8, (left.tag.atom, Const(Prim.I8, i)), loc)
        payload = conjunction(st, [equal(st, a, b, loc) for a, b in zip(args, others, strict=True)], loc)
        conds.append(prim_op(st, Op.OR, Prim.BOOL, (other_case, payload), loc))
    return conjunction(st, conds, loc)


def _equal_arrays(st: Stage, left: Arr, right: Arr, loc: Loc) -> Atom:
    """`n == m && and (map2 (==) xs ys)`."""
    same_size = prim_op(st, Op.EQ, Prim.I64, (left.size, right.size), loc) if left.size != right.size else TRUE
    if same_size == TRUE:
        return _equal_elements(st, left, right, loc)
    with st.nested() as then:
        result = _equal_elements(st, left, right, loc)
    exp = If(same_size, body_of(then, [result]), Body((), (FALSE,)))
    return emit(st, "same", exp, BOOL, loc)


def _equal_elements(st: Stage, left: Arr, right: Arr, loc: Loc) -> Atom:
    """All elements equal, given that the sizes are."""
    pairs = list(zip(components(left), components(right), strict=True))
    if not pairs:
        return TRUE
    arrays = tuple(
        [atom.name for side in (0, 1) for pair in pairs for atom in [pair[side][0]] if isinstance(atom, Var)]
    )
    types = [pair[side][1].row() for side in (0, 1) for pair in pairs]
    with st.nested() as inner:
        params = tuple([st.param("x", type) for type in types])
        rows = [_row_value(p) for p in params]
        half = len(pairs)
        conds = [equal(st, rows[i], rows[half + i], loc) for i in range(half)]
        result = conjunction(st, conds, loc)
    mapping = Lambda(params, body_of(inner, [result]), (BOOL,))
    return emit(st, "same", Screma(left.size, arrays, mapping, (), (all_of(st, loc),)), BOOL, loc)


def _row_value(param: Param) -> Value:
    """One component of a row: a scalar, or again an array."""
    value: Value = Component(Var(param.name), param.type.prim)
    for size in reversed(param.type.shape):
        value = Arr(size, value)
    return value


def all_of(st: Stage, loc: Loc) -> Reduction:
    """Reduction by `&&`."""
    return Reduction(operator_lambda(st, Op.AND, Prim.BOOL, loc), (TRUE,), True)


def operator_lambda(st: Stage, op: Op, prim: Prim, loc: Loc) -> Lambda:
    r"""`\x y -> x op y`."""
    with st.nested() as inner:
        x, y = st.fresh("x"), st.fresh("y")
        result = emit(st, op.value, PrimOp(op, prim, (Var(x), Var(y))), scalar(prim), loc)
    return Lambda((Param(x, scalar(prim)), Param(y, scalar(prim))), body_of(inner, [result]), (scalar(prim),))


# ---- numeric modules ----------------------------------------------------------------------------------------------


def any_module(env: Env, path: Qual) -> ModuleLike:
    """The module or functor that `path` leads to."""
    first, *rest = path
    module = env.modules[first] if first in env.modules else _numeric_module(numeric.MODULES[first])
    for part in rest:
        assert isinstance(module, ModuleValue), "a functor has no members"
        module = module.modules[part]
    return module


def find_module(env: Env, path: Qual) -> ModuleValue:
    """The module that `path` leads to."""
    module = any_module(env, path)
    assert isinstance(module, ModuleValue), "inference keeps functors and modules apart"
    return module


@cache
def _numeric_module(prim: Prim) -> ModuleValue:
    """`i8` .. `f64`, `bool`: the same for all programs, made when one names it."""
    return ModuleValue({name: _member(name, member) for name, member in numeric.meanings(prim).items()}, {}, {})


def _member(name: str, member: numeric.Member) -> Value:
    match member:
        case numeric.Scalar((), result, numeric.Value(_, value)):
            return Component(Const(result, value), result)
        case numeric.Scalar(params, result, formula):
            return Native(
                name,
                len(params),
                lambda st, args, loc, hint: Component(_formula(st, formula, args, loc, hint), result),
            )
        case numeric.Fold(op, prim, neutral):
            return Native(name, 1, lambda st, args, loc, hint: _fold(st, op, prim, neutral, args[0], loc, hint))


def _formula(st: Stage, formula: numeric.Formula, args: tuple[Value, ...], loc: Loc, hint: str) -> Atom:
    match formula:
        case numeric.Arg(index):
            arg = args[index]
            assert isinstance(arg, Component)
            return arg.atom
        case numeric.Value(prim, value):
            return Const(prim, value)
        case numeric.Node(op, prim, parts):
            atoms = tuple([_formula(st, part, args, loc, "") for part in parts])
            return prim_op(st, op, prim, atoms, loc, hint)
        case numeric.Cast(source, target, part):
            return convert(st, target, source, _formula(st, part, args, loc, ""), loc, hint)


def _fold(st: Stage, op: Op, prim: Prim, neutral: bool | int | float, xs: Value, loc: Loc, hint: str) -> Value:
    """`i32.sum xs`: a reduction by a commutative operation."""
    assert isinstance(xs, Arr)
    assert isinstance(xs.row, Component)
    assert isinstance(xs.row.atom, Var)
    with st.nested() as inner:
        x = st.fresh("x")
    identity = Lambda((Param(x, scalar(prim)),), body_of(inner, [Var(x)]), (scalar(prim),))
    reduction = Reduction(operator_lambda(st, op, prim, loc), (Const(prim, neutral),), True)
    exp = Screma(xs.size, (xs.row.atom.name,), identity, (), (reduction,))
    return Component(emit(st, hint or op.value, exp, scalar(prim), loc), prim)
