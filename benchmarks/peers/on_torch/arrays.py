"""Whole arrays in eager PyTorch."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

BLOCK = 1 << 26
"""Pairs whose arrays are there at the same time."""


def matmul(xss: Tensor, yss: Tensor) -> Tensor:
    return xss @ yss


def dotprod(xs: Tensor, ys: Tensor) -> Tensor:
    return torch.dot(xs, ys)


def sum_squares(xss: Tensor) -> Tensor:
    return torch.linalg.vecdot(xss, xss)


def argmax(xss: Tensor) -> tuple[Tensor, Tensor]:
    most, places = torch.max(xss, dim=1)
    return most, places


def mss(xss: Tensor) -> Tensor:
    """The largest difference of a prefix sum and an earlier one."""
    sums = functional.pad(torch.cumsum(xss, dim=1, dtype=xss.dtype), (1, 0))
    return (sums - torch.cummin(sums, dim=1).values).amax(dim=1)


def rowscan(xss: Tensor) -> Tensor:
    return torch.cumsum(xss, dim=1)


def softmax(xss: Tensor) -> Tensor:
    return torch.softmax(xss, dim=1)


def layernorm(xss: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    return functional.layer_norm(xss, (xss.shape[1],), scale, shift, eps=1e-5)


def attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(queries[None], keys[None], values[None])[0]


# ---- grids ----------------------------------------------------------------------------------------------------------


def nw(size: int, penalty: int, similar: Tensor) -> Tensor:
    """Row by row; along a row the scores are a running maximum. `size` is a matter of the program."""
    b, n, _ = similar.shape
    charges = penalty * torch.arange(n + 1, dtype=similar.dtype, device=similar.device)
    scores = torch.empty((b, n + 1, n + 1), dtype=similar.dtype, device=similar.device)
    scores[:, 0] = -charges
    for i in range(n):
        own = torch.maximum(scores[:, i, :-1] + similar[:, i], scores[:, i, 1:] - penalty)
        first = (-charges[i + 1]).expand(b, 1)
        scores[:, i + 1] = torch.cummax(torch.cat([first, own], dim=1) + charges, dim=1).values - charges
    return scores[:, 1:, 1:]


def pathfinder(grids: Tensor) -> Tensor:
    most = torch.iinfo(grids.dtype).max
    costs = grids[:, 0]
    for i in range(1, grids.shape[1]):
        padded = functional.pad(costs, (1, 1), value=most)
        costs = grids[:, i] + torch.minimum(torch.minimum(padded[:, :-2], costs), padded[:, 2:])
    return costs


def edged(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The neighbours above, below, left and right; at an edge the place itself."""
    padded = functional.pad(x[:, None], (1, 1, 1, 1), mode="replicate")[:, 0]
    return padded[:, :-2, 1:-1], padded[:, 2:, 1:-1], padded[:, 1:-1, :-2], padded[:, 1:-1, 2:]


def hotspot(steps: int, starts: Tensor, powers: Tensor) -> Tensor:
    _, rows, cols = starts.shape
    height, width, thickness = 0.016 / rows, 0.016 / cols, 0.0005
    capacity = 0.5 * 1.75e6 * thickness * width * height
    rx, ry = 200 * thickness * height / width, 200 * thickness * width / height
    rz, step = 100 * height * width / thickness, 0.001 / (3.0e6 / (0.5 * thickness * 1.75e6)) / capacity
    heat = starts
    for _ in range(steps):
        above, below, left, right = edged(heat)
        change = (above + below - 2 * heat) * ry + (left + right - 2 * heat) * rx
        heat = heat + step * (powers + change + (80 - heat) * rz)
    return heat


def srad(steps: int, rate: float, images: Tensor) -> Tensor:
    for _ in range(steps):
        mean = images.mean(dim=(1, 2), keepdim=True)
        variance = (images * images).mean(dim=(1, 2), keepdim=True) - mean * mean
        speckle = variance / (mean * mean)
        north, south, west, east = (other - images for other in edged(images))
        gradient = (north * north + south * south + west * west + east * east) / (images * images)
        laplacian = (north + south + west + east) / images
        q = (0.5 * gradient - 0.0625 * laplacian * laplacian) / torch.square(1 + 0.25 * laplacian)
        c = torch.clamp(1 / (1 + (q - speckle) / (speckle * (1 + speckle))), 0, 1)
        _, below, _, beside = edged(c)
        images = images + 0.25 * rate * (c * (north + west) + below * south + beside * east)
    return images


# ---- particles and points -------------------------------------------------------------------------------------------


