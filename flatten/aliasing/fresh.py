"""Arrays of one body that cannot share memory, since one of them is in memory that a statement of the body took.

Classes (`classes.py`) join what may share memory at any time, in any iteration: what a loop carries and what its body
gives. Within one execution of a body memory that is taken there is none that was there before.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...ir.core import (
    ArrayLit,
    Body,
    Concat,
    Copied,
    Copy,
    Hist,
    If,
    Index,
    Iota,
    Loop,
    Rearrange,
    Replicate,
    Reshape,
    Scatter,
    Scratch,
    Screma,
    SegScatter,
    Stm,
    Update,
)
from ...ir.types import Atom, Name, Var


def are_apart(x: Name, y: Name, made: Mapping[Name, Stm]) -> bool:
    """Whether two arrays surely share no memory. `made`: the statements of the body, by the names that they bind; what
    one of these made shares memory with nothing else."""
    one, other = origin_of(x, made), origin_of(y, made)
    return one is not None and other is not None and one != other and (one in made or other in made)


def origin_of(name: Name, made: Mapping[Name, Stm]) -> Name | None:
    """The array of whose memory an array is a part, None where that is not known."""
    while (stm := made.get(name)) is not None:
        match stm.exp:
            case Copy() | Replicate() | Scratch() | Iota() | Concat() | ArrayLit() | Screma():
                return name
            case Copied(Var(source)) | Index(source) | Rearrange(_, source) | Reshape(_, source) | Update(source):
                name = source
            case Scatter(dests=dests) | Hist(dests=dests) | SegScatter(dests=dests):
                name = dests[[p.name for p in stm.pat].index(name)]
            case _:
                return None
    return name


def is_own(atom: Atom, made: Mapping[Name, Stm], own: frozenset[Name] = frozenset()) -> bool:
    """Whether an array is in memory that the body itself took, also in a loop or branch of it; so are `own`."""
    if not isinstance(atom, Var) or (stm := made.get(atom.name)) is None:
        return isinstance(atom, Var) and atom.name in own
    k = [p.name for p in stm.pat].index(atom.name)
    match stm.exp:
        case Copy() | Replicate() | Scratch() | Iota() | Concat() | ArrayLit() | Screma():
            return True
        case Copied(source):
            return is_own(source, made, own)
        case Update(source):
            return is_own(Var(source), made, own)
        case Scatter(dests=dests) | Hist(dests=dests):
            return is_own(Var(dests[k]), made, own)
        case If(_, then, orelse):
            return all(is_own(body.result[k], {**made, **_made_in(body)}, own) for body in (then, orelse))
        case Loop(params, inits, _, body):
            carried = own | {params[k].name}
            return is_own(inits[k], made, own) and is_own(body.result[k], {**made, **_made_in(body)}, carried)
        case _:
            return False


def _made_in(body: Body) -> dict[Name, Stm]:
    return {p.name: stm for stm in body.stms for p in stm.pat}
