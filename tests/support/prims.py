"""The scalar types of which there are arrays: bf16 only where ml_dtypes is installed."""

from __future__ import annotations

from importlib.util import find_spec

from soac.ir.types import Prim

PRIMS = tuple(prim for prim in Prim if prim is not Prim.BF16 or find_spec("ml_dtypes") is not None)
