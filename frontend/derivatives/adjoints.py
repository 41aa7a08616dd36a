"""Adjoints of variables while a body is swept backward.

An adjoint is an atom of the type of its variable. What a map reads at some indices from an array of its surroundings
would need a whole array for each row; its adjoint is an accumulator there, which all rows add to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ...ir.core import Accumulate, DimIndex, Fix, Index, Iota, Lambda, Param, Slice, Update, WithAcc
from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ...ir.types import I64, Atom, Name, Prim, Type, Var, i64
from ..building.code import Code, differentiable, is_whole, whole
from .normal import Functions

Row = tuple[Atom, Atom]


@dataclass(slots=True)
class Sweep:
    """The adjoints of one body in hand. `single`: rows of adjoints that are not in `dense` yet, by places, which are in
    bounds unless there are no rows. `far`: arrays from outside of the innermost map around it; `accs`: their
    accumulators as they are now, `enter`: gives that of a name at the start of the body."""

    code: Code
    functions: Functions
    active: set[Name]
    far: frozenset[Name]
    enter: Callable[[Name], Var]
    dense: dict[Name, Atom] = field(default_factory=dict[Name, Atom])
    single: dict[Name, list[Row]] = field(default_factory=dict[Name, list[Row]])
    accs: dict[Name, Var] = field(default_factory=dict[Name, Var])

    def inside(self, enter: Callable[[Name], Var] | None = None) -> Sweep:
        """A body inside of this one, with no adjoints yet."""
        return Sweep(self.code.inside(), self.functions, self.active, self.far, enter or self.acc)

    def rows(self, far: Sequence[Name]) -> tuple[Sweep, dict[Name, Param]]:
        """The body of a map with further `far` names, and the parameters for the accumulators that it asks for."""
        entered: dict[Name, Param] = {}

        def enter(name: Name) -> Var:
            entered[name] = self.code.param("acc", self.code.types[name])
            return Var(entered[name].name)

        arrays = [name for name in far if self.code.types[name].shape]
        return Sweep(self.code.inside(), self.functions, self.active, self.far.union(arrays), enter), entered

    def acc(self, name: Name) -> Var:
        """The accumulator of an array that is far."""
        if name not in self.accs:
            self.accs[name] = self.enter(name)
        return self.accs[name]

    def is_active(self, atom: Atom) -> bool:
        return isinstance(atom, Var) and atom.name in self.active

    def take(self, name: Name) -> Atom | None:
        """The adjoint of a name that is bound here, complete now."""
        self.settle((name,))
        return self.dense.pop(name, None)

    def add(self, atom: Atom, value: Atom | None) -> None:
        """Adds to the adjoint of `atom`."""
        if value is None or not isinstance(atom, Var) or atom.name not in self.active:
            return
        old = self.dense.get(atom.name)
        if old is None:
            self.dense[atom.name] = self.code.sized(value, self.code.types[atom.name])
        else:
            self.dense[atom.name] = self.code.sum(old, value)

    def add_row(self, atom: Atom, place: Atom, value: Atom) -> None:
        """Adds to a row of an array's adjoint; `place` is in bounds unless there are no rows."""
        if not isinstance(atom, Var) or atom.name not in self.active:
            return
        if atom.name in self.far:
            dims = (Fix(place), *whole(self.code.types[atom.name].shape[1:]))
            self.accs[atom.name] = _accumulated(self.code, self.acc(atom.name), dims, value)
        else:
            self.single.setdefault(atom.name, []).append((place, value))

    def take_rows(self, names: Sequence[Name]) -> dict[Atom, list[Atom | None]] | None:
        """The adjoints of arrays of one length by place, if they are nothing but one or two single rows."""
        places = dict.fromkeys([place for name in names for place, _ in self.single.get(name, ())])
        if not 0 < len(places) <= 2 or any(name in self.dense for name in names):
            return None
        found: dict[Atom, list[Atom | None]] = {place: [None] * len(names) for place in places}
        for k, name in enumerate(names):
            for place, value in self.single.pop(name, ()):
                found[place][k] = self.code.plus(found[place][k], value)
        return found

    def settle(self, names: Iterable[Name]) -> None:
        """Puts single rows of the adjoints of `names` into these."""
        for name in names:
            for place, value in self.single.pop(name, ()):
                self.add(Var(name), self.code.row_alone(self.code.types[name], place, value))

    def full(self, name: Name) -> Var:
        """The adjoint of an array, zeros if there is none yet."""
        found = self.dense.get(name)
        if found is None:
            found = self.dense[name] = self.code.zeros(self.code.types[name])
        assert isinstance(found, Var)
        return found

    def add_at(self, name: Name, dims: tuple[DimIndex, ...], value: Atom) -> None:
        """Adds to the part of an array's adjoint."""
        if name not in self.active:
            return
        if name in self.far:
            self.accs[name] = _accumulated(self.code, self.acc(name), dims, value)
            return
        code, is_first = self.code, name not in self.dense
        dest = self.full(name)
        if not is_first:
            old = code.let("old", Index(dest.name, dims, True), code.type_of(value))
            value = code.sum(old, value)
        self.dense[name] = code.let(dest.name.base, Update(dest.name, dims, value, True), code.types[dest.name])


def _accumulated(code: Code, acc: Var, dims: Sequence[DimIndex], value: Atom) -> Var:
    """The accumulator with `value` added to the part at `dims`."""
    type = code.types[acc.name]
    rank = len(dims)
    while rank > 0 and is_whole(dims[rank - 1], type.shape[rank - 1]):
        rank -= 1
    at = next((k for k in range(rank) if isinstance(dims[k], Slice)), None)
    if at is None:
        row = Type(type.prim, type.shape[rank:])
        index = tuple([dim.index for dim in dims[:rank] if isinstance(dim, Fix)])
        exp = Accumulate((acc.name,), index, (code.sized(value, row),), code.adder(row))
        return code.let("acc", exp, type)
    line = dims[at]
    assert isinstance(line, Slice)
    assert isinstance(value, Var)
    places = code.let("is", Iota(line.count, line.start, line.stride, Prim.I64), I64.array_of(line.count))
    own, index_, part = code.param("acc", type), code.param("i", I64), code.param("v", code.types[value.name].row())
    inner = code.inside()
    result = _accumulated(inner, Var(own.name), (*dims[:at], Fix(Var(index_.name)), *dims[at + 1 :]), Var(part.name))
    f = Lambda((own, index_, part), inner.body([result]), (type,))
    return code.let("acc", WithAcc(line.count, (places.name, value.name), f, (acc.name,)), type)


def no_derivative(what: str, loc: Loc, hint: str) -> CompileError:
    """E0228: reverse mode has no rule for `what`."""
    text = f"{what} cannot be differentiated in reverse mode"
    return CompileError(Diagnostic("E0228", text, Label(loc, "differentiated here"), hint=hint))


def cut(code: Code, array: Var, start: Atom, count: Atom) -> Var:
    """`count` rows of `array` from `start` on."""
    type = code.types[array.name]
    dims = (Slice(start, count, i64(1)), *whole(type.shape[1:]))
    return code.let(array.name.base, Index(array.name, dims, True), Type(type.prim, (count, *type.shape[1:])))


def wanted(code: Code, names: Sequence[Name], active: set[Name]) -> list[Name]:
    """Those of `names` that can have an adjoint."""
    return [name for name in names if name in active and differentiable(code.types[name])]
