"""Mutation testing: how many small faults of the compiler do the tests find? `python -m tests.support.mutation`.

    record   which tests run which lines, once for the quick tests and once for others of the packages that are mutated
    run      mutants of a random sample, each with the tests that run its lines, until one fails
    planted  the faults of `planted.toml`, made by hand, with the tests that run their lines
    file     all mutants of a file against the tests of some places, without a recording or a journal
    cover    from a recording of `tests/conformance/test_ledger.py` with `--marks ''`: the programs that CI looks at
    report   scores with intervals of 95 %, and the mutants that no test finds

The sample is stratified by file: of mutants 1 .. n of a group, each file has its share, and those of n + 1 are these
and one more. Tests run in copies of the tree under --out, where also the journal is: a later run goes on where the last
one ended. A mutant whose tests exceed their processor time, several times what they took before, is found. What is in
`equivalent.py` counts for nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
import tomllib
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from difflib import unified_diff
from functools import cache
from itertools import accumulate, islice
from os.path import commonpath
from pathlib import Path
from queue import SimpleQueue

import numpy as np

from tests.support.mutation.equivalent import reason
from tests.support.mutation.mutants import Mutant, differs, mutants_of
from tests.support.mutation.record import LINES, ROOT, SECONDS
from tests.support.mutation.scores import interval, together
from tests.support.mutation.zygote import Answer

GROUPS = ("flatten", "ir", "kernels/passes")
MIRRORS = (
    *(f"tests/{folder}" for folder in ("ir", "flatten", "property", "conformance")),
    *(f"tests/kernels/{folder}" for folder in ("passes", "kernel_ir", "analysis")),
)
RECORDED = {"quick": ("quick", ("tests",)), "deep": ("not slow and not quick", MIRRORS)}
"""What is recorded: an expression over marks, and where."""
BASE, SEVERAL = 10.0, 5.0
"""Seconds of processor time that tests have beside several times what they took."""
MOST_TOGETHER = 4
"""Tests that fail only behind others; after this number of them the mutant is not found."""
LEDGERS = ("tests/conformance/test_ledger.py", "tests/property/test_ledger.py")
"""What programs become: whatever changes what is emitted for one of them shows there."""
WALL = 20.0
"""How many times its processor time a run may take on a machine that others use, too."""
ENVIRONMENT = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened to a mutant; `by`: the test that found it."""

    name: str
    group: str
    file: str
    kind: str
    line: int
    found: bool
    by: str
    tests: int
    seconds: float
    old: str
    new: str


# ---- the sample ------------------------------------------------------------------------------------------------------


def sample(group: str, seed: int) -> list[Mutant]:
    """All mutants of a group in the order in which they are taken."""
    ranked: list[tuple[float, Mutant]] = []
    for path in sorted((ROOT / group).rglob("*.py")):
        file = str(path.relative_to(ROOT))
        mutants = mutants_of(file, path.read_text(encoding="utf-8"))
        order = random.Random(f"{seed} {file}")
        order.shuffle(mutants)
        ranked += [((k + order.random()) / len(mutants), mutant) for k, mutant in enumerate(mutants)]
    return [mutant for _, mutant in sorted(ranked, key=lambda one: one[0])]


def is_program(mutant: Mutant) -> bool:
    return differs(mutant, (ROOT / mutant.file).read_bytes())


# ---- which tests -----------------------------------------------------------------------------------------------------


