"""Programs on a cluster, measured and predicted.

    python -m benchmarks.cluster                            five programs on 1 and 2 workers, and predicted to 1000
    python -m benchmarks.cluster --waiting --workers 1 2 4 8    tasks that only wait: more workers than cores
    python -m benchmarks.cluster --split                    two workers against two processes split by hand

What a program does is measured without Dask (`Profile`): its tasks, run one by one in the process of a worker, with
their seconds, and what one gives to another. What Dask takes is measured by tasks without work (`Engine`). The model
puts them together:

    seconds = max (tasks * scheduler + programs * program,  (work + tasks * worker + moves * move) / workers,
                   both of these / cores of the machine,  depth * (hop + work of a task))
            + waits * trip + bytes moved / (bandwidth * workers)

Both are measured in turns with the program, since the clock of a machine changes in seconds; the median of the rounds
counts. Assumed: tasks of a statement take the same time, so that work is even as far as blocks go round (`ceil`); the
network between any two machines is as fast as the one measured; what is sent to all workers is sent by those that have
it. Past this machine every worker and the scheduler have a core of their own.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from functools import lru_cache, partial
from math import ceil, inf
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from distributed import Client, LocalCluster, wait

import soac
from soac.cluster import worker
from soac.cluster.engine import Here, Inline

PROGRAMS = Path(__file__).parents[1] / "programs"
STENCIL = """
entry main [n][m] (steps: i32) (heat: [n][m]f32): [n][m]f32 =
  loop heat for _i < steps do
    let at i j = heat[i64.max 0 (i64.min (n - 1) i), i64.max 0 (i64.min (m - 1) j)]
    in tabulate_2d n m (\\i j -> (at (i - 1) j + at (i + 1) j + at i (j - 1) + at i (j + 1)) / 4)
"""
LOOPS = """
entry main [n] (turns: i64) (xs: [n]f64) =
  f64.sum (map (\\x -> loop y = x for _i < turns do y * (1.0000001 - y * 1e-9)) xs)
