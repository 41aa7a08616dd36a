"""Staged values: what an expression stands for while its program is elaborated.

First-order values are trees. A `Component` is a core atom; records, arrays and sums are the tree around it. Under an
`Arr` its atom is the array of that component, so an array of pairs is a pair of arrays under one `Arr`, the type of
a component is its scalar type under the sizes on its path, and `[n]()` keeps its size though it has no component:

    [n](i32, [m]f32)   is   Arr(n, Rec((0: Component xs i32), (1: Arr(m, Component yss f32))))
                            where xs : [n]i32 and yss : [n][m]f32

Functions and modules exist only here; they are gone when the core is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...ir.core import Reduction
from ...ir.depth import MOST_LEVELS
from ...ir.errors import IRError, Loc
from ...ir.records import dataclass
from ...ir.types import Atom, Prim, Type, Var
from ..source import syntax as s
from ..source.declarations import TypeDec, ValDec
from ..source.types import Instance, Ty

# ---- first-order values -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Component:
    """A scalar, or under `Arr`s the array of one component."""

    atom: Atom
    prim: Prim


@dataclass(frozen=True, slots=True)
class Rec:
    """A record; a tuple has the fields "0", "1", ..; unit has none."""

    fields: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Arr:
    """One array dimension."""

    size: Atom
    row: Value


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum: which constructor (its position, an i8), and the payloads of all constructors side by side."""

    tag: Component
    cases: tuple[tuple[str, tuple[Value, ...]], ...]


@dataclass(frozen=True, slots=True)
class Accumulator:
    """The destination of a stream as its function sees it, and the operator that `acc_write` combines with, if any."""

    arrays: Value
    combine: Reduction | None


# ---- functions and modules ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Use:
    """Where a polymorphic definition is used: what its parameters stand for, in the environment of the use."""

    instance: Instance
    env: Env


@dataclass(frozen=True, slots=True)
class Closure:
    """A function of the program with the environment of its definition."""

    fun: ValDec | s.LetFun | s.Lambda
    env: Env
    use: Use | None


@dataclass(frozen=True, slots=True)
class Native:
    """A function that the elaborator performs itself: `run` takes the `Stage`, `arity` arguments,
    the place of the call, and a name for the result."""

    name: str
    arity: int
    run: Callable[[Any, tuple[Value, ...], Loc, str], Value]


@dataclass(frozen=True, slots=True)
class Partial:
    """A function applied to fewer arguments than it takes."""

    function: Closure | Native
    args: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """A top-level definition, not looked at before it is used."""

    dec: ValDec
    env: Env


@dataclass(frozen=True, slots=True)
class Open:
    """A size parameter without a value yet: the first array that shows it gives it one, in frame `env`; if none does,
    the use of the definition says what it is, which is computed in the body `home`, where the function is applied."""

    name: str
    env: Env
    use: Use | None
    home: object = None


@dataclass(frozen=True, slots=True)
class ModuleValue:
    """What a module, or an imported file, offers."""

    values: dict[str, Value]
    types: dict[str, TypeBinding]
    modules: dict[str, ModuleLike]


@dataclass(frozen=True, slots=True)
class FunctorValue:
    """A module with a parameter, and the scope of its definition."""

    param: str
    env: Env


ModuleLike = ModuleValue | FunctorValue
Data = Component | Rec | Arr | Sum | Accumulator
Function = Closure | Native | Partial
Value = Data | Function | Definition | Open


# ---- environments -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """`type t 'a [n] = ..` in the environment of its declaration."""

    dec: TypeDec
    env: Env


@dataclass(frozen=True, slots=True)
class TypeArgument:
    """What a type parameter stands for: an inferred type in the environment of the use."""

    type: Ty
    env: Env


@dataclass(frozen=True, slots=True)
class WrittenType:
    """What the parameter of a type abbreviation stands for: a type expression where it was written."""

    type: s.TypeExp
    env: Env


TypeBinding = Abbreviation | TypeArgument | WrittenType

FLATTEN_AT = 24  # frames; longer chains of frames are merged, so that looking a name up stays cheap


class Env:
    """Names in scope: a chain of frames. A frame is filled while its scope is entered and then left alone.

    Sizes that inference has given an id but the program no name are found by that id."""

    __slots__ = ("depth", "modules", "parent", "types", "values")

    def __init__(
        self, parent: Env | None, types: dict[str, TypeBinding], modules: dict[str, ModuleLike], depth: int
    ) -> None:
        self.values: dict[str | int, Value] = {}
        self.parent = parent
        self.types = types
        self.modules = modules
        self.depth = depth

    def lookup(self, name: str | int) -> Value | None:
        env: Env | None = self
        while env is not None:
            value = env.values.get(name)
            if value is not None:
                return value
            env = env.parent
        return None

    def child(self) -> Env:
        """A new innermost frame."""
        if self.depth < FLATTEN_AT:
            return Env(self, self.types, self.modules, self.depth + 1)
        frames = []
        env = self
        while env.depth > 0 and env.parent is not None:
            frames.append(env.values)
            env = env.parent
        merged = Env(env, self.types, self.modules, 1)
        for values in reversed(frames):
            merged.values.update(values)
        return merged

    def base(self) -> Env:
        """A new frame that is never merged: the definitions of a file."""
        return Env(self, self.types, self.modules, 0)

    def with_types(self, types: dict[str, TypeBinding]) -> Env:
        """A new frame with further type names."""
        inner = self.child()
        inner.types = self.types | types
        return inner

    def opened(self, module: ModuleValue) -> Env:
        """A new frame that shows what `module` offers."""
        inner = self.child()
        inner.values.update(module.values)
        inner.types = self.types | module.types
        inner.modules = self.modules | module.modules
        return inner


