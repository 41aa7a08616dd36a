"""What `soac dataset` makes of words: types with sizes to draw from, bounds, and values of another type.

[10][20]f32    an array to draw          5i64, "[1, 2]"    a value as it is
i32=0:99       bounds for a type         []i64             a type to convert to
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ..ir.errors import NOWHERE, DataError, Loc
from ..ir.floats import LARGEST
from ..ir.scalar import elements_as, int_range
from ..ir.types import Prim
from .conversion import converted
from .read_write import (
    Value,
    ValueType,
    default_limit,
    random_value,
    read_values,
    shape_text,
)
from .text import write_text
from .value import data_error

WORD = 8  # bytes drawn for an element, whatever its type

_PRIM = "[iu](?:8|16|32|64)|b?f(?:16|32|64)|bool"
_SIZED = re.compile(rf"((?:\[\s*[0-9][0-9_]*\s*\]\s*)*)({_PRIM})")
_WANTED = re.compile(rf"((?:\[\s*[0-9_]*\s*\]\s*)*)({_PRIM})")
_SIZE = re.compile(r"\[\s*([0-9_]*)\s*\]")


@dataclass(frozen=True, slots=True)
class Drawn:
    """`[10][20]f32`: values to draw."""

    prim: Prim
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return "".join(f"[{n}]" for n in self.shape) + self.prim.value


@dataclass(frozen=True, slots=True)
class Wanted:
    """`[][3]i64`: a type to convert to; sizes that are not given are None."""

    prim: Prim
    shape: tuple[int | None, ...]

    def __str__(self) -> str:
        return "".join("[]" if n is None else f"[{n}]" for n in self.shape) + self.prim.value


@dataclass(frozen=True, slots=True)
class Bounds:
    """Both belong to what may be drawn (of floats, the upper one only by rounding)."""

    low: int | float
    high: int | float


# ---- reading words ------------------------------------------------------------------------------------------------


def drawn_of(word: str) -> Drawn | None:
    """The type with sizes that `word` spells, if it does."""
    found = _SIZED.fullmatch(word.strip())
    return found and Drawn(Prim(found[2]), tuple(int(n) for n in _sizes(found[1])))


def wanted_of(word: str) -> Wanted | None:
    """The type that `word` spells, with sizes or without."""
    found = _WANTED.fullmatch(word.strip())
    return found and Wanted(Prim(found[2]), tuple(int(n) if n else None for n in _sizes(found[1])))


def _sizes(text: str) -> list[str]:
    return [n.replace("_", "")[:19] for n in _SIZE.findall(text)]


def bounds_of(word: str) -> tuple[Prim, Bounds] | None:
    """`i32=0:99`, with numbers that the type has, the smaller one first."""
    name, _, ends = word.partition("=")
    low, _, high = ends.partition(":")
    try:
        prim = Prim(name)
        number = float if prim.is_float else int
        bounds = Bounds(number(low), number(high))
    except ValueError:
        return None
    if prim is Prim.BOOL or not bounds.low <= bounds.high or not _is_finite(prim, bounds):
        return None
    return prim, bounds


def _is_finite(prim: Prim, bounds: Bounds) -> bool:
    low, high = (-LARGEST[prim], LARGEST[prim]) if prim.is_float else int_range(prim)
    return low <= bounds.low and bounds.high <= high


# ---- making values ------------------------------------------------------------------------------------------------


def generate(words: Sequence[str], seed: int, bounds: Mapping[Prim, Bounds]) -> list[Value]:
    """A value for each type, those of one seed from one source of bits; literal values as they are."""
    source = np.random.PCG64(seed)
    values: list[Value] = []
    for position, word in enumerate(words, start=1):
        drawn = drawn_of(word)
        if drawn is None:
            values += read_values(word.encode(), f"<value {position}>")
        else:
            values.append(_draw(source, drawn, bounds.get(drawn.prim)))
    return values


def check_size(drawn: Drawn, loc: Loc) -> None:
    """Raises `DataError` D0112 for values that would not fit into memory."""
    if prod(drawn.shape) * WORD > default_limit():
        raise data_error("D0112", f"random values of type {drawn} do not fit into the memory of this machine", loc)


def _draw(source: np.random.PCG64, drawn: Drawn, bounds: Bounds | None) -> Value:
    check_size(drawn, NOWHERE)
    if bounds is None:
        return random_value(source, drawn.prim, drawn.shape)
    if drawn.prim.is_float:
        unit = np.asarray(random_value(source, drawn.prim, drawn.shape), np.float64)
        return _as(unit * (bounds.high - bounds.low) + bounds.low, drawn.prim)
    bits = np.asarray(random_value(source, Prim.U64, drawn.shape), np.uint64)
    span = int(bounds.high) - int(bounds.low) + 1
    offsets = bits if span >= 1 << 64 else bits % np.uint64(span)
    return _as(offsets + np.uint64(int(bounds.low) % (1 << 64)), drawn.prim)


def _as(array: np.ndarray, prim: Prim) -> Value:
    value = elements_as(np.asarray(array), prim)
    return value if value.ndim else value[()]


# ---- converting ---------------------------------------------------------------------------------------------------


def read_as(data: bytes, name: str, wanted: Sequence[Wanted]) -> list[Value]:
    """The values in `data`, converted to the types `wanted`: one for each, or one for all. None: as they are.

    A number without a suffix is read as what is wanted, where there is a type for each value."""
    try:
        values = read_values(data, name, [ValueType(w.prim, len(w.shape)) for w in wanted] if wanted else None)
    except DataError:
        if not wanted:
            raise
        values = read_values(data, name)
    types = list(wanted) * len(values) if len(wanted) == 1 else list(wanted)
    if wanted and len(types) != len(values):
        raise data_error("D0113", f"`{name}` has {len(values)} values, there are {len(types)} types to convert to")
    return [convert(value, want, name) for value, want in zip(values, types)] if wanted else values


def convert(value: Value, wanted: Wanted, name: str) -> Value:
    """The same numbers as another type; raises `DataError` D0104 where one would change, but by the rounding of
    floats."""
    fits = len(wanted.shape) == value.ndim and all(w in (None, n) for w, n in zip(wanted.shape, value.shape))
    if not fits:
        raise data_error("D0104", f"`{name}`: a value of type {shape_text(value)} cannot become {wanted}")
    turned, lost = converted(value, wanted.prim)
    if lost is not None:
        shown = write_text(np.asarray(value)[lost][()])
        place = f" at [{', '.join(map(str, lost))}]" if lost else ""
        raise data_error("D0104", f"`{name}`: {shown}{place} has no value in {wanted.prim.value}")
    return turned
