"""Walking kernel IR: what each statement reads, binds, touches and contains, and rebuilding it with other parts.

`ROLES` says for each kind of statement which of its fields are what; all else follows from the table. Variables have
unique names within a kernel, so what is known of a name holds everywhere, and substitution cannot capture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from operator import is_
from typing import Any

from ...ir.records import dataclass
from ...ir.types import Const
from . import nodes as kir
from .nodes import KArray, KLambda, KLet, KStm, KVar, Operand, Rhs

Stms = tuple[KStm, ...]


@dataclass(frozen=True, slots=True)
class Roles:
    """Names of fields. `reads`: operands of the surroundings; `reads_inside`: operands that the statement's own lists
    compute; `binds`: variables that are known after the statement; `binds_inside`: in its lists; `lists`: the lists, in
    the order of execution; `operators`: lambdas; `loads`, `stores`: arrays whose elements are read, written (flags that
    are waited for are no data)."""

    reads: tuple[str, ...] = ()
    reads_inside: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    binds_inside: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()


_BODY = ("body",)
_RANGE = ("lo", "hi")
_PLACE = ("start", "row", "pitch", "count")

ROLES: Mapping[type, Roles] = {
    KLet: Roles(reads=("rhs",), binds=("var",)),
    kir.Declare: Roles(reads=("init",), binds=("var",)),
    kir.Assign: Roles(reads=("value",)),
    kir.Store: Roles(reads=("index", "value"), stores=("array",)),
    kir.Alloc: Roles(reads=("count",)),
    kir.Distribute: Roles(reads=("length",)),
    kir.Check: Roles(reads=("ok", "values")),
    kir.BoundsCheck: Roles(reads=("index", "size", "values")),
    kir.KIf: Roles(reads=("cond",), lists=("then", "orelse")),
    kir.For: Roles(reads=("bound",), binds_inside=("index",), lists=_BODY),
    kir.KWhile: Roles(reads_inside=("cond",), lists=("before", "body")),
    kir.Threads: Roles(reads=_RANGE, binds_inside=("index",), lists=_BODY),
    kir.PeeledThreads: Roles(
        reads=(*_RANGE, "since", "until"), binds_inside=("index",), lists=("body", "middle"),
    ),
    kir.BlockReduce: Roles(
        (*_RANGE, "neutral"), ("values",), ("outs",), ("index",), _BODY, ("op", "step"),
    ),
    kir.BlockScan: Roles(
        (*_RANGE, "carry", "neutral", "free"), ("values",), ("carry_out",), ("index", "scanned"), ("body", "after"),
        ("op",),
    ),
    kir.RowScan: Roles(
        ("count", "width", "neutral"), ("values",), (), ("index", "scanned"), ("body", "after"), ("op",),
    ),
    kir.TeamReduce: Roles(
        ("team", *_RANGE, "width", "neutral"), ("values",), (), ("segment", "index", "outs"), ("body", "after"),
        ("op",),
    ),
    kir.WarpTurns: Roles(_RANGE, ("key",), (), ("warp", "index"), ("body", "turn")),
    kir.LookBack: Roles(("tile", "first", "own", "neutral"), binds=("outs",), operators=("op",), stores=("words",)),
    kir.Atomic: Roles(reads=("index", "value"), binds=("out",), stores=("array",)),
    kir.Publish: Roles(reads=("index", "value"), stores=("array",)),
    kir.WaitFor: Roles(reads=("index", "least"), binds=("out",)),
    kir.Mma: Roles(reads=("to", "at", "start"), loads=("sum", "left", "right"), stores=("sum",)),
    kir.AsyncCopy: Roles(reads=("at", "start"), loads=("source",), stores=("target",)),
    kir.Shuffle: Roles(reads=("by",), loads=("source",), stores=("target",)),
    kir.LoadRow: Roles(reads=("index",), binds=("vars",), loads=("array",)),
    kir.LoadMatrix: Roles(reads=("index", "offsets", "row"), binds=("vars",), loads=("array",)),
    kir.StoreRow: Roles(reads=("index", "values"), stores=("array",)),
    kir.LoadTile: Roles(reads=_PLACE, loads=("array",), stores=("tile",)),
    kir.StoreTile: Roles(reads=_PLACE, loads=("tile",), stores=("array",)),
    kir.StoreSome: Roles(reads=("index", "values", "keeps"), stores=("array",)),
    kir.Fence: Roles(), kir.CommitCopies: Roles(), kir.WaitCopies: Roles(), kir.Note: Roles(),
}  # fmt: skip


# ---- statements inside of statements -----------------------------------------------------------------------------


def children(stm: KStm) -> tuple[Stms, ...]:
    """The statement lists inside a statement, in the order of execution; those of operators are left out: they touch
    no memory."""
    lists = ROLES[type(stm)].lists
    return tuple([getattr(stm, name) for name in lists]) if lists else ()


def with_children(stm: KStm, lists: Iterable[Stms]) -> KStm:
    """The statement with other lists inside, in the order of `children`."""
    names = ROLES[type(stm)].lists
    return _replaced(stm, dict(zip(names, lists, strict=True))) if names else stm


def operators(stm: KStm) -> tuple[KLambda, ...]:
    """The operators of a statement."""
    names = ROLES[type(stm)].operators
    if not names:  # most have none
        return ()
    found = (getattr(stm, name) for name in names)
    return tuple(op for op in found if op is not None)


def statements(stms: Iterable[KStm]) -> Iterator[KStm]:
    """All statements, at any depth, in the order of the text; not those of operators."""
    pending = [iter(stms)]
    while pending:
        for stm in pending[-1]:
            yield stm
            if lists := ROLES[type(stm)].lists:
                pending += [iter(getattr(stm, name)) for name in reversed(lists)]
                break
        else:
            pending.pop()


def all_statements(stms: Iterable[KStm]) -> Iterator[KStm]:
    """All statements, those of the operators among them (of a reduction's step only where it stands for the operator:
    it is a special case of it)."""
    for stm in statements(stms):
        yield stm
        if ROLES[type(stm)].operators:
            for op in operators(stm)[:1]:
                yield from statements(op.body)


def rewritten(stms: Iterable[KStm], on_stm: Callable[[KStm], Iterable[KStm] | None]) -> Stms:
    """The list with what `on_stm` gives for a statement in its place; where that is None, the lists inside of the
    statement are rewritten. The same list where nothing changes."""
    stms, out = tuple(stms), list[KStm]()
    for stm in stms:
        made = on_stm(stm)
        if made is not None:
            out += made
        elif old := children(stm):
            new = [rewritten(inner, on_stm) for inner in old]
            out.append(stm if all(map(is_, new, old)) else with_children(stm, new))
        else:
            out.append(stm)
    return stms if len(out) == len(stms) and all(map(is_, out, stms)) else tuple(out)


# ---- operands, variables, arrays ---------------------------------------------------------------------------------


def rhs_operands(rhs: Rhs) -> tuple[Operand, ...]:
    """The operands of a right side, in order."""
    match rhs:
        case kir.KOp(args=args):
            return args
        case kir.KLoad(index=index) | kir.KAligned(index=index):
            return (index,)
        case kir.KConvert(arg=arg):
            return (arg,)


def map_rhs(rhs: Rhs, read: Callable[[Operand], Operand]) -> Rhs:
    """A right-hand side with other operands."""
    match rhs:
        case kir.KOp(_, _, args):
            return replace(rhs, args=tuple(map(read, args)))
        case kir.KConvert(_, _, arg):
            return replace(rhs, arg=read(arg))
        case kir.KLoad(_, index) | kir.KAligned(_, index):
            return replace(rhs, index=read(index))


def operands(stm: KStm) -> tuple[Operand, ...]:
    """The operands that a statement uses when it begins; not those of its lists and operators."""
    return rhs_operands(stm.rhs) if isinstance(stm, KLet) else _parts(stm, ROLES[type(stm)].reads)


def operands_inside(stm: KStm) -> tuple[Operand, ...]:
    """The operands that a statement uses of what its lists compute: values of a collective, a loop's condition."""
    roles = ROLES[type(stm)].reads_inside
    return _parts(stm, roles) if roles else ()


