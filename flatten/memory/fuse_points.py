r"""Histograms and scatters that compute their points rather than read arrays of them.

    let ys = segmap (i < n, j < m) { g }              ⟶  let h = seghist (i < n, j < m) ⊕ d { f g }         [M-Points]
    let r = reshape [n*m] ys
    let h = seghist (q < n*m) ⊕ d { f r[q] }

    let ys = segmap (i < n) { [a, b] }                ⟶  let h = seghist (i < n) ⊕ d { f a, f b }           [M-Rows]
    let r = reshape [n*2] ys
    let h = seghist (q < n*2) ⊕ d { f r[q] }

The points lie over the space of what makes them, in the order in which they lay; rows that are short literals, or so
many equal elements, are updates of one point, which compute once what they share. Views that a reshape would copy are
read where they are (M-Points with a slice in place of the segmap). What is fused is read by the write alone, or is a
view; nothing that either reads is overwritten. Maps over outer dimensions of the space are computed again for each
point if that is cheap. So is what a scan or a reduction maps for the write alone. Filters keep their points, which one
pass may count and store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.attributes import is_opaque
from ...ir.core import (
    ArrayLit,
    Body,
    Copied,
    DimIndex,
    Fix,
    Index,
    Level,
    Param,
    PrimOp,
    Prog,
    Rearrange,
    Replicate,
    Reshape,
    Scratch,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegScatter,
    SegSpace,
    Stm,
)
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import rename_body, substitute_body
from ...ir.traverse import free_in_stm, host_stms, types_in
from ...ir.types import I64, Atom, Const, Name, Names, Prim, Type, Var, i64
from ..aliasing.classes import Sharing, sharing_in
from ..context.recompute_cost import LIMIT, weight_of
from ..simplify.driver import simplify
from .merge_writes import WRITES


def fuse_points(prog: Prog) -> Prog:
    """`prog` with what histograms and scatters of the host read at their points computed there; simplified, if there is
    any, and looked at again."""
    sharing, names, types = sharing_in(prog), Names(prog.next_name), types_in(prog)

    def on_body(body: Body) -> Body:
        stms = host_stms(on_body, body)
        around = Around(sharing, names, types, {p.name: s for s in stms for p in s.pat}, _users(stms, body))
        return Body(tuple(_fused(stm, around) for stm in stms), body.result)

    functions = tuple(replace(fun, body=on_body(fun.body)) for fun in prog.functions)
    same = names.next == prog.next_name or functions == prog.functions
    return prog if same else fuse_points(simplify(Prog(prog.consts, functions, names.next)))


@dataclass(frozen=True, slots=True)
class Around:
    """What a write stands in: which arrays share memory, types, what makes and what uses the names of its body."""

    sharing: Sharing
    names: Names
    types: Mapping[Name, Type]
    made: Mapping[Name, Stm]
    users: Mapping[Name, tuple[Stm | None, ...]]

    def fresh(self, base: str) -> Name:
        """A new name for an index."""
        return self.names.fresh(base)


def _users(stms: tuple[Stm, ...], body: Body) -> Mapping[Name, tuple[Stm | None, ...]]:
    """The statements that use a name; None stands for the body's result."""
    users: dict[Name, tuple[Stm | None, ...]] = {a.name: (None,) for a in body.result if isinstance(a, Var)}
    for stm in stms:
        for name in free_in_stm(stm):
            users[name] = (*users.get(name, ()), stm)
    return users


def _fused(stm: Stm, around: Around) -> Stm:
    exp = stm.exp
    if not isinstance(exp, SegHist | SegScatter) or exp.level is not Level.THREAD or is_opaque(stm):
        return stm
    if any(len(around.types[dest].shape) != exp.rank for dest in exp.dests):
        return stm
    over = stm if _is_filter(exp, around) else _over_makers(stm, exp, around) or stm
    return over if _may_be_filter(over) else _with_maps(stm, over, around)


