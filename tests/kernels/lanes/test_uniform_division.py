"""Quotients by a number that all lanes share: the bits that a division gives, for all numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import soac
from soac.kernels.devices.cpu.build import kernel_text
from soac.kernels.devices.cpu.runtime.jit import Host
from soac.kernels.passes.pipeline import CPU_PASSES, ready

SOURCE = """
entry by64 [n] (y: f64) (xs: [n]f64): [n]f64 = map (/ y) xs
entry by32 [n] (y: f32) (xs: [n]f32): [n]f32 = map (/ y) xs
entry thirds [n] (xs: [n]f64) (ys: [n]f32): ([n]f64, [n]f32) = (map (/ 3) xs, map (/ -255) ys)
entry total [n] (y: f64) (xs: [n]f64): f64 = reduce f64.max (-f64.inf) (map (/ y) xs)
"""
LIMITS = {np.float64: (1022, 100, 850), np.float32: (126, 24, 98)}


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(SOURCE)


def numbers(kind: type, random: np.random.Generator, least: int, most: int, n: int) -> np.ndarray:
    """Of exponents of 2 in a range, with few or many bits."""
    bits = 53 if kind is np.float64 else 24
    mantissas = random.integers(1 << (bits - 1), 1 << bits, n)
    few = random.integers(0, bits, n)
    mantissas = np.where(random.random(n) < 0.3, mantissas >> few << few, mantissas)
    mantissas = np.where(random.random(n) < 0.1, (1 << bits) - 1 - few, mantissas)
    values = np.ldexp(mantissas.astype(np.float64), random.integers(least, most + 1, n) - bits + 1)
    return (values * random.choice([-1, 1], n)).astype(kind)


def nearly_halfway(kind: type, y: float, random: np.random.Generator, n: int) -> np.ndarray:
    """Numbers whose quotients are near the middle between two floats, or near one."""
    quotients = numbers(kind, random, -3, 3, n)
    between = (quotients.astype(np.longdouble) + np.nextafter(quotients, kind(9))) / random.integers(1, 3, n)
    near = (between * y).astype(kind)
    return np.concatenate([near, np.nextafter(near, kind(0)), np.nextafter(near, kind(np.inf))])


def same(program: soac.Program, kind: type, y: float, xs: np.ndarray) -> None:
    entry = program.by64 if kind is np.float64 else program.by32
    with np.errstate(all="ignore"):
        want = xs / kind(y)
    got = entry(kind(y), xs)
    numbered = ~np.isnan(want)
    assert np.array_equal(np.isnan(got), ~numbered)
    word = np.uint64 if kind is np.float64 else np.uint32
    assert np.array_equal(got[numbered].view(word), want[numbered].view(word))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_rounding(program: soac.Program, kind: type) -> None:
    random = np.random.default_rng(1)
    _, widest, far = LIMITS[kind]
    for y in numbers(kind, random, -widest, widest, 400):
        same(program, kind, y, numbers(kind, random, -far, far, 1000))
        same(program, kind, y, nearly_halfway(kind, y, random, 300))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_ends(program: soac.Program, kind: type) -> None:
    """Zeros, infinities, what is no number, and both sides of each end of what products are taken for."""
    normal, widest, far = LIMITS[kind]
    ends = [kind(2.0) ** kind(s * k) for s, k in itertools.product((-1, 1), (0, widest, far, normal))]
    ends += [np.nextafter(x, kind(to)) for x in list(ends) for to in (0, np.inf)]
    ends += [kind(x) for x in (0.0, np.inf, np.nan, 3.0, np.finfo(kind).tiny / 8, np.finfo(kind).max)]
    ends = np.array([*ends, *(-x for x in ends)], kind)
    random = np.random.default_rng(2)
    for y in ends:
        for x in ends:
            same(program, kind, y, np.array([1, 2, x, 3], kind))
            same(program, kind, y, np.concatenate([np.full(40, 0.7, kind), [x], np.zeros(60, kind)]))
        same(program, kind, y, numbers(kind, random, -normal, normal, 1000))


@settings(max_examples=60)
@given(st.floats(), st.lists(st.floats(), min_size=1, max_size=80))
def test_any(program: soac.Program, y: float, xs: list[float]) -> None:
    same(program, np.float64, y, np.array(xs))


@settings(max_examples=60)
@given(st.floats(width=32), st.lists(st.floats(width=32), min_size=1, max_size=80))
def test_any_single(program: soac.Program, y: float, xs: list[float]) -> None:
    same(program, np.float32, y, np.array(xs, np.float32))


def test_constants_and_reductions(program: soac.Program) -> None:
    random = np.random.default_rng(3)
    xs, ys = numbers(np.float64, random, -900, 900, 2000), numbers(np.float32, random, -99, 99, 2000)
    thirds, parts = program.thirds(xs, ys)
    assert np.array_equal(thirds, xs / 3)
    assert np.array_equal(parts, ys / np.float32(-255))
    assert program.total(7.0, xs) == np.max(xs / 7)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("map (/ y) xs", True),
        ("map (\\x -> f64.exp (x / y)) xs", False),  # the division takes no time of its own
        ("map (/ 8) xs", False),  # a product, as it is
        ("let s = f64.sum xs in map (/ s) xs", True),
        ("map2 (/) xs (rotate 1 xs)", False),
    ],
)
def test_where(body: str, where: bool) -> None:
    """Little else is computed, the kernel is given the divisor, and the processor has AVX-512."""
    kernels = soac.compile(f"entry main [n] (y: f64) (xs: [n]f64): [n]f64 = {body}").compiled.host.kernels
    for features, wanted in (("+avx512f", where), ("+avx2,+fma", False)):
        target = Host("x86_64-linux", "", features)
        texts = [kernel_text(ready(kernel, CPU_PASSES), target) for kernel in kernels]
        assert any("quotients" in text for text in texts) == wanted


def test_known_before_a_loop() -> None:
    """A number that the rows of a matrix share, of a kernel that goes through all rounds; not that of a row."""
    rounds = """entry main [n] (a: [n][n]f64): [n][n]f64 = loop a for k < n do
      let d = a[k, k] in tabulate_2d n n (\\i j -> if i > k then a[i, j] / BY else a[i, j] + d)"""
    for by, wanted in (("d", True), ("a[i, k]", False)):
        kernels = soac.compile(rounds.replace("BY", by)).compiled.host.kernels
        (batch,) = (kernel for kernel in kernels if kernel.name == "main_a_0")
        text = kernel_text(ready(batch, CPU_PASSES), Host("x86_64-linux", "", "+avx512f"))
        assert ("quotients" in text) == wanted
