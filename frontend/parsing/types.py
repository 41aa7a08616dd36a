"""The tree builder's rules for types and patterns."""

from __future__ import annotations

from typing import Any

from lark import Token

from ..source import syntax as s
from ..source.atoms import PLit, PVar, PWild, TEName, TypeParam, TypeParamKind
from .atoms import AtomBuilder
from .spans import names, nodes, syntax_error

_KINDS = {
    "TICK": TypeParamKind.TYPE,
    "TICK_SIZE_LIFTED": TypeParamKind.SIZE_LIFTED,
    "TICK_LIFTED": TypeParamKind.LIFTED,
}


class TypeBuilder(AtomBuilder):
    """One method for each rule of the grammar's sections on types and patterns."""

    # ---- types

    def tname(self, kids: list[Any]) -> TEName:
        return TEName(kids[0].name, kids[0].loc)

    def tsize(self, kids: list[Any]) -> s.TESize:
        return s.TESize(kids[1], self.span(kids))

    def tarray(self, kids: list[Any]) -> s.TEArray:
        size, elem = kids
        return s.TEArray(size.size, elem, self.span(kids))

    def tunique(self, kids: list[Any]) -> s.TEUnique:
        return s.TEUnique(kids[1], self.span(kids))

    def ttuple(self, kids: list[Any]) -> s.TETuple:
        return s.TETuple(nodes(kids), self.span(kids))

    def trecord(self, kids: list[Any]) -> s.TERecord:
        return s.TERecord(_fields(kids), self.span(kids))

    def tfield(self, kids: list[Any]) -> tuple[str, s.TypeExp]:
        return str(kids[0]), kids[2]

    def tarrow(self, kids: list[Any]) -> s.TEArrow:
        return s.TEArrow(None, kids[0], kids[2], self.span(kids))

    def tarrow_named(self, kids: list[Any]) -> s.TEArrow:
        return s.TEArrow(str(kids[1]), kids[3], kids[6], self.span(kids))

    def texists(self, kids: list[Any]) -> s.TEExists:
        return s.TEExists(names(kids), kids[-1], self.span(kids))

    def tapply(self, kids: list[Any]) -> s.TEApply:
        head, *args = kids
        if not isinstance(head, TEName):
            raise syntax_error("E0101", "only a named type takes arguments", head.loc, "this is not a name")
        return s.TEApply(head.name, tuple(args), self.span(kids))

    def tsum(self, kids: list[Any]) -> s.TESum:
        constructors = kids[::2]
        first, last = constructors[0][0], constructors[-1]
        loc = self.between(first, last[1][-1] if last[1] else last[0])
        return s.TESum(tuple([(str(name)[1:], args) for name, args in constructors]), loc)

    def tcon(self, kids: list[Any]) -> tuple[Token, tuple[s.TypeExp, ...]]:
        return kids[0], tuple(kids[1:])

    # ---- type parameters

    def sizeparam(self, kids: list[Any]) -> TypeParam:
        return TypeParam(str(kids[1]), TypeParamKind.SIZE, self.span(kids))

    def typeparam(self, kids: list[Any]) -> TypeParam:
        return TypeParam(str(kids[1]), _KINDS[kids[0].type], self.span(kids))

    # ---- patterns

    def pvar(self, kids: list[Any]) -> PVar:
        return PVar(self.fresh(), str(kids[0]), self.token_loc(kids[0]))

    def popname(self, kids: list[Any]) -> PVar:
        return PVar(self.fresh(), self.plain_name(kids[0]), kids[0].loc)

    def pwild(self, kids: list[Any]) -> PWild:
        return PWild(self.fresh(), self.token_loc(kids[0]))

    def plit(self, kids: list[Any]) -> PLit:
        return PLit(kids[0], kids[0].loc)

    def pneg(self, kids: list[Any]) -> PLit:
        literal = self.negative(kids[1], self.span(kids))
        return PLit(literal, literal.loc)

    def pconstr(self, kids: list[Any]) -> s.PConstr:
        return s.PConstr(self.fresh(), str(kids[0])[1:], tuple(kids[1:]), self.span(kids))

    def ptuple(self, kids: list[Any]) -> s.PTuple:
        return s.PTuple(nodes(kids), self.span(kids))

    def precord(self, kids: list[Any]) -> s.PRecord:
        return s.PRecord(_fields(kids), self.span(kids))

    def pfield(self, kids: list[Any]) -> tuple[str, s.Pat]:
        """`x = p`, `x` (which is `x = x`) or `x: t` (which is `x = x: t`)."""
        field = kids[0]
        if len(kids) == 2 and kids[1] is not None:
            return str(field), kids[1]
        if field.type != "ID":
            raise syntax_error("E0101", "a field with a number needs a pattern: `= ..`", self.token_loc(field))
        var = PVar(self.fresh(), str(field), self.token_loc(field))
        if len(kids) == 3:
            return str(field), s.PAscript(var, kids[2], self.span(kids))
        return str(field), var

    def pascript(self, kids: list[Any]) -> s.PAscript:
        return s.PAscript(kids[0], kids[2], self.span(kids))

    def pattr(self, kids: list[Any]) -> s.PAttr:
        return s.PAttr(kids[0].attr, kids[1], self.span(kids))


def _fields(kids: list[Any]) -> tuple[tuple[str, Any], ...]:
    return tuple([k for k in kids if k.__class__ is tuple])
