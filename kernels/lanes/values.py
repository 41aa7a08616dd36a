"""Values of a kernel as the lanes see them, and the state of the emitter.

A value is uniform (one scalar), linear over the lanes (base + lane * stride, kept as a scalar: this is how contiguous
accesses are found), or varying (one vector for each of the `unroll` groups of lanes). A mask says which lanes are on;
None means all of them, a fact known while emitting, which makes loads plain and selects disappear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from ...ir.records import dataclass
from ...ir.types import Const, Prim
from ..analysis.intervals import Interval, find_intervals, range_of
from ..analysis.uniformity import DeadAfter, Facts
from ..kernel_ir.nodes import KArray, Kernel, KVar, Operand
from ..llvm.text import SCALAR, Code, Vec, literal, llvm_type, vector
from .neighbours import Near


@dataclass(frozen=True, slots=True)
class Uniform:
    """One scalar for all lanes: its type, and its text."""

    prim: Prim
    text: str


@dataclass(frozen=True, slots=True)
class Linear:
    """`base + lane * stride`, modulo the width of the type; `exact` if it does not wrap in any lane that is on."""

    prim: Prim
    base: str
    stride: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Varying:
    """A vector for each group of lanes."""

    prim: Prim
    texts: tuple[str, ...]


LaneValue = Uniform | Linear | Varying
Mask = tuple[str, ...]
ALL_ON = "splat (i1 true)"
"""The mask of a vector whose lanes are all on."""


@dataclass(frozen=True, slots=True)
class Window:
    """Of indices that are close together, for each group of lanes (`windows.py`): base (an i64 text), what to add to it
    (a vector of i32), and the largest of that (an i32 text); only where the i1 `holds`. `few`: in any case the index is
    the base and the offset, which is from 0 to 127."""

    bases: tuple[str, ...]
    offsets: tuple[str, ...]
    lasts: tuple[str, ...]
    holds: str
    few: bool = False


@dataclass(frozen=True, slots=True)
class Flipped:
    """Of indices with flipped bits (`flipped_bits.py`): where the vector of memory of each group begins (i64 texts),
    the bits flipped in the number of a lane (an i64 text); only where the i1 `holds`."""

    bases: tuple[str, ...]
    low: str
    holds: str


@dataclass(frozen=True, slots=True)
class Run:
    """In the lanes of `mask` the index is `at`, an element or a run of them (`runs.py`)."""

    mask: Mask
    at: Linear | Uniform


@dataclass(frozen=True, slots=True)
class Counted:
    """Inside of a peeled loop: where it begins (an i64 text), how many indices each lane is behind that (a vector of
    i32), and linear values that are the index and a number, by the texts of their bases."""

    lo: str
    lanes: str
    shifts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Table:
    """A small array on the stack (`small_tables.py`): where it is, how many elements that has at most, and how many the
    array has (an i64 text), if these may be more."""

    slot: str
    most: int
    count: str


@dataclass(slots=True)
class Slot:
    """A mutable variable: stack slots, which LLVM turns into registers. Lanes outside of `mask` (None: none) do not
    care what is stored for them."""

    prim: Prim
    varying: bool
    pointers: tuple[str, ...]
    mask: Mask | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where an array lives: its address; `lanes` is 0, or for PRIVATE arrays the lanes that its elements are
    interleaved over: element i of lane l is at i * lanes + l. Lanes outside of `mask` do not care for it."""

    pointer: str
    lanes: int
    mask: Mask | None


@dataclass(slots=True)
class Lanes:
    """The emitter of one kernel: where code goes, how many lanes there are at this point, which are on; `masks`: stores
    under a mask take no longer than others; `branched`: in a branch that lanes take or not; `alone`: threads run one by
    one, in scalar code; `ahead`: the
    indices of loads that are fetched ahead, and by how many bytes (`prefetch.py`); `beside`: for lists of statements
    the loads near other ones (`neighbours.py`); `streams`: the arrays whose whole vectors are written past the caches
    (`passes/nontemporal_stores.py`), `streamed`: has one been; `in_place`: those that are read and written;
    `quotients`: divisions by products (`uniform_division.py`); `rest`: the
    mask of the last threads of a loop, fewer than lanes, and their number (`row_ends.py`); `windows`, `runs`,
    `flipped`: what is known of indices, by their texts; `tables`: what is looked up in registers; `counted`: lanes of a
    peeled loop; `begins`: of variables that are GROUP more than another, that one."""

    code: Code
    kernel: Kernel
    facts: Facts
    dead_after: DeadAfter
    width: int
    unroll: int
    peeled: bool
    masks: bool = True
    mask: Mask | None = None
    branched: bool = False
    in_threads: bool = False
    alone: bool = False
    ahead: Mapping[str, int] = field(default_factory=dict[str, int])
    beside: Mapping[int, Near] = field(default_factory=dict[int, Near])
    streams: frozenset[KArray] = frozenset()
    streamed: bool = False
    in_place: frozenset[KArray] = frozenset()
    quotients: frozenset[str] = frozenset()
    rest: tuple[Mask, str] | None = None
    windows: dict[tuple[str, ...], Window] = field(default_factory=dict[tuple[str, ...], Window])
    runs: dict[tuple[str, ...], tuple[Run, ...]] = field(default_factory=dict[tuple[str, ...], tuple[Run, ...]])
    flipped: dict[tuple[str, ...], Flipped] = field(default_factory=dict[tuple[str, ...], Flipped])
    counted: Counted | None = None
    begins: dict[Operand, Operand] = field(default_factory=dict["Operand", "Operand"])
    tables: dict[KArray, Table] = field(default_factory=dict["KArray", "Table"])
    found: Mapping[str, Interval] | None = None
    env: dict[str, LaneValue | Slot] = field(default_factory=dict)
    places: dict[KArray, Place] = field(default_factory=dict)
    scratch: dict[str, str] = field(default_factory=dict)
    stack_bytes: int = 0

    @property
    def lanes(self) -> int:
        return self.width * self.unroll

    @property
    def vec(self) -> Vec:
        return Vec(self.code, self.width)

    @property
    def one(self) -> Vec:
        """Instructions on scalars."""
        return Vec(self.code, SCALAR)

    def type(self, prim: Prim) -> str:
        return vector(llvm_type(prim), self.width)

    def interval(self, x: Operand) -> Interval:
        """The interval of an integer; all are found when one is asked for."""
        if isinstance(x, Const):
            return int(x.value), int(x.value)
        if self.found is None:
            self.found = find_intervals(self.kernel.body)
        return self.found.get(x.name) or range_of(x.prim)

    @contextmanager
    def masked(self, mask: Mask | None) -> Iterator[None]:
        saved, self.mask = self.mask, mask
        try:
            yield
        finally:
            self.mask = saved

    @contextmanager
    def shaped(self, width: int, unroll: int) -> Iterator[None]:
        """Code for another number of lanes, all of them on."""
        saved = self.width, self.unroll, self.mask
        self.width, self.unroll, self.mask = width, unroll, None
        try:
            yield
        finally:
            self.width, self.unroll, self.mask = saved


