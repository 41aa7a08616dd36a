"""Arguments of an entry point, from Python values.

An i64 array, of NumPy or of another library, is no i32 array (D0104), but numbers of Python and NumPy and lists take
the type that the entry asks for: integers if they fit, floats rounded to the nearest value of the type (0.1), unless
that is an infinity that was not given (1e300).
"""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .checked_settings import listed
from .data.read_write import does_not_fit
from .ir.core import FunDef
from .ir.entry import Argument, bind_sizes, source_param
from .ir.errors import DataError, Diagnostic
from .ir.scalar import DTYPES, elements_as, prim_of
from .ir.types import Const, Prim, Type
from .kernels.devices.device import OnDevice


def parameter_types(fun: FunDef) -> tuple[Type, ...]:
    """The types of what a caller gives, one for each component (sizes are found from shapes)."""
    assert fun.entry is not None
    return tuple(param.type for param in fun.params[fun.entry.sizes :])


def checked(fun: FunDef, values: list[Argument]) -> list[Argument]:
    """`values`, if number, types and shapes suit `fun`; raises `DataError` (D0104, D0113) or `RunError` (R0105)."""
    bind_sizes(fun, values)
    return values


# ---- from Python -------------------------------------------------------------------------------------------------


def to_arguments(fun: FunDef, args: Sequence[Any]) -> list[Argument]:
    """The arguments as arrays and scalars of the types of `fun`; raises `DataError` (D0104, D0113)."""
    args, types = listed(args), parameter_types(fun)
    values = [to_argument(arg, t, source_param(fun, k)[0]) for k, (arg, t) in enumerate(zip(args, types))]
    return checked(fun, [*values, *map(np.asarray, args[len(types) :])])


def to_argument(value: Any, t: Type, number: int) -> Argument:
    given: object = value
    if isinstance(given, OnDevice) and t.rank:
        return value  # looked at by `bind_sizes`, and left where it is
    masked = sys.modules.get("numpy.ma")  # which NumPy loads when it is first asked for
    if masked and isinstance(given, masked.MaskedArray) and masked.is_masked(value):
        raise _bad_argument(number, "the array has masked elements; `filled(..)` gives them values")
    dtype = np.dtype(DTYPES[t.prim])
    typed = hasattr(type(value), "__array__") and (t.rank or np.ndim(value))  # a scalar, or an array without dimensions
    array = np.asarray(value) if typed else _untyped(value, t, number)
    if array.ndim != t.rank or (typed and array.dtype.newbyteorder("=") != dtype):
        raise _mismatch(number, t, array)
    exact = np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)
    return exact if t.rank else exact[()]


def _untyped(value: Any, t: Type, number: int) -> np.ndarray:
    """Python numbers and lists as an array of elements of `t`: integers that fit, floats rounded to finite values."""
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        raise _bad_argument(number, "the rows differ in length") from None
    if array.size == 0 and array.dtype.kind == "f":
        missing = (int(size.value) if isinstance(size, Const) else 0 for size in t.shape[array.ndim :])
        return array.astype(DTYPES[t.prim]).reshape(*array.shape, *missing)
    if not _has_kind(array, t.prim):
        raise _bad_argument(number, f"expected {_shown(t)}, got {reprlib.repr(value)}")
    with np.errstate(over="ignore"):
        turned = elements_as(array, t.prim)
    if t.prim.is_float and (overflows := np.isinf(turned) & ~np.isinf(array)).any():
        raise _bad_argument(number, does_not_fit(str(array[overflows].flat[0]), t.prim))
    return turned


def _has_kind(array: np.ndarray, prim: Prim) -> bool:
    """Are these bools for bools, numbers for floats, integers in range for integers?"""
    kind = array.dtype.kind
    if prim is Prim.BOOL:
        return kind == "b"
    if prim.is_float:
        return kind in "iuf" or array.dtype.name == "bfloat16"
    info = np.iinfo(DTYPES[prim])
    return kind in "iu" and (array.size == 0 or (int(array.min()) >= info.min and int(array.max()) <= info.max))


def _mismatch(number: int, t: Type, array: Argument) -> DataError:
    prim = prim_of(array.dtype.newbyteorder("="))
    found = "".join(f"[{n}]" for n in array.shape) + (prim.value if prim else str(array.dtype))
    dtype = np.dtype(DTYPES[t.prim])
    near = array.ndim == t.rank and np.can_cast(array.dtype, dtype, "same_kind")
    return _bad_argument(
        number, f"expected {_shown(t)}, got {found}", f'`np.asarray(.., "{dtype}")` converts it' if near else None
    )


def _shown(t: Type) -> str:
    return "[]" * t.rank + t.prim.value


def _bad_argument(number: int, text: str, hint: str | None = None) -> DataError:
    return DataError(Diagnostic("D0104", f"argument {number}: {text}", hint=hint))
