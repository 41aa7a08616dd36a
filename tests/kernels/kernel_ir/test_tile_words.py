"""What tiles post: values of every type come back, with their status, from words of 8 or 16 bytes."""

from __future__ import annotations

import pytest

from soac.ir.types import Prim
from soac.kernels.kernel_ir.tile_words import elements, packed, unpacked


@pytest.mark.parametrize("prim", Prim)
def test_values_come_back(prim: Prim) -> None:
    prims = (prim, Prim.F64, prim)
    values = [True, -2.75, False] if prim is Prim.BOOL else [3, -2.75, 1]
    words = packed(2, values, prims)
    assert len(words) == elements(prims)
    assert unpacked(words, prims) == (2, values)
