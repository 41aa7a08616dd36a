"""The bytes of files and streams, within a limit: an input may be endless (`/dev/zero`), or larger than the memory.
Files are written as a whole or not at all."""

from __future__ import annotations

import os
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
    while left > 0:
        size = min(left, PIECE)
        parts.append(file.read(size))
        if len(parts[-1]) < size:  # the end: a terminal that is read again waits for another one
            break
        left -= size
    return b"".join(parts)


def write_file(path: Path, data: bytes) -> None:
    """Writes a file: whatever happens meanwhile, the old one is there or the new one. A pipe or a device is written
    to as it is. Raises OSError."""
    target = path.resolve()
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    new = target.with_name(f"{target.name[:100]}.{os.getpid()}.new")
    try:
        with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), "wb") as file:
            file.write(data)
        os.replace(new, target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