def _is_filter(exp: SegHist | SegScatter, around: Around) -> bool:
    """Whether a write fills memory without values by counts of its own points: what a filter keeps, which a machine
    may store where it is counted."""
    reads = [stm.exp.array for stm in exp.body.stms if isinstance(stm.exp, Index)]
    scans = [around.made[name].exp for name in reads if name in around.made]
    counted = any(isinstance(scan, SegScan) and scan.space.widths == exp.space.widths for scan in scans)
    return counted and all(d in around.made and isinstance(around.made[d].exp, Scratch) for d in exp.dests)


def _may_be_filter(stm: Stm) -> bool:
    """Whether a scatter writes an element for each point of one dimension: those of filters read flags of their scan,
    and others have been fused with maps."""
    match stm.exp:
        case SegScatter(space=SegSpace((_,)), dests=dests, rank=rank, body=body):
            return len(body.result) == rank + len(dests)
        case _:
            return False


# ---- the space ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Flat:
    """An array read at the points' number: what it is a reshape of, and the shape of that behind the outer dimensions
    of the space."""

    of: Name
    shape: tuple[Atom, ...]


def _over_makers(stm: Stm, exp: SegHist | SegScatter, around: Around) -> Stm | None:
    """The write over the shape of an array whose elements it reads by their number; None where that brings
    nothing."""
    flats: dict[Name, Flat] = {}
    for read in exp.body.stms:
        match read.exp:
            case Index(array, dims) if dims == tuple(Fix(Var(i)) for i in exp.space.indices):
                flat = _flat(array, exp.space.widths, around)
                if flat is not None:
                    flats[array] = flat
            case _:
                pass
    shapes = [flat.shape for array, flat in flats.items() if _is_gain(flat, (array, stm), around)]
    if not shapes:
        return None
    shape = shapes[0]
    chosen = {array: flat for array, flat in flats.items() if flat.shape == shape}
    is_rows = any(_gives_rows(flat.of, around) for flat in chosen.values())
    if is_rows:
        count = _constant(shape[-1])
        few = 1 <= count * len(exp.body.result) // (exp.rank + len(exp.dests)) <= WRITES
        return _updates(stm, exp, shape, count, chosen, around) if few else None
    at = tuple(around.fresh("i") for _ in shape)
    body = _at(exp.body, exp.space, chosen, shape, tuple(map(Var, at)), around)
    return replace(stm, exp=replace(exp, space=_over(exp.space, at, shape), body=body))


def _updates(
    stm: Stm, exp: SegHist | SegScatter, shape: tuple[Atom, ...], count: int, flats: Mapping[Name, Flat], around: Around
) -> Stm:
    """The write over all dimensions but the last, which has `count` updates for each point."""
    at = tuple(around.fresh("i") for _ in shape[:-1])
    stms, result = list[Stm](), list[Atom]()
    for k in range(count):
        body = _at(rename_body(exp.body, around.names), exp.space, flats, shape, (*map(Var, at), i64(k)), around)
        stms += body.stms
        result += body.result
    space = _over(exp.space, at, shape[:-1])
    return replace(stm, exp=replace(exp, space=space, body=Body(tuple(stms), tuple(result))))


def _over(space: SegSpace, at: tuple[Name, ...], shape: tuple[Atom, ...]) -> SegSpace:
    """A space with several dimensions in the place of its last one."""
    return SegSpace((*space.dims[:-1], *zip(at, shape, strict=True)))


def _at(
    body: Body,
    space: SegSpace,
    flats: Mapping[Name, Flat],
    shape: tuple[Atom, ...],
    at: tuple[Atom, ...],
    around: Around,
) -> Body:
    """A body at the point with these indices in the place of the last one of its space."""
    stms, number = list[Stm](), at[0]
    point = tuple(Fix(Var(i)) for i in space.indices)
    for width, index in zip(shape[1:], at[1:], strict=True):
        for op, by in ((Op.MUL, width), (Op.ADD, index)):
            name = around.fresh("q")
            stms.append(Stm((Param(name, I64),), PrimOp(op, Prim.I64, (number, by)), (), (), body.stms[0].loc))
            number = Var(name)
    dims: tuple[DimIndex, ...] = (*point[:-1], *map(Fix, at))
    for stm in body.stms:
        match stm.exp:
            case Index(array, read, safe) if read == point and array in flats:
                stm = replace(stm, exp=Index(flats[array].of, dims, safe))
            case _:
                pass
        stms.append(stm)
    return substitute_body(Body(tuple(stms), body.result), {space.indices[-1]: number})


