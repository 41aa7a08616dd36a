"""σ: how the points of a space are laid over blocks, warps and lanes (SEEDS row H).

A mapping is the order of the space's dimensions (the last one runs over the lanes of a warp), how its points are split
(of a map the sequential factor S: a thread takes the points s*T + t for s < S; of a reduction whether lanes take the
elements of a segment or segments), and the layout of each input (a copy with another dimension innermost, its
manifest) and of the results of a map, which are then copied to where they are to be. They are enumerated together, for
every kernel of a segop; the cost is the exact number of memory sectors that the accesses of the kernel touch
(`kernels/analysis/sectors.py`) at sizes that stand for large ones, and the bytes of the manifests.

    σ* = argmin over order, S, layouts of  32 B * Σ_access sectors(f', order, S)  +  bytes read and written by manifests

Ties go to the order of the source, then to fewer elements for each thread. A mapping is not evaluated where what it
costs is known, or is known to be no clear gain:

    order       where whole warps lie along the last dimension, the order of the others changes no request of a warp
    S           changes no request of threads; what a block does once costs 1/S of what it did, at best
    manifest    a request of the array costs a sector, at best; the other arrays cost what they did

Where counting does not decide, the program has both: the mapping of fewest bytes, and another one that the setting
`mapping` (`kernels/host_ir/launch_parameters.py`) takes.

    rival       of those evaluated, with another order, way to split or other manifests, the one that costs least,
                and less than GAIN of σ*, where caches hold HELD of what is accessed again

The width of an access (`passes/vectorise_accesses.py`) is no part of a mapping: a row of 16 bytes touches the sectors
of its elements.
"""

from __future__ import annotations

import math
from collections import abc, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import field, replace
from itertools import permutations

from ....ir import scalar
from ....ir.core import Copied, Level, PrimOp, SegSpace, SizeParam
from ....ir.machine import BLOCK, WARP
from ....ir.records import dataclass
from ....ir.types import Atom, Const, Name, Prim, Var
from ...analysis.memory_model import SECTOR
from ...analysis.sectors import SOME, Predicted, Value, global_sectors, predict
from ...host_ir.launch_parameters import Kind, size_param
from ..host_builder import TRUE, Considered, Dims, HostBuilder, Made, Sigma
from ..kernel_builder import NotLowerable

EXTENT = 512
"""What stands for a size that is not known: a multiple of every sector and warp."""

FACTORS = (1, 2, 4, 8)
THREADS = 2 * WARP.threads
"""Lanes that are evaluated: two warps."""

GAIN = 0.9
"""A mapping is only taken before a simpler one if it costs less than this share."""

