"""`soac`: a functional array compiler with incremental flattening.

    prog = soac.load("matmul.soac")     or     prog = soac.compile(text)
    zss = prog.main(xss, yss)           NumPy arrays in, NumPy arrays out

Start reading at `soac/pipeline.py`, which lists all passes in order. The compiler is loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import Program, compile, load
    from .cluster.api import Cluster
    from .cluster.arrays import DistributedArray
    from .ir.errors import SoacError

__version__ = "0.1.0"
__all__ = ["Cluster", "DistributedArray", "Program", "SoacError", "__version__", "compile", "load"]

_HOMES = {
    "Cluster": ".cluster.api",
    "DistributedArray": ".cluster.arrays",
    "Program": ".api",
    "compile": ".api",
    "load": ".api",
    "SoacError": ".ir.errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `soac` has no attribute `{name}`")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)
