"""The text format of values: `42`, `1.5f32`, `[[1, 2], [3, 4]]`, `empty([0][2]i32)`, `"abc"`, with `--` comments.

The first element gives an array its type; numbers without a suffix take the type that is wanted, else i32 or f64.

Large arrays go the fast way (`_fast_array`): NumPy finds the shape and reads the numbers. It accepts only plain bodies
(digits and one common suffix) and answers None at the least doubt; then `_slow_array` reads element by element, and
says where a fault is.
"""

from __future__ import annotations

import math
import re
import warnings
from math import prod

import numpy as np

from ..frontend.parsing.literals import MAX_DIGITS, BadLiteral, fits, of_bits, out_of_range, unescape
from ..ir.errors import DataError
from ..ir.floats import rounding
from ..ir.records import dataclass
from ..ir.scalar import DTYPES, elements_as, text_of, wrapping
from ..ir.scanner import loc_of
from ..ir.types import Prim
from .value import Value, data_error, does_not_fit, is_shape, type_of

MAX_RANK = 64  # as NumPy

_SPACE = re.compile(rb"(?:\s|--[^\n]*)*")
_SCALAR = re.compile(
    rb"""(?P<sign>[-+]?)
    (?: (?P<special>(?:bf16|f(?:16|32|64)))\.(?P<which>nan|inf)
    |   (?P<base>0[xX][0-9a-fA-F_]+|0[bB][01_]+)(?P<base_suffix>[iu](?:8|16|32|64))?
    |   (?P<number>(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?)
        (?P<suffix>[iu](?:8|16|32|64)|(?:bf16|f(?:16|32|64)))?
    |   (?P<truth>true|false) )
    (?![A-Za-z0-9_.])""",
    re.VERBOSE,
)
_EMPTY = re.compile(rb"empty\s*\(\s*((?:\[\s*[0-9]+\s*\]\s*)+)([a-z][a-z0-9]*)\s*\)")
_STRING = re.compile(rb'"((?:[^"\\\n]|\\.)*)"')
_WORD = re.compile(rb"[^\s,\[\]]+")


