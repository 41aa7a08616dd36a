"""Programs on a cluster, measured and predicted: `python -m benchmarks.cluster [--workers 1 2] [--waiting]`.

The model has four numbers of Dask on this machine, each measured by tasks that do nothing but that: what the scheduler
takes for a task (one after the other, whatever the number of workers), how long a task takes from its submission to its
result, what a worker takes for a task beside its work, and bytes per second between two workers. A program is a list of
rounds: independent tasks of some seconds each, and after them tasks that combine their results in a tree.

    round = max (tasks * scheduler, ceil (tasks / workers) * (worker + seconds)) + trip + bytes / bandwidth
            + levels of the tree * (trip + scheduler * tasks of the level)

Assumed: tasks of a round take the same time; the network between any two machines is as fast as the one measured, and
the scheduler has a core of its own. With `--waiting` tasks sleep, so that more workers than cores can be measured.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster, wait

import soac
from soac.cluster.run import FAN

PROGRAMS = Path(__file__).parents[1] / "programs"
STENCIL = """
entry main [n][m] (steps: i32) (heat: [n][m]f32): [n][m]f32 =
  loop heat for _i < steps do
    let at i j = heat[i64.max 0 (i64.min (n - 1) i), i64.max 0 (i64.min (m - 1) j)]
    in tabulate_2d n m (\\i j -> (at (i - 1) j + at (i + 1) j + at i (j - 1) + at i (j + 1)) / 4)
