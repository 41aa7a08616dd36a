"""Every operation has partial derivatives, or is known to be flat; the factors are those of finite differences."""

from __future__ import annotations

from itertools import count

import pytest

from soac.frontend.building.code import Code
from soac.frontend.derivatives.partials import ROWS, STEPS, partials
from soac.ir.core import PrimOp
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op, operand_types
from soac.ir.scalar import apply, defined
from soac.ir.types import Atom, Const, Names, Prim, Var, scalar

POINTS = {Prim.F64: (0.37, 0.81, 0.59), Prim.BOOL: (True,), Prim.I64: (3,), Prim.I32: (3,)}
STEP = 1e-6
SMOOTH = sorted((op for op in ROWS if defined(op, Prim.F64)), key=str)


def test_every_operation_is_in_one_of_the_tables() -> None:
    assert ROWS.keys() | STEPS == set(Op)
    assert not ROWS.keys() & STEPS
    assert len(SMOOTH) > 35


@pytest.mark.parametrize("op", SMOOTH)
def test_factors(op: Op) -> None:
    types = operand_types(op, Prim.F64)
    turns = count()
    at = [POINTS[prim][next(turns) % len(POINTS[prim])] + (op is Op.ACOSH) for prim in types]
    known = value_of(op, at)
    for k, factor in enumerate(factors(op, types, at, known)):
        if types[k] is not Prim.F64 or (op is Op.NEXTAFTER and k == 1):
            assert factor is None
            continue
        up, down = (value_of(op, [*at[:k], at[k] + step, *at[k + 1 :]]) for step in (STEP, -STEP))
        assert (factor or 0.0) == pytest.approx((up - down) / (2 * STEP), rel=1e-7, abs=1e-8)


def value_of(op: Op, at: list[float]) -> float:
    return float(apply(op, Prim.F64, tuple(at)))


def factors(op: Op, types: tuple[Prim, ...], at: list[float], result: float) -> list[float | None]:
    """The factors at a point, computed by the statements that are emitted for them."""
    code = Code(Names(0), {}, NOWHERE)
    params = [code.param("x", scalar(prim)) for prim in (*types, Prim.F64)]
    *args, last = [Var(param.name) for param in params]
    found = partials(code, op, Prim.F64, args, last)
    values = dict(zip((param.name for param in params), [*at, result], strict=True))

    def valued(atom: Atom) -> float:
        return atom.value if isinstance(atom, Const) else values[atom.name]

    for stm in code.stms:
        assert isinstance(stm.exp, PrimOp)
        values[stm.pat[0].name] = apply(stm.exp.op, stm.exp.prim, tuple(map(valued, stm.exp.args)))
    return [None if atom is None else valued(atom) for atom in found]
