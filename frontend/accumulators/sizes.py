"""Sizes that a body computes from what is outside are computed outside instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir.core import Body, Convert, Param, PrimOp, Stm
from ...ir.ops import can_fail
from ...ir.traverse import bound_in_body
from ...ir.types import Atom, Name, Var
from ..building.code import Code


class Sizes:
    """The names of a body, and under which name those of its sizes are known outside that were asked for."""

    __slots__ = ("bound", "made", "outside")

    def __init__(self, stms: Sequence[Stm], params: Iterable[Param]) -> None:
        self.bound = bound_in_body(Body(tuple(stms), ())) | dict.fromkeys(p.name for p in params)
        self.made = {stm.pat[0].name: stm for stm in stms if len(stm.pat) == 1}
        self.outside: dict[Name, Atom] = {}

    def is_bound(self, atom: Atom) -> bool:
        return isinstance(atom, Var) and atom.name in self.bound

    def lifted(self, code: Code, sizes: Sequence[Atom]) -> tuple[Atom, ...] | None:
        """The sizes in terms of what is known at the end of `code`; None if one varies."""
        found = [self._lift(code, size) for size in sizes]
        return None if any(size is None for size in found) else tuple([size for size in found if size is not None])

    def _lift(self, code: Code, size: Atom) -> Atom | None:
        if not isinstance(size, Var) or size.name not in self.bound:
            return size
        known = self.outside.get(size.name)
        stm = self.made.get(size.name)
        if known is not None or stm is None:
            return known
        match stm.exp:
            case PrimOp(op, prim, args) if not can_fail(op, prim):
                given = self.lifted(code, args)
                found = None if given is None else code.op(op, *given)
            case Convert(_, target, arg):
                one = self._lift(code, arg)
                found = None if one is None else code.convert(target, one)
            case _:
                found = None
        if found is not None:
            self.outside[size.name] = found
        return found
