"""Collective algebra: which threads of a cluster execute what, statically.

A *thread collective* is a set of threads of one cluster, by natural thread index (rank of the block in the cluster
times block size, plus index in the block). Two things describe them, both over a domain that arranges the threads of
the cluster in M dimensions, D1 × .. × DM, numbered lexicographically:

    type      (domain, box): one collective is `box` threads along each dimension: a unit of measure (warp, block, ..)
    tiling    σ ↦ set of threads: for the values σ of the enclosing loops, who executes

A loop over threads subdivides its surroundings by a unit: `derive` gives the tiling of its body. A statement that wants
a unit (a barrier of the block, a shuffle of the warp) may stand where the tiling `matches` it.

Source: Exo-GPU collective analysis (statements, types, tilings, splits, completion, unit typing); the derivation of
tilings as in its implementation. Sizes are concrete integers; fractions in units are left out until clusters need them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from math import prod

from ...ir import machine
from ...ir.records import dataclass


class CollectiveError(Exception):
    """Threads cannot be arranged as asked for: ambiguous, not enough of them, or misaligned."""


class Ambiguous(CollectiveError):
    """More than one dimension could be subdivided."""


class NotEnoughThreads(CollectiveError):
    """The iterations of a loop need more threads than its surroundings have."""


class Misaligned(CollectiveError):
    """A dimension cannot be split so that boxes and offsets stay whole."""


def pitches(domain: tuple[int, ...]) -> tuple[int, ...]:
    """P_m = D_{m+1} × .. × D_M: how far apart neighbours along dimension m are."""
    return tuple(prod(domain[m + 1 :]) for m in range(len(domain)))


def linear(domain: tuple[int, ...], at: tuple[int, ...]) -> int:
    """ℓ_D: coordinates to natural thread index, lexicographic."""
    return sum(c * p for c, p in zip(at, pitches(domain), strict=True))


# ---- collective types --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CollectiveType:
    """δ = (domain, box); a box coordinate None is ⊤: any set of coordinates (agnostic).

    The product of the domain is the number of threads in the cluster."""

    domain: tuple[int, ...]
    box: tuple[int | None, ...]

    def __post_init__(self) -> None:
        assert len(self.domain) == len(self.box), "one box coordinate for each dimension"

    @property
    def threads(self) -> int | None:
        """Threads in a collective of this type; None if agnostic."""
        return None if None in self.box else prod(b for b in self.box if b is not None)

    def __str__(self) -> str:
        domain = ", ".join(map(str, self.domain))
        box = ", ".join("⊤" if b is None else str(b) for b in self.box)
        return f"domain ({domain}) box ({box})"


def split_type(type_: CollectiveType, m: int, f: int) -> CollectiveType:
    """Dimension m becomes (D/f, f); its box (B/f, f) where B >= f, else (1, B); ⊤ becomes (⊤, ⊤)."""
    d, b = type_.domain[m], type_.box[m]
    if d % f:
        raise Misaligned(f"a dimension of {d} threads is no multiple of {f}")
    boxes: tuple[int | None, int | None]
    if b is None:
        boxes = (None, None)
    elif b < f:
        boxes = (1, b)
    elif b % f:
        raise Misaligned(f"a box of {b} threads is no multiple of {f}")
    else:
        boxes = (b // f, f)
    domain = (*type_.domain[:m], d // f, f, *type_.domain[m + 1 :])
    return CollectiveType(domain, (*type_.box[:m], *boxes, *type_.box[m + 1 :]))


def aligned(type_: CollectiveType) -> CollectiveType:
    """The type in aligned form: dimensions of one thread left out, others split at their box."""
    kept = [(d, b) for d, b in zip(type_.domain, type_.box, strict=True) if d != 1]
    type_ = CollectiveType(tuple(d for d, _ in kept), tuple(b for _, b in kept))
    m = 0
    while m < len(type_.domain):
        b = type_.box[m]
        if b in (1, type_.domain[m], None):
            m += 1
        else:
            assert b is not None
            type_ = split_type(type_, m, b)
    return type_


# ---- units -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cluster:
    """The threads there are: blocks of a cluster, threads of a block."""

    blocks: int
    block: int

    @property
    def threads(self) -> int:
        return self.blocks * self.block


@dataclass(frozen=True, slots=True)
class Size:
    """factor × block size (if `per_block`) × cluster size (if `per_cluster`)."""

    factor: int
    per_block: bool = False
    per_cluster: bool = False

    def of(self, cluster: Cluster) -> int:
        return self.factor * (cluster.block if self.per_block else 1) * (cluster.blocks if self.per_cluster else 1)


@dataclass(frozen=True, slots=True)
class Unit:
    """τ: a type before the sizes of block and cluster are known. `k * unit` has a box k times as long in its last
    dimension."""

    name: str
    domain: tuple[Size, ...]
    box: tuple[Size | None, ...]

    def __rmul__(self, k: int) -> Unit:
        *outer, last = self.box
        assert last is not None, "an agnostic unit has no multiple"
        return Unit(f"{k} * {self.name}", self.domain, (*outer, replace(last, factor=k * last.factor)))


BLOCK_SIZE = Size(1, per_block=True)
THREAD = Unit("thread", (BLOCK_SIZE,), (Size(1),))
WARP = Unit("warp", (BLOCK_SIZE,), (Size(machine.WARP.threads),))
BLOCK = Unit("block", (BLOCK_SIZE,), (BLOCK_SIZE,))


def unit_type(unit: Unit, cluster: Cluster, agnostic: bool) -> CollectiveType:
    """unitTyping: sizes substituted; where the domain is smaller than the cluster, a dimension is put in front, of
    which a collective has one coordinate (unitary) or any (agnostic)."""
    domain = tuple(size.of(cluster) for size in unit.domain)
    box = tuple(None if size is None else size.of(cluster) for size in unit.box)
    copies, rest = divmod(cluster.threads, prod(domain))
    if rest or not copies:
        raise Misaligned(f"{cluster.threads} threads are no multiple of the {prod(domain)} of unit {unit.name}")
    if copies == 1:
        return CollectiveType(domain, box)
    return CollectiveType((copies, *domain), (None if agnostic else 1, *box))


# ---- tilings -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subdivision:
    """CollDimOp, in threads along the dimension's pitch: iteration σ[iterator] of `count` takes
    [a + offset + σ[iterator]·box, .. + box - 1] of the interval that starts at a."""

    iterator: str
    offset: int
    box: int
    count: int


@dataclass(frozen=True, slots=True)
class Dim:
    """CollDim: `extent` coordinates, subdivided from the outermost loop inwards; all numbers in coordinates."""

    extent: int
    subdivisions: tuple[Subdivision, ...]

    @property
    def box(self) -> int:
        return self.subdivisions[-1].box if self.subdivisions else self.extent

    def interval(self, iteration: Mapping[str, int]) -> range:
        """F_m(σ): the coordinates that execute."""
        start = sum(s.offset + iteration.get(s.iterator, 0) * s.box for s in self.subdivisions)
        return range(start, start + self.box)


@dataclass(frozen=True, slots=True)
class Tiling:
    """ω: σ ↦ { ℓ_D(v) | v ∈ F_1(σ) × .. × F_M(σ) }; without subdivisions, the whole cluster."""

    dims: tuple[Dim, ...]

    @property
    def domain(self) -> tuple[int, ...]:
        return tuple(dim.extent for dim in self.dims)

    @property
    def box(self) -> tuple[int, ...]:
        return tuple(dim.box for dim in self.dims)

    @property
    def type(self) -> CollectiveType:
        return CollectiveType(self.domain, self.box)

    @property
    def count(self) -> int:
        """How many threads execute a statement instance."""
        return prod(self.box)

    def threads(self, iteration: Mapping[str, int]) -> frozenset[int]:
        """The thread collective for the values of the loops."""
        intervals = [dim.interval(iteration) for dim in self.dims]
        return frozenset(linear(self.domain, at) for at in product(*intervals))

    def pitch(self, iterator: str) -> int:
        """min µ of an iteration minus that of the one before; 0 for a loop of one iteration."""
        for dim, p in zip(self.dims, pitches(self.domain), strict=True):
            for s in dim.subdivisions:
                if s.iterator == iterator:
                    return s.box * p if s.count > 1 else 0
        return 0


def whole(cluster: Cluster) -> Tiling:
    """Where a kernel begins: all threads of the cluster."""
    extents = (cluster.blocks, cluster.block) if cluster.blocks > 1 else (cluster.block,)
    return Tiling(tuple(Dim(extent, ()) for extent in extents))


def split_tiling(tiling: Tiling, m: int, f: int) -> Tiling:
    """Dimension m becomes two of extents (D/f, f); subdivisions of boxes >= f go to the outer one, where offset and box
    must be whole, the others to the inner one.

    The source leaves out what the inner ones need to mean the same as before: one outer coordinate, in which all their
    iterations fit."""
    dim = tiling.dims[m]
    if dim.extent % f:
        raise Misaligned(f"a dimension of {dim.extent} threads is no multiple of {f}")
    outer: list[Subdivision] = []
    inner: list[Subdivision] = []
    for s in dim.subdivisions:
        if s.box < f:
            inner.append(s)
        elif s.box % f or s.offset % f:
            raise Misaligned(f"loop {s.iterator}: boxes of {s.box} threads from {s.offset} on are not made of {f}")
        else:
            outer.append(replace(s, offset=s.offset // f, box=s.box // f))
    parts = (Dim(dim.extent // f, tuple(outer)), Dim(f, tuple(inner)))
    if inner and (parts[0].box != 1 or inner[0].offset + inner[0].count * inner[0].box > f):
        raise Misaligned(f"loop {inner[0].iterator}: its {inner[0].box}-thread boxes do not stay within {f} threads")
    return Tiling((*tiling.dims[:m], *parts, *tiling.dims[m + 1 :]))


# ---- completion --------------------------------------------------------------------------------------------------


def splits_towards(domain: tuple[int, ...], targets: frozenset[int]) -> tuple[int, int] | None:
    """The next split (dimension, factor) that brings a missing pitch of `targets` about; None if none is missing."""
    have = pitches(domain)
    missing = sorted(targets - set(have), reverse=True)
    if not missing:
        return None
    p = missing[0]
    below = max(q for q in have if q < p)
    if p % below:
        raise Misaligned(f"a pitch of {p} threads is no multiple of {below}")
    return have.index(below), p // below


def complete_tiling(tiling: Tiling, targets: frozenset[int]) -> Tiling:
    """Split until the pitches include `targets`."""
    while (step := splits_towards(tiling.domain, targets)) is not None:
        tiling = split_tiling(tiling, *step)
    return tiling


def complete_type(type_: CollectiveType, targets: frozenset[int]) -> CollectiveType:
    """Split until the pitches include `targets`, as `complete_tiling` does; raises Misaligned where boxes would not
    stay whole."""
    while (step := splits_towards(type_.domain, targets)) is not None:
        type_ = split_type(type_, *step)
    return type_


def complete(tiling: Tiling, type_: CollectiveType) -> tuple[Tiling, CollectiveType]:
    """Domain completion: both over the union of their pitches, hence over the same domain."""
    assert prod(tiling.domain) == prod(type_.domain), "over the same cluster"
    tiling = ones_left_out(tiling)
    kept = [(d, b) for d, b in zip(type_.domain, type_.box, strict=True) if d != 1]
    type_ = CollectiveType(tuple(d for d, _ in kept), tuple(b for _, b in kept))
    targets = frozenset(pitches(tiling.domain)) | frozenset(pitches(type_.domain))
    return complete_tiling(tiling, targets), complete_type(type_, targets)


def ones_left_out(tiling: Tiling) -> Tiling:
    """A dimension of one coordinate says nothing, and would give two dimensions the same pitch."""
    return Tiling(tuple(dim for dim in tiling.dims if dim.extent != 1))


# ---- loops and statements ----------------------------------------------------------------------------------------


def derive(tiling: Tiling, iterator: str, type_: CollectiveType, lo: int, hi: int, count: int) -> Tiling:
    """The tiling of the body of `for iterator: count collectives of the type, from the lo-th to the hi-th`.

    The dimension that is subdivided is the one whose box is neither ⊤, nor the surroundings' own, nor the whole extent.
    If there is none, the loop must be the trivial one (one iteration of everything). A loop over threads has lo = 0 and
    hi = count; a choice of warps lo..hi, count = 1."""
    completed, over = complete(tiling, type_)
    boxes = zip(completed.domain, completed.box, over.box, strict=True)
    tiled = [m for m, (extent, have, want) in enumerate(boxes) if want is not None and want not in (have, extent)]
    if not tiled:
        if (lo, hi, count) != (0, 1, 1):
            raise NotEnoughThreads(f"loop {iterator}: {hi} times all of the {tiling.count} threads there are")
        return completed
    if len(tiled) > 1:
        raise Ambiguous(f"loop {iterator}: ambiguous, {over} subdivides {len(tiled)} dimensions of {completed.type}")
    (m,) = tiled
    want, have = over.box[m], completed.box[m]
    assert want is not None
    if hi * want > have:
        p = pitches(completed.domain)[m]
        raise NotEnoughThreads(
            f"loop {iterator}: not enough threads, {hi} * {want} = {hi * want} > {have}"
            + (f" (in steps of {p} threads)" if p > 1 else "")
        )
    new = Subdivision(iterator, lo * want, (hi - lo) // count * want, count)
    dim = completed.dims[m]
    subdivided = replace(dim, subdivisions=(*dim.subdivisions, new))
    return Tiling((*completed.dims[:m], subdivided, *completed.dims[m + 1 :]))


def over_threads(tiling: Tiling, iterator: str, unit: Unit, count: int, cluster: Cluster) -> Tiling:
    """The body of `for iterator < count over unit`: subdivides the threads that execute the loop."""
    return derive(tiling, iterator, unit_type(unit, cluster, agnostic=True), 0, count, count)


def choose(tiling: Tiling, iterator: str, unit: Unit, lo: int, hi: int, cluster: Cluster) -> Tiling:
    """The body of `with units lo..hi`: some of them, as one collective (warp specialisation)."""
    return derive(tiling, iterator, unit_type(unit, cluster, agnostic=True), lo, hi, 1)


def matches(tiling: Tiling, unit: Unit, cluster: Cluster) -> bool:
    """Is this a unit-scope: does the tiling give a collective of the unit for every iteration?"""
    try:
        completed, type_ = complete(tiling, aligned(unit_type(unit, cluster, agnostic=False)))
    except Misaligned:
        return False
    return all(b is None or b == have for have, b in zip(completed.box, type_.box, strict=True))