def empty_env() -> Env:
    return Env(None, {}, {}, 0)


# ---- trees --------------------------------------------------------------------------------------------------------


def tuple_of(*values: Value) -> Rec:
    return Rec(tuple((str(i), value) for i, value in enumerate(values)))


def components(value: Value) -> list[tuple[Atom, Type]]:
    """The atoms of the components with their core types, left to right."""
    found: list[tuple[Atom, Type]] = []
    _collect(value, (), found)
    return found


def _collect(value: Value, shape: tuple[Atom, ...], found: list[tuple[Atom, Type]]) -> None:
    match value:
        case Component(atom, prim):
            found.append((atom, Type(prim, shape)))
        case Arr(size, row):
            _collect(row, (*shape, size), found)
        case Rec(fields):
            for _, field in fields:
                _collect(field, shape, found)
        case Sum(tag, cases):
            _collect(tag, shape, found)
            for _, payload in cases:
                for arg in payload:
                    _collect(arg, shape, found)
        case Accumulator(arrays):
            _collect(arrays, shape, found)
        case _:
            raise IRError(f"elaborate: a function where data is needed: {type(value).__name__}")


def atoms_of(value: Value) -> list[Atom]:
    return [atom for atom, _ in components(value)]


def atom_of(value: Value) -> Atom:
    """The atom of a scalar."""
    assert isinstance(value, Component)
    return value.atom


def arrays_of(value: Value) -> list[tuple[Var, Type]]:
    """The components of an array, which are arrays."""
    return [(atom, type) for atom, type in components(value) if isinstance(atom, Var)]


def array_of(sizes: Sequence[Atom], row: Value) -> Value:
    """The array of these dimensions, the outermost first, with `row` below them."""
    for size in reversed(sizes):
        row = Arr(size, row)
    return row


def rebuild(value: Value, part: Callable[[Component], Atom], size: Callable[[Atom], Atom]) -> Value:
    """The same tree with other atoms and sizes, asked for from left to right, an array's size before its rows."""
    match value:
        case Component(_, prim):
            return Component(part(value), prim)
        case Arr(old, row):
            new = size(old)
            return Arr(new, rebuild(row, part, size))
        case Rec(fields):
            return Rec(tuple([(name, rebuild(field, part, size)) for name, field in fields]))
        case Sum(tag, cases):
            new_tag = Component(part(tag), tag.prim)
            return Sum(new_tag, tuple([(n, tuple([rebuild(a, part, size) for a in args])) for n, args in cases]))
        case Accumulator(arrays, combine):
            return Accumulator(rebuild(arrays, part, size), combine)
        case _:
            return value


def with_atoms(value: Value, atoms: Iterable[Atom]) -> Value:
    """The same tree and sizes with `atoms` as the components."""
    supply: Iterator[Atom] = iter(atoms)
    return rebuild(value, lambda _: next(supply), lambda size: size)


def with_sizes(value: Value, sizes: Iterable[Atom]) -> Value:
    """The same tree and components with `sizes` in place of its sizes."""
    supply: Iterator[Atom] = iter(sizes)
    return rebuild(value, lambda part: part.atom, lambda _: next(supply))


def sizes_of(value: Value) -> list[Atom]:
    """All sizes in the tree, in the order of `with_sizes`."""
    found: list[Atom] = []

    def note(size: Atom) -> Atom:
        found.append(size)
        return size

    rebuild(value, lambda part: part.atom, note)
    return found


def has_too_many_levels(value: Value) -> bool:
    """Whether a value is nested deeper than types may be: calls of polymorphic functions can bring that about."""
    level: list[Value] = [value]
    for _ in range(MOST_LEVELS):
        level = [part for each in level for part in _parts(each)]
        if not level:
            return False
    return True


def _parts(value: Value) -> list[Value]:
    match value:
        case Arr(_, row):
            return [row]
        case Rec(fields):
            return [field for _, field in fields]
        case Sum(_, cases):
            return [arg for _, args in cases for arg in args]
        case _:
            return []


def is_data(value: Value) -> bool:
    """Whether no function hides in `value`."""
    match value:
        case Component() | Accumulator():
            return True
        case Arr(_, row):
            return is_data(row)
        case Sum(_, cases):
            return all(is_data(arg) for _, args in cases for arg in args)
        case Rec(fields):
            return all(is_data(field) for _, field in fields)
        case _:
            return False


def has_accumulator(value: Value) -> bool:
    """Whether an accumulator is part of `value`: what is done with it depends on its stream."""
    return isinstance(value, Accumulator) or (
        isinstance(value, Rec) and any(has_accumulator(f) for _, f in value.fields)
    )


def field_of(value: Value, name: str) -> Value:
    found = dict(value.fields).get(name) if isinstance(value, Rec) else None
    if found is None:
        raise IRError(f"elaborate: no field `{name}`")
    return found


def arity_of(function: Function) -> int:
    """How many arguments are still to come."""
    match function:
        case Closure(fun):
            return len(fun.params)
        case Native(_, arity):
            return arity
        case Partial(inner, args):
            return arity_of(inner) - len(args)
