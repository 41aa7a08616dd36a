"""Entry points as functions that PyTorch and JAX differentiate: `soac.torch_function`, `soac.jax_function`.

In: entry points, tensors. Out: tensors, with derivatives that soac compiles when they are first asked for. Holds: a
framework is imported by the module for it alone; arrays in host memory are handed over without a copy.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..ir.errors import Diagnostic, SystemFault

if TYPE_CHECKING:
    from ..api import Program


def jax_function(program: Program, entry: str) -> Callable[..., Any]:
    """The entry point as a function of JAX arrays, which JAX differentiates; numbers and arrays of NumPy are
    constants. Needs the package jax."""
    _require("jax")
    from .on_jax import function

    return function(program, entry)


def torch_function(program: Program, entry: str) -> Callable[..., Any]:
    """The entry point as a function of tensors to tensors, which `torch.autograd` differentiates; numbers and arrays
    of NumPy are constants. Needs the package torch."""
    _require("torch")
    from .on_torch import function

    return function(program, entry)


def _require(package: str) -> None:
    """Raises `SystemFault` S0101 where the package is not installed."""
    if importlib.util.find_spec(package) is None:
        hint = f"`pip install 'soac[{package}]'`"
        raise SystemFault(Diagnostic("S0101", f"{package} is not installed", hint=hint))
