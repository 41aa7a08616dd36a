"""Whether a program has entry points, and the one that is asked for. Light to import: `soac check` needs no more."""

from __future__ import annotations

from collections.abc import Sequence

from .ir.core import Prog
from .ir.errors import CompileError, Diagnostic, Label, Loc
from .ir.nearest import nearest


def require_entries(prog: Prog, file: str) -> None:
    """Raises `CompileError` E0001 where the program in `file` has no entry point."""
    if not any(fun.entry for fun in prog.functions):
        where, hint = Label(Loc(file, 1, 1, 1, 1), ""), "add `entry main ...`"
        raise CompileError(Diagnostic("E0001", "the program has no entry point", where, hint=hint))


LONGEST = 60
"""Characters of a name that messages show; longer ones are cut in their middle."""


def no_entry(entry: str, entries: Sequence[str]) -> CompileError:
    """E0001, with what the program has."""
    near = nearest(entry, entries) if len(entry) <= LONGEST else None
    hint = f"did you mean `{near}`? " if near else ""
    hint += f"the program has: {', '.join(map(shown, entries))}"
    return CompileError(Diagnostic("E0001", f"no entry point `{shown(entry)}`", hint=hint))


def shown(name: str) -> str:
    """A name in a message."""
    side = (LONGEST - 3) // 2
    return name if len(name) <= LONGEST else f"{name[:side]}...{name[-side:]}"
