"""The classes of everyday kernels in PyTorch: windows, products, gathers, transpositions, recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def blur5(weights: Tensor, image: Tensor) -> Tensor:
    padded = functional.pad(image[None, None], (2, 2, 2, 2), mode="replicate")
    return functional.conv2d(padded, weights[None, None])[0, 0]


def separable(weights: Tensor, image: Tensor) -> Tensor:
    rows = functional.conv2d(
        functional.pad(image[None, None], (3, 3, 0, 0), mode="replicate"), weights[None, None, None]
    )
    return functional.conv2d(functional.pad(rows, (0, 0, 3, 3), mode="replicate"), weights[None, None, :, None])[0, 0]


def convolve(image: Tensor, kernels: Tensor) -> Tensor:
    return functional.conv2d(image[None], kernels)[0]


def dense(xs: Tensor, ws: Tensor, bias: Tensor) -> Tensor:
    return torch.relu(torch.addmm(bias, xs, ws.T))


def gate(xs: Tensor, ws: Tensor, hs: Tensor, us: Tensor, bias: Tensor) -> Tensor:
    return torch.sigmoid(torch.addmm(bias, xs, ws.T) + hs @ us.T)


def gemm(alpha: float, beta: float, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return torch.addmm(c, a, b, beta=beta, alpha=alpha)


def class_shares(xs: Tensor, ws: Tensor, bias: Tensor) -> Tensor:
    return torch.softmax(torch.addmm(bias, xs, ws.T), dim=1)


def embedding(table: Tensor, numbers: Tensor) -> Tensor:
    return torch.index_select(table, 0, numbers.long())


def bags(table: Tensor, numbers: Tensor) -> Tensor:
    return functional.embedding_bag(numbers.long(), table, mode="sum")


def axes(*order: int) -> Callable[[Tensor], Tensor]:
    """The axes in another order, in memory."""
    return lambda xs: xs.permute(order).contiguous()


def elman(xs: Tensor, ws: Tensor, us: Tensor, hs: Tensor) -> Tensor:
    for x in xs:
        hs = torch.tanh(x @ ws.T + hs @ us.T)
    return hs


PEERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("products", "class_shares"): class_shares,
    ("products", "dense"): dense,
    ("products", "distances"): torch.cdist,
    ("products", "gate"): gate,
    ("products", "gemm"): gemm,
    ("recurrent", "cholesky"): torch.linalg.cholesky,
    ("recurrent", "elman"): elman,
    ("row_gathers", "bags"): bags,
    ("row_gathers", "embedding"): embedding,
    ("transpositions", "from_planes"): axes(1, 0),
    ("transpositions", "heads"): axes(0, 2, 1, 3),
    ("transpositions", "last_first"): axes(2, 1, 0),
    ("transpositions", "middle_first"): axes(1, 0, 2),
    ("transpositions", "odd"): axes(1, 0),
    ("transpositions", "to_planes"): axes(1, 0),
    ("windows", "blur5"): blur5,
    ("windows", "convolve"): convolve,
    ("windows", "separable"): separable,
}
