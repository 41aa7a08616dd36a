r"""The first element that a filter keeps, without the filter: a search, which ends where it has found one.

    keeps, counts = scanomap (+) 0 (\x -> (i64 (p x), p x)) xs          m = counts[n-1], or 0 where n = 0
    kept = scatter (\x keep count -> (if keep then count - 1 else -1, f x)) (scratch m)

    kept[0]    ⟶    f xs[first], where first < n
    m > 0      ⟶    first < n

    first = reduce min ∞ (map2 (\keep i -> if keep then i else n) keeps (iota n))

It is for filters of which nothing else is read but the length, where f is of scalars and cannot fail [F-FirstKept]. And

    reduce (+) 0 (map i64.bool bs) > 0  ⟶  reduce or false bs, of a count that nothing else reads        [F-AnyOfCount]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from ...ir import core
from ...ir.attributes import is_opaque
from ...ir.core import Body, Fix, Index, Lambda, Param, PrimOp, Stm
from ...ir.errors import NOWHERE
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import rename_body, substitute_body
from ...ir.traverse import bodies, free_in_body, free_in_stm, live, map_bodies, rewritten
from ...ir.types import BOOL, I64, Atom, Const, Name, Names, Prim, Type, Var, i64
from ..aliasing.classes import Sharing
from ..context.recompute_cost import is_total_body
from .kept import Filter, bit_of, filter_of, is_sum, size_of

HIGHEST = i64((1 << 63) - 1)
SOME, NONE = {(Op.NE, 0), (Op.GT, 0), (Op.NE, 1), (Op.LT, 1)}, {(Op.EQ, 0), (Op.LE, 0), (Op.EQ, 1), (Op.GE, 1)}
"""Comparisons with 0, and the place of what is compared, which say that there is something or nothing."""


@dataclass(frozen=True, slots=True)
class _Search:
    """A filter, its length, what its elements are, and the index of the first."""

    names: Names
    found: Filter
    size: Var | None
    value: Body
    first: Var

    def statement(self, stm: Stm) -> tuple[Stm, ...] | None:
        """What reads the filter or compares its length, by the index."""
        match stm.exp:
            case Index(array, _) if (k := _position(self.found, array)) is not None:
                return self.element(stm, k)
            case exp if (some := _says_some(exp, self.size)) is not None:
                return (replace(stm, exp=self.compared(Op.LT if some else Op.GE)),)
            case _:
                return None

    def compared(self, how: Op) -> PrimOp:
        """The index with n."""
        return PrimOp(how, Prim.I64, (self.first, self.found.exp.width))

    def element(self, stm: Stm, k: int) -> tuple[Stm, ...]:
        """`kept[0]`, of result k."""
        exp, scatter = self.found.exp, self.found.scatter
        some, ok = Param(self.names.fresh("some"), BOOL), Param(self.names.fresh("ok"), BOOL)
        text = "index [", i64(0), "] out of bounds for array of shape ", "[0]"
        failure = core.Assert(Var(some.name), "R0101", text)
        certs, read, at = (*scatter.certs, *stm.certs, ok.name), list[Stm](), dict[Name, Atom]()
        for p, array in zip(exp.map.params, exp.arrays, strict=True):
            if p.name in free_in_body(self.value):
                x = Param(self.names.again(p.name), p.type)
                read.append(Stm((x,), Index(array, (Fix(self.first),), True), certs, (), stm.loc))
                at[p.name] = Var(x.name)
        here = rename_body(substitute_body(self.value, at), self.names)
        return (
            Stm((some,), self.compared(Op.LT), (), (), stm.loc),
            Stm((ok,), failure, stm.certs, (), stm.loc),
            *read,
            *here.stms,
            replace(stm, exp=core.Copied(here.result[k]), certs=certs),
        )


def read_first_kept(body: Body, names: Names, sharing: Sharing, outside: Mapping[Name, Stm], fired: list[str]) -> Body:
    """`body` with F-FirstKept wherever it applies; `fired` gets a name for each time. `outside`: statements of the
    bodies around it."""
    known = {**outside, **{p.name: stm for stm in body.stms for p in stm.pat}}
    for where, stm in enumerate(body.stms):
        found = filter_of(stm, known)
        if found is None or not found.may_be_made_later(sharing):
            continue
        value, kept, size = _value(found), frozenset(p.name for p in stm.pat), size_of(found.exp.dests[0], known)
        rest = Body(body.stms[where + 1 :], body.result)
        if value is not None and not kept.isdisjoint(free_in_body(rest)) and _is_only(rest, kept, _is_first):
            search = _Search(names, found, size if isinstance(size, Var) else None, value, Var(names.fresh("first")))
            fired.append(read_first_kept.__name__)
            made = rewritten(rest, search.statement)
            body = Body((*body.stms[:where], *_searching(search), *made.stms), made.result)
            return read_first_kept(body, names, sharing, outside, fired)
    return body


def _says_some(exp: core.Exp, count: Var | None) -> bool | None:
    """What a comparison of a count with 0 says where it holds: whether there is something; None: it is none."""
    match exp:
        case PrimOp(op, Prim.I64, args) if count in args and i64(0) in args:
            how = op, args.index(count)
            return True if how in SOME else False if how in NONE else None
        case _:
            return None


def any_of_count(body: Body, names: Names, fired: list[str]) -> Body:
    """`body` with F-AnyOfCount wherever it applies; `fired` gets a name for each time."""
    for where, stm in enumerate(body.stms):
        made, rest = _either(stm, names), Body(body.stms[where + 1 :], body.result)
        if made is None:
            continue
        some = Var(made.pat[0].name)
        if _is_only(rest, frozenset({some.name}), partial(_compares, some)):
            fired.append(any_of_count.__name__)
            rest = rewritten(rest, partial(_negated, some))
            return any_of_count(Body((*body.stms[:where], made, *rest.stms), rest.result), names, fired)
    return body


def _either(stm: Stm, names: Names) -> Stm | None:
    """A reduction that counts as one that says whether there is anything."""
    match stm.exp:
        case core.Screma(_, _, f, (), (red,)) as exp if is_sum(red) and not is_opaque(stm):
            bit = bit_of(f.body.result[0], {p.name: s for s in f.body.stms for p in s.pat})
        case _:
            return None
    if bit is None:
        return None
    code = Lambda(f.params, live(Body(f.body.stms, (bit, *f.body.result[1:]))), (BOOL, *f.ret[1:]))
    reduction = replace(exp, map=code, reds=(_by(Op.OR, Const(Prim.BOOL, False), names),))
    return replace(stm, pat=(replace(stm.pat[0], type=BOOL), *stm.pat[1:]), exp=reduction)


def _compares(count: Var, exp: core.Exp) -> bool:
    return _says_some(exp, count) is not None


def _negated(some: Var, stm: Stm) -> tuple[Stm, ...] | None:
    """A comparison of the count by what says whether there is anything."""
    says = _says_some(stm.exp, some)
    exp = core.Copied(some) if says else PrimOp(Op.NOT, Prim.BOOL, (some,))
    return None if says is None else (replace(stm, exp=exp),)


def _position(found: Filter, array: Name) -> int | None:
    return next((k for k, p in enumerate(found.scatter.pat) if p.name == array), None)


def _value(found: Filter) -> Body | None:
    """What the elements of a filter are made of, if that is scalars and cannot fail."""
    f, counts = found.exp.map, found.scan.pat[found.count].name
    value = live(Body(f.body.stms, f.body.result[1:]))
    free = free_in_body(value)
    read = [(p, xs) for p, xs in zip(f.params, found.exp.arrays, strict=True) if p.name in free]
    plain = is_total_body(value) and not any(p.type.shape or xs == counts for p, xs in read)
    return value if plain and not any(t.shape for t in f.ret) else None


def _is_only(body: Body, made: frozenset[Name], may_read: Callable[[core.Exp], bool]) -> bool:
    """Whether nothing has what is made but expressions of a kind."""
    if any(isinstance(atom, Var) and atom.name in made for atom in body.result):
        return False
    for stm in body.stms:
        if made.isdisjoint(free_in_stm(stm)) or may_read(stm.exp):
            continue
        beside = replace(stm, exp=map_bodies(lambda one: Body((), one.result), stm.exp))
        if not made.isdisjoint(free_in_stm(beside)) or not all(
            _is_only(one, made, may_read) for one in bodies(stm.exp)
        ):
            return False
    return True


def _is_first(exp: core.Exp) -> bool:
    match exp:
        case Index(_, (Fix(Const(value=0)),)):
            return True
        case _:
            return False


def _searching(search: _Search) -> tuple[Stm, ...]:
    """The statements that find the index."""
    names, found, width, loc = search.names, search.found, search.found.exp.width, search.found.scatter.loc
    keep, i, at = (names.fresh(base) for base in ("keep", "i", "at"))
    places = Param(names.fresh("is"), Type(Prim.I64, (width,)))
    select = PrimOp(Op.SELECT, Prim.I64, (Var(keep), Var(i), width))
    place = Body((Stm((Param(at, I64),), select, (), (), loc),), (Var(at),))
    f = Lambda((Param(keep, BOOL), Param(i, I64)), place, (I64,))
    reduction = core.Screma(width, (found.keeps, places.name), f, (), (_by(Op.MIN, HIGHEST, names),))
    return (
        Stm((places,), core.Iota(width, i64(0), i64(1), Prim.I64), (), (), loc),
        Stm((Param(search.first.name, I64),), reduction, found.scatter.certs, (), loc),
    )


def _by(op: Op, ne: Const, names: Names) -> core.Reduction:
    """The reduction by a commutative operation."""
    x, y, both = (Param(names.fresh(base), Type(ne.prim, ())) for base in ("x", "y", "both"))
    made = Stm((both,), PrimOp(op, ne.prim, (Var(x.name), Var(y.name))), (), (), NOWHERE)
    return core.Reduction(Lambda((x, y), Body((made,), (Var(both.name),)), (both.type,)), (ne,), True)
