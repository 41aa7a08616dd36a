"""The messages of inference: each function here makes one diagnostic; the codes are stable.

E0104 literal out of range          E0201 unknown name            E0202 types differ
E0203 sizes differ                  E0204 ragged array literal    E0205 bound twice
E0206 recursion                     E0208 operator is not a->a->a E0209 used after consumption
E0211 match or pattern not complete E0212 unknown field           E0213 not a function / too many arguments
E0214 unknown type                  E0215 arguments of a type     E0216 constructors
E0217 type not determined           E0218 function where data is needed
E0219 not allowed for an entry      E0220 unknown module          E0221 may not be consumed here
E0222 unique result shares data     E0223 hidden sizes or functions   E0224 module and signature
E0225 size needed too early         E0226 size of something inside    E0227 size not determined
E0103 types nested too deeply
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ...ir.nearest import nearest
from .habits import FOREIGN


class DependsOnFailed(Exception):
    """The definition uses one that is already reported."""


def fault(
    code: str,
    message: str,
    loc: Loc,
    label: str = "",
    others: Iterable[Label] = (),
    notes: Iterable[str] = (),
    hint: str | None = None,
) -> CompileError:
    """An error to raise."""
    return CompileError(Diagnostic(code, message, Label(loc, label), tuple(others), tuple(notes), hint))


def unknown(code: str, what: str, name: str, loc: Loc, names: Iterable[str], hint: str | None = None) -> CompileError:
    """E0201, E0212, E0214, E0220: a name that is nowhere, with the nearest that is."""
    near = nearest(name, (one for one in names if one[0] != "_"), 0.65)
    advice = f"did you mean `{near}`?" if near else hint
    if name in FOREIGN and not (near and near.startswith(name)):
        advice = FOREIGN[name]
    return fault(code, f"unknown {what} `{name}`", loc, "not found", hint=advice)


def bound_twice(what: str, name: str, loc: Loc, first: Loc) -> CompileError:
    """E0205."""
    return fault("E0205", f"duplicate {what} `{name}`", loc, "bound again", [Label(first, "also bound here")])
