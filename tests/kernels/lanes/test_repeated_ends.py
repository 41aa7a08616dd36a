"""Loops end with a whole vector that reaches back, where stores under masks take long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import soac
from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.devices.cpu import build
from soac.kernels.kernel_ir.nodes import (
    Assign,
    Declare,
    For,
    KArray,
    Kernel,
    KLet,
    KLoad,
    KOp,
    KVar,
    Operand,
    Space,
    Store,
    Threads,
)
from soac.kernels.lanes.module import Abilities, emit
from soac.kernels.passes.choose_lanes import LaneSettings, choose_lanes

Array = NDArray[Any]
N, INDEX, V, P = KVar("n", Prim.I64), KVar("i", Prim.I64), KVar("v", Prim.F32), KVar("p", Prim.I64)
X, Y, AT = (
    KArray("x", Prim.F32, Space.GLOBAL),
    KArray("y", Prim.F32, Space.GLOBAL),
    KArray("at", Prim.I64, Space.GLOBAL),
)


def text_of(
    *stms: Any,
    hi: Operand = N,
    over: tuple[tuple[KArray, KArray], ...] = (),
    masks: bool = False,
    arrays: tuple[KArray, ...] = (AT, X, Y),
) -> str:
    """A kernel of one loop, lanes 8 x 2."""
    loop = Threads(INDEX, i64(0), hi, stms)
    kernel = Kernel("k", KVar("b", Prim.I64), arrays, (N,), (loop,), (), Level.BLOCK, over=over)
    return emit((choose_lanes(kernel, LaneSettings(width=8, unroll=2)),), target=Abilities(masks=masks))


def reaches_back(text: str) -> bool:
    return "whole" in text


def test_the_last_vector_reaches_back() -> None:
    copied = KLet(V, KLoad(X, INDEX)), Store(Y, INDEX, V)
    assert reaches_back(text_of(*copied))
    assert not reaches_back(text_of(*copied, masks=True))
    found = text_of(*copied, hi=i64(25))
    assert reaches_back(found)
    assert "call void @llvm.masked.store" not in found, "there are vectors enough, which is known"
    assert not reaches_back(text_of(*copied, hi=i64(24)))
    assert not reaches_back(text_of(*copied, hi=i64(7)))


def test_threads_that_must_not_run_twice() -> None:
    """What they store is read, maybe under another name; places that may be those of other threads."""
    copied, total = (KLet(V, KLoad(X, INDEX)), Store(Y, INDEX, V)), KVar("total", Prim.F32)
    assert not reaches_back(text_of(KLet(V, KLoad(Y, INDEX)), Store(Y, INDEX, V)))
    assert not reaches_back(text_of(*copied, over=((Y, X),)))
    assert not reaches_back(text_of(KLet(P, KLoad(AT, INDEX)), KLet(V, KLoad(X, INDEX)), Store(Y, P, V)))
    assert reaches_back(text_of(Declare(total, Const(Prim.F32, 0.0)), *copied, Assign(total, V)))


@pytest.mark.parametrize(("prim", "several"), [(Prim.F32, True), (Prim.U8, False)])
def test_what_is_not_loaded_under_masks_goes_by_vectors(prim: Prim, several: bool) -> None:
    """Loops along columns have what is left as one group under a mask, so that memory is gone over once."""
    x, y, v = KArray("x", prim, Space.GLOBAL), KArray("y", prim, Space.GLOBAL), KVar("v", prim)
    k, at = KVar("k", Prim.I64), KVar("at", Prim.I64)
    column = KLet(at, KOp(Op.ADD, Prim.I64, (INDEX, k))), KLet(v, KLoad(x, at)), Store(y, INDEX, v)
    text = text_of(For(k, i64(9), column), arrays=(x, y))
    assert ("several" in text) == several
    assert reaches_back(text)
    assert "several" in text_of(For(k, i64(9), column), arrays=(x, y), masks=True)


PROGRAM = """
entry add [n][m] (a: [n][m]t) (v: [m]t): [n][m]t = map (\\row -> map2 (+) row v) a
entry turn [n][m] (a: [n][m]t) (_v: [m]t): [n][m]t = map (\\row -> copy row[::-1]) a
entry rotate [n][m] (a: [n][m]t) (_v: [m]t): [n][m]t = map (rotate 1) a
entry pad [n][m] (a: [n][m]t) (v: [m]t): [n][]t =
  tabulate_2d n (m + 3) (\\i j -> if i >= 1 && j >= 1 && j <= m then a[i, j-1] + v[j-1] else 7)
