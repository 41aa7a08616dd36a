"""Failure records: the first word names the site, the others are values, each of the type that the site says."""

from __future__ import annotations

import math
import struct

import numpy as np

from soac.ir.core import Level
from soac.ir.errors import NOWHERE
from soac.ir.types import Prim
from soac.kernels.devices.failures import failure
from soac.kernels.kernel_ir.nodes import FailureSite, Kernel, KVar

BITS = struct.unpack("<q", struct.pack("<d", 0.1))[0]
NAN = struct.unpack("<q", struct.pack("<d", math.nan))[0]
VALUES = (
    (Prim.I64, -1, -1), (Prim.U64, -1, 2**64 - 1), (Prim.I8, -128, -128), (Prim.U8, 255, 255), (Prim.BOOL, 1, True),
    (Prim.F64, BITS, 0.1), (Prim.F32, BITS, float(np.float32(0.1))), (Prim.F32, NAN, math.nan),
)  # fmt: skip
"""Type, word of the record, value."""
SITES = (
    FailureSite("R0201", NOWHERE, ("an index",)),
    FailureSite("R0203", NOWHERE, tuple(part for prim, _, _ in VALUES for part in ("and", prim))),
)
KERNEL = Kernel("k", KVar("block", Prim.I64), (), (), (), SITES, Level.BLOCK)


def test_values_are_those_of_the_site() -> None:
    found = failure(KERNEL, [2, *(word for _, word, _ in VALUES), 7])
    assert found.site == SITES[1]
    assert repr(found.values) == repr(tuple(value for _, _, value in VALUES))


def test_a_record_without_a_site_is_one_of_memory() -> None:
    for number in (3, -1):
        assert failure(KERNEL, [number, 1, 2]).site.code == "R0301"
