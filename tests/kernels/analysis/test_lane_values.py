"""What the lanes of a block hold is what the operation gives for each of them."""

from __future__ import annotations

from dataclasses import dataclass

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from soac.ir import scalar
from soac.ir.ops import Op
from soac.ir.types import Const, Prim
from soac.kernels.analysis.lane_values import Value, in_lanes, value_of
from soac.kernels.kernel_ir.nodes import KOp, KVar, Operand

BINARY = (Op.ADD, Op.SUB, Op.MUL, Op.MIN, Op.MAX, Op.QUOT, Op.REM, Op.DIV, Op.MOD, Op.LT, Op.EQ)
LANES = 3


@dataclass(frozen=True)
class Operation:
    """An operation, and for each operand a number for all lanes or one for each."""

    op: Op
    prim: Prim
    operands: tuple[int | list[int], ...]


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    op, prim = (
        draw(st.sampled_from((*BINARY, Op.SELECT))),
        draw(st.sampled_from((Prim.I32, Prim.I64, Prim.U8, Prim.U64))),
    )
    highest = (1 << prim.bits - (not prim.is_unsigned)) - 1
    number = st.sampled_from((0, 1, 2, 7, highest - 1, highest))
    value = number | st.lists(number, min_size=LANES, max_size=LANES)
    condition = (draw(st.lists(st.integers(0, 1), min_size=LANES, max_size=LANES)),) if op is Op.SELECT else ()
    return Operation(op, prim, (*condition, draw(value), draw(value)))


@given(operations())
def test_lanes_hold_what_the_operation_gives(made: Operation) -> None:
    """Also beyond the numbers of NumPy's own integers; nothing is known where a lane fails."""
    env: dict[str, Value] = {}
    operands: list[Operand] = []
    for k, value in enumerate(made.operands):
        prim = Prim.BOOL if made.op is Op.SELECT and k == 0 else made.prim
        if isinstance(value, list):
            env[f"x{k}"] = in_lanes([bool(x) if prim is Prim.BOOL else x for x in value])
        operands.append(KVar(f"x{k}", prim) if isinstance(value, list) else Const(prim, value))
    found = value_of(
        lambda x: x.value if isinstance(x, Const) else env[x.name], KOp(made.op, made.prim, tuple(operands))
    )
    rows = zip(*[value if isinstance(value, list) else [value] * LANES for value in made.operands], strict=True)
    try:
        wanted = [scalar.meaning(made.op, made.prim)(*row) for row in rows]
    except scalar.ScalarFailure:
        assert found is None
        return
    assert found is not None
    assert np.broadcast_to(np.asarray(found, object), LANES).tolist() == wanted
