"""`python -m benchmarks.gpu`: soac on a GPU against what the GPU can do and against other libraries, in one run.

    copy     bytes read and written by a copy of the device: what sums and scans are measured against
    sum      reduce (+) of 2^n f32            scan     scan (+) of 2^n f32
    rows     row sums of [2^k][2^(n-2-k)]     matmul   f32, 2^m squared, without tensor cores
    product  [2^i][2^j] times [2^j][2^i], the work of all the same: the sweep of the slides
    spmv     sparse matrices in CSR, of rows of 4, of 32, and of lengths that fall off as 1 / rank, against cuSPARSE
    locvolcalib                               its published sizes, each version by itself; moderate flattening is
                                              `soac main.ys.suff_outer_1 main.ys.suff_outer_2`

Every row is a contest: all contenders take turns, on arrays that are on the device before and after; the median counts.
Of soac every version is timed. Peers are those that can be imported: PyTorch (with Triton by torch.compile), CuPy, JAX,
Numba.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import soac
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.reports.timing import Effort, race
from soac.versions import runs_of

ROOT = Path(__file__).parent.parent
SUM = "def main [n] (xs: [n]f32): f32 = reduce (+) 0 xs"
SCAN = "def main [n] (xs: [n]f32): [n]f32 = scan (+) 0 xs"
ROWS = "def main [n][m] (xss: [n][m]f32): [n]f32 = map (reduce (+) 0) xss"
MATMUL = """
def main [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 =
  map (\\xs -> map (\\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss
"""
SPMV = """
def main [n][nnz][m] (off: [n]i64) (col: [nnz]i64) (value: [nnz]f32) (x: [m]f32): [n - 1]f32 =
  map (\\i -> reduce (+) 0 (map2 (\\j v -> v * x[j]) col[off[i]:off[i+1]] value[off[i]:off[i+1]])) (iota (n - 1))
"""
Run = Callable[[], object]
Peer = Callable[[Any], Run]
"""Given the arguments, a run that ends when its result is there."""
Others = Mapping[str, Callable[[Any], Peer]]


@dataclass(frozen=True, slots=True)
class Row:
    """A contest: medians in seconds; the least bytes that it moves, or the operations that it takes."""

    name: str
    bytes: int
    operations: int
    seconds: dict[str, float]

    def record(self) -> dict[str, object]:
        ours = [t for name, t in self.seconds.items() if name.startswith("soac")]
        others = {name: t for name, t in self.seconds.items() if not name.startswith("soac")}
        best = min(ours) if ours else None
        return {
            "name": self.name,
            "milliseconds": {name: t * 1e3 for name, t in self.seconds.items()},
            "gigabytes_per_second": {name: self.bytes / t / 1e9 for name, t in self.seconds.items()},
            "gigaflops": {name: self.operations / t / 1e9 for name, t in self.seconds.items()},
            "speedup_over": {name: t / best for name, t in others.items()} if best else {},
        }


# ---- contenders --------------------------------------------------------------------------------------------------


def versions(program: soac.Program, args: list[Any]) -> Iterator[tuple[str, Run]]:
    """Every version by the guards it takes, and the thresholds that stand there untuned."""
    placed = program.place("main", args)
    yield "soac", lambda: program.call("main", placed)
    for forced in runs_of(program.compiled.flat, "main"):
        taken = " ".join(name for name, side in forced.items() if side) or "full"
        if forced and not any(par < 0 for name, par, _ in program.trace("main", placed, forced=forced)[1]):
            yield f"soac {taken}", lambda forced=forced: program.call("main", placed, forced=forced)


def peers(functions: Others, args: list[np.ndarray]) -> Iterator[tuple[str, Run]]:
    """Those whose library is here, sees a GPU and gets through a first run."""
    for name, make in functions.items():
        try:
            run = make(importlib.import_module(name.partition(" ")[0]))(args)
            run()
            yield name, run
        except Exception as why:
            print(f"  without {name}: {type(why).__name__}: {str(why)[:100]}", flush=True)


def on_torch(function: Callable[[Any, list[Any]], object], compiled: bool = False) -> Callable[[Any], Peer]:
    def make(torch: Any) -> Peer:
        torch.zeros(1, device="cuda")
        torch.backends.cuda.matmul.allow_tf32 = False
        call = torch.compile(lambda given: function(torch, given)) if compiled else lambda given: function(torch, given)

        def prepare(args: list[np.ndarray]) -> Run:
            given = [torch.from_numpy(arg).cuda() for arg in args]
            return lambda: (call(given), torch.cuda.synchronize())

        return prepare

    return make


def on_cupy(function: Callable[[Any, list[Any]], object]) -> Callable[[Any], Peer]:
    def make(cupy: Any) -> Peer:
        cupy.zeros(1)

        def prepare(args: list[np.ndarray]) -> Run:
            given = [cupy.asarray(arg) for arg in args]
            return lambda: (function(cupy, given), cupy.cuda.Device().synchronize())

        return prepare

    return make


def on_jax(function: Callable[[Any, list[Any]], object]) -> Callable[[Any], Peer]:
    def make(jax: Any) -> Peer:
        device = jax.devices("gpu")[0]
        call = jax.jit(lambda given: function(jax.numpy, given))

        def prepare(args: list[np.ndarray]) -> Run:
            given = [jax.device_put(arg, device) for arg in args]
            return lambda: jax.block_until_ready(call(given))

        return prepare

    return make


def numba_sum(numba: Any) -> Peer:
    cuda = importlib.import_module("numba.cuda")
    if not cuda.is_available():
        raise RuntimeError("Numba sees no GPU")
    add = cuda.reduce(lambda x, y: x + y)

    def prepare(args: list[np.ndarray]) -> Run:
        given = cuda.to_device(args[0])
        return lambda: add(given)

    return prepare


SUM_PEERS = {
    "torch": on_torch(lambda torch, given: torch.sum(given[0])),
    "torch (Triton)": on_torch(lambda torch, given: torch.sum(given[0] * 1.0), compiled=True),
    "cupy": on_cupy(lambda cupy, given: cupy.sum(given[0])),
    "jax": on_jax(lambda jnp, given: jnp.sum(given[0])),
    "numba": numba_sum,
}
SCAN_PEERS = {
    "torch": on_torch(lambda torch, given: torch.cumsum(given[0], 0)),
    "cupy": on_cupy(lambda cupy, given: cupy.cumsum(given[0])),
    "jax": on_jax(lambda jnp, given: jnp.cumsum(given[0])),
}
ROWS_PEERS = {
    "torch": on_torch(lambda torch, given: torch.sum(given[0], 1)),
    "torch (Triton)": on_torch(lambda torch, given: torch.sum(given[0] * 1.0, 1), compiled=True),
    "cupy": on_cupy(lambda cupy, given: cupy.sum(given[0], 1)),
    "jax": on_jax(lambda jnp, given: jnp.sum(given[0], 1)),
}
MATMUL_PEERS = {
    "torch": on_torch(lambda torch, given: torch.mm(*given)),
    "cupy": on_cupy(lambda cupy, given: cupy.matmul(*given)),
    "jax": on_jax(lambda jnp, given: jnp.matmul(*given, precision="highest")),
}


def sparse_torch(torch: Any) -> Peer:
    torch.zeros(1, device="cuda")

    def prepare(args: list[np.ndarray]) -> Run:
        off, col, value, x = (torch.from_numpy(arg).cuda() for arg in args)
        matrix = torch.sparse_csr_tensor(off, col, value, (len(off) - 1, len(x)))
        return lambda: (torch.mv(matrix, x), torch.cuda.synchronize())

    return prepare


def sparse_cupy(cupy: Any) -> Peer:
    csr_matrix = importlib.import_module("cupyx.scipy.sparse").csr_matrix

    def prepare(args: list[np.ndarray]) -> Run:
        off, col, value, x = map(cupy.asarray, args)
        places = value, col.astype(cupy.int32), off.astype(cupy.int32)
        matrix = csr_matrix(places, shape=(len(off) - 1, len(x)))
        return lambda: (matrix @ x, cupy.cuda.Device().synchronize())

    return prepare


def sparse_jax(jnp: Any, given: list[Any]) -> Any:
    jax, (off, col, value, x) = importlib.import_module("jax"), given
    rows = jnp.searchsorted(off, jnp.arange(len(col)), side="right") - 1
    return jax.ops.segment_sum(value * x[col], rows, num_segments=len(off) - 1, indices_are_sorted=True)


SPMV_PEERS = {"torch (cuSPARSE)": sparse_torch, "cupy (cuSPARSE)": sparse_cupy, "jax": on_jax(sparse_jax)}


# ---- rows --------------------------------------------------------------------------------------------------------


def contest(name: str, runs: dict[str, Run], effort: Effort, moved: int, operations: int) -> Row:
    times = race(runs, effort)
    row = Row(name, moved, operations, {who: found.median for who, found in times.items()})
    print(f"{name:<28}" + "  ".join(f"{who} {t * 1e3:.3f} ms" for who, t in row.seconds.items()), flush=True)
    return row


def contest_of(
    name: str, text: str, args: list[Any], others: Others, effort: Effort, moved: int, operations: int
) -> Row:
    program = soac.compile(text, f"{name}.soac", device="cuda")
    runs = dict(versions(program, args))
    runs |= peers(others, args)
    return contest(name, runs, effort, moved, operations)


def copy_row(count: int, effort: Effort) -> Row:
    """What a copy inside the memory of the device takes."""
    program = soac.compile(SUM, device="cuda")
    executable = program.executable
    assert isinstance(executable, CudaExecutable)
    gpu = executable.gpu
    (array,) = program.place("main", [np.ones(count, np.float32)])
    run: dict[str, Run] = {"copy": lambda: gpu.call(lambda: gpu.finished_copy(array))}
    return contest(f"copy 2^{int(math.log2(count))}", run, effort, 8 * count, 0)


def rows(log_size: int, log_edge: int, effort: Effort, with_peers: bool) -> Iterator[Row]:
    def against(name: str, text: str, args: list[Any], others: Others, moved: int, operations: int) -> Row:
        return contest_of(name, text, args, others if with_peers else {}, effort, moved, operations)

    numbers = np.random.default_rng(0)
    count, edge = 1 << log_size, 1 << log_edge
    xs = numbers.random(count, np.float32)
    yield copy_row(count, effort)
    yield against(f"sum 2^{log_size}", SUM, [xs], SUM_PEERS, 4 * count, count)
    yield against(f"scan 2^{log_size}", SCAN, [xs], SCAN_PEERS, 8 * count, count)
    quarter = count // 4
    for k in range(0, log_size - 1, 2):
        given = xs[:quarter].reshape(1 << k, -1)
        name = f"rows [2^{k}][2^{log_size - 2 - k}]"
        yield against(name, ROWS, [given], ROWS_PEERS, 4 * quarter + 4 * (1 << k), quarter)
    xss, yss = numbers.random((edge, edge), np.float32), numbers.random((edge, edge), np.float32)
    yield against(f"matmul 2^{log_edge}", MATMUL, [xss, yss], MATMUL_PEERS, 12 * edge**2, 2 * edge**3)
    work = min(SWEEP, log_size - 3)
    for i in range(0, work // 2 + 1, 2):
        n, m = 1 << i, 1 << work - 2 * i
        given = [xs[: n * m].reshape(n, m), xs[: n * m].reshape(m, n)]
        moved = 8 * n * m + 4 * n * n
        yield against(f"product [2^{i}][2^{work - 2 * i}]", MATMUL, given, MATMUL_PEERS, moved, 2 * n * n * m)
    for name, lengths in row_lengths(count >> 6):
        given = sparse(lengths, numbers)
        moved = sum(array.nbytes for array in given) + 4 * len(lengths)
        yield against(f"spmv {name}", SPMV, given, SPMV_PEERS, moved, 2 * int(lengths.sum()))


SWEEP = 25
"""Products of the sweep have 2^SWEEP multiply-adds, as on the slides."""


def row_lengths(count: int) -> Iterator[tuple[str, np.ndarray]]:
    """Of matrices with about 16 * `count` elements."""
    yield "rows of 4", np.full(4 * count, 4)
    yield "rows of 32", np.full(max(1, count // 2), 32)
    ranks = 1 + (np.arange(count) * 7919) % count
    yield "1 / rank", (16 * count / (np.log(count) + 0.58) / ranks).astype(np.int64)


def sparse(lengths: np.ndarray, numbers: np.random.Generator) -> list[np.ndarray]:
    """Where rows begin, columns, values, and a vector."""
    off = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = numbers.random(off[-1], np.float32)
    return [off, numbers.integers(0, len(lengths), off[-1]), values, numbers.random(len(lengths), np.float32)]


LOCVOLCALIB = {"small": (16, 32, 256, 256), "medium": (128, 256, 32, 64), "large": (256, 256, 256, 64)}
"""The published data sets: strikes, points along both axes, steps; what else they hold is the same in all."""
LOCVOLCALIB_REST = [np.float32(x) for x in (0.03, 5, 0.2, 0.6, 0.5)]


def locvolcalib(name: str, effort: Effort) -> Row:
    """Each version of the program on one data set."""
    program = soac.load(ROOT / "programs" / "locvolcalib.soac", device="cuda")
    args = [*map(np.int64, LOCVOLCALIB[name]), *LOCVOLCALIB_REST]
    return contest(f"locvolcalib {name}", dict(versions(program, args)), effort, 0, 0)


def headline(found: list[Row]) -> dict[str, float]:
    """The ratios that matter, where their rows are there."""
    by_name = {row.name.split()[0]: row for row in found}
    best = {row.name: min(t for who, t in row.seconds.items() if who.startswith("soac")) for row in found[1:]}
    copied = found[0].bytes / found[0].seconds["copy"]
    shown = {
        f"{kind}_of_copy": by_name[kind].bytes / best[by_name[kind].name] / copied
        for kind in ("sum", "scan") if kind in by_name
    }  # fmt: skip
    of_rows = [row.bytes / best[row.name] / copied for row in found if row.name.startswith("rows")]
    shown |= {"least_rows_of_copy": min(of_rows)} if of_rows else {}
    matmul = by_name.get("matmul")
    if matmul is not None and "torch" in matmul.seconds:
        shown["matmul_of_cublas"] = matmul.seconds["torch"] / best[matmul.name]
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--log-size", type=int, default=28)
    parser.add_argument("--log-edge", type=int, default=12)
    parser.add_argument("--most-seconds", type=float, default=3.0, help="on a row")
    parser.add_argument("--locvolcalib", default="none", help=f"data sets of {', '.join(LOCVOLCALIB)}; none")
    parser.add_argument("--no-peers", action="store_true", help="soac alone")
    parser.add_argument("--json", type=Path, required=True)
    asked = parser.parse_args()
    effort = Effort(5, 0.2, 0.02, 200, asked.most_seconds)
    found: list[Row] = []
    for row in rows(asked.log_size, asked.log_edge, effort, not asked.no_peers):
        found.append(row)
        _write(asked.json, found)
    for name in asked.locvolcalib.split(","):
        if name in LOCVOLCALIB:
            found.append(locvolcalib(name, effort))
            _write(asked.json, found)
    print(json.dumps(headline(found), indent=2))


def _write(file: Path, found: list[Row]) -> None:
    """All rows so far: a run that is cut off has not been for nothing."""
    file.write_text(json.dumps({"rows": [row.record() for row in found], "summary": headline(found)}, indent=1) + "\n")


if __name__ == "__main__":
    main()
