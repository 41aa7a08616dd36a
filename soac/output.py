"""Writing what a command makes: files of a directory, all of them or an error."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .data.files import write_file
from .ir.errors import NOWHERE, Diagnostic, Label, SoacError


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Files of a directory, which is made; raises `SoacError` S0201 where that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_file(folder / name, content)
    except OSError as fault:
        text = f"cannot write to `{folder}`: {fault.strerror}"
        raise SoacError(Diagnostic("S0201", text, Label(NOWHERE, ""))) from None
