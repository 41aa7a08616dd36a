"""The tree builder's rules for declarations; the whole builder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..ir.errors import Loc
from . import syntax as s
from .parse_automaton import Token
from .parse_exps import ExpBuilder
from .parse_span import Qualified


@dataclass(frozen=True, slots=True)
class _Signature:
    """A module type, or a part of one: read so that what follows is found, then forgotten."""

    loc: Loc


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

    def open_dec(self, kids: list[Any]) -> s.Dec:
        """`open m`; `open import "file"` is an import."""
        match kids[1]:
            case Qualified(name=name):
                return s.OpenDec(name, self.span(kids))
            case s.ModuleImport(path):
                return s.ImportDec(path, self.span(kids))
            case other:
                return s.OpenModule(other, self.span(kids))

    def moddecs(self, kids: list[Any]) -> s.Structure:
        return s.Structure(tuple(kids[1:-1]), self.span(kids))

    def modimport(self, kids: list[Any]) -> s.ModuleImport:
        return s.ModuleImport(self.text(kids[1]), self.span(kids))

    def modapply(self, kids: list[Any]) -> s.ModuleExp:
        functor, *args = [_module(kid) for kid in kids]
        for arg in args:
            functor = s.ModuleCall(functor, arg, self.span(kids))
        return functor

    def modlambda(self, kids: list[Any]) -> s.Functor:
        return s.Functor(kids[1], _module(kids[-1]), self.span(kids))

    def modascript(self, kids: list[Any]) -> s.ModuleExp:
        return _module(kids[0])

    def modparam(self, kids: list[Any]) -> str:
        return str(kids[1])

    def module(self, kids: list[Any]) -> s.ModuleDec | s.ModuleBind:
        """`module m (p: mt) : mt = e`: the optional signature, `=` and the body come last."""
        name, *params = kids[1:-3]
        body, loc = _module(kids[-1]), self.between(kids[0], kids[-1])
        if isinstance(body, s.Structure) and not params:
            return s.ModuleDec(str(name), body.decs, loc)
        for param in reversed(params):
            body = s.Functor(param, body, loc)
        return s.ModuleBind(str(name), body, loc)

    def modtypebind(self, kids: list[Any]) -> s.ModuleTypeDec:
        return s.ModuleTypeDec(str(kids[2]), self.span(kids))

    def modsig(self, kids: list[Any]) -> _Signature:
        return _Signature(_first_loc(self, kids))


def _module(kid: Any) -> s.ModuleExp:
    return s.ModuleName(kid.name, kid.loc) if isinstance(kid, Qualified) else kid


def _first_loc(build: Builder, kids: list[Any]) -> Loc:
    """Where a phrase begins whose pieces need not all have a range."""
    first = next(k for k in kids if isinstance(k, Token) or hasattr(k, "loc"))
    return build.token_loc(first) if isinstance(first, Token) else first.loc
