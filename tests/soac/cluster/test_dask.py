"""Five programs on workers of Dask: equal bits on any number of them, no array of full size on the client, and a worker
that is killed."""

from __future__ import annotations

import os
import signal
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soac
from soac.cluster.engine import Dask, Inline

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
BLOCKS = 8
STENCIL = """
entry main [n][m] (steps: i32) (heat: [n][m]f32): [n][m]f32 =
  loop heat for _i < steps do
    let at i j = heat[i64.max 0 (i64.min (n - 1) i), i64.max 0 (i64.min (m - 1) j)]
    in tabulate_2d n m (\\i j -> (at (i - 1) j + at (i + 1) j + at i (j - 1) + at i (j + 1)) / 4)
"""
RANDOM = np.random.default_rng(1)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.random(shape, dtype=np.float32)


PROGRAMS: dict[str, tuple[str, str, list[Any]]] = {
    "row sums": ("p02_sumrows", "main", [RANDOM.integers(-9, 9, (1000, 300), dtype=np.int32)]),
    "k-means": ("kmeans", "main", [np.int32(3), floats(9000, 3), floats(5, 3)]),
    "LocVolCalib": (
        "locvolcalib",
        "main",
        [*map(np.int64, (13, 16, 16, 4)), *map(np.float32, (0.03, 5, 0.2, 0.6, 0.5))],
    ),
    "stencil": (STENCIL, "main", [np.int32(4), floats(300, 200)]),
    "histogram": ("histogram", "random_sums", [RANDOM.integers(0, 256, 90_000, dtype=np.uint8), floats(90_000)]),
}


def program(name: str) -> tuple[soac.Program, str, list[Any]]:
    text, entry, args = PROGRAMS[name]
    return (soac.compile(text) if "\n" in text else soac.load(ROOT / f"programs/{text}.soac")), entry, args


def bits(cluster: soac.Cluster, name: str) -> list[bytes]:
    """The results of a program, its guards forced."""
    prog, entry, args = program(name)
    return [np.asarray(result).tobytes() for result in cluster.run(prog, args, entry)]


@contextmanager
def workers(count: int, **limits: Any) -> Iterator[Any]:
    """A client of workers on this machine."""
    with (
        distributed.LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0", **limits) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_bits_do_not_depend_on_the_number_of_workers(count: int) -> None:
    here = soac.Cluster(Inline(), BLOCKS, 1, default=0)
    with workers(count) as client:
        cluster = soac.Cluster(client, BLOCKS, 1, default=0)
        for name in PROGRAMS:
            assert bits(cluster, name) == bits(here, name), name
            assert any(taken for _, _, taken in cluster.reached), name


class Killing(Dask):
    """Kills a worker with the task that is submitted at a number."""

    left = 25

    def submit(self, function: Any, *args: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            pids: Any = self.client.run(os.getpid)
            os.kill(next(iter(pids.values())), signal.SIGKILL)
        return super().submit(function, *args)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_lost_worker_is_made_up_for(name: str) -> None:
    here = soac.Cluster(Inline(), BLOCKS, 1, default=0)
    with workers(2) as client:
        cluster = soac.Cluster(client, BLOCKS, 1, default=0)
        cluster.engine = killing = Killing(client)  # pyright: ignore[reportAttributeAccessIssue]
        killing.left = {"row sums": 6, "histogram": 12}.get(name, 25)
        assert bits(cluster, name) == bits(here, name)
        assert killing.left <= 0


def test_arrays_are_larger_than_a_worker_and_never_here(tmp_path: Path) -> None:
    """480 MB of rows on a worker that may have 400 MB, of which Python takes a good part."""
    rows, columns = 120_000, 1000
    path = tmp_path / "rows.npy"
    file = np.lib.format.open_memmap(path, "w+", np.int32, (rows, columns))
    for k in range(0, rows, 1000):
        file[k : k + 1000] = np.arange(k, k + 1000)[:, None]
    del file
    prog, entry, _ = program("row sums")
    with workers(1, memory_limit="400MB") as client:
        cluster = soac.Cluster(client, 40, 1, default=0)
        tracemalloc.start()
        xss = cluster.read(path)
        (sums,) = cluster.run(prog, [xss], entry)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < xss.nbytes / 16
        assert np.array_equal(np.asarray(sums), (np.arange(rows) + 2) * columns)


def test_a_failure_has_its_place() -> None:
    prog = soac.compile("entry main [n] (xs: [n]i64) = map (\\i -> xs[i] + xs[i + 1]) (iota n)", "fails.soac")
    xs = np.arange(100)
    with pytest.raises(soac.SoacError) as wanted:
        prog.main(xs)
    with workers(2) as client, pytest.raises(soac.SoacError) as found:
        soac.Cluster(client, BLOCKS, 1, default=0).run(prog, [xs])
    assert found.value.diagnostics == wanted.value.diagnostics


def test_a_call_ends_in_time() -> None:
    prog = soac.compile(
        "entry main (n: i64) = i64.sum (map (\\i -> loop x = i for j < 100000000 do x * x + j) (iota n))"
    )
    with workers(2) as client, pytest.raises(soac.SoacError, match="R0303"):
        soac.Cluster(client, BLOCKS, 1, seconds=1, default=0).run(prog, [64])


def test_arrays_of_dask_and_zarr(tmp_path: Path) -> None:
    import dask.array as da

    prog, entry, args = program("row sums")
    wanted = prog.call(entry, args)[0]
    with workers(2) as client:
        cluster = soac.Cluster(client, BLOCKS, 1, default=0)
        chunks: Any = (170, 90)
        (sums,) = cluster.run(prog, [da.from_array(args[0], chunks=chunks)], entry)
        assert np.array_equal(sums.to_dask().compute(), wanted)
        sums.save(tmp_path / "sums.zarr")
        assert np.array_equal(cluster.read(tmp_path / "sums.zarr").collect(), wanted)
        assert soac.map(prog, [(args[0][:k],) for k in (3, 4)], entry, client)[1].shape == (4,)


def test_arrays_of_dask_and_zarr_are_never_here(tmp_path: Path) -> None:
    """In from Dask, out to Zarr, in from that, out to Dask: 64 MB."""
    import dask.array as da

    prog = soac.compile("entry main [n][m] (xss: [n][m]i32) = map (map (+ 1)) xss")
    given = da.ones((4000, 4000), chunks=(500, 4000), dtype=np.int32)
    with workers(2) as client:
        cluster = soac.Cluster(client, BLOCKS, 1, default=0)
        tracemalloc.start()
        (ys,) = cluster.run(prog, [given])
        ys.save(tmp_path / "ys.zarr")
        (zs,) = cluster.run(prog, [cluster.read(tmp_path / "ys.zarr")])
        total = int(zs.to_dask().sum().compute())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert total == 3 * given.size
    assert peak < given.nbytes / 8


def test_arrays_come_to_addresses_that_fit_their_elements() -> None:
    """Else each task would copy them."""
    with workers(2) as client:
        array = soac.Cluster(client, blocks=4).array(floats(4000, 99))
        assert all(client.gather([client.submit(is_aligned, piece.handle) for piece in array.pieces.pieces]))


def is_aligned(array: np.ndarray) -> bool:
    return array.flags.aligned