"""
NOTHING = "entry main [n] (xs: [n]i32) = map (+ 1) xs"
FUTURE = (1, 2, 4, 8, 16, 64, 256, 1000)
MANY = 128
SLEEP = 0.02
RUNS, ROUNDS = 5, 3
Move = tuple[int, int]
"""Bytes, and how many tasks are given them."""


@dataclass(frozen=True, slots=True)
class Engine:
    """What Dask takes: seconds of the client and scheduler for a task, more for one that runs a program, of a worker
    for one, more for one that needs what another worker has, from one task to one that needs its result, from
    submission to result; the bytes that go from one worker to another in a second. `cores`: of the machine that all of
    them share."""

    scheduler: float
    program: float
    worker: float
    move: float
    hop: float
    trip: float
    bandwidth: float
    cores: float


@dataclass(slots=True)
class Profile(Inline):
    """Runs tasks at once, and keeps what they took: how many there were, how many of them run programs, their seconds,
    waits of the client, bytes that tasks give to others, how many blocks go round, and of how many tasks the longest
    chain is of which each needs the one before."""

    blocks: int = 1
    programs: int = 0
    work: float = 0.0
    depth: int = 0
    waits: int = 0
    moved: list[Move] = field(default_factory=list)
    used: dict[int, tuple[Here, int]] = field(default_factory=dict)
    made: dict[int, tuple[Here, int]] = field(default_factory=dict)

    def submit(self, function: Callable[..., Any], *args: Any) -> Here:
        handles = list(handles_in(args))
        if function is worker.run:
            self.programs += 1
            for here in handles:
                self.used[id(here)] = here, self.used.get(id(here), (here, 0))[1] + 1
        start = time.perf_counter()
        given = Inline.submit(self, function, *args)
        self.work += time.perf_counter() - start
        if function in (worker.cut, worker.gathered, worker.addressed):
            self.moved.append((size_of(given.value), 2))
        depth = 1 + max((self.made[id(here)][1] for here in handles if id(here) in self.made), default=0)
        self.made[id(given)], self.depth = (given, depth), max(depth, self.depth)
        return given

    def values(self, handles: Sequence[Here]) -> list[Any]:
        self.waits += 1
        return Inline.values(self, handles)


def handles_in(value: Any) -> Iterator[Here]:
    if isinstance(value, Here):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from handles_in(one)


def size_of(value: Any) -> int:
    return sum(map(size_of, value)) if isinstance(value, list | tuple) else getattr(value, "nbytes", 0)


def predicted(engine: Engine, one: Profile, workers: int) -> float:
    """Seconds of a run by the model."""
    uneven = ceil(one.blocks / workers) * workers / one.blocks
    serial = one.tasks * engine.scheduler + one.programs * engine.program
    moves = [(size, min(uses, workers) - 1) for size, uses in one.moved]
    parallel = one.work * uneven + one.tasks * engine.worker + sum(times for _, times in moves) * engine.move
    chain = one.depth * (engine.hop + one.work / max(one.tasks, 1))
    total = max(serial, parallel / workers, (serial + parallel) / engine.cores, chain)
    moved = sum(size * times for size, times in moves)
    return total + (one.waits + 1) * engine.trip + moved / (engine.bandwidth * workers)


# ---- measuring ----------------------------------------------------------------------------------------------------


def nothing(*_: Any) -> None:
    """A task that does nothing."""


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measured(client: Client) -> Engine:
    """What Dask takes on the workers of a client, for tasks of a program without work."""
    workers, turns = sorted(client.scheduler_info(n_workers=-1)["workers"]), MANY // 4

    def paused() -> None:
        waiting_tasks(client, turns * len(workers), SLEEP)

    def many_at_once(made: Sequence[Any], where: str | None = None) -> None:
        wait([client.submit(nothing, one, workers=where, pure=False) for one in made])

    def moving(where: str) -> float:
        """Seconds of tasks there, of which each needs what the first worker has."""
        made = [client.submit(nothing, workers=workers[0], pure=False) for _ in range(MANY)]
        wait(made)
        return timed(partial(many_at_once, made, where))

    given = [client.submit(nothing, pure=False)] * MANY
    wait(given)
    each = median(timed(partial(many_at_once, given)) for _ in range(RUNS)) / MANY
    here, there = (median(moving(where) for _ in range(RUNS)) / MANY for where in (workers[0], workers[-1]))
    one, many = (median(runs_of_nothing(client, blocks)) for blocks in (1, MANY))
    program = max(0.0, (many - one) / (MANY - 1) - each)
    own = max(0.0, median(timed(paused) for _ in range(3)) / turns - SLEEP)
    hop = median(timed(lambda: chain_of(client, workers, turns)) for _ in range(3)) / turns
    move, trip = max(0.0, there - here), one - each - program
    return Engine(each, program, own, move, hop, trip, bandwidth(client, workers), inf)


def between(before: Engine, after: Engine) -> Engine:
    """The mean of two: the machine's clock changes meanwhile."""
    return Engine(*((one + other) / 2 for one, other in zip(astuple(before), astuple(after), strict=True)))


def runs_of_nothing(client: Client, blocks: int) -> Iterator[float]:
    """Seconds of runs of a program over few numbers for each block."""
    program, cluster = soac.compile(NOTHING), soac.Cluster(client, blocks, threads=1, default=0)
    xs = cluster.array(np.zeros(1 << 16, np.int32))
    cluster.run(program, [xs])  # compiles
    for _ in range(2 * RUNS):
        yield timed(lambda: cluster.run(program, [xs]))


def chain_of(client: Client, workers: Sequence[str], count: int) -> None:
    """Tasks of which each needs the one before, from another worker if there is one."""
    last = client.submit(nothing, pure=False)
    for k in range(count - 1):
        last = client.submit(nothing, last, workers=[workers[k % len(workers)]], pure=False)
    wait([last])


def waiting_tasks(client: Client, count: int, seconds: float) -> None:
    wait([client.submit(time.sleep, seconds, pure=False) for _ in range(count)])


