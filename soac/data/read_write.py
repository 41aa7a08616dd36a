"""Data files: values in and out.

    read_values    bytes of any known format ⟶ arrays and scalars, checked against the types wanted
    write_values   the way back, as text, binary or `.npy`
    random_value   reproducible inputs for `random input` blocks
    compare_values what differs between a result and what was expected

Text and binary values may stand in one file. gzip around a file is undone. Faults are diagnostics with codes D01xx.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from enum import Enum
from math import prod

import numpy as np

from ..ir.floats import DIGITS
from ..ir.scalar import DTYPES
from ..ir.types import Prim
from .binary import (
    GZIP_MAGIC,
    NPY_MAGIC,
    ZIP_MAGIC,
    gunzip,
    is_binary,
    read_binary_value,
    read_npy,
    read_npz,
    write_binary,
    write_npy,
)  # fmt: skip
from .conversion import converted
from .text import Text, read_text_value, skip_space, write_text
from .value import Value, ValueType, data_error, does_not_fit, is_float, is_shape, shape_text, type_of

TOLERANCE = 0.002
MOST_WRITTEN = 8  # elements of a value that a hint writes out

__all__ = [
    "TOLERANCE", "Format", "Value", "ValueType", "compare_values", "default_limit", "does_not_fit", "epsilon",
    "random_value", "read_values", "shape_text", "type_of", "write_value", "write_values",
]  # fmt: skip


class Format(Enum):
    """How values are written."""

    TEXT = "text"
    BINARY = "binary"
    NPY = "npy"


def default_limit() -> int:
    """The most bytes that an input may have: four fifths of the memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 4 // 5
    except (AttributeError, ValueError, OSError):
        return 8 << 30


# ---- reading


def read_values(
    data: bytes,
    name: str,
    expect: Sequence[ValueType] | None = None,
    first_line: int = 1,
    limit: int | None = None,
    entry: str | None = None,
) -> list[Value]:
    """All values in `data`. With `expect`, exactly those: numbers without a suffix take the type expected.

    `name` is what messages call the data, `first_line` the number of its first line in that file, `entry` the function
    that takes the values.
    """
    most = default_limit() if limit is None else limit
    if data.startswith(GZIP_MAGIC):
        data = gunzip(data, name, most)
    data = data.removeprefix(b"\xef\xbb\xbf")
    if data.startswith(NPY_MAGIC):
        values, places = [read_npy(data, name, most)], [(0, 0)]
    elif data.startswith(ZIP_MAGIC):
        values = read_npz(data, name, most)
        places = [(0, 0)] * len(values)
    else:
        values, places = _read_stream(Text(data, name, first_line), expect, most)
    if expect is not None:
        _check_count(values, expect, name, entry)
        _check_types(values, places, expect, Text(data, name, first_line))
    return values


def _read_stream(
    text: Text, expect: Sequence[ValueType] | None, limit: int
) -> tuple[list[Value], list[tuple[int, int]]]:
    """Values one after another, and where each stands."""
    values: list[Value] = []
    places: list[tuple[int, int]] = []
    pos = skip_space(text.data, 0)
    while pos < len(text.data):
        want = expect[len(values)].prim if expect is not None and len(values) < len(expect) else None
        if is_binary(text.data, pos):
            value, end = read_binary_value(text.data, pos, text.name, limit)
        else:
            value, end = read_text_value(text, pos, want)
        values.append(value)
        places.append((pos, end))
        pos = skip_space(text.data, end)
    return values, places


def _check_count(values: list[Value], expect: Sequence[ValueType], name: str, entry: str | None) -> None:
    if len(values) == len(expect):
        return
    n = len(expect)
    count = f"{n} value" if n == 1 else f"{n} values"
    taker = f"`{entry}` takes {count}" if entry else f"{count} {'is' if n == 1 else 'are'} expected"
    wanted = ", ".join(map(str, expect)) or "none"
    found = ", ".join(map(shape_text, values[:20])) or "none"
    raise data_error("D0113", f"{taker}, `{name}` has {len(values)}", hint=f"expected {wanted}; found {found}")


def _check_types(values: list[Value], places: list[tuple[int, int]], expect: Sequence[ValueType], text: Text) -> None:
    for value, (start, end), want in zip(values, places, expect, strict=True):
        if type_of(value) != want:
            hint = _conversion(value, want, text.data[start:end])
            message = _mismatch(value, want)
            if end == 0:  # a .npy file has no places
                raise data_error("D0104", f"`{text.name}`: {message}", hint=hint)
            raise text.fault("D0104", message, start, min(end, start + 1), hint=hint)


