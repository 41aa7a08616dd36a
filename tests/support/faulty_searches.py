"""Searches on a device that faults, hangs and stays broken: `python -m tests.support.faulty_searches --faults 200`.

Entries are made up; where a run takes a side that fails, the process that times is killed, ends, hangs, or reports an
error after which everything fails (a sticky error). In the end the study must have the trials of a search in which such
sides fail in a plain way, each once, those failed that failed there, and the tuning file the same thresholds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

from benchmarks.synthetic import MadeUp, entry, takes
from soac.autotune.isolated import Isolated, Message, say_through
from soac.autotune.measure import UNTUNED, Record, Version
from soac.autotune.model import FAILS, Side
from soac.autotune.observe import Piece, Status
from soac.autotune.search import Bench, Problem, Search
from soac.autotune.store import Facts, Planned, Request, Timed, open_beside, open_study
from soac.autotune.tuning import read_tuning, write_tuning
from soac.tuning.isolated_run import Say, messages_from_parent, serve

FACTS = Facts("program", "made up", "1")
FAILING = 0.5
CASES = 4
FAULTS = ("kill", "end", "hang", "stick")
NAMES = tuple(f"main.t{k}" for k in range(20))
TEXT = "def main = 1"


# ---- the child ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Device:
    """Runs made-up entries; says what it reaches, and fails in its way. Its clock goes by the times of the entry."""

    truth: tuple[Side, ...]
    say: Say
    is_broken: bool = False
    clock: float = 0.0

    def answer(self, message: Message, request: Request) -> Record:
        if not self.reaches(request.case, request.version):
            piece = Piece(0.001, 1, Status.FAILED, {})
            return Record(Status.FAILED, (0.001,), piece, (), None, "an illegal address")
        if request.version != UNTUNED and not message["alone"]:
            self.reaches(request.case, UNTUNED)
        return MadeUp(self.truth)(request)

    def reaches(self, case: int, version: Version) -> bool:
        """Whether the run comes to its end, or it ends everything."""
        self.say({"began": version == UNTUNED})
        if self.is_broken:
            return False
        return self.runs(self.truth[case], version, f"{case} {sorted(version.forced.items())}")

    def runs(self, side: Side, version: Version, what: str) -> bool:
        if side.seconds == FAILS:
            return self.fails(FAULTS[crc32(what.encode()) % len(FAULTS)])
        self.clock += side.seconds
        for guard in side.guards:
            taken = takes(guard, version)
            for name, par in zip(guard.thresholds, guard.pars, strict=True):
                self.say({"note": [name, par, taken]})
            self.say({"begin": [guard.thresholds, self.clock]})
            if not self.runs(guard.then if taken else guard.orelse, version, what):
                return False
            self.say({"end": self.clock})
        return True

    def fails(self, how: str) -> bool:
        match how:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "end":
                os._exit(3)
            case "hang":
                time.sleep(1000)
            case _:
                pass
        self.is_broken = True
        os.kill(os.getpid(), signal.SIGSEGV)
        return False


def child(descriptor: int) -> None:
    messages, say = messages_from_parent(), say_through(descriptor)
    device = Device(entry(next(messages)["seed"], CASES, FAILING)[1], say)
    serve(device.answer, messages, say)


# ---- the parent ---------------------------------------------------------------------------------------------------


def searched(folder: Path | None, seed: int, bench: Bench) -> tuple[list[Timed], dict[str, int]]:
    """The trials and the thresholds of a whole search; written to and read from a tuning file in `folder`."""
    branches, truth = entry(seed, CASES, FAILING)
    problem = Problem(branches, tuple(f"#{k}" for k in range(len(truth))), {})
    sampler = Planned(1)

    def run(search: Search) -> tuple[list[Timed], dict[str, int]]:
        search.see_versions(problem)
        found = dict(search.settle(problem).solution.thresholds)
        return search.timed(), found

    if folder is None:
        return run(Search(open_study(None, "made up", FACTS, sampler), sampler, bench, math.inf, lambda _: None))
    with open_beside(folder / f"db{seed}") as storage:
        study = open_study(storage, "made up", FACTS, sampler)
        trials, found = run(Search(study, sampler, bench, math.inf, lambda _: None))
    write_tuning(folder / "tuning", found, {})
    return trials, dict(read_tuning(folder / "tuning", NAMES, TEXT, None)[0])


@dataclass(frozen=True, slots=True)
class Plain:
    """A device on which sides fail in a plain way; as when programs are run, nothing is timed beside what fails."""

    bench: MadeUp

    def __call__(self, request: Request) -> Record:
        record = self.bench(request)
        return record if record.status is Status.ENDED else replace(record, untuned=(), untuned_piece=None)


def check_search(folder: Path, seed: int, patience: float) -> int:
    """One search on the faulty device beside one in which sides fail in a plain way; the runs that failed."""
    command = [sys.executable, "-m", "tests.support.faulty_searches", "--child"]
    bench = Isolated(command, os.environ, {"seed": seed}, patience=patience)
    try:
        trials, found = searched(folder, seed, lambda request: bench(replace(request, limit=None)))
    finally:
        bench.close()
    plain, wanted = searched(None, seed, Plain(MadeUp(entry(seed, CASES, FAILING)[1])))
    assert sorted(map(outline_of, trials)) == sorted(map(outline_of, plain)), seed
    assert found == wanted, seed
    return sum(trial.record.status is Status.FAILED for trial in trials)


def outline_of(timed: Timed) -> str:
    """What is the same however a side fails."""
    request = timed.request
    return json.dumps([request.case, sorted(request.version.forced.items()), timed.record.status.value])


def torture(faults: int, seed: int, patience: float = 0.5) -> tuple[int, int]:
    """Searches until there were `faults` faults; their number and that of the searches."""
    done, searches = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        while done < faults:
            done += check_search(Path(folder), seed + searches, patience)
            searches += 1
    return done, searches


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.faulty_searches", description=__doc__)
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--child", type=int)
    options = parser.parse_args()
    if options.child is not None:
        child(options.child)
        return
    done, searches = torture(options.faults, options.seed)
    sys.stdout.write(f"{done} faults in {searches} searches: no trial lost or repeated, all tuning files right\n")


if __name__ == "__main__":
    main()
