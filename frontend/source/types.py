"""Types of the source language, as inference finds them and the elaborator reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace

from ...ir.records import dataclass
from ...ir.types import Prim
from .declarations import ModuleExp
from .syntax import Exp


@dataclass(frozen=True, slots=True)
class TPrim:
    prim: Prim


@dataclass(frozen=True, slots=True)
class TVar:
    """A type variable: a parameter of a polymorphic definition (`name` as written) or, while inferring, an unknown."""

    name: str
    id: int


@dataclass(frozen=True, slots=True)
class TRecord:
    """A record; a tuple is a record with fields "0", "1", ..; unit has none. Fields are sorted (numbers by value)."""

    fields: tuple[tuple[str, Ty], ...]


@dataclass(frozen=True, slots=True)
class TArray:
    """`[size]elem`: one dimension."""

    size: Size
    elem: Ty


Paths = tuple[tuple[str, ...], ...]
"""Parts of a value, each by the fields that lead to it."""
WHOLE: Paths = ((),)


@dataclass(frozen=True, slots=True)
class TFun:
    """`(name: dom) -> cod`; `consumes`: the argument is consumed (`*dom`), or the parts of it in `consumes_at`;
    `fresh`: the result is unique (`*cod`), or the parts of it in `fresh_at`; `apart`: no two parts of the result share
    data; `lends`: it may be data of the program's own. `exists`: sizes in `cod` that the function chooses when called.
    The parameter as a size in `cod` is `SizeVar(name, param_id)`."""

    name: str | None
    dom: Ty
    cod: Ty
    consumes: bool
    fresh: bool
    exists: tuple[SizeVar, ...]
    param_id: int = -1
    consumes_at: Paths = WHOLE
    fresh_at: Paths = WHOLE
    apart: bool = True
    lends: bool = False


def with_parts(fun: TFun, dom: Ty, cod: Ty) -> TFun:
    """The same function with other types of parameter and result."""
    takes, gives = fun.consumes_at, fun.fresh_at
    return TFun(
        fun.name, dom, cod, fun.consumes, fun.fresh, fun.exists, fun.param_id, takes, gives, fun.apart, fun.lends
    )


@dataclass(frozen=True, slots=True)
class TSum:
    """`#a t1 | #b`; constructors sorted by name."""

    constructors: tuple[tuple[str, tuple[Ty, ...]], ...]


@dataclass(frozen=True, slots=True)
class TOpaque:
    """`m.t a [n]`: an abstract type of a module, known by its `id`. At the end of inference its meaning is put in."""

    name: str
    id: int
    types: tuple[Ty, ...]
    sizes: tuple[Size, ...]


Ty = TPrim | TVar | TRecord | TArray | TFun | TSum | TOpaque


@dataclass(frozen=True, slots=True)
class SizeVar:
    """A size by name: a size parameter, a value in scope, an existential, or (while inferring) an unknown (`id`)."""

    name: str
    id: int


@dataclass(frozen=True, slots=True)
class SizeConst:
    value: int


@dataclass(frozen=True, slots=True)
class SizeExp:
    """A size given by an expression of the source, compared by its text."""

    text: str
    exp: Exp


Size = SizeVar | SizeConst | SizeExp


@dataclass(frozen=True, slots=True)
class SizeMade:
    """`a + b`, `a - b`, `a * b` of sizes, for the elaborator: by what the sizes are, not by what they are called."""

    op: str
    left: Known
    right: Known


Known = Size | SizeMade


@dataclass(frozen=True, slots=True)
class Scheme:
    """A polymorphic type: type and size parameters in the order written, then the type."""

    types: tuple[TVar, ...]
    sizes: tuple[SizeVar, ...]
    type: Ty


@dataclass(frozen=True, slots=True)
class Instance:
    """What the parameters of a polymorphic definition stand for at one use: by the name of the parameter. At the end of
    inference, `made` has the sizes that are calculated."""

    types: dict[str, Ty]
    sizes: dict[str, Size]
    made: dict[str, SizeMade] = field(default_factory=dict)

    def known(self, name: str) -> Known | None:
        """What the elaborator makes of a size parameter."""
        return self.made.get(name) or self.sizes.get(name)


@dataclass(frozen=True, slots=True)
class Shown:
    """The names that a signature leaves of a module; of a functor, None."""

    values: frozenset[str]
    types: frozenset[str]
    modules: dict[str, Shown | None]


@dataclass(frozen=True, slots=True)
class Applied:
    """A functor's application: a copy of its body with node ids of its own, and what is seen of argument and result."""

    body: ModuleExp
    arg: Shown | None
    result: Shown | None


