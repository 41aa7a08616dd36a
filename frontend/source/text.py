"""The text of a program and what it may do. Light to load: a program that is found in the cache needs no more of
the front end."""

from __future__ import annotations

from enum import Enum

from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ...ir.scanner import place

MAX_SOURCE = 4 << 20  # bytes


def decode_source(data: bytes, file: str) -> str:
    """The text of a source file: UTF-8, a byte-order mark is dropped. Raises CompileError E0002."""
    if len(data) > MAX_SOURCE:
        raise _unreadable(file, Loc(file, 1, 1, 1, 1), f"larger than {MAX_SOURCE >> 20} MiB")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise _unreadable(file, _byte_loc(data, file, fault.start), f"not UTF-8 at byte {fault.start}") from None
    at = data.find(b"\0")
    if at >= 0:
        raise _unreadable(file, _byte_loc(data, file, at), f"not a text file: NUL at byte {at}")
    return text


def check_characters(text: str, file: str) -> None:
    """Raises CompileError E0002 for halves of characters, which Python makes of bytes that are no UTF-8."""
    try:
        if not text.isascii():
            text.encode("utf-8")
    except UnicodeEncodeError as fault:
        line, col = place(text, fault.start)
        raise _unreadable(file, Loc(file, line, col, line, col + 1), f"not UTF-8 at {line}:{col}") from None


def _byte_loc(data: bytes, file: str, offset: int) -> Loc:
    line, col = place(data, offset)
    return Loc(file, line, col, line, col + 1)


def _unreadable(file: str, loc: Loc, why: str) -> CompileError:
    return CompileError(Diagnostic("E0002", f"`{file}` is {why}", Label(loc, "")))


class Reach(Enum):
    """What a program may do: import files below the root file's directory, or any file; with `UNTRUSTED`, import the
    former and switch off no check (`#[unsafe]` is ignored)."""

    PROJECT = "project"
    ANYWHERE = "anywhere"
    UNTRUSTED = "untrusted"
