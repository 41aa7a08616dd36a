"""Names, scalar types, atoms and array types: the vocabulary of every IR.

An array type is a scalar type and a shape of i64 atoms; rank 0 is a scalar. Tuples do not
exist below the front end: an array of pairs is a pair of arrays (unzipped form).
"""

from __future__ import annotations

import struct
from enum import Enum

from .records import dataclass


class Prim(Enum):
    """The scalar types of the language; the value is the name as written."""

    I8 = "i8"
    I16 = "i16"
    I32 = "i32"
    I64 = "i64"
    U8 = "u8"
    U16 = "u16"
    U32 = "u32"
    U64 = "u64"
    F16 = "f16"
    BF16 = "bf16"
    F32 = "f32"
    F64 = "f64"
    BOOL = "bool"

    __hash__ = object.__hash__  # members are singletons; Enum's own hash runs Python code, and tables are hot

    @property
    def is_float(self) -> bool:
        return self in FLOATS

    @property
    def is_half(self) -> bool:
        """A float that is computed in a wider one."""
        return self.value in ("f16", "bf16")

    @property
    def is_signed(self) -> bool:
        return self.value[0] == "i"

    @property
    def is_unsigned(self) -> bool:
        return self.value[0] == "u"

    @property
    def is_int(self) -> bool:
        return self in INTS

    @property
    def bits(self) -> int:
        """Width in bits; a bool counts 8, as it is stored."""
        return BITS[self]

    @property
    def bytes(self) -> int:
        return self.bits // 8


BITS = {prim: 8 if prim is Prim.BOOL else int(prim.value.lstrip("biuf")) for prim in Prim}
FLOATS = frozenset(prim for prim in Prim if "f" in prim.value)
INTS = frozenset(prim for prim in Prim if prim.value[0] in "iu")


@dataclass(frozen=True, slots=True)
class Name:
    """A unique name, printed `base_tag`; `base` is for people, `tag` makes it unique in a program."""

    base: str
    tag: int

    def __hash__(self) -> int:
        """The tag: names are looked up millions of times, and sets of them come in the same order in every run."""
        return self.tag

    def __str__(self) -> str:
        return f"{self.base}_{self.tag}"


@dataclass(frozen=True, slots=True)
class Var:
    """A variable in operand position."""

    name: Name

    def __str__(self) -> str:
        return str(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A scalar constant. Equality and hash are by type and bits: 0.0 differs from -0.0, nan equals itself,
    and 1, 1.0 and true are three constants. Integers are held in range of `prim` (signed or unsigned)."""

    prim: Prim
    value: bool | int | float

    def _key(self) -> tuple[Prim, object]:
        value = struct.pack("<d", self.value) if self.prim.is_float else int(self.value)
        return (self.prim, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


Atom = Var | Const


@dataclass(frozen=True, slots=True)
class Type:
    """`[n][m]f32`: scalar type and shape (i64 atoms, outermost first); a scalar has the empty shape."""

    prim: Prim
    shape: tuple[Atom, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    def row(self) -> Type:
        """The type of an element along the outermost dimension."""
        assert self.shape, "a scalar has no rows"
        return Type(self.prim, self.shape[1:])

    def array_of(self, *outer: Atom) -> Type:
        """This type with `outer` dimensions put in front."""
        return Type(self.prim, outer + self.shape)


I64 = Type(Prim.I64, ())
BOOL = Type(Prim.BOOL, ())


def scalar(prim: Prim) -> Type:
    """The type of rank 0."""
    return Type(prim, ())


def i64(value: int) -> Const:
    """An i64 constant (sizes, indices)."""
    return Const(Prim.I64, value)


def zero(prim: Prim) -> Const:
    """The 0 of a type: false, 0 or 0.0."""
    return Const(prim, False if prim is Prim.BOOL else 0.0 if prim.is_float else 0)


def one(prim: Prim) -> Const:
    """The 1 of a type of numbers."""
    return Const(prim, 1.0 if prim.is_float else 1)


class Names:
    """A supply of fresh names, started from the `next_name` of a program and written back by the pass."""

    __slots__ = ("next",)

    def __init__(self, start: int) -> None:
        self.next = start

    def fresh(self, base: str) -> Name:
        tag = self.next
        self.next = tag + 1
        return Name(base, tag)

    def again(self, name: Name) -> Name:
        """A fresh name that keeps the base of `name`."""
        return self.fresh(name.base)
