"""Arrays of one body that cannot share memory, since one of them lies in memory that a statement of the body took.

Classes (`classes.py`) join what may share memory at any time, in any iteration: what a loop carries and what its body
gives. Within one execution of a body memory that is taken there is none that was there before.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...ir.core import (
    ArrayLit,
    Concat,
    Copied,
    Copy,
    Hist,
    Index,
    Iota,
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
from ...ir.types import Name, Var


def are_apart(x: Name, y: Name, made: Mapping[Name, Stm]) -> bool:
    """Whether two arrays surely share no memory. `made`: the statements of the body, by the names that they bind."""
    (one, is_fresh), (other, also_fresh) = origin_of(x, made), origin_of(y, made)
    return one is not None and other is not None and one != other and (is_fresh or also_fresh)


def origin_of(name: Name, made: Mapping[Name, Stm]) -> tuple[Name | None, bool]:
    """The array in whose memory an array lies, None where that is not known; did the body itself take the memory?"""
    while (stm := made.get(name)) is not None:
        match stm.exp:
            case Copy() | Replicate() | Scratch() | Iota() | Concat() | ArrayLit() | Screma():
                return name, True
            case Copied(Var(source)) | Index(source) | Rearrange(_, source) | Reshape(_, source) | Update(source):
                name = source
            case Scatter(dests=dests) | Hist(dests=dests) | SegScatter(dests=dests):
                name = dests[[p.name for p in stm.pat].index(name)]
            case _:
                return None, False
    return name, False
