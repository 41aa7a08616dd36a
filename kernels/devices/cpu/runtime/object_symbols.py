"""Which symbols an object file leaves undefined, and defines: ELF and Mach-O, 64 bits, little endian.

LLVM's code generator adds calls of its own (a rounding, a copy), so a module's declarations do not tell.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

ELF_MAGIC, MACHO_MAGIC = b"\x7fELF\x02\x01", b"\xcf\xfa\xed\xfe"
ELF_SYMTAB, MACHO_SYMTAB = 2, 2


def undefined_symbols(data: bytes) -> frozenset[str] | None:
    """The names, without a leading underscore on Mach-O; None for a format that we do not read."""
    if data.startswith(ELF_MAGIC):
        return frozenset(name for name, _, section in _elf(data) if not section)
    if data.startswith(MACHO_MAGIC):
        return frozenset(_macho(data))
    return None


def defined_symbols(data: bytes) -> tuple[str, ...]:
    """The names that an ELF object gives to others, in order."""
    return tuple(name for name, is_local, section in _elf(data) if section and not is_local)


def _name(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


def _elf(data: bytes) -> Iterator[tuple[str, bool, int]]:
    """Name, whether it is for this object alone, and section of each symbol that has a name."""
    table, entry_size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + k * entry_size) for k in range(count)]
    for _, kind, _, _, offset, size, link, _, _, step in sections:
        if kind != ELF_SYMTAB:
            continue
        strings = sections[link][4]
        for at in range(offset, offset + size, step):
            name, info, _, section = struct.unpack_from("<IBBH", data, at)
            if name:
                yield _name(data, strings + name), info >> 4 == 0, section


def _macho(data: bytes) -> list[str]:
    commands, at = struct.unpack_from("<I", data, 16)[0], 32
    found: list[str] = []
    for _ in range(commands):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == MACHO_SYMTAB:
            symbols, count, strings, _ = struct.unpack_from("<IIII", data, at + 8)
            for k in range(count):
                name, type_, section = struct.unpack_from("<IBB", data, symbols + 16 * k)
                if not type_ & 0x0E and not section:
                    found.append(_name(data, strings + name).removeprefix("_"))
        at += size
    return found
