"""The tree builder's rules for declarations; the whole builder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Token

from ...ir.errors import Loc
from ..source import syntax as s
from .expressions import ExpBuilder
from .spans import Qualified


class Builder(ExpBuilder):
    """What the automaton calls while it parses: one method for each rule of the grammar, named like it."""

    def start(self, kids: list[Any]) -> tuple[s.Dec, ...]:
        return tuple(kids)

    # ---- values and types

    def valbind(self, kids: list[Any]) -> s.ValDec:
        """`def f [n] (x: t): r = e`: the optional result type, `=` and the body come last."""
        keyword, name, *params = kids[:-3]
        name_loc = self.token_loc(name) if isinstance(name, Token) else name.loc
        word = str(name) if isinstance(name, Token) else self.plain_name(name)
        tparams = tuple([p for p in params if p.__class__ is s.TypeParam])
        rest = tuple([p for p in params if p.__class__ is not s.TypeParam])
        return s.ValDec(
            self.fresh(), word, tparams, rest, kids[-3], kids[-1], keyword == "entry", (), self.span(kids), name_loc
        )

    def infixbind(self, kids: list[Any]) -> s.ValDec:
        _, left, op, right, ret, _, body = kids
        params = (left, right)
        return s.ValDec(self.fresh(), self.plain_name(op), (), params, ret, body, False, (), self.span(kids), op.loc)

    def typebind(self, kids: list[Any]) -> s.TypeDec:
        name, *params = kids[2:-2]
        lift = s.TypeParamKind(f"'{kids[1] or ''}")
        return s.TypeDec(str(name), tuple(params), kids[-1], self.span(kids), lift)

    def lift(self, kids: list[Any]) -> str:
        return str(kids[0])

    def attr_dec(self, kids: list[Any]) -> s.Dec:
        """Attributes are kept on values; elsewhere they say nothing."""
        attr, dec = kids
        if not isinstance(dec, s.ValDec):
            return dec
        return replace(dec, attrs=(attr.attr, *dec.attrs), loc=self.span(kids))

    # ---- modules

    def import_dec(self, kids: list[Any]) -> s.ImportDec:
        return s.ImportDec(self.text(kids[1]), self.span(kids))

    def local_dec(self, kids: list[Any]) -> s.LocalDec:
        return s.LocalDec(kids[1], self.span(kids))

    def open_dec(self, kids: list[Any]) -> s.OpenDec:
        return s.OpenDec(_module(kids[1]), self.span(kids))

    def moddecs(self, kids: list[Any]) -> s.Structure:
        return s.Structure(tuple(kids[1:-1]), self.span(kids))

    def modimport(self, kids: list[Any]) -> s.ModuleImport:
        return s.ModuleImport(self.text(kids[1]), self.span(kids))

    def modapply(self, kids: list[Any]) -> s.ModuleExp:
        functor, *args = [_module(kid) for kid in kids]
        for arg in args:
            functor = s.ModuleCall(self.fresh(), functor, arg, self.span(kids))
        return functor

    def modlambda(self, kids: list[Any]) -> s.Functor:
        """`\\(p: mt) : mt -> e`: the optional signature, the arrow and the body come last."""
        _, (name, takes), sig, _, body = kids
        return s.Functor(name, takes, self._ascribed(_module(body), sig, self.span(kids)), self.span(kids))

    def modascript(self, kids: list[Any]) -> s.ModuleExp:
        return self._ascribed(_module(kids[0]), kids[2], self.span(kids))

    def _ascribed(self, body: s.ModuleExp, sig: Any, loc: Loc) -> s.ModuleExp:
        return body if sig is None else s.Ascribed(self.fresh(), body, _sig(sig), loc)

    def modparam(self, kids: list[Any]) -> tuple[str, s.ModuleType]:
        return str(kids[1]), _sig(kids[3])

    def module(self, kids: list[Any]) -> s.ModuleDec:
        """`module m (p: mt) : mt = e`: the optional signature, `=` and the body come last."""
        name, *params = kids[1:-3]
        loc = self.between(kids[0], kids[-1])
        body = self._ascribed(_module(kids[-1]), kids[-3], loc)
        for param, takes in reversed(params):
            body = s.Functor(param, takes, body, loc)
        return s.ModuleDec(str(name), body, loc)

    # ---- module types

    def modtypebind(self, kids: list[Any]) -> s.ModuleTypeDec:
        return s.ModuleTypeDec(str(kids[2]), _sig(kids[-1]), self.span(kids))

    def sigspecs(self, kids: list[Any]) -> s.Signature:
        return s.Signature(tuple(kids[1:-1]), self.span(kids))

    def sigarrow(self, kids: list[Any]) -> s.SigArrow:
        return s.SigArrow(None, _sig(kids[0]), _sig(kids[2]), self.span(kids))

    def sigarrow_named(self, kids: list[Any]) -> s.SigArrow:
        return s.SigArrow(str(kids[1]), _sig(kids[3]), _sig(kids[6]), self.span(kids))

    def sigwith(self, kids: list[Any]) -> s.SigWith:
        """`mt with t 'a = t`: the equals sign and the type come last."""
        sig, _, name, *params = kids[:-2]
        return s.SigWith(_sig(sig), name.name, tuple(params), kids[-1], self.span(kids))

    def valspec(self, kids: list[Any]) -> s.ValSpec:
        _, name, *params = kids[:-2]
        word = str(name) if isinstance(name, Token) else self.plain_name(name)
        return s.ValSpec(word, tuple(params), kids[-1], self.span(kids))

    def typespec(self, kids: list[Any]) -> s.TypeSpec | s.TypeDec:
        name, *params = kids[2:-1]
        lift, type = s.TypeParamKind(f"'{kids[1] or ''}"), kids[-1]
        last = type or (params[-1] if params else name)
        loc = self.between(kids[0], last)
        if type is None:
            return s.TypeSpec(str(name), tuple(params), loc, lift)
        return s.TypeDec(str(name), tuple(params), type, loc, lift)

    def modspec(self, kids: list[Any]) -> s.ModuleSpec:
        return s.ModuleSpec(str(kids[1]), _sig(kids[3]), self.span(kids))

    def include(self, kids: list[Any]) -> s.Include:
        return s.Include(_sig(kids[1]), self.span(kids))

    def attr_spec(self, kids: list[Any]) -> s.Spec:
        """Attributes say nothing about what a module has."""
        return kids[1]


def _module(kid: Any) -> s.ModuleExp:
    return s.ModuleName(kid.name, kid.loc) if isinstance(kid, Qualified) else kid


def _sig(kid: Any) -> s.ModuleType:
    return s.SigName(kid.name, kid.loc) if isinstance(kid, Qualified) else kid