def _flat(array: Name, widths: tuple[Atom, ...], around: Around) -> Flat | None:
    """What an array is a view of that is flat in its last dimension, as it is when that is read later."""
    match around.made.get(array):
        case Stm(exp=Reshape(sizes, of), certs=()) if sizes == widths and not around.sharing.consumed(of):
            shape, outer = around.types[of].shape, len(widths) - 1
            same = shape[:outer] == widths[:-1] and len(shape) > len(widths)
            return Flat(of, shape[outer:]) if same else None
        case _:
            return None


def _is_gain(flat: Flat, reader: tuple[Name, Stm], around: Around) -> bool:
    """Whether an array need not be there if it is read by its own indices: a map with one reader, or a view that
    reshaping would copy, whose rows lie as they are read."""
    array, stm = reader
    match around.made.get(flat.of):
        case Stm(exp=SegMap()):
            return around.users[flat.of] == (around.made[array],) and around.users[array] == (stm,)
        case Stm(exp=Index() | Replicate()):
            return True
        case Stm(exp=Rearrange(perm)):
            return perm[-1] == len(perm) - 1
        case _:
            return False


def _gives_rows(array: Name, around: Around) -> bool:
    """Whether a map gives a literal at each point, or as many equal elements as may be updates of a point."""
    match around.made.get(array):
        case Stm(exp=SegMap(body=body), pat=pat):
            result = dict(zip((p.name for p in pat), body.result, strict=True))[array]
            return _is_row(body, result, around)
        case _:
            return False


def _is_row(body: Body, result: Atom, around: Around) -> bool:
    """Whether an atom is a literal of scalars or few equal ones, or repeats such a row."""
    for stm in body.stms:
        if result == Var(stm.pat[0].name) and not stm.certs:
            match stm.exp:
                case ArrayLit(row=row):
                    return not row.shape
                case Replicate((size,), _) if len(around.types[stm.pat[0].name].shape) == 1:
                    return 1 <= _constant(size) <= WRITES
                case Replicate(_, again):
                    return _is_row(body, again, around)
                case _:
                    return False
    return False


def _constant(size: Atom) -> int:
    """A size that is a number; else 0."""
    return int(size.value) if isinstance(size, Const) else 0


# ---- the maps ----------------------------------------------------------------------------------------------------


def _with_maps(old: Stm, stm: Stm, around: Around) -> Stm:
    """The write with the maps whose results it reads at its points, and which nothing else reads."""
    exp = stm.exp
    assert isinstance(exp, SegHist | SegScatter)
    arrays = dict.fromkeys(s.exp.array for s in exp.body.stms if isinstance(s.exp, Index))
    makers = {id(s): s for a in arrays if (s := around.made.get(a)) is not None}
    for made in makers.values():
        maker = _map_in(made, old, around)
        if maker is not None and _is_read_by(old, maker, around):
            stm = _computed_there(maker, stm, around) or stm
    return stm


def _map_in(made: Stm, reader: Stm, around: Around) -> Stm | None:
    """A map; of a scan or a reduction what it maps for the reader alone, where what both compute then is cheap."""
    match made.exp:
        case SegMap():
            return made
        case SegScan(level, space, ops, body, ret) | SegRed(level, space, ops, body, ret, None):
            count = sum(len(op.neutral) for op in ops)
        case _:
            return None
    own = [k for k, p in enumerate(made.pat) if k >= count and _is_read_alone(p.name, reader, around)]
    others = [body.result[k] for k in range(len(made.pat)) if k not in own]
    there = _needed(body, [body.result[k] for k in own])
    if not own or sum(weight_of(s.exp) for s in _needed(body, others) if s in there) > LIMIT:
        return None
    part = SegMap(level, space, Body(there, tuple(body.result[k] for k in own)), tuple(ret[k] for k in own))
    return replace(made, pat=tuple(made.pat[k] for k in own), exp=part)


