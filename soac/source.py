"""Reading the text of a program from a file, or from stdin (`-`)."""

from __future__ import annotations

import sys
from pathlib import Path

from .frontend.source.text import MAX_SOURCE, decode_source
from .ir.errors import CompileError, Diagnostic, Label, Loc


def read_source(path: Path) -> str:
    """The text of a program; raises `CompileError` E0002 for what cannot be read or is no text."""
    try:
        if str(path) == "-":
            return decode_source(sys.stdin.buffer.read(MAX_SOURCE + 1), "<stdin>")
        with path.open("rb") as file:
            return decode_source(file.read(MAX_SOURCE + 1), str(path))
    except OSError as fault:
        loc = Loc(str(path), 1, 1, 1, 1)
        raise CompileError(Diagnostic("E0002", fault.strerror or str(fault), Label(loc, ""))) from None
