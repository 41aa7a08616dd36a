"""Values as another type, without changing a number but by the rounding of floats."""

from __future__ import annotations

import numpy as np

from ..ir import scalar
from ..ir.types import Prim
from .value import Value, data_error, is_float, is_shape, shape_text, type_of


def converted(value: Value, prim: Prim) -> tuple[Value, tuple[int, ...] | None]:
    """A value with elements of another type, and where the first number is that has no value there, if there is one.
    Raises `DataError` D0106 where nothing of that shape, which has no elements then, could have addresses."""
    if type_of(value).prim is prim:
        return value, None
    array = np.asarray(value)
    if not is_shape(prim, array.shape):
        raise data_error("D0106", f"a value of type {shape_text(value)} is too large for elements of {prim.value}")
    with np.errstate(all="ignore"):
        turned = scalar.elements_as(array, prim)
    wrong = _changed(array, turned, prim)
    at = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape)) if wrong.any() else None
    return (turned if turned.ndim else turned[()]), at


def _changed(before: np.ndarray, after: np.ndarray, prim: Prim) -> np.ndarray:
    """Which numbers are others now."""
    if prim.is_float:
        overflows = np.isinf(after) & np.isfinite(before) if is_float(before) else np.isinf(after)
        return np.asarray(overflows)
    if is_float(before):
        info = np.iinfo(after.dtype) if prim.is_int else None
        low, high = (float(info.min), float(info.max) + 1) if info else (0.0, 2.0)
        wide = before.astype(np.float64)
        return ~(np.isfinite(wide) & (wide == np.floor(wide)) & (wide >= low) & (wide < high))
    if prim is Prim.BOOL:
        return np.asarray((before != 0) & (before != 1))
    if before.dtype.kind == "b":
        return np.zeros(before.shape, bool)
    return np.asarray((after < 0) != (before < 0)) | np.asarray(after.astype(before.dtype) != before)
