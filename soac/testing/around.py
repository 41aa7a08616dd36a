"""Inputs with sizes around those of tiles, made from the input of a case: for `soac test --sync --machine`.

For a tile t the sizes 0, 1, t - 1, t, t + 1 and 3t + 2 are the ones at which loops over tiles go wrong: each size
variable of an entry takes them while the others are small, and all take them together where that is little work. The
values are those of the case, again from the start where an array grows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from ..arguments import Argument, parameter_types
from ..ir.core import FunDef, Level, Prog, SegMap, SizeParam
from ..ir.thresholds import Threshold
from ..ir.traverse import all_exps
from ..ir.types import Atom, Const, Name, Var

SMALL = 3  # of the sizes that are not varied
MOST = 4096  # points of the nest of all size variables, if they are varied together
MOST_ELEMENTS = 1 << 20  # of an input: what is larger is not made, no step would be done with it in time
BYTES = "shared"  # the kind of sizes that are of memory, and no number of elements
TRACED_BLOCK = 64  # threads of a block that the tracer simulates


def tiles_of(prog: Prog, entry: str) -> tuple[int, ...]:
    """The tiles of a flat program's entry, those that are set by default and those of blocks that are as wide
    whatever the sizes, and the threads of a block."""
    found = {TRACED_BLOCK}
    for fun in prog.functions:
        if fun.entry is not None and fun.entry.name == entry:
            exps = list(all_exps(fun.body))
            sizes = (exp for exp in exps if isinstance(exp, SizeParam))
            found |= {size.default for size in sizes if Threshold.of(size.name).kind != BYTES}
            blocks = (exp for exp in exps if isinstance(exp, SegMap) and exp.level is Level.BLOCK)
            found |= {width for block in blocks for width in _constant_widths(block)}
    return tuple(sorted(size for size in found if size > 1))


def _constant_widths(block: SegMap) -> Iterator[int]:
    for exp in all_exps(block.body):
        if isinstance(exp, SegMap):
            yield from (int(width.value) for width in exp.space.widths if isinstance(width, Const))


def around(fun: FunDef, args: Sequence[Argument], tiles: Sequence[int]) -> Iterator[tuple[str, list[Argument]]]:
    """Inputs like `args` with sizes around `tiles`, and what they are called."""
    shapes = [type.shape for type in parameter_types(fun)]
    for sizes in sizes_around(fun, tiles):
        if sum(prod(_size(dim, sizes) for dim in shape) for shape in shapes) <= MOST_ELEMENTS:
            yield in_words(sizes), _sized(fun, args, sizes)


def sizes_around(fun: FunDef, tiles: Sequence[int]) -> Iterator[dict[Name, int]]:
    """What the size variables of a function are set to for `tiles`."""
    variables = _variables(fun)
    interesting = sorted({size for tile in tiles for size in (0, 1, tile - 1, tile, tile + 1, 3 * tile + 2)})
    for size in interesting if variables else ():
        for varied in variables:
            yield {name: size if name == varied else SMALL for name in variables}
        if len(variables) > 1 and size ** len(variables) <= MOST:
            yield dict.fromkeys(variables, size)


def in_words(sizes: Mapping[Name, int]) -> str:
    """What an input of these sizes is called."""
    return ", ".join(f"{name.base} = {size}" for name, size in sizes.items())


def _variables(fun: FunDef) -> tuple[Name, ...]:
    sizes = [size.name for type in parameter_types(fun) for size in type.shape if isinstance(size, Var)]
    return tuple(dict.fromkeys(sizes))


def _sized(fun: FunDef, args: Sequence[Argument], sizes: Mapping[Name, int]) -> list[Argument]:
    types = parameter_types(fun)
    params = fun.params[len(fun.params) - len(types) :]
    made: list[Argument] = []
    for param, type, arg in zip(params, types, args, strict=True):
        if param.name in sizes:
            made.append(arg.dtype.type(sizes[param.name]))
        elif type.shape:
            made.append(np.resize(np.asarray(arg), [_size(dim, sizes) for dim in type.shape]))
        else:
            made.append(arg)
    return made


def _size(dim: Atom, sizes: Mapping[Name, int]) -> int:
    match dim:
        case Const(_, value):
            return int(value)
        case Var(name):
            return sizes[name]
