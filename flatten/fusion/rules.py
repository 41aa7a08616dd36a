r"""The rules of fusion: two SOACs of one width become one, and the arrays between them need not exist.

All are one composition, `_composed`: a SOAC maps, then scans and reduces what it has mapped, so a producer's map may
be put before a consumer's. Nothing is computed twice: what others still need of the producer stays as a further
result. Maps are pure, hence sound; a failure of either remains one of the fused SOAC.

A rule takes the producer's statement, the consumer's, and the results of the producer that others need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ...ir.commute import is_commutative
from ...ir.core import Body, Hist, Lambda, Reduction, Scatter, Screma, Soac, Stm
from ...ir.rename import substitute_lambda
from ...ir.types import Atom, Name, Var

Rule = Callable[[Stm, Stm, frozenset[Name]], Stm | None]
T = TypeVar("T")


def fuse_map_map(producer: Stm, consumer: Stm, kept: frozenset[Name]) -> Stm | None:
    """map f (map g xs)  ⟶  map (f ∘ g) xs        [F-MapMap]"""
    match producer.exp, consumer.exp:
        case Screma(scans=(), reds=()), Screma(scans=(), reds=()):
            return _composed(producer, consumer, kept)
        case _:
            return None


def fuse_map_reduce(producer: Stm, consumer: Stm, kept: frozenset[Name]) -> Stm | None:
    """redomap ⊕ f ne (map g xs)  ⟶  redomap ⊕ (f ∘ g) ne xs        [F-MapRed]"""
    match producer.exp, consumer.exp:
        case Screma(scans=(), reds=()), Screma(scans=(), reds=(_, *_)):
            return _composed(producer, consumer, kept)
        case _:
            return None


def fuse_map_scan(producer: Stm, consumer: Stm, kept: frozenset[Name]) -> Stm | None:
    """scanomap ⊕ f ne (map g xs)  ⟶  scanomap ⊕ (f ∘ g) ne xs        [F-MapScan]"""
    match producer.exp, consumer.exp:
        case Screma(scans=(), reds=()), Screma(scans=(_, *_), reds=()):
            return _composed(producer, consumer, kept)
        case _:
            return None


def fuse_redomap_map(producer: Stm, consumer: Stm, kept: frozenset[Name]) -> Stm | None:
    """(s, ys) = redomap ⊕ g ne xs;  zs = map f ys  ⟶  (s, zs) = redomap ⊕ (g, f ∘ g) ne xs        [F-RedMap]

    The same for what a scanomap maps besides, and for a consumer that reduces or scans in its turn."""
    match producer.exp, consumer.exp:
        case Screma() as p, Screma() if p.scans or p.reds:
            return _composed(producer, consumer, kept)
        case _:
            return None


def fuse_map_hist(producer: Stm, consumer: Stm, kept: frozenset[Name]) -> Stm | None:
    """hist ⊕ f dests (map g xs)  ⟶  hist ⊕ (f ∘ g) dests xs        [F-MapHist]"""
    match producer.exp, consumer.exp:
        case Screma(scans=(), reds=()), Hist() if not kept:
            return _composed(producer, consumer, kept)
        case _:
            return None


def fuse_map_scatter(producer: Stm, consumer: Stm, kept: frozenset[Name]) -> Stm | None:
    """scatter f dests (map g xs)  ⟶  scatter (f ∘ g) dests xs        [F-MapScatter]"""
    match producer.exp, consumer.exp:
        case Screma(scans=(), reds=()), Scatter() if not kept:
            return _composed(producer, consumer, kept)
        case _:
            return None


def fuse_horizontally(first: Stm, second: Stm, kept: frozenset[Name]) -> Stm | None:
    r"""ys = map f xs;  zs = map g xs  ⟶  (ys, zs) = map (\x -> (f x, g x)) xs        [F-Horizontal]

    Any two Scremas of one width of which neither needs the other."""
    match first.exp, second.exp:
        case Screma(), Screma():
            return _composed(first, second, kept)
        case _:
            return None


def fuse_hists(first: Stm, second: Stm, kept: frozenset[Name]) -> Stm | None:
    """hs = hist ⊕ ds is xs;  gs = hist ⊗ es is ys  ⟶  (hs, gs) = hist (⊕, ⊗) (ds, es) is xs ys        [F-Hists]

    Of scalars into the same bins, by commutative operations of the table: the points are read once."""
    match first.exp, second.exp:
        case Hist(rank=rank) as p, Hist(rank=other) as c if rank == other and not kept:
            shapes = {x.type.shape for x in (*first.pat, *second.pat)}
            if len(shapes) > 1 or len(first.pat[0].type.shape) != rank:
                return None
            place = _input_indices(p)
            if place is None or place != _input_indices(c) or not (is_commutative(p.op.op) and is_commutative(c.op.op)):
                return None
            return _side_by_side(first, p, second, c)
        case _:
            return None


def _input_indices(hist: Hist) -> tuple[Name, ...] | None:
    """The arrays whose elements are the indices, as they stand."""
    array_of = {x.name: xs for x, xs in zip(hist.map.params, hist.arrays, strict=True)}
    found = [array_of.get(atom.name) if isinstance(atom, Var) else None for atom in hist.map.body.result[: hist.rank]]
    return tuple(xs for xs in found if xs is not None) if None not in found else None


def _side_by_side(first: Stm, p: Hist, second: Stm, c: Hist) -> Stm:
    """Two histograms by the same indices as one, whose operators commute."""
    f, g, rank = p.map, c.map, p.rank
    stms, result = (*f.body.stms, *g.body.stms), (*f.body.result, *g.body.result[rank:])
    function = Lambda((*f.params, *g.params), Body(stms, result), (*f.ret, *g.ret[rank:]))
    a, b, n, m = p.op.op, c.op.op, len(first.pat), len(second.pat)
    params = (*a.params[:n], *b.params[:m], *a.params[n:], *b.params[m:])
    sums = Body((*a.body.stms, *b.body.stms), (*a.body.result, *b.body.result))
    op = Reduction(Lambda(params, sums, (*a.ret, *b.ret)), (*p.op.neutral, *c.op.neutral), True)
    exp = Hist(p.width, (*p.arrays, *c.arrays), function, op, (*p.dests, *c.dests), rank)
    certs = tuple(dict.fromkeys((*first.certs, *second.certs)))
    return Stm((*first.pat, *second.pat), exp, certs, second.attrs, second.loc)


SIDE_BY_SIDE: tuple[Rule, ...] = (fuse_horizontally, fuse_hists)

VERTICAL: tuple[Rule, ...] = (
    fuse_map_map,
    fuse_map_reduce,
    fuse_map_scan,
    fuse_redomap_map,
    fuse_map_hist,
    fuse_map_scatter,
)


# ---- composition --------------------------------------------------------------------------------------------------


def _composed(producer: Stm, consumer: Stm, kept: frozenset[Name]) -> Stm:
    """The two as one; `kept` names the mapped results of the producer that others need."""
    p, c = producer.exp, consumer.exp
    assert isinstance(p, Screma)
    assert isinstance(c, Soac)
    value: dict[Name, Atom] = {x.name: atom for x, atom in zip(producer.pat, p.map.body.result, strict=True)}
    own = [(xs, x) for xs, x in zip(c.arrays, c.map.params, strict=True) if xs not in value]
    taken = {x.name: value[xs] for xs, x in zip(c.arrays, c.map.params, strict=True) if xs in value}
    f = substitute_lambda(Lambda((), c.map.body, c.map.ret), taken)
    arrays = (*p.arrays, *(xs for xs, _ in own))
    params = (*p.map.params, *(x for _, x in own))
    stms = (*p.map.body.stms, *f.body.stms)
    certs = tuple(dict.fromkeys((*producer.certs, *consumer.certs)))
    attrs = tuple(dict.fromkeys((*producer.attrs, *consumer.attrs)))
    if not isinstance(c, Screma):
        exp = replace(c, arrays=arrays, map=Lambda(params, Body(stms, f.body.result), f.ret))
        return Stm(consumer.pat, exp, certs, attrs, consumer.loc)
    stays = [x.name in kept for x in producer.pat[p.num_ops :]]
    result = _interleaved(p, p.map.body.result, stays, c, f.body.result)
    ret = _interleaved(p, p.map.ret, stays, c, f.ret)
    pat = _interleaved(p, producer.pat, stays, c, consumer.pat)
    exp = Screma(c.width, arrays, Lambda(params, Body(stms, result), ret), p.scans + c.scans, p.reds + c.reds)
    return Stm(pat, exp, certs, attrs, consumer.loc)


def _interleaved(p: Screma, of_p: tuple[T, ...], stays: list[bool], c: Screma, of_c: tuple[T, ...]) -> tuple[T, ...]:
    """Operators of both, then what the producer still maps and what the consumer maps."""
    a, b = p.num_ops, c.num_ops
    mapped = tuple(item for item, stay in zip(of_p[a:], stays, strict=True) if stay)
    return (*of_p[:a], *of_c[:b], *mapped, *of_c[b:])


def mapped_results(stm: Stm) -> frozenset[Name]:
    """The results of a Screma that are there row by row: its mapped arrays, not its scans."""
    match stm.exp:
        case Screma() as screma:
            return frozenset(x.name for x in stm.pat[screma.num_ops :])
        case _:
            return frozenset()
