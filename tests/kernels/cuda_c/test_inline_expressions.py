"""Expressions of CUDA C are put into each other with the parentheses that they need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.types import Prim, i64
from soac.kernels.cuda_c.inline_expressions import inlined, is_call, right_hand_side
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, KLet, KLoad, KOp, KStm, KVar, Space


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("f(x)", True),
        ("bit_cast<f32>(x)", True),
        ("float_max(x - y, (f32)z)", True),
        ("f(g(x), h(y))", True),
        ("x + (y * z)", False),
        ("f(x) + g(y)", False),
        ("sinpi(x) / cospi(x)", False),
        ("(x + y)", False),
        ("x", False),
        ("xs[i]", False),
        ("(f32)f(x)", False),
    ],
)
def test_calls(text: str, call: bool) -> None:
    """What only begins and ends like one is none: `x + (y * z)` beside a `*` keeps its parentheses."""
    assert is_call(text) is call


VALUES = {"x": 1013, "y": 17, "z": 5}
EXACT = {Op.ADD: int.__add__, Op.SUB: int.__sub__, Op.MUL: int.__mul__, Op.QUOT: int.__floordiv__, Op.REM: int.__mod__}
OUT, BLOCK = KArray("out", Prim.I64, Space.GLOBAL), KVar("b", Prim.I64)


def stored(stms: list[KStm]) -> int:
    """What a kernel of these statements stores, by the text that it has when its expressions are in each other."""
    known: dict[str, int] = dict(VALUES)
    for stm in inlined(kir.Kernel("k", BLOCK, (OUT,), (), tuple(stms), (), Level.BLOCK)).body:
        match stm:
            case KLet(var, rhs):
                known[var.name] = in_python(right_hand_side(rhs), known)
            case kir.Store(value=KVar(name)):
                return in_python(name, known)
            case _:
                raise AssertionError(stm)
    raise AssertionError("nothing is stored")


def in_python(text: str, known: dict[str, int]) -> int:
    return eval(text.replace("/", "//"), {}, known)  # noqa: S307  arithmetic of ours


@given(st.data())
def test_exact_expressions_keep_their_meaning(data: st.DataObject) -> None:
    """Sums, differences, products, quotients and remainders of each other."""
    known, stms = dict(VALUES), list[KStm]()
    for number in range(data.draw(st.integers(1, 7))):
        x, y = (data.draw(st.sampled_from(list(known)[-4:])) for _ in range(2))
        divides = min(known[x], known[y]) > 0
        op = data.draw(st.sampled_from([*EXACT] if divides else [Op.ADD, Op.SUB, Op.MUL]))
        var = KVar(f"v{number}", Prim.I64)
        stms.append(KLet(var, KOp(op, Prim.I64, (KVar(x, Prim.I64), KVar(y, Prim.I64)), True)))
        known[var.name] = EXACT[op](known[x], known[y])
    last = f"v{len(stms) - 1}"
    assert stored([*stms, kir.Store(OUT, i64(0), KVar(last, Prim.I64))]) == known[last]


def test_a_load_stays_ahead_of_what_may_change_its_array() -> None:
    """`x = out[0]; out[1] = 7; out[2] = x`: not `out[2] = out[0]`, but beside arithmetic the load goes to its use."""
    x, y = KVar("x", Prim.I64), KVar("y", Prim.I64)
    between = (kir.Store(OUT, i64(1), i64(7)), KLet(y, KOp(Op.ADD, Prim.I64, (BLOCK, BLOCK), True)))
    for stm, stays in zip(between, (True, False), strict=True):
        stms = (KLet(x, KLoad(OUT, i64(0))), stm, kir.Store(OUT, i64(2), x), kir.Store(OUT, i64(3), y))
        body = inlined(kir.Kernel("k", BLOCK, (OUT,), (), stms, (), Level.BLOCK)).body
        assert any(isinstance(one, KLet) and isinstance(one.rhs, KLoad) for one in body) is stays
