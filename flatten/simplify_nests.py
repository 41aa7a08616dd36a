"""Flattened perfect nests: a nest of maps whose innermost function sees only elements is one map over flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.core import Index, Lambda, Param, Rearrange, Reshape, Screma, Stm
from ..ir.traverse import free_in_lambda, rename_lambda
from ..ir.types import Name, Type, Var
from .simplify_env import Env, with_certs


@dataclass(frozen=True, slots=True)
class PerfectNest:
    """`map (.. (map f) ..) xss yss`: the innermost function, and the arrays whose elements it takes."""

    function: Lambda
    arrays: tuple[Name, ...]


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
    if nest is None or env.types[array].rank < 2 or not all(_lies_flat(xs, env) for xs in nest.arrays):
        return None
    flat = [env.emit(xs.base, Reshape((size,), xs), Type(env.types[xs].prim, (size,))) for xs in nest.arrays]
    names = tuple(atom.name for atom in flat if isinstance(atom, Var))
    return with_certs(stm, Screma(size, names, rename_lambda(nest.function, env.names), (), ()), inner)


def _lies_flat(array: Name, env: Env) -> bool:
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
