"""Core: A-normal form, first-order, many results per statement, unique names, SOACs.

No tuples, no closures. A statement binds a pattern; types stand in patterns only, and a type in a pattern may
use names bound earlier in the same pattern (existential sizes: `let (k: i64, ys: [k]i32) = ...`). Segops are further
expressions of the same language; the stages of `ir/check.py` say which may occur.
"""

# pyright: reportUnusedImport=false

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from .basic import (  # noqa: F401
    NO_DEFAULT,
    ArrayLit,
    Assert,
    Basic,
    Concat,
    Convert,
    Copied,
    Copy,
    DimIndex,
    Fix,
    GuardCmp,
    Index,
    Iota,
    PrimOp,
    Rearrange,
    Replicate,
    Reshape,
    Scratch,
    SizeParam,
    Slice,
    Update,
)
from .entry_points import Entry
from .errors import IRError, Loc
from .records import dataclass
from .types import Atom, Name, Prim, Type


@dataclass(frozen=True, slots=True)
class Param:
    """`x: t` in a pattern, a lambda, a loop or a function."""

    name: Name
    type: Type


# ---- bodies and compound expressions -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stm:
    """`let pat = exp`; `certs` are names of assertions it relies on; `loc` is where the source asks for it."""

    pat: tuple[Param, ...]
    exp: Exp
    certs: tuple[Name, ...]
    attrs: tuple[Attr, ...]
    loc: Loc


class Remembered:
    """`free`: the free names, once somebody has asked for them (`ir/traverse.py`); no part of the value."""

    __slots__ = ("free",)
    free: dict[Name, None]


@dataclass(frozen=True, slots=True)
class Body(Remembered):
    """Statements in order of execution, and the atoms that the body gives."""

    stms: tuple[Stm, ...]
    result: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Lambda:
    r"""`\(x: t) -> body : ts`: bound at the place of use; may use names of the enclosing scope."""

    params: tuple[Param, ...]
    body: Body
    ret: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class If:
    """`if c then b1 else b2`: both bodies give the values of the statement's pattern (sizes included)."""

    cond: Atom
    then: Body
    orelse: Body


@dataclass(frozen=True, slots=True)
class ForLoop:
    """`for i < n`: i counts from 0; n and i have type `prim`; a bound below 1 runs no iteration."""

    index: Name
    bound: Atom
    prim: Prim


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """`while c`: `cond` is one of the loop's parameters, of type bool."""

    cond: Name


@dataclass(frozen=True, slots=True)
class Loop:
    """`loop (x: t = init) .. for i < n do body`: parameters, initial values, form; the body gives the next values.
    A parameter's type may use other parameters (carried sizes)."""

    params: tuple[Param, ...]
    inits: tuple[Atom, ...]
    form: ForLoop | WhileLoop
    body: Body


@dataclass(frozen=True, slots=True)
class Apply:
    """`f x y`: call of a first-order function of the program."""

    function: Name
    args: tuple[Atom, ...]


# ---- SOACs -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reduction:
    """An associative operator on k values with its neutral elements; `comm` if declared or known commutative.
    `op` has 2k parameters (left values, then right values) and k results."""

    op: Lambda
    neutral: tuple[Atom, ...]
    comm: bool


@dataclass(frozen=True, slots=True)
class Screma:
    """`screma n arrays map scans reds`: map, then scans of some of the mapped values, or reductions.

    map : rows of arrays → (inputs of the operators, mapped values)
    results: scanned arrays [n]t.. or reduced values t.., mapped arrays [n]t..   (in this order)
    """

    width: Atom
    arrays: tuple[Name, ...]
    map: Lambda
    scans: tuple[Reduction, ...]
    reds: tuple[Reduction, ...]

    def __post_init__(self) -> None:
        if len(self.map.params) != len(self.arrays):
            raise IRError("screma: the map takes one parameter per array")
        if self.scans and self.reds:
            raise IRError("screma: it scans or it reduces")

    @property
    def ops(self) -> tuple[Reduction, ...]:
        return self.scans or self.reds

    @property
    def num_ops(self) -> int:
        """How many values the operators take."""
        return sum(len(op.neutral) for op in self.ops)

    @property
    def num_scans(self) -> int:
        return self.num_ops if self.scans else 0

    @property
    def num_reds(self) -> int:
        return self.num_ops if self.reds else 0

    def with_ops(self, ops: tuple[Reduction, ...]) -> Screma:
        """The same with other scans, or reductions."""
        return replace(self, scans=ops if self.scans else (), reds=() if self.scans else ops)


@dataclass(frozen=True, slots=True)
class Hist:
    """`hist n arrays map op dests`: for each i, dest[idx] ⊕= value; out-of-range idx is ignored. Consumes `dests`.

    map : rows of arrays → (one i64 index per leading dimension of the destinations (`rank` many), values)
    results: the updated destinations, each of type [d1]..[drank]t
    """

    width: Atom
    arrays: tuple[Name, ...]
    map: Lambda
    op: Reduction
    dests: tuple[Name, ...]
    rank: int


@dataclass(frozen=True, slots=True)
class Scatter:
    """`scatter n arrays map dests`: writes; out-of-range indices are ignored. Consumes `dests`.

    map : rows of arrays → (`rank` i64 indices, one value per destination)
    """

    width: Atom
    arrays: tuple[Name, ...]
    map: Lambda
    dests: tuple[Name, ...]
    rank: int


# ---- accumulators (before flattening) ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Accumulate:
    """`accumulate accs [i, j] values op`: the accumulators with `values` combined into what is at the index, by `op` or
    written over it; nothing happens out of range. Consumes `accs`, one array for each value."""

    accs: tuple[Name, ...]
    index: tuple[Atom, ...]
    values: tuple[Atom, ...]
    op: Reduction | None


