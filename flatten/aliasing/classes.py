"""Which arrays may ever be overwritten: the one fact that sharing and moving array values depends on.

Arrays that may share memory (an array and its slices, a loop's parameter with initial value and result, a destination
and what is made of it) form a class; a class is consumed if any of its members is, anywhere in the program. An array
of a class that is not consumed is a value like a number: it may be shared, moved and read later. Without flow, hence
coarse and linear.
"""

from __future__ import annotations

from collections.abc import Iterable

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
from ...ir.traverse import consumed_by, reductions, scoped_bodies
from ...ir.types import Atom, Name, Var


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


def consumed_params(prog: Prog) -> dict[Name, tuple[int, ...]]:
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
    for body in (Body(prog.consts, ()), *(fun.body for fun in prog.functions)):
        note_body(body, sharing, consumes)
    return sharing


def note_body(body: Body, sharing: Sharing, consumes: dict[Name, tuple[int, ...]]) -> None:
    """Adds what the statements of a body share and consume, at any depth."""
    pending = [body]
    while pending:
        for stm in pending.pop().stms:
            note_sharing(stm, sharing, consumes)
            pending.extend(inner for _, inner in scoped_bodies(stm.exp))


def note_sharing(stm: Stm, sharing: Sharing, consumes: dict[Name, tuple[int, ...]]) -> None:
    """Adds what one statement shares and consumes (not what the statements inside it do)."""
    arrays = [p.name if p.type.shape else None for p in stm.pat]
    for name in consumed_by(stm.exp):
        sharing.consume(name)
    match stm.exp:
        case Copied(Var(source)) | Index(source) | Rearrange(_, source) | Reshape(_, source) | Update(source):
            _link_all(sharing, arrays, (Var(source),))
        case If(_, then, orelse):
            _link_all(sharing, arrays, then.result)
            _link_all(sharing, arrays, orelse.result)
        case Loop(params, inits, _, body):
            _link_params(sharing, params, inits)
            _link_params(sharing, params, body.result)
            _link_all(sharing, arrays, tuple(Var(p.name) for p in params))
        case Hist(dests=dests) | Scatter(dests=dests) | SegHist(dests=dests) | SegScatter(dests=dests):
            _link_all(sharing, arrays, tuple(map(Var, dests)))
        case Apply(function, args):
            _link_call(sharing, arrays, args, consumes.get(function, ()))
        case _:
            pass
    _link_lambdas(stm.exp, sharing)


def _variables(atoms: Iterable[Atom]) -> list[Name]:
    return [atom.name for atom in atoms if isinstance(atom, Var)]


def _link_all(sharing: Sharing, names: list[Name | None], atoms: tuple[Atom, ...]) -> None:
    if len(atoms) == 1:
        atoms = atoms * len(names)
    for name, atom in zip(names, atoms, strict=True):
        if name is not None and isinstance(atom, Var):
            sharing.link(atom.name, name)


def _link_params(sharing: Sharing, params: tuple[Param, ...], atoms: tuple[Atom, ...]) -> None:
    _link_all(sharing, [p.name if p.type.shape else None for p in params], atoms)


def _link_call(sharing: Sharing, results: list[Name | None], args: tuple[Atom, ...], consumed: tuple[int, ...]) -> None:
    """A result may share memory with any argument."""
    for i in consumed:
        arg = args[i]
        if isinstance(arg, Var):
            sharing.consume(arg.name)
    for result in (name for name in results if name is not None):
        for name in _variables(args):
            sharing.link(name, result)


def _link_lambdas(exp: Exp, sharing: Sharing) -> None:
    """Rows of an input share its memory; the values that an operator combines may be those that it was given."""
    given: tuple[Atom, ...] = ()
    match exp:
        case Screma(_, arrays, f):
            _link_params(sharing, f.params, tuple(map(Var, arrays)))
            given = f.body.result
        case Hist(_, arrays, f, _, _, rank):
            _link_params(sharing, f.params, tuple(map(Var, arrays)))
            given = f.body.result[rank:]
        case Scatter(_, arrays, f):
            _link_params(sharing, f.params, tuple(map(Var, arrays)))
        case SegRed() | SegScan():
            given = exp.body.result
        case SegHist():
            given = exp.body.result[exp.rank :]
        case _:
            pass
    for reduction in reductions(exp):
        op, k = reduction.op, len(reduction.neutral)
        _link_params(sharing, op.params, reduction.neutral * 2)
        _link_params(sharing, op.params, op.body.result * 2)
        _link_params(sharing, op.params[k:], given[:k])
        given = given[k:]
