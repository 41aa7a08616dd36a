"""How deep recursion may be: the most calls of a function that may be open at once; R0107 beyond that."""

from __future__ import annotations

from .core import FunDef
from .errors import Diagnostic, Label, Loc, RunError

MOST_CALLS = 1000
"""What `#[depth(n)]` on a function replaces."""


def most_calls(fun: FunDef) -> int:
    """How many calls of a function may be open at once."""
    for attr in fun.attrs:
        if attr.name == "depth" and len(attr.args) == 1 and attr.args[0].name.isdecimal():
            return max(1, int(attr.args[0].name))
    return MOST_CALLS


def too_many_calls(name: str, most: int, loc: Loc) -> RunError:
    """R0107 at a function."""
    text = f"recursion of `{name}` is deeper than {most} calls"
    hint = "set another limit with `#[depth(n)]` on the function"
    return RunError(Diagnostic("R0107", text, Label(loc, "the function"), hint=hint))