"""
FUTURE = (1, 2, 4, 8, 16, 64, 256, 1000)
MANY = 200


@dataclass(frozen=True, slots=True)
class Engine:
    """What Dask takes: seconds of the scheduler for a task, of a worker for one, from submission to result; and the
    bytes that go from one worker to another in a second."""

    scheduler: float
    worker: float
    trip: float
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Round:
    """`tasks` that take `seconds` each beside `small` ones that cut, pick and combine; `bytes` that one worker is
    sent; the number of partial results that a tree combines."""

    tasks: int
    small: int
    seconds: float
    bytes: float
    partial: int


@dataclass(frozen=True, slots=True)
class Case:
    """A program, how large its arguments are in blocks, and how many rounds a run has."""

    program: soac.Program
    args: list[Any]
    entry: str
    rounds: int


def predicted(engine: Engine, rounds: Sequence[Round], workers: int) -> float:
    """Seconds of a run by the model."""
    return sum(seconds_of(engine, one, workers) for one in rounds)


def seconds_of(engine: Engine, one: Round, workers: int) -> float:
    """Seconds of one round."""
    tasks = one.tasks + one.small
    work = ceil(one.tasks / workers) * one.seconds + ceil(tasks / workers) * engine.worker
    total = max(tasks * engine.scheduler, work) + engine.trip + one.bytes / engine.bandwidth
    left = one.partial
    while left > 1:
        left = ceil(left / FAN)
        total += engine.trip + engine.scheduler * left
    return total


# ---- measuring Dask -----------------------------------------------------------------------------------------------


def nothing(*_: Any) -> None:
    """A task that does nothing."""


def measured(client: Client) -> Engine:
    """What Dask takes on the workers of a client."""
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    wait([client.submit(nothing, k, pure=False) for k in range(len(workers) * 4)])
    many = min(timed(lambda: wait([client.submit(nothing, pure=False) for _ in range(MANY)])) for _ in range(5)) / MANY
    trip = min(timed(lambda: client.submit(nothing, pure=False).result()) for _ in range(20))
    return Engine(many, many, trip, bandwidth(client, workers))


def bandwidth(client: Client, workers: Sequence[str]) -> float:
    """Bytes per second from one worker to another; of one worker, which is never sent anything, infinite."""
    if len(workers) < 2:
        return float("inf")
    size = 1 << 26
    made = client.submit(np.ones, size // 8, workers=[workers[0]], pure=False)
    wait(made)
    return size / timed(lambda: wait(client.submit(nothing, made, workers=[workers[1]], pure=False)))


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


# ---- programs -----------------------------------------------------------------------------------------------------


def cases(scale: int) -> dict[str, Case]:
    """The five programs, with arguments of about `scale` MiB."""
    rng, n = np.random.default_rng(1), scale << 18

    def floats(*shape: int) -> np.ndarray:
        return rng.random(shape, dtype=np.float32)

    def program(name: str) -> soac.Program:
        return soac.load(PROGRAMS / f"{name}.soac")

    strikes = [*map(np.int64, (scale * 4, 64, 64, 16)), *map(np.float32, (0.03, 5, 0.2, 0.6, 0.5))]
    bins = rng.integers(0, 256, n, dtype=np.uint8)
    return {
        "row sums": Case(program("p02_sumrows"), [rng.integers(-9, 9, (n // 256, 256), dtype=np.int32)], "main", 1),
        "k-means": Case(program("kmeans"), [np.int32(4), floats(n // 8, 8), floats(16, 8)], "main", 4),
        "LocVolCalib": Case(program("locvolcalib"), strikes, "main", 1),
        "stencil": Case(soac.compile(STENCIL), [np.int32(8), floats(n // 512, 512)], "main", 8),
        "histogram": Case(program("histogram"), [bins, floats(n)], "random_sums", 1),
    }


@contextmanager
def workers_of(count: int) -> Iterator[Client]:
    with LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0") as here, Client(here) as client:
        yield client


def run_of(cluster: soac.Cluster, case: Case) -> tuple[float, list[Round]]:
    """The best seconds of a run, and its rounds: from the tasks that it submitted, and the seconds on one worker."""
    args = [cluster.array(arg) if isinstance(arg, np.ndarray) and arg.ndim else arg for arg in case.args]
    cluster.run(case.program, args, case.entry)  # compiles
    best = min(timed(lambda: cluster.run(case.program, args, case.entry)) for _ in range(3))
    tasks = submitted(cluster, case, args)
    large = sum(taken for _, _, taken in cluster.reached) * cluster.blocks // case.rounds
    return best, [Round(large, max(0, tasks // case.rounds - large), 0.0, 0.0, 0)] * case.rounds


def submitted(cluster: soac.Cluster, case: Case, args: list[Any]) -> int:
    """How many tasks a run submits."""
    engine, count = cluster.engine, 0
    plain = type(engine).submit

    class Counting(type(engine)):  # type: ignore[misc]
        def submit(self, function: Callable[..., Any], *given: Any) -> Any:
            nonlocal count
            count += 1
            return plain(self, function, *given)

    cluster.engine = Counting(engine.client)  # type: ignore[attr-defined]
    cluster.run(case.program, args, case.entry)
    cluster.engine = engine
    return count


def calibrated(engine: Engine, seconds: float, rounds: list[Round]) -> list[Round]:
    """The rounds with the seconds of a task for which the model gives what one worker was measured to take."""
    fixed = predicted(engine, rounds, 1)
    tasks = sum(one.tasks for one in rounds)
    each = max(0.0, seconds - fixed) / max(tasks, 1)
    return [Round(one.tasks, one.small, each, one.bytes, one.partial) for one in rounds]


# ---- report -------------------------------------------------------------------------------------------------------


def sleep(seconds: float) -> None:
    """A task that only waits."""
    time.sleep(seconds)


def waiting(counts: Sequence[int], tasks: int = 64, seconds: float = 0.05) -> None:
    """Tasks that only wait, on more workers than there are cores."""
    print(f"{tasks} tasks that wait {seconds} s:")
    for count in counts:
        with workers_of(count) as client:
            engine = measured(client)
            found = timed(lambda: wait([client.submit(sleep, seconds, pure=False) for _ in range(tasks)]))
        model = seconds_of(engine, Round(tasks, 0, seconds, 0, 0), count)
        print(f"  {count:4} workers: {found:7.3f} s, predicted {model:7.3f} s, {100 * (model / found - 1):+.0f} %")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="how many are measured, 1 first")
    parser.add_argument("--scale", type=int, default=16, metavar="MIB", help="size of the arguments")
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--waiting", action="store_true", help="only tasks that wait")
    given = parser.parse_args()
    if given.waiting:
        waiting(given.workers)
        return
    rounds: dict[str, list[Round]] = {}
    engine = Engine(0, 0, 0, 1)
    for count in given.workers:
        with workers_of(count) as client:
            engine = measured(client)
            print(
                f"{count} workers: {engine.scheduler * 1e3:.2f} ms a task, {engine.trip * 1e3:.2f} ms from submission "
                f"to result, {engine.bandwidth / 2**20:.0f} MiB/s"
            )
            cluster = soac.Cluster(client, given.blocks, threads=1, default=0)
            for name, case in cases(given.scale).items():
                seconds, found = run_of(cluster, case)
                if name not in rounds:
                    rounds[name] = calibrated(engine, seconds, found)
                model = predicted(engine, rounds[name], count)
                print(f"  {name:12} {seconds:7.3f} s, predicted {model:7.3f} s, {100 * (model / seconds - 1):+.0f} %")
    print("predicted speed-up over one worker, for 1000 times the work in 64 times the blocks:")
    print(f"  {'workers':12}" + "".join(f"{count:7}" for count in FUTURE))
    for name, known in rounds.items():
        large = [Round(r.tasks * 64, r.small * 64, r.seconds * 1000 / 64, r.bytes, r.tasks * 64) for r in known]
        alone = predicted(engine, large, 1)
        shown = "".join(f"{alone / predicted(engine, large, count):7.1f}" for count in FUTURE)
        print(f"  {name:12}{shown}")


if __name__ == "__main__":
    main()
