"""What a tile of a chain posts for those behind it (`nodes.LookBack`), in words that are read and written at once.

A word is a status and values, as C lays them out: 8 bytes where that is all, else 16, and as many of those as it
takes, each with the status. Those that were written together have the same one.

    {i32 status; f32 x}     {i32 status; i64 x}     {i32 status; f64 x} {i32 status; f64 y}
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ...ir.floats import bits_of, of_bits
from ...ir.types import Prim

CODES = {
    Prim.BOOL: "?", Prim.I8: "b", Prim.I16: "h", Prim.I32: "i", Prim.I64: "q", Prim.U8: "B", Prim.U16: "H",
    Prim.U32: "I", Prim.U64: "Q", Prim.F16: "e", Prim.BF16: "H", Prim.F32: "f", Prim.F64: "d",
}  # fmt: skip
"""A bf16, which `struct` does not know, is packed as its bits."""
SHORT, LONG = 8, 16


def words_of(prims: Sequence[Prim]) -> tuple[tuple[Prim, ...], ...]:
    """The values of each word."""
    words: list[tuple[Prim, ...]] = [()]
    for prim in prims:
        more = (*words[-1], prim)
        words[-1:] = [more] if struct.calcsize(_form(more)) <= LONG else [words[-1], (prim,)]
    return tuple(words)


def word_bytes(prims: Sequence[Prim]) -> int:
    """Of one word."""
    words = words_of(prims)
    return SHORT if len(words) == 1 and struct.calcsize(_form(words[0])) <= SHORT else LONG


def elements(prims: Sequence[Prim]) -> int:
    """How many u64 the words of a tile are."""
    return len(words_of(prims)) * word_bytes(prims) // SHORT


def packed(status: int, values: Sequence[Any], prims: Sequence[Prim]) -> list[int]:
    """The words of a tile as u64."""
    rest = [bits_of(p)(x) if p is Prim.BF16 else x for p, x in zip(prims, values, strict=True)]
    size, bits = word_bytes(prims), b""
    for word in words_of(prims):
        bits += struct.pack(_form(word), status, *rest[: len(word)]).ljust(size, b"\0")
        del rest[: len(word)]
    return list(struct.unpack(f"={len(bits) // SHORT}Q", bits))


def unpacked(words: Sequence[int], prims: Sequence[Prim]) -> tuple[int, list[Any]]:
    """Status and values."""
    bits, size = struct.pack(f"={len(words)}Q", *words), word_bytes(prims)
    status, values = 0, list[Any]()
    for number, word in enumerate(words_of(prims)):
        status, *found = struct.unpack_from(_form(word), bits, number * size)
        values += found
    return status, [of_bits(p)(x) if p is Prim.BF16 else x for p, x in zip(prims, values, strict=True)]


def _form(word: Sequence[Prim]) -> str:
    return "@i" + "".join(CODES[prim] for prim in word)
