"""What makes two statements compute the same: the keys of common-subexpression elimination.

A basic expression is its own key (constants compare by type and bits; operands of commutative operations are put in
order). A compound one has a cheap key first; where that has been seen, two are looked through side by side, and only
what seems the same is compared as text with bound names numbered.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from ...ir.core import (
    ArrayLit,
    Assert,
    Concat,
    Convert,
    Exp,
    If,
    Index,
    Iota,
    Lambda,
    Loop,
    PrimOp,
    Rearrange,
    Replicate,
    Reshape,
    Screma,
    Stm,
)
from ...ir.ops import COMMUTATIVE
from ...ir.rename import refreshing, rewrite_exp, rewrite_lambda
from ...ir.show import show_exp, show_lambda
from ...ir.traverse import bodies, operands, scoped_bodies
from ...ir.types import Atom, Const, Name, Names, Var


def key_of(exp: Exp) -> Hashable | None:
    """Equal for expressions that give the same; of compound ones only a first hint. None: never shared."""
    match exp:
        case PrimOp(op, prim, args) if op in COMMUTATIVE:
            return PrimOp(op, prim, tuple(sorted(args, key=_order)))
        case Index():
            return replace(exp, safe=True)
        case Assert(cond, code, _):
            return Assert(cond, code, ())
        case PrimOp() | Convert() | Iota() | Replicate() | ArrayLit() | Rearrange() | Reshape() | Concat():
            return exp
        case If() | Loop() | Screma():
            return (type(exp), tuple(operands(exp)), tuple(len(body.stms) for body in bodies(exp)))
        case _:
            return None


def _order(atom: Atom) -> tuple[int, int, str]:
    match atom:
        case Const(prim, value):
            return 0, 0, f"{prim.value} {value!r}"
        case Var(name):
            return 1, name.tag, name.base


def same_value(x: Stm, y: Stm) -> bool:
    """Whether two statements with equal keys give the same."""
    if not bodies(x.exp):
        return True
    return x.attrs == y.attrs and _look_alike(x.exp, y.exp) and _numbered(x.exp) == _numbered(y.exp)


def same_function(f: Lambda, g: Lambda) -> bool:
    """Whether two lambdas differ in bound names alone."""
    if len(f.body.stms) != len(g.body.stms) or f.ret != g.ret:
        return False
    one, other = (show_lambda(rewrite_lambda(h, refreshing(_Numbers(0)))) for h in (f, g))
    return one == other


def _look_alike(x: Exp, y: Exp) -> bool:
    """A quick look that ends at the first difference: operations and operands, statement by statement."""
    named: dict[Name, Name] = {}  # what is bound in x, as y calls it
    pending = [(x, y)]
    while pending:
        a, b = pending.pop()
        if type(a) is not type(b) or (isinstance(a, PrimOp) and isinstance(b, PrimOp) and a.op is not b.op):
            return False
        if [_called(atom, named) for atom in operands(a)] != list(operands(b)):
            return False
        inner = list(zip(scoped_bodies(a), scoped_bodies(b)))
        if any(len(f.stms) != len(g.stms) for (_, f), (_, g) in inner):
            return False
        for (params, f), (others, g) in reversed(inner):
            bound = [*zip(params, others), *[pair for s, t in zip(f.stms, g.stms) for pair in zip(s.pat, t.pat)]]
            named.update((p.name, q.name) for p, q in bound)
            pending.extend((s.exp, t.exp) for s, t in zip(reversed(f.stms), reversed(g.stms)))
    return True


def _called(atom: Atom, named: dict[Name, Name]) -> Atom:
    return Var(named.get(atom.name, atom.name)) if isinstance(atom, Var) else atom


def _numbered(exp: Exp) -> str:
    """The text of `exp` with bound names numbered in order of occurrence, apart from all names of programs."""
    return show_exp(rewrite_exp(exp, refreshing(_Numbers(0))))


class _Numbers(Names):
    """Names without a base, with negative numbers."""

    __slots__ = ()

    def again(self, name: Name) -> Name:
        self.next -= 1
        return Name("", self.next)