def bandwidth(client: Client, workers: Sequence[str]) -> float:
    """Bytes per second from one worker to another; of one worker, which is never sent anything, infinite."""
    if len(workers) < 2:
        return inf
    size = 1 << 26

    def once() -> float:
        made = client.submit(np.ones, size // 8, workers=[workers[0]], pure=False)
        wait([made])
        return timed(lambda: wait([client.submit(nothing, made, workers=[workers[1]], pure=False)]))

    return size / min(once() for _ in range(3))


@contextmanager
def workers_of(count: int) -> Iterator[Client]:
    with LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0") as here, Client(here) as client:
        yield client


# ---- programs -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """A program and its arguments."""

    program: soac.Program
    args: list[Any]
    entry: str


def cases(scale: int) -> dict[str, Case]:
    """The five programs, with arguments of about `scale` MiB."""
    rng, n = np.random.default_rng(1), scale << 18

    def floats(*shape: int) -> np.ndarray:
        return rng.random(shape, dtype=np.float32)

    def program(name: str) -> soac.Program:
        return soac.load(PROGRAMS / f"{name}.soac")

    strikes = [*map(np.int64, (scale * 2, 64, 64, 16)), *map(np.float32, (0.03, 5, 0.2, 0.6, 0.5))]
    bins = rng.integers(0, 256, n, dtype=np.uint8)
    return {
        "row sums": Case(program("p02_sumrows"), [rng.integers(-9, 9, (n // 256, 256), dtype=np.int32)], "main"),
        "k-means": Case(program("kmeans"), [np.int32(4), floats(n // 8, 8), floats(64, 8)], "main"),
        "LocVolCalib": Case(program("locvolcalib"), strikes, "main"),
        "stencil": Case(soac.compile(STENCIL), [np.int32(8), floats(n // 512, 512)], "main"),
        "histogram": Case(program("histogram"), [bins, floats(n)], "random_sums"),
    }


def profiled(name: str, scale: int, blocks: int) -> Profile:
    """What a run does, with the median of the work of some, the first aside: it compiles."""
    case, cluster = cases(scale)[name], soac.Cluster(Inline(), blocks, threads=1, default=0)
    args, work, one = placed(cluster, case), list[float](), Profile()
    for _ in range(1 + RUNS):
        cluster.engine = one = Profile(blocks=blocks)  # pyright: ignore[reportAttributeAccessIssue]
        cluster.run(case.program, args, case.entry)
        work.append(one.work)
    moved = [*one.moved, *((size_of(here.value), uses) for here, uses in one.used.values() if uses > 1)]
    return replace(one, work=median(work[1:]), moved=moved, used={}, made={})


def placed(cluster: soac.Cluster, case: Case) -> list[Any]:
    return [cluster.array(arg) if isinstance(arg, np.ndarray) and arg.ndim else arg for arg in case.args]


def seconds_of(cluster: soac.Cluster, case: Case) -> float:
    """The median of some runs."""
    args = placed(cluster, case)
    cluster.run(case.program, args, case.entry)  # compiles
    return median(timed(lambda: cluster.run(case.program, args, case.entry)) for _ in range(RUNS))


def five_programs(counts: Sequence[int], scale: int, blocks: int) -> float:
    """Measured and predicted on these numbers of workers, predicted on more; how far a prediction was off at most."""
    worst, engine, profiles = 0.0, Engine(0, 0, 0, 0, 0, 0, inf, inf), dict[str, Profile]()
    for count in counts:
        pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in cases(scale)}
        with workers_of(count) as client:
            cluster, before = soac.Cluster(client, blocks, threads=1, default=0), measured(client)
            for _ in range(ROUNDS):
                profiles = {name: client.submit(profiled, name, scale, blocks).result() for name in pairs}
                found = {name: seconds_of(cluster, case) for name, case in cases(scale).items()}
                after = measured(client)
                engine, before = replace(between(before, after), cores=os.cpu_count() or 1), after
                for name, seconds in found.items():
                    pairs[name].append((seconds, predicted(engine, profiles[name], count)))
        print(said(engine, count))
        for name, rounds in pairs.items():
            seconds, model = (median(column) for column in zip(*rounds, strict=True))
            off = median(model / seconds for seconds, model in rounds) - 1
            worst = max(worst, abs(off))
            print(f"  {name:12} {seconds:7.3f} s, predicted {model:7.3f} s, {100 * off:+.0f} %")
    print("predicted speed-up over one worker, for 1000 times the work and 64 times the blocks:")
    print(f"  {'workers':12}" + "".join(f"{count:7}" for count in FUTURE))
    engine = replace(engine, cores=inf)
    for name, one in profiles.items():
        moved = [(size * 64, uses * 64) for size, uses in one.moved]
        grown = {part: 64 * getattr(one, part) for part in ("tasks", "programs", "blocks")}
        large = replace(one, work=one.work * 1000, moved=moved, **grown)
        alone = predicted(engine, large, 1)
        print(f"  {name:12}" + "".join(f"{alone / predicted(engine, large, count):7.1f}" for count in FUTURE))
    return worst


def said(engine: Engine, count: int) -> str:
    taken = engine.scheduler, engine.program, engine.worker, engine.move, engine.hop, engine.trip
    each, program, own, move, hop, trip = (1e3 * x for x in taken)
    return (
        f"{count} workers: a task takes {each:.2f} ms, {program:.2f} ms more if it runs a program, {own:.2f} ms of its "
        f"worker, {move:.2f} ms more if it needs what another has; {hop:.2f} ms to the next that needs it, {trip:.2f} "
        f"ms from submission to result, {engine.bandwidth / 2**20:.0f} MiB/s"
    )


def waiting(counts: Sequence[int], tasks: int = 96, seconds: float = 0.1) -> float:
    """Tasks that only wait, on more workers than there are cores; how far a prediction was off at most."""
    worst = 0.0
    print(f"{tasks} tasks that wait {seconds} s:")
    for count in counts:
        with workers_of(count) as client:
            engine = measured(client)
            found = timed(lambda: waiting_tasks(client, tasks, seconds))
        model = predicted(engine, Profile(tasks=tasks, work=tasks * seconds, blocks=tasks), count)
        worst = max(worst, abs(model / found - 1))
        print(f"  {count:4} workers: {found:7.3f} s, predicted {model:7.3f} s, {100 * (model / found - 1):+.0f} %")
    return worst


# ---- split by hand ------------------------------------------------------------------------------------------------


@lru_cache(1)
def half(size: int) -> tuple[soac.Program, np.ndarray]:
    """The program and the rows of one process, there before it is timed."""
    return soac.compile(LOOPS), np.random.default_rng(2).random(size)


def by_hand(turns: int, size: int) -> float:
    program, xs = half(size)
    return float(program.call("main", [np.int64(turns), xs], threads=1)[0])


def split(seconds: float, size: int = 1 << 14) -> float:
    """Two workers against two processes, each with work of some seconds; how much longer the workers take."""
    tried = 1000
    by_hand(1, size)
    start = time.process_time()
    by_hand(tried, size)
    turns = int(tried * seconds / (time.process_time() - start))
    start = time.process_time()
    by_hand(turns, size)
    own = time.process_time() - start
    with ProcessPoolExecutor(2) as pool:

        def both(turns: int) -> None:
            list(pool.map(by_hand, [turns] * 2, [size] * 2))

        both(1)
        hand = median(timed(lambda: both(turns)) for _ in range(RUNS))
    with workers_of(2) as client:
        cluster = soac.Cluster(client, 4, threads=1, default=0)
        xs = cluster.array(np.concatenate([half(size)[1]] * 2))
        cluster.run(half(size)[0], [1, xs])
        before = processor(client)
        found = median(timed(lambda: cluster.run(half(size)[0], [turns, xs])) for _ in range(RUNS))
        taken = (processor(client) - before) / RUNS
    print(f"two processes by hand {hand:.3f} s, two workers {found:.3f} s, {100 * (found / hand - 1):+.0f} %")
    print(f"of processors: by hand {2 * own:.3f} s, two workers, scheduler and client {taken:.3f} s")
    return found / hand - 1


def processor(client: Client) -> float:
    """Seconds of processors that the workers and this process have taken."""
    taken: Any = client.run(time.process_time)
    return time.process_time() + sum(taken.values())


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cluster", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="how many are measured")
    parser.add_argument("--scale", type=int, default=64, metavar="MIB", help="size of the arguments")
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--waiting", action="store_true", help="only tasks that wait")
    parser.add_argument("--split", action="store_true", help="two workers against two processes")
    parser.add_argument("--seconds", type=float, default=1.0, help="the work of each of the two")
    given = parser.parse_args()
    if given.split:
        limit, worst = 0.15, split(given.seconds)
    elif given.waiting:
        limit, worst = 0.25, waiting(given.workers)
    else:
        limit, worst = 0.25, five_programs(given.workers, given.scale, given.blocks)
    print(f"at most {100 * worst:.0f} % off; asked for: {100 * limit:.0f} %")
    return 0 if worst <= limit else 1


if __name__ == "__main__":
    from benchmarks import cluster  # workers import what they are sent by its name

    sys.exit(cluster.main())
