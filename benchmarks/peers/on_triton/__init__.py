"""Triton: kernels over tiles, on tensors of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..on_torch import bind as bind
from ..on_torch import fetch as fetch
from . import kernels

PEERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("attention", "main"): kernels.attention,
    ("matmul", "main"): kernels.matmul,
    ("rowreduce", "sum_squares"): kernels.sum_squares,
    ("rowscan", "main"): kernels.rowscan,
    ("softmax", "layernorm"): kernels.layernorm,
    ("softmax", "softmax"): kernels.softmax,
}
