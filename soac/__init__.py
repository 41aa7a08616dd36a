"""`soac`: a functional array compiler with incremental flattening.

    prog = soac.load("matmul.soac")     or     prog = soac.compile(text)
    zss = prog.main(xss, yss)           NumPy arrays in, NumPy arrays out

    @soac.function                      a function whose documentation is a program
    soac.vmap(prog.main)                an entry point over a leading dimension of its arguments
    soac.vjp(prog, "loss")              the derivative of an entry point; for PyTorch: soac.torch_function
    soac.autotune(prog, data)           the program with the best settings for some data
    soac.install_importer()             then `import matmul` finds matmul.soac
    %load_ext soac                      then `%%soac` begins a cell of a notebook

Start reading at `soac/pipeline.py`, which lists all passes in order. The compiler is loaded on first use.
"""

from __future__ import annotations

import importlib
import sys

from .platforms import refused_here
from .version import __version__

TYPE_CHECKING = False  # as in `typing`, which is slow to load: until `__main__` begins, Ctrl-C shows a traceback
if TYPE_CHECKING:
    from typing import Any

    from .api import Program, compile, load
    from .autotune.tuning import SettingError
    from .cluster.api import Cluster
    from .cluster.arrays import DistributedArray
    from .decorator import function, vmap
    from .derivatives import jvp, vjp
    from .frameworks import jax_function, torch_function
    from .importer import install_importer
    from .ir.errors import CompileError, DataError, IRError, RunError, SoacError, SystemFault, TuningError
    from .notebook import load_ipython_extension
    from .python.entry import Entry
    from .sweep import map
    from .tuning.from_python import autotune

__all__ = [
    "Cluster",
    "CompileError",
    "DataError",
    "DistributedArray",
    "Entry",
    "IRError",
    "Program",
    "RunError",
    "SettingError",
    "SoacError",
    "SystemFault",
    "TuningError",
    "__version__",
    "autotune",
    "compile",
    "function",
    "install_importer",
    "jax_function",
    "jvp",
    "load",
    "load_ipython_extension",
    "map",
    "torch_function",
    "vjp",
    "vmap",
]

_ERRORS = ".ir.errors"
_HOMES = {
    ".api": ("Program", "compile", "load"),
    ".autotune": ("autotune",),
    ".autotune.tuning": ("SettingError",),
    ".cluster.api": ("Cluster",),
    ".cluster.arrays": ("DistributedArray",),
    ".decorator": ("function", "vmap"),
    ".derivatives": ("jvp", "vjp"),
    ".frameworks": ("jax_function", "torch_function"),
    ".importer": ("install_importer",),
    _ERRORS: ("CompileError", "DataError", "IRError", "RunError", "SoacError", "SystemFault", "TuningError"),
    ".notebook": ("load_ipython_extension",),
    ".python.entry": ("Entry",),
    ".sweep": ("map",),
}


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module `soac` has no attribute `{name}`", name=name, obj=sys.modules[__name__])
    if home != _ERRORS and (why := refused_here()) is not None:
        errors = importlib.import_module(_ERRORS, __name__)
        raise errors.SystemFault(errors.Diagnostic("S0101", why, errors.Label(errors.NOWHERE, "")))
    module = importlib.import_module(home, __name__)
    return module if home == f".{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
