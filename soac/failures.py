"""What the user sees when something goes wrong: diagnostics for mistakes, a bundle for bugs of the compiler."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from .frontend.source.diagnostics import SourceOf, render
from .ir.errors import Diagnostic, SoacError, more_about
from .terminal import has_colour

INTERNAL = 70
MISSING = 3
SHORTAGES = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "EIO", "EMFILE", "ENFILE", "ENOMEM", "EFBIG", "EAGAIN")
}
"""System errors that say nothing about the compiler."""
MAX_QUOTED = 64 << 20  # bytes of a file that a message quotes a line of


def report(error: Exception, args: Sequence[str]) -> int:
    """Shows `error` on stderr; the exit code."""
    if isinstance(error, SoacError):
        show_diagnostics(error.diagnostics)
        return error.exit_code
    short = shortage(error)
    if short is not None and os.environ.get("SOAC_DEBUG") != "1":
        show_diagnostics([Diagnostic("S0202", short)])
        return MISSING
    return _report_bug(error, args)


def shortage(error: Exception) -> str | None:
    """What the machine lacks or refuses, in words, where that is why something failed."""
    match error:
        case MemoryError():
            return "out of memory"
        case RuntimeError() if "can't start new thread" in str(error):
            return "the system starts no more threads"
        case OSError(errno=int(number)) if number in SHORTAGES:
            return f"the system refuses: {error.strerror}" + (f": `{error.filename}`" if error.filename else "")
        case _:
            return None


def source_line_of(file: str) -> str | None:
    """The text of a file that a diagnostic names, or None where there is nothing to show: a pipe or a device is never
    read again, a huge file not for one line of it."""
    path = Path(file)
    try:
        if not path.is_file() or path.stat().st_size > MAX_QUOTED:
            return None
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return None


def show_diagnostics(diagnostics: Sequence[Diagnostic], source_of: SourceOf = source_line_of) -> None:
    """Each diagnostic with its source line, on stderr, and where more is said of them; in colour where that is a
    terminal."""
    color = has_colour(sys.stderr)
    for diagnostic in diagnostics:
        print(render(diagnostic, source_of, color).rstrip("\n"), file=sys.stderr)
    if more := more_about(diagnostics):
        print(more, file=sys.stderr)


# ---- bugs of the compiler ----------------------------------------------------------------------------------------


def _report_bug(error: Exception, args: Sequence[str]) -> int:
    """One line and a bundle to send; the traceback only with SOAC_DEBUG=1."""
    trace = "".join(traceback.format_exception(error))
    if os.environ.get("SOAC_DEBUG") == "1":
        print(trace, end="", file=sys.stderr)
    try:
        bundle, failing = importlib.import_module(".bundle", __package__).write_bundle(trace, args)
        kept = f"bundle in ./{bundle}/ (source, program before the pass, versions, log)"
    except Exception:  # nothing may hide the bug itself
        kept, failing = "no bundle could be written; set SOAC_DEBUG=1 for the log", None
    where = f" in pass `{failing}`" if failing else ""
    summary = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    print(f"soac: internal compiler error{where}: {summary}\n  {kept}", file=sys.stderr)
    return INTERNAL
