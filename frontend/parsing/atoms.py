"""The tree builder's rules for literals, operators, names and attributes: the smallest pieces of every phrase."""

from __future__ import annotations

from typing import Any

from lark import Token

from ...ir.core import Attr
from ...ir.errors import Loc
from ...ir.types import Prim
from ..source.atoms import Ident, Lit, Operator, StringLit
from .literals import BadLiteral, fits, of_bits, out_of_range, read_char, read_float, read_int, unescape
from .spans import Qualified, SpanBuilder, syntax_error


class AtomBuilder(SpanBuilder):
    """Literals with their range check, operators, and the names they can give."""

    # ---- literals

    def integer(self, kids: list[Any]) -> Lit:
        token = kids[0]
        loc = self.token_loc(token)
        try:
            value, prim = read_int(token)
        except BadLiteral as bad:
            raise syntax_error("E0104", str(bad), loc) from None
        literal = Lit(self.fresh(), value, prim, False, loc)
        if prim is not None and not fits(value, prim):
            self._refuse(literal, str(token), prim)
        return literal

    def _refuse(self, literal: Lit, spelling: str, prim: Prim) -> None:
        """A literal too large for its suffix is an error; `128i8` only once it is clear that no minus precedes it."""
        error = syntax_error("E0104", out_of_range(spelling, prim), literal.loc)
        if not (prim.is_signed and fits(-int(literal.value), prim)):
            raise error
        self.too_large[literal.id] = error

    def decimal(self, kids: list[Any]) -> Lit:
        token = kids[0]
        loc = self.token_loc(token)
        try:
            value, prim, is_decimal = read_float(token)
        except BadLiteral as bad:
            raise syntax_error("E0104", str(bad), loc) from None
        return Lit(self.fresh(), value, prim, is_decimal, loc)

    def char(self, kids: list[Any]) -> Lit:
        loc = self.token_loc(kids[0])
        try:
            return Lit(self.fresh(), read_char(kids[0]), None, False, loc)
        except BadLiteral as bad:
            raise syntax_error("E0102", str(bad), loc) from None

    def truth(self, kids: list[Any]) -> Lit:
        return Lit(self.fresh(), kids[0] == "true", Prim.BOOL, False, self.token_loc(kids[0]))

    def string(self, kids: list[Any]) -> StringLit:
        return StringLit(self.fresh(), self.text(kids[0]), self.token_loc(kids[0]))

    def text(self, token: Token) -> str:
        """What a string token stands for."""
        try:
            return unescape(token[1:-1])
        except BadLiteral as bad:
            raise syntax_error("E0102", str(bad), self.token_loc(token)) from None

    def negative(self, literal: Lit, loc: Loc) -> Lit:
        """The literal with its sign changed; what was too large by one now fits."""
        self.too_large.pop(literal.id, None)
        value = -literal.value if isinstance(literal.value, float) else of_bits(-literal.value, literal.prim)
        return Lit(self.fresh(), value, literal.prim, literal.is_decimal, loc)

    # ---- operators and names

    def binop(self, kids: list[Any]) -> Operator:
        return self.operator(kids[0])

    def operator(self, op: Token | Operator) -> Operator:
        """An operator token as a node; `f32.+` is a single token. Backticks are nodes already."""
        if op.__class__ is Operator:
            return op  # type: ignore[return-value]
        return Operator(self.fresh(), _operator_name(op), False, self.token_loc(op))  # type: ignore[arg-type]

    def backtick(self, kids: list[Any]) -> Operator:
        return Operator(self.fresh(), kids[1].name, True, self.span(kids))

    def opname(self, kids: list[Any]) -> Ident:
        op = kids[1]
        return Ident(self.fresh(), op.name, self.span(kids))

    def plain_name(self, name: Ident | Operator | Qualified) -> str:
        """The name of an operator that is being defined: it has no module in front."""
        *module, word = name.name
        if module:
            shown = ".".join(name.name)
            raise syntax_error("E0101", f"`{shown}` cannot be defined: the name is qualified", name.loc)
        return word

    # ---- attributes

    def attr(self, kids: list[Any]) -> Attributes:
        return Attributes(kids[1], self.span(kids))

    def attrarg(self, kids: list[Any]) -> Attr:
        return Attr(str(kids[0]), tuple([k for k in kids if k.__class__ is Attr]))


class Attributes:
    """`#[attr]` with its range, before the phrase that it belongs to."""

    __slots__ = ("attr", "loc")

    def __init__(self, attr: Attr, loc: Loc) -> None:
        self.attr = attr
        self.loc = loc


def _operator_name(token: Token) -> tuple[str, ...]:
    """`f32.+` as `("f32", "+")`; the operator itself may contain dots."""
    if token.type != "QUALOP":
        return (str(token),)
    start = next(i for i, c in enumerate(token) if c in "+-*/%=!><|&^")
    return (*token[: start - 1].split("."), str(token[start:]))
