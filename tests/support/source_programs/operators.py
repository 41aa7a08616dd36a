"""Associative operators with their neutral elements, at scalars, tuples, records, sums and rows."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.source_programs.types import FLOATS, Array, Prim, Record, Sum, Tuple, Type, show
from tests.support.source_programs.writer import Writer


@dataclass(frozen=True, slots=True)
class Operator:
    """The text of an operator and of its neutral element. `small`: exact only for small whole numbers."""

    text: str
    neutral: str
    commutes: bool
    small: bool = False


def operator(w: Writer, type: Type) -> Operator | None:
    """An operator at a type, None where there is none."""
    match type:
        case Prim("bool"):
            text, neutral = w.pick(
                (("(&&)", "true"), ("(||)", "false"), ("(!=)", "false"), ("(==)", "true"), ("(^)", "false"))
            )
            w.note(f"operator {text} of a fold")
            return Operator(text, neutral, True)
        case Prim(name) if name in FLOATS:
            return _of_floats(w, name)
        case Prim(name):
            return _of_ints(w, name)
        case Tuple() | Record():
            return _of_fields(w, type)
        case Sum():
            return _of_sum(w, type)
        case Array(size, elem):
            inner = operator(w, elem)
            if inner is None:
                return None
            w.note("operator on rows")
            return Operator(f"(map2 {inner.text})", f"(replicate {size} {inner.neutral})", inner.commutes, inner.small)


def _of_ints(w: Writer, name: str) -> Operator:
    def at(value: int) -> str:
        return f"{value}{name}" if w.decide(2) else f"{value}\x02{name}\x03"

    plain = (
        ("(+)", at(0)), ("(*)", at(1)), (f"{name}.max", f"{name}.lowest"), (f"{name}.min", f"{name}.highest"),
        ("(|)", at(0)), ("(^)", at(0)), ("(&)", f"({name}.not 0)".replace("0)", f"0\x02{name}\x03)")),
        ("(\\a b -> a + b)", at(0)),
    )  # fmt: skip
    if w.decide(4):
        text, neutral = w.pick(plain)
        w.note(f"operator {text.removeprefix(name)} of a fold")
        return Operator(text, neutral, True)
    w.note("operator that does not commute")
    first = w.decide(2)
    body = f"if a != 0\x02{name}\x03 then a else b" if first else f"if b == 0\x02{name}\x03 then a else b"
    return Operator(f"(\\a b -> {body})", at(0), False)


def _of_floats(w: Writer, name: str) -> Operator:
    is_exact = w.is_small if name == "bf16" else name != "f16" or not w.is_large
    choice = w.decide(4 if is_exact else 2)
    if choice < 2:
        text, neutral = ((f"{name}.min", f"{name}.inf"), (f"{name}.max", f"(-{name}.inf)"))[choice]
        w.note("min or max of floats in a fold")
        return Operator(text, neutral, True)
    w.note("sum of floats")
    return Operator("(+)", f"0{name}" if w.decide(2) else f"0.0\x02{name}\x03", True, small=True)


def _of_fields(w: Writer, type: Tuple | Record) -> Operator | None:
    special = _special(w, type)
    if special is not None:
        return special
    names = [str(k) for k in range(len(type.elems))] if isinstance(type, Tuple) else [name for name, _ in type.fields]
    parts = list(type.elems) if isinstance(type, Tuple) else [part for _, part in type.fields]
    inner = [operator(w, part) for part in parts]
    ops = [op for op in inner if op is not None]
    if len(ops) < len(inner):
        return None
    w.note("operator on tuples")
    shown = show(type)
    fields = [f"{op.text} p.{name} q.{name}" for op, name in zip(ops, names, strict=True)]
    if isinstance(type, Tuple):
        body, neutral = f"({', '.join(fields)})", f"({', '.join(op.neutral for op in ops)})"
    else:
        body = f"{{{', '.join(f'{name} = {field}' for name, field in zip(names, fields, strict=True))}}}"
        neutral = f"{{{', '.join(f'{name} = {op.neutral}' for name, op in zip(names, ops, strict=True))}}}"
    return Operator(
        f"(\\(p: {shown}) (q: {shown}) -> {body})", neutral, all(op.commutes for op in ops), any(op.small for op in ops)
    )


def _special(w: Writer, type: Type) -> Operator | None:
    """Operators whose components depend on each other."""
    match type:
        case Tuple((Prim(a), Prim(b))) if a == b and a not in (*FLOATS, "bool") and w.decide(2):
            w.note("operator on tuples that does not commute")
            return Operator("(\\(a, b) (c, d) -> (a + c + 2 * a * c, b + 2 * b * c + d))", f"(0{a}, 0{a})", False)
        case Tuple((Prim("bool"), Prim(b))) if b not in (*FLOATS, "bool"):
            w.note("segmented operator")
            return Operator("(\\(f, x) (g, y) -> (f || g, if g then y else x + y))", f"(false, 0{b})", False)
        case Tuple((Prim(a), Prim("i64"))) if a not in (*FLOATS, "bool"):
            w.note("greatest with its index")
            text = "(\\(x, i) (y, j) -> if x > y || (x == y && i <= j) then (x, i) else (y, j))"
            return Operator(text, f"({a}.lowest, i64.highest)", True)
        case _:
            return None


def _of_sum(w: Writer, type: Sum) -> Operator | None:
    """The first that is not the constructor without payload."""
    empty = next((name for name, args in type.constructors if not args), None)
    if empty is None:
        return None
    w.note("operator on sums")
    text = f"(\\(a: {type.name}) (b: {type.name}) -> match a case #{empty} -> b case _ -> a)"
    return Operator(text, f"(#{empty} : {type.name})", False)