class Recorded:
    """What tests run, by file and line, and how long they take. `most`: seconds of tests for a mutant; `by`: tests that
    have found mutants; `sound`, `unsound`: tests that pass or fail in the trees as they are; `near`, and behind these
    `ledgers`: what takes their place where nothing is recorded of a file."""

    def __init__(self, folder: Path, most: float, by: Iterable[str] = ()) -> None:
        self.most = most
        parts = sorted(path.parent for path in folder.glob(f"*/{SECONDS}"))
        self.seconds: dict[str, float] = {}
        for part in parts:
            self.seconds |= json.loads((part / SECONDS).read_text(encoding="utf-8"))
        self.ran = [json.loads((part / LINES).read_text(encoding="utf-8")) for part in parts]
        self.lines = cache(self._lines)
        self.finds = self._finds(by)
        self.sound: set[str] = set()
        self.unsound: set[str] = set()
        self.near: dict[str, float] = {}
        self.ledgers: dict[str, float] = {}

    def beside(self, files: Iterable[str]) -> None:
        """Takes in the tests near files of which nothing is recorded, and the ledgers of CI."""
        if places := {_mirror(file) for file in files if not self.lines(file)}:
            self.near, self.ledgers = Near(sorted(places)).seconds, Near(list(LEDGERS)).seconds

    def _finds(self, by: Iterable[str]) -> dict[str, float]:
        """How many mutants the tests of a file find in a second; half a mutant and a second more for all."""
        found, took = Counter(map(_file_of, by)), defaultdict[str, float](float)
        for test, seconds in self.seconds.items():
            took[_file_of(test)] += seconds
        return {file: (found[file] + 0.5) / (seconds + 1.0) for file, seconds in took.items()}

    def _lines(self, file: str) -> dict[int, set[str]]:
        """The tests that run each line of a file; those of "" run when it is imported."""
        found: dict[int, set[str]] = defaultdict(set)
        for test, lines in (one for ran in self.ran for one in ran.items()):
            for line in lines.get(file, ()):
                found[line].add(test)
        return found

    def tests(self, mutant: Mutant) -> list[str]:
        """Of the tests that run its lines (of its file, for what an import runs) those that pass: those of files that
        find many mutants first, then those near it in the tree, and fast ones."""
        lines, place = self.lines(mutant.file), f"tests/{mutant.file}"
        found = {test for line in range(mutant.first, mutant.last + 1) for test in lines.get(line, ())}
        if "" in found:
            found = {test for tests in lines.values() for test in tests}
        if not lines:
            folder = _mirror(mutant.file)
            fast = sorted((test for test in self.near if test.startswith(folder)), key=self.near.__getitem__)
            fast = fast[: bisect(list(accumulate(map(self.near.__getitem__, fast))), self.most)]
            return [*fast, *(test for test in self.ledgers if test not in fast)]

        def turn(test: str) -> tuple[float, int, float, str]:
            near = commonpath((test, place)).count("/")
            return -self.finds[_file_of(test)], -near, self.seconds[test], test

        wanted = sorted(found & self.seconds.keys(), key=turn)
        return wanted[: bisect(list(accumulate(map(self.seconds.__getitem__, wanted))), self.most)]

    def collected(self) -> Iterator[str]:
        """All tests that may be asked for."""
        yield from (*self.seconds, *self.near, *self.ledgers)

    def runs_early(self, mutant: Mutant) -> bool:
        """Whether an import runs its lines: a process that has imported everything does not see the change."""
        return any("" in self.lines(mutant.file).get(line, ()) for line in range(mutant.first, mutant.last + 1))


class Near:
    """The tests of some places, all for every mutant: what `Recorded` is where nothing is recorded."""

    def __init__(self, places: list[str]) -> None:
        command = (sys.executable, "-m", "pytest", "-n", "0", "-q", "--collect-only", "-m", "not slow", *places)
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
        took: dict[str, float] = json.loads((ROOT / "tests" / "durations.json").read_text(encoding="utf-8"))
        self.seconds = {test: took.get(test, 0.02) for test in listed if "::" in test}
        self.near: dict[str, float] = {}
        self.sound: set[str] = set()
        self.unsound: set[str] = set()

    def tests(self, mutant: Mutant) -> list[str]:
        return sorted(self.seconds, key=self.seconds.__getitem__)

    def collected(self) -> Iterator[str]:
        yield from self.seconds

    def runs_early(self, mutant: Mutant) -> bool:
        """Nothing is known of that."""
        return False


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _mirror(file: str) -> str:
    """The innermost folder of tests for a file."""
    return next(f"tests/{above}/" for above in Path(file).parents if (ROOT / "tests" / above).is_dir())