entry clamp [n][m] (a: [n][m]t) (_v: [m]t): [n][m]t =
  tabulate_2d n m (\\i j -> t.max a[i, i64.max 0 (j-1)] a[i, i64.min (m-1) (j+1)])
entry windows [n][m] (a: [n][m]t) (_v: [m]t): [n][m]t =
  tabulate_2d n m (\\i j -> loop s = 0 for k < n do s * 2 + a[i, (j + k) % m] - a[k, j])
entry columns [n][m] (a: [n][m]t) (_v: [m]t): [n][m]t = transpose (map (scan (+) 0) (transpose a))
"""
TYPES = {"i8": np.int8, "f16": np.float16, "f32": np.float32, "i64": np.int64}


def padded(a: Array, v: Array) -> Array:
    found = np.full((len(a), a.shape[1] + 3), 7, a.dtype)
    found[1:, 1:-2] = a[1:] + v
    found[:1, 1:-2] = 7
    return found


def clamped(a: Array, _v: Array) -> Array:
    ends = np.concatenate((a[:, :1], a, a[:, -1:]), 1)
    return np.fmax(ends[:, :-2], ends[:, 2:])


def windows(a: Array, _v: Array) -> Array:
    s = np.zeros_like(a)
    for k in range(len(a)):
        s = s * a.dtype.type(2) + np.roll(a, -k, 1) - a[k]
    return s


PEERS: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda a, v: a + v,
    "turn": lambda a, _: a[:, ::-1],
    "rotate": lambda a, _: np.roll(a, -1, 1),
    "pad": padded,
    "clamp": clamped,
    "windows": windows,
    "columns": lambda a, _: np.cumsum(a, 0, a.dtype),
}


@pytest.mark.parametrize("name", TYPES)
def test_rows_of_every_length(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN and zeros of both signs among floats; integers wrap."""
    monkeypatch.setattr(build, "has_avx512", lambda _: False)
    program, random = (
        soac.compile(PROGRAM.replace("]t", f"]{name}").replace("t.max", f"{name}.max")),
        np.random.default_rng(0),
    )
    for entry, peer in PEERS.items():
        for threads in (1, 2):
            run = program.prepare(entry, threads=threads)
            for m in (0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 66, 95, 127, 130, 200):
                a, v = (random.integers(0, 100, shape).astype(TYPES[name]) for shape in ((5, m), (m,)))
                if a.dtype.kind == "f" and m > 2:
                    a[1, m // 2], a[2, 0], a[3, m - 1] = np.nan, -0.0, np.nan
                with np.errstate(invalid="ignore"):
                    got, wanted = run((a, v)), peer(a, v)
                np.testing.assert_array_equal(got[-1], wanted, err_msg=f"{entry}, rows of {m}")
                if entry in ("turn", "rotate"):
                    assert got[-1].tobytes() == wanted.tobytes(), f"{entry}, rows of {m}"


def test_failing_elements_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "has_avx512", lambda _: False)
    program = soac.compile("entry main [n][m] (a: [n][m]i32) (v: [m]i32): [n][m]i32 = map (\\r -> map2 (/) r v) a")
    for m in (3, 17, 40):
        a, v = np.ones((4, m), np.int32), np.ones(m, np.int32)
        assert (np.asarray(program.main(a, v)) == 1).all()
        v[m - 1] = 0
        with pytest.raises(soac.RunError, match="division by zero"):
            program.main(a, v)
