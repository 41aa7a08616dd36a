"""The frame of a function: a place in a list for every name and every constant, found once, before anything runs.

Names are unique, so that one frame serves all bodies of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from .core import (
    Param,
)
from .errors import IRError
from .parallel import Frame, RowType, Value, Values
from .traverse import type_of
from .types import Atom, Const, Name, Prim, Type, Var

Step = Callable[[Frame], None]
Single = Callable[[Frame], Value]
Call = Callable[[Any, Sequence[Value]], Sequence[Value]]
Decide = Callable[[Any, str, int, bool], bool]
SizeOf = Callable[[Any, str, int], int]


class Layout:
    """The frame of a function under construction: places by name and by constant, and what the constants are."""

    def __init__(self, functions: Mapping[Name, Call], decide: Decide, size_of: SizeOf) -> None:
        self.functions = functions
        self.decide = decide
        self.size_of = size_of
        self.template: list[Any] = [None]
        self.types: dict[Name, Type] = {}
        self._names: dict[Name, int] = {}
        self._consts: dict[Const, int] = {}

    def bind(self, param: Param) -> int:
        """A place for a name."""
        self.types[param.name] = param.type
        self._names[param.name] = self._place(None)
        return self._names[param.name]

    def bind_all(self, params: Iterable[Param]) -> tuple[int, ...]:
        return tuple([self.bind(p) for p in params])

    def name(self, name: Name) -> int:
        try:
            return self._names[name]
        except KeyError:
            raise IRError(f"{name} is not in scope") from None

    def atom(self, atom: Atom) -> int:
        if isinstance(atom, Var):
            return self.name(atom.name)
        if atom not in self._consts:
            self._consts[atom] = self._place(atom.value)
        return self._consts[atom]

    def atoms(self, atoms: Iterable[Atom]) -> Values:
        """The values of `atoms` in a frame."""
        return getter(tuple([self.atom(a) for a in atoms]))

    def names(self, names: Iterable[Name]) -> Values:
        return getter(tuple([self.name(n) for n in names]))

    def prim(self, atom: Atom) -> Prim:
        return type_of(atom, self.types).prim

    def _place(self, value: Any) -> int:
        self.template.append(value)
        return len(self.template) - 1


def getter(places: tuple[int, ...]) -> Values:
    """The values at `places` of a frame, as a tuple."""
    match places:
        case ():
            return lambda frame: ()
        case (one,):
            return lambda frame: (frame[one],)
        case _:
            return itemgetter(places[0], places[1], *places[2:])


def row_type(layout: Layout, t: Type) -> RowType:
    """The type with its sizes as places of the frame."""
    return RowType(t.prim, layout.atoms(t.shape))