def map_operands(stm: KStm, read: Callable[[Operand], Operand]) -> KStm:
    """The statement with other operands, those inside among them; lists and operators stay."""
    roles = ROLES[type(stm)]
    return _mapped(stm, (*roles.reads, *roles.reads_inside), read)


def bound(stm: KStm) -> tuple[KVar, ...]:
    """The variables that a statement makes for those that follow."""
    return _parts(stm, ROLES[type(stm)].binds)


def bound_inside(stm: KStm) -> tuple[KVar, ...]:
    """The variables that a statement makes for its lists."""
    return _parts(stm, ROLES[type(stm)].binds_inside)


def assigned(stms: Iterable[KStm]) -> frozenset[str]:
    """The names of the variables that are assigned, at any depth."""
    return frozenset(s.var.name for s in statements(stms) if isinstance(s, kir.Assign))


def defined(stms: Iterable[KStm]) -> frozenset[str]:
    """The names of the variables that are made, at any depth."""
    return frozenset(var.name for stm in statements(stms) for var in (*bound(stm), *bound_inside(stm)))


def loaded_arrays(stm: KStm) -> tuple[KArray, ...]:
    """The arrays whose elements a statement itself reads."""
    if isinstance(stm, KLet):
        return (stm.rhs.array,) if isinstance(stm.rhs, kir.KLoad) else ()
    return _parts(stm, ROLES[type(stm)].loads)


def stored_arrays(stm: KStm) -> tuple[KArray, ...]:
    """The arrays whose elements a statement itself writes."""
    return _parts(stm, ROLES[type(stm)].stores)


