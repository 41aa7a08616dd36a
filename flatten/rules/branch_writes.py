"""Branches of a nest that write elements of arrays, or leave the arrays as they are: in place.

    G(Σ, let xs' z̄ = if c then (xs with [i] <- v, ē1) else (xs, ē2))
      ⟶  let p̄ w̄ z̄ = G(Σ, if c then (i, v, ē1) else (-1, 0, ē2)) in segscatter Σ xss { Σ p w }

The branch gives places and values instead of arrays. A point that writes nothing has a place out of range, which is
ignored. In a kernel of the branch itself every point would copy its rows, written or not.
"""

from __future__ import annotations

from ...ir.core import Body, Copy, Fix, If, Param, SegScatter, Stm, Update
from ...ir.records import dataclass
from ...ir.traverse import free_in_body, free_in_stm
from ...ir.types import I64, Atom, Const, Name, Type, Var, i64, scalar, zero
from ..context.checked_indices import checked_places
from ..context.distribute import Frontier, frontier, settle
from ..context.nest import Flow, Nest
from ..context.recompute_cost import HEAVY, weight_of
from ..context.segop_bodies import defer, seg_body
from ..context.trace import Rule
from .writes import nest_atoms, own


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a branch: what computes its scalars, and for each array that the branch gives, the array that it was,
    and the statement that writes an element of it, if there is one."""

    stms: tuple[Stm, ...]
    arrays: tuple[tuple[Name, Stm | None], ...]


def branch_write_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G(Σ, if c then xs with [i] <- v else xs)  ⟶  segscatter Σ xss { Σ (if c then (i, v) else (-1, 0)) }"""
    match stm.exp:
        case If(cond, then, orelse):
            sides = tuple(side_of(body, stm.pat) for body in (then, orelse))
        case _:
            return None
    one, other = sides
    if one is None or other is None or not _is_worth(flow, stm.pat, one, other):
        return None
    dests = tuple(array for array, _ in one.arrays)
    wanted = frontier(flow, [name for name in free_in_stm(stm) if name not in dests])
    if wanted is None or not _can_be_owned(flow, dests):
        return None
    settle(flow, nest, wanted)
    flow.note(Rule.BRANCH_WRITE, ", ".join(str(p.name) for p in stm.pat if p.type.shape))
    scalars = tuple(p for p in stm.pat if not p.type.shape)
    types = tuple(flow.known.types[dest] for dest in dests)
    writes = tuple(_places_of(flow, t) for t in types)
    made = (*scalars, *(p for write in writes for p in write))
    bodies = (_scalar_body(flow, one, then, stm.pat, types), _scalar_body(flow, other, orelse, stm.pat, types))
    defer(flow, nest, (Stm(made, If(cond, *bodies), (), stm.attrs, stm.loc),))
    settle(flow, nest, Frontier(tuple(p.name for p in made)))
    arrays = (p for p in stm.pat if p.type.shape)
    for param, dest, write in zip(arrays, dests, writes, strict=True):
        _emit_write(flow, nest, param, dest, write)
    return Rule.BRANCH_WRITE


def _is_worth(flow: Flow, pat: tuple[Param, ...], one: Side, other: Side) -> bool:
    """Whether both sides give the same arrays, all different, of which each is written on some side and one at least is
    not known to be small: a small row is copied in its thread."""
    dests = [array for array, _ in one.arrays]
    written = all(a is not None or b is not None for (_, a), (_, b) in zip(one.arrays, other.arrays, strict=True))
    is_small = all(isinstance(size, Const) for p in pat for size in p.type.shape)
    same = dests == [array for array, _ in other.arrays] and len(set(dests)) == len(dests)
    return bool(dests) and same and written and not is_small and flow.is_regular(flow.known.types[d] for d in dests)


def _can_be_owned(flow: Flow, dests: tuple[Name, ...]) -> bool:
    return all(d not in flow.known.deferred or d in flow.known.elems or frontier(flow, (d,)) is not None for d in dests)


# ---- a side --------------------------------------------------------------------------------------------------------


def side_of(body: Body, pat: tuple[Param, ...]) -> Side | None:
    """A side whose arrays are those of before with at most one element written, and whose other statements compute
    scalars; None for any other."""
    made = {p.name: stm for stm in body.stms for p in stm.pat}
    results = [atom for atom, p in zip(body.result, pat, strict=True) if p.type.shape]
    arrays = tuple(_written(atom, made) for atom in results)
    found = tuple(pair for pair in arrays if pair is not None)
    names = {name for atom in results for name in _versions(atom, made)}
    rest = tuple(stm for stm in body.stms if not any(p.name in names for p in stm.pat))
    plain = all(not p.type.shape for stm in rest for p in stm.pat) and sum(weight_of(s.exp) for s in rest) < HEAVY
    if len(found) < len(results) or not plain or not names.isdisjoint(free_in_body(Body(rest, ()))):
        return None
    return Side(rest, found)


def _written(atom: Atom, made: dict[Name, Stm]) -> tuple[Name, Stm | None] | None:
    """The array of before that a result is, and the statement that writes an element of it."""
    versions = _versions(atom, made)
    first = made[versions[-1]].exp if versions else None
    writes = [made[name] for name in versions if isinstance(made[name].exp, Update)]
    match first:
        case None if isinstance(atom, Var):
            return atom.name, None
        case Update(array, _, _, _) | Copy(array) if array not in made and len(writes) <= 1:
            return array, writes[0] if writes else None
        case _:
            return None


def _versions(atom: Atom, made: dict[Name, Stm]) -> list[Name]:
    """The copies and writes of elements, in the side, that lead from an array of before to a result, the last first."""
    found: list[Name] = []
    while isinstance(atom, Var) and atom.name in made:
        stm = made[atom.name]
        match stm.exp:
            case Update(array, dims, _, _) if all(isinstance(dim, Fix) for dim in dims):
                found.append(atom.name)
                atom = Var(array)
            case Copy(array) if not stm.certs:
                found.append(atom.name)
                atom = Var(array)
            case _:
                return found
    return found


# ---- places and values ---------------------------------------------------------------------------------------------


def _places_of(flow: Flow, t: Type) -> tuple[Param, ...]:
    """Variables for the place of a write and its value."""
    return (*(flow.fresh_param("p", I64) for _ in t.shape), flow.fresh_param("w", scalar(t.prim)))


def _scalar_body(flow: Flow, side: Side, body: Body, pat: tuple[Param, ...], types: tuple[Type, ...]) -> Body:
    """The scalars of a side, and the places and values of its writes."""
    stms = list(side.stms)
    result = [atom for atom, p in zip(body.result, pat, strict=True) if not p.type.shape]
    for (_, write), t in zip(side.arrays, types, strict=True):
        if write is None:
            result += [*(i64(-1) for _ in t.shape), zero(t.prim)]
        else:
            assert isinstance(write.exp, Update)
            result += [*checked_places(flow, stms, write, t), write.exp.value]
    return Body(tuple(stms), tuple(result))


def _emit_write(flow: Flow, nest: Nest, param: Param, dest: Name, write: tuple[Param, ...]) -> None:
    """segscatter Σ xss { Σ p w }"""
    (owned,) = own(flow, nest, (dest,), ())
    pat = flow.bind(nest, (param,))
    made = seg_body(flow, nest.dims, Body((), (*nest_atoms(nest), *(Var(p.name) for p in write))))
    rank = nest.depth + len(write) - 1
    flow.emit(pat, SegScatter(flow.context.machine.lowest.level, made.space, (owned,), rank, made.body))
