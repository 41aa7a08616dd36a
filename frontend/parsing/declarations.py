"""The tree builder's rules for declarations; the whole builder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Token

from ...ir.errors import Loc
from ..source.atoms import TypeParam, TypeParamKind
from ..source.declarations import (
    Ascribed,
    Dec,
    Functor,
    ImportDec,
    Include,
    LocalDec,
    ModuleCall,
    ModuleDec,
    ModuleExp,
    ModuleImport,
    ModuleName,
    ModuleSpec,
    ModuleType,
    ModuleTypeDec,
    OpenDec,
    SigArrow,
    SigName,
    Signature,
    SigWith,
    Spec,
    Structure,
    TypeDec,
    TypeSpec,
    ValDec,
    ValSpec,
)
from .kernels import KernelBuilder
from .spans import Qualified


class Builder(KernelBuilder):
    """What the automaton calls while it parses: one method for each rule of the grammar, named like it."""

    def start(self, kids: list[Any]) -> tuple[Dec, ...]:
        return tuple(kids)

    # ---- values and types

    def valbind(self, kids: list[Any]) -> ValDec:
        """`def f [n] (x: t): r = e`: the optional result type, `=` and the body come last."""
        keyword, name, *params = kids[:-3]
        name_loc = self.token_loc(name) if isinstance(name, Token) else name.loc
        word = str(name) if isinstance(name, Token) else self.plain_name(name)
        tparams = tuple([p for p in params if p.__class__ is TypeParam])
        rest = tuple([p for p in params if p.__class__ is not TypeParam])
        return ValDec(
            self.fresh(), word, tparams, rest, kids[-3], kids[-1], keyword == "entry", (), self.span(kids), name_loc
        )

    def infixbind(self, kids: list[Any]) -> ValDec:
        _, left, op, right, ret, _, body = kids
        params = (left, right)
        return ValDec(self.fresh(), self.plain_name(op), (), params, ret, body, False, (), self.span(kids), op.loc)

    def typebind(self, kids: list[Any]) -> TypeDec:
        name, *params = kids[2:-2]
        lift = TypeParamKind(f"'{kids[1] or ''}")
        return TypeDec(str(name), tuple(params), kids[-1], self.span(kids), lift)

    def lift(self, kids: list[Any]) -> str:
        return str(kids[0])

    def attr_dec(self, kids: list[Any]) -> Dec:
        """Attributes are kept on values; elsewhere they say nothing."""
        attr, dec = kids
        if not isinstance(dec, ValDec):
            return dec
        return replace(dec, attrs=(attr.attr, *dec.attrs), loc=self.span(kids))

    # ---- modules

    def import_dec(self, kids: list[Any]) -> ImportDec:
        return ImportDec(self.text(kids[1]), self.span(kids))

    def local_dec(self, kids: list[Any]) -> LocalDec:
        return LocalDec(kids[1], self.span(kids))

    def open_dec(self, kids: list[Any]) -> OpenDec:
        return OpenDec(_module(kids[1]), self.span(kids))

    def moddecs(self, kids: list[Any]) -> Structure:
        return Structure(tuple(kids[1:-1]), self.span(kids))

    def modimport(self, kids: list[Any]) -> ModuleImport:
        return ModuleImport(self.text(kids[1]), self.span(kids))

    def modapply(self, kids: list[Any]) -> ModuleExp:
        functor, *args = [_module(kid) for kid in kids]
        for arg in args:
            functor = ModuleCall(self.fresh(), functor, arg, self.span(kids))
        return functor

    def modlambda(self, kids: list[Any]) -> Functor:
        """`\\(p: mt) : mt -> e`: the optional signature, the arrow and the body come last."""
        _, (name, takes), sig, _, body = kids
        return Functor(name, takes, self._ascribed(_module(body), sig, self.span(kids)), self.span(kids))

    def modascript(self, kids: list[Any]) -> ModuleExp:
        return self._ascribed(_module(kids[0]), kids[2], self.span(kids))

    def _ascribed(self, body: ModuleExp, sig: Any, loc: Loc) -> ModuleExp:
        return body if sig is None else Ascribed(self.fresh(), body, _sig(sig), loc)

    def modparam(self, kids: list[Any]) -> tuple[str, ModuleType]:
        return str(kids[1]), _sig(kids[3])

    def module(self, kids: list[Any]) -> ModuleDec:
        """`module m (p: mt) : mt = e`: the optional signature, `=` and the body come last."""
        name, *params = kids[1:-3]
        loc = self.between(kids[0], kids[-1])
        body = self._ascribed(_module(kids[-1]), kids[-3], loc)
        for param, takes in reversed(params):
            body = Functor(param, takes, body, loc)
        return ModuleDec(str(name), body, loc)

    # ---- module types

    def modtypebind(self, kids: list[Any]) -> ModuleTypeDec:
        return ModuleTypeDec(str(kids[2]), _sig(kids[-1]), self.span(kids))

    def sigspecs(self, kids: list[Any]) -> Signature:
        return Signature(tuple(kids[1:-1]), self.span(kids))

    def sigarrow(self, kids: list[Any]) -> SigArrow:
        return SigArrow(None, _sig(kids[0]), _sig(kids[2]), self.span(kids))

    def sigarrow_named(self, kids: list[Any]) -> SigArrow:
        return SigArrow(str(kids[1]), _sig(kids[3]), _sig(kids[6]), self.span(kids))

    def sigwith(self, kids: list[Any]) -> SigWith:
        """`mt with t 'a = t`: the equals sign and the type come last."""
        sig, _, name, *params = kids[:-2]
        return SigWith(_sig(sig), name.name, tuple(params), kids[-1], self.span(kids))

    def valspec(self, kids: list[Any]) -> ValSpec:
        _, name, *params = kids[:-2]
        word = str(name) if isinstance(name, Token) else self.plain_name(name)
        return ValSpec(word, tuple(params), kids[-1], self.span(kids))

    def typespec(self, kids: list[Any]) -> TypeSpec | TypeDec:
        name, *params = kids[2:-1]
        lift, type = TypeParamKind(f"'{kids[1] or ''}"), kids[-1]
        last = type or (params[-1] if params else name)
        loc = self.between(kids[0], last)
        if type is None:
            return TypeSpec(str(name), tuple(params), loc, lift)
        return TypeDec(str(name), tuple(params), type, loc, lift)

    def modspec(self, kids: list[Any]) -> ModuleSpec:
        return ModuleSpec(str(kids[1]), _sig(kids[3]), self.span(kids))

    def include(self, kids: list[Any]) -> Include:
        return Include(_sig(kids[1]), self.span(kids))

    def attr_spec(self, kids: list[Any]) -> Spec:
        """Attributes say nothing about what a module has."""
        return kids[1]


def _module(kid: Any) -> ModuleExp:
    return ModuleName(kid.name, kid.loc) if isinstance(kid, Qualified) else kid


def _sig(kid: Any) -> ModuleType:
    return SigName(kid.name, kid.loc) if isinstance(kid, Qualified) else kid
