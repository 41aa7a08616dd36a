"""Comparisons of an index with a number, in narrow lanes: right for all operators and for numbers at the ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import soac
from soac.ir.types import Prim
from soac.kernels.analysis.uniformity import find_facts
from soac.kernels.analysis.widest_type import widest_type
from soac.kernels.kernel_ir.parse import parse_kernel

OPERATORS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "lt": ("<", np.less), "le": ("<=", np.less_equal), "gt": (">", np.greater), "ge": (">=", np.greater_equal),
    "eq": ("==", np.equal), "ne": ("!=", np.not_equal),
}  # fmt: skip
ENDS = [-(2**63), -(2**63) + 1, -1, 0, 1, 62, 63, 64, 65, 200, 299, 300, 2**62, 2**63 - 64, 2**63 - 1]


@cache
def program() -> soac.Program:
    """Each operator, with the index on either side and moved by a number."""
    entries = [
        f"entry {name}{side} [n] (m: i64) (d: i64) (ys: [n]i64): [n][m]{prim} ="
        f" map (\\y -> map (\\k -> {prim}.bool ({left})) (iota m)) ys"
        for name, (op, _) in OPERATORS.items()
        for side, prim, left in (
            ("_a", "u8", f"k {op} y"),
            ("_b", "i16", f"y {op} k"),
            ("_c", "u8", f"k + d {op} y"),
            ("_d", "f32", f"k + d {op} y"),
        )
    ]
    return soac.compile("\n".join(entries))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", OPERATORS)
def test_compares(name: str, threads: int) -> None:
    ys, compare = np.array(ENDS), OPERATORS[name][1]
    for m in (1, 63, 64, 65, 257, 300):
        k = np.arange(m)[None, :]
        for d in (0, 5, 2**63 - 100):
            with np.errstate(over="ignore"):
                wanted = compare(k, ys[:, None]), compare(ys[:, None], k), compare(k + d, ys[:, None])
            for side, want in zip("abcd", (*wanted, wanted[-1]), strict=True):
                (got,) = program().prepare(f"{name}_{side}", threads=threads)((m, d, ys))
                np.testing.assert_array_equal(got, want.astype(got.dtype), err_msg=f"{side} {m} {d}")


def test_what_is_the_same_for_all_has_no_lanes() -> None:
    kernel = parse_kernel("""
kernel k(block; labels: [i32], scale: [f64], out: [u8]; n: i64) {
  threads i in 0..n {
    let x: i32 = labels[block]
    let s: f64 = scale[0]
    let t: bool = lt_f64 s 1.0f64
    let y: i64 = i32_to_i64 x
    let c: bool = eq_i64 y i
    let d: bool = and_bool c t
    let z: u8 = bool_to_u8 d
    out[i] := z
  }
}
""")
    assert widest_type(kernel.body, find_facts(kernel.body)) is Prim.U8
