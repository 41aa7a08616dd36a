"""The syntax tree of a `.soac` file: frozen nodes with a source range. Here types, patterns and expressions, which
contain each other; `atoms.py` has what they are made of, `declarations.py` what they make up.

Expression nodes and pattern variables carry `id`, unique in a module, by which inference stores what it found
(`Typed.types`). Chains that a program may make thousands long are flat: operators of one level (`Chain`), `let`s.
A tuple has the `fields` of the record that it is.
"""

from __future__ import annotations

from ...ir.core import Attr
from ...ir.errors import Loc
from ...ir.records import dataclass
from . import atoms
from .atoms import Hole, Ident, Lit, Operator, PLit, PVar, PWild, Qual, RangeEnd, StringLit, TEName, TypeParam, numbered

# ---- types -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TEArray:
    """`[n]t`, `[n+1]t`, `[]t` (size None)."""

    size: Exp | None
    elem: TypeExp
    loc: Loc


@dataclass(frozen=True, slots=True)
class TETuple:
    """`(a, b)`, `()`."""

    elems: tuple[TypeExp, ...]
    loc: Loc

    @property
    def fields(self) -> tuple[tuple[str, TypeExp], ...]:
        return numbered(self.elems)


@dataclass(frozen=True, slots=True)
class TERecord:
    """`{x: a, y: b}`."""

    fields: tuple[tuple[str, TypeExp], ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class TEArrow:
    """`a -> b`, `(x: a) -> b` (`param` is the name or None)."""

    param: str | None
    dom: TypeExp
    cod: TypeExp
    loc: Loc


@dataclass(frozen=True, slots=True)
class TEUnique:
    """`*t`."""

    elem: TypeExp
    loc: Loc


@dataclass(frozen=True, slots=True)
class TEApply:
    """`vec [n] t`: arguments are types or sizes (`TESize`)."""

    name: Qual
    args: tuple[TypeExp | TESize, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class TESize:
    """`[n]` as an argument of a type constructor; None for `[]`."""

    size: Exp | None
    loc: Loc


@dataclass(frozen=True, slots=True)
class TESum:
    """`#a t1 t2 | #b`."""

    constructors: tuple[tuple[str, tuple[TypeExp, ...]], ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class TEExists:
    """`?[n][m]. t`."""

    sizes: tuple[str, ...]
    type: TypeExp
    loc: Loc


TypeExp = TEName | TEArray | TETuple | TERecord | TEArrow | TEUnique | TEApply | TESum | TEExists


# ---- patterns ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PTuple:
    elems: tuple[Pat, ...]
    loc: Loc

    @property
    def fields(self) -> tuple[tuple[str, Pat], ...]:
        return numbered(self.elems)


@dataclass(frozen=True, slots=True)
class PRecord:
    """`{x, y = p}`; `{x}` is stored as `{x = x}`."""

    fields: tuple[tuple[str, Pat], ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class PConstr:
    """`#some x`."""

    id: int
    name: str
    args: tuple[Pat, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class PAscript:
    """`p: t`."""

    pat: Pat
    type: TypeExp
    loc: Loc


@dataclass(frozen=True, slots=True)
class PAttr:
    """`#[attr] p`."""

    attr: Attr
    pat: Pat
    loc: Loc


Pat = PVar | PWild | PLit | PTuple | PRecord | PConstr | PAscript | PAttr


# ---- expressions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tuple:
    """`(a, b)`, `()`. Parentheses alone leave no node."""

    id: int
    elems: tuple[Exp, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Record:
    """`{x = e, y}`; `{y}` is stored as `{y = y}`."""

    id: int
    fields: tuple[tuple[str, Exp], ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Array:
    """`[a, b, c]`."""

    id: int
    elems: tuple[Exp, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Call:
    """`f x y z`: application to one or more arguments, flat."""

    id: int
    function: Exp
    args: tuple[Exp, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Chain:
    """`a + b - c`: operators of one precedence level, left-associative, flat: ((a + b) - c).
    `<|` is right-associative and never more than one per node; `&&` and `||` are Chains too and short-circuit."""

    id: int
    first: Exp
    rest: tuple[tuple[Operator, Exp], ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Negate:
    """`-e`."""

    id: int
    arg: Exp
    loc: Loc


@dataclass(frozen=True, slots=True)
class Not:
    """`!e`: complement or logical not."""

    id: int
    arg: Exp
    loc: Loc


@dataclass(frozen=True, slots=True)
class Lambda:
    r"""`\p q -> e`, `\p : t -> e`."""

    id: int
    params: tuple[Pat, ...]
    ret: TypeExp | None
    body: Exp
    loc: Loc


@dataclass(frozen=True, slots=True)
class LeftSection:
    """`(e op)`."""

    id: int
    arg: Exp
    op: Operator
    loc: Loc


@dataclass(frozen=True, slots=True)
class RightSection:
    """`(op e)`."""

    id: int
    op: Operator
    arg: Exp
    loc: Loc


@dataclass(frozen=True, slots=True)
class PathSection:
    """`(.x.y)`, `(.[i])`: a projection or an indexing as a function."""

    id: int
    path: tuple[Step, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class If:
    id: int
    cond: Exp
    then: Exp
    orelse: Exp
    loc: Loc


@dataclass(frozen=True, slots=True)
class LetPat:
    """`let [n] p = e`; `sizes` are the names bound to existential sizes. `let x[i] = v` is stored as
    `let x = x with [i] = v` (then `is_update`)."""

    sizes: tuple[str, ...]
    pat: Pat
    rhs: Exp
    is_update: bool
    loc: Loc


@dataclass(frozen=True, slots=True)
class LetFun:
    """`let f 'a [n] (x: t) : r = e`."""

    id: int
    name: str
    tparams: tuple[TypeParam, ...]
    params: tuple[Pat, ...]
    ret: TypeExp | None
    body: Exp
    loc: Loc


@dataclass(frozen=True, slots=True)
class Let:
    """`let b1 let b2 .. in body`: a chain of bindings, flat."""

    id: int
    bindings: tuple[LetPat | LetFun, ...]
    body: Exp
    loc: Loc


@dataclass(frozen=True, slots=True)
class ForLess:
    """`for i < n`."""

    id: int
    name: str
    bound: Exp


@dataclass(frozen=True, slots=True)
class ForIn:
    """`for p in xs`."""

    pat: Pat
    array: Exp


@dataclass(frozen=True, slots=True)
class While:
    """`while c`."""

    cond: Exp


@dataclass(frozen=True, slots=True)
class Loop:
    """`loop p = init for .. do body`; a missing init is stored as the pattern read as an expression."""

    id: int
    sizes: tuple[str, ...]
    pat: Pat
    init: Exp
    form: ForLess | ForIn | While
    body: Exp
    loc: Loc


@dataclass(frozen=True, slots=True)
class Match:
    id: int
    scrutinee: Exp
    cases: tuple[tuple[Pat, Exp], ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Assert:
    """`assert c e`."""

    id: int
    cond: Exp
    body: Exp
    loc: Loc


@dataclass(frozen=True, slots=True)
class Attributed:
    """`#[attr] e`."""

    id: int
    attr: Attr
    body: Exp
    loc: Loc


@dataclass(frozen=True, slots=True)
class Range:
    """`start..second...end` (`second` None without a step)."""

    id: int
    start: Exp
    second: Exp | None
    kind: RangeEnd
    end: Exp
    loc: Loc


@dataclass(frozen=True, slots=True)
class Point:
    """`i` in brackets."""

    index: Exp


@dataclass(frozen=True, slots=True)
class SliceIndex:
    """`a:b:s` in brackets, each part optional."""

    start: Exp | None
    end: Exp | None
    stride: Exp | None


DimIndex = Point | SliceIndex


@dataclass(frozen=True, slots=True)
class IndexStep:
    """`[i, j]` in a path."""

    indices: tuple[DimIndex, ...]


Step = atoms.FieldStep | IndexStep


@dataclass(frozen=True, slots=True)
class Index:
    """`xs[i, a:b]`."""

    id: int
    array: Exp
    indices: tuple[DimIndex, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Project:
    """`e.x`, `e.0` (where `e` is not a plain name; see `Ident`)."""

    id: int
    record: Exp
    field: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class With:
    """`e with [i].x = v`."""

    id: int
    target: Exp
    path: tuple[Step, ...]
    value: Exp
    loc: Loc


@dataclass(frozen=True, slots=True)
class Ascript:
    """`e : t`."""

    id: int
    exp: Exp
    type: TypeExp
    loc: Loc


@dataclass(frozen=True, slots=True)
class Coerce:
    """`e :> t`: sizes are checked at run time."""

    id: int
    exp: Exp
    type: TypeExp
    loc: Loc


@dataclass(frozen=True, slots=True)
class Constr:
    """`#some e1 e2`: a constructor applied to all its arguments."""

    id: int
    name: str
    args: tuple[Exp, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class OpenIn:
    """`m.(e)`."""

    id: int
    module: Qual
    body: Exp
    loc: Loc


Exp = (
    Lit | StringLit | Ident | Tuple | Record | Array | Call | Chain | Negate | Not | Lambda | LeftSection | RightSection
    | PathSection | If | Let | Loop | Match | Assert | Attributed | Range | Index | Project | With | Ascript | Coerce
    | Constr | OpenIn | Hole
)  # fmt: skip