def _needed(body: Body, results: list[Atom]) -> tuple[Stm, ...]:
    """The statements of a body that some of its results need."""
    names, stms = {x.name for x in results if isinstance(x, Var)}, list[Stm]()
    for stm in reversed(body.stms):
        if any(p.name in names for p in stm.pat):
            names |= free_in_stm(stm).keys()
            stms.insert(0, stm)
    return tuple(stms)


def _is_read_by(reader: Stm, maker: Stm, around: Around) -> bool:
    """Whether a map's results have no other reader, and neither they nor its inputs are overwritten."""
    if is_opaque(maker) or any(map(around.sharing.consumed, (*free_in_stm(maker), *(p.name for p in maker.pat)))):
        return False
    return all(_is_read_alone(p.name, reader, around) for p in maker.pat)


def _is_read_alone(array: Name, reader: Stm, around: Around) -> bool:
    """Whether one statement reads an array, maybe by a reshape, and no other."""
    return all(
        user is reader
        or (user is not None and isinstance(user.exp, Reshape) and around.users.get(user.pat[0].name) == (reader,))
        for user in around.users.get(array, ())
    )


def _computed_there(maker: Stm, reader: Stm, around: Around) -> Stm | None:
    """The reader with a map's statements in place of its reads; None where it has to be stored."""
    exp, into = maker.exp, reader.exp
    assert isinstance(exp, SegMap)
    assert isinstance(into, SegHist | SegScatter)
    outer = len(exp.space.dims)
    if exp.level is not Level.THREAD or exp.space.widths != into.space.widths[:outer]:
        return None
    if free_in_stm(reader).keys().isdisjoint(p.name for p in maker.pat):
        return None  # it reads views of them
    if outer < len(into.space.dims) and sum(weight_of(s.exp) for s in exp.body.stms if not _is_rows(s)) > LIMIT:
        return None
    at = {own: Var(index) for own, index in zip(exp.space.indices, into.space.indices, strict=False)}
    there = rename_body(substitute_body(exp.body, at), around.names)
    results = {p.name: atom for p, atom in zip(maker.pat, there.result, strict=True)}
    stms = [s for s in there.stms if not _is_rows(s)]
    for stm in into.body.stms:
        match stm.exp:
            case Index(array, dims) if array in results:
                value = _element(there, results[array], dims[outer:])
                if value is None or dims[:outer] != tuple(Fix(Var(i)) for i in into.space.indices[:outer]):
                    return None
                stms.append(replace(stm, exp=Copied(value)))
            case _:
                stms.append(stm)
    body = Body(tuple(stms), into.body.result)
    fused = replace(reader, exp=replace(into, body=body), certs=tuple(dict.fromkeys((*maker.certs, *reader.certs))))
    rows = {s.pat[0].name for s in there.stms if _is_rows(s)}
    return None if free_in_stm(fused).keys() & (results.keys() | rows) else fused


def _is_rows(stm: Stm) -> bool:
    """Whether a statement makes an array of values that are there."""
    return isinstance(stm.exp, ArrayLit | Replicate)


def _element(body: Body, value: Atom, dims: tuple[DimIndex, ...]) -> Atom | None:
    """The element of a result, as what a literal or a repetition has there."""
    if not dims:
        return value
    made = next((s.exp for s in body.stms if value == Var(s.pat[0].name) and not s.certs), None)
    match made, dims[0]:
        case ArrayLit(elems=elems), Fix(Const() as k) if 0 <= _constant(k) < len(elems):
            return _element(body, elems[_constant(k)], dims[1:])
        case Replicate(shape, again), _ if len(shape) <= len(dims):
            return _element(body, again, dims[len(shape) :])
        case _:
            return None
