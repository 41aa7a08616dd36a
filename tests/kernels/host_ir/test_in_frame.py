"""Small arrays that launches write and whose elements are read are in the frame; what is kept longer is not."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir import core
from soac.ir.core import Fix, ForLoop, Param, Slice
from soac.ir.errors import NOWHERE
from soac.ir.types import Const, Name, Prim, Type, Var, i64, scalar
from soac.kernels.host_ir.in_frame import in_frame
from soac.kernels.host_ir.nodes import HostBody, HostExp, HostIf, HostLoop, HostStm, Launch

XS, X, YS, C, K = (Name(base, k) for k, base in enumerate(("xs", "x", "ys", "c", "k")))


def stm(name: Name, type_: Type, exp: HostExp) -> HostStm:
    return HostStm((Param(name, type_),), exp, NOWHERE)


def array(*sizes: int | str) -> Type:
    return Type(Prim.F64, tuple(i64(n) if isinstance(n, int) else Var(K) for n in sizes))


def made(type_: Type) -> HostStm:
    return stm(XS, type_, core.Scratch(type_))


LAUNCH = HostStm((), Launch("k", i64(1), (XS,), (), (True,), i64(1), 1.0, ()), NOWHERE)
READ = stm(X, scalar(Prim.F64), core.Index(XS, (Fix(i64(0)),), True))


@pytest.mark.parametrize(
    ("sizes", "fits"), [((1,), True), ((2, 4), True), ((9,), False), (("k",), False), ((0,), False)]
)
def test_a_few_elements_are_in_the_frame(sizes: tuple[int | str, ...], fits: bool) -> None:
    assert (XS in in_frame(HostBody((made(array(*sizes)), LAUNCH, READ), (Var(X),)))) == fits


BODY = HostBody((), (Var(XS),))
KEPT: dict[str, tuple[tuple[HostStm, ...], Name]] = {
    "a result": ((), XS),
    "a view": ((stm(YS, array(1), core.Index(XS, (Slice(i64(0), i64(1), i64(1)),), True)),), YS),
    "another name": ((stm(YS, array(1), core.Copied(Var(XS))),), YS),
    "carried at first": (
        (
            stm(
                YS,
                array(1),
                HostLoop((Param(YS, array(1)),), (Var(XS),), ForLoop(K, i64(2), Prim.I64), HostBody((), (Var(YS),))),
            ),
        ),
        X,
    ),
    "the result of a branch": ((stm(YS, array(1), HostIf(Const(Prim.BOOL, True), BODY, BODY)),), X),
}


@pytest.mark.parametrize("kind", KEPT)
def test_what_something_refers_to_is_not(kind: str) -> None:
    more, result = KEPT[kind]
    assert not in_frame(HostBody((made(array(1)), LAUNCH, READ, *more), (Var(result),)))


PROGRAM = """
entry sums [n] (k: i64) (xs: [n]i64): i64 =
  loop s = 0 for i < k do s + i64.sum (map (\\x -> x * (s & 3) + i) xs)

entry rounds [n] (xs: [n]i64): i64 =
  (loop (xs, total) = (filter (> 1) xs, 0) while length xs > 0 do
     (filter (> 1) (map (\\x -> if x % 2 == 0 then x / 2 else 3 * x + 1) xs), total + length xs)).1
"""


def test_sums_and_counts_are_in_the_frame() -> None:
    program = soac.compile(PROGRAM)
    bodies = (body for fun in program.compiled.host.functions for body in fun.bodies)
    assert {"count", "counters"} <= {name.base for body in bodies for name in in_frame(body)}
    xs, total = np.arange(40), 0
    assert program.sums(3, xs[:5]) == 25
    left = xs[xs > 1]
    while len(left):
        left, total = np.where(left % 2 == 0, left // 2, 3 * left + 1), total + len(left)
        left = left[left > 1]
    assert program.rounds(xs) == total
