"""Arguments of an entry point as words: what its host function finds in its state.

A size or a scalar is a word; an array is the address of its elements, then its sizes. Machine code compares arrays
and scalars with a plan that was made beforehand (`native.py`); every message is the business of `ir/entry.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....ir.core import FunDef
from ....ir.entry import Argument, bind_sizes
from ....ir.scalar import DTYPES
from ....ir.types import Const, Prim, Var


@dataclass(frozen=True, slots=True)
class Plan:
    """What the arguments of an entry are checked against.

    kinds : for each argument the type of elements, and its rank
    sizes : for each size parameter the word that gives it (among those of the arguments)
    equal : words that must be the same;  fixed: words whose value the type says
    """

    fun: FunDef
    kinds: tuple[tuple[Prim, int], ...]
    sizes: tuple[int, ...]
    equal: tuple[tuple[int, int], ...]
    fixed: tuple[tuple[int, int], ...]


def plan_of(fun: FunDef) -> Plan | None:
    """The plan for an entry; None where a size follows from no argument."""
    assert fun.entry is not None
    params = fun.params[fun.entry.sizes :]
    kinds = tuple((p.type.prim, p.type.rank) for p in params)
    starts = [sum(1 + p.type.rank for p in params[:k]) for k in range(len(params))]
    known = {p.name: s for p, s in zip(params, starts, strict=True) if not p.type.shape and p.type.prim.is_int}
    equal: list[tuple[int, int]] = []
    fixed: list[tuple[int, int]] = []
    for param, start in zip(params, starts, strict=True):
        for k, size in enumerate(param.type.shape, start=start + 1):
            match size:
                case Const(_, value):
                    fixed.append((k, int(value)))
                case Var(name):
                    equal.append((known.setdefault(name, k), k))
    sizes = tuple(known.get(p.name, -1) for p in fun.params[: fun.entry.sizes])
    if -1 in sizes:
        return None
    return Plan(fun, kinds, sizes, tuple((a, b) for a, b in equal if a != b), tuple(fixed))


def exactly(plan: Plan, args: Sequence[Argument]) -> list[Argument]:
    """The arguments in the form that suits; raises what `bind_sizes` raises."""
    bind_sizes(plan.fun, args)
    return [
        np.require(np.asarray(arg), DTYPES[prim], ("C", "A")) if rank else DTYPES[prim].type(arg)
        for arg, (prim, rank) in zip(args, plan.kinds, strict=True)
    ]


def word_of(prim: Prim) -> Callable[[Any], int]:
    """How a scalar becomes the 64-bit word that holds it in its low bytes."""
    match prim:
        case Prim.F64:
            return lambda value: struct.unpack("<q", struct.pack("<d", value))[0]
        case Prim.F32:
            return lambda value: struct.unpack("<i", struct.pack("<f", value))[0]
        case Prim.F16:
            return lambda value: struct.unpack("<h", struct.pack("<e", value))[0]
        case Prim.U64:
            return lambda value: int(value) - (1 << 64) if value >= 1 << 63 else int(value)
        case _:
            return int
