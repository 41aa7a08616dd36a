"""What `#[warn(safety_checks)]` asks for: a warning (W0303) for each check that is left in the simplified program.

    #[warn(safety_checks)] map (\\i -> xs[i]) is      ⟶      W0303 at `xs[i]`

A check is an index that is not known to be in bounds, an assertion, or a division whose divisor may be 0.
"""

from __future__ import annotations

from ..ir.core import Assert, Attr, Body, Exp, Index, PrimOp, Prog, Update
from ..ir.errors import Diagnostic, Label, Loc
from ..ir.ops import can_fail
from ..ir.traverse import bodies
from ..ir.types import Const

WARN = Attr("warn", (Attr("safety_checks", ()),))


def safety_warnings(prog: Prog) -> tuple[Diagnostic, ...]:
    """One for each place with a check under the attribute, in the order of the source."""
    places: dict[Loc, str] = {}
    waiting = [(Body(prog.consts, ()), False), *((fun.body, WARN in fun.attrs) for fun in prog.functions)]
    while waiting:
        body, is_asked = waiting.pop()
        for stm in body.stms:
            asked = is_asked or WARN in stm.attrs
            what = _checked(stm.exp) if asked else None
            if what is not None:
                places[stm.loc.here] = what
            waiting += [(inner, asked) for inner in bodies(stm.exp)]
    found = sorted(places.items(), key=lambda place: (place[0].file, place[0].line, place[0].col))
    return tuple([Diagnostic("W0303", "safety check required", Label(loc, what)) for loc, what in found])


def _checked(exp: Exp) -> str | None:
    """What is checked when `exp` is evaluated."""
    match exp:
        case Index(_, _, False) | Update(_, _, _, False):
            return "this index may be out of bounds"
        case Assert():
            return "this may fail"
        case PrimOp(op, prim, (_, Const(_, value))) if can_fail(op, prim):
            return None if value > 0 else "this may fail"
        case PrimOp(op, prim, _) if can_fail(op, prim):
            return "this may be a division by zero or a negative power"
        case _:
            return None