@dataclass(frozen=True, slots=True)
class Typed:
    """What inference hands to the elaborator, besides the modules themselves.

    `types`: by node id, the type of every expression and of every PVar/PWild/LetFun/ForLess/Operator; inside a
    polymorphic definition it may mention the definition's parameters. Literals have their final scalar type.
    `instances`: by node id of an Ident or Operator that uses a polymorphic definition.
    `schemes`: by node id of a ValDec or LetFun.
    `resolved`: by node id of an Ident, how many leading components of the dotted name are the definition's name (the
    rest are fields).
    `applied`: by node id of a ModuleCall. `shown`: by node id of an Ascribed.
    `results`: by node id of an infix Operator, the type of what it gives.
    `needed`: by id, sizes that come up while the program runs and that instances speak of.
    `recursive`: by node id of an Ident that uses a function inside of its own definition, the id of that ValDec.
    """

    types: dict[int, Ty]
    instances: dict[int, Instance]
    schemes: dict[int, Scheme]
    resolved: dict[int, int]
    applied: dict[int, Applied] = field(default_factory=dict)
    shown: dict[int, Shown | None] = field(default_factory=dict)
    results: dict[int, Ty] = field(default_factory=dict)
    needed: dict[int, Size] = field(default_factory=dict)
    recursive: dict[int, int] = field(default_factory=dict)


# ---- types that are written often ----------------------------------------------------------------------------------

PRIMS = {prim: TPrim(prim) for prim in Prim}
BOOL, I64, U8 = PRIMS[Prim.BOOL], PRIMS[Prim.I64], PRIMS[Prim.U8]
UNIT = TRecord(())


def field_key(name: str) -> tuple[int, int, str]:
    """Order of the fields of a record: numbers by value, then names."""
    return (0, int(name), "") if name.isdigit() else (1, 0, name)


def record(fields: Iterable[tuple[str, Ty]]) -> TRecord:
    return TRecord(tuple(sorted(fields, key=lambda field: field_key(field[0]))))


def tuple_of(elems: Iterable[Ty]) -> TRecord:
    return TRecord(tuple([(str(i), t) for i, t in enumerate(elems)]))


def parts_of(ty: Ty) -> Sequence[Ty]:
    """The types right inside a type."""
    match ty:
        case TArray(_, elem):
            return (elem,)
        case TRecord(fields):
            return [t for _, t in fields]
        case TFun():
            return (ty.dom, ty.cod)
        case TSum(constructors):
            return [t for _, ts in constructors for t in ts]
        case TOpaque(types=types):
            return types
        case TPrim() | TVar():
            return ()


def map_parts(ty: Ty, on_type: Callable[[Ty], Ty], on_size: Callable[[Size], Size]) -> Ty:
    """A type with the types right inside of it and its own sizes changed; the same one where nothing changes."""
    match ty:
        case TArray(size, elem):
            new_size, new_elem = on_size(size), on_type(elem)
            return ty if new_size is size and new_elem is elem else TArray(new_size, new_elem)
        case TRecord(fields):
            new_fields = tuple([(name, on_type(t)) for name, t in fields])
            return ty if all(n is o for (_, n), (_, o) in zip(new_fields, fields)) else TRecord(new_fields)
        case TFun():
            dom, cod = on_type(ty.dom), on_type(ty.cod)
            return ty if dom is ty.dom and cod is ty.cod else with_parts(ty, dom, cod)
        case TSum(constructors):
            return TSum(tuple([(name, tuple([on_type(t) for t in payload])) for name, payload in constructors]))
        case TOpaque():
            types = tuple([on_type(t) for t in ty.types])
            return replace(ty, types=types, sizes=tuple([on_size(n) for n in ty.sizes]))
        case TPrim() | TVar():
            return ty


def arrow(dom: Ty, cod: Ty) -> TFun:
    """A function type without names or ownership."""
    return TFun(None, dom, cod, consumes=False, fresh=False, exists=())
