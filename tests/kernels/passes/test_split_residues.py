"""Loops whose index is divided by a small number give what they gave, whatever the shift, and fail as they did."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soac.frontend.compile import compile_text
from soac.ir.errors import RunError
from soac.ir.machine import CPU, Mode
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.kernel_ir.nodes import KIf, StoreRow, Threads
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.interleave_rows import interleave_rows
from soac.kernels.passes.split_residues import split_residues
from soac.pipeline import compile_core

PARTS = range(2, 9)
ENTRY = """
entry floor{m} [n] (c: i64) (xs: [n]i32): [n]i32 =
  tabulate n (\\i -> let k = (i + c) / {m} let r = (i + c) % {m}
                    in (if k >= 0 && k < n then xs[k] else 7) * 10 + i32.i64 r
                       + (if r == 1 then xs[n - 1 - i] else xs[i]))
entry trunc{m} [n] (c: i64) (xs: [n]i32): [n]i32 =
  tabulate n (\\i -> let k = (i + c - 3) // {m} let r = (i + c) %% {m}
                    in xs[i64.min (n - 1) (i64.abs k)] * 10 + i32.i64 r)
entry checked{m} [n] (xs: [n]i32): [{m} * n + 1]i32 = tabulate ({m} * n + 1) (\\i -> xs[i / {m}])
"""


@cache
def device() -> Executable:
    text = "\n".join(ENTRY.format(m=m) for m in PARTS)
    compiled = compile_core(compile_text(text, "residues.soac"), Mode.FULL, CPU)
    assert all(split_residues(kernel) != kernel for kernel in compiled.host.kernels)
    return Executable.build(compiled.host, compiled.flat.functions)


@given(st.sampled_from(PARTS), st.integers(1, 300), st.integers(-400, 400))
def test_quotients_and_remainders(m: int, n: int, c: int) -> None:
    xs, i = np.arange(3, n + 3, dtype=np.int32), np.arange(n)
    k, r = (i + c) // m, (i + c) % m
    inside = np.where((k >= 0) & (k < n), xs[np.clip(k, 0, n - 1)], 7)
    expected = inside * 10 + r + np.where(r == 1, xs[::-1], xs)
    np.testing.assert_array_equal(device().run(f"floor{m}", (np.int64(c), xs))[0][0], expected)
    k, r = np.trunc((i + c - 3) / m).astype(int), np.fmod(i + c, m)
    expected = xs[np.minimum(n - 1, np.abs(k))] * 10 + r
    np.testing.assert_array_equal(device().run(f"trunc{m}", (np.int64(c), xs))[0][0], expected)


MULTIPLES = """
entry floor [n] (xs: [n]i32): [n]i32 = tabulate n (\\i ->
  let k = ({c} * i + {d}) / {m} in xs[i64.max 0 (k % n)] * 10 + i32.i64 (({c} * i + {d}) % {m} + 3 * (i % {m})))
entry trunc [n] (xs: [n]i32): [n]i32 = tabulate n (\\i ->
  let k = ({c} * i + {d}) // {m} in xs[i64.abs k % n] * 10 + i32.i64 (({c} * i + {d}) %% {m}))
entry bits [n] (xs: [n]i32): [n]i32 = tabulate n (\\i ->
  let k = ({c} * i + {d}) >> {s} in xs[k % n] * 10 + i32.i64 (({c} * i + {d}) & ((1 << {s}) - 1)))
"""


@pytest.mark.parametrize(
    ("c", "d", "m", "s"), [(3, 0, 4, 1), (5, -7, 3, 3), (1, 2, 2, 2), (12, 100, 8, 3), (64, -3, 7, 1)]
)
def test_multiples_of_the_index(c: int, d: int, m: int, s: int) -> None:
    compiled = compile_core(compile_text(MULTIPLES.format(c=c, d=d, m=m, s=s), "multiples.soac"), Mode.FULL, CPU)
    assert all(split_residues(kernel) != kernel for kernel in compiled.host.kernels)
    device = Executable.build(compiled.host, compiled.flat.functions)
    for n in (1, 7, 40, 301):
        xs, x, i = np.arange(3, n + 3, dtype=np.int32), c * np.arange(n) + d, np.arange(n)
        expected = xs[np.maximum(0, x // m % n)] * 10 + x % m + 3 * (i % m)
        np.testing.assert_array_equal(device.run("floor", (xs,))[0][0], expected)
        expected = xs[np.abs(np.trunc(x / m).astype(int)) % n] * 10 + np.fmod(x, m)
        np.testing.assert_array_equal(device.run("trunc", (xs,))[0][0], expected)
        expected = xs[(x >> s) % n] * 10 + (x & ((1 << s) - 1))
        np.testing.assert_array_equal(device.run("bits", (xs,))[0][0], expected)


@pytest.mark.parametrize("m", PARTS)
def test_an_index_beyond_the_last_fails(m: int) -> None:
    for n in (0, 1, 40):
        with pytest.raises(RunError, match=rf"index \[{n}\] out of bounds"):
            device().run(f"checked{m}", (np.arange(n, dtype=np.int32),))


def test_neighbours_are_stored_as_rows() -> None:
    body = "tabulate (2 * n) (\\i -> if i % 2 == 0 then a[i / 2] else b[i / 2])"
    text = f"entry main [n] (a: [n]f32) (b: [n]f32): [2 * n]f32 = {body}"
    (kernel,) = compile_core(compile_text(text, "stereo.soac"), Mode.FULL, CPU).host.kernels
    made = interleave_rows(split_residues(kernel))
    assert [len(stm.values) for stm in statements(made.body) if isinstance(stm, StoreRow)] == [2]


def test_cheap_remainders_stay() -> None:
    """Of powers of two, where no quotient says what is read."""
    text = "entry main [n] (a: [n]f32): [n]f32 = map2 (\\i x -> if i % 2 == 0 then x else -x) (iota n) a"
    (kernel,) = compile_core(compile_text(text, "signs.soac"), Mode.FULL, CPU).host.kernels
    assert split_residues(kernel) is kernel


def test_what_remainders_decide_is_gone() -> None:
    """Truth values of several, too."""
    body = "tabulate n (\\i -> if i % 4 == 1 || i % 4 == 2 && i % 2 == 0 then a[i / 4] else b[i / 4])"
    text = f"entry main [n] (a: [n]f32) (b: [n]f32): [n]f32 = {body}"
    (kernel,) = compile_core(compile_text(text, "mixed.soac"), Mode.FULL, CPU).host.kernels
    loops = [stm for stm in statements(split_residues(kernel).body) if isinstance(stm, Threads)]
    assert [any(isinstance(stm, KIf) for stm in statements(loop.body)) for loop in loops] == [False, True]
