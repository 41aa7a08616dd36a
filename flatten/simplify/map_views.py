"""Views of what maps compute become views of what they read, so that whoever reads the view can be fused with them.

A perfect nest of maps, whose innermost function sees only elements, may be flattened and its dimensions reordered; of
any map a part may be taken. Only where nothing else uses the result: nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.core import Body, Index, Lambda, Param, Rearrange, Reshape, Screma, Slice, Stm
from ...ir.records import dataclass
from ...ir.traverse import free_in_lambda, free_in_stm
from ...ir.types import Atom, Const, Name, Type, Var
from .env import Env, with_certs
from .views import is_whole, whole


@dataclass(frozen=True, slots=True)
class PerfectNest:
    """`map (.. (map f) ..) xss yss`: the innermost function, and the arrays whose elements, or rows, it takes."""

    function: Lambda
    arrays: tuple[Name, ...]

    def inputs(self) -> Iterator[tuple[Name, Type]]:
        """The arrays, with the types of their elements."""
        return zip(self.arrays, (p.type for p in self.function.params), strict=True)


def reshape_of_nest(stm: Stm, env: Env) -> Stm | None:
    """reshape [k] (map (map f) xss)  ⟶  map f (reshape [k] xss)        [S-ReshapeMap]

    Where nothing else uses the nest; then what takes the flat array can be fused with f."""
    match stm.exp:
        case Reshape((size,), array) if env.uses.get(array) == 1:
            inner = env.producer(array)
        case _:
            return None
    if inner is None or env.levels[array] != env.here or env.sharing.consumed(array):
        return None
    nest = perfect_nest(inner)
    if nest is None or env.types[array].rank < 2 or not all(_is_flat(xs, env) for xs in nest.arrays):
        return None
    flat = [env.emit(xs.base, Reshape((size, *t.shape), xs), t.array_of(size)) for xs, t in nest.inputs()]
    names = tuple(atom.name for atom in flat if isinstance(atom, Var))
    return with_certs(stm, Screma(size, names, env.again(nest.function), (), ()), inner)


def rearrange_of_nest(stm: Stm, env: Env) -> Stm | None:
    """rearrange p (map (map f) xss)  ⟶  map (map f) (rearrange p xss)        [S-RearrangeMap]"""
    match stm.exp:
        case Rearrange(perm, array) if (inner := _own_map(array, env)) is not None:
            nest = perfect_nest(inner)
        case _:
            return None
    if nest is None or env.types[array].rank != len(perm):
        return None
    (param,) = stm.pat
    turned: list[Name] = []
    for xs, t in nest.inputs():
        whole_perm = (*perm, *range(len(perm), len(perm) + t.rank))
        atom = env.emit(xs.base, Rearrange(whole_perm, xs), t.array_of(*param.type.shape))
        assert isinstance(atom, Var)
        turned.append(atom.name)
    f = env.again(nest.function)
    return with_certs(stm, _nested(f, param.type.shape, tuple(turned), env), inner)


def _nested(f: Lambda, shape: tuple[Atom, ...], arrays: tuple[Name, ...], env: Env) -> Screma:
    """`map (.. (map f) ..) arrays`, over all dimensions of a shape."""
    width, *rest = shape
    if not rest:
        return Screma(width, arrays, f, (), ())
    rows = tuple(Param(env.names.again(xs), p.type.array_of(*rest)) for xs, p in zip(arrays, f.params, strict=True))
    inner = _nested(f, tuple(rest), tuple(row.name for row in rows), env)
    result = Param(env.names.fresh("ys"), Type(f.ret[0].prim, tuple(rest)))
    body = Body((Stm((result,), inner, (), (), env.loc),), (Var(result.name),))
    return Screma(width, arrays, Lambda(rows, body, (result.type,)), (), ())


def slice_of_map(stm: Stm, env: Env) -> Stm | None:
    """(map f xs)[a:+n*s]  ⟶  map f (xs[a:+n*s])        s ≠ 0        [S-SliceMap]"""
    match stm.exp:
        case Index(array, (Slice(_, count, Const(_, step)) as taken, *rest), True) if step != 0:
            inner = _own_map(array, env)
        case _:
            return None
    if inner is None or not all(map(is_whole, rest, env.types[array].shape[1:])):
        return None
    screma = inner.exp
    assert isinstance(screma, Screma)
    parts: list[Name] = []
    for xs, param in zip(screma.arrays, screma.map.params, strict=True):
        dims = (taken, *map(whole, param.type.shape))
        atom = env.emit(xs.base, Index(xs, dims, True), param.type.array_of(count))
        assert isinstance(atom, Var)
        parts.append(atom.name)
    return with_certs(stm, Screma(count, tuple(parts), env.again(screma.map), (), ()), inner)


def _own_map(array: Name, env: Env) -> Stm | None:
    """The map that computes `array` and nothing else, if the statement at hand is alone in using it and what it reads
    is still the same."""
    stm = env.producer(array)
    if env.uses.get(array) != 1 or stm is None or env.levels[array] != env.here or stm.attrs:
        return None
    match stm.exp:
        case Screma(_, (_, *_), _, (), ()) if len(stm.pat) == 1:
            pass
        case _:
            return None
    moved = (array, *free_in_stm(stm))
    return None if any(map(env.sharing.consumed, moved)) else stm


def _is_flat(array: Name, env: Env) -> bool:
    """Whether the elements lie in row-major order, and stay what they are."""
    producer = env.producer(array)
    view = producer is not None and isinstance(producer.exp, Rearrange | Index)
    return not view and not env.sharing.consumed(array)


def perfect_nest(stm: Stm) -> PerfectNest | None:
    """`stm` as a nest of maps with one scalar result, each passing whole rows to the next."""
    match stm.exp:
        case Screma(_, (_, *_) as arrays, f, (), ()) if len(stm.pat) == 1:
            pass
        case _:
            return None
    rows: list[Param] = []
    while f.ret[0].shape:
        rows.extend(f.params)
        deeper = _only_map(f)
        if deeper is None:
            return None
        array_of = dict(zip((p.name for p in f.params), arrays, strict=True))
        if any(xs not in array_of for xs in deeper.arrays):
            return None
        arrays = tuple(array_of[xs] for xs in deeper.arrays)
        f = deeper.map
    free = free_in_lambda(f)
    return None if any(row.name in free for row in rows) else PerfectNest(f, arrays)


def _only_map(f: Lambda) -> Screma | None:
    """The map that is all that `f` does."""
    match f.body.stms:
        case (Stm(pat=(Param(name),), exp=Screma(_, (_, *_), _, (), ()) as screma, certs=()),):
            return screma if f.body.result == (Var(name),) else None
        case _:
            return None
