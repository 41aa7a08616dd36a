"""Sizes that a back end leaves open: what they are called, their defaults, and what a machine can take.

    main.block_size                     of launches that no guard leads to
    main.ys.block_size_outer_0          of those where the guard `main.ys.suff_outer_0` is taken
    main.ys.block_size_below_outer_0    of those where it is refused

A launch names the sizes that it has (`Launch.sizes`); the others are size parameters of the host program. A version has
the sizes that it uses and no other, and those of a guard's side are one for all launches there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum

from ...ir.core import SizeParam
from ...ir.machine import BLOCK, WARP
from ...ir.thresholds import Threshold
from ...ir.types import Name, Var
from ...ir.version_tree import Size, compared_by
from .nodes import HostBody, HostFun, HostIf, HostLoop, Launch

Side = tuple[str, bool]
"""A threshold and whether its guard is taken."""

TASKS = 8
"""Ranges of blocks for each worker of a CPU, unless a launch says otherwise."""


class Kind(Enum):
    """`block_size`: threads of a block of a GPU; `factor`: blocks of a kernel that one block of the grid does one after
    the other, so that a thread has that factor of elements; `num_blocks`: over how many blocks a long reduction is
    spread at most; `tasks`: into how many tasks the blocks of a launch are cut for each core; `chunk`: elements of a
    chunk of a long reduction or scan; `graph_turns`: turns of a loop of the host that are one graph of a GPU, 1: its
    launches come one by one; `mapping`: of segops of a GPU with a rival mapping, 1: that of fewest bytes, 2: the
    rival."""

    BLOCK_SIZE = "block_size"
    FACTOR = "factor"
    NUM_BLOCKS = "num_blocks"
    TASKS = "tasks"
    CHUNK = "chunk"
    GRAPH_TURNS = "graph_turns"
    MAPPING = "mapping"


DEFAULTS: Mapping[Kind, int] = {
    Kind.BLOCK_SIZE: BLOCK.threads,
    Kind.FACTOR: 1,
    Kind.NUM_BLOCKS: 2048,
    Kind.TASKS: TASKS,
    Kind.CHUNK: 1 << 16,
    Kind.GRAPH_TURNS: 1,
    Kind.MAPPING: 1,
}

VALUES: Mapping[Kind, tuple[int, ...]] = {
    Kind.BLOCK_SIZE: (64, 128, 256, 512, 1024),
    Kind.FACTOR: (1, 2, 4, 8),
    Kind.NUM_BLOCKS: (512, 2048, 8192),
    Kind.TASKS: (2, 8, 32),
    Kind.CHUNK: (1 << 14, 1 << 16, 1 << 18),
    Kind.GRAPH_TURNS: (1, 4, 12),
    Kind.MAPPING: (1, 2),
}
"""What is worth trying."""


def size_param(entry: str, side: Side | None, kind: Kind) -> SizeParam:
    """The size of a kind at the side of a guard, or outside of guards."""
    return SizeParam(_name(entry, side, kind), DEFAULTS[kind])


def _name(entry: str, side: Side | None, kind: Kind) -> str:
    if side is None:
        return f"{entry}.{kind.value}"
    threshold, taken = side
    guard = Threshold.of(threshold)
    way = "" if taken else "below_"
    return str(replace(guard, kind=f"{kind.value}_{way}{guard.kind.removeprefix('suff_')}"))


def size_kind(name: str) -> Kind | None:
    """What a setting of such a name is; None if it is none of these."""
    last = Threshold.of(name).kind
    return next((kind for kind in Kind if last == kind.value or last.startswith(f"{kind.value}_")), None)


def fitting(name: str, value: int) -> int:
    """The value nearest to `value` that a machine takes; 0 is the default."""
    if size_kind(name) is not Kind.BLOCK_SIZE or value == 0:
        return value
    return fitting_block(value)


def fitting_block(threads: int) -> int:
    """Whole warps, at least one, at most what a block of any GPU may have."""
    return max(WARP.threads, min(BLOCK.most, threads // WARP.threads * WARP.threads))


# ---- those of a host program ---------------------------------------------------------------------------------------


def launch_sizes(fun: HostFun) -> tuple[Size, ...]:
    """The sizes of a host function and of those that it calls, with the sides of guards that lead to them, each once,
    and size parameters that were there before."""
    return tuple({size.name: size for body in fun.bodies for size in sizes_in(body, {}, ())}.values())


def sizes_in(body: HostBody, compared: Mapping[Name, tuple[str, ...]], path: tuple[Side, ...]) -> Iterator[Size]:
    """`compared`: the thresholds behind the conditions that are guards or conjunctions of them."""
    known = dict(compared)
    for stm in body.stms:
        match stm.exp:
            case SizeParam(name, default):
                yield Size(name, default, path)
            case Launch():
                yield from (Size(size.name, size.default, path) for size in stm.exp.sizes)
            case HostIf(Var(cond), then, orelse) if cond in known:
                yield from sizes_in(then, known, (*path, *((t, True) for t in known[cond])))
                yield from sizes_in(orelse, known, (*path, *((t, False) for t in known[cond])))
            case HostIf(_, then, orelse):
                yield from sizes_in(then, known, path)
                yield from sizes_in(orelse, known, path)
            case HostLoop(_, _, _, inner, sizes):
                yield from (Size(size.name, size.default, path) for size in sizes)
                yield from sizes_in(inner, known, path)
            case _:
                known |= compared_by(stm.pat, stm.exp, known)
