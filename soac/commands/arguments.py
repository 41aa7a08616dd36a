"""Arguments of an entry point, from the texts and files of the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ..arguments import checked, parameter_types
from ..data.files import read_file, read_stream
from ..data.read_write import ValueType, default_limit, read_values
from ..ir.core import FunDef
from ..ir.entry import Argument
from ..terminal import is_live

DATA_SUFFIXES = frozenset({".in", ".out", ".dat", ".data", ".bin", ".txt", ".npy", ".npz", ".gz"})
"""An argument that ends so is the name of a file, also where there is none."""


def gather(fun: FunDef, items: Sequence[str], limit: int | None = None) -> list[Argument]:
    """The arguments that `items` give: each is a file (text, binary or .npy) or a text of values. Without items
    they are read from stdin, if the entry takes any. One item holds all values, or there is one for each. `limit`: the
    most bytes that a file may declare (D0112)."""
    assert fun.entry is not None
    types = [ValueType(t.prim, t.rank) for t in parameter_types(fun)]
    entry, most = fun.entry.name, default_limit() if limit is None else limit
    if not items and types:
        if is_live(sys.stdin):
            click.echo(
                f"soac: reads {len(types)} value{'s' * (len(types) > 1)} from the terminal; Ctrl-D ends", err=True
            )
        data = read_stream(sys.stdin.buffer, "<stdin>", most)
        return checked(fun, read_values(data, "<stdin>", types, limit=limit, entry=entry))
    contents = [_contents(item, position, most) for position, item in enumerate(items, start=1)]
    if len(items) == 1:
        return checked(fun, read_values(*contents[0], types, limit=limit, entry=entry))
    expected = [[t] for t in types] if len(items) == len(types) else [None] * len(items)
    values = [read_values(data, name, want, limit=limit, entry=entry) for (data, name), want in zip(contents, expected)]
    return checked(fun, [value for part in values for value in part])


def _contents(item: str, position: int, limit: int) -> tuple[bytes, str]:
    """The bytes of an argument, a file's or its own, and what messages call them; raises `click.BadParameter`."""
    path = Path(item)
    if not item or not _is_on_disk(path):
        if path.suffix in DATA_SUFFIXES:
            raise click.BadParameter(f"File '{item}' does not exist.", param_hint="'DATA'")
        return item.encode(errors="surrogateescape"), f"<argument {position}>"
    try:
        return read_file(path, limit), item
    except OSError as fault:
        raise click.BadParameter(f"Cannot read '{item}': {fault.strerror}.", param_hint="'DATA'") from None


def _is_on_disk(path: Path) -> bool:
    """Whether a file, a pipe or a directory has this name; a text of values may be too long for one, or hold a NUL."""
    try:
        return path.is_file() or path.is_fifo() or path.is_dir()
    except (OSError, ValueError):
        return False
