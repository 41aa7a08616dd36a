"""Sizes and neutral elements that a body computes from what is outside are computed outside instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir.core import Body, Convert, Param, PrimOp, Replicate, Stm
from ...ir.ops import can_fail
from ...ir.traverse import all_stms, bound_in_body
from ...ir.types import Atom, Name, Var
from ..building.code import Code


class Sizes:
    """The names of a body, and under which name those of its sizes are known outside that were asked for."""

    __slots__ = ("bound", "made", "outside")

    def __init__(self, stms: Sequence[Stm], params: Iterable[Param]) -> None:
        body = Body(tuple(stms), ())
        self.bound = bound_in_body(body) | dict.fromkeys(p.name for p in params)
        self.made = {stm.pat[0].name: stm for stm in all_stms(body) if len(stm.pat) == 1}
        self.outside: dict[Name, Atom] = {}

    def is_bound(self, atom: Atom) -> bool:
        return isinstance(atom, Var) and atom.name in self.bound

    def lifted(self, code: Code, atoms: Sequence[Atom]) -> tuple[Atom, ...] | None:
        """The atoms in terms of what is known at the end of `code`; None if one varies."""
        found = [self._lift(code, atom) for atom in atoms]
        return None if any(atom is None for atom in found) else tuple([atom for atom in found if atom is not None])

    def _lift(self, code: Code, atom: Atom) -> Atom | None:
        if not isinstance(atom, Var) or atom.name not in self.bound:
            return atom
        known = self.outside.get(atom.name)
        stm = self.made.get(atom.name)
        if known is not None or stm is None:
            return known
        match stm.exp:
            case PrimOp(op, prim, args) if not can_fail(op, prim):
                given = self.lifted(code, args)
                found = None if given is None else code.op(op, *given)
            case Convert(_, target, arg):
                one = self._lift(code, arg)
                found = None if one is None else code.convert(target, one)
            case Replicate(shape, value):
                known_shape, one = self.lifted(code, shape), self._lift(code, value)
                found = None if known_shape is None or one is None else code.replicate(known_shape, one)
            case _:
                found = None
        if found is not None:
            self.outside[atom.name] = found
        return found
