"""Arguments in the form that machine code takes. Every message about them is the business of `ir/entry.py`."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....ir.core import FunDef
from ....ir.entry import Argument, bind_sizes
from ....ir.floats import bits_of
from ....ir.scalar import DTYPES
from ....ir.types import Prim


def exactly(fun: FunDef, args: Sequence[Argument]) -> list[Argument]:
    """The arguments in the form that machine code takes; raises what `bind_sizes` raises."""
    bind_sizes(fun, args)
    types = (param.type for param in fun.params[-len(args) :])
    return [
        np.require(np.asarray(arg), DTYPES[t.prim], ("C", "A")) if t.shape else DTYPES[t.prim].type(arg)
        for arg, t in zip(args, types)
    ]


def in_order(arg: Any) -> Any:
    """A copy of an array whose elements are not side by side in order; anything else as it is."""
    return np.ascontiguousarray(arg) if type(arg) is np.ndarray and arg.ndim else arg


def word_of(prim: Prim) -> Callable[[Any], int]:
    """How a scalar becomes the 64-bit word that holds it in its low bytes."""
    match prim:
        case Prim.F64:
            return lambda value: struct.unpack("<q", struct.pack("<d", value))[0]
        case Prim.F32:
            return lambda value: struct.unpack("<i", struct.pack("<f", value))[0]
        case Prim.F16 | Prim.BF16:
            return bits_of(prim)
        case Prim.U64:
            return lambda value: int(value) - (1 << 64) if value >= 1 << 63 else int(value)
        case _:
            return int