# ---- reading -----------------------------------------------------------------------------------------------------


def operand(e: Lanes, x: Operand) -> LaneValue:
    """The value an operand has now."""
    match x:
        case Const(prim, value):
            return Uniform(prim, literal(prim, value))
        case KVar(name, _):
            value = e.env[name]
            return load_slot(e, value) if isinstance(value, Slot) else value


def load_slot(e: Lanes, slot: Slot) -> LaneValue:
    """What a variable holds now: a scalar, or a vector for each group of lanes."""
    if not slot.varying:
        return Uniform(slot.prim, e.code.op(f"load {llvm_type(slot.prim)}, ptr {slot.pointers[0]}"))
    return Varying(slot.prim, tuple(e.code.op(f"load {e.type(slot.prim)}, ptr {p}") for p in slot.pointers))


def splat(e: Lanes, prim: Prim, text: str) -> str:
    """A scalar in every lane of one vector."""
    if not text.startswith("%"):
        return f"splat ({llvm_type(prim)} {text})"
    return e.code.splat(llvm_type(prim), e.width, text)


def vectors(e: Lanes, value: LaneValue) -> tuple[str, ...]:
    """The value as vectors, one for each group."""
    match value:
        case Uniform(prim, text):
            return (splat(e, prim, text),) * e.unroll
        case Linear(prim, base, stride, _):
            start = splat(e, prim, base)
            return tuple(
                e.vec.ins("add", prim, start, steps(prim, j * e.width * stride, stride, e.width))
                for j in range(e.unroll)
            )
        case Varying(_, texts):
            assert len(texts) == e.unroll, "a value of another number of lanes"
            return texts


def steps(prim: Prim, start: int, stride: int, width: int) -> str:
    """The constant vector start, start + stride, .. (modulo the width of the type)."""
    modulus = 1 << prim.bits
    listed = (f"{llvm_type(prim)} {(start + lane * stride) % modulus}" for lane in range(width))
    return f"<{', '.join(listed)}>"


def scalar(e: Lanes, value: LaneValue) -> str:
    """The text of a value that all lanes agree on."""
    match value:
        case Uniform(_, text):
            return text
        case Linear(_, base, _, _):
            return base
        case Varying(prim, texts):
            return e.code.op(f"extractelement {e.type(prim)} {texts[0]}, i64 0")


def pointwise(
    e: Lanes, result: Prim, args: tuple[LaneValue, ...], f: Callable[[Vec, tuple[str, ...]], str]
) -> LaneValue:
    """`f` on scalars if all operands are uniform, else on each group of lanes."""
    if all(isinstance(a, Uniform) for a in args):
        return Uniform(result, f(e.one, tuple(scalar(e, a) for a in args)))
    columns = [vectors(e, a) for a in args]
    return Varying(result, tuple(f(e.vec, tuple(c[j] for c in columns)) for j in range(e.unroll)))


# ---- masks -------------------------------------------------------------------------------------------------------


def mask_of(e: Lanes, cond: LaneValue) -> Mask:
    """The lanes that are on and where `cond` holds."""
    return intersect(e, e.mask, vectors(e, cond))


def intersect(e: Lanes, mask: Mask | None, other: Mask) -> Mask:
    """The lanes of both masks; None is all of them."""
    if mask is None:
        return other
    return tuple(e.vec.both(x, y) for x, y in zip(mask, other, strict=True))


def complement(e: Lanes, mask: Mask) -> Mask:
    """The lanes that a mask leaves out, also those that are off."""
    return tuple(e.vec.negate(x) for x in mask)


def full_mask(e: Lanes) -> Mask:
    """The lanes that are on, as vectors."""
    return e.mask if e.mask is not None else (ALL_ON,) * e.unroll


def any_lane(e: Lanes, mask: Mask) -> str:
    """i1: is a lane on?"""
    joined = mask[0]
    for other in mask[1:]:
        joined = e.vec.either(joined, other)
    return e.vec.any(joined)


def chosen(e: Lanes, mask: Mask, prim: Prim, on: tuple[str, ...], off: tuple[str, ...]) -> tuple[str, ...]:
    """`on` in the lanes of the mask, `off` in the others."""
    return tuple(e.vec.select(prim, m, x, y) for m, x, y in zip(mask, on, off, strict=True))
