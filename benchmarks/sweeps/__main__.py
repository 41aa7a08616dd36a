"""`python -m benchmarks.sweeps [TYPE..] [--only NAME]`: operations of one line beside NumPy and Numba, one thread.

Rows, matrices and, of floats, cubes of several shapes. Prints the least processor times in microseconds, taken in
turns, and their ratio (above 1: soac is faster), the slowest last. Where `loops.py` has a loop, the better peer counts.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterator

import numpy as np

import soac
from soac.ir.scalar import DTYPES
from soac.ir.types import Prim

from ..classes.__main__ import least
from .operations import CUBE, FLOAT_MATRIX, FLOAT_ROW, INTEGER_ROW, MATRIX, ROW, Array, Operation

TYPES = ("u8", "i16", "i32", "f32", "i64", "f64")
ROWS = ((10_000,), (1_000_000,))
MATRICES = ((316, 316), (30_000, 100), (100, 30_000), (12_500, 8), (1_732, 1_732))
CUBES = ((30, 30, 30), (100, 100, 100), (3, 600, 600), (300, 300, 8), (2_000, 33, 17), (5, 7, 20_000), (40_000, 4, 4))


def operations_of(prim: Prim) -> tuple[dict[str, Operation], ...]:
    """Of a type, those on arrays of one, two and three dimensions."""
    if prim.is_float:
        return {**ROW, **FLOAT_ROW}, {**MATRIX, **FLOAT_MATRIX}, CUBE
    return {**ROW, **INTEGER_ROW}, MATRIX, {}


def cases(prim: Prim) -> Iterator[tuple[str, Operation, tuple[int, ...]]]:
    """Name, operation and shape of each case of a type."""
    for operations, shapes in zip(operations_of(prim), (ROWS, MATRICES, CUBES), strict=True):
        yield from ((name, operation, shape) for name, operation in operations.items() for shape in shapes)


def arguments(operation: Operation, shape: tuple[int, ...], prim: Prim) -> list[Array]:
    """Numbers from 0 to 99, and permutations."""
    rng = np.random.default_rng(1)
    more = {"r": shape[-1:], "c": shape[:1], "m": shape}
    args = [rng.integers(0, 100, shape).astype(DTYPES[prim])]
    for kind in operation.more:
        permutation = rng.permutation(shape[0]).astype(np.int32)
        args.append(permutation if kind == "p" else rng.integers(0, 100, more[kind]).astype(DTYPES[prim]))
    return args


def text_of(prim: Prim) -> str:
    """The program of all operations for a type."""
    entries = (f"entry {name} {one.text}" for ranked in operations_of(prim) for name, one in ranked.items())
    return "\n".join(entries).replace("T", prim.value)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.sweeps", description=__doc__)
    options.add_argument("types", nargs="*", default=TYPES)
    options.add_argument("--only", default="", help="operations whose name has this in it")
    chosen = options.parse_args()
    loops = {}
    if importlib.util.find_spec("numba") is not None:
        from .loops import LOOPS

        loops = LOOPS
    lines: list[tuple[float, str]] = []
    for prim in map(Prim, chosen.types):
        program = soac.compile(text_of(prim))
        for name, operation, shape in cases(prim):
            if chosen.only not in name:
                continue
            args, run = arguments(operation, shape, prim), program.prepare(name, threads=1)
            peers = [operation.peer, *([loops[name]] if name in loops else [])]
            calls = [lambda: run(args), *(lambda peer=peer: peer(*args) for peer in peers)]  # noqa: B023
            ours, *theirs = least(tuple(calls))
            ratio, by = min(theirs) / ours, "x".join(map(str, shape))
            line = f"{prim.value:4} {name:15} {by:14} {1e3 * ours:9.1f} {1e3 * min(theirs):9.1f} {ratio:6.2f}"
            lines.append((ratio, line))
            print(line, flush=True)
    print("\nslowest last:")
    for _, line in sorted(lines, reverse=True)[-40:]:
        print(line)
    ratios = np.array([ratio for ratio, _ in lines])
    print(f"geometric mean {np.exp(np.log(ratios).mean()):.2f} of {len(ratios)}, {(ratios < 0.9).sum()} below 0.9")


if __name__ == "__main__":
    main()
