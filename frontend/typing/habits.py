"""Hints for what people write who come from other languages, and for types that do not fit."""

from __future__ import annotations

from ...ir.types import Prim
from ..source.types import TArray, TFun, TPrim, TRecord, Ty
from .constraints import Need
from .show import is_tuple
from .unify import Solver

_INTEGERS = "the types of integers are i8, i16, i32, i64, u8, u16, u32, u64"
_FLOATS = "the types of floats are f16, bf16, f32, f64"
_NOTHING_ASSIGNED = "nothing is assigned: a new value has a name of its own, `let y = x + 1 in ..`"
FOREIGN = {
    "True": "write `true`",
    "False": "write `false`",
    **dict.fromkeys(("None", "Nothing", "null", "NULL", "nil"), "what may be missing is a sum: `#some x | #none`"),
    **dict.fromkeys(("range", "arange"), "write `iota n`, or `a..<b`"),
    "zipWith": "write `map2`",
    "sort": "there is no library of sorts; `programs/segsort.soac` is one to copy",
    "div": "`/` of integers rounds down, `//` to zero",
    "mod": "write `%`",
    "and": "write `&&`",
    "or": "write `||`",
    "return": "the body of a function is its result, without a word before it",
    **dict.fromkeys(("int", "Int", "Integer", "long", "uint", "size_t"), _INTEGERS),
    **dict.fromkeys(("float", "Float", "double", "Double", "real"), _FLOATS),
    **dict.fromkeys(("Bool", "boolean"), "write `bool`"),
    "/=": "unequal is `!=`",
    "<>": "unequal is `!=`",
    **dict.fromkeys(("+=", "-=", "*=", "//=", "%=", ":="), _NOTHING_ASSIGNED),
}
"""Names and operators of other languages, and what is written here."""


_ON_ARRAYS = ("+", "-", "*", "/", "%", "**", "<", "<=", ">", ">=", "&", "|", "^")
_NEUTRAL = tuple(f"argument 2 of `{name}`" for name in ("reduce", "reduce_comm", "scan"))
_NO_EXPRESSIONS = ("a size", "literal pattern")


def hint_for_types(solver: Solver, expected: Ty, found: Ty, what: str) -> str | None:
    """What to write where a value of one type stands for another; `what` is the value."""
    want, got = solver.resolve(expected), solver.resolve(found)
    is_argument = what.startswith("argument")
    if is_argument and isinstance(got, TRecord) and is_tuple(got.fields) and not isinstance(want, TRecord):
        return "arguments stand beside each other: `f x y`"
    if isinstance(got, TArray) and not isinstance(want, TArray) and what in _NEUTRAL:
        return "the neutral element stands before the array: `reduce (+) 0 xs`"
    if isinstance(want, TArray) != isinstance(got, TArray) and (hint := _of_arrays(what)):
        return hint
    depth = 0
    while isinstance(want, TArray) and isinstance(got, TArray):
        want, got, depth = solver.resolve(want.elem), solver.resolve(got.elem), depth + 1
    match want, got:
        case TPrim(to), TPrim(of) if depth < 2 and Prim.BOOL not in (to, of) and what not in _NO_EXPRESSIONS:
            turn = f"{to.value}.{of.value}"
            return f"`map {turn} ..` converts it" if depth else f"`{turn} ..` converts it"
        case _:
            return None


def _of_arrays(what: str) -> str | None:
    """How an operator is used on arrays, if `what` is an operand of one."""
    op = what.rpartition("operand of `")[2].rstrip("`")
    hint = f"of arrays: `map2 ({op}) xs ys`; of a number and an array: `map (\\x -> a {op} x) xs`"
    return hint if op in _ON_ARRAYS else None


def hint_for_need(ty: Ty, need: Need) -> str | None:
    """What to write where a type does not give what is asked of it."""
    match ty:
        case TPrim(prim) if need.why == "an operand of `^`" and prim.is_float:
            return "a power is `**`"
        case TArray():
            return _of_arrays(need.why)
        case TFun() if need.why == "an operand of `-`":
            return "a negative argument has brackets: `f (-x)`"
        case _:
            return None
