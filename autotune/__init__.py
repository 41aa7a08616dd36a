"""Thresholds and sizes for a machine and a workload: timed runs in a study, the exact choice, tuning files.

In: the guards of an entry and what runs it on data sets. Out: `prog.soac.tuning`. Holds: values are integers from 0
to 2^63-1; the next step of a search follows from the finished trials of its study alone.

Called, as `soac.autotune(prog, data)`, it is `soac/tuning/from_python.py`: a package has the name of the function.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class _Function(ModuleType):
    """A package that is called like the function of its name."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        return importlib.import_module("..tuning.from_python", __name__).autotune(*args, **named)


sys.modules[__name__].__class__ = _Function
