"""The tree builder's rules for expressions."""

from __future__ import annotations

from typing import Any

from lark import Token

from ..source import syntax as s
from ..source.atoms import FieldStep, Hole, Ident, Lit, Operator, PVar, TypeParam
from .precedence import WithOp, resolve
from .spans import names, nodes, syntax_error
from .types import TypeBuilder


class ExpBuilder(TypeBuilder):
    """One method for each rule of the grammar's section on expressions."""

    # ---- atoms

    def var(self, kids: list[Any]) -> Ident:
        return Ident(self.fresh(), (str(kids[0]),), self.token_loc(kids[0]))

    def constr(self, kids: list[Any]) -> s.Constr:
        return s.Constr(self.fresh(), str(kids[0])[1:], (), self.token_loc(kids[0]))

    def hole(self, kids: list[Any]) -> Hole:
        return Hole(self.fresh(), self.token_loc(kids[0]))

    def group(self, kids: list[Any]) -> s.Exp:
        """`(e)` leaves no node; its range is noted for the phrase around it."""
        self.groups[kids[1].id] = self.span(kids)
        return kids[1]

    def tuple(self, kids: list[Any]) -> s.Tuple:
        return s.Tuple(self.fresh(), nodes(kids), self.span(kids))

    def array(self, kids: list[Any]) -> s.Array:
        return s.Array(self.fresh(), tuple([k for k in nodes(kids) if k is not None]), self.span(kids))

    def record(self, kids: list[Any]) -> s.Record:
        fields = tuple([(k.name, k.value) for k in kids if k.__class__ is _Field])
        return s.Record(self.fresh(), fields, self.span(kids))

    def rfield(self, kids: list[Any]) -> _Field:
        field, value = kids
        if value is None:
            if field.type != "ID":
                raise syntax_error("E0101", "a field with a number needs a value: `= ..`", self.token_loc(field))
            value = self.var([field])
        return _Field(str(field), value)

    # ---- application, projection, indexing

    def apply(self, kids: list[Any]) -> s.Call | s.Constr:
        head, *args = kids
        if isinstance(head, s.Constr) and not head.args:
            return s.Constr(self.fresh(), head.name, tuple(args), self.span(kids))
        return s.Call(self.fresh(), head, tuple(args), self.span(kids))

    def project(self, kids: list[Any]) -> Ident | s.Project:
        record, _, field = kids
        if isinstance(record, Ident) and _is_word(record):
            return Ident(self.fresh(), (*record.name, str(field)), self.span(kids))
        return s.Project(self.fresh(), record, str(field), self.span(kids))

    def openin(self, kids: list[Any]) -> s.OpenIn:
        module, _, _, body, _ = kids
        if not (isinstance(module, Ident) and _is_word(module)):
            raise syntax_error("E0101", "only a module can be opened with `.(`", module.loc, "this is not a module")
        return s.OpenIn(self.fresh(), module.name, body, self.span(kids))

    def index(self, kids: list[Any]) -> s.Index:
        array, *indices = nodes(kids)
        return s.Index(self.fresh(), array, tuple(indices), self.span(kids))

    def point(self, kids: list[Any]) -> s.Point:
        return s.Point(kids[0])

    def slice(self, kids: list[Any]) -> s.SliceIndex:
        start, _, end, *more = kids
        return s.SliceIndex(start, end, more[1] if more else None)

    # ---- paths

    def path(self, kids: list[Any]) -> tuple[s.Step, ...]:
        return tuple(kids)

    def fieldname(self, kids: list[Any]) -> FieldStep:
        return FieldStep(str(kids[0]))

    def fieldstep(self, kids: list[Any]) -> FieldStep:
        return FieldStep(str(kids[1]))

    def indexstep(self, kids: list[Any]) -> s.IndexStep:
        return s.IndexStep(nodes(kids))

    def withop(self, kids: list[Any]) -> WithOp:
        return WithOp(kids[1], self.span(kids))

    # ---- operators

    def chain(self, kids: list[Any]) -> s.Exp:
        return resolve(self, kids[::2], kids[1::2])

    def negate(self, kids: list[Any]) -> Lit | s.Negate:
        """`-e`. A literal takes the sign itself, unless it has one or is unsigned (`-1u8` wraps around)."""
        arg, loc = kids[1], self.span(kids)
        if isinstance(arg, Lit) and _takes_sign(arg):
            return self.negative(arg, loc)
        return s.Negate(self.fresh(), arg, loc)

    def complement(self, kids: list[Any]) -> s.Not:
        return s.Not(self.fresh(), kids[1], self.span(kids))

    def leftsection(self, kids: list[Any]) -> s.LeftSection:
        items = kids[1:-1]
        op = items.pop()
        if not isinstance(op, Operator):
            loc = self.token_loc(op) if isinstance(op, Token) else op.loc
            raise syntax_error("E0101", "expected an operand before `)`", loc, "this cannot end a section")
        return s.LeftSection(self.fresh(), resolve(self, items[::2], items[1::2]), op, self.span(kids))

    def rightsection(self, kids: list[Any]) -> s.RightSection:
        return s.RightSection(self.fresh(), self.operator(kids[1]), kids[2], self.span(kids))

    def pathsection(self, kids: list[Any]) -> s.PathSection:
        return s.PathSection(self.fresh(), tuple(kids[1:-1]), self.span(kids))

    def ascription(self, kids: list[Any]) -> s.Ascript:
        return s.Ascript(self.fresh(), kids[0], kids[2], self.span(kids))

    def coercion(self, kids: list[Any]) -> s.Coerce:
        return s.Coerce(self.fresh(), kids[0], kids[2], self.span(kids))

    # ---- phrases that run as far right as they can

    def function(self, kids: list[Any]) -> s.Lambda:
        *params, ret, _, body = kids[1:]
        return s.Lambda(self.fresh(), tuple(params), ret, body, self.span(kids))

    def conditional(self, kids: list[Any]) -> s.If:
        return s.If(self.fresh(), kids[1], kids[3], kids[5], self.span(kids))

    def match(self, kids: list[Any]) -> s.Match:
        _, scrutinee, *cases = kids
        loc = self.between(kids[0], cases[-1][1])
        return s.Match(self.fresh(), scrutinee, tuple(cases), loc)

    def case(self, kids: list[Any]) -> Any:
        return kids[1], kids[3]

    def assertion(self, kids: list[Any]) -> s.Assert:
        return s.Assert(self.fresh(), kids[1], kids[2], self.span(kids))

    def attributed(self, kids: list[Any]) -> s.Attributed:
        return s.Attributed(self.fresh(), kids[0].attr, kids[1], self.span(kids))

    # ---- let

    def letexp(self, kids: list[Any]) -> s.Let:
        *bindings, body = nodes(kids)
        return s.Let(self.fresh(), tuple(bindings), body, self.span(kids))

    def letpat(self, kids: list[Any]) -> s.LetPat:
        return s.LetPat(names(kids), kids[-3], kids[-1], False, self.span(kids))

    def letfun(self, kids: list[Any]) -> s.LetFun:
        name = kids[1] if isinstance(kids[1], Token) else self.plain_name(kids[1])
        tparams = tuple([k for k in kids[2:-3] if k.__class__ is TypeParam])
        params = tuple([k for k in kids[2:-3] if k.__class__ is not TypeParam])
        return s.LetFun(self.fresh(), str(name), tparams, params, kids[-3], kids[-1], self.span(kids))

    def letwith(self, kids: list[Any]) -> s.LetPat:
        """`let x[i] = v` is `let x = x with [i] = v`."""
        name, steps, value = kids[1], tuple(kids[2:-2]), kids[-1]
        loc = self.span(kids)
        updated = s.With(self.fresh(), self.var([name]), steps, value, self.between(name, value))
        return s.LetPat((), self.pvar([name]), updated, True, loc)

    # ---- loop

    def loop(self, kids: list[Any]) -> s.Loop:
        pat, init, form, _, body = kids[-5:]
        sizes = names(kids[:-5])
        init = self._as_expression(pat) if init is None else init
        return s.Loop(self.fresh(), sizes, pat, init, form, body, self.span(kids))

    def forless(self, kids: list[Any]) -> s.ForLess:
        return s.ForLess(self.fresh(), str(kids[1]), kids[3])

    def forin(self, kids: list[Any]) -> s.ForIn:
        return s.ForIn(kids[1], kids[3])

    def while_form(self, kids: list[Any]) -> s.While:
        return s.While(kids[1])

    def _as_expression(self, pat: s.Pat) -> s.Exp:
        """`loop x for ..` begins with the `x` in scope: the pattern read as an expression."""
        match pat:
            case PVar(name=name, loc=loc):
                return Ident(self.fresh(), (name,), loc)
            case s.PTuple(elems=elems, loc=loc):
                return s.Tuple(self.fresh(), tuple(self._as_expression(p) for p in elems), loc)
            case s.PRecord(fields=fields, loc=loc):
                return s.Record(self.fresh(), tuple((f, self._as_expression(p)) for f, p in fields), loc)
            case s.PAscript(pat=inner) | s.PAttr(pat=inner):
                return self._as_expression(inner)
            case _:
                raise syntax_error(
                    "E0101", "this loop needs an initial value: `= ..`", pat.loc, "no variable to start from"
                )


class _Field:
    """A field of a record and its value."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: s.Exp) -> None:
        self.name = name
        self.value = value


def _is_word(ident: Ident) -> bool:
    """Not an operator."""
    return ident.name[-1][0] not in "+-*/%=!><|&^"


def _takes_sign(literal: Lit) -> bool:
    if literal.value.__class__ is bool or (literal.prim is not None and literal.prim.is_unsigned):
        return False
    return literal.value > 0 or str(literal.value) == "0.0"