def record(out: Path, places: list[str], marks: str) -> int:
    """Runs the tests that RECORDED says, or those of some places and marks, in a copy of the tree."""
    tree = copied(out / "tree-record")
    named = {".".join(places).replace("/", "."): (marks, tuple(places))} if places else RECORDED
    for name, (marks, where) in named.items():
        place = out / "record" / name
        place.mkdir(parents=True, exist_ok=True)
        plugin = ("-p", "tests.support.mutation.record", "-p", "no:cacheprovider")
        command = (sys.executable, "-m", "pytest", "-q", "-n", "0", *plugin, "-m", marks, *where)
        with (place / "log").open("w") as log:
            environment = {**os.environ, "SOAC_MUTATION_RECORD": str(place)}
            subprocess.run(command, cwd=tree, stdout=log, stderr=subprocess.STDOUT, env=environment)
        print((place / "log").read_text().splitlines()[-1])
    return 0


WAYS, LONGEST = 1, 0.8
"""How many programs are to run each line, and the seconds that one may take."""


def cover(recorded: Recorded) -> int:
    """Prints the programs that run each line that one runs: those first that add the most in a second."""
    tests = [test for test in recorded.seconds if "/" in test.partition("[")[2]]
    ran = {test: lines for part in recorded.ran for test, lines in part.items()}
    places: dict[tuple[str, int], int] = {}
    rows = [[places.setdefault((f, x), len(places)) for f, xs in ran[test].items() for x in xs] for test in tests]
    runs = np.zeros((len(tests), len(places)), bool)
    for number, row in enumerate(rows):
        runs[number, row] = True
    seconds = np.array([recorded.seconds[test] for test in tests])
    left, free, chosen = np.full(len(places), WAYS), seconds < LONGEST, list[str]()
    while (gain := np.where(free, runs[:, left > 0].sum(1) / (seconds + 0.05), 0)).max() > 0:
        best = int(gain.argmax())
        chosen.append(tests[best])
        free[best] = False
        left -= runs[best]
    print("\n".join(sorted(test.partition("[")[2].rstrip("]") for test in chosen)))
    return 0


# ---- one mutant ------------------------------------------------------------------------------------------------------


