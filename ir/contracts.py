"""Operators that break their contract (W0305): those of `reduce`, `scan` and `reduce_by_index` are associative,
and begin with their neutral element. What one operation and a constant do not show is left to `soac test --laws`.
"""

from __future__ import annotations

from collections.abc import Iterator

from .commute import componentwise
from .core import Exp, PrimOp, Prog, Reduction
from .errors import Diagnostic, Label, Loc
from .ops import Op
from .traverse import all_stms, reductions
from .types import Atom, Const, Prim, Var

NEUTRAL = {Op.ADD: 0, Op.MUL: 1, Op.OR: 0, Op.XOR: 0, Op.AND: -1}

NOT_ASSOCIATIVE = frozenset(
    {Op.SUB, Op.DIV, Op.QUOT, Op.REM, Op.MOD, Op.POW, Op.SHL, Op.SHR, Op.USHR, Op.MULHI, Op.ATAN2, Op.NEXTAFTER}
)


def contract_warnings(prog: Prog) -> tuple[Diagnostic, ...]:
    """One W0305 for each place of the source at which an operator breaks its contract."""
    found: dict[Loc, Diagnostic] = {}
    for body in prog.bodies:
        for stm in all_stms(body):
            for reduction in reductions(stm.exp):
                for message, label, hint in _broken(reduction):
                    found[stm.loc.here] = Diagnostic("W0305", message, Label(stm.loc.here, label), hint=hint)
    return tuple([found[loc] for loc in sorted(found, key=lambda loc: (loc.file, loc.line, loc.col))])


def _broken(reduction: Reduction) -> Iterator[tuple[str, str, str]]:
    """What is wrong: a message, what to say at the place, and a remedy."""
    for (exp, x, y), ne in zip(componentwise(reduction.op), reduction.neutral, strict=True):
        op, prim = _operation(exp, Var(x.name), Var(y.name)), x.type.prim
        if op in NOT_ASSOCIATIVE:
            message = "the operator is not associative: the result depends on how the array is cut into parts"
            yield message, "", "`foldl` goes from left to right, one after the other"
        elif op in NEUTRAL and isinstance(ne, Const) and ne.value != _neutral(op, prim):
            message = "the initial value is not neutral: the result depends on how the array is cut into parts"
            hint = f"begin with `{_shown(_neutral(op, prim))}`, and combine the result with `{_shown(ne.value)}`"
            yield message, f"`{_shown(ne.value)}` is not neutral", hint


def _operation(exp: Exp | None, x: Atom, y: Atom) -> Op | None:
    """The operation that makes a result from its two operands alone, if one does."""
    match exp:
        case PrimOp(op, _, (left, right)) if {left, right} == {x, y}:
            return op
        case _:
            return None


def _neutral(op: Op, prim: Prim) -> bool | int | float:
    value = NEUTRAL[op]
    if prim is Prim.BOOL:
        return bool(value)
    return value % (1 << prim.bits) if value < 0 and prim.is_unsigned else value


def _shown(value: bool | int | float) -> str:
    return str(value).lower()
