"""σ: how the points of a space are laid over blocks, warps and lanes (SEEDS row H).

A mapping is the order of the space's dimensions (the last one runs over the lanes of a warp), the sequential factor S
(a thread takes the points s*T + t for s < S), and the layout of each input (a copy with another dimension innermost,
its manifest). They are enumerated together; the cost is the exact number of memory sectors that the accesses of the
kernel touch (`kernels/analysis/sectors.py`) at sizes that stand for large ones, and the bytes of the manifests.

    σ* = argmin over order, S, layouts of  32 B * Σ_access sectors(f', order, S)  +  bytes read and written by manifests

Ties go to the order of the source, then to fewer elements for each thread. A mapping is not evaluated where what it
costs is known, or is known to be no clear gain:

    order       where whole warps lie along the last dimension, the order of the others changes no request of a warp
    S           changes no request of threads; what a block does once costs 1/S of what it did, at best
    manifest    a request of the array costs a sector, at best; the other arrays cost what they did

The width of an access (`passes/vectorise_accesses.py`) is no part of a mapping: a row of 16 bytes touches the sectors
of its elements.
"""

from __future__ import annotations

import math
from collections import abc, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import permutations

from ....ir.core import SegSpace
from ....ir.machine import WARP
from ....ir.types import Atom, Const, Name, Prim
from ...analysis.memory_model import SECTOR
from ...analysis.sectors import SOME, Predicted, Value, global_sectors, predict
from ...kernel_ir.nodes import KVar
from ..host_builder import TRUE, Considered, HostBuilder, Made
from ..kernel_builder import NotLowerable

EXTENT = 512
"""What stands for a size that is not known: a multiple of every sector and warp."""

FACTORS = (1, 2, 4, 8)
THREADS = 2 * WARP.threads
"""Lanes that are evaluated: two warps."""

GAIN = 0.9
"""A mapping is only taken before a simpler one if it costs less than this share."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Order of the dimensions, outermost first; points for each thread."""

    order: tuple[int, ...]
    factor: int

    def chunk(self, threads: int) -> int:
        """Points of a block of `threads` threads."""
        return threads * self.factor


Build = Callable[[Mapping, int], Made]
"""The kernel of a mapping for blocks of a number of threads."""


