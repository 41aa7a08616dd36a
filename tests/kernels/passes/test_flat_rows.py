"""Short rows whose elements are the lanes: random ones against the loops that they were."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from random import Random

import numpy as np
import pytest

from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.polynomials import atom, mul
from soac.ir.types import i64
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.affine import Environment
from soac.kernels.kernel_ir.nodes import Kernel, KVar
from soac.kernels.kernel_ir.show import show_kernel
from soac.kernels.passes.flat_rows import flat_rows
from tests.support.block_kernels import BLOCK, I64, OUT, XS, N, var
from tests.support.kernel_interpreter import interpret
from tests.support.random_kernels import M, Writer
from tests.support.random_rows import kernel_of_short_rows

SIZES = [{"n": n, "m": m, "k": k} for n, m, k in ((7, 3, 4), (2, 2, 0), (1, 1, -1), (3, 0, 0))]


def flat(kernel: Kernel) -> Kernel | None:
    numbers, size = count(), mul(atom("n"), atom("m"))
    names = lambda base: KVar(f"{base}.{next(numbers)}", I64)  # noqa: E731
    body = flat_rows(kernel.body, Environment(), {XS: size, OUT: size}, names)
    return None if body is None else replace(kernel, body=body)


def run(kernel: Kernel, scalars: dict[str, int]) -> tuple[list[int], set]:
    """Raises AssertionError where something out of bounds is accessed."""
    length = scalars["n"] * scalars["m"]
    out = np.zeros(length, np.int64)
    failures = interpret(kernel, {"xs": np.arange(length) * 7 % 11 + 1, "out": out}, dict(scalars), 2)
    return out.tolist(), failures


@pytest.mark.parametrize("some", range(5))
def test_values_of_short_rows(some: int) -> None:
    """Clamps, remainders and comparisons of both indices; three of five kernels have the form."""
    changed = 0
    for number in range(14 * some, 14 * some + 14):
        kernel = kernel_of_short_rows(Random(number))
        if (made := flat(kernel)) is None:
            continue
        changed += 1
        for scalars in SIZES:
            try:
                expected, failures = run(kernel, scalars)
            except AssertionError:
                continue
            found, failed = run(made, scalars)
            if failures or failed:
                assert failures >= failed, (scalars, show_kernel(kernel))
                assert failed, (scalars, show_kernel(kernel))
            else:
                assert found == expected, (scalars, show_kernel(kernel))
    assert changed >= 7


@pytest.mark.parametrize(("near", "has_ends"), [(1, True), (9, False)])
def test_rows_that_go_as_they_did(near: int, has_ends: bool) -> None:
    """Elements of the row itself are there in all rows; a comparison that changes before the last few ones stays."""
    i, j, w = var("i"), var("j"), Writer(Random(0), [], ())
    at = w.let(Op.ADD, w.let(Op.MUL, i, M), j)
    w.loaded(at)
    cond = w.let(Op.LT, w.let(Op.ADD, i, i64(near)), N)
    w.out.append(kir.Store(OUT, at, w.let(Op.SELECT, cond, w.numbers[2], i64(5))))
    loop = kir.Threads(i, i64(0), N, (kir.For(j, M, tuple(w.out)),))
    made = flat(Kernel("k", BLOCK, (XS, OUT), (N, M), (loop,), (), Level.BLOCK))
    assert made is not None
    assert any(isinstance(stm, kir.For) for stm in made.body) == has_ends
