"""Searches killed at random moments: `python -m tests.support.killed_searches --kills 200`.

A child searches a made-up entry in a database on disk, and writes a tuning file after every run; the parent kills it
with SIGKILL, looks at what is left, and starts the next. At the end the search must have found what one that was
not killed finds, no finished run may be lost or made twice, and no tuning file may ever have been half of one.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from optuna.storages import BaseStorage

from benchmarks.synthetic import MadeUp, entry
from soac.autotune.measure import Record
from soac.autotune.search import Problem, Progress, Search
from soac.autotune.store import Facts, Planned, Request, Timed, open_beside, open_storage, open_study
from soac.autotune.tuning import read_tuning, write_tuning

FACTS = Facts("program", "made up", "1")
NAMES = tuple(f"main.t{k}" for k in range(200))
TEXT = "def main = 1"
NAME = "made up"


@dataclass(frozen=True, slots=True)
class Slow:
    """A bench that takes its time."""

    inner: Callable[[Request], Record]
    seconds: float

    def __call__(self, request: Request) -> Record:
        time.sleep(self.seconds)
        return self.inner(request)


def problem_and_bench(seed: int) -> tuple[Problem, MadeUp]:
    branches, truth = entry(seed, cases=6)
    return Problem(branches, tuple(f"#{k}" for k in range(len(truth))), {}), MadeUp(truth)


def search(folder: Path, seed: int, seconds: float) -> None:
    """The whole search, in a database in `folder`."""
    file = folder / "prog.soac.tuning"

    def write(progress: Progress) -> None:
        write_tuning(file, dict.fromkeys(NAMES, progress.done), {"done": progress.done})

    with open_beside(folder / "db") as storage:
        search_in(storage, NAME, seed, seconds, write)


def search_in(storage: BaseStorage, name: str, seed: int, seconds: float, tell: Callable[[Progress], None]) -> None:
    """The whole search in a study of a database."""
    problem, bench = problem_and_bench(seed)
    sampler = Planned(1)
    run = Search(open_study(storage, name, FACTS, sampler), sampler, Slow(bench, seconds), math.inf, tell)
    run.see_versions(problem)
    run.confirm(problem, run.settle(problem).solution.thresholds)


def stored(storage: BaseStorage, name: str) -> list[Timed]:
    sampler = Planned(1)
    study = open_study(storage, name, FACTS, sampler)
    return Search(study, sampler, Slow(MadeUp(()), 0), math.inf, lambda progress: None).timed()


def start(folder: Path, seed: int, seconds: float) -> int:
    """A child that searches; its process number."""
    return start_child(lambda: search(folder, seed, seconds))


def start_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def look_at_file(folder: Path) -> None:
    """The tuning file is whole, if there is one."""
    file = folder / "prog.soac.tuning"
    if file.exists():
        values, _ = read_tuning(file, NAMES, TEXT, None)
        assert len(values) == len(NAMES)
        assert len(set(values.values())) == 1


def torture(folder: Path, kills: int, seed: int = 5, seconds: float = 0.05) -> int:
    """Kills searches until there were `kills` kills, and lets the last one end; how many ended by themselves."""
    source, ended, done = random.Random(seed), 0, 0
    while done < kills:
        child = start(folder, seed + ended, seconds)
        time.sleep(source.uniform(0.02, 1.2))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        look_at_file(folder)
        if os.WIFSIGNALED(status):
            done += 1
            continue
        check_end(folder, seed + ended)
        ended += 1
        for file in folder.glob("db*"):
            file.unlink()
    child = start(folder, seed + ended, 0.0)
    _, status = os.waitpid(child, 0)
    assert status == 0
    check_end(folder, seed + ended)
    return ended


def check_end(folder: Path, seed: int) -> None:
    """What a search that was killed has found is what another one finds."""
    check_trials(open_storage(f"sqlite:///{folder / 'db'}"), NAME, seed)


def check_trials(storage: BaseStorage, name: str, seed: int) -> None:
    """The study has the runs that one search alone makes, each once."""
    problem, bench = problem_and_bench(seed)
    sampler = Planned(1)
    run = Search(open_study(None, "made up", FACTS, sampler), sampler, bench, math.inf, lambda progress: None)
    run.see_versions(problem)
    run.confirm(problem, run.settle(problem).solution.thresholds)
    wanted = [(t.request.phase, t.request.case, t.request.version, t.record) for t in run.timed()]
    found = [(t.request.phase, t.request.case, t.request.version, t.record) for t in stored(storage, name)]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.killed_searches", description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ended = torture(Path(folder), options.kills, options.seed)
    sys.stdout.write(f"{options.kills} searches killed, {ended + 1} came to their end: nothing lost, nothing twice\n")


if __name__ == "__main__":
    main()
