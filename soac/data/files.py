"""The bytes of files and streams, within a limit: an input may be endless (`/dev/zero`), or larger than the memory."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import BinaryIO

from .value import data_error

MOST_STREAMED = 1 << 30  # bytes of what has no size beforehand: a pipe, a device
PIECE = 1 << 20


def read_file(path: Path, limit: int) -> bytes:
    """The contents of a file of at most `limit` bytes, of a pipe or a device of at most `MOST_STREAMED`. Raises
    OSError, DataError D0112."""
    with path.open("rb", buffering=0) as file:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return read_stream(file, str(path), limit)
        if status.st_size > limit:
            raise data_error("D0112", f"`{path}` has {status.st_size} bytes, over the limit of {limit} (`--max-input`)")
        return _upto(file, limit)


def read_stream(file: BinaryIO, name: str, limit: int) -> bytes:
    """What comes out of a stream to its end. Raises DataError D0112."""
    most = min(limit, MOST_STREAMED)
    data = _upto(file, most + 1)
    if len(data) > most:
        raise data_error("D0112", f"`{name}` gives more than {most} bytes without an end; store it in a file first")
    return data


def _upto(file: BinaryIO, most: int) -> bytes:
    """At most that many bytes; a stream gives them in pieces."""
    parts, left = list[bytes](), most
    while left > 0 and (part := file.read(min(left, PIECE))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
