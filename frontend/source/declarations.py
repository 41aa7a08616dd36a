"""Declarations, modules and module types, and the file as a whole."""

from __future__ import annotations

from ...ir.core import Attr
from ...ir.errors import Loc
from ...ir.records import dataclass
from .atoms import Qual, TypeParam, TypeParamKind
from .syntax import Exp, Pat, TypeExp


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