def nbody_systems(
    steps: int, dt: float, xs: Tensor, ys: Tensor, zs: Tensor, ms: Tensor, us: Tensor, vs: Tensor, ws: Tensor
) -> tuple[Tensor, ...]:
    b, n = xs.shape
    systems, bodies = max(1, BLOCK // (n * n)), max(1, min(n, BLOCK // n))
    for _ in range(steps):
        pulls = [torch.empty_like(xs) for _ in range(3)]
        for s in range(0, b, systems):
            for i in range(0, n, bodies):
                mine, theirs = (slice(s, s + systems), slice(i, i + bodies)), slice(s, s + systems)
                deltas = [p[theirs, None, :] - p[mine][:, :, None] for p in (xs, ys, zs)]
                square = deltas[0] ** 2 + deltas[1] ** 2 + deltas[2] ** 2 + 0.01
                pull = ms[theirs, None, :] * torch.rsqrt(square) / square
                for out, delta in zip(pulls, deltas):
                    out[mine] = torch.linalg.vecdot(pull, delta)
        us, vs, ws = us + dt * pulls[0], vs + dt * pulls[1], ws + dt * pulls[2]
        xs, ys, zs = xs + dt * us, ys + dt * vs, zs + dt * ws
    return xs, ys, zs, us, vs, ws


def nn(k: int, x: Tensor, y: Tensor, xss: Tensor, yss: Tensor) -> tuple[Tensor, Tensor]:
    """k times the least, which is then taken out."""
    distances = torch.hypot(xss - x[:, None], yss - y[:, None])
    places, found = [], []
    for _ in range(k):
        least, place = torch.min(distances, dim=1, keepdim=True)
        distances.scatter_(1, place, math.inf)
        places.append(torch.where(torch.isinf(least), -1, place))
        found.append(least)
    return torch.cat(places, dim=1), torch.cat(found, dim=1)


def kmeans(steps: int, points: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
    n, k = len(points), len(centres)
    members = torch.zeros(n, dtype=torch.int64, device=points.device)
    piece = max(1, BLOCK // k)
    for _ in range(steps):
        squares = torch.linalg.vecdot(centres, centres)
        for first in range(0, n, piece):
            part = slice(first, first + piece)
            members[part] = torch.argmin(squares - 2 * (points[part] @ centres.T), dim=1)
        sums = torch.zeros_like(centres).index_add_(0, members, points)
        counts = torch.bincount(members, minlength=k)[:, None]
        centres = torch.where(counts == 0, centres, sums / counts.clamp(min=1))
    return centres, members


def backprop(xs: Tensor, targets: Tensor, w1: Tensor, w2: Tensor, c1: Tensor, c2: Tensor) -> tuple[Tensor, ...]:
    hidden = torch.sigmoid(torch.addmv(w1[0], w1[1:].T, xs))
    outputs = torch.sigmoid(torch.addmv(w2[0], w2[1:].T, hidden))
    output_errors = outputs * (1 - outputs) * (targets - outputs)
    hidden_errors = hidden * (1 - hidden) * (w2[1:] @ output_errors)
    new1, new2 = changes(hidden_errors, xs, c1), changes(output_errors, hidden, c2)
    return w1 + new1, w2 + new2, new1, new2


def changes(errors: Tensor, xs: Tensor, last: Tensor) -> Tensor:
    with_one = torch.cat([torch.ones(1, dtype=xs.dtype, device=xs.device), xs])
    return torch.addr(0.3 * last, with_one, errors, alpha=0.3)


# ---- bins, flat programs --------------------------------------------------------------------------------------------


def counts(h: int, bins: Tensor) -> Tensor:
    return torch.bincount(bins[(bins >= 0) & (bins < h)], minlength=h).to(torch.int32)


def sums(h: int, bins: Tensor, values: Tensor) -> Tensor:
    return torch.zeros(h, dtype=values.dtype, device=values.device).index_add_(0, bins, values)


def largest(h: int, bins: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """The largest value of each bin, then the first place that has it; -1 in an empty bin."""
    n = len(bins)
    most = torch.full((h,), -math.inf, dtype=values.dtype, device=values.device)
    most.scatter_reduce_(0, bins, values, "amax")
    candidates = torch.where(values == most[bins], torch.arange(n, device=bins.device), n)
    places = torch.full((h,), n, device=bins.device).scatter_reduce_(0, bins, candidates, "amin")
    return most, torch.where(places == n, -1, places)


def spmv(off: Tensor, col: Tensor, value: Tensor, x: Tensor) -> Tensor:
    return torch.mv(torch.sparse_csr_tensor(off, col, value, (len(off) - 1, len(x))), x)


def lud(a: Tensor) -> Tensor:
    return torch.linalg.lu_factor(a, pivot=False).LU


def blackscholes(price: Tensor, strike: Tensor, years: Tensor) -> tuple[Tensor, Tensor]:
    rate, volatility = 0.08, 0.3
    spread = volatility * torch.sqrt(years)
    d1 = (torch.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    n1, n2 = normal_cdf(d1), normal_cdf(d1 - spread)
    discounted = strike * torch.exp(-rate * years)
    return price * n1 - discounted * n2, discounted * (1 - n2) - price * (1 - n1)


def normal_cdf(d: Tensor) -> Tensor:
    k = 1 / (1 + 0.2316419 * d.abs())
    poly = (((1.330274429 * k - 1.821255978) * k + 1.781477937) * k - 0.356563782) * k + 0.319381530
    tail = 0.39894228040143267 * torch.exp(-0.5 * d * d) * poly * k
    return torch.where(d > 0, 1 - tail, tail)
