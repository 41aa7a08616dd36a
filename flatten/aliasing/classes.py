"""Which arrays may ever be overwritten: the one fact that sharing and moving array values depends on.

Arrays that may share memory (an array and its slices, a loop's parameter with initial value and result, a destination
and what is made of it) form a class; a class is consumed if any of its members is, anywhere in the program. An array
of a class that is not consumed is a value like a number: it may be shared, moved and read later. Without flow, hence
coarse and linear.

A row that a thread has loaded needs a copy only if it is overwritten, or something made of it is, not if what it was
made of is: that question follows the relation from targets to sources only (`overwritten_in`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...ir.core import (
    Apply,
    Body,
    Copied,
    Exp,
    Hist,
    If,
    Index,
    Loop,
    Param,
    PrimOp,
    Prog,
    Rearrange,
    Reshape,
    Scatter,
    Screma,
    SegHist,
    SegRed,
    SegScan,
    SegScatter,
    Stm,
    Update,
)
from ...ir.reachable import reachable
from ...ir.traverse import COMPOUND, all_stms, consumed_by, reductions
from ...ir.types import Atom, Name, Var

Consumes = Mapping[Name, tuple[int, ...]]
"""Which of its parameters a function may overwrite, by position."""

NO_CALLS: Consumes = {}


class Sharing:
    """Classes of arrays that may share memory (union–find), and which of them are consumed."""

    __slots__ = ("_consumed", "_parent")

    def __init__(self) -> None:
        self._parent: dict[Name, Name] = {}
        self._consumed: set[Name] = set()

    def _root(self, name: Name) -> Name:
        parent = self._parent
        root = name
        while (above := parent.get(root)) is not None:
            root = above
        while name != root:
            parent[name], name = root, parent[name]
        return root

    def link(self, x: Name, y: Name) -> None:
        """x and y may share memory."""
        root, other = self._root(x), self._root(y)
        if root == other:
            return
        self._parent[other] = root
        if other in self._consumed:
            self._consumed.add(root)

    def consume(self, name: Name) -> None:
        self._consumed.add(self._root(name))

    def consumed(self, name: Name) -> bool:
        """Whether anything that may share memory with `name` is ever overwritten."""
        return self._root(name) in self._consumed

    def same(self, x: Name, y: Name) -> bool:
        """Whether x and y may share memory."""
        return self._root(x) == self._root(y)


def consumed_params(prog: Prog) -> Consumes:
    """For every function, which of its parameters it may overwrite, by position."""
    return {fun.name: tuple(k for k, p in enumerate(fun.params) if p.name in fun.consumes) for fun in prog.functions}


def sharing_in(prog: Prog) -> Sharing:
    """The classes of a program."""
    consumes = consumed_params(prog)
    sharing = Sharing()
    for fun in prog.functions:
        if fun.entry is None:  # its callers may overwrite what it gives
            for atom in _variables(fun.body.result):
                sharing.consume(atom)
    for body in prog.bodies:
        note_body(body, sharing, consumes)
    return sharing


def note_body(body: Body, sharing: Sharing, consumes: Consumes) -> None:
    """Adds what the statements of a body share and consume, at any depth."""
    for stm in all_stms(body):
        note_sharing(stm, sharing, consumes)


def note_sharing(stm: Stm, sharing: Sharing, consumes: Consumes) -> None:
    """Adds what one statement shares and consumes (not what the statements inside it do)."""
    if type(stm.exp) is PrimOp:  # most are, and have no arrays
        return
    for name in overwritten_by(stm.exp, consumes):
        sharing.consume(name)
    for target, source in aliases(stm):
        sharing.link(source, target)


# ---- with direction ------------------------------------------------------------------------------------------------


def overwritten_names(prog: Prog) -> set[Name]:
    """All names of `prog` that are overwritten, or something that is made of them."""
    consumes = consumed_params(prog)
    return set[Name]().union(
        overwritten_in(Body(prog.consts, ())), *(overwritten_in(fun.body, consumes) for fun in prog.functions)
    )


def overwritten_in(body: Body, consumes: Consumes = NO_CALLS) -> set[Name]:
    """The same for a body."""
    overwritten: list[Name] = []
    sources: dict[Name, list[Name]] = {}
    for stm in all_stms(body):
        overwritten += overwritten_by(stm.exp, consumes)
        for target, source in aliases(stm):
            sources.setdefault(target, []).append(source)
    return set(reachable(overwritten, lambda name: sources.get(name, ())))


def made_of(array: Name, stms: Iterable[Stm]) -> set[Name]:
    """`array`, and what is made of it in `stms` that may share its memory."""
    made: dict[Name, list[Name]] = {}
    for stm in all_stms(Body(tuple(stms), ())):
        for target, source in aliases(stm):
            made.setdefault(source, []).append(target)
    return set(reachable([array], lambda name: made.get(name, ())))


# ---- the relation --------------------------------------------------------------------------------------------------


def overwritten_by(exp: Exp, consumes: Consumes) -> tuple[Name, ...]:
    """What a statement overwrites itself, or a function that it calls."""
    if isinstance(exp, Apply):
        return tuple(_variables(exp.args[k] for k in consumes.get(exp.function, ())))
    return consumed_by(exp)


def perhaps_overwritten_by(exp: Exp) -> tuple[Name, ...]:
    """The same where nothing is known of the function that it calls: that may overwrite whatever it gets."""
    return tuple(_variables(exp.args)) if isinstance(exp, Apply) else consumed_by(exp)


def aliases(stm: Stm) -> Iterator[tuple[Name, Name]]:
    """Pairs (target, source) of arrays that may share memory, where the target is made of the source: what overwrites
    the target overwrites the source."""
    match stm.exp:
        case Copied(Var(source)) | Index(source) | Rearrange(_, source) | Reshape(_, source) | Update(source):
            yield from _pairs(stm.pat, (Var(source),))
        case If(_, then, orelse):
            yield from _pairs(stm.pat, then.result)
            yield from _pairs(stm.pat, orelse.result)
        case Loop(params, inits, _, body):
            yield from _pairs(params, inits)
            yield from _pairs(params, body.result)
            yield from _pairs(stm.pat, tuple(Var(p.name) for p in params))
        case Hist(dests=dests) | Scatter(dests=dests) | SegHist(dests=dests) | SegScatter(dests=dests):
            yield from _pairs(stm.pat, tuple(map(Var, dests)))
        case Apply(_, args):
            for arg in args:
                yield from _pairs(stm.pat, (arg,))
        case _:
            pass
    if type(stm.exp) in COMPOUND:
        yield from _aliases_in_lambdas(stm.exp)


def _pairs(params: tuple[Param, ...], sources: tuple[Atom, ...]) -> Iterator[tuple[Name, Name]]:
    """Arrays of a pattern with what they are made of, one for each or one for all."""
    for param, source in zip(params, sources * len(params) if len(sources) == 1 else sources, strict=True):
        if param.type.shape and isinstance(source, Var):
            yield param.name, source.name


def _aliases_in_lambdas(exp: Exp) -> Iterator[tuple[Name, Name]]:
    """Rows of an input share its memory; the values that an operator combines may be those that it was given."""
    given: tuple[Atom, ...] = ()
    match exp:
        case Screma(_, arrays, f) | Hist(_, arrays, f) | Scatter(_, arrays, f):
            yield from _pairs(f.params, tuple(map(Var, arrays)))
            given = f.body.result[exp.rank :] if isinstance(exp, Hist) else f.body.result
        case SegRed() | SegScan():
            given = exp.body.result
        case SegHist():
            for update in exp.updates:
                yield from _pairs(exp.op.op.params[len(exp.dests) :], update[exp.rank :])
        case _:
            pass
    for reduction in reductions(exp):
        op, k = reduction.op, len(reduction.neutral)
        yield from _pairs(op.params, reduction.neutral * 2)
        yield from _pairs(op.params, op.body.result * 2)
        if given:
            yield from _pairs(op.params[k:], given[:k])
            given = given[k:]


def _variables(atoms: Iterable[Atom]) -> list[Name]:
    return [atom.name for atom in atoms if isinstance(atom, Var)]
