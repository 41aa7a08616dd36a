"""`python -m benchmarks.skew`: 30 sparse matrices times a vector, the schedule by default against the best one.

The matrices follow a recipe (`matrices`), all of about 2^20 elements: uniform, banded, power laws, dense rows among
short ones, empty rows. On the CPU, processor time on one thread, the median of interleaved calls, or wall time on more,
the least. For a GPU, padded steps of warps on the multiprocessor that has most to do, which needs no GPU: blocks are
dealt out in turn. Tuned is what the one threshold does with which all matrices together take the least time.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

import soac
from soac.ir.machine import CPU, CUDA
from soac.ir.version_tree import sites
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.devices.cuda.device import CudaDevice
from soac.kernels.devices.device import default_of
from soac.pipeline import compile_prog

from .defaults import ROOT, Case, measured, sparse

ELEMENTS = 1 << 20
WARP, BLOCK_WARPS, PROCESSORS = 32, 8, 132
FLAT_STEPS = 2
"""A search and a carry for each step of the flat version."""

Lengths = np.ndarray


def matrices() -> Iterator[tuple[str, Lengths]]:
    """Names, and the lengths of the rows."""
    rng = np.random.default_rng(2026)
    for length in (1, 4, 16, 32, 100, 1000, 10_000):
        yield f"uniform, {length}", np.full(ELEMENTS // length, length)
    for width in (3, 27, 125):
        n = ELEMENTS // width
        edge = np.minimum(np.arange(n), np.arange(n)[::-1])
        yield f"banded, {width}", np.minimum(width, width // 2 + 1 + edge)
    for exponent in (1.2, 1.5, 2.0, 2.5, 3.0):
        for n in (1 << 14, 1 << 17):
            shares = rng.pareto(exponent - 1, n) + 1
            yield f"power law {exponent}, {n} rows", np.maximum(1, shares * (ELEMENTS / shares.sum())).astype(np.int64)
    for count, share in ((1, 0.5), (1, 0.95), (4, 0.5), (64, 0.5), (64, 0.95), (1000, 0.5)):
        rows = np.full(1 << 16, round(ELEMENTS * (1 - share)) >> 16 or 1)
        rows[rng.choice(len(rows), count, replace=False)] = round(ELEMENTS * share) // count
        yield f"{count} dense, {share:.0%}", rows
    for share in (0.5, 0.9, 0.99):
        rows = np.zeros(1 << 18, np.int64)
        full = rng.random(len(rows)) >= share
        rows[full] = rng.poisson(ELEMENTS / full.sum(), full.sum())
        yield f"{share:.0%} empty", rows
    yield "one row", np.array([ELEMENTS])


@dataclass(frozen=True, slots=True)
class Found:
    """A matrix: the default over the best, which that is, what each version takes, and what the guard compares."""

    name: str
    ratio: float
    best: str
    each: Mapping[str, float]
    measured: int = 0


# ---- on the CPU ------------------------------------------------------------------------------------------------------


def on_cpu(rounds: int, threads: int) -> Iterator[Found]:
    """Milliseconds."""
    executable = soac.load(ROOT / "programs" / "spmv.soac").executable
    for name, lengths in matrices():
        args = sparse(lambda _, lengths=lengths: lengths.tolist())
        row = measured(Case("spmv", name, args), rounds, threads)
        _, trace = executable.run("main", args(np.random.default_rng(1)))
        each = {version.rpartition("=")[2]: value for version, value in row.versions.items()}
        yield Found(name, row.ratio, row.best.rpartition("=")[2], each, trace[0][1])


def tuned(found: list[Found]) -> list[float]:
    """Over the best of each matrix, with the threshold of the least sum: a row to a thread is taken from it on."""

    def taken(threshold: int) -> list[tuple[float, float]]:
        return [(one.each["outer" if threshold <= one.measured else "full"], min(one.each.values())) for one in found]

    thresholds = {0, *(one.measured + 1 for one in found)}
    return [time / best for time, best in min(map(taken, thresholds), key=lambda pairs: sum(time for time, _ in pairs))]


# ---- on a GPU --------------------------------------------------------------------------------------------------------


def on_gpu() -> Iterator[Found]:
    """Steps of warps on the busiest multiprocessor."""
    path = ROOT / "programs" / "spmv.soac"
    compiled = compile_prog(path.read_text(encoding="utf-8"), str(path), machine=CUDA, schedules=CPU)
    guards = [name for site in sites(compiled.flat) for name in site.thresholds if name.startswith("main.")]
    settings = {name: default_of(CudaDevice, name, 1) for name in guards}
    executable = Executable.build(compiled.host, compiled.flat.functions)
    for name, lengths in matrices():
        args = sparse(lambda _, lengths=lengths: lengths.tolist())(np.random.default_rng(1))
        _, trace = executable.run("main", args, settings)
        taken = next((guard for guard, _, taken in trace if taken), None)
        each = steps(lengths)
        version = "flat" if taken is None else "warp" if "warp" in taken else "thread"
        best = min(each, key=lambda name: each[name])
        yield Found(name, each[version] / each[best], best, each)


def steps(lengths: Lengths) -> dict[str, float]:
    """Of a row to a thread, a row to a warp, and all rows in equal parts."""
    padded = np.pad(lengths, (0, -len(lengths) % WARP)).reshape(-1, WARP)
    flat = FLAT_STEPS * math.ceil((lengths.sum() + len(lengths)) / (WARP * PROCESSORS))
    return {"thread": most(padded.max(axis=1) + 1, BLOCK_WARPS), "warp": most(-(-lengths // WARP) + 1, 1), "flat": flat}


def most(warps: np.ndarray, block: int) -> int:
    """The steps of the multiprocessor that has most, with `block` of these warps in a block."""
    blocks = np.pad(warps, (0, -len(warps) % (block * PROCESSORS))).reshape(-1, PROCESSORS, block)
    return int(blocks.sum(axis=(0, 2)).max())


def show(what: str, found: list[Found]) -> None:
    print(f"\n{what}, {len(found)} matrices: default over best, {summary([one.ratio for one in found])}")
    if found[0].measured:
        print(f"tuned over best, {summary(tuned(found))}")
    print()
    print("| matrix | default/best | best | " + " | ".join(found[0].each) + " |")
    print("|---|---|---|" + "---|" * len(found[0].each))
    for one in found:
        cells = " | ".join(f"{value:.4g}" for value in one.each.values())
        print(f"| {one.name} | {one.ratio:.2f} | {one.best} | {cells} |")


def summary(ratios: list[float]) -> str:
    return f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, worst {max(ratios):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--machine", choices=("cpu", "cuda"), help="default: both")
    options = parser.parse_args()
    if options.machine != "cpu":
        show("GPU, steps of warps", list(on_gpu()))
    if options.machine != "cuda":
        show(f"CPU, {options.threads} threads, milliseconds", list(on_cpu(options.rounds, options.threads)))


if __name__ == "__main__":
    main()
