"""Entry points as functions of tensors with derivatives: `soac.torch_function(prog, "loss")`.

A tensor in host memory is handed over as its memory, and so is a result; on a GPU both stay where they are. Derivatives
are entry points again, by those tensors that want gradients, and so are their derivatives: `backward` may be
differentiated, `torch.func.grad`, `jvp`, `hessian` and `vmap` work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.autograd import Function

from ..api import Program
from ..derivatives import Mode
from ..kernels.devices.device import OnDevice
from .differentiable import Differentiable, as_function


def function(program: Program, entry: str) -> Callable[..., Any]:
    """The entry point as a function of tensors to tensors, which `torch.autograd` differentiates; numbers and arrays
    of NumPy are constants."""
    return as_function(program[entry], torch.Tensor, _tensor, _Call.apply)


class _Call(Function):
    @staticmethod
    def forward(what: Differentiable, *args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = what.entry.program.call(what.entry.__name__, [_given(arg) for arg in args])
        device = args[0].device if args else None
        return tuple([_tensor(result).to(device) for result in results])

    @staticmethod
    def setup_context(ctx: Any, inputs: Sequence[Any], output: Sequence[torch.Tensor]) -> None:
        ctx.what, *args = inputs
        ctx.save_for_backward(*args)
        ctx.save_for_forward(*args)
        ctx.mark_non_differentiable(*[one for one in output if not one.is_floating_point()])

    @staticmethod
    def backward(ctx: Any, *adjoints: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        what, wanted = ctx.what, ctx.needs_input_grad[1:]
        by = [k for k in what.params if wanted[k]]
        found = _Call.apply(what.derivative(Mode.VJP, by), *ctx.saved_tensors, *[adjoints[k] for k in what.results])
        gradients = dict(zip(by, found, strict=True))
        return (None, *[gradients.get(k) for k in range(len(wanted))])

    @staticmethod
    def jvp(ctx: Any, *of_all: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        what, tangents = ctx.what, of_all[1:]
        by = [k for k in what.params if tangents[k] is not None]
        found = _Call.apply(what.derivative(Mode.JVP, by), *ctx.saved_tensors, *[tangents[k] for k in by])
        moved = dict(zip(what.results, found, strict=True))
        return tuple([moved.get(k) for k in range(len(what.entry.entry.results))])

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], *of_all: Any) -> Any:
        what, *args = of_all
        mapped = [dim is not None for dim in in_dims[1:]]
        moved = [arg if dim is None else arg.movedim(dim, 0) for arg, dim in zip(args, in_dims[1:])]
        results = _Call.apply(what.batched(mapped), *moved)
        return results, (0,) * len(results)


def _given(arg: torch.Tensor) -> Any:
    """A tensor as an argument of a program."""
    arg = arg.detach()
    if arg.is_cuda and arg.ndim:
        return arg
    array = arg.cpu().numpy()
    return array if array.ndim else array[()]


def _tensor(result: Any) -> torch.Tensor:
    """A tensor with the memory of a result."""
    return torch.from_dlpack(result) if isinstance(result, OnDevice) else torch.from_numpy(np.asarray(result))
