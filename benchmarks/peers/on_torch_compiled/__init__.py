"""PyTorch's functions as `torch.compile` makes them: C++ on a CPU, which needs a compiler; the first call compiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .. import on_torch
from ..on_torch import PEERS, fetch

__all__ = ["PEERS", "bind", "fetch"]


def bind(function: Callable[..., Any], args: Sequence[Any]) -> Callable[[], Any]:
    """As `on_torch.bind`, of the compiled function."""
    return on_torch.bind(torch.compile(function, dynamic=False), args)
