"""Failure records as exceptions: what code has written, as values of the types that its site names."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ...ir.errors import NOWHERE
from ...ir.scalar import DTYPES
from ...ir.types import Prim
from ..kernel_ir.nodes import FailureSite, Kernel
from .device import KernelFailure, Scalar

RECORD = 16
"""Words of the failure record of a kernel: site + 1, then values."""


def failure(kernel: Kernel, record: Sequence[int]) -> KernelFailure:
    """The exception for the failure record of a kernel."""
    number = record[0] - 1
    if number >= len(kernel.sites) or number < 0:
        return KernelFailure(FailureSite("R0301", NOWHERE, ("out of memory for arrays inside a kernel",)), ())
    site = kernel.sites[number]
    return KernelFailure(site, values_of(record, tuple(p for p in site.parts if isinstance(p, Prim))))


def values_of(record: Sequence[int], prims: tuple[Prim, ...]) -> tuple[Scalar, ...]:
    """The values of a record, which follow its first word."""
    return tuple(value_of(record[k], prim) for k, prim in enumerate(prims, start=1))


def value_of(word: int, prim: Prim) -> Scalar:
    """A value of a failure record (integers extended to 64 bits, floats as the bits of an f64)."""
    if prim is Prim.BOOL:
        return bool(word)
    if prim.is_float:
        return float(DTYPES[prim].type(struct.unpack("<d", struct.pack("<q", word))[0]))
    return word & ((1 << 64) - 1) if prim is Prim.U64 else word
