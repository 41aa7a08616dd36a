"""What is asked of a type before it is known: a scalar of some kind, equality, fields, constructors."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.errors import Loc
from ...ir.records import dataclass
from ...ir.types import Prim
from ..source.types import Ty

NUMBERS = frozenset(p for p in Prim if p is not Prim.BOOL)
INTS = frozenset(p for p in Prim if p.is_int)
SIGNED = frozenset(p for p in Prim if p.is_signed)
FLOATS = frozenset(p for p in Prim if p.is_float)
SCALARS = frozenset(Prim)
BITS = INTS | {Prim.BOOL}

# The first of these that an overloaded number allows is the type it gets when nothing else decides.
DEFAULTS = (Prim.I32, Prim.F64, Prim.I64, Prim.BOOL)


@dataclass(frozen=True, slots=True)
class Need:
    """What is asked of an unknown type: one of `prims` (None: no scalar needed), equality, fields, constructors."""

    prims: frozenset[Prim] | None
    equality: bool
    fields: tuple[tuple[str, Ty], ...]
    constructors: tuple[tuple[str, tuple[Ty, ...]], ...]
    loc: Loc
    why: str


def needs_prim(prims: frozenset[Prim], loc: Loc, why: str) -> Need:
    return Need(prims, False, (), (), loc, why)


def needs_equality(loc: Loc, why: str) -> Need:
    return Need(None, True, (), (), loc, why)


def needs_field(name: str, ty: Ty, loc: Loc) -> Need:
    return Need(None, False, ((name, ty),), (), loc, f"field `{name}`")


def needs_constructor(name: str, args: tuple[Ty, ...], loc: Loc) -> Need:
    return Need(None, False, (), ((name, args),), loc, f"constructor `#{name}`")


def need_parts(need: Need) -> Iterable[Ty]:
    """The types that a need speaks of."""
    yield from (t for _, t in need.fields)
    yield from (t for _, ts in need.constructors for t in ts)
