r"""Fusion through a filter: who reads what was kept reads what it was kept from, and leaves out the rest.

    keeps, counts = scanomap (+) 0 (\x -> (i64 (p x), p x)) xs          m = counts[n-1], or 0 where n = 0
    kept = scatter (\x keep count -> (if keep then count - 1 else -1, f x)) (scratch m)

    map g kept               ⟶  a scatter of g (f x), where g is cheap and cannot fail; of if keep then g (f x), where
                                 f x is an index beside which g reads elements
    redomap ⊕ g ne kept      ⟶  redomap ⊕ (\x keep -> if keep then g (f x) else ne) ne xs keeps         [F-Kept]
    hist, scatter of kept    ⟶  the same with a place out of range in place of ne
    filter q kept            ⟶  filter (\x keep -> if keep then q (f x) else false) xs keeps

Where nothing else reads what was kept, the scatter is dead then, and with it the scan, but for its last element.
Order stays, so ⊕ need not commute; g and q are not applied to what is left out, so they fail as they did. And

    (scanomap ⊕ f ne xs)[n-1]  ⟶  redomap ⊕ f ne xs, where a scan is read nowhere else      [F-LastOfScan]

The same of `if n = 0 then ne else ..`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir import core
from ...ir.attributes import is_opaque
from ...ir.commute import scalar_operation
from ...ir.core import Body, Convert, Fix, Hist, If, Index, Lambda, Param, PrimOp, Scatter, Screma, Soac, Stm
from ...ir.errors import NOWHERE
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import rename_lambda, substitute_body
from ...ir.scalar import constant
from ...ir.traverse import all_stms, free_in_lambda, free_in_stm
from ...ir.types import I64, Atom, Const, Name, Names, Prim, Type, Var, i64
from ..aliasing.classes import Sharing
from ..context.recompute_cost import LIMIT, is_total_body, weight_of
from .beside import Definitions, made_by, reads_beside
from .graph import node_of, overwrites
from .loops import is_scalar

FALSE = Const(Prim.BOOL, False)


# ---- what is a filter -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filter:
    """A scatter of what is kept, and the scan that counts it. `keep`: which parameter of the scatter says whether an
    element is kept; `keeps` is its array. `count`: the scan of the counts among the results of its statement."""

    scatter: Stm
    scan: Stm
    keep: Name
    keeps: Name
    count: int

    @property
    def exp(self) -> Scatter:
        assert isinstance(self.scatter.exp, Scatter)
        return self.scatter.exp

    def may_be_made_later(self, sharing: Sharing) -> bool:
        """Whether nothing that its elements are made of is ever overwritten."""
        return not any(map(sharing.consumed, (self.keeps, *self.exp.arrays, *free_in_lambda(self.exp.map))))


def filter_of(stm: Stm, known: Definitions) -> Filter | None:
    """The filter that a scatter is the last step of, if it is one: all that is kept, in order, and nothing else."""
    match stm.exp:
        case Scatter(width, arrays, f, dests, 1) if not is_opaque(stm):
            inside = {p.name: s for s in f.body.stms for p in s.pat}
            array_of = {p.name: xs for p, xs in zip(f.params, arrays, strict=True)}
            found = _place(f.body.result[0], inside)
        case _:
            return None
    if found is None or not all(name in array_of for name in found):
        return None
    keep, count = found
    keeps, counts = array_of[keep], array_of[count]
    scan = known.get(counts)
    if scan is None or is_opaque(scan) or not _counts(scan, counts, keeps):
        return None
    sizes = {size_of(dest, known) for dest in dests}
    if not all(size is not None and _is_total(size, width, counts, known) for size in sizes):
        return None
    return Filter(stm, scan, keep, keeps, [p.name for p in scan.pat].index(counts))


def _place(atom: Atom, inside: Definitions) -> tuple[Name, Name] | None:
    """(keep, count) of `if keep then count - 1 else -1`."""
    match made_by(atom, inside):
        case PrimOp(Op.SELECT, _, (Var(keep), place, Const(value=-1))):
            pass
        case _:
            return None
    match made_by(place, inside):
        case PrimOp(Op.SUB, Prim.I64, (Var(count), Const(value=1))):
            return keep, count
        case _:
            return None


def _counts(stm: Stm, counts: Name, keeps: Name) -> bool:
    """Whether `counts` is the scan of (+) over 1 where `keeps` holds, else 0."""
    if not isinstance(stm.exp, Screma):
        return False
    start, names = 0, [p.name for p in stm.pat]
    for scan in stm.exp.scans:
        if names[start] == counts:
            return is_sum(scan) and _is_bit(stm, stm.exp, start, keeps)
        start += len(scan.neutral)
    return False


def is_sum(scan: core.Reduction) -> bool:
    """Whether a reduction is by (+) on i64."""
    made = scalar_operation(scan.op)
    return made is not None and (made.op, made.prim, scan.neutral) == (Op.ADD, Prim.I64, (i64(0),))


def _is_bit(stm: Stm, screma: Screma, position: int, keeps: Name) -> bool:
    """Whether the mapped value at a position is 1 where the element of `keeps`, read or made, holds, else 0."""
    body = screma.map.body
    bit = bit_of(body.result[position], {p.name: s for s in body.stms for p in s.pat})
    if bit is None:
        return False
    read = {p.name for p, xs in zip(screma.map.params, screma.arrays, strict=True) if xs == keeps}
    return bit.name in read or any(p.name == keeps and v == bit for p, v in zip(stm.pat, body.result, strict=True))


def bit_of(value: Atom, inside: Definitions) -> Var | None:
    """The truth value of which an i64 is 1 or 0."""
    match made_by(value, inside):
        case Convert(Prim.BOOL, Prim.I64, Var() as bit):
            return bit
        case _:
            return None


def size_of(dest: Name, known: Definitions) -> Atom | None:
    """The number of elements (or rows) of fresh memory."""
    exp = made_by(Var(dest), known)
    return exp.type.shape[0] if isinstance(exp, core.Scratch) else None


def _is_total(size: Atom, width: Atom, counts: Name, known: Definitions) -> bool:
    """Whether a size is the last of the counts, or 0 where there is none."""
    exp = made_by(size, known)
    match exp:
        case If(_, Body((), (Const(value=0),)), Body(stms, (last,))):
            exp = made_by(last, {p.name: s for s in stms for p in s.pat})
        case _:
            pass
    match exp:
        case Index(array, (Fix(at),)) if array == counts:
            return _is_last(at, width, known)
        case _:
            return False


def _is_last(at: Atom, width: Atom, known: Definitions) -> bool:
    """Whether an index is the last of a width."""
    if isinstance(at, Const):
        return isinstance(width, Const) and at.value == width.value - 1
    return made_by(at, known) == PrimOp(Op.SUB, Prim.I64, (width, i64(1)))


# ---- a body ---------------------------------------------------------------------------------------------------------


def read_through_filters(
    body: Body, names: Names, sharing: Sharing, outside: Mapping[Name, Stm], fired: list[str]
) -> Body:
    """`body` with F-Kept and F-LastOfScan wherever they apply; `fired` gets a name for each time. `outside`: statements
    of the bodies around it."""
    known = {**outside, **{p.name: stm for stm in all_stms(body) for p in stm.pat}}
    program = _Program(names, sharing, known, fired)
    for rule in (_without_filter, last_of_scan):
        for stm in body.stms:
            if isinstance(stm.exp, Scatter | Screma) and (made := rule(body, stm, program)) is not None:
                body = made
    return body


@dataclass(frozen=True, slots=True)
class _Program:
    names: Names
    sharing: Sharing
    known: Definitions
    fired: list[str]


def _users(body: Body, made: set[Name]) -> list[Stm] | None:
    """The statements that use what is made; None where it is a result of the body."""
    if any(isinstance(atom, Var) and atom.name in made for atom in body.result):
        return None
    return [stm for stm in body.stms if not made.isdisjoint(free_in_stm(stm))]


# ---- F-Kept ---------------------------------------------------------------------------------------------------------


def _without_filter(body: Body, stm: Stm, program: _Program) -> Body | None:
    """All that reads what a filter has kept reads what that was kept from, if all can."""
    found = filter_of(stm, program.known)
    if found is None or not found.may_be_made_later(program.sharing):
        return None
    kept = {p.name for p in stm.pat}
    for user in body.stms:
        made = _with_map(body, found, user, user.exp, program) if isinstance(user.exp, Screma) else None
        if made is not None:
            return made
    users = _users(body, kept)
    if not users:
        return None
    if any(isinstance(user.exp, core.Copy) for user in users):
        return _without_copies(body, stm, users, program)
    inner = [f for user in users if (f := filter_of(user, program.known)) is not None and f.scan in users]
    changed: dict[Name, tuple[Stm, ...]] = {}
    for user in users:
        made = _read_through(user, found, inner, program)
        if made is None or not _only_in(body, user, inner, program.known):
            return None
        changed[user.pat[0].name] = made
    for one in inner:
        size = size_of(one.exp.dests[0], program.known)
        assert isinstance(size, Var)
        changed[size.name] = _total(size.name, one, found, program.names)
    program.fired.append(read_through_filters.__name__)
    stms = tuple(new for old in body.stms for new in (changed.get(old.pat[0].name, (old,)) if old.pat else (old,)))
    program.known.update((p.name, new) for stms_ in changed.values() for new in stms_ for p in new.pat)
    return Body(stms, body.result)


def _without_copies(body: Body, kept: Stm, copies: list[Stm], program: _Program) -> Body | None:
    """What has been kept instead of copies of it, if neither is overwritten."""
    sharing, names = program.sharing, [p.name for p in kept.pat]
    later = [node_of(stm) for stm in body.stms[body.stms.index(kept) + 1 :]]
    if any(overwrites(node, x, sharing, program.known) for node in later for x in names) or any(
        isinstance(atom, Var) and sharing.same(x, atom.name) for atom in body.result for x in names
    ):
        return None
    taken: dict[Name, Atom] = {}
    for stm in copies:
        match stm.exp:
            case core.Copy(array) if not is_opaque(stm) and not sharing.consumed(stm.pat[0].name):
                taken[stm.pat[0].name] = Var(array)
            case core.Copy():
                return None
            case _:
                pass
    program.fired.append(read_through_filters.__name__)
    return substitute_body(
        Body(tuple(s for s in body.stms if not s.pat or s.pat[0].name not in taken), body.result), taken
    )


def _with_map(body: Body, found: Filter, user: Stm, exp: Screma, program: _Program) -> Body | None:
    """A map of what has been kept as further results of the scatter, if the map is cheap and cannot fail."""
    names, stm, kept = program.names, found.scatter, {p.name for p in found.scatter.pat}
    if exp.scans or exp.reds or not exp.arrays or is_opaque(user) or not kept.issuperset(exp.arrays):
        return None
    code, where = exp.map.body, body.stms.index(stm)
    alone = is_total_body(code) and sum(weight_of(inner.exp) for inner in code.stms) <= LIMIT
    if not alone and not reads_beside(found.scatter, exp, program.known):
        return None
    later = {p.name for other in body.stms[where:] for p in other.pat}
    if any(p.type.rank != 1 for p in user.pat) or not later.isdisjoint((*free_in_lambda(exp.map), *user.certs)):
        return None
    f = found.exp.map
    value = dict(zip((p.name for p in stm.pat), f.body.result[1:], strict=True))
    taken = {p.name: value[xs] for p, xs in zip(exp.map.params, exp.arrays, strict=True)}
    g = substitute_body(code, taken)
    if not alone:
        g = _choose(found.keep, g, tuple(constant(t.prim, 0) for t in exp.map.ret), exp.map.ret, names)
    both = Lambda(f.params, Body((*f.body.stms, *g.stms), (*f.body.result, *g.result)), (*f.ret, *exp.map.ret))
    dests = tuple(Param(names.fresh("dest"), p.type) for p in user.pat)
    scatter = replace(found.exp, map=both, dests=(*found.exp.dests, *(p.name for p in dests)))
    certs = tuple(dict.fromkeys((*stm.certs, *user.certs)))
    made = replace(stm, pat=(*stm.pat, *user.pat), exp=scatter, certs=certs)
    scratch = (_stm((p,), core.Scratch(p.type)) for p in dests)
    program.fired.append(read_through_filters.__name__)
    rest = (other for other in body.stms[where + 1 :] if other is not user)
    return Body((*body.stms[:where], *scratch, made, *rest), body.result)


def _only_in(body: Body, user: Stm, inner: list[Filter], known: Definitions) -> bool:
    """Of a scan that counts for filters: is it read by those, and by nothing else but the sizes of their results?"""
    mine = [one for one in inner if one.scan is user]
    if not mine:
        return True
    sizes = {size_of(one.exp.dests[0], known) for one in mine}
    readers = _users(body, {p.name for p in user.pat})
    return readers is not None and all(
        any(one.scatter is s for one in mine) or any(Var(p.name) in sizes for p in s.pat) for s in readers
    )


def _read_through(user: Stm, found: Filter, inner: list[Filter], program: _Program) -> tuple[Stm, ...] | None:
    """A reader of what a filter has kept as a reader of what that was kept from; None where it cannot be one."""
    exp, kept = user.exp, {p.name for p in found.scatter.pat}
    counts = {p.name for one in inner if one.scatter is user for p in one.scan.pat}
    if not isinstance(exp, Soac) or is_opaque(user) or exp.width != found.scatter.pat[0].type.shape[0]:
        return None
    if not kept | counts >= set(exp.arrays) or not all(map(is_scalar, exp.map.body.stms)):
        return None
    beside = replace(user, exp=replace(exp, arrays=(), map=replace(exp.map, params=())))
    if any(t.shape for t in exp.map.ret) or not kept.isdisjoint(free_in_stm(beside)):
        return None
    f = rename_lambda(found.exp.map, program.names)
    keep = f.params[[p.name for p in found.exp.map.params].index(found.keep)].name
    value = dict(zip((p.name for p in found.scatter.pat), f.body.result[1:], strict=True))
    taken = {p.name: value[xs] for p, xs in zip(exp.map.params, exp.arrays, strict=True) if xs in value}
    own = [(p, xs) for p, xs in zip(exp.map.params, exp.arrays, strict=True) if xs not in value]
    body = substitute_body(exp.map.body, taken)
    params, arrays = (*f.params, *(p for p, _ in own)), (*found.exp.arrays, *(xs for _, xs in own))
    certs = tuple(dict.fromkeys((*found.scatter.certs, *user.certs)))
    g = _guarded(user, exp, keep, body, inner, program.names)
    if g is None:
        return None
    through = Lambda(params, Body((*f.body.stms, *g.stms), g.result), exp.map.ret)
    made = replace(exp, width=found.exp.width, arrays=arrays, map=through)
    pat = tuple(
        Param(p.name, Type(p.type.prim, (found.exp.width,))) if isinstance(exp, Screma) and p.type.shape else p
        for p in user.pat
    )
    return (replace(user, pat=pat, exp=made, certs=certs),)


def _guarded(user: Stm, exp: Soac, keep: Name, body: Body, inner: list[Filter], names: Names) -> Body | None:
    """The map of a reader where `keep` holds, else what changes nothing."""
    match exp:
        case Screma(_, _, _, (), reds) if len(user.pat) == exp.num_reds:
            return _choose(keep, body, tuple(ne for red in reds for ne in red.neutral), exp.map.ret, names)
        case Screma(_, _, _, (_, *_), ()):
            return _guarded_count(user, exp, keep, body, inner, names)
        case Hist(_, _, f, _, _, rank) | Scatter(_, _, f, _, rank):
            if any(one.scatter is user for one in inner) and is_total_body(body):
                return body
            blank = [constant(t.prim, 0) for t in f.ret[rank:]]
            return _choose(keep, body, (*(i64(-1) for _ in range(rank)), *blank), f.ret, names)
        case _:
            return None


def _choose(keep: Name, body: Body, otherwise: tuple[Atom, ...], types: tuple[Type, ...], names: Names) -> Body:
    """if keep then body else the others"""
    pat = tuple(Param(names.fresh("kept"), t) for t in types)
    return Body((_stm(pat, If(Var(keep), body, Body((), otherwise))),), tuple(Var(p.name) for p in pat))


def _guarded_count(user: Stm, exp: Screma, keep: Name, body: Body, inner: list[Filter], names: Names) -> Body | None:
    """What counts for filters counts 0 of what is left out; beside the counts it gives truth values alone."""
    ns = exp.num_scans
    inside = {p.name: s for s in body.stms for p in s.pat}
    bits = [bit_of(value, inside) for value in body.result[:ns]]
    if {one.count for one in inner if one.scan is user} != set(range(ns)):
        return None
    if any(t.prim is not Prim.BOOL for t in exp.map.ret[ns:]) or any(bit is None for bit in bits):
        return None
    wanted = tuple(dict.fromkeys(atom for atom in (*bits, *body.result[ns:]) if atom is not None))
    boolean = Type(Prim.BOOL, ())
    chosen = _choose(keep, Body(body.stms, wanted), (FALSE,) * len(wanted), (boolean,) * len(wanted), names)
    value = dict(zip(wanted, chosen.result, strict=True))
    ones = [Param(names.fresh("one"), I64) for _ in bits]
    sources = [value[bit] for bit in bits if bit is not None]
    convert = [_stm((p,), Convert(Prim.BOOL, Prim.I64, bit)) for p, bit in zip(ones, sources, strict=True)]
    result = (*(Var(p.name) for p in ones), *(value[atom] for atom in body.result[ns:]))
    return Body((*chosen.stms, *convert), result)


def _total(size: Name, one: Filter, found: Filter, names: Names) -> tuple[Stm, ...]:
    """let size = if n = 0 then 0 else counts[n-1]"""
    width, counts = found.exp.width, one.scan.pat[one.count].name
    empty, at, last = names.fresh("empty"), names.fresh("at"), names.fresh("last")
    read = _stm((Param(last, I64),), Index(counts, (Fix(Var(at)),), True))
    return (
        _stm((Param(empty, Type(Prim.BOOL, ())),), PrimOp(Op.EQ, Prim.I64, (width, i64(0)))),
        _stm((Param(at, I64),), PrimOp(Op.SUB, Prim.I64, (width, i64(1)))),
        _stm((Param(size, I64),), If(Var(empty), Body((), (i64(0),)), Body((read,), (Var(last),)))),
    )


def _stm(pat: tuple[Param, ...], exp: core.Exp) -> Stm:
    return Stm(pat, exp, (), (), NOWHERE)


# ---- F-LastOfScan ---------------------------------------------------------------------------------------------------


def last_of_scan(body: Body, stm: Stm, program: _Program) -> Body | None:
    """(scanomap ⊕ f ne xs)[n-1]  ⟶  redomap ⊕ f ne xs, where the scan is read nowhere else"""
    exp = stm.exp
    if not isinstance(exp, Screma) or not exp.scans or exp.reds or is_opaque(stm):
        return None
    scanned = {p.name for p in stm.pat[: exp.num_scans]}
    if any(p.type.rank != 1 for p in stm.pat[: exp.num_scans]):
        return None
    users = _users(body, scanned)
    if not users or not all(_reads_last(user, scanned, exp.width, program.known) for user in users):
        return None
    program.fired.append(last_of_scan.__name__)
    totals = tuple(Param(program.names.again(p.name), p.type.row()) for p in stm.pat[: exp.num_scans])
    neutral = (ne for scan in exp.scans for ne in scan.neutral)
    total = {p.name: (Var(t.name), ne) for p, t, ne in zip(stm.pat, totals, neutral, strict=False)}
    is_empty = PrimOp(Op.EQ, Prim.I64, (exp.width, i64(0)))
    empty = frozenset[Atom](Var(name) for name, one in program.known.items() if one.exp == is_empty)
    reduction = replace(stm, pat=(*totals, *stm.pat[exp.num_scans :]), exp=replace(exp, scans=(), reds=exp.scans))
    stms = tuple(
        reduction if old is stm else _with_totals(old, total, empty) if any(old is user for user in users) else old
        for old in body.stms
    )
    return Body(stms, body.result)


def _reads_last(stm: Stm, scanned: set[Name], width: Atom, known: Definitions) -> bool:
    """Whether a statement has the arrays as the last element of them alone, in branches too, but in no loop."""
    match stm.exp:
        case Index(array, (Fix(at),)) if array in scanned:
            return _is_last(at, width, known)
        case If(cond, then, orelse):
            return not (isinstance(cond, Var) and cond.name in scanned) and all(
                scanned.isdisjoint(atom.name for atom in side.result if isinstance(atom, Var))
                and all(
                    scanned.isdisjoint(free_in_stm(inner)) or _reads_last(inner, scanned, width, known)
                    for inner in side.stms
                )
                for side in (then, orelse)
            )
        case _:
            return False


def _with_totals(stm: Stm, total: dict[Name, tuple[Var, Atom]], empty: frozenset[Atom]) -> Stm:
    """A statement with totals, which are neutral elements where there is nothing, as one of `empty` says."""
    match stm.exp:
        case If(cond, Body((), (ne,)), Body((Stm((last,), Index(array, _), ()),), (Var(name),))) if (
            name == last.name and array in total and cond in empty and ne == total[array][1]
        ):
            return replace(stm, exp=core.Copied(total[array][0]))
        case Index(array, _) if array in total:
            return replace(stm, exp=core.Copied(total[array][0]))
        case If(cond, then, orelse):
            sides = (
                Body(tuple(_with_totals(s, total, empty) for s in side.stms), side.result) for side in (then, orelse)
            )
            return replace(stm, exp=If(cond, *sides))
        case _:
            return stm
