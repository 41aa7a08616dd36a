"""Values that cross the border of a program: NumPy arrays and scalars, and their types."""

from __future__ import annotations

from math import prod

import numpy as np

from ..ir.errors import DataError, Diagnostic, Label, Loc
from ..ir.floats import LARGEST
from ..ir.records import dataclass
from ..ir.scalar import prim_of
from ..ir.types import Prim

Value = np.ndarray | np.generic


@dataclass(frozen=True, slots=True)
class ValueType:
    """What a file must hold: `[][]f32` is f32 of rank 2."""

    prim: Prim
    rank: int

    def __str__(self) -> str:
        return "[]" * self.rank + self.prim.value


def type_of(value: Value) -> ValueType:
    """The type of an array or NumPy scalar whose elements the language has."""
    prim = prim_of(value.dtype.newbyteorder("="))
    assert prim is not None, value.dtype
    return ValueType(prim, value.ndim)


def is_float(value: Value) -> bool:
    """Are the elements floats? NumPy has no kind for bf16."""
    return type_of(value).prim.is_float


def shape_text(value: Value) -> str:
    """The type with its sizes, as `[3][2]i32`."""
    dims = "".join(f"[{n}]" for n in value.shape)
    return f"{dims}{type_of(value).prim.value}"


def does_not_fit(spelling: str, prim: Prim) -> str:
    """The message for a finite number that rounds to an infinity in a float type."""
    return f"`{spelling}` does not fit {prim.value} (at most {LARGEST[prim]:.9g})"


def data_error(code: str, message: str, loc: Loc | None = None, text: str = "", hint: str | None = None) -> DataError:
    """A fault in a data file; without a place (`loc` None) the message says where it is."""
    return DataError(Diagnostic(code, message, Label(loc or Loc("", 0, 0, 0, 0), text), hint=hint))


def is_shape(prim: Prim, dims: tuple[int, ...]) -> bool:
    """Can there be an array of these dimensions? Without those of size 0, its bytes must have addresses."""
    return all(n >= 0 for n in dims) and prod(max(n, 1) for n in dims) * prim.bytes < 2**63


def bytes_of(prim: Prim, dims: tuple[int, ...]) -> int:
    """The size of an array, without overflow."""
    return prod(dims) * prim.bytes
