"""Functions of elements and operators of reductions, as source and as NumPy: integers wrap, floats are small whole
numbers, so that no order of additions rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

SIGNED, UNSIGNED = ("i8", "i16", "i32", "i64"), ("u8", "u16", "u32", "u64")
INTEGERS, FLOATS = (*SIGNED, *UNSIGNED), ("f32", "f64")
PRIMS = (*INTEGERS, *FLOATS, "bool")
DTYPES: dict[str, np.dtype] = {
    prim: np.dtype({"i": "int", "u": "uint", "f": "float"}[prim[0]] + prim[1:]) for prim in (*INTEGERS, *FLOATS)
} | {"bool": np.dtype(bool)}
LARGEST = 8
"""The largest float of an array."""

Value = Any
Function = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class Element:
    """A function of elements: its text, over operands given as text, and what it is on arrays."""

    text: Callable[..., str]
    of: Function
    prim: str


@dataclass(frozen=True, slots=True)
class Operator:
    """An associative operator on tuples of elements; `left` and `right` are the names in its text."""

    prims: tuple[str, ...]
    text: str
    of: Callable[[tuple[Value, ...], tuple[Value, ...]], tuple[Value, ...]]
    neutral: tuple[Any, ...]
    commutes: bool
    wide: bool = False
    """Are its results larger than the floats of arrays?"""

    @property
    def neutral_text(self) -> str:
        texts = [literal(prim, x) for prim, x in zip(self.prims, self.neutral, strict=True)]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def literal(prim: str, value: Any) -> str:
    """A constant as source."""
    if prim == "bool":
        return "true" if value else "false"
    if prim == "i64" and int(value) == -(2**63):
        return "i64.lowest"
    if prim in FLOATS and not np.isfinite(value):
        return f"({'-' if value < 0 else ''}{prim}.inf)"
    text = f"{int(value)}{prim}"
    return f"({text})" if value < 0 else text


def lowest(prim: str) -> Any:
    return -np.inf if prim in FLOATS else int(np.iinfo(DTYPES[prim]).min)


def highest(prim: str) -> Any:
    return np.inf if prim in FLOATS else int(np.iinfo(DTYPES[prim]).max)


def limited(prim: str, text: str) -> str:
    """A float between those of arrays; other values as they are."""
    return (
        f"{prim}.max {literal(prim, -LARGEST)} ({prim}.min {literal(prim, LARGEST)} ({text}))"
        if is_float(prim)
        else text
    )


def is_float(prim: str) -> bool:
    return prim in FLOATS


def limit(prim: str, value: Value) -> Value:
    """The same in NumPy."""
    return np.clip(value, -LARGEST, LARGEST).astype(DTYPES[prim]) if is_float(prim) else value


def unary(r: Random, prim: str) -> Element:
    """A random function of one element, of the same type or another."""
    t = DTYPES[prim].type
    if prim == "bool":
        if r.random() < 0.5:
            return Element(lambda x: f"!{x}", np.logical_not, prim)
        target = r.choice(SIGNED)
        return Element(lambda x: f"{target}.bool {x}", lambda x: x.astype(DTYPES[target]), target)
    c = r.randrange(1, 8)
    k = literal(prim, c)
    if r.random() < 0.25:
        return conversion(r, prim)
    choices: list[tuple[Callable[[str], str], Function]] = [
        (lambda x: limited(prim, f"{x} + {k}"), lambda x: limit(prim, x + t(c))),
        (lambda x: limited(prim, f"{x} * {k}"), lambda x: limit(prim, x * t(c))),
        (lambda x: f"{prim}.min {x} {k}", lambda x: np.minimum(x, t(c))),
        (lambda x: f"{prim}.max {x} {k}", lambda x: np.maximum(x, t(c))),
        (lambda x: f"if {x} < {k} then {k} else {limited(prim, f'{x} - {k}')}",
         lambda x: np.where(x < t(c), t(c), limit(prim, x - t(c)))),
    ]  # fmt: skip
    if not is_float(prim):
        choices += [
            (lambda x: f"{x} % {k}", lambda x: np.mod(x, t(c))),
            (lambda x: f"{x} / {k}", lambda x: x // t(c)),
            (lambda x: f"{x} ^ {k}", lambda x: x ^ t(c)),
            (lambda x: f"{x} & {k}", lambda x: x & t(c)),
            (lambda x: f"if {x} % {literal(prim, 3)} == {literal(prim, 0)} then {x} else {k} - {x}",
             lambda x: np.where(np.mod(x, t(3)) == 0, x, t(c) - x)),
        ]  # fmt: skip
    text, of = r.choice(choices)
    return Element(text, of, prim)


def conversion(r: Random, prim: str) -> Element:
    """To another type; what becomes a float is small."""
    if is_float(prim):
        target = r.choice((*SIGNED, *FLOATS))
        return Element(lambda x: f"{target}.{prim} {x}", lambda x: x.astype(DTYPES[target]), target)
    target = r.choice((*INTEGERS, *FLOATS))
    if is_float(target):
        seven = literal(prim, 7)
        return Element(
            lambda x: f"{target}.{prim} ({x} % {seven})",
            lambda x: np.mod(x, DTYPES[prim].type(7)).astype(DTYPES[target]),
            target,
        )
    bits = DTYPES[f"u{prim[1:]}" if target in UNSIGNED else prim]
    return Element(lambda x: f"{target}.{prim} {x}", lambda x: x.astype(bits).astype(DTYPES[target]), target)


def binary(r: Random, prim: str) -> Element:
    """A random function of two elements of a type."""
    if prim == "bool":
        text, of = r.choice((("&&", np.logical_and), ("||", np.logical_or), ("!=", np.not_equal)))
        return Element(lambda x, y: f"{x} {text} {y}", of, prim)
    choices: list[tuple[Callable[[str, str], str], Function]] = [
        (lambda x, y: limited(prim, f"{x} + {y}"), lambda x, y: limit(prim, x + y)),
        (lambda x, y: limited(prim, f"{x} - {y}"), lambda x, y: limit(prim, x - y)),
        (lambda x, y: f"{prim}.min {x} {y}", np.minimum),
        (lambda x, y: f"{prim}.max {x} {y}", np.maximum),
        (lambda x, y: f"if {x} < {y} then {x} else {limited(prim, f'{y} - {x}')}",
         lambda x, y: np.where(x < y, x, limit(prim, y - x))),
    ]  # fmt: skip
    if not is_float(prim):
        choices += [(lambda x, y: f"{x} * {y}", lambda x, y: x * y), (lambda x, y: f"{x} ^ {y}", lambda x, y: x ^ y)]
    text, of = r.choice(choices)
    return Element(text, of, prim)


def simple_operator(r: Random, prim: str) -> Operator:
    """A commutative operator on one element."""
    if prim == "bool":
        text, of, ne = r.choice((("&&", np.logical_and, True), ("||", np.logical_or, False)))
        return Operator((prim,), f"({text})", lambda a, b: (of(a[0], b[0]),), (ne,), True)
    choices: list[tuple[str, Function, Any]] = [
        ("(+)", lambda x, y: x + y, 0),
        ("(+)", lambda x, y: x + y, 0),
        (f"{prim}.min", np.minimum, highest(prim)),
        (f"{prim}.max", np.maximum, lowest(prim)),
    ]
    if not is_float(prim):
        choices += [("(*)", lambda x, y: x * y, 1), ("(^)", lambda x, y: x ^ y, 0), ("(|)", lambda x, y: x | y, 0)]
    text, of, ne = r.choice(choices)
    return Operator((prim,), text, lambda a, b: (of(a[0], b[0]),), (ne,), True, is_float(prim))


def operator(r: Random, prim: str) -> Operator:
    """An operator whose first component has the type; half of them do not commute."""
    if prim == "bool" or is_float(prim) or r.random() < 0.5:
        return flagged(r, prim) if r.random() < 0.4 else simple_operator(r, prim)
    match r.randrange(4):
        case 0:  # functions x -> (2a + 1) x + b: no product of odd numbers is 0, which would forget what was before
            return Operator(
                (prim, prim),
                "(\\(a, b) (c, d) -> (a + c + 2 * a * c, b + 2 * b * c + d))",
                lambda x, y: (x[0] + y[0] + 2 * x[0] * y[0], x[1] + 2 * x[1] * y[0] + y[1]),
                (0, 0),
                False,
            )
        case 1:  # the first of the largest
            return Operator(
                (prim, "i64"),
                "(\\(x, i) (y, j) -> if x > y || (x == y && i <= j) then (x, i) else (y, j))",
                _largest,
                (lowest(prim), 2**63 - 1),
                True,
            )
        case 2:  # matrices of two rows
            return Operator((prim,) * 4, MATRICES, _product, (1, 0, 0, 1), False)
        case _:
            return flagged(r, prim)


MATRICES = "(\\(a, b, c, d) (e, f, g, h) -> (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h))"


def _product(x: tuple[Value, ...], y: tuple[Value, ...]) -> tuple[Value, ...]:
    a, b, c, d = x
    e, f, g, h = y
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


def _largest(x: tuple[Value, ...], y: tuple[Value, ...]) -> tuple[Value, ...]:
    first = (x[0] > y[0]) | ((x[0] == y[0]) & (x[1] <= y[1]))
    return np.where(first, x[0], y[0]), np.where(first, x[1], y[1])


def flagged(r: Random, prim: str) -> Operator:
    """A commutative operator that starts again at flags."""
    op = simple_operator(r, prim)
    inner = f"x {op.text[1:-1]} y" if op.text.startswith("(") else f"{op.text} x y"
    return Operator(
        (prim, "bool"),
        f"(\\(x, f) (y, g) -> (if g then y else {inner}, f || g))",
        lambda a, b: (np.where(b[1], b[0], op.of(a[:1], b[:1])[0]), a[1] | b[1]),
        (op.neutral[0], False),
        False,
        op.wide,
    )


def scanned(op: Operator, parts: tuple[Value, ...]) -> tuple[Value, ...]:
    """Inclusive, over the last axis: steps of 1, 2, 4, .. elements."""
    done = [np.array(part) for part in parts]
    distance, n = 1, done[0].shape[-1]
    while distance < n:
        left, right = (tuple(x[..., s] for x in done) for s in (slice(None, -distance), slice(distance, None)))
        for x, new in zip(done, op.of(left, right), strict=True):
            x[..., distance:] = new
        distance *= 2
    return tuple(done)


def reduced(op: Operator, parts: tuple[Value, ...]) -> tuple[Value, ...]:
    """Over the last axis; as wide as the operator's types."""
    if parts[0].shape[-1] == 0:
        shape = parts[0].shape[:-1]
        return tuple(np.full(shape, ne, DTYPES[prim]) for ne, prim in zip(op.neutral, op.prims, strict=True))
    return tuple(x[..., -1] for x in scanned(op, parts))
