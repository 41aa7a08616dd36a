"""Entry points that JAX differentiates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import soac

jax: Any = pytest.importorskip("jax")

PROGRAM = soac.compile(r"""
entry f [n] (w: [n]f64) (x: [n]f64) (k: i32) (c: f64): (f64, i64, [n]f64) =
  (f64.sum (map2 (\a b -> f64.sin (a * b) * c) w x), n, map (** f64.i32 k) (map2 (*) w x))
entry twice [n] (xs: [n]f64): [n]f64 = map (* 2) xs
entry positive [n] (xs: [n]f64): []f64 = filter (> 0) xs
""")
X = np.linspace(1, 2, 5)


@pytest.fixture(autouse=True)
def _in_64_bits() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def ours(w: Any) -> Any:
    first, _, rest = soac.jax_function(PROGRAM, "f")(w, X, 2, 3.0)
    return first + rest.sum()


def theirs(w: Any) -> Any:
    return (jax.numpy.sin(w * X) * 3).sum() + ((w * X) ** 2).sum()


WAYS: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "grad": jax.grad,
    "jacfwd": jax.jacfwd,
    "hessian": jax.hessian,
    "backward twice": lambda f: jax.jacrev(jax.jacrev(f)),
    "vmap": lambda f: lambda w: jax.vmap(jax.grad(f), in_axes=1)(jax.numpy.stack([w, 2 * w], 1)),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_derivatives_are_those_of_jax(way: Callable[[Any], Any]) -> None:
    w = jax.numpy.arange(5.0) / 7
    wanted = way(theirs)(w)
    np.testing.assert_allclose(way(ours)(w), wanted)
    np.testing.assert_allclose(jax.jit(way(ours))(w), wanted)


def test_trains_in_a_compiled_loop() -> None:
    gradient = jax.grad(lambda w: ours(w) - 3 * X @ w)
    w = jax.jit(lambda w: jax.lax.fori_loop(0, 300, lambda _, w: w - 0.05 * gradient(w), w))(jax.numpy.ones(5))
    np.testing.assert_allclose(gradient(w), 0, atol=1e-6)


def test_no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program gets the memory of the arrays, and its results are the arrays."""
    seen: list[int] = []
    call = soac.Program.call

    def noted(self: soac.Program, entry: str, args: Any) -> Any:
        results = call(self, entry, args)
        seen.extend(array.ctypes.data for array in (*args, *results))
        return results

    monkeypatch.setattr(soac.Program, "call", noted)
    xs, adjoint = jax.numpy.ones(100_000), jax.numpy.zeros(100_000)
    ys, back = jax.vjp(soac.jax_function(PROGRAM, "twice"), xs)
    (found,) = back(adjoint)
    pointers = [one.unsafe_buffer_pointer() for one in (xs, ys, xs, adjoint, found)]
    assert {p for p in pointers if p in seen} == set(pointers)


def test_sizes_that_are_computed_are_not_traced() -> None:
    positive = soac.jax_function(PROGRAM, "positive")
    xs = jax.numpy.arange(-1.0, 3.0)
    np.testing.assert_array_equal(positive(xs), [1, 2])
    with pytest.raises(soac.SettingError, match="cannot be traced"):
        jax.jit(positive)(xs)
