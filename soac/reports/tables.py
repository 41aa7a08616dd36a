"""Tables of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def table(rows: Sequence[Sequence[str]], pad: str = "    ", sides: str = "<") -> Iterator[str]:
    """The lines of a table. `sides`: `<` for a column to the left, `>` for one to the right, as are all that follow."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        columns = zip(row, sides.ljust(len(row), ">"), widths, strict=True)
        yield (pad + "  ".join(f"{cell:{side}{width}}" for cell, side, width in columns)).rstrip()
