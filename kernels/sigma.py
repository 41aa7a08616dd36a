"""σ: how the points of a space are laid over blocks, warps and lanes (SEEDS row H).

A mapping is the order of the space's dimensions (the last one runs over the lanes of a warp), the sequential factor S
(a thread takes the points s*T + t for s < S), and the layout of each input (a copy with another dimension innermost,
its manifest). All mappings are enumerated; the cost is the exact number of memory sectors that the accesses of the
kernel touch (`kernels/sectors.py`) at sizes that stand for large ones, and the bytes of the manifests.

    σ* = argmin over order, S, layouts of  32 B * Σ_access sectors(f', order, S)  +  bytes read and written by manifests

Ties go to the order of the source, then to fewer elements for each thread.
"""

from __future__ import annotations

import math
from collections import abc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations

from ..ir.types import Atom, Const, Name, Prim
from .build import NotLowerable
from .hostbuild import HostBuilder, Made
from .kir import KVar
from .sectors import SOME, Value, global_sectors, predict
from .trace_memory import SECTOR

EXTENT = 512
"""What stands for a size that is not known: a multiple of every sector and warp."""

FACTORS = (1, 2, 4, 8)
THREADS = 64
"""Lanes that are evaluated: two warps."""

GAIN = 0.9
"""A mapping is only taken before a simpler one if it costs less than this share."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Order of the dimensions, outermost first; points for each thread."""

    order: tuple[int, ...]
    factor: int

    def chunk(self, threads: int) -> int:
        """Points of a block of so many threads."""
        return threads * self.factor


Build = Callable[[Mapping, int], Made]
"""The kernel of a mapping for blocks of so many threads."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """A mapping with its kernel for `THREADS` threads, and its bytes at the sizes that stand for all."""

    mapping: Mapping
    made: Made
    bytes: float


Layouts = abc.Mapping[Name, tuple[int, ...]]
"""Inputs that are read from a manifest, with the order of its dimensions."""


def best_mapping(h: HostBuilder, widths: tuple[Atom, ...], build: Build) -> tuple[Mapping, Layouts]:
    """The cheapest mapping of a space and its manifests. Raises NotLowerable where the space has no kernel."""
    points = extent_of(widths)
    best = mapped(h, Mapping(tuple(range(len(widths))), 1), points, build)
    layouts: Layouts = {}
    best = cheapest(best, (mapped(h, Mapping(order, 1), points, build) for order in orders(len(widths))))
    while (better := best_manifest(h, layouts, best, points, build)) is not None:
        best, layouts = better
    more = (with_layouts(h, layouts, Mapping(best.mapping.order, s), points, build) for s in FACTORS)
    return cheapest(best, more).mapping, layouts


def cheapest(first: Mapped, others: Iterable[Mapped | None]) -> Mapped:
    """The first of all that cost clearly less than those before."""
    best = first
    for one in others:
        if one is not None and one.bytes < GAIN * best.bytes:
            best = one
    return best


def orders(rank: int) -> Iterator[tuple[int, ...]]:
    """All orders of the dimensions; at most the four innermost change places."""
    fixed = tuple(range(max(0, rank - 4)))
    return ((*fixed, *inner) for inner in permutations(range(len(fixed), rank)))


def best_manifest(
    h: HostBuilder, layouts: Layouts, best: Mapped, points: int, build: Build
) -> tuple[Mapped, Layouts] | None:
    """One more input in another layout, with the order that suits it; None if none saves enough."""
    found, chosen = best, None
    for name, writes in zip(best.made.arrays, best.made.writes, strict=True):
        rank = h.types[name].rank
        for inner in range(rank - 1 if not writes and name not in layouts else 0):
            tried = {**layouts, name: (*(d for d in range(rank) if d != inner), inner)}
            mappings = (Mapping(order, 1) for order in orders(len(best.mapping.order)))
            one = cheapest(found, (with_layouts(h, tried, m, points, build) for m in mappings))
            if one is not found:
                found, chosen = one, tried
    return None if chosen is None else (found, chosen)


def with_layouts(h: HostBuilder, layouts: Layouts, mapping: Mapping, points: int, build: Build) -> Mapped | None:
    """A mapping with manifests; their bytes are read and written once."""
    h.layouts.update(layouts)
    try:
        one = mapped(h, mapping, points, build)
    except NotLowerable:
        return None
    finally:
        h.layouts.clear()
    copied = sum(2 * stored_bytes(h, name) for name in layouts)
    return Mapped(one.mapping, one.made, one.bytes + copied)


def mapped(h: HostBuilder, mapping: Mapping, points: int, build: Build) -> Mapped:
    made = build(mapping, THREADS)
    blocks = -(-points // mapping.chunk(THREADS))
    scalars = [standing_for(var) for var in made.kernel.scalars]
    return Mapped(mapping, made, SECTOR * global_sectors(predict(made.kernel, scalars, blocks, THREADS, sample=SOME)))


def standing_for(var: KVar) -> Value:
    """What a scalar of the kernel is taken to be: integers are sizes, of the rest nothing is known."""
    return EXTENT if var.prim is Prim.I64 else None


def stored_bytes(h: HostBuilder, name: Name) -> float:
    type_ = h.types[name]
    return type_.prim.bytes * extent_of(type_.shape)


def extent_of(widths: tuple[Atom, ...]) -> int:
    """Elements of a shape; a size that is not known is `EXTENT`."""
    return math.prod(int(w.value) if isinstance(w, Const) else EXTENT for w in widths)
