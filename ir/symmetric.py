"""What stays the same, in all bits, when names are exchanged: the elements of symmetric matrices.

Values that are made of equal values in the same way get one name, as they are and with the names exchanged; operands of
commutative operations are put in order, and x - y counts as y - x where its square or magnitude is taken. Values of
different names may be equal, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import field

from .core import (
    Body,
    Convert,
    Copied,
    If,
    Index,
    Iota,
    Lambda,
    PrimOp,
    Rearrange,
    Reduction,
    Replicate,
    Reshape,
    Screma,
    Stm,
)
from .ops import COMMUTATIVE, Op
from .records import dataclass
from .rename import rewrite_exp, substituting
from .traverse import free_names
from .types import Atom, Name, Prim, Var


def is_symmetric(body: Body, exchanged: Iterable[tuple[Name, Name]]) -> bool:
    """Whether a body gives the same when the names of each pair are exchanged."""
    names: dict[Hashable, Name] = {}
    one, other = Terms(names), Terms(names)
    for x, y in exchanged:
        other.known |= {x: Var(y), y: Var(x)}
    return one.results(body) == other.results(body)


@dataclass(slots=True)
class Terms:
    """The terms of a body's values as names, by what they are made of. `known`: what names stand for."""

    names: dict[Hashable, Name]
    known: dict[Name, Atom] = field(default_factory=dict)
    depth: int = 0

    def results(self, body: Body) -> tuple[Atom, ...]:
        for stm in body.stms:
            term = self.term(stm)
            for k, p in enumerate(stm.pat):
                self.known[p.name] = self.named((term, k))
        return tuple(map(self.atom, body.result))

    def named(self, term: Hashable) -> Var:
        return Var(self.names.setdefault(term, Name("", -1 - len(self.names))))

    def atom(self, atom: Atom) -> Atom:
        return self.known.get(atom.name, atom) if isinstance(atom, Var) else atom

    def term(self, stm: Stm) -> Hashable:
        match stm.exp:
            case PrimOp(op, prim, args):
                return PrimOp(op, prim, self.ordered(op, prim, tuple(map(self.atom, args))))
            case Convert() | Copied() | Index() | Iota() | Rearrange() | Replicate() | Reshape():
                return rewrite_exp(stm.exp, substituting(self.known))
            case If(cond, then, orelse):
                return If, self.atom(cond), self.results(then), self.results(orelse)
            case Screma(width, arrays, function, (), reds):
                return Screma, self.atom(width), self.elements(arrays, function), tuple(map(self.reduction, reds))
            case exp:
                return stm.pat[0].name, tuple(self.atom(Var(name)) for name in sorted(free_names(exp), key=hash))

    def ordered(self, op: Op, prim: Prim, args: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """Operands in an order that does not depend on how they were written."""
        if op in COMMUTATIVE or op is Op.FMA:
            args = (*sorted(args[:2], key=repr), *args[2:])
        if (op is Op.MUL and args[0] == args[1]) or (op is Op.ABS and (prim.is_signed or prim.is_float)):
            args = tuple(map(self.of_either_sign, args))
        return args

    def of_either_sign(self, x: Atom) -> Atom:
        """For a difference, the one with its operands in order."""
        term = next((term for term, name in self.names.items() if Var(name) == x), None)
        match term:
            case (PrimOp(Op.SUB, prim, args), 0):
                return self.named((PrimOp(Op.SUB, prim, tuple(sorted(args, key=repr))), 0))
            case _:
                return x

    def elements(self, arrays: tuple[Name, ...], function: Lambda) -> tuple[Atom, ...]:
        """What a function gives for the elements of arrays, which are the same for one array and depth."""
        self.depth += 1
        for p, array in zip(function.params, arrays, strict=True):
            self.known[p.name] = self.named(("element", self.depth, self.atom(Var(array))))
        found = self.results(function.body)
        self.depth -= 1
        return found

    def reduction(self, red: Reduction) -> Hashable:
        for k, p in enumerate(red.op.params):
            self.known[p.name] = self.named(("operand", self.depth, k))
        return tuple(map(self.atom, red.neutral)), self.results(red.op.body)
