"""Adjoints of variables while a body is swept backward.

An adjoint is an atom of the type of its variable. What a map reads from an array of its surroundings at some indices
would need a whole array for each row; it is kept as a list of places instead, which leaves the map as arrays of indices
and values, and becomes one histogram where the array is at home.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...ir.core import DimIndex, Fix, Hist, Index, Iota, Slice, Update
from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ...ir.types import I64, Atom, Name, Prim, Type, Var, i64
from ..building.code import Code, differentiable, is_whole, whole
from .normal import Functions


@dataclass(frozen=True, slots=True)
class Places:
    """Contributions to the adjoint of an array: for each point of `nest`, `values` there is added at `index`, one
    array over the nest for each of the leading dimensions; indices out of range add nothing."""

    nest: tuple[Atom, ...]
    index: tuple[Atom, ...]
    values: Atom


@dataclass(slots=True)
class Sweep:
    """The adjoints of one body in hand. `far`: arrays from outside of the innermost map around it."""

    code: Code
    functions: Functions
    active: set[Name]
    far: frozenset[Name]
    dense: dict[Name, Atom] = field(default_factory=dict[Name, Atom])
    places: dict[Name, list[Places]] = field(default_factory=dict[Name, list[Places]])

    def inside(self, far: frozenset[Name] | None = None) -> Sweep:
        """A body inside of this one, with no adjoints yet."""
        return Sweep(self.code.inside(), self.functions, self.active, self.far if far is None else far)

    def is_active(self, atom: Atom) -> bool:
        return isinstance(atom, Var) and atom.name in self.active

    def take(self, name: Name) -> Atom | None:
        """The adjoint of a name that is bound here, complete now."""
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
            self.add_places(name, _as_places(self.code, self.code.types[name], dims, value))
            return
        code, dest = self.code, self.full(name)
        old = code.let("old", Index(dest.name, dims, True), code.type_of(value))
        new = code.sum(old, value)
        self.dense[name] = code.let(dest.name.base, Update(dest.name, dims, new, True), code.types[dest.name])

    def add_places(self, name: Name, places: Places) -> None:
        if name in self.far:
            self.places.setdefault(name, []).append(places)
        else:
            self.dense[name] = _histogram(self.code, self.full(name), places)

    def densify(self, name: Name) -> None:
        """Everything about an array that is far in one adjoint of its size after all."""
        for places in self.places.pop(name, []):
            self.dense[name] = _histogram(self.code, self.full(name), places)


def _histogram(code: Code, dest: Var, places: Places) -> Var:
    """`dest` with the values added at their places."""
    rank = len(places.index)
    total = code.product(places.nest)
    rest = code.types[dest.name].shape[rank:]
    flat = [_flat(code, index, (total,)) for index in places.index]
    values = _flat(code, places.values, (total, *rest))
    arrays = tuple([a.name for a in (*flat, values)])
    row = Type(code.types[dest.name].prim, rest)
    f = code.identity([*([I64] * rank), row])
    exp = Hist(total, arrays, f, code.adder(row), (dest.name,), rank)
    return code.let(dest.name.base, exp, code.types[dest.name])


def _flat(code: Code, atom: Atom, shape: tuple[Atom, ...]) -> Var:
    """An array over a nest as one over its points; a single point as an array of one."""
    type = code.type_of(atom)
    if not type.shape or (len(type.shape) < len(shape)):
        lifted = code.replicate((i64(1),), atom)
        assert isinstance(lifted, Var)
        return lifted
    assert isinstance(atom, Var)
    return code.reshape(shape, atom)


def _as_places(code: Code, type: Type, dims: Sequence[DimIndex], value: Atom) -> Places:
    """The places of an index expression: dimensions at the end that are taken whole stay whole."""
    rank = len(dims)
    while rank > 0 and is_whole(dims[rank - 1], type.shape[rank - 1]):
        rank -= 1
    nest = tuple([dim.count for dim in dims[:rank] if isinstance(dim, Slice)])
    index: list[Atom] = []
    axis = 0
    for dim in dims[:rank]:
        match dim:
            case Fix(at):
                index.append(code.replicate(nest, at))
            case Slice(start, count, stride):
                line = code.let("is", Iota(count, start, stride, Prim.I64), I64.array_of(count))
                others = (*nest[:axis], *nest[axis + 1 :])
                wide = code.replicate(others, line)
                assert isinstance(wide, Var)
                last = len(nest) - 1
                perm = (*range(axis), last, *range(axis, last))
                index.append(code.rearrange(perm, wide))
                axis += 1
    return Places(nest, tuple(index), value)


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
