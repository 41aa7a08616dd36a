"""`import matmul` for matmul.soac: a finder for programs on the path of modules, beside those of Python.

The names of such a module are the entry points of the program, and the classes of its records and sums; `program` is
the program itself. `soac stubs` writes what type checkers need of it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType


class Programs(MetaPathFinder):
    """Finds NAME.soac in the folders where NAME.py would be."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = fullname.rpartition(".")[2]
        for folder in sys.path if path is None else path:
            file = Path(folder or ".") / f"{name}.soac"
            if file.is_file():
                return spec_from_file_location(fullname, file, loader=ProgramLoader())
        return None


class ProgramLoader(Loader):
    """Fills a module from a program."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        from .api import load

        assert module.__spec__ is not None
        assert module.__spec__.origin is not None
        program = load(module.__spec__.origin)
        names = {**vars(program.types), **{name: program[name] for name in program.entries}, "program": program}
        vars(module).update(names)
        module.__all__ = list(names)  # type: ignore[attr-defined]


def install_importer() -> None:
    """From now on `import NAME` finds NAME.soac, where there is no module of Python of that name."""
    if not any(isinstance(finder, Programs) for finder in sys.meta_path):
        sys.meta_path.append(Programs())
