"""What is known not to be negative is not, for all numbers: every operation on what counts and on what does not."""

from __future__ import annotations

import itertools
from contextlib import suppress

from soac.ir.ops import Op
from soac.ir.scalar import ScalarFailure, apply
from soac.ir.types import Prim, i64
from soac.kernels.kernel_ir.nodes import KLet, KOp, KVar, Operand
from soac.kernels.kernel_ir.signs import Ranges

I64 = Prim.I64
N, X, MADE = KVar("n", I64), KVar("x", I64), KVar("made", I64)
ATOMS: tuple[Operand, ...] = (N, X, i64(0), i64(3), i64(-2))
OPS = (Op.ADD, Op.SUB, Op.MUL, Op.MIN, Op.MAX, Op.DIV, Op.MOD, Op.QUOT, Op.REM)
EDGES = (-(2**63), -3, -1, 0, 1, 2, 2**62, 2**63 - 1)


def test_a_natural_number_is_not_negative() -> None:
    """n counts; an `exact` sum or product does not overflow."""
    proved = 0
    for op, args, exact in itertools.product(OPS, itertools.product(ATOMS, repeat=2), (False, True)):
        ranges = Ranges(naturals={N})
        ranges.note(KLet(MADE, KOp(op, I64, args, exact)))
        if ranges.is_natural(MADE, frozenset()):
            proved += 1
            for n, x in itertools.product([e for e in EDGES if e >= 0], EDGES):
                given = {N: n, X: x}
                values = tuple(given[a] if isinstance(a, KVar) else int(a.value) for a in args)
                if exact and op in (Op.ADD, Op.MUL) and sum(map(abs, values)) * max(map(abs, values)) >= 2**63:
                    continue
                with suppress(ScalarFailure):
                    assert int(apply(op, I64, values)) >= 0, (op, args, exact, n, x)
    assert proved > 100


def test_what_is_more_than_the_least_of_numbers() -> None:
    ranges = Ranges()
    ranges.note(KLet(MADE, KOp(Op.MIN, I64, (N, X))))
    positive = ranges.positive_with(MADE)
    assert {N, X, MADE} <= positive
    assert all(ranges.is_natural(one, positive) for one in (N, X, MADE))
    assert not ranges.is_natural(N, frozenset())
