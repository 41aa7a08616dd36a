"""Which file of a program sees which: an import by its place, and the library, which every file sees."""

from __future__ import annotations

from collections.abc import Sequence

from .declarations import Module

Imports = dict[tuple[str, str], str]
"""The file that a path means, by the importing file and the path."""


def imports_of(modules: Sequence[Module]) -> Imports:
    return {(module.file, path): file for module in modules for path, file in module.imports}


def library_of(modules: Sequence[Module]) -> set[str]:
    """The files that none imports and that are not the program's root, which comes last."""
    imported = set(imports_of(modules).values())
    return {module.file for module in modules[:-1] if module.file not in imported}
