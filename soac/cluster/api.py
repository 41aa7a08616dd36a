"""`soac.Cluster`: entry points over arrays that are on the workers of Dask.

    cluster = soac.Cluster(Client("tcp://scheduler:8786"))
    points = cluster.read("/shared/points.npy")
    centres, members = cluster.run(program, [20, points, centres])
    members.save("/shared/members.npy")

The setting `blocks`, in how many blocks an array is partitioned, decides the bits of reductions and scans; the number
of workers does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..api import Program
from ..arguments import to_arguments
from ..checked_settings import checked_sides, checked_values, guards_of, parameters_of
from ..ir.entry import bind_sizes
from ..ir.interpret import find_entry, outside_results
from ..ir.scalar import DTYPES
from ..ir.types import Var
from . import worker
from .arrays import SMALL, DistributedArray, Piece, Pieces, bounds_of
from .engine import Dask, Engine, Inline
from .partition import plan_of
from .plan import Plan, groups
from .run import BROADCAST, Guards, Runner

if TYPE_CHECKING:
    from distributed import Client

BLOCKS = 32
DEFAULT = 1 << 24
"""The work from which a group is worth the cluster: what a device does in the time that some tasks of Dask take
(`benchmarks/cluster.py` measures both)."""


@dataclass(slots=True)
class Cluster:
    """A cluster of Dask, or, for tests, this process. `blocks`: in how many an array is partitioned; `threads`: of one
    task, default all cores; `seconds`: how long a call may take; `default`: the work from which a group is run on the
    cluster; `broadcast`: the most bytes of an array that goes to every block."""

    client: Client | Inline
    blocks: int = BLOCKS
    threads: int | None = None
    seconds: float | None = None
    default: int = DEFAULT
    broadcast: int = BROADCAST
    engine: Engine = field(init=False)
    reached: list[tuple[str, int, bool]] = field(init=False, default_factory=list)
    _plans: dict[tuple[int, str], tuple[Program, Plan, dict[int, Any]]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.engine = self.client if isinstance(self.client, Inline) else Dask(self.client, self.seconds)

    # ---- arrays -----------------------------------------------------------------------------------------------------

    def array(self, source: Any) -> DistributedArray:
        """An array of NumPy or Dask on the workers."""
        if isinstance(source, DistributedArray):
            return source
        return self._of_dask(source) if hasattr(source, "dask") else self._of_numpy(np.asarray(source))

    def _of_numpy(self, array: np.ndarray) -> DistributedArray:
        bounds = bounds_of(len(array), 1 if array.nbytes <= SMALL else self.blocks)
        return self._in_blocks(
            array.shape, array.dtype, bounds, lambda lo, hi: self.engine.put(np.ascontiguousarray(array[lo:hi]))
        )

    def _of_dask(self, array: Any) -> DistributedArray:
        array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
        if any(np.isnan(array.chunks[0])):
            array = array.compute_chunk_sizes()
        assert not isinstance(self.client, Inline)
        handles = iter(self.client.compute(list(array.to_delayed().ravel())))  # type: ignore[arg-type]
        bounds = [0, *np.cumsum(array.chunks[0]).tolist()]
        return self._in_blocks(
            array.shape, array.dtype, bounds, lambda lo, hi: self.engine.submit(np.ascontiguousarray, next(handles))
        )

    def read(self, path: str | Path) -> DistributedArray:
        """The array in a file of NumPy's format (`.npy`), else in Zarr's, on a path that all workers have; each reads
        its rows, again if they are lost."""
        place = str(Path(path).absolute())
        if place.endswith(".npy"):
            found, function = np.load(place, mmap_mode="r"), worker.read
        else:
            import zarr

            found, function = zarr.open_array(place, mode="r"), worker.read_zarr
        bounds = bounds_of(found.shape[0], self.blocks)
        return self._in_blocks(
            found.shape, found.dtype, bounds, lambda lo, hi: self.engine.submit(function, place, lo, hi)
        )

    def _in_blocks(
        self, shape: tuple[int, ...], dtype: Any, bounds: Sequence[int], block: Callable[[int, int], Any]
    ) -> DistributedArray:
        pieces = (Piece(block(lo, hi), 0, hi - lo, hi - lo) for lo, hi in pairwise(bounds))
        return DistributedArray(self.engine, Pieces(tuple(pieces)), tuple(map(int, shape)), np.dtype(dtype))

    # ---- calls ------------------------------------------------------------------------------------------------------

    def plan(self, program: Program, entry: str = "main") -> Plan:
        """How an entry is partitioned."""
        return self._planned(program, entry)[1]

    def _planned(self, program: Program, entry: str) -> tuple[Program, Plan, dict[int, Any]]:
        key = id(program), entry
        if key not in self._plans:
            program.function(entry)
            self._plans[key] = program, plan_of(program.compiled.fused, entry), {}
        return self._plans[key]

    def run(
        self,
        program: Program,
        args: Sequence[Any],
        entry: str = "main",
        thresholds: Mapping[str, int] | None = None,
        forced: Mapping[str, bool] | None = None,
    ) -> list[Any]:
        """The results of an entry point, one `DistributedArray` or scalar for each component. Raises what a call of the
        program raises; what has not ended by then is cancelled."""
        self.engine.begin()
        try:
            _, plan, programs = self._planned(program, entry)
            fun = find_entry(program.compiled.fused, entry)
            given = to_arguments(fun, [self.array(arg) if is_array(arg) else arg for arg in args])
            arrays: list[Any] = [self.array(arg) if arg.ndim else arg for arg in given]
            sizes = [np.int64(size) for size in bind_sizes(fun, arrays)]
            values = [*sizes, *(arg.pieces if isinstance(arg, DistributedArray) else arg for arg in arrays)]
            names = [group.threshold for group in groups(plan.block)]
            known = [*names, *parameters_of(program.facts, program.entries)]
            settings = {**program.thresholds, **checked_values(thresholds or {}, known)}
            sides = checked_sides(forced or {}, [*names, *guards_of(program.facts)])
            guards = Guards(settings, sides, self.default, self.broadcast)
            runner = Runner(self.engine, guards, self.blocks, (settings, self.threads), programs)
            results = runner.run(plan, values)
            self.reached = runner.reached
            held = tuple(arg for arg in arrays if isinstance(arg, DistributedArray))
            return self._outside(runner, plan, results, outside_results(fun), held)
        except BaseException:
            self.engine.end()
            raise

    def _outside(
        self, runner: Runner, plan: Plan, results: Sequence[Any], wanted: Sequence[int], held: tuple[Any, ...]
    ) -> list[Any]:
        """What the caller gets, when all of it is there."""
        self.engine.wait([p.handle for x in results if isinstance(x, Pieces) for p in x.pieces])
        found: list[Any] = []
        for k in wanted:
            (name, t), value = plan.results[k], results[k]
            if isinstance(value, Pieces):
                found.append(DistributedArray(self.engine, value, runner.shape(t), np.dtype(DTYPES[t.prim]), held))
            else:
                found.append(DTYPES[t.prim].type(runner.known(Var(name))))
        return found


def is_array(value: Any) -> bool:
    """Whether an argument is an array that goes to the workers as it is."""
    return (isinstance(value, np.ndarray | DistributedArray) and value.ndim > 0) or hasattr(value, "dask")
