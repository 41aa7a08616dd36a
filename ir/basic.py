"""The basic operations of core: one result each, no bodies."""

from __future__ import annotations

from collections.abc import Iterable

from .errors import IRError
from .ops import Op
from .records import dataclass
from .types import Atom, Const, Name, Prim, Type, i64


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


def whole(shape: Iterable[Atom]) -> tuple[Slice, ...]:
    """The slices that take all of every dimension."""
    return tuple([Slice(i64(0), size, i64(1)) for size in shape])


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


def is_iota(exp: object) -> bool:
    """Whether an expression is an array of i64 whose elements are their own indices."""
    return isinstance(exp, Iota) and (exp.start, exp.step) == (i64(0), i64(1))


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


Basic = (
    Copied | PrimOp | Convert | Index | Update | Iota | Replicate | Scratch | ArrayLit | Rearrange | Reshape | Concat
    | Copy | Assert | GuardCmp | SizeParam
)  # fmt: skip