def copied(tree: Path) -> Path:
    """A copy of the files that git knows or does not ignore, with code compiled ahead for the imports."""
    shutil.rmtree(tree, ignore_errors=True)
    listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0"):
        if name and (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    folders = ("soac", "flatten", "ir", "kernels", "frontend", "autotune", "tests")
    subprocess.run((sys.executable, "-m", "compileall", "-q", *folders), cwd=tree)
    return tree


class Worker:
    """A copy of the tree, and a process in it that has collected the recorded tests and forks for each mutant."""

    def __init__(self, tree: Path, recorded: Recorded | Near) -> None:
        self.tree, self.recorded = copied(tree), recorded
        (tree / "tests.txt").write_text("\n".join(set(map(_file_of, recorded.collected()))))
        (commands, self.asked), (answered, answers) = os.pipe(), os.pipe()
        plugin = ("-p", "tests.support.mutation.zygote", "-p", "no:cacheprovider", "--hypothesis-profile=first failure")
        self.process = subprocess.Popen(
            (sys.executable, "-m", "pytest", "-n", "0", "-q", "-m", "", *plugin, "@tests.txt"),
            cwd=tree,
            env={**ENVIRONMENT, "SOAC_MUTATION_FILES": f"{commands} {answers}"},
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self.answers = os.fdopen(answered)
        if self.answers.readline().strip() != Answer.READY:
            raise RuntimeError("the tests cannot be collected")

    def failing(self, file: str | None, tests: list[str], *, early: bool = False) -> str:
        """The test that fails, what else ends the run, or nothing. `file`: the one that is changed; `early`: in what an
        import runs, too."""
        if not tests:
            return ""
        limit = BASE + SEVERAL * sum(self.recorded.seconds.get(test, 0.1) for test in tests)
        command = {"file": file, "tests": tests, "cpu": limit, "wall": limit * WALL}
        os.write(self.asked, (json.dumps(command) + "\n").encode())
        match self.answers.readline().strip():
            case Answer.PASSED:
                return _failing(tests, limit, self.tree) if early else ""
            case Answer.OTHER:
                return _failing(tests, limit, self.tree)
            case other:
                return other


def tried(mutant: Mutant, group: str, worker: Worker) -> Outcome:
    """The tests on the mutant; the tree is afterwards as it was. A test counts that fails by itself with the mutant,
    and not without it."""
    path, sound, unsound = worker.tree / mutant.file, worker.recorded.sound, worker.recorded.unsound
    tests = [test for test in worker.recorded.tests(mutant) if test not in unsound]
    early = worker.recorded.runs_early(mutant)
    source, start = path.read_bytes(), time.monotonic()
    changed = mutant.applied(source)
    old, new = (_line_at(text, mutant.start) for text in (source, changed))
    by, behind = "", 0
    while behind < MOST_TOGETHER:
        with _written(path, changed):
            by = worker.failing(mutant.file, tests, early=early)
            alone = by if by not in tests else worker.failing(mutant.file, [by], early=early)
        if by not in tests or (alone and (by in sound or not worker.failing(None, [by]))):
            break
        behind += not alone
        unsound.update([by] * bool(alone))
        tests.remove(by)
        by = ""
    sound.add(by)
    took = round(time.monotonic() - start, 1)
    line = source[: mutant.start].count(b"\n") + 1
    return Outcome(mutant.name, group, mutant.file, mutant.kind, line, bool(by), by, len(tests), took, old, new)


@contextmanager
def _written(path: Path, changed: bytes) -> Iterator[None]:
    """A file with another text. Compiled code is found by whole seconds and sizes, hence a time that no other has."""
    source, times = path.read_bytes(), (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    path.write_bytes(changed)
    os.utime(path, (time.time(), 1_000_000_000 + random.SystemRandom().randrange(700_000_000)))
    try:
        yield
    finally:
        path.write_bytes(source)
        os.utime(path, ns=times)


def _line_at(text: bytes, start: int) -> str:
    number = text[:start].count(b"\n")
    return "\n".join(text.decode().splitlines()[number : number + 3])


def _failing(tests: list[str], limit: float, tree: Path) -> str:
    """The same in a new process."""
    (tree / "tests.txt").write_text("\n".join(tests), encoding="utf-8")
    options = ("-n", "0", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-m", "")
    command = ("prlimit", f"--cpu={int(limit)}", sys.executable, "-m", "pytest", *options, "@tests.txt")
    try:
        child = subprocess.run(command, cwd=tree, env=ENVIRONMENT, capture_output=True, text=True, timeout=limit * WALL)
    except subprocess.TimeoutExpired:
        return Answer.TIME
    if child.returncode <= 0:
        return "" if child.returncode == 0 else Answer.TIME
    failed = [line for line in child.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0].partition(" ")[2] if failed else Answer.ENDED


def of_file(out: Path, file: str, places: list[str]) -> int:
    """All mutants of a file, those that nothing finds printed as they come."""
    worker, found, count = Worker(out / "tree-file", Near(places)), 0, 0
    for mutant in filter(is_program, mutants_of(file, (ROOT / file).read_text(encoding="utf-8"))):
        made = tried(mutant, "file", worker)
        counts = made.found or reason(file, made.old, made.new) is None
        count, found = count + counts, found + made.found
        if counts and not made.found:
            print(_shown(made), flush=True)
    print(f"{found} of {count}")
    return 0


def planted(out: Path, most: float, only: str, file: Path) -> int:
    """The faults of `file` whose file or kind has this in it, each with the tests that run its lines."""
    recorded, missed = Recorded(out / "record", most), 0
    listed = tomllib.loads(file.read_text(encoding="utf-8"))["fault"]
    faults = [fault for fault in listed if only in f"{fault['file']} {fault['kind']}"]
    recorded.beside(fault["file"] for fault in faults)
    worker = Worker(out / "tree-planted", recorded)
    for number, fault in enumerate(faults):
        source = (ROOT / fault["file"]).read_bytes()
        start, old = source.index(fault["old"].encode()), fault["old"].encode()
        first = source[:start].count(b"\n") + 1
        lines = first, first + old.count(b"\n")
        mutant = Mutant(fault["file"], fault["kind"], start, start + len(old), fault["new"], *lines, str(number))
        made = tried(mutant, "planted", worker)
        missed += not made.found
        print(f"{fault['kind']} | {fault['file']} | {made.by or 'NOT FOUND'} | {made.seconds} s", flush=True)
    return 1 if missed else 0


# ---- runs ------------------------------------------------------------------------------------------------------------


def journal(out: Path) -> dict[str, Outcome]:
    """The last outcome of each mutant."""
    path = out / "journal.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {made.name: made for made in (Outcome(**json.loads(line)) for line in lines)}


def run(out: Path, most: float, count: int, seed: int, jobs: int, again: bool, only: str) -> int:
    """The first `count` mutants of each group that has `only` in its name; `again`: those of the journal that no test
    has found."""
    known = journal(out)
    recorded = Recorded(out / "record", most, (made.by for made in known.values()))
    groups = [group for group in GROUPS if only in group]
    taken = {group: list(islice(filter(is_program, sample(group, seed)), count)) for group in groups}
    turns = [(group, ms[k]) for k in range(count) for group, ms in taken.items() if k < len(ms)]
    missed = {name for name, made in known.items() if not made.found}
    recorded.beside(mutant.file for _, mutant in turns)
    todo = [one for one in turns if one[1].name not in known or (again and one[1].name in missed)]
    workers: SimpleQueue[Worker] = SimpleQueue()
    for k in range(jobs):
        workers.put(Worker(out / f"tree-{k}", recorded))

    def one(group: str, mutant: Mutant) -> Outcome:
        worker = workers.get()
        try:
            return tried(mutant, group, worker)
        finally:
            workers.put(worker)

    with ThreadPoolExecutor(jobs) as pool, (out / "journal.jsonl").open("a", encoding="utf-8") as log:
        for made in (done.result() for done in as_completed([pool.submit(one, *given) for given in todo])):
            print(json.dumps(asdict(made)), file=log, flush=True)
            print(f"{made.file}:{made.line} {made.kind}: {made.by or 'NOT FOUND'} ({made.seconds} s)", flush=True)
    return report(out)


# ---- scores ----------------------------------------------------------------------------------------------------------


def report(out: Path) -> int:
    """Prints the survivors and the scores, of sources as they are now."""
    known, shares = journal(out), list[tuple[float, int, int]]()
    all_of = {group: sample(group, 0) for group in GROUPS}
    for group, mutants in all_of.items():
        made = [known[mutant.name] for mutant in mutants if mutant.name in known]
        counted = [one for one in made if one.found or reason(one.file, one.old, one.new) is None]
        found = sum(one.found for one in counted)
        shares.append((len(mutants) / sum(map(len, all_of.values())), found, len(counted)))
        print("\n".join(_shown(one) for one in counted if not one.found))
        score = _score(found / max(1, len(counted)), *interval(found, len(counted)))
        others = f"{len(made) - len(counted)} more change nothing; {len(mutants)} mutants in all"
        print(f"{group}: {score}, {found} of {len(counted)} ({others})\n")
    print(f"all: {_score(*together(shares))}")
    return 0


def _shown(one: Outcome) -> str:
    diff = unified_diff(one.old.splitlines(), one.new.splitlines(), one.file, f"{one.kind}, {one.name}", n=0)
    return "\n".join([*(line.rstrip() for line in diff), f"line {one.line}, {one.tests} tests\n"])


def _score(share: float, low: float, high: float) -> str:
    return f"{share:.1%} [{low:.1%}, {high:.1%}]"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.mutation", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("command", choices=("record", "run", "report", "planted", "file", "cover"))
    parser.add_argument("places", nargs="*", help="record: tests; planted: a list of faults; file: a file, then tests")
    parser.add_argument("--out", type=Path, default=ROOT / "nightly-out" / "mutation")
    parser.add_argument("--count", type=int, default=500, help="mutants of each group")
    parser.add_argument("--most", type=float, default=120, help="seconds of tests that a mutant gets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--marks", default="not slow", help="record: which tests of the places")
    parser.add_argument("--again", action="store_true", help="try those again that no test has found")
    parser.add_argument("--only", default="", help="groups, or planted faults by file or kind, with this in it")
    given = parser.parse_intermixed_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    match given.command:
        case "record":
            return record(out, given.places, given.marks)
        case "cover":
            return cover(Recorded(out / "record", 0.0))
        case "file":
            return of_file(out, given.places[0], given.places[1:])
        case "planted":
            faults = Path(given.places[0]) if given.places else Path(__file__).with_name("planted.toml")
            return planted(out, given.most, given.only, faults)
        case "run":
            return run(out, given.most, given.count, given.seed, given.jobs, given.again, given.only)
        case _:
            return report(out)


if __name__ == "__main__":
    sys.exit(main())
