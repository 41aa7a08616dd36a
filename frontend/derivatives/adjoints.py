"""Adjoints of variables while a body is swept backward.

An adjoint is an atom of the type of its variable. What a map reads at some indices from an array of its surroundings
would need a whole array for each row; its adjoint is an accumulator there, which all rows add to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from ...ir.basic import whole
from ...ir.core import Accumulate, ArrayLit, Body, DimIndex, Fix, Index, Iota, Lambda, Param, Slice, Update, WithAcc
from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ...ir.records import dataclass
from ...ir.types import I64, Atom, Const, Name, Prim, Type, Var, i64
from ..building.code import Code, differentiable, is_whole
from .normal import Functions

Row = tuple[Atom, Atom]
Dims = tuple[DimIndex, ...]
SMALL = 32
"""Rows of an array that is written as a literal."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is to be added to a part of an adjoint, or to stand there instead; None: zeros."""

    value: Atom | None
    replaces: bool


@dataclass(slots=True)
class Sweep:
    """The adjoints of one body in hand. Not yet in `dense`: `parts`, which have no elements in common, and `single`,
    rows by places, which are in bounds unless there are no rows. `views`: names that are parts of arrays. `known`:
    values of parts, `values`: of what arithmetic gives. `far`: arrays
    from outside of the innermost map around it; `accs`: their accumulators as they are now, `enter`: gives that of a
    name at the start of the body. `both`: sweeps a body forward and backward, given the adjoints of its results."""

    code: Code
    functions: Functions
    both: Callable[[Sweep, Body, Sequence[Atom | None]], None]
    active: set[Name]
    far: frozenset[Name]
    enter: Callable[[Name], Var]
    dense: dict[Name, Atom] = field(default_factory=dict[Name, Atom])
    parts: dict[Name, dict[Dims, Part]] = field(default_factory=dict[Name, dict[Dims, Part]])
    known: dict[tuple[Name, Dims], Var] = field(default_factory=dict[tuple[Name, Dims], Var])
    values: dict[Name, Var] = field(default_factory=dict[Name, Var])
    views: dict[Name, Index] = field(default_factory=dict[Name, Index])
    single: dict[Name, list[Row]] = field(default_factory=dict[Name, list[Row]])
    accs: dict[Name, Var] = field(default_factory=dict[Name, Var])

    def inside(self, enter: Callable[[Name], Var] | None = None) -> Sweep:
        """A body inside of this one, with no adjoints yet."""
        return Sweep(self.code.inside(), self.functions, self.both, self.active, self.far, enter or self.acc)

    def rows(self, far: Sequence[Name]) -> tuple[Sweep, dict[Name, Param]]:
        """The body of a map with further `far` names, and the parameters for the accumulators that it asks for."""
        entered: dict[Name, Param] = {}

        def enter(name: Name) -> Var:
            entered[name] = self.code.param("acc", self.code.types[name])
            return Var(entered[name].name)

        arrays = [name for name in far if self.code.types[name].shape]
        far_now = self.far.union(arrays)
        return Sweep(self.code.inside(), self.functions, self.both, self.active, far_now, enter), entered

    def run(self, body: Body, seeds: Sequence[Atom | None]) -> None:
        """Both sweeps of a body whose names are used nowhere else."""
        self.both(self, body, seeds)

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

    def note_view(self, name: Name, exp: Index) -> None:
        """`name` is a part of an array: what is added to a part of it goes to the array at once."""
        is_plain = all(isinstance(dim, Fix) or (dim.start, dim.stride) == (i64(0), i64(1)) for dim in exp.dims)
        if is_plain and exp.array in self.active and exp.array not in self.far and self.code.types[name].shape:
            self.views[name] = exp

    def add(self, atom: Atom, value: Atom | None) -> None:
        """Adds to the adjoint of `atom`."""
        if value is None or not isinstance(atom, Var) or atom.name not in self.active:
            return
        name = atom.name
        if any(part.replaces for part in self.parts.get(name, {}).values()):
            self.settle((name,))
        old = self.dense.get(name)
        self.dense[name] = self.code.sized(value, self.code.types[name]) if old is None else self.code.sum(old, value)

    def replace(self, name: Name, dims: Dims, adjoint: Var) -> bool:
        """The adjoint of an array that has none yet is `adjoint` but for a part, where it is zero."""
        if name in self.dense or name in self.parts or name in self.single or name in self.far or name in self.views:
            return False
        self.dense[name] = self.code.sized(adjoint, self.code.types[name])
        self.parts[name] = {dims: Part(None, True)}
        return True

    def write_alone(self, name: Name, zeros: Var, is_alone: Callable[[Dims], bool]) -> None:
        """Where the one part of an adjoint that `zeros` are is written nowhere else, nothing has to be added to it."""
        if self.dense.get(name) == zeros and name not in self.single:
            for dims, part in [*self.parts.get(name, {}).items()] if len(self.parts.get(name, {})) == 1 else ():
                if is_alone(dims):
                    self.parts[name] = {dims: Part(part.value, True)}

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
        if not 0 < len(places) <= 2 or any(name in self.dense or name in self.parts for name in names):
            return None
        found: dict[Atom, list[Atom | None]] = {place: [None] * len(names) for place in places}
        for k, name in enumerate(names):
            for place, value in self.single.pop(name, ()):
                found[place][k] = self.code.plus(found[place][k], value)
        return found

    def settle(self, names: Iterable[Name]) -> None:
        """Puts parts of the adjoints of `names` into these."""
        for name in names:
            single = self.single.pop(name, ())
            self._put_parts(name, self.parts.pop(name, {}))
            for place, value in single:
                self.add(Var(name), self.code.row_alone(self.code.types[name], place, value))

    def _put_parts(self, name: Name, parts: Mapping[Dims, Part]) -> None:
        """All parts are read before one is written: a map computes them together."""
        code, type = self.code, self.code.types[name]
        dest = self.dense.get(name)
        if dest is None and parts:
            literal = _literal(code, type, parts)
            if literal is not None:
                self.dense[name] = literal
                return
        values: list[Atom] = []
        for dims, part in parts.items():
            row = Type(type.prim, tuple([dim.count for dim in dims if isinstance(dim, Slice)]))
            value = part.value
            if isinstance(dest, Var) and not part.replaces:
                assert value is not None
                value = code.sum(code.let("old", Index(dest.name, dims, True), row), value)
            values.append(code.zeros(row) if value is None else value)
        for dims, value in zip(parts, values, strict=True):
            whole = self.full(name)
            self.dense[name] = code.let(whole.name.base, Update(whole.name, dims, value, True), type)

    def full(self, name: Name) -> Var:
        """The adjoint of an array, zeros if there is none yet."""
        self.settle((name,))
        found = self.dense.get(name)
        if found is None:
            found = self.dense[name] = self.code.zeros(self.code.types[name])
        assert isinstance(found, Var)
        return found

    def add_at(self, name: Name, dims: Dims, value: Atom) -> None:
        """Adds to the part of an array's adjoint."""
        if name not in self.active:
            return
        if name in self.far:
            self.accs[name] = _accumulated(self.code, self.acc(name), dims, value)
            return
        view = self.views.get(name)
        if view is not None:
            rest = iter(dims)
            inner = tuple([dim if isinstance(dim, Fix) else next(rest) for dim in view.dims])
            self.add_at(view.array, inner, value)
            return
        if dims not in self.parts.get(name, {}) and not _are_apart(dims, self.parts.get(name, {})):
            self.settle((name,))
        parts = self.parts.setdefault(name, {})
        old = parts.get(dims, Part(None, False))
        parts[dims] = Part(self.code.plus(old.value, value), old.replaces)


def _are_apart(dims: Dims, others: Iterable[Dims]) -> bool:
    """Whether a part has no element with the others in common, by its constant indices."""
    known = {k: dim for k, dim in enumerate(dims) if isinstance(dim, Fix) and isinstance(dim.index, Const)}

    def is_apart(other: Dims) -> bool:
        return any(
            isinstance(o := other[k], Fix) and isinstance(o.index, Const) and o != dim for k, dim in known.items()
        )

    return all(map(is_apart, others))


def _literal(code: Code, type: Type, parts: Mapping[Dims, Part]) -> Atom | None:
    """Rows at constant places of a small array as an array of rows, the others zeros."""
    rows: dict[int, Atom | None] = {}
    for dims, part in parts.items():
        match dims[0]:
            case Fix(Const(value=place)) if all(map(is_whole, dims[1:], type.shape[1:])):
                rows[int(place)] = part.value
            case _:
                return None
    match type.shape[0]:
        case Const(value=size) if size <= SMALL and all(0 <= place < size for place in rows):
            row = type.row()
            zeros = code.zeros(row)
            elems = [code.sized(rows.get(k) or zeros, row) for k in range(int(size))]
            return code.let("parts", ArrayLit(tuple(elems), row), type)
        case _:
            return None


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
