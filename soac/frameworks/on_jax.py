"""Entry points as functions of JAX arrays with derivatives: `soac.jax_function(prog, "loss")`.

Calls are a primitive of JAX, whose derivatives, transposes and batched forms are calls of entry points that soac makes
of the first: `grad`, `jvp`, `hessian`, `vmap` and `jit` work, nested in any order. Outside of `jit` arrays in host
memory are handed over without a copy; inside, arguments are, and results are copied to where XLA wants them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..api import Program
from ..derivatives import Mode
from ..kernels.devices.device import OnDevice
from .differentiable import Differentiable, as_function

CALL = Primitive("soac_call")
CALL.multiple_results = True


def function(program: Program, entry: str) -> Callable[..., Any]:
    """The entry point as a function of JAX arrays, which JAX differentiates; numbers and arrays of NumPy are
    constants."""
    return as_function(program[entry], jax.Array, lambda arg: arg, lambda what, *args: CALL.bind(*args, what=what))


def _run(what: Differentiable, args: Sequence[Any]) -> list[Any]:
    given = [arg[()] if isinstance(arg, np.ndarray) and not arg.ndim else arg for arg in args]
    return what.entry.program.call(what.entry.__name__, given)


@CALL.def_impl
def _called(*args: Any, what: Differentiable) -> list[jax.Array]:
    """Outside of `jit`: on the memory of the arrays."""
    on_gpu = what.entry.program.source.device != "cpu"
    results = _run(what, [arg if on_gpu and arg.ndim else np.asarray(arg) for arg in args])
    return [
        jax.dlpack.from_dlpack(one) if isinstance(one, OnDevice) else jax.device_put(one, may_alias=True)
        for one in results
    ]


@CALL.def_abstract_eval
def _shapes(*args: Any, what: Differentiable) -> list[ShapedArray]:
    return [ShapedArray(shape, dtype) for shape, dtype in what.shapes([arg.shape for arg in args])]


def _lowered(ctx: Any, *args: Any, what: Differentiable) -> Any:
    """Inside of `jit`: XLA calls Python, which sees the arguments where they are."""

    def call(*views: np.ndarray) -> tuple[Any, ...]:
        return tuple([np.asarray(result) for result in _run(what, views)])

    return mlir.emit_python_callback(
        ctx, call, None, args, ctx.avals_in, ctx.avals_out, has_side_effect=False, returns_token=False
    )[0]


def _tangents(args: Sequence[Any], tangents: Sequence[Any], what: Differentiable) -> tuple[list[Any], list[Any]]:
    results = CALL.bind(*args, what=what)
    by = [k for k in what.params if type(tangents[k]) is not ad.Zero]
    found = CALL.bind(*args, *[tangents[k] for k in by], what=what.derivative(Mode.JVP, by))
    moved = dict(zip(what.results, found, strict=True))
    still = [ad.Zero(jax.typeof(one).to_tangent_aval()) for one in results]
    return results, [moved.get(k, zero) for k, zero in enumerate(still)]


def _transposed(adjoints: Sequence[Any], *args: Any, what: Differentiable) -> list[Any]:
    """Where the call is linear: in what is behind the arguments of the function that it is a derivative of."""
    given = [ad.instantiate_zeros(one) for one in adjoints]
    found = CALL.bind(*args[: what.first], *given, what=what.transposed())
    return [*[None] * what.first, *found]


def _mapped(args: Sequence[Any], dims: Sequence[Any], what: Differentiable) -> tuple[list[Any], list[int]]:
    mapped = [dim is not None for dim in dims]
    moved = [jax.numpy.moveaxis(arg, dim, 0) if one else arg for arg, dim, one in zip(args, dims, mapped)]
    results = CALL.bind(*moved, what=what.batched(mapped))
    return results, [0] * len(results)


mlir.register_lowering(CALL, _lowered)
ad.primitive_jvps[CALL] = _tangents
ad.primitive_transposes[CALL] = _transposed
batching.primitive_batchers[CALL] = _mapped
