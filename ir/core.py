"""Core: A-normal form, first-order, many results per statement, unique names, SOACs.

No tuples, no closures. A statement binds a pattern; types stand in patterns only, and a type in a pattern may
use names bound earlier in the same pattern (existential sizes: `let (k: i64, ys: [k]i32) = ...`). Segops are further
expressions of the same language; the stages of `ir/check.py` say which may occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .entry_points import Entry
from .errors import IRError, Loc
from .ops import Op
from .types import Atom, Const, Name, Prim, Type


@dataclass(frozen=True, slots=True)
class Param:
    """`x: t` in a pattern, a lambda, a loop or a function."""

    name: Name
    type: Type


# ---- basic operations --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Copied:
    """`x`: the atom itself (an alias where it is an array)."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class PrimOp:
    """`add_i32 x y`: an operation of the table in `ir/ops.py` at operand type `prim`.

    Integer division and power can fail (R0102); all other operations are total."""

    op: Op
    prim: Prim
    args: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Convert:
    """`i32_to_f64 x`: conversion between scalar types; total (float to int saturates, nan gives 0)."""

    source: Prim
    target: Prim
    arg: Atom


@dataclass(frozen=True, slots=True)
class Fix:
    """`i`: one index along a dimension."""

    index: Atom


@dataclass(frozen=True, slots=True)
class Slice:
    """`start :+ count * stride`: `count` elements from `start` in steps of `stride` (may be negative)."""

    start: Atom
    count: Atom
    stride: Atom


DimIndex = Fix | Slice


@dataclass(frozen=True, slots=True)
class Index:
    """`xs[i, j]`: one `DimIndex` for every dimension of `array`; `Fix` drops the dimension, `Slice` keeps it.

    Fails with R0101 when out of bounds unless `safe` (known in bounds by construction)."""

    array: Name
    dims: tuple[DimIndex, ...]
    safe: bool


@dataclass(frozen=True, slots=True)
class Update:
    """`xs with [i] <- v`: consumes `array`, gives the array with the place replaced. As `Index`, v scalar or array."""

    array: Name
    dims: tuple[DimIndex, ...]
    value: Atom
    safe: bool


@dataclass(frozen=True, slots=True)
class Iota:
    """`iota n from start by step`: `[n]prim`, prim an integer type. n is already known to be non-negative."""

    count: Atom
    start: Atom
    step: Atom
    prim: Prim


@dataclass(frozen=True, slots=True)
class Replicate:
    """`replicate [n][m] x`: x may be a scalar or an array (its shape follows the new dimensions)."""

    shape: tuple[Atom, ...]
    value: Atom


@dataclass(frozen=True, slots=True)
class Scratch:
    """`scratch t`: an array whose elements are undefined until written (never read before)."""

    type: Type


@dataclass(frozen=True, slots=True)
class ArrayLit:
    """`[a, b, c]`: elements of one type `row` (scalars or arrays of one shape)."""

    elems: tuple[Atom, ...]
    row: Type


@dataclass(frozen=True, slots=True)
class Rearrange:
    """`rearrange (k1,..,kn) xs`: dimension i of the result is dimension ki of `array`; transpose is (1,0). A view."""

    perm: tuple[int, ...]
    array: Name


@dataclass(frozen=True, slots=True)
class Reshape:
    """`reshape [n][m] xs`: the same elements in row-major order; the number of elements is known to agree."""

    shape: tuple[Atom, ...]
    array: Name


@dataclass(frozen=True, slots=True)
class Concat:
    """`concat xs ys ..` along the outermost dimension; `width` is the sum of the widths."""

    arrays: tuple[Name, ...]
    width: Atom


@dataclass(frozen=True, slots=True)
class Copy:
    """`copy xs`: a fresh array with the same elements."""

    array: Name


@dataclass(frozen=True, slots=True)
class Assert:
    """`assert c "text" x "text"`: gives `c` (true) or fails with `code`. Statements that rely on it name the result
    in `certs`; an assertion nothing relies on is dead."""

    cond: Atom
    code: str
    parts: tuple[str | Atom, ...]


@dataclass(frozen=True, slots=True)
class GuardCmp:
    """`guard main.ys.suff_outer_0 <= par`: compares exploitable parallelism with a threshold (`threshold <= par`).
    A negative `par` says that the version does not fit the machine at this size: it is not taken, whatever the
    threshold or a forced version says.
    `path`: the enclosing guards of the same site with the side taken, outermost first. `pays`: where nothing sets
    the threshold, the version is taken only if this holds too."""

    threshold: str
    par: Atom
    path: tuple[tuple[str, bool], ...]
    pays: Atom = Const(Prim.BOOL, True)


@dataclass(frozen=True, slots=True)
class SizeParam:
    """`param main.ys.tile_0 default 32`: a size, i64 and at least 1, that a tuning file may set. With the default
    `NO_DEFAULT` the program computes what to use where it is not set."""

    name: str
    default: int

    def __post_init__(self) -> None:
        if self.default < 1:
            raise IRError("a size parameter is at least 1")


NO_DEFAULT = 2**63 - 1


# ---- bodies and compound expressions -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stm:
    """`let pat = exp`; `certs` are names of assertions it relies on; `loc` is where the source asks for it."""

    pat: tuple[Param, ...]
    exp: Exp
    certs: tuple[Name, ...]
    attrs: tuple[Attr, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Body:
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
    """`screma n arrays map scans reds`: map, then scans and reductions of some of the mapped values.

    map : rows of arrays → (scan inputs, reduction inputs, mapped values)
    results: scanned arrays [n]t.., reduced values t.., mapped arrays [n]t..   (in this order)
    """

    width: Atom
    arrays: tuple[Name, ...]
    map: Lambda
    scans: tuple[Reduction, ...]
    reds: tuple[Reduction, ...]

    def __post_init__(self) -> None:
        if len(self.map.params) != len(self.arrays):
            raise IRError("screma: the map takes one parameter per array")

    @property
    def num_scans(self) -> int:
        return sum(len(s.neutral) for s in self.scans)

    @property
    def num_reds(self) -> int:
        return sum(len(r.neutral) for r in self.reds)


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
    """`segscatter^l (i < n, j < m) dests { body }`: body gives `rank` indices, then a value per destination.
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
    """`seghist^l (i < n, j < m) op dests { body }`: body gives `rank` indices, then the values to combine.
    As `Hist`; `rank` includes the dimensions of outer segments."""

    level: Level
    space: SegSpace
    op: Reduction
    dests: tuple[Name, ...]
    rank: int
    body: Body


Basic = (
    Copied | PrimOp | Convert | Index | Update | Iota | Replicate | Scratch | ArrayLit | Rearrange | Reshape | Concat
    | Copy | Assert | GuardCmp | SizeParam
)  # fmt: skip
Soac = Screma | Hist | Scatter
SegOp = SegMap | SegRed | SegScan | SegScatter | SegHist
Exp = Basic | If | Loop | Apply | Soac | SegOp


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
