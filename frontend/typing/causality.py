"""Causality: a size is known before a value of its type is needed.

A size that merely exists becomes known when the expression that makes it is evaluated. Evaluation goes from the left of
an operator to its right, from the last argument of a call to the first and then to the function, and from a binding to
its body; what stands beside each other in any other way knows nothing of each other. A name, an empty array, a section,
a constructor and the parameters of a lambda need the sizes of their types.
"""

from __future__ import annotations

from ...ir.errors import Label, Loc
from ...ir.records import dataclass
from ..source import syntax as s
from ..source.atoms import Hole, Ident, Lit, PLit, PVar, PWild, Qual
from ..source.copy_syntax import fields_of
from ..source.names import leaves
from ..source.types import Ty
from .errors import fault
from .state import Work

NEEDS = s.PathSection | s.LeftSection | s.RightSection | Hole


@dataclass(frozen=True, slots=True)
class _Walk:
    work: Work
    made: dict[int, list[int]]  # sizes that become known once a node is evaluated
    unknown: frozenset[int]  # all of these
    memo: dict[int, frozenset[int]]  # by identity of a type: which of these its sizes speak of


def check_causality(work: Work, body: s.Exp) -> None:
    """E0225: in the body of a definition something needs a size that only comes up later."""
    made = work.pending.made
    if made:
        _visit(_Walk(work, made, frozenset(i for found in made.values() for i in found), {}), body, frozenset())


def _visit(walk: _Walk, exp: s.Exp, known: frozenset[int]) -> frozenset[int]:
    """Check `exp` where the sizes `known` are; gives what is known after it, besides."""
    match exp:
        case Ident(id=node, name=name, loc=loc):
            _need(walk, node, loc, name, known)
            return frozenset()
        case Lit():
            return frozenset()
        case s.Call(function=function, args=args):
            new = _in_turn(walk, [*reversed(args)], known)
            _visit(walk, function, known | new)
        case s.Chain(first=first, rest=rest):
            new = _visit(walk, first, known)
            for op, right in rest:
                new |= _visit(walk, right, known | new)
                _need(walk, op.id, op.loc, op.name, known | new)
                new |= _made(walk, op.id)
        case s.Let(bindings=bindings, body=body):
            new = _let(walk, bindings, body, known)
        case s.Match(scrutinee=scrutinee, cases=cases):
            new = _visit(walk, scrutinee, known)
            _beside(walk, [case for _, case in cases], known | new)
        case s.Constr(name=name, args=args):
            new = _in_turn(walk, [*args], known)
            _need(walk, exp.id, exp.loc, (f"#{name}",), known | new)
        case s.Lambda(params=params, body=body):
            for pat in params:
                _need_pattern(walk, pat, known)
            _visit(walk, body, known)
            new = frozenset[int]()
        case _:
            if isinstance(exp, NEEDS) or (isinstance(exp, s.Array) and not exp.elems):
                _need(walk, exp.id, exp.loc, _said(exp), known)
            new = _beside(walk, _inside(exp), known)
    return new | _made(walk, exp.id)


def _let(walk: _Walk, bindings: tuple[s.LetPat | s.LetFun, ...], body: s.Exp, known: frozenset[int]) -> frozenset[int]:
    new = frozenset[int]()
    for binding in bindings:
        match binding:
            case s.LetPat(rhs=rhs):
                new |= _visit(walk, rhs, known | new)
            case s.LetFun(body=inner):
                _visit(walk, inner, known | new)
    return new | _visit(walk, body, known | new)


def _in_turn(walk: _Walk, exps: list[s.Exp], known: frozenset[int]) -> frozenset[int]:
    new = frozenset[int]()
    for exp in exps:
        new |= _visit(walk, exp, known | new)
    return new


def _beside(walk: _Walk, exps: list[s.Exp], known: frozenset[int]) -> frozenset[int]:
    return frozenset[int]().union(*[_visit(walk, exp, known) for exp in exps])


def _made(walk: _Walk, node: int) -> frozenset[int]:
    return frozenset(walk.made.get(node, ()))


def _inside(exp: s.Exp) -> list[s.Exp]:
    """The expressions right inside one, but for those in types."""
    found: list[s.Exp] = []
    todo: list[object] = [exp]
    while todo:
        node = todo.pop()
        if isinstance(node, tuple):
            todo.extend(reversed(node))
        elif node is not exp and isinstance(node, s.Exp):
            found.append(node)
        elif not isinstance(node, s.TypeExp):
            todo.extend([getattr(node, name) for name in reversed(fields_of(type(node)))])
    return found


def _said(exp: s.Exp) -> str:
    match exp:
        case s.Array():
            return "this empty array"
        case Hole():
            return "this hole"
        case _:
            return "this section"


def _need_pattern(walk: _Walk, pat: s.Pat, known: frozenset[int]) -> None:
    for part in leaves(pat):
        match part:
            case PVar(id=node, name=name, loc=loc):
                _need(walk, node, loc, (name,), known)
            case PWild(id=node, loc=loc):
                _need(walk, node, loc, "the parameter", known)
            case PLit():
                pass


def _need(walk: _Walk, node: int, loc: Loc, what: str | Qual, known: frozenset[int]) -> None:
    """E0225 if the type of `node` has a size that is not known; `what` is a name, or says what is there."""
    work = walk.work
    ty = work.pending.types.get(node)
    if ty is None or not (missing := _unknown_in(walk, ty) - known):
        return
    tag = min(missing)
    what = what if isinstance(what, str) else f"`{'.'.join(what)}`"
    origin = work.solver.origins[tag]
    others = [Label(origin.loc, "it is known once this is evaluated")] if origin is not None else []
    message = f"causality check: {what} needs a size before it is known"
    note = "causality: what gives the size of a value is evaluated before the value is used"
    hint = "bind the expression that gives the size with `let` before"
    raise fault("E0225", message, loc, f"this is `{work.show(ty)}`", others, [note], hint)


def _unknown_in(walk: _Walk, ty: Ty) -> frozenset[int]:
    if id(ty) not in walk.memo:
        solver = walk.work.solver
        walk.memo[id(ty)] = walk.unknown.intersection(*[{i for n in solver.sizes_in(ty) for i in solver.names_in(n)}])
    return walk.memo[id(ty)]
