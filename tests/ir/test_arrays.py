"""Arrays of the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from soac.ir.arrays import scratch, settled
from soac.ir.scalar import DTYPES
from soac.ir.types import Prim
from tests.support.prims import PRIMS


@pytest.mark.parametrize("prim", PRIMS)
def test_what_may_not_be_read_is_unlikely(prim: Prim) -> None:
    xs = scratch((2, 3), prim)
    assert (xs.shape, xs.dtype) == ((2, 3), DTYPES[prim])
    assert np.isnan(xs.astype(np.float64)).all() if prim.is_float else xs.all()


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (3, -2), (-1, 4)])
def test_no_size_of_a_value_is_negative(shape: tuple[int, ...]) -> None:
    assert settled(shape) == tuple(max(n, 0) for n in shape)
