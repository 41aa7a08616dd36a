"""Copies where an array would be overwritten that is still needed, or is not owned here.

Derivatives use the values of a program again, in the return sweep and beside the primal: what was consumed once may be
needed afterwards. The modes emit code as if arrays were values; `with_copies` then inserts copies, by the rules of
`ir/aliases.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from ...ir.core import (
    Apply,
    Body,
    Copied,
    Copy,
    Exp,
    If,
    Index,
    Loop,
    Param,
    Rearrange,
    Reshape,
    Stm,
    WithAcc,
)
from ...ir.reachable import reachable
from ...ir.records import dataclass
from ...ir.rename import substitute_exp
from ...ir.traverse import consumed_by, free_in_stm, scoped_bodies, with_bodies
from ...ir.types import Atom, Name, Var
from ..building.code import Code
from .normal import Functions

Roots = frozenset[Name]
NONE: Roots = frozenset()


@dataclass(slots=True)
class _State:
    """Roots of names, names by root, and the roots consumed so far."""

    code: Code
    functions: Functions
    roots: dict[Name, Roots] = field(default_factory=dict[Name, Roots])
    members: dict[Name, list[Name]] = field(default_factory=dict[Name, list[Name]])
    consumed: set[Name] = field(default_factory=set[Name])

    def of(self, atom: Atom) -> Roots:
        if not isinstance(atom, Var) or not self.code.types[atom.name].shape:
            return NONE
        return self.roots.get(atom.name) or frozenset((atom.name,))

    def bind(self, name: Name, roots: Roots) -> None:
        self.roots[name] = roots
        for root in roots:
            self.members.setdefault(root, []).append(name)

    def fresh(self, params: Iterable[Param]) -> set[Name]:
        """Each array as a root of its own."""
        made = {p.name for p in params if p.type.shape}
        for name in made:
            self.bind(name, frozenset((name,)))
        return made


def with_copies(code: Code, functions: Functions, stms: Sequence[Stm], result: Sequence[Atom]) -> list[Stm]:
    """The statements of a body with copies where they are needed."""
    state = _State(code, functions)
    body, _ = _body(state, Body(tuple(stms), tuple(result)), set())
    return list(body.stms)


def _body(state: _State, body: Body, mine: set[Name]) -> tuple[Body, set[Name]]:
    """The body with copies, and all roots that it owns at its end; `mine` may be consumed at its start."""
    last: dict[Name, int] = {}
    for k, stm in enumerate(body.stms):
        last.update(dict.fromkeys(free_in_stm(stm), k))
    last.update({atom.name: len(body.stms) for atom in body.result if isinstance(atom, Var)})
    mine = set(mine)
    made: list[Stm] = []
    for k, stm in enumerate(body.stms):
        _statement(state, stm, mine, _Later(state, last, k), made)
    return Body(tuple(made), body.result), mine


@dataclass(slots=True)
class _Later:
    """What is used behind statement `at` of a body."""

    state: _State
    last: dict[Name, int]
    at: int

    def uses(self, root: Name) -> bool:
        names = (root, *self.state.members.get(root, ()))
        return any(self.last.get(name, -1) > self.at for name in names)


def _statement(state: _State, stm: Stm, mine: set[Name], later: _Later, made: list[Stm]) -> None:
    match stm.exp:
        case Loop() as loop:
            _loop(state, stm, loop, mine, later, made)
            return
        case If(cond, then, orelse):
            free = {root for root in mine if not later.uses(root)}
            yes, own_yes = _body(state, then, free)
            no, own_no = _body(state, orelse, free)
            made.append(replace(stm, exp=If(cond, yes, no)))
            for param, a, b in zip(stm.pat, yes.result, no.result, strict=True):
                if param.type.shape:
                    state.bind(param.name, state.of(a) | state.of(b))
            mine |= own_yes | own_no
            return
        case Copied(Var() as atom):
            state.bind(stm.pat[0].name, state.of(atom))
        case Index(array) | Rearrange(_, array) | Reshape(_, array):
            if stm.pat[0].type.shape:
                state.bind(stm.pat[0].name, state.of(Var(array)))
        case Apply(function, args):
            shared = NONE.union(*[state.of(a) for a in args])
            for param in stm.pat:
                state.bind(param.name, shared)
            fun = state.functions.defs[function]
            taken = [a for p, a in zip(fun.params, args, strict=True) if p.name in fun.consumes]
            stm = replace(
                stm, exp=_consuming(state, stm, [a.name for a in taken if isinstance(a, Var)], set(), later, made)
            )
        case WithAcc(_, _, f, dests) as exp:
            state.fresh(f.params)
            own = {p.name for p in f.params[: len(dests)]}
            stm = replace(stm, exp=replace(exp, map=replace(f, body=_body(state, f.body, own)[0])))
            stm = replace(stm, exp=_consuming(state, stm, dests, mine, later, made))
            mine |= state.fresh(stm.pat)
        case exp:
            for params, _ in scoped_bodies(exp):
                state.fresh(params)
            bodies = [_body(state, body, set())[0] for _, body in scoped_bodies(exp)]
            stm = replace(stm, exp=with_bodies(exp, bodies)) if bodies else stm
            stm = replace(stm, exp=_consuming(state, stm, consumed_by(exp), mine, later, made))
            mine |= state.fresh(stm.pat)
    made.append(stm)


def _consuming(state: _State, stm: Stm, names: Sequence[Name], mine: set[Name], later: _Later, made: list[Stm]) -> Exp:
    """The expression with copies of those of `names` that it must not consume."""
    exp = stm.exp
    others = [name for name in free_in_stm(stm) if name not in names]
    beside = NONE.union(*[state.of(Var(name)) for name in others])
    copies: dict[Name, Atom] = {}
    for name in names:
        roots = state.of(Var(name))
        if roots <= mine and not roots & beside and not any(later.uses(root) for root in roots):
            state.consumed |= roots
        else:
            copies[name] = _copy(state, name, stm, made)
        beside |= roots
    return _with_array(exp, names, copies)


def _copy(state: _State, name: Name, stm: Stm, made: list[Stm]) -> Var:
    param = state.code.like(Param(name, state.code.types[name]), "")
    made.append(Stm((param,), Copy(name), (), (), stm.loc))
    state.fresh((param,))
    return Var(param.name)


def _with_array(exp: Exp, names: Sequence[Name], copies: dict[Name, Atom]) -> Exp:
    """`exp` that consumes the copies."""
    if not copies:
        return exp
    match exp:
        case Apply():
            return substitute_exp(exp, copies)
        case _ if hasattr(exp, "dests"):
            new = [copies[n].name if n in copies else n for n in names]  # type: ignore[union-attr]
            return replace(exp, dests=tuple(new))  # type: ignore[call-arg]
        case _:
            return replace(exp, array=copies[names[0]].name)  # type: ignore[call-arg, union-attr]


# ---- loops --------------------------------------------------------------------------------------------------------


def _loop(state: _State, stm: Stm, loop: Loop, mine: set[Name], later: _Later, made: list[Stm]) -> None:
    """A parameter that is consumed takes its initial value over, and its next value is the loop's own."""
    params = state.fresh(loop.params)
    body, own = _body(state, loop.body, params)
    position = {p.name: k for k, p in enumerate(loop.params)}
    consumed = [position[root] for root in params & state.consumed]
    sources = reachable(consumed, lambda k: [position[x] for x in state.of(body.result[k]) if x in position])
    taken = set(sources)
    body = _own_results(state, loop, body, taken, own)
    inits = list(loop.inits)
    beside = NONE.union(*[state.of(a) for k, a in enumerate(inits) if k not in taken])
    for k in sorted(taken):
        init = inits[k]
        assert isinstance(init, Var)
        roots = state.of(init)
        if roots <= mine and not roots & beside and not any(later.uses(root) for root in roots):
            state.consumed |= roots
        else:
            inits[k] = _copy(state, init.name, stm, made)
        beside |= roots
    made.append(replace(stm, exp=Loop(loop.params, tuple(inits), loop.form, body)))
    shared = NONE.union(*[state.of(a) for k, a in enumerate(inits) if k not in taken])
    outside = NONE.union(*[state.of(a) for k, a in enumerate(body.result) if k not in taken])
    for k, param in enumerate(stm.pat):
        if not param.type.shape:
            continue
        if k in taken:
            mine |= state.fresh((param,))
        else:
            state.bind(param.name, shared | (outside - params))
            mine |= own - params


def _own_results(state: _State, loop: Loop, body: Body, taken: set[int], own: set[Name]) -> Body:
    """The body with copies of next values that are not the loop's own, or are those of several parameters."""
    stms, result = list(body.stms), list(body.result)
    for k in sorted(taken):
        atom = result[k]
        assert isinstance(atom, Var)
        roots = state.of(atom)
        others = NONE.union(*[state.of(a) for j, a in enumerate(result) if j != k])
        if not roots <= own or roots & others:
            param = state.code.like(loop.params[k], "")
            stms.append(Stm((param,), Copy(atom.name), (), (), state.code.loc))
            state.fresh((param,))
            result[k] = Var(param.name)
    return Body(tuple(stms), tuple(result))
