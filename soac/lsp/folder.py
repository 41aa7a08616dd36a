"""The programs of a folder: which files import which, and what is known of the programs that have given files."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from ..ir.errors import SoacError
from ..ir.reachable import reachable
from ..source import read_source
from .analysis import Analysis, analyse

SUFFIXES = (".soac", ".fut")
MOST_FILES = 2000
_IMPORT = re.compile(r'\bimport\s*"([^"\n]+)"')


@dataclass(frozen=True)
class Folder:
    """Texts of files by their absolute paths; those that are open as the editor has them."""

    texts: Mapping[Path, str]

    @cached_property
    def imports(self) -> dict[Path, set[Path]]:
        """For each file those that it seems to import: what a comment names is among them."""
        return {file: {found for path in _IMPORT.findall(text) for found in self._named(file, path)}
                for file, text in self.texts.items()}  # fmt: skip

    def _named(self, importer: Path, path: str) -> Iterator[Path]:
        for suffix in SUFFIXES:
            file = Path(os.path.normpath(importer.parent / f"{path}{suffix}"))
            if file in self.texts:
                yield file

    def reached(self, file: Path) -> set[Path]:
        """The file with all that it imports, through others too."""
        return set(reachable([file], lambda one: self.imports.get(one, ())))

    def programs(self, files: Collection[Path]) -> tuple[list[Analysis], list[Path]]:
        """What is known of the programs that have one of `files`, and the files that have or import one but are part of
        no program that can be read."""
        reached = {file: self.reached(file) for file in self.texts}
        wanted = {file for file, parts in reached.items() if not parts.isdisjoint(files)}
        programs, covered = list[Analysis](), set[Path]()
        for file in sorted(wanted, key=lambda file: (-len(reached[file]), file)):
            if file not in covered:
                _, found = analyse(self.texts[file], str(file), self.texts)
                programs += [found] if found is not None else []
                covered |= {Path(module.file).resolve() for module in found.modules[1:]} if found is not None else set()
        return programs, sorted(wanted - covered)


def folder_at(roots: Iterable[Path], opened: Mapping[Path, str]) -> Folder:
    """The programs below some folders, and those that are open."""
    stored = islice((found for root in roots for found in _stored(root)), MOST_FILES)
    return Folder({**dict(stored), **opened})


def _stored(root: Path) -> Iterator[tuple[Path, str]]:
    for folder, inside, names in os.walk(root.resolve()):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        for path in (Path(folder, name) for name in sorted(names) if name.endswith(SUFFIXES)):
            try:
                yield path, read_source(path)
            except (OSError, SoacError):
                continue
