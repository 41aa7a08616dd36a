"""The nodes of the syntax tree that contain no others: names, literals, operators, type parameters."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from ...ir.errors import Loc
from ...ir.records import dataclass
from ...ir.types import Prim

Qual = tuple[str, ...]  # ("f32", "sqrt"); the last one is the name itself


T = TypeVar("T")


def numbered(elems: tuple[T, ...]) -> tuple[tuple[str, T], ...]:
    """The fields of a tuple: "0", "1", .."""
    return tuple([(str(i), elem) for i, elem in enumerate(elems)])


@dataclass(frozen=True, slots=True)
class TEName:
    """`i32`, `vec`, `m.t`."""

    name: Qual
    loc: Loc


@dataclass(frozen=True, slots=True)
class PVar:
    """`x` (also an operator name in parentheses)."""

    id: int
    name: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class PWild:
    """`_`."""

    id: int
    loc: Loc


@dataclass(frozen=True, slots=True)
class Lit:
    """`42`, `1.5f32`, `true`, `'a'`. `prim` is None when the suffix does not say it; characters are integers.
    `is_decimal`: written with a point or an exponent, so that an unsuffixed one is a float."""

    id: int
    value: bool | int | float
    prim: Prim | None
    is_decimal: bool
    loc: Loc


@dataclass(frozen=True, slots=True)
class PLit:
    """A literal (with its sign) in a `match` case."""

    literal: Lit
    loc: Loc


@dataclass(frozen=True, slots=True)
class StringLit:
    """`"abc"`: its UTF-8 bytes, `[]u8`."""

    id: int
    value: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class Ident:
    """`x`, `f32.sqrt`: a name, or an operator as a value, `(+)` being `("+",)`.

    The parser cannot tell `r.field` from `m.member`: a dotted chain that starts with a plain name is ONE Ident;
    inference resolves the longest module prefix, what is left are projections."""

    id: int
    name: Qual
    loc: Loc


@dataclass(frozen=True, slots=True)
class Operator:
    """An infix operator where it stands: `+`, `f32.+`, `` `f` `` (then `backtick`)."""

    id: int
    name: Qual
    backtick: bool
    loc: Loc


@dataclass(frozen=True, slots=True)
class Hole:
    """`???`; in the prelude, the body of an intrinsic."""

    id: int
    loc: Loc


class TypeParamKind(Enum):
    SIZE = "size"
    TYPE = "'"
    SIZE_LIFTED = "'~"
    LIFTED = "'^"


@dataclass(frozen=True, slots=True)
class TypeParam:
    """`[n]`, `'a`, `'~a`, `'^a` in a parameter list."""

    name: str
    kind: TypeParamKind
    loc: Loc


class RangeEnd(Enum):
    """How a range ends."""

    THROUGH = "..."
    UP_TO = "..<"
    DOWN_TO = "..>"


@dataclass(frozen=True, slots=True)
class FieldStep:
    """`.x` in a path."""

    field: str
