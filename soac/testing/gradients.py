"""Derivatives of an entry point against finite differences: `soac test --gradients`.

Along a random direction x' of the float parameters, for random adjoints y' of the float results, three numbers must
agree: ⟨vjp f x y', x'⟩, ⟨y', jvp f x x'⟩, and the central difference of ⟨y', f⟩. Where the differences to both sides
disagree, f has a kink there, and only the first two are compared; so it is where f is not finite beside the input.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..api import Program
from ..arguments import Argument
from ..derivatives import derived, float_parameters, float_results
from ..ir.core import FunDef

TOLERANCES = {2: 0.2, 4: 1e-2, 8: 1e-5}
"""Relative to the sum of absolute products, by the bytes of the narrowest float."""


def without_gradient(fun: FunDef) -> str | None:
    """Why an entry point has no gradient to test; None if it has."""
    return None if float_parameters(fun) and float_results(fun) else "no float parameters, or no float results"


def wrong_gradient(program: Program, entry: str, args: Sequence[Argument], seed: int) -> str | None:
    """What does not agree at `args`, in words; None if everything does."""
    with_derivatives = derived(program, [entry])
    source = np.random.default_rng(seed)
    x: list[np.ndarray] = [np.asarray(arg) for arg in args]
    y = _results(program, entry, args)
    along = [_direction(source, arg) for arg in x]
    varied = _varied(program.function(entry))
    adjoints = [_direction(source, result) for result in y]
    back = with_derivatives.call(f"{entry}_vjp", [*args, *_scalars(adjoints)])
    tangents = with_derivatives.call(f"{entry}_jvp", [*args, *_scalars([along[k] for k in varied])])
    reverse, size = _product(back, [along[k] for k in varied])
    forward, other = _product(tangents, adjoints)
    floats = [a.dtype.itemsize for a in (*x, *y) if a.dtype.kind == "f"]
    tolerance = TOLERANCES[min(floats)]
    scale = max(size, other, abs(reverse), abs(forward), 1e-300)
    if not abs(reverse - forward) <= tolerance * scale:
        return f"reverse mode gives {reverse}, forward mode {forward}"
    step = float(np.finfo(f"f{min(floats)}").eps) ** (1 / 3)

    def value(by: float) -> float:
        """⟨y', f (x + by x')⟩"""
        moved = [(a + by * d).astype(a.dtype) if a.dtype.kind == "f" else a for a, d in zip(x, along, strict=True)]
        return _product(_results(program, entry, _scalars(moved)), adjoints)[0]

    values = [value(step * k) for k in (-1, 0, 1)]
    if not np.isfinite(values).all():
        return None
    left, right = ((values[k + 1] - values[k]) / step for k in (0, 1))
    central = (left + right) / 2
    noise = max(abs(v) for v in values) * float(np.finfo(f"f{min(floats)}").eps) / step
    close = tolerance * max(scale, abs(central)) + 8 * noise
    kink = 10 * step**0.5 * max(scale, abs(central)) + 8 * noise
    if abs(left - right) > kink or abs(central - forward) <= close:
        return None
    return f"the derivative is {forward}, the finite difference {central}"


def _varied(fun: FunDef) -> list[int]:
    """The positions of the arguments that belong to parameters with floats."""
    assert fun.entry is not None
    owners = [k for k, param in enumerate(fun.entry.params) for _ in range(param.components)]
    floats = float_parameters(fun)
    return [position for position, owner in enumerate(owners) if owner in floats]


def _results(program: Program, entry: str, args: Sequence[Argument]) -> list[np.ndarray]:
    """The components of the results with floats."""
    fun = program.function(entry)
    assert fun.entry is not None
    owners = [k for k, result in enumerate(fun.entry.results) for _ in result.components]
    floats = float_results(fun)
    return [np.asarray(y) for y, owner in zip(program.call(entry, args), owners, strict=True) if owner in floats]


def _direction(source: np.random.Generator, like: np.ndarray) -> np.ndarray:
    """Random numbers for floats, zeros for others."""
    if like.dtype.kind != "f":
        return np.zeros_like(like)
    return np.asarray(source.uniform(-1, 1, like.shape)).astype(like.dtype)


def _scalars(arrays: Sequence[np.ndarray]) -> list[Argument]:
    return [a if a.shape else a[()] for a in arrays]


def _product(xs: Sequence[Argument], ys: Sequence[np.ndarray]) -> tuple[float, float]:
    """The scalar product over the floats, and that of the absolute values."""
    pairs = [(np.float64(np.asarray(x)), np.float64(y)) for x, y in zip(xs, ys, strict=True) if y.dtype.kind == "f"]
    return sum(float((x * y).sum()) for x, y in pairs), sum(float(abs(x * y).sum()) for x, y in pairs)
