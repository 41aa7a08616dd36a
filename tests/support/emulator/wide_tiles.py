"""Register tiles of each size: forced, with arguments so wide that there are whole tiles and pieces of others.

Small cases have no tile that is whole, and a default number of blocks that a machine shall have; so a tile of R x R
results of a thread is asked for by the sizes `registers` and `blocks`, and n of `[n]` rows along a tiled dimension is

    n = 16 R + 4 or 16 R + 8        a whole tile of 16 R rows, and a piece; rows are whole accesses of 16 bytes
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from soac.flatten.tiling.choose import GRID, REGISTERS, tileable, tiled_with
from soac.ir.core import Body, FunDef, Prog
from soac.ir.traverse import bodies
from soac.ir.types import Name, Var
from soac.ir.version_tree import Size, sizes_of

NARROW = 3
"""What a size becomes along which nothing is tiled."""
WHOLE = 4
"""Elements of an access: how much the sizes of tiled dimensions are more than whole tiles, and their differences."""


@dataclass(frozen=True, slots=True)
class Wide:
    """Sizes of an entry's arguments, sides of guards and settings with which kernels of R x R results run."""

    entry: str
    each: int
    lengths: Mapping[Name, int]
    forced: Mapping[str, bool]
    settings: Mapping[str, int]


def wide_runs(flat: Prog) -> Iterator[Wide]:
    """For every entry with register tiles, each R that there is code for, and each version with such tiles."""
    for fun in flat.functions:
        if fun.entry is None:
            continue
        sizes = sizes_of(flat, fun.entry.name)
        paths = dict.fromkeys(size.path for size in sizes if is_registers(size))
        tiles = list(tiles_in(fun.body))
        for each in sorted({each for each, _ in tiles} - {1}, reverse=True):
            wide = {width for one, widths in tiles if one == each for width in widths}
            lengths = lengths_of(fun, wide, each)
            for path in paths if lengths else ():
                yield Wide(fun.entry.name, each, lengths, dict(path), tile_settings(sizes, each))


def tiles_in(body: Body) -> Iterator[tuple[int, frozenset[Name]]]:
    """R of the tiles of a body, and the sizes along which they lie."""
    for stm in body.stms:
        each, found = tiled_with(stm), tileable(stm)
        if each is not None and found is not None:
            yield each, frozenset(width.name for _, width in found.tiled if isinstance(width, Var))
        for inner in bodies(stm.exp):
            yield from tiles_in(inner)


def lengths_of(fun: FunDef, wide: set[Name], each: int) -> dict[Name, int]:
    """The sizes of a function's arguments; none if no tile is along one of them."""
    sizes = dict.fromkeys(a.name for p in fun.params for a in p.type.shape if isinstance(a, Var))
    along = [name for name in sizes if name in wide]
    lengths = {name: GRID * each + WHOLE * (k + 1) for k, name in enumerate(along)}
    return {name: lengths.get(name, NARROW) for name in sizes} if along else {}


def tile_settings(sizes: tuple[Size, ...], each: int) -> dict[str, int]:
    """R x R results of a thread, however few blocks there are."""
    return {s.name: each if is_registers(s) else 1 for s in sizes if is_registers(s) or _last(s).startswith("blocks_")}


def is_registers(size: Size) -> bool:
    return _last(size).startswith("registers_")


def other_size(size: Size, step: int) -> int:
    """The `step`-th value to run with in the place of the default: each R, however few blocks; smaller tiles."""
    if is_registers(size):
        return REGISTERS[min(step, len(REGISTERS) - 1)]
    return 1 if re.match(r"blocks_\d", _last(size)) else max(1, size.default >> step)


def _last(size: Size) -> str:
    return size.name.rpartition(".")[2]