@dataclass(frozen=True, slots=True)
class Text:
    """The bytes being read and what they are called; `first_line` is the number of their first line."""

    data: bytes
    name: str
    first_line: int

    def fault(
        self, code: str, message: str, start: int, end: int, text: str = "", hint: str | None = None
    ) -> DataError:
        """An error about `data[start:end]`."""
        return data_error(
            code, message, loc_of(self.data, self.name, start, max(end, start + 1), self.first_line), text, hint
        )


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A literal as spelt; `prim` None without a suffix, then `is_decimal` says whether it can be an integer."""

    value: bool | int | float
    prim: Prim | None
    is_decimal: bool
    start: int
    end: int


def skip_space(data: bytes, pos: int) -> int:
    """The next offset that is neither blank nor in a comment."""
    return _SPACE.match(data, pos).end()  # type: ignore[union-attr]


def read_text_value(text: Text, pos: int, want: Prim | None) -> tuple[Value, int]:
    """The value that begins at `pos`, and where it ends. `want` is the type for numbers without a suffix."""
    data = text.data
    match data[pos : pos + 1]:
        case b"[":
            return _fast_array(data, pos, want) or _slow_array(text, pos, want)
        case b'"':
            return _string(text, pos)
        case b"e" if found := _EMPTY.match(data, pos):
            return _empty(text, found), found.end()
        case _:
            scalar = _scalar(text, pos)
            prim = _resolve(scalar, want)
            to_widen = None if want else f"write `{_shown(text, scalar)}i64`"
            return DTYPES[prim].type(_as(text, scalar, prim, to_widen)), scalar.end


# ---- scalars


def _scalar(text: Text, pos: int) -> _Scalar:
    found = _SCALAR.match(text.data, pos)
    if found is None:
        raise _no_value(text, pos)
    sign = -1 if found["sign"] == b"-" else 1
    start, end = found.span()
    if found["truth"] and not found["sign"]:
        return _Scalar(found["truth"] == b"true", Prim.BOOL, False, start, end)
    if found["special"]:
        return _Scalar(sign * float(found["which"]), Prim(found["special"].decode()), True, start, end)
    if found["base"]:
        prim = _suffix(found["base_suffix"])
        return _Scalar(sign * of_bits(_int(text, found["base"], start, end), prim), prim, False, start, end)
    if found["number"]:
        prim = _suffix(found["suffix"])
        is_decimal = any(c in found["number"] for c in b".eE")
        if is_decimal and prim is not None and not prim.is_float:
            raise text.fault("D0101", f"`{found[0].decode()}` is a decimal number with an integer suffix", start, end)
        if is_decimal or (prim is not None and prim.is_float):
            return _Scalar(sign * float(found["number"].replace(b"_", b"")), prim, is_decimal, start, end)
        return _Scalar(sign * _int(text, found["number"], start, end), prim, False, start, end)
    raise _no_value(text, pos)


def _suffix(suffix: bytes | None) -> Prim | None:
    return Prim(suffix.decode()) if suffix else None


def _int(text: Text, spelling: bytes, start: int, end: int) -> int:
    if len(spelling) > MAX_DIGITS:
        raise text.fault("D0101", f"this number has {len(spelling)} digits; the limit is {MAX_DIGITS}", start, end)
    digits = spelling.replace(b"_", b"")
    base = {b"0x": 16, b"0b": 2}.get(digits[:2].lower(), 10)
    try:
        return int(digits if base == 10 else digits[2:], base)
    except ValueError:
        raise _no_value(text, start) from None


def _no_value(text: Text, pos: int) -> Exception:
    if pos >= len(text.data):
        return text.fault("D0101", "expected a value, found the end of the data", pos, pos + 1)
    word = _WORD.match(text.data, pos)
    end = min(word.end(), pos + 40) if word else pos + 1
    shown = text.data[pos:end].decode("utf-8", "replace")
    return text.fault("D0101", f"expected a value, found `{shown}`", pos, end)


def _resolve(first: _Scalar, want: Prim | None) -> Prim:
    """The type of a literal, or of the array that it begins."""
    if first.prim is not None:
        return first.prim
    if want is not None and (want.is_float or (want.is_int and not first.is_decimal)):
        return want
    return Prim.F64 if first.is_decimal else Prim.I32


def _as(text: Text, scalar: _Scalar, prim: Prim, to_widen: str | None) -> bool | int | float:
    """The value of `scalar` at type `prim`, if it may have that type. An integer with a suffix is taken modulo the
    range of its type, `255i8` for -1; one without must fit. `to_widen`: how it could be an i64."""
    span = (scalar.start, scalar.end)
    if scalar.prim not in (None, prim) or (scalar.prim is None and prim is Prim.BOOL):
        kind = scalar.prim.value if scalar.prim else "a number"
        raise text.fault("D0102", f"the array began with {prim.value}, this element is {kind}", *span)
    if scalar.is_decimal and not prim.is_float:
        raise text.fault("D0102", f"the array began with {prim.value}, this element is a decimal", *span)
    if prim.is_int and not fits(int(scalar.value), prim):
        if scalar.prim is not None:
            return wrapping(prim)(int(scalar.value))
        hint = to_widen if fits(int(scalar.value), Prim.I64) else None
        raise text.fault("D0104", out_of_range(_shown(text, scalar), prim), *span, hint=hint)
    return _rounded(text, scalar, prim) if prim.is_float else scalar.value


def _shown(text: Text, scalar: _Scalar) -> str:
    return text.data[scalar.start : scalar.end].decode()


def _rounded(text: Text, scalar: _Scalar, prim: Prim) -> float:
    """The number as a float, if that is finite in `prim` or the literal is an infinity."""
    try:
        value = float(scalar.value)
    except OverflowError:  # an integer
        value = math.inf
    spelling = _shown(text, scalar)
    rounded = rounding(prim)(value)
    if math.isinf(rounded) and "inf" not in spelling:
        raise text.fault("D0104", does_not_fit(spelling, prim), scalar.start, scalar.end)
    return rounded


# ---- strings and empty arrays


def _string(text: Text, pos: int) -> tuple[Value, int]:
    found = _STRING.match(text.data, pos)
    if found is None:
        raise text.fault("D0101", "this string does not end on its line", pos, pos + 1)
    try:
        content = unescape(found[1].decode("utf-8")).encode("utf-8")
    except (BadLiteral, UnicodeError) as bad:
        raise text.fault("D0101", f"bad string: {bad}", pos, found.end()) from None
    return np.frombuffer(content, np.uint8).copy(), found.end()


def _empty(text: Text, found: re.Match[bytes]) -> Value:
    dims = tuple(int(n[:19]) for n in re.findall(rb"[0-9]+", found[1]))
    if 0 not in dims or len(dims) > MAX_RANK or max(dims) >= 2**63:
        raise text.fault("D0103", "an empty array has at least one dimension of size 0", *found.span(1))
    try:
        prim = Prim(found[2].decode())
    except ValueError:
        raise text.fault("D0108", f"`{found[2].decode()}` is not a type of values", *found.span(2)) from None
    if not is_shape(prim, dims):
        raise text.fault("D0106", "an array of these dimensions has no addresses", *found.span(1))
    return np.empty(dims, DTYPES[prim])


# ---- arrays, element by element


def _slow_array(text: Text, pos: int, want: Prim | None) -> tuple[Value, int]:
    """Read `[ .. ]` with one loop; `counts` holds the elements so far of every array that is open."""
    data, start = text.data, pos
    counts: list[int] = []
    opened: list[int] = []
    shape: list[int | None] = []
    values: list[bool | int | float] = []
    prim: Prim | None = None
    while True:
        if data[pos : pos + 1] == b"[":
            if values and len(counts) == len(shape):
                raise text.fault("D0103", "an array among scalars", pos, pos + 1)
            counts.append(0)
            opened.append(pos)
            if len(counts) > len(shape):
                shape.append(None)
            if len(counts) > MAX_RANK:
                raise text.fault("D0107", f"more than {MAX_RANK} dimensions", pos, pos + 1)
            pos = skip_space(data, pos + 1)
            if data[pos : pos + 1] != b"]":
                continue
        elif data[pos : pos + 1] != b"]" or (counts and counts[-1] > 0):
            scalar = _scalar_in(text, pos, opened[-1])
            prim = prim or _resolve(scalar, want)
            values.append(_as(text, scalar, prim, None if want else "give the first element the suffix `i64`"))
            if len(counts) != len(shape):
                raise text.fault("D0103", "a scalar among arrays", scalar.start, scalar.end)
            counts[-1] += 1
            pos = skip_space(data, scalar.end)
        while data[pos : pos + 1] == b"]":
            _check_row(text, shape, counts, opened[-1], pos)
            counts.pop()
            opened.pop()
            pos += 1
            if not counts:
                return _built(text, values, prim or want, shape, start, pos), pos
            counts[-1] += 1
            pos = skip_space(data, pos)
        if data[pos : pos + 1] != b",":
            raise _unfinished(text, pos, opened[-1])
        pos = skip_space(data, pos + 1)


def _scalar_in(text: Text, pos: int, opened: int) -> _Scalar:
    if pos >= len(text.data):
        raise _unfinished(text, pos, opened)
    return _scalar(text, pos)


def _unfinished(text: Text, pos: int, opened: int) -> Exception:
    if pos >= len(text.data):
        return text.fault("D0101", "the data ends inside an array", opened, opened + 1, "this `[` is not closed")
    return text.fault("D0101", f"expected `,` or `]`, found `{chr(text.data[pos])}`", pos, pos + 1)


def _check_row(text: Text, shape: list[int | None], counts: list[int], start: int, end: int) -> None:
    """Every row of a dimension has as many elements as the first."""
    depth = len(counts) - 1
    if shape[depth] is None:
        shape[depth] = counts[-1]
    elif shape[depth] != counts[-1]:
        row = counts[-2] + 1 if depth else 1
        message = f"row {row} has {_elements(counts[-1])}, the first has {shape[depth]}"
        raise text.fault("D0103", message, start, end + 1)


def _elements(n: int) -> str:
    return f"{n} element" if n == 1 else f"{n} elements"


def _built(text: Text, values: list, prim: Prim | None, shape: list[int | None], start: int, end: int) -> Value:
    if prim is None:
        hint = "write `empty([0]i32)`"
        raise text.fault("D0101", "an empty array does not show its type", start, end, hint=hint)
    with np.errstate(over="ignore"):
        return np.array(values, DTYPES[prim]).reshape([n or 0 for n in shape])


# ---- arrays, the fast way

_PLAIN = np.zeros(256, bool)
_PLAIN[list(b"0123456789+-.,eE \t\r\n[]nanif")] = True
_SOLID = np.zeros(256, bool)
_SOLID[list(b"0123456789nif")] = True
_FIRST = re.compile(
    rb"[\[\s]+[-+]?(?:((?:bf16|f(?:16|32|64)))\.(?:nan|inf)|[0-9][0-9.eE+-]*([iu](?:8|16|32|64)|(?:bf16|f(?:16|32|64)))?)"
)
_SPECIAL = (b"nan", b"inf")
_COMMENT = re.compile(rb"--[^\n]*")
_WINDOW = 1 << 16
_FAST_FROM = 256  # bytes; below, element by element is as fast
_MAX_DIGITS_I64 = 18


def _fast_array(data: bytes, pos: int, want: Prim | None) -> tuple[Value, int] | None:
    """A large array of plain numbers, or None if it has anything else in it."""
    first = _FIRST.match(data, pos)
    end = _closing(data, pos) if first is not None and len(data) - pos >= _FAST_FROM else None
    if first is None or end is None:
        return None
    body, suffix = _COMMENT.sub(b"", data[pos:end]), first[1] or first[2]
    starts_decimal = any(c in first[0] for c in b".eE")
    prim = _suffix(suffix) or _resolve(_Scalar(0, None, starts_decimal, pos, pos), want)
    suffixes = body.count(suffix) if suffix else 0
    body = _without_types(body, prim)
    chars = np.frombuffer(body, np.uint8)
    if not _PLAIN[chars].all():
        return None
    shape = _shape(chars)
    if shape is None or (suffix and suffixes != prod(shape)):
        return None
    if not prim.is_float and any(c in body for c in b".eE"):
        return None
    numbers = _numbers(body, chars, prim)
    if numbers is None or numbers.size != prod(shape):
        return None
    with np.errstate(over="ignore"):
        values = elements_as(numbers, prim).reshape(shape)
    overflows = prim.is_float and np.isinf(values).sum() != body.count(b"inf")
    return None if overflows else (values, end)


def _without_types(body: bytes, prim: Prim) -> bytes:
    """The numbers without suffixes, `f32.nan` as `nan`; a `nan` without its type becomes what is no number."""
    name = prim.value.encode()
    for special in _SPECIAL if prim.is_float else ():
        if special in body:
            body = body.replace(special, b"?").replace(name + b".?", special)
    return re.sub(rb"(?<=[0-9.])" + name + rb"(?=[\s,\]])", b"", body)


def _closing(data: bytes, pos: int) -> int | None:
    """The offset after the bracket that closes the one at `pos`, by looking at growing windows."""
    depth, at, size = 0, pos, _WINDOW
    while at < len(data):
        chars = np.frombuffer(data, np.uint8, min(size, len(data) - at), at)
        levels = depth + np.cumsum((chars == 91).astype(np.int32) - (chars == 93), dtype=np.int32)
        closed = (levels <= 0).argmax()
        if levels[closed] <= 0:
            return at + int(closed) + 1
        depth, at, size = int(levels[-1]), at + chars.size, size * 2
    return None


def _shape(chars: np.ndarray) -> tuple[int, ...] | None:
    """The shape of a rectangular array of scalars, or None: in each depth, all rows have equally many commas."""
    marks = chars[np.isin(chars, (44, 91, 93))]
    depth = np.cumsum((marks == 91).astype(np.int32) - (marks == 93), dtype=np.int32)
    rank = int(depth.max(initial=0))
    if not 0 < rank <= MAX_RANK or depth[-1] != 0 or (depth[:-1] <= 0).any():
        return None
    shape: list[int] = []
    rows = 1
    for level in range(1, rank + 1):
        commas = np.flatnonzero((marks == 44) & (depth == level))
        ends = np.flatnonzero((marks == 93) & (depth == level - 1))
        per_row = np.diff(np.searchsorted(commas, ends), prepend=0)
        if len(ends) != rows or (per_row != per_row[0]).any():
            return None
        shape.append(int(per_row[0]) + 1)
        rows *= shape[-1]
    return tuple(shape)


def _numbers(body: bytes, chars: np.ndarray, prim: Prim) -> np.ndarray | None:
    """The numbers in order, in i64 or f64; None if there is anything between commas that is no number of this kind."""
    if not _well_spaced(chars):
        return None
    blank = np.where((chars == 91) | (chars == 93), np.uint8(32), chars).tobytes().decode("ascii")
    if prim.is_float:
        return _from_string(blank, np.dtype(np.float64))
    commas = np.flatnonzero(chars == 44)
    widest = int(np.diff(commas, prepend=-1, append=len(body)).max())
    if widest > _MAX_DIGITS_I64 and re.search(rb"[0-9]{%d}" % (_MAX_DIGITS_I64 + 1), body):
        return None
    numbers = _from_string(blank, np.dtype(np.int64))
    if numbers is None or not numbers.size:
        return None
    inside = fits(int(numbers.min()), prim) and fits(int(numbers.max()), prim)
    return numbers if inside else None


def _well_spaced(chars: np.ndarray) -> bool:
    """Whether NumPy may be trusted with the numbers; it takes nothing at all for a zero, and `- 1` for -1.

    Every place between commas has a digit (or a letter of `nan`), every sign has one right behind it, and all stand in
    the innermost brackets.
    """
    solid, is_comma = _SOLID[chars], chars == 44
    places = np.cumsum(is_comma)[solid]
    if places.size == 0 or places[0] != 0 or places[-1] != is_comma.sum() or (np.diff(places) > 1).any():
        return False
    signs = np.flatnonzero((chars == 43) | (chars == 45))
    after = chars[np.minimum(signs + 1, chars.size - 1)]
    depth = np.cumsum((chars == 91).astype(np.int8) - (chars == 93), dtype=np.int8)
    return bool((_SOLID[after] | (after == 46)).all() and (depth[solid] == depth.max()).all())


def _from_string(text: str, dtype: np.dtype) -> np.ndarray | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, dtype, sep=",")
        except (DeprecationWarning, ValueError):
            return None


# ---- writing


def write_text(value: Value) -> str:
    """The value as text that reads back to the same bits; every number has its suffix."""
    array = np.asarray(value)
    prim = type_of(array).prim
    if array.size == 0:
        return f"empty({''.join(f'[{n}]' for n in array.shape)}{prim.value})"
    words = _words(array.ravel(), prim)
    for size in reversed(array.shape):
        words = ["[" + ", ".join(words[i : i + size]) + "]" for i in range(0, len(words), size)]
    return words[0]


def _words(flat: np.ndarray, prim: Prim) -> list[str]:
    if prim is Prim.BOOL:
        return ["true" if v else "false" for v in flat.tolist()]
    if prim.is_int:
        return [f"{v}{prim.value}" for v in flat.tolist()]
    finite = bool(np.isfinite(flat).all())
    texts = [text_of(prim, v) for v in flat.tolist()] if prim is Prim.BF16 else flat.astype(str).tolist()
    words = [f"{v}{prim.value}" for v in texts]
    return words if finite else [_special(w, prim) for w in words]


def _special(word: str, prim: Prim) -> str:
    """`nanf32` as `f32.nan`, `-inff32` as `-f32.inf`."""
    plain = word.removesuffix(prim.value)
    sign = "-" if plain.startswith("-") else ""
    rest = plain.removeprefix("-")
    return f"{sign}{prim.value}.{rest}" if rest in ("nan", "inf") else word