Layouts = abc.Mapping[Name, tuple[int, ...]]
"""Inputs that are read from a manifest, with the order of its dimensions."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """A mapping with its kernel for `THREADS` threads, its access sites, and its bytes at the sizes that stand for
    all."""

    mapping: Mapping
    layouts: Layouts
    made: Made
    sites: tuple[Predicted, ...]
    bytes: float


@dataclass(frozen=True, slots=True)
class Search:
    """The space to be mapped, how its kernels are made, and the mappings that were evaluated."""

    h: HostBuilder
    space: SegSpace
    build: Build
    seen: list[Mapped] = field(default_factory=list[Mapped])

    @property
    def widths(self) -> tuple[Atom, ...]:
        return self.space.widths


def best_mapping(h: HostBuilder, space: SegSpace, build: Build) -> tuple[Mapping, Layouts]:
    """The cheapest mapping of a space and its manifests; where there was a choice, `h` gets what was considered. Raises
    NotLowerable where the space has no kernel."""
    search = Search(h, space, build)
    widths = space.widths
    plain = [mapped(search, {}, Mapping(order, 1)) for order in orders(widths)]
    best = cheapest(search, plain[0], plain)
    while (better := best_manifest(search, plain, best)) is not best:
        best = better
    if len(search.seen) > 1:
        h.considered += (considered(h, space, one, one is best) for one in search.seen)
    return best.mapping, best.layouts


def considered(h: HostBuilder, space: SegSpace, one: Mapped, is_best: bool) -> Considered:
    """A mapping as a row: its order of dimensions, S, manifests, and for each array the sectors of its accesses, a
    request of each."""
    bases = [name.base for name, _ in space.dims]
    names = [name.base if bases.count(name.base) == 1 else str(name) for name, _ in space.dims]
    order = ", ".join(names[dim] for dim in one.mapping.order)
    factor = f", S = {one.mapping.factor}" if one.mapping.factor > 1 else ""
    copies = "".join(f", {name.base} as {perm}" for name, perm in one.layouts.items())
    arrays = {array: name.base for array, name in zip(one.made.kernel.arrays, one.made.arrays)}
    sectors: dict[str, float] = defaultdict(float)
    for site in one.sites:
        if site.requests and site.array in arrays:
            sectors[arrays[site.array]] += site.units / site.requests
    each = ", ".join(f"{array} {count:.3g}" for array, count in sectors.items())
    why_not, guard = (None, TRUE) if is_best else ("not the cheapest", None)
    return Considered(f"σ ({order}){factor}{copies}: {each}", h.nesting, why_not, guard, one.bytes, ())


def orders(widths: tuple[Atom, ...]) -> Iterator[tuple[int, ...]]:
    """The orders of the dimensions, of which at most the four innermost change places; of those with whole warps along
    the same last dimension, the first one."""
    rank, seen = len(widths), set[int]()
    fixed = tuple(range(max(0, rank - 4)))
    for inner in permutations(range(len(fixed), rank)):
        last = inner[-1] if inner else None
        if last in seen:
            continue
        if last is not None and extent_of(widths[last : last + 1]) % WARP.threads == 0:
            seen.add(last)
        yield (*fixed, *inner)


def cheapest(search: Search, best: Mapped, ones: Iterable[Mapped]) -> Mapped:
    """The first that costs clearly less than those before; `ones` have S = 1, and are tried with each S."""
    for one in ones:
        best = cheaper(best, one)
        if least_with_factor(one) < GAIN * best.bytes:
            for factor in FACTORS[1:]:
                best = cheaper(best, mapped(search, one.layouts, Mapping(one.mapping.order, factor)))
    return best


def cheaper(best: Mapped, one: Mapped) -> Mapped:
    """`one` where it costs less than `GAIN` of `best`, else `best`: small differences change nothing."""
    return one if one.bytes < GAIN * best.bytes else best


def least_with_factor(one: Mapped) -> float:
    """No more than what a mapping costs with any S."""
    of_blocks = SECTOR * global_sectors([site for site in one.sites if site.of_block])
    return one.bytes - of_blocks * (1 - 1 / max(FACTORS))


def best_manifest(search: Search, plain: list[Mapped], best: Mapped) -> Mapped:
    """With one more input in another layout, and the mapping that suits it; `best` if none saves enough."""
    h, before = search.h, best
    for name, writes in zip(before.made.arrays, before.made.writes, strict=True):
        rank = h.types[name].rank
        for inner in range(rank - 1 if not writes and name not in before.layouts else 0):
            layouts = {**before.layouts, name: (*(d for d in range(rank) if d != inner), inner)}
            chosen = [one.mapping.order for one in plain if least_with(h, one, layouts) < GAIN * best.bytes]
            with suppress(NotLowerable):
                best = cheapest(search, best, (mapped(search, layouts, Mapping(order, 1)) for order in chosen))
    return best


def least_with(h: HostBuilder, one: Mapped, layouts: Layouts) -> float:
    """No more than what the order of a mapping without manifests costs with these, with any S."""
    moved = {array for array, name in zip(one.made.kernel.arrays, one.made.arrays, strict=True) if name in layouts}
    saved = sum(max(0.0, site.units - site.requests) for site in one.sites if site.array in moved)
    return least_with_factor(one) - SECTOR * saved + copied(h, layouts)


def mapped(search: Search, layouts: Layouts, mapping: Mapping) -> Mapped:
    """A mapping with manifests. Raises NotLowerable."""
    search.h.layouts.update(layouts)
    try:
        made = search.build(mapping, THREADS)
    finally:
        search.h.layouts.clear()
    blocks = -(-extent_of(search.widths) // mapping.chunk(THREADS))
    scalars = [standing_for(var) for var in made.kernel.scalars]
    sites = predict(made.kernel, scalars, blocks, THREADS, sample=SOME)
    one = Mapped(mapping, layouts, made, sites, SECTOR * global_sectors(sites) + copied(search.h, layouts))
    search.seen.append(one)
    return one


def copied(h: HostBuilder, layouts: Layouts) -> float:
    """Bytes that manifests read and write."""
    return sum(2 * stored_bytes(h, name) for name in layouts)


def standing_for(var: KVar) -> Value:
    """What a scalar of the kernel is taken to be: integers are sizes, of the rest nothing is known."""
    return EXTENT if var.prim is Prim.I64 else None


def stored_bytes(h: HostBuilder, name: Name) -> float:
    """The bytes of an array, with sizes that are not known taken as `EXTENT`."""
    type_ = h.types[name]
    return type_.prim.bytes * extent_of(type_.shape)


def extent_of(widths: tuple[Atom, ...]) -> int:
    """Elements of a shape; a size that is not known is `EXTENT`."""
    return math.prod(int(w.value) if isinstance(w, Const) else EXTENT for w in widths)
