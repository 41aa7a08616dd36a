"""Static libraries: archives of objects with an index of their symbols, as `ar` writes them (System V, 32 bits)."""

from __future__ import annotations

from collections.abc import Sequence

from ..runtime.object_symbols import defined_symbols

MAGIC = b"!<arch>\n"
HEADER = 60


def archive(objects: Sequence[bytes]) -> bytes:
    """The archive of these objects, in order. It names no user and no time: equal objects give an equal archive."""
    symbols = [(name.encode() + b"\0", k) for k, data in enumerate(objects) for name in defined_symbols(data)]
    names = b"".join(name for name, _ in symbols)
    index_size = 4 + 4 * len(symbols) + len(names)
    at, places = len(MAGIC) + HEADER + padded(index_size), list[int]()
    for data in objects:
        places.append(at)
        at += HEADER + padded(len(data))
    words = (len(symbols), *(places[k] for _, k in symbols))
    index = b"".join(word.to_bytes(4, "big") for word in words) + names
    members = (member(f"{k}.o/", data) for k, data in enumerate(objects))
    return MAGIC + member("/", index) + b"".join(members)


def padded(size: int) -> int:
    """Members begin at even places."""
    return size + size % 2


def member(name: str, data: bytes) -> bytes:
    """A file of the archive: name, time, user, group, mode, size, then what it holds."""
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
    return header + data + b"\n" * (len(data) % 2)
