"""Writing what a command makes: a file, or those of a directory, all of them or an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .data.files import write_file
from .ir.errors import Diagnostic, SoacError


def write_out(path: Path, content: bytes) -> None:
    """A file, whole or not at all; raises `SoacError` S0201 where that is not possible."""
    with _faults_of(path):
        write_file(path, content)


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Files of a directory, which is made; raises `SoacError` S0201 where that is not possible."""
    with _faults_of(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_file(folder / name, content)


@contextmanager
def _faults_of(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise SoacError(Diagnostic("S0201", f"cannot write to `{path}`: {fault.strerror or fault}")) from None
