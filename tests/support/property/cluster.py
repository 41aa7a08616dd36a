"""The law for the level `node`: a random program gives on a cluster what it means, whatever its guards decide.

    python -m tests.support.property.cluster --programs 2000 --seed 1              tasks in this process, interpreted
    python -m tests.support.property.cluster --programs 200 --seed 1 --dask 2      on two workers of Dask, compiled

At the end stands how often each rule has fired, with `--least 50` an error if one has less often; a program for which
the law does not hold is printed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Any

import numpy as np

from soac.cluster.api import Cluster
from soac.cluster.arrays import Pieces
from soac.cluster.engine import Dask, Inline
from soac.cluster.partition import plan_of
from soac.cluster.plan import (
    Block,
    Choice,
    Folded,
    Group,
    Mapped,
    Move,
    Output,
    Part,
    Plan,
    Repeat,
    Scanned,
    Step,
    broadcast,
)
from soac.cluster.run import BROADCAST, Guards, Runner
from soac.cluster.worker import Settings, prog_of, value_of
from soac.ir.check import Stage, check
from soac.ir.entry import bind_sizes
from soac.ir.errors import RunError
from soac.ir.interpret import find_entry, interpret, outside_results
from soac.ir.scalar import DTYPES
from soac.ir.types import Var
from soac.pipeline import CORE_PASSES
from tests.support.property.generate import Case
from tests.support.property.law import Broken, NoMeaning, Results, agree, meaning_of
from tests.support.property.pipelines import pipeline
from tests.support.property.soak import program

BLOCKS = 3


def interpreted(text: str, args: Sequence[Any], settings: Settings) -> Any:
    """A task by the interpreter, after a check of its program."""
    prog = prog_of(text)
    check(prog, Stage.CORE)
    results, _ = interpret(prog, str(prog.functions[-1].name), [value_of(arg) for arg in args])
    return results[0] if len(results) == 1 else tuple(results)


def on_cluster(case: Case, engine: Inline | Dask, default: int, seen: Counter[str]) -> Results:
    """What a program gives on a cluster; none where it fails."""
    prog = case.prog
    for _, apply in CORE_PASSES:
        prog = apply(prog)
    fun, plan = find_entry(prog, "main"), plan_of(prog, "main")
    cluster = Cluster(engine, blocks=BLOCKS) if isinstance(engine, Inline) else Cluster(engine.client, blocks=BLOCKS)
    arrays: list[Any] = [cluster.array(arg) if arg.ndim else arg for arg in case.args]
    try:
        sizes = bind_sizes(fun, arrays)
        runner = Counting(engine, Guards({}, {}, default, BROADCAST), BLOCKS, ({}, None), {}, seen=seen)
        values = [getattr(arg, "pieces", arg) for arg in arrays]
        results = runner.run(plan, [*map(np.int64, sizes), *values])
        return [found(runner, plan, k, results[k]) for k in outside_results(fun)]
    except RunError:
        return None


def found(runner: Runner, plan: Plan, k: int, value: Any) -> Any:
    """A result in this process."""
    name, t = plan.results[k]
    if not isinstance(value, Pieces):
        return DTYPES[t.prim].type(runner.known(Var(name)))
    return np.concatenate(runner.engine.values(value.handles(runner.engine))).reshape(runner.shape(t))


RULES = (
    *("segmap", "segred", "segscan", "seghist", "neighbours", "broadcast"),
    *("Rearrange", "Reshape", "Index", "Concat", "Update", "Scatter", "Repeat", "Choice"),
)
"""What is done for an array in more than one block, by name."""


@dataclass(slots=True)
class Counting(Runner):
    """A run that counts what it does."""

    seen: Counter[str] = field(default_factory=Counter)

    def step(self, step: Step) -> None:
        if not isinstance(step, Group) or self.decide(step, False):
            self.seen.update(kinds(step))
        Runner.step(self, step)


def kinds(step: Step) -> Iterator[str]:
    """The kinds of a step, of what a block gives, and of what it is given."""
    match step:
        case Move(stm):
            yield type(stm.exp).__name__
        case Group():
            yield from map(kind_of, step.outputs)
            yield from (
                "neighbours" for part in step.task.given if isinstance(part, Part) and (part.below or part.above)
            )
            yield from ("broadcast" for _ in broadcast(step.task))
        case _:
            yield type(step).__name__


def kind_of(output: Output) -> str:
    match output:
        case Mapped():
            return "segmap"
        case Folded(first=first):
            return "seghist" if first else "segred"
        case Scanned():
            return "segscan"


def steps(block: Block) -> Iterator[Step]:
    for step, _ in block.steps:
        yield step
        match step:
            case Repeat():
                yield from steps(step.body)
            case Choice():
                yield from steps(step.then)
                yield from steps(step.orelse)
            case _:
                pass


def case_of(seed: int, number: int) -> Case:
    """A random core program, or one that sends an array through stages."""
    return pipeline(Random(f"{seed} {number}")) if number % 2 else program(seed, number)


def check_cluster(case: Case, engine: Inline | Dask, seen: Counter[str]) -> None:
    """Raises `Broken` unless a program gives on a cluster what it means, with every guard taken and with none."""
    expected = meaning_of(case)
    for default in (0, 2**62):
        given = on_cluster(case, engine, default, seen)
        if not agree(expected, given):
            raise Broken(f"default {default}: {expected} became {given}")


@contextmanager
def engine_of(workers: int) -> Iterator[Inline | Dask]:
    """Workers of Dask in processes of their own; none: this process."""
    if not workers:
        yield Inline(interpreted)
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as local,
        Client(local) as client,
    ):
        yield Dask(client)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.property.cluster", description=__doc__)
    parser.add_argument("--programs", type=int, default=2000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--seed", type=int, default=1, help="which programs")
    parser.add_argument("--dask", type=int, default=0, metavar="WORKERS", help="on workers of Dask")
    parser.add_argument("--least", type=int, default=0, metavar="N", help="how often each rule is to fire")
    parser.add_argument("--seconds", type=float, default=inf, help="end after this time")
    given = parser.parse_args()
    seen: Counter[str] = Counter()
    broken = done = 0
    until = time.monotonic() + given.seconds
    with engine_of(given.dask) as engine:
        for number in range(given.first, given.first + given.programs):
            if time.monotonic() > until:
                break
            done += 1
            try:
                check_cluster(case_of(given.seed, number), engine, seen)
            except NoMeaning:
                continue
            except Exception as error:
                broken += 1
                print(f"program {number}: {type(error).__name__}: {str(error)[:600]}", flush=True)
    for kind, times in sorted(seen.items()):
        print(f"{times:9d}  {kind}")
    rare = [rule for rule in RULES if seen[rule] < given.least]
    few = "".join(f", {rule} fired {seen[rule]} times" for rule in rare)
    print(f"{done} programs, {broken} broken{few}")
    return 1 if broken or rare else 0


if __name__ == "__main__":
    sys.exit(main())
