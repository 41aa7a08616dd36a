"""Arguments of an entry point as words: what its host function finds in its state.

A size or a scalar is a word; an array is the address of its elements, then its sizes. Arrays and scalars of exactly
the types of the entry are compared with a plan that was made beforehand; everything else, and every message, is the
business of `ir/entry.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....ir.core import FunDef
from ....ir.entry import Argument, bind_sizes
from ....ir.errors import IRError
from ....ir.scalar import DTYPES
from ....ir.types import Const, Prim, Var
from ..host_memory import address


@dataclass(frozen=True, slots=True)
class Plan:
    """What the arguments of an entry are checked against.

    kinds : for each argument the type, and its rank or how a scalar becomes a word
    sizes : for each size parameter the word that gives it (among those of the arguments)
    equal : words that must be the same;  fixed: words whose value the type says
    """

    fun: FunDef
    kinds: tuple[tuple[np.dtype, int, Callable[[Any], int]], ...]
    sizes: tuple[int, ...]
    equal: tuple[tuple[int, int], ...]
    fixed: tuple[tuple[int, int], ...]


def plan_of(fun: FunDef) -> Plan | None:
    """The plan for an entry; None where a size follows from no argument."""
    assert fun.entry is not None
    params = fun.params[fun.entry.sizes :]
    kinds = tuple((DTYPES[p.type.prim], p.type.rank, word_of(p.type.prim)) for p in params)
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


def suits(plan: Plan, args: Sequence[Any]) -> bool:
    """Are these arguments arrays and scalars as a call needs them, sizes aside?"""
    if len(args) != len(plan.kinds):
        return False
    for arg, (dtype, rank, _) in zip(args, plan.kinds):
        if rank:
            if type(arg) is not np.ndarray or arg.dtype != dtype or arg.ndim != rank or not arg.flags.c_contiguous:
                return False
        elif type(arg) is not dtype.type:
            return False
    return True


def words_of(plan: Plan, args: Sequence[Argument]) -> list[int] | None:
    """Sizes and arguments as words; None if the sizes do not fit each other. `args` suit the plan."""
    words: list[int] = []
    for arg, (_, rank, word) in zip(args, plan.kinds):
        if rank:
            words.append(address(arg))  # type: ignore[arg-type]
            words += arg.shape
        else:
            words.append(word(arg))
    for a, b in plan.equal:
        if words[a] != words[b]:
            return None
    for a, n in plan.fixed:
        if words[a] != n:
            return None
    return [words[k] for k in plan.sizes] + words


def exactly(plan: Plan, args: Sequence[Argument]) -> list[Argument]:
    """The arguments in the form that suits; raises what `bind_sizes` raises."""
    bind_sizes(plan.fun, args)
    return [
        np.ascontiguousarray(np.asarray(arg), dtype) if rank else dtype.type(arg)
        for arg, (dtype, rank, _) in zip(args, plan.kinds, strict=True)
    ]


def checked_words(plan: Plan, args: Sequence[Argument]) -> list[int]:
    """The words of arguments that suit; raises what `bind_sizes` raises."""
    words = words_of(plan, args)
    if words is None:
        bind_sizes(plan.fun, args)
        raise IRError("sizes that do not fit were accepted")
    return words


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