HELD = 7 / 8
"""The share of what is accessed again that caches may hold: of a sector that a thread reads by elements of 4 bytes, all
but the first."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Order of the dimensions, outermost first; points for each thread; which of several `ways` to split."""

    order: tuple[int, ...]
    factor: int
    way: int = 0

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
    all; `cached`: where caches hold `HELD` of what is accessed again."""

    mapping: Mapping
    layouts: Layouts
    made: Made
    sites: tuple[Predicted, ...]
    bytes: float
    cached: float

    @property
    def kind(self) -> tuple[object, ...]:
        """What a rival has otherwise: how often a block runs a kernel is a setting of its own."""
        return self.mapping.order, self.mapping.way, self.layouts


@dataclass(frozen=True, slots=True)
class Search:
    """The dimensions to be mapped, how the kernels are made and how many blocks these have, the factors to be tried,
    what the ways to split are called, the results that may be written in another layout, and the mappings that were
    evaluated."""

    h: HostBuilder
    dims: Dims
    build: Build
    blocks: Callable[[Mapping], int]
    factors: tuple[int, ...]
    ways: tuple[str, ...] = ("",)
    results: frozenset[Name] = frozenset()
    seen: list[Mapped] = field(default_factory=list[Mapped])

    @property
    def widths(self) -> tuple[Atom, ...]:
        return tuple(width for _, width in self.dims)


def best_mapping(
    h: HostBuilder, space: SegSpace, build: Build, results: abc.Set[Name] = frozenset()
) -> tuple[tuple[Mapping, Layouts], ...]:
    """The cheapest mapping of a map's space and its manifests, and its rival, if it has one; `h` gets what was
    considered. `results` may be written in another layout, and are then copied. Raises NotLowerable where the space has
    no kernel."""
    search = replace(search_of(h, space, build), results=frozenset(results))
    ones = found(search, [Mapping(order, 1) for order in orders(space.widths)])
    return tuple([(one.mapping, one.layouts) for one in ones])


def search_of(h: HostBuilder, space: SegSpace, build: Build) -> Search:
    """The search for the mapping of a map."""
    extent = extent_of(space.widths)
    return Search(h, space.dims, build, lambda mapping: -(-extent // mapping.chunk(THREADS)), FACTORS)


Way = tuple[str, tuple[Atom, ...], Callable[[], Made]]
"""A way to split a space: what it is called, its blocks (the product of these), and its kernel."""


def best_way(h: HostBuilder, ways: tuple[Way, ...], dims: Dims = ()) -> tuple[tuple[int, Made], ...]:
    """The cheapest of several ways to run a segop, with the order of `dims` and the manifests that suit it; and its
    rival, if it has one. Raises NotLowerable where there is none."""

    def build(mapping: Mapping, _: int) -> Made:
        h.order = mapping.order
        try:
            return ways[mapping.way][2]()
        finally:
            h.order = None

    def blocks(mapping: Mapping) -> int:
        return math.prod(v for atom in ways[mapping.way][1] if isinstance(v := standing_for(h, atom), int))

    search = Search(h, dims, build, blocks, (1,), tuple(name for name, _, _ in ways))
    widths = search.widths
    ones = found(search, [Mapping(order, 1, way) for way in range(len(ways)) for order in orders(widths)])
    return tuple([(one.mapping.way, one.made) for one in ones])


def best_layout(h: HostBuilder, blocks: tuple[Atom, ...], build: Callable[[], Made], dims: Dims) -> Made:
    """The kernel that `build` makes, with the order of `dims` and the manifests that cost least, and its rival."""
    (_, made), *rivals = best_way(h, (("", blocks, build),), dims)
    return replace(made, rival=rivals[0][1]) if rivals else made


def found(search: Search, mappings: list[Mapping]) -> list[Mapped]:
    """The cheapest of these mappings, with the factor and the manifests that suit it; and its rival."""
    plain = [mapped(search, {}, mapping) for mapping in mappings]
    best = cheapest(search, plain[0], plain)
    while (better := best_manifest(search, plain, best)) is not best:
        best = better
    ones = [best, *rival_of(search, best)]
    search.h.considered += (considered(search, one, ones) for one in search.seen)
    return ones


def rival_of(search: Search, best: Mapped) -> list[Mapped]:
    """The mapping that may be better than that of fewest bytes, if there is one."""
    better = [one for one in search.seen if one.kind != best.kind and one.cached < GAIN * best.cached]
    return sorted(better, key=lambda one: (one.cached, one.bytes))[:1]


def considered(search: Search, one: Mapped, ones: list[Mapped]) -> Considered:
    """A mapping as a row, of which `ones` are taken: its order of dimensions, S, manifests, and for each array the
    sectors of its accesses, a request of each."""
    h, mapping = search.h, one.mapping
    bases = [name.base for name, _ in search.dims]
    names = [name.base if bases.count(name.base) == 1 else str(name) for name, _ in search.dims]
    parts = [f"({', '.join(names[dim] for dim in mapping.order)})"] if mapping.order else []
    parts += [search.ways[mapping.way]] if search.ways[mapping.way] else []
    parts += [f"S = {mapping.factor}"] if mapping.factor > 1 else []
    parts += [f"{name.base} as {perm}" for name, perm in one.layouts.items()]
    arrays = {array: name.base for array, name in zip(one.made.kernel.arrays, one.made.arrays)}
    sectors: dict[str, float] = defaultdict(float)
    for site in one.sites:
        if site.requests and site.array in arrays:
            sectors[arrays[site.array]] += site.units / site.requests
    each = ", ".join(f"{array} {count:.3g}" for array, count in sectors.items())
    words, setting = ", ".join(parts) or "as it is", size_param(h.entry, h.side, Kind.MAPPING).name
    place = next((k for k, taken in enumerate(ones, 1) if taken is one), 0)
    why_not, guard = (None, TRUE) if place == 1 else ("not the cheapest", None)
    why_not = f"only if {setting} is {place}" if place > 1 else why_not
    settings = (setting, place) if place and len(ones) > 1 else None
    sigma = Sigma(words, global_sectors(one.sites), copied(h, one.layouts), tuple(sectors.items()), settings)
    return Considered(f"σ {words}: {each}", h.nesting, why_not, guard, one.bytes, (), sigma)


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
        if least_with_factor(search, one) < GAIN * best.bytes:
            for factor in search.factors[1:]:
                best = cheaper(best, mapped(search, one.layouts, replace(one.mapping, factor=factor)))
    return best


def cheaper(best: Mapped, one: Mapped) -> Mapped:
    """`one` where it costs less than `GAIN` of `best`, else `best`: small differences change nothing."""
    return one if one.bytes < GAIN * best.bytes else best


def least_with_factor(search: Search, one: Mapped) -> float:
    """No more than what a mapping costs with any S."""
    of_blocks = SECTOR * global_sectors([site for site in one.sites if site.of_block])
    return one.bytes - of_blocks * (1 - 1 / max(search.factors))


def best_manifest(search: Search, plain: list[Mapped], best: Mapped) -> Mapped:
    """With one more input in another layout, and the mapping that suits it; `best` if none saves enough."""
    h, before = search.h, best
    for name, writes in zip(before.made.arrays, before.made.writes, strict=True):
        rank, may = h.types[name].rank, (not writes or name in search.results) and name not in before.layouts
        for inner in range(rank - 1 if may else 0):
            layouts = {**before.layouts, name: (*(d for d in range(rank) if d != inner), inner)}
            chosen = [one.mapping for one in plain if least_with(search, one, layouts) < GAIN * best.bytes]
            with suppress(NotLowerable):
                best = cheapest(search, best, (mapped(search, layouts, mapping) for mapping in chosen))
    return best


def least_with(search: Search, one: Mapped, layouts: Layouts) -> float:
    """No more than what the order of a mapping without manifests costs with these, with any S."""
    moved = {array for array, name in zip(one.made.kernel.arrays, one.made.arrays, strict=True) if name in layouts}
    saved = sum(max(0.0, site.units - site.requests) for site in one.sites if site.array in moved)
    return least_with_factor(search, one) - SECTOR * saved + copied(search.h, layouts)


def mapped(search: Search, layouts: Layouts, mapping: Mapping) -> Mapped:
    """A mapping with manifests. Raises NotLowerable."""
    search.h.layouts.update(layouts)
    try:
        made = search.build(mapping, THREADS)
    finally:
        search.h.layouts.clear()
    kernel = made.kernel
    threads = {Level.WARP: WARP.threads}.get(kernel.collective, THREADS if search.factors is FACTORS else BLOCK.threads)
    scalars = [standing_for(search.h, Var(name)) for name in made.scalars]
    sites = predict(kernel, scalars, search.blocks(mapping), threads, sample=SOME)
    bytes = SECTOR * global_sectors(sites) + copied(search.h, layouts)
    one = Mapped(mapping, layouts, made, sites, bytes, bytes - HELD * again(search.h, made, sites))
    search.seen.append(one)
    return one


def again(h: HostBuilder, made: Made, sites: tuple[Predicted, ...]) -> float:
    """Bytes of arrays of the host that a kernel accesses beyond what these have."""
    once = {array: stored_bytes(h, name) for array, name in zip(made.kernel.arrays, made.arrays)}
    moved = dict.fromkeys(once, 0.0)
    for site in sites:
        if site.array in moved:
            moved[site.array] += SECTOR * site.units
    return sum(max(0.0, moved[array] - once[array]) for array in once)


def copied(h: HostBuilder, layouts: Layouts) -> float:
    """Bytes that manifests read and write."""
    return sum(2 * stored_bytes(h, name) for name in layouts)


def standing_for(h: HostBuilder, atom: Atom, seen: dict[Name, Value] | None = None) -> Value:
    """What a scalar is taken to be: what the host computes of sizes that are `EXTENT`; of what is no integer nothing is
    known. `seen`: what is known of others."""
    if isinstance(atom, Const):
        return atom.value
    seen = {} if seen is None else seen
    if atom.name not in seen:
        seen[atom.name] = _computed_value(h, atom.name, seen)
    return seen[atom.name]


def _computed_value(h: HostBuilder, name: Name, seen: dict[Name, Value]) -> Value:
    match h.computed.get(name):
        case PrimOp(op, prim, args):
            values = [standing_for(h, arg, seen) for arg in args]
            known = tuple(value for value in values if isinstance(value, bool | int | float))
            if len(known) == len(args):
                with suppress(scalar.ScalarFailure):
                    return scalar.apply(op, prim, known)
        case SizeParam(_, default):
            return default
        case Copied(other):
            return standing_for(h, other, seen)
        case _:
            pass
    return EXTENT if h.types[name].prim is Prim.I64 else None


def stored_bytes(h: HostBuilder, name: Name) -> float:
    """The bytes of an array, with sizes that are not known taken as `EXTENT`."""
    type_ = h.types[name]
    return type_.prim.bytes * extent_of(type_.shape)


def extent_of(widths: tuple[Atom, ...]) -> int:
    """Elements of a shape; a size that is not known is `EXTENT`."""
    return math.prod(int(w.value) if isinstance(w, Const) else EXTENT for w in widths)
