"""Consumption: an array that is overwritten must not be used afterwards, under any of its names.

Every fresh array is a *root*; a name stands for the roots whose storage it may share (a slice for that of its array,
the result of a branch for those of both sides). Consuming a name consumes its roots, and the use of a name with a
consumed root is an error. A root may be consumed only in the body that made it, or a branch of that: not from inside
a loop, a lambda or a segop, which would overwrite it several times. A loop that consumes one of its parameters consumes
the initial value, at its start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .agreement import IllFormed
from .core import (
    Apply,
    Body,
    Copied,
    Exp,
    FunDef,
    If,
    Index,
    Lambda,
    Loop,
    Param,
    Prog,
    Rearrange,
    Reshape,
    Stm,
    Update,
    WithAcc,
)
from .reachable import reachable
from .records import dataclass
from .traverse import all_exps, callees_first, consumed_by, operands, recursive_functions, scoped_bodies
from .types import Atom, Name, Var

Roots = frozenset[Name]
NONE: Roots = frozenset()


@dataclass(frozen=True, slots=True)
class Summary:
    """What a caller has to know: for each result the parameters (by position) whose storage it may share, and the
    other roots that tell which results share storage with each other."""

    shared: tuple[frozenset[int], ...]
    local: tuple[Roots, ...]


class State:
    """One function: the roots of names, how deep each root was made, what is consumed by now."""

    def __init__(self, functions: dict[Name, FunDef], summaries: dict[Name, Summary]) -> None:
        self.functions = functions
        self.summaries = summaries
        self.roots: dict[Name, Roots] = {}
        self.depth_of: dict[Name, int] = {}
        self.consumed: set[Name] = set()
        self.depth = 0

    def fresh(self, params: Iterable[Param], depth: int) -> None:
        """Each array becomes a root of its own, which can be consumed at `depth`."""
        for p in params:
            if p.type.shape:
                self.roots[p.name] = frozenset((p.name,))
                self.depth_of[p.name] = depth

    def of(self, atom: Atom) -> Roots:
        return self.roots.get(atom.name, NONE) if isinstance(atom, Var) else NONE

    def use(self, atom: Atom) -> None:
        if isinstance(atom, Var) and not self.consumed.isdisjoint(self.of(atom)):
            raise IllFormed(f"{atom.name} is used after it was consumed")

    def consume(self, atom: Atom) -> None:
        self.use(atom)
        for root in self.of(atom):
            if self.depth_of[root] < self.depth:
                raise IllFormed(f"{atom} is consumed where that could happen several times, or is not owned here")
            self.consumed.add(root)


def check_consumption(prog: Prog) -> None:
    """Raises `IRError` where an array is used after it was consumed, or consumed where it must not be."""
    functions = {fun.name: fun for fun in prog.functions}
    summaries = _summaries(prog, functions, prog.functions)
    consts = State(functions, summaries)
    for stm in prog.consts:
        _stm(consts, stm)


def consumed_params(prog: Prog, fun: FunDef) -> tuple[Name, ...]:
    """The parameters whose arrays a function of `prog` overwrites, whatever it says itself."""
    functions = {other.name: other for other in prog.functions}
    summaries = _summaries(prog, functions, tuple([other for other in prog.functions if other.name != fun.name]))
    state = State(functions, summaries)
    for stm in prog.consts:
        state.fresh(stm.pat, -1)
    state.fresh(fun.params, 0)
    _body(state, fun.body)
    return tuple(p.name for p in fun.params if p.name in state.consumed)


def _summaries(prog: Prog, functions: dict[Name, FunDef], funs: tuple[FunDef, ...]) -> dict[Name, Summary]:
    """Those of these functions. A function that calls itself shares nothing at first, then what was found before, until
    there is nothing new."""
    recursive = recursive_functions(prog.functions)
    summaries = {
        fun.name: Summary((frozenset[int](),) * len(fun.results), (NONE,) * len(fun.results))
        for fun in prog.functions
        if fun.name in recursive
    }
    wanted = {fun.name for fun in funs}
    before: dict[Name, Summary] | None = None
    while before is None or (before != summaries and recursive):
        before = dict(summaries)
        for fun in callees_first(prog.functions, recursive):
            if fun.name in wanted:
                summaries[fun.name] = _fun(prog, functions, summaries, fun)
    return summaries


def _fun(prog: Prog, functions: dict[Name, FunDef], summaries: dict[Name, Summary], fun: FunDef) -> Summary:
    state = State(functions, summaries)
    consumes = set(fun.consumes)
    for stm in prog.consts:
        state.fresh(stm.pat, -1)
    state.fresh((p for p in fun.params if p.name not in consumes), -1)
    state.fresh((p for p in fun.params if p.name in consumes), 0)
    results = _body(state, fun.body)
    kept = {p.name: k for k, p in enumerate(fun.params) if p.name not in consumes}
    shared = tuple(frozenset(kept[root] for root in roots if root in kept) for roots in results)
    return Summary(shared, tuple(frozenset(root for root in roots if root not in kept) for roots in results))


def _body(state: State, body: Body) -> tuple[Roots, ...]:
    """The roots of the results."""
    for stm in body.stms:
        _stm(state, stm)
    for atom in body.result:
        state.use(atom)
    return tuple(state.of(atom) for atom in body.result)


def _inner_body(state: State, params: Iterable[Param], own: int, body: Body) -> tuple[Roots, ...]:
    """A body that may run any number of times; its parameters can be consumed at depth `own`."""
    state.fresh(params, own)
    state.depth += 1
    results = _body(state, body)
    state.depth -= 1
    return results


def _stm(state: State, stm: Stm) -> None:
    try:
        for atom in operands(stm.exp):
            state.use(atom)
        _bind(state, stm.pat, _exp(state, stm))
    except IllFormed as fault:
        raise fault.inside(stm) from None


def _bind(state: State, pat: Sequence[Param], roots: Sequence[Roots | None]) -> None:
    for param, shared in zip(pat, roots, strict=True):
        if shared is None:
            state.fresh((param,), state.depth)
        elif param.type.shape:
            state.roots[param.name] = shared


def _exp(state: State, stm: Stm) -> Sequence[Roots | None]:
    """Checks an expression; for each result the roots it shares, None for a fresh array."""
    match stm.exp:
        case Copied(atom):
            return [state.of(atom)]
        case Index(array, _, _) | Rearrange(_, array) | Reshape(_, array):
            return [state.of(Var(array))]
        case Update(array, _, value, _):
            if state.of(value) & state.of(Var(array)):
                raise IllFormed(f"{array} is overwritten with a part of itself")
            state.consume(Var(array))
            return [None]
        case If(_, then, orelse):
            return _if(state, stm.pat, then, orelse)
        case Loop() as loop:
            return _loop(state, loop)
        case Apply(function, args):
            return _apply(state, stm.pat, function, args)
        case WithAcc(_, _, f, dests):
            return _with_acc(state, f, dests, len(stm.pat))
        case _:
            return _other(state, stm.exp, len(stm.pat))


def _other(state: State, exp: Exp, results: int) -> Sequence[Roots | None]:
    """SOACs, segops and what makes new arrays: lambdas own nothing of what they are given."""
    for params, body in scoped_bodies(exp):
        _inner_body(state, params, state.depth, body)
    _consume_apart(state, [Var(name) for name in consumed_by(exp)], [])
    return [None] * results


def _with_acc(state: State, f: Lambda, dests: Sequence[Name], results: int) -> Sequence[Roots | None]:
    """The rows own the accumulators, as iterations own the parameters of a loop."""
    count = len(dests)
    state.fresh(f.params[:count], state.depth + 1)
    nexts = _inner_body(state, f.params[count:], state.depth, f.body)
    if len(NONE.union(*nexts[:count])) < sum(map(len, nexts[:count])):
        raise IllFormed("two accumulators are one")
    _consume_apart(state, [Var(name) for name in dests], [])
    return [None] * results


def _consume_apart(state: State, consumed: Sequence[Atom], others: Sequence[Atom]) -> None:
    """Consumes arrays that must not share storage, neither with each other nor with `others`."""
    seen = set[Name]().union(*(state.of(atom) for atom in others))
    for atom in consumed:
        if not seen.isdisjoint(state.of(atom)):
            raise IllFormed(f"{atom} is consumed beside another use of the same array")
        seen |= state.of(atom)
        state.consume(atom)


def _if(state: State, pat: Sequence[Param], then: Body, orelse: Body) -> Sequence[Roots | None]:
    """A root that one branch consumes and the other hands on goes over to the result: nothing else may use it."""
    before = frozenset(state.consumed)
    yes = _body(state, then)
    after = state.consumed
    state.consumed = set(before)
    no = _body(state, orelse)
    state.consumed = state.consumed | after
    taken = state.consumed - before
    found = [a | b for a, b in zip(yes, no, strict=True)]
    made: dict[Name, Name] = {}
    for param, roots in zip(pat, found, strict=True):
        for root in sorted(roots & taken, key=lambda name: name.tag):
            state.depth_of[made.setdefault(root, param.name)] = state.depth
    return [frozenset(made.get(root, root) for root in roots) for roots in found]


def _apply(state: State, pat: Sequence[Param], function: Name, args: Sequence[Atom]) -> Sequence[Roots | None]:
    fun, summary = state.functions[function], state.summaries[function]
    taken = [p.name in fun.consumes for p in fun.params]
    kept = [arg for arg, t in zip(args, taken, strict=True) if not t]
    _consume_apart(state, [arg for arg, t in zip(args, taken, strict=True) if t], kept)
    made: dict[Name, Name] = {}
    found: list[Roots] = []
    for param, shared, local in zip(pat, summary.shared, summary.local, strict=True):
        own = frozenset(made.setdefault(root, param.name) for root in local)
        state.depth_of.update((root, state.depth) for root in own)
        found.append(own.union(*(state.of(args[k]) for k in shared)))
    return found


# ---- loops -------------------------------------------------------------------------------------------------------


def taken_over(loop: Loop) -> frozenset[int]:
    """The parameters (by position) of a loop that take over their initial values: nothing else reads these once the
    loop has begun. None of a loop with calls, which no kernel has."""
    if any(isinstance(exp, Apply) for exp in all_exps(loop.body)):
        return frozenset()
    state = State({}, {})
    nexts = _inner_body(state, loop.params, state.depth + 1, loop.body)
    return frozenset(_taken_over(state, _positions(loop), nexts))


def _loop(state: State, loop: Loop) -> Sequence[Roots | None]:
    """A consumed parameter takes over its initial value, and its next value must be the loop's own."""
    nexts = _inner_body(state, loop.params, state.depth + 1, loop.body)
    position = _positions(loop)
    taken = _taken_over(state, position, nexts)
    for k in taken:
        _check_next(state, loop, position, nexts, k)
    others = [init for k, init in enumerate(loop.inits) if k not in taken]
    _consume_apart(state, [loop.inits[k] for k in sorted(taken)], others)
    for roots in nexts:
        state.depth_of.update((root, state.depth) for root in roots if state.depth_of[root] > state.depth)
    return [None if k in taken else _reached(state, loop, position, nexts, k) for k in range(len(nexts))]


