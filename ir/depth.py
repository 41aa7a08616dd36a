"""How deep programs may be nested. Walks over trees are recursive; what they walk over is counted where it is made, so
that neither the interpreter's stack nor its recursion limit decides what compiles.

    what                                                          counted by
    brackets, expressions, types, modules of a file               frontend/parsing/depth.py
    types found by inference                                      frontend/typing/unknowns.py and the walks beside it
    modules in modules, signatures in signatures                  frontend/modules/declarations.py, signatures.py
    expressions within expressions, through calls                 frontend/elaborate/expressions.py
    values that calls of polymorphic functions make               frontend/elaborate/inline.py
    bodies within bodies: branches, loops, array operations       frontend/elaborate/state.py, then ir/nesting.py
    brackets of the text of an IR                                 ir/read_atoms.py

More than that is E0103.
"""

from __future__ import annotations

import sys

from .errors import CompileError, Diagnostic, Label, Loc

MOST_LEVELS = 256

FRAMES = 20_000
"""Python frames that a walk over the deepest tree takes, and those of the caller."""


def allow_depth() -> None:
    """Raises Python's recursion limit to `FRAMES`. It is the same for all threads, and one may be deep in a tree: so it
    is never lowered, and a higher one stays."""
    if sys.getrecursionlimit() < FRAMES:
        sys.setrecursionlimit(FRAMES)


BRANCHES = "each `else if` or `case` is a level: split the tests in halves, `if x < m then .. else ..`"


def too_deep(what: str, loc: Loc, most: int = MOST_LEVELS, hint: str | None = None) -> CompileError:
    """E0103 at a place; `what` begins the message."""
    text = f"{what} nested deeper than {most} levels".strip()
    return CompileError(Diagnostic("E0103", text, Label(loc, "too deep here"), hint=hint))