def _conversion(value: Value, want: ValueType, spelling: bytes) -> str | None:
    """How a value spelt so could be given instead; None where nothing gives a value of that rank."""
    prim = type_of(value).prim
    if value.ndim != want.rank or not is_shape(want.prim, np.shape(value)):
        return None
    turned, lost = converted(value, want.prim)
    if lost is not None:
        shown = write_text(np.asarray(value)[lost][()])
        return f"{shown} has no value in {want.prim.value}; a parameter of type {type_of(value)} takes it"
    is_text = spelling[:1] in b"+-.tf[0123456789" and spelling != b""
    if is_text and re.search(rb"[0-9.]%b\b" % prim.value.encode(), spelling) and _takes(want.prim, prim):
        return f"without the suffix `{prim.value}` it is read as {want}"
    if is_text and value.size <= MOST_WRITTEN:
        return f"write `{write_text(turned)}`"
    return f"a file is converted by `soac dataset FILE --as {want}`"


def _takes(want: Prim, literal: Prim) -> bool:
    """Is a literal of one type, without its suffix, one of another?"""
    return want.is_float or (want.is_int and literal.is_int)


def _mismatch(value: Value, want: ValueType) -> str:
    """`expected [3]i32, got [3]i64`; the sizes are those of the value as far as the ranks agree."""
    same_rank = value.ndim == want.rank
    dims = "".join(f"[{n}]" for n in value.shape) if same_rank else "[]" * want.rank
    return f"expected {dims}{want.prim.value}, got {shape_text(value)}"


# ---- writing


def write_value(value: Value, form: Format) -> bytes:
    """One value; text has no newline at its end."""
    match form:
        case Format.TEXT:
            return write_text(value).encode()
        case Format.BINARY:
            return write_binary(value)
        case Format.NPY:
            return write_npy(value)


def write_values(values: Iterable[Value], form: Format) -> bytes:
    """Values one after another, text with a line for each. A `.npy` file holds one only."""
    parts = [write_value(value, form) for value in values]
    if form is Format.NPY and len(parts) != 1:
        raise data_error("D0113", f"a .npy file holds one value, not {len(parts)}")
    return b"".join(part + b"\n" for part in parts) if form is Format.TEXT else b"".join(parts)


# ---- random values


def random_value(source: np.random.PCG64, prim: Prim, shape: tuple[int, ...]) -> Value:
    """Integers over the full range of their type, floats in [0, 1), bools by a coin; 64 random bits an element."""
    bits = source.random_raw(prod(shape))
    bits = np.asarray(bits, np.uint64).reshape(shape)
    if prim is Prim.BOOL:
        array = (bits & np.uint64(1)).astype(bool)
    elif prim.is_int:
        array = bits.astype(f"u{prim.bytes}").view(DTYPES[prim])
    else:
        digits = DIGITS[prim]
        array = ((bits >> np.uint64(64 - digits)).astype(np.float64) * 2.0**-digits).astype(DTYPES[prim])
    return array[()] if not shape else array


# ---- comparison


def epsilon(value: np.ndarray | np.generic) -> float:
    """Half a unit in the last place of 1; 0 for what is no float."""
    return 2.0 ** -DIGITS[type_of(value).prim] if is_float(value) else 0.0


def compare_values(actual: Value, expected: Value, tolerance: float = TOLERANCE) -> str | None:
    """None if the values agree, else the first difference in words.

    Types and shapes must be the same. Floats may differ by `tolerance`, relative to the expected value or, where that
    is below 1, absolute; nan agrees with nan, infinities with themselves. Everything else is exact.
    """
    if type_of(actual) != type_of(expected) or actual.shape != expected.shape:
        return f"expected {shape_text(expected)}, got {shape_text(actual)}"
    wrong = ~_agree(np.asarray(actual), np.asarray(expected), tolerance)
    count = int(wrong.sum())
    if not count:
        return None
    at = np.unravel_index(int(wrong.argmax()), wrong.shape)
    where = f"at [{', '.join(str(int(i)) for i in at)}] " if at else ""
    difference = f"{where}expected {_shown(expected, at)}, got {_shown(actual, at)}"
    return difference if wrong.size == 1 else f"{difference} ({count} of {wrong.size} elements differ)"


def _agree(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> np.ndarray:
    if not is_float(actual):
        return np.asarray(actual == expected)
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(a - e) <= tolerance * np.maximum(1.0, np.abs(e))
        near &= np.isfinite(a) & np.isfinite(e)
    return np.asarray(near | (a == e) | (np.isnan(a) & np.isnan(e)))


def _shown(value: Value, at: tuple) -> str:
    return write_text(np.asarray(value)[at][()])
