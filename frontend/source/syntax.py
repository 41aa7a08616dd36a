"""The syntax tree of a `.soac` file: frozen nodes with a source range.

Expression nodes and pattern variables carry `id`, unique in a module, by which inference stores what it found
(`Typed.types`).
Chains that a program may make thousands long are flat: operators of one precedence level (`Chain`), `let` (`Let`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ...ir.core import Attr
from ...ir.errors import Loc
from ...ir.types import Prim

Qual = tuple[str, ...]  # ("f32", "sqrt"); the last one is the name itself


# ---- types -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TEName:
    """`i32`, `vec`, `m.t`."""

    name: Qual
    loc: Loc


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
class PVar:
    """`x` (also an operator name in parentheses)."""

    id: int
    name: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class PWild:
    """`_`."""

    id: int
    loc: Loc


@dataclass(frozen=True, slots=True)
class PLit:
    """A literal (with its sign) in a `match` case."""

    literal: Lit
    loc: Loc


@dataclass(frozen=True, slots=True)
class PTuple:
    elems: tuple[Pat, ...]
    loc: Loc


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
class Lit:
    """`42`, `1.5f32`, `true`, `'a'`. `prim` is None when the suffix does not say it; characters are integers.
    `is_decimal`: written with a point or an exponent, so that an unsuffixed one is a float."""

    id: int
    value: bool | int | float
    prim: Prim | None
    is_decimal: bool
    loc: Loc


@dataclass(frozen=True, slots=True)
class StringLit:
    """`"abc"`: its UTF-8 bytes, `[]u8`."""

    id: int
    value: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class Ident:
    """`x`, `f32.sqrt`: a name, or an operator as a value, `(+)` being `("+",)`.

    The parser cannot tell `r.field` from `m.member`: a dotted chain that starts with a plain name is ONE Ident;
    inference resolves the longest module prefix, what is left are projections."""

    id: int
    name: Qual
    loc: Loc


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
class Operator:
    """An infix operator where it stands: `+`, `f32.+`, `` `f` `` (then `backtick`)."""

    id: int
    name: Qual
    backtick: bool
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
class TypeParam:
    """`[n]`, `'a`, `'~a`, `'^a` in a parameter list."""

    name: str
    kind: TypeParamKind
    loc: Loc


class TypeParamKind(Enum):
    SIZE = "size"
    TYPE = "'"
    SIZE_LIFTED = "'~"
    LIFTED = "'^"


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


class RangeEnd(Enum):
    """How a range ends."""

    THROUGH = "..."
    UP_TO = "..<"
    DOWN_TO = "..>"


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
class FieldStep:
    """`.x` in a path."""

    field: str


@dataclass(frozen=True, slots=True)
class IndexStep:
    """`[i, j]` in a path."""

    indices: tuple[DimIndex, ...]


Step = FieldStep | IndexStep


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


@dataclass(frozen=True, slots=True)
class Hole:
    """`???`; in the prelude, the body of an intrinsic."""

    id: int
    loc: Loc


Exp = (
    Lit | StringLit | Ident | Tuple | Record | Array | Call | Chain | Negate | Not | Lambda | LeftSection | RightSection
    | PathSection | If | Let | Loop | Match | Assert | Attributed | Range | Index | Project | With | Ascript | Coerce
    | Constr | OpenIn | Hole
)  # fmt: skip


# ---- declarations ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ValDec:
    """`def f 'a [n] (x: t) : r = e`, `entry ..`; an infix definition has the operator as its name."""

    id: int
    name: str
    tparams: tuple[TypeParam, ...]
    params: tuple[Pat, ...]
    ret: TypeExp | None
    body: Exp
    is_entry: bool
    attrs: tuple[Attr, ...]
    loc: Loc
    name_loc: Loc


@dataclass(frozen=True, slots=True)
class TypeDec:
    """`type t 'a [n] = ..`; `lift`: what such a type may hide, `type~` (sizes) and `type^` (functions too)."""

    name: str
    params: tuple[TypeParam, ...]
    type: TypeExp
    loc: Loc
    lift: TypeParamKind = TypeParamKind.TYPE


@dataclass(frozen=True, slots=True)
class ImportDec:
    """`import "file"`."""

    path: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class LocalDec:
    """`local dec`: not visible to importers."""

    dec: Dec
    loc: Loc


@dataclass(frozen=True, slots=True)
class ModuleDec:
    """`module m = e`; one with parameters or a signature is a functor or an `Ascribed`."""

    name: str
    body: ModuleExp
    loc: Loc


@dataclass(frozen=True, slots=True)
class OpenDec:
    """`open e`."""

    body: ModuleExp
    loc: Loc


@dataclass(frozen=True, slots=True)
class ModuleTypeDec:
    """`module type t = ..`."""

    name: str
    sig: ModuleType
    loc: Loc


Dec = ValDec | TypeDec | ImportDec | LocalDec | ModuleDec | OpenDec | ModuleTypeDec


# ---- modules ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModuleName:
    """`m.n` as a module expression."""

    name: Qual
    loc: Loc


@dataclass(frozen=True, slots=True)
class Structure:
    """`{ decs }` as a module expression."""

    decs: tuple[Dec, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class ModuleImport:
    """`import "file"` as a module expression."""

    path: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class Ascribed:
    """`e : mt` as a module expression."""

    id: int
    exp: ModuleExp
    sig: ModuleType
    loc: Loc


@dataclass(frozen=True, slots=True)
class Functor:
    r"""`\(p: mt) -> e`; a module with parameters is a functor by name."""

    param: str
    takes: ModuleType
    body: ModuleExp
    loc: Loc


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """`f m`: a functor applied to a module."""

    id: int
    functor: ModuleExp
    arg: ModuleExp
    loc: Loc


ModuleExp = ModuleName | Structure | ModuleImport | Ascribed | Functor | ModuleCall


# ---- module types -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SigName:
    """`m.t` as a module type."""

    name: Qual
    loc: Loc


@dataclass(frozen=True, slots=True)
class Signature:
    """`{ specs }`."""

    specs: tuple[Spec, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class SigWith:
    """`mt with t 'a = ..`."""

    sig: ModuleType
    name: Qual
    params: tuple[TypeParam, ...]
    type: TypeExp
    loc: Loc


@dataclass(frozen=True, slots=True)
class SigArrow:
    """`(p: mt) -> mt`, of functors."""

    param: str | None
    takes: ModuleType
    gives: ModuleType
    loc: Loc


ModuleType = SigName | Signature | SigWith | SigArrow


@dataclass(frozen=True, slots=True)
class ValSpec:
    """`val f 'a [n] : t`."""

    name: str
    tparams: tuple[TypeParam, ...]
    type: TypeExp
    loc: Loc


@dataclass(frozen=True, slots=True)
class TypeSpec:
    """`type t 'a [n]`: an abstract type."""

    name: str
    params: tuple[TypeParam, ...]
    loc: Loc
    lift: TypeParamKind


@dataclass(frozen=True, slots=True)
class ModuleSpec:
    """`module m: mt`."""

    name: str
    sig: ModuleType
    loc: Loc


@dataclass(frozen=True, slots=True)
class Include:
    """`include mt`."""

    sig: ModuleType
    loc: Loc


Spec = ValSpec | TypeSpec | TypeDec | ModuleSpec | Include


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed file. `next_id` is one more than the largest node id in it; `imports`: the files that the paths of its
    imports mean."""

    file: str
    text: str
    decs: tuple[Dec, ...]
    next_id: int
    imports: tuple[tuple[str, str], ...] = ()