def _positions(loop: Loop) -> dict[Name, int]:
    return {p.name: k for k, p in enumerate(loop.params) if p.type.shape}


def _taken_over(state: State, position: dict[Name, int], nexts: Sequence[Roots]) -> set[int]:
    """Parameters that are consumed, and those that become such a parameter in the next iteration."""
    consumed = (k for name, k in position.items() if name in state.consumed)
    return set(reachable(consumed, lambda k: [position[root] for root in nexts[k] if root in position]))


def _check_next(state: State, loop: Loop, position: dict[Name, int], nexts: Sequence[Roots], k: int) -> None:
    name = loop.params[k].name
    if any(root not in position and state.depth_of[root] <= state.depth for root in nexts[k]):
        raise IllFormed(f"the next value of {name}, which is consumed, is an array from outside the loop")
    if any(not nexts[k].isdisjoint(roots) for j, roots in enumerate(nexts) if j != k):
        raise IllFormed(f"the next value of {name}, which is consumed, is also that of another parameter")


def _reached(state: State, loop: Loop, position: dict[Name, int], nexts: Sequence[Roots], start: int) -> Roots:
    """All that a parameter may be after some iterations: initial values and roots of results."""
    sources = reachable([start], lambda k: [position[root] for root in nexts[k] if root in position])
    inits = [state.of(loop.inits[k]) for k in sources]
    return NONE.union(*inits, *(nexts[k] - position.keys() for k in sources))