def used(stm: KStm) -> frozenset[str]:
    """The names of the variables that a statement itself reads or assigns."""
    target = (stm.var,) if isinstance(stm, kir.Assign) else ()
    return names(*operands(stm), *operands_inside(stm), *target)


def used_by_operator(op: KLambda) -> frozenset[str]:
    """The names that an operator reads or assigns, its own among them."""
    return names(*op.results).union(*map(used, statements(op.body)))


def names(*operands: Operand) -> frozenset[str]:
    """The names of the variables among operands."""
    return frozenset(x.name for x in operands if not isinstance(x, Const))


def _parts(stm: KStm, roles: tuple[str, ...]) -> tuple[Any, ...]:
    """What stands in these fields: variables, operands or arrays, alone or in tuples."""
    found: list[Any] = []
    for name in roles:
        match getattr(stm, name):
            case tuple() as several:
                found += several
            case None:
                pass
            case kir.KOp() | kir.KConvert() | kir.KLoad() | kir.KAligned() as rhs:
                found += rhs_operands(rhs)
            case one:
                found.append(one)
    return tuple(found)


def _mapped(stm: KStm, roles: tuple[str, ...], change: Callable[[Any], Any]) -> KStm:
    """The statement with `change` done to what stands in these fields."""
    changes: dict[str, Any] = {}
    for name in roles:
        match getattr(stm, name):
            case tuple() as several:
                changes[name] = tuple(map(change, several))
            case None:
                pass
            case kir.KOp() | kir.KConvert() | kir.KLoad() | kir.KAligned() as rhs:
                changes[name] = map_rhs(rhs, change)
            case one:
                changes[name] = change(one)
    return _replaced(stm, changes)


def _replaced(stm: KStm, changes: dict[str, Any]) -> KStm:
    return replace(stm, **changes) if changes else stm


# ---- copies with other names -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Renamed:
    """A copy of statements whose variables have other names: what they bind is called as before with the suffix;
    `names`: what variables stand for in the copy."""

    suffix: str
    names: dict[Operand, Operand]

    def made(self, var: KVar) -> KVar:
        new = KVar(var.name + self.suffix, var.prim)
        self.names[var] = new
        return new

    def read(self, operand: Operand) -> Operand:
        return self.names.get(operand, operand)

    def rewritten(self, stms: Iterable[KStm]) -> Stms:
        return tuple(map(self.statement, stms))

    def statement(self, stm: KStm) -> KStm:
        roles = ROLES[type(stm)]
        stm = _mapped(stm, roles.reads, self.read)
        if isinstance(stm, kir.Assign):
            target = self.read(stm.var)
            assert isinstance(target, KVar), "a variable is named after a variable"
            return replace(stm, var=target)
        stm = _mapped(stm, (*roles.binds, *roles.binds_inside), self.made)
        if not roles.lists:
            return _mapped(stm, roles.operators, self.operator)
        lists = tuple(self.rewritten(inner) for inner in children(stm))
        stm = _mapped(with_children(stm, lists), roles.reads_inside, self.read)
        return _mapped(stm, roles.operators, self.operator)

    def operator(self, op: KLambda) -> KLambda:
        left, right = (tuple(map(self.made, side)) for side in (op.left, op.right))
        body = self.rewritten(op.body)
        return KLambda(left, right, body, tuple(map(self.read, op.results)))


# ---- whatever is mentioned ---------------------------------------------------------------------------------------


def mentions(node: object) -> Iterator[KVar | KArray]:
    """All variables and arrays that a piece of kernel IR mentions, at any depth, in the order of the fields."""
    match node:
        case KVar() | KArray():
            yield node
        case tuple():
            for part in node:
                yield from mentions(part)
        case _:
            for name in _fields(type(node)):
                yield from mentions(getattr(node, name))


def names_in(node: object) -> Iterator[str]:
    """The names of all variables and arrays that a piece of kernel IR mentions."""
    return (one.name for one in mentions(node))


def variables_in(node: object) -> frozenset[str]:
    """The names of all variables that a piece of kernel IR mentions."""
    return frozenset(one.name for one in mentions(node) if isinstance(one, KVar))


def map_mentions(node: Any, change: Callable[[KVar | KArray], Any]) -> Any:
    """A piece of kernel IR with `change` done to all variables and arrays that it mentions."""
    match node:
        case KVar() | KArray():
            return change(node)
        case tuple():
            return tuple([map_mentions(part, change) for part in node])
        case _:
            names = _fields(type(node))
            return replace(node, **{f: map_mentions(getattr(node, f), change) for f in names}) if names else node


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a node in which variables may stand."""
    plain = not is_dataclass(kind) or kind in (Const, kir.FailureSite, kir.Note, kir.LaneShape)
    return () if plain else tuple(f.name for f in fields(kind))
