"""Source locations, diagnostics as data, and the exceptions of the project.

A user's fault is a `Diagnostic` (compile time: `CompileError`, run time: `RunError`); ours is `IRError`.
Rendering with source line and caret is in `frontend/source/diagnostics.py`, the only place that does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .records import dataclass

MAX_CALLS = 16
"""How many calls a place of inlined code keeps, the innermost."""


@dataclass(frozen=True, slots=True)
class Loc:
    """A half-open source range; lines and columns count from 1, columns in characters.

    `calls`: where the code at this place was called, the innermost call first, if it was inlined."""

    file: str
    line: int
    col: int
    end_line: int
    end_col: int
    calls: tuple[Loc, ...] = ()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}"

    @property
    def here(self) -> Loc:
        """The place in the source alone."""
        return replace(self, calls=()) if self.calls else self

    @property
    def as_call(self) -> tuple[Loc, ...]:
        """The calls of what is inlined here."""
        return (self.here, *self.calls)[:MAX_CALLS]

    def called(self, calls: tuple[Loc, ...]) -> Loc:
        """This place in code that is inlined at `calls`."""
        return replace(self, calls=(*self.calls, *calls)[:MAX_CALLS])


NOWHERE = Loc("", 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Label:
    """A place and what is to be said of it."""

    loc: Loc
    text: str


NOTES = frozenset({"T0102", "T0103", "T0104", "T0207"})
"""Codes of what is said of tuning where the work goes on."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: `error[E0201]: ...` at `primary`, further places, notes and a hint.

    `code` starts with E (compile), R (run time), D (data), T (tuning), C (command line), S (system) or W (warning).
    """

    code: str
    message: str
    primary: Label = Label(NOWHERE, "")
    others: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    hint: str | None = None

    @property
    def is_warning(self) -> bool:
        return self.code[0] == "W" or self.code in NOTES

    def called(self, calls: tuple[Loc, ...]) -> Diagnostic:
        """This of code that was called at `calls`."""
        return replace(self, primary=replace(self.primary, loc=self.primary.loc.called(calls)))

    @property
    def stack(self) -> str:
        """The calls that led to the place, a line each."""
        return "\n".join(f"called at {call}" for call in self.primary.loc.calls)


class SoacError(Exception):
    """Anything that is the user's to mend; `exit_code` is what the CLI ends with."""

    exit_code = 1

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(map(_summary, diagnostics)))
        self.diagnostics = diagnostics
        for diagnostic in diagnostics:
            if diagnostic.hint:
                self.add_note(f"hint: {diagnostic.hint}")  # which tracebacks show
        if more := more_about(diagnostics):
            self.add_note(more)

    def __reduce__(self) -> tuple[type[SoacError], tuple[Diagnostic, ...]]:
        """A copy from another process has the same diagnostics."""
        return type(self), self.diagnostics


def more_about(diagnostics: Sequence[Diagnostic]) -> str:
    """The line below messages that leads to the pages of their codes; empty where none is an error."""
    codes = dict.fromkeys(diagnostic.code for diagnostic in diagnostics if not diagnostic.is_warning)
    return f"more: soac errors {' '.join(codes)}" if codes else ""


def _summary(diag: Diagnostic) -> str:
    place = "" if diag.primary.loc == NOWHERE else f"{diag.primary.loc}: "
    return f"{place}error[{diag.code}]: {diag.message}" + (diag.stack and f"\n{diag.stack}")


class CompileError(SoacError):
    """The program is wrong (codes E)."""


class RunError(SoacError):
    """The program failed while running (codes R)."""


def run_error(code: str, text: str, loc: Loc) -> RunError:
    """A failure of the program at `loc`, with its code."""
    return RunError(Diagnostic(code, text, Label(loc, "")))


class DataError(SoacError):
    """A data file or value is wrong (codes D)."""


class TuningError(SoacError):
    """A tuning file is wrong (codes T)."""


class SystemFault(SoacError):
    """Something is missing on this machine (codes S)."""

    exit_code = 3


class IRError(Exception):
    """A bug of the compiler: what, in which pass or rule, with the IR in question."""
