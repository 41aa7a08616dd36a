"""Literals: from their spelling to a value, checked against the range of their suffix (E0104).

`-128i8` is read as a minus before `128i8`, which does not fit by itself: `out_of_range` is given the sign.
"""

from __future__ import annotations

import re

from ...ir.types import Prim

MAX_DIGITS = 400  # int() and float() take time that grows faster than the text

_NUMBER = re.compile(r"(.*?)(i8|i16|i32|i64|u8|u16|u32|u64|bf16|f16|f32|f64)?\Z")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]+|[0-9]+|.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", '"': '"', "'": "'"}
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_MAX_CHAR = 0x10FFFF


class BadLiteral(ValueError):
    """The spelling has no value; the message says why."""


def split_suffix(text: str) -> tuple[str, Prim | None]:
    """`12i8` as `12` and i8. In hexadecimal, `f32` at the end can only be digits."""
    number, suffix = _NUMBER.fullmatch(text).groups()  # type: ignore[union-attr]
    return number, Prim(suffix) if suffix else None


def read_int(text: str) -> tuple[int, Prim | None]:
    """An integer in base 10, 16 (`0x`), 2 (`0b`) or in Roman numerals (`0r`), with its suffix.

    In base 16 and 2 the digits are the bits of the suffix's type: `0x80i8` is -128."""
    is_hex = text[:2] in ("0x", "0X")
    if is_hex and "i" not in text and "u" not in text:
        number, prim = text, None
    else:
        number, prim = split_suffix(text)
    number = number.replace("_", "")
    if len(number) > MAX_DIGITS:
        raise BadLiteral(f"this literal has {len(number)} digits; the limit is {MAX_DIGITS}")
    match number[:2].lower():
        case "0x":
            return of_bits(int(number[2:], 16), prim), prim
        case "0b":
            return of_bits(int(number[2:], 2), prim), prim
        case "0r":
            return _roman(number[2:]), prim
        case _:
            return int(number), prim


def of_bits(value: int, prim: Prim | None) -> int:
    """What `value` means at `prim` if it is read as bits: negative with the highest bit of a signed type."""
    is_negative = prim is not None and prim.is_signed and 1 << prim.bits - 1 <= value < 1 << prim.bits
    return value - (1 << prim.bits) if prim is not None and is_negative else value


def _roman(digits: str) -> int:
    """A digit before a larger one counts negative: `XIV` is 10 - 1 + 5."""
    values = [_ROMAN[d] for d in digits]
    following = [*values[1:], 0]
    return sum(-v if v < after else v for v, after in zip(values, following, strict=True))


def read_float(text: str) -> tuple[float, Prim | None, bool]:
    """A decimal or hexadecimal float, its suffix, and whether a point or an exponent makes it a float."""
    number, prim = split_suffix(text)
    number = number.replace("_", "").lower()
    if len(number) > MAX_DIGITS:
        raise BadLiteral(f"this literal has {len(number)} digits; the limit is {MAX_DIGITS}")
    if number.startswith("0x"):
        try:
            return float.fromhex(number), prim, True
        except OverflowError:
            raise BadLiteral("this literal does not fit f64") from None
    return float(number), prim, "." in number or "e" in number


def read_char(text: str) -> int:
    """`'a'` as its code point."""
    value = unescape(text[1:-1])
    if len(value) != 1:
        raise BadLiteral("a character literal holds one character")
    return ord(value)


def unescape(text: str) -> str:
    r"""Replace `\n`, `\"`, `\123` (decimal), `\x41` and so on."""
    return _ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(found: re.Match[str]) -> str:
    code = found[1]
    if code in _ESCAPES:
        return _ESCAPES[code]
    is_hex = code[0] == "x" and len(code) > 1
    if not is_hex and not code.isdigit():
        raise BadLiteral(f"`\\{code}` is no escape sequence")
    value = int(code[1:], 16) if is_hex else int(code[:MAX_DIGITS])
    if value > _MAX_CHAR or 0xD800 <= value < 0xE000:
        raise BadLiteral(f"`\\{code}` is no character")
    return chr(value)


def int_range(prim: Prim) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    if prim.is_unsigned:
        return 0, 2**prim.bits - 1
    return -(2 ** (prim.bits - 1)), 2 ** (prim.bits - 1) - 1


def fits(value: int, prim: Prim) -> bool:
    low, high = int_range(prim)
    return low <= value <= high


def out_of_range(spelling: str, prim: Prim) -> str:
    """The message for a literal that its type cannot hold."""
    low, high = int_range(prim)
    shown = spelling if len(spelling) <= 40 else f"{spelling[:37]}..."
    return f"`{shown}` does not fit {prim.value} ({low}..{high})"
