"""The scalar types of which there are arrays: bf16 only where ml_dtypes is installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from soac.ir.types import Prim

PRIMS = tuple(prim for prim in Prim if prim is not Prim.BF16 or find_spec("ml_dtypes") is not None)

NARROW = (Prim.I8, Prim.U16)
"""What machines have no registers of: a type with a sign and one without."""
EACH = [pytest.param(p, id=p.value, marks=[pytest.mark.whole] * (p in NARROW)) for p in PRIMS]
"""A case for each type, of which the narrow ones stay in every full run."""