@dataclass(frozen=True, slots=True)
class WithAcc:
    """`with_acc n arrays dests map`: a map whose rows accumulate into `dests`, which it consumes.

    map : accumulators, rows of arrays → (the same accumulators, mapped values)
    results: the updated destinations, mapped arrays [n]t..

    Inside, an accumulator is passed on and given to `accumulate` and further `with_acc`, nothing else: rows may be
    executed in any order. As a value it is an array, and the rows are executed in their order."""

    width: Atom
    arrays: tuple[Name, ...]
    map: Lambda
    dests: tuple[Name, ...]


# ---- segops (after flattening) -----------------------------------------------------------------------------------


class Level(Enum):
    """Which level of the machine executes the body of a segop; without meaning for the value (DESIGN 2.4)."""

    THREAD = "thread"
    WARP = "warp"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class SegSpace:
    """`(i < n, j < m)`: index names (i64) and widths, outermost first."""

    dims: tuple[tuple[Name, Atom], ...]

    @property
    def indices(self) -> tuple[Name, ...]:
        return tuple(name for name, _ in self.dims)

    @property
    def widths(self) -> tuple[Atom, ...]:
        return tuple(width for _, width in self.dims)


@dataclass(frozen=True, slots=True)
class SegMap:
    """`segmap^l (i < n, j < m) : ts { body }`: results [n][m]t; `ret` are the types t of the body's results."""

    level: Level
    space: SegSpace
    body: Body
    ret: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class SegRed:
    """`segred^l (i < n, j < m) op ne : ts { body }`: reduces the innermost dimension, the outer ones are segments.

    body gives the inputs of the reductions in order, then values that are mapped.
    results: reduced values [n]t.., then mapped arrays [n][m]t..

    `segred^l (i < n, q < m) rows ends op ne : ts { body }`: rows of varying length, one after the other in 0 .. m;
    row i is `ends[i-1] <= q < ends[i]` (from 0 on for the first), `ends` ascends to m. Nothing is mapped.
    """

    level: Level
    space: SegSpace
    reds: tuple[Reduction, ...]
    body: Body
    ret: tuple[Type, ...]
    ends: Name | None

    def __post_init__(self) -> None:
        if not self.space.dims:
            raise IRError("segred needs a dimension to reduce")
        if self.ends is not None and (len(self.space.dims) != 2 or len(self.ret) != self.num_reds):
            raise IRError("a segred of rows has a dimension of rows and one of elements, and maps nothing")

    @property
    def num_reds(self) -> int:
        return sum(len(r.neutral) for r in self.reds)


@dataclass(frozen=True, slots=True)
class SegScan:
    """`segscan^l (i < n, j < m) op ne : ts { body }`: inclusive scan along the innermost dimension of each segment.

    results: scanned arrays [n][m]t.., then mapped arrays [n][m]t..
    """

    level: Level
    space: SegSpace
    scans: tuple[Reduction, ...]
    body: Body
    ret: tuple[Type, ...]

    def __post_init__(self) -> None:
        if not self.space.dims:
            raise IRError("segscan needs a dimension to scan")


@dataclass(frozen=True, slots=True)
class SegScatter:
    """`segscatter^l (i < n, j < m) dests { body }`: body gives `rank` indices, then a value per destination, once or
    for each of several writes.
    Writes out of range are ignored; consumes `dests`; results: the updated destinations.
    `rank` counts all leading dimensions of a destination that are indexed (those of outer segments included);
    `safe`: no write is out of range, by construction."""

    level: Level
    space: SegSpace
    dests: tuple[Name, ...]
    rank: int
    body: Body
    safe: bool = False


@dataclass(frozen=True, slots=True)
class SegHist:
    """`seghist^l (i < n, j < m) op dests { body }`: body gives `rank` indices, then the values to combine, once or for
    each of several updates, which are made in this order.
    As `Hist`; `rank` includes the dimensions of outer segments."""

    level: Level
    space: SegSpace
    op: Reduction
    dests: tuple[Name, ...]
    rank: int
    body: Body

    @property
    def updates(self) -> tuple[tuple[Atom, ...], ...]:
        """Of each update of a point the indices, then the values."""
        each = self.rank + len(self.dests)
        return tuple(self.body.result[k : k + each] for k in range(0, len(self.body.result), each))


Soac = Screma | Hist | Scatter
Acc = Accumulate | WithAcc
SegOp = SegMap | SegRed | SegScan | SegScatter | SegHist
Exp = Basic | If | Loop | Apply | Soac | Acc | SegOp


# ---- attributes and programs -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attr:
    """`#[name]` or `#[name(arg, ..)]`; arguments are attributes again, numbers are names made of digits."""

    name: str
    args: tuple[Attr, ...]


@dataclass(frozen=True, slots=True)
class FunDef:
    """`fun f (params) : (results) = body`. Results are named, since a type may use an earlier result as a size.
    `consumes`: names of parameters whose arrays it may overwrite. `kernels`: versions by hand (`ir/by_hand.py`)."""

    name: Name
    params: tuple[Param, ...]
    consumes: tuple[Name, ...]
    results: tuple[Param, ...]
    body: Body
    entry: Entry | None
    attrs: tuple[Attr, ...]
    loc: Loc
    kernels: tuple[FunDef, ...] = ()


@dataclass(frozen=True, slots=True)
class Prog:
    """A program: constants computed once (`consts`, visible in all functions), functions, next free name tag."""

    consts: tuple[Stm, ...]
    functions: tuple[FunDef, ...]
    next_name: int

    @property
    def bodies(self) -> tuple[Body, ...]:
        """That of the constants, then those of the functions."""
        return (Body(self.consts, ()), *[fun.body for fun in self.functions])
