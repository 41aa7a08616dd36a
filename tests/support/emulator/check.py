"""Kernels for a GPU, checked without one.

    python -m tests.support.emulator.check [FILE..] [--all] [--random N] [--seconds S] [--json FILE]

Each program is compiled for a GPU; its kernels are compiled for sm_90, and traced and emulated with every small case of
its test blocks on every version (`checks.py`). `--all` takes every program of programs/, tests/regress/ and
tests/conformance/; random programs are those of tests/property.

After `--seconds` of a program only versions that have not been run are; few seconds leave out sizes, no versions.

Programs run in processes of their own, `--jobs` at a time. What was found is written to the file of `--json` each time,
and the same command goes on from there. After a change of the sources the programs are compiled again, and those run
that have become something else; all of them where the code that runs them has changed. Where NVRTC or a C++ compiler
is missing, that part is left out, and said so; the exit code is then 3, with faults 1.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any

from soac.kernels.devices.cuda.nvrtc import GET_NVRTC
from soac.kernels.devices.cuda.ptxas_report import Resources
from tests.support.emulator.checks import ARCH, ORDERS, Outcome, check, has_nvrtc
from tests.support.emulator.emulate import COMPILER
from tests.support.emulator.subjects import ROOT, Subject, corpus, of_file, of_number

SOURCES = ("ir", "frontend", "flatten", "kernels", "soac", "programs", "tests")
"""What the outcome depends on, beside the machine."""
RUNNERS = (
    "ir/scalar.py", "kernels/devices/cuda", "kernels/kernel_ir/values.py", "kernels/tracer",
    "tests/support/emulator/checks.py", "tests/support/emulator/cuda_emulator.h", "tests/support/emulator/driver.py",
    "tests/support/emulator/emulate.py", "tests/support/emulator/ways.py",
)  # fmt: skip
"""The sources that run what a program is compiled to."""
FORMAT = 5
PROGRAMS_EACH = 40
"""That a process checks before it ends: what kernels leave in memory stays until then."""
NAMES = ("skipped", "misfits", "not_traced", "not_emulated")


@dataclass(frozen=True, slots=True)
class Asked:
    """A program: a file, or a random one by seed and number."""

    name: str
    path: Path | None
    seed: int
    number: int
    seconds: float | None = None

    def subject(self) -> Subject:
        made = of_number(self.seed, self.number) if self.path is None else of_file(self.path)
        return replace(made, seconds=self.seconds)


# ---- a process that checks ---------------------------------------------------------------------------------------


def checked(asked: Asked, before: frozenset[str], earlier: Outcome | None) -> Outcome:
    """What was found out; a program that our code fails on has that as its fault. `before`: forms of kernels that have
    been reached; `earlier`: what was found with other sources."""
    try:
        return check(asked.subject(), before, earlier)
    except Exception:
        return Outcome([traceback.format_exc(limit=-4)])


def serve(pipe: Connection) -> None:
    """Checks the programs that come through the pipe."""
    while (asked := pipe.recv()) is not None:
        pipe.send(checked(*asked))


@dataclass(slots=True)
class Worker:
    """A process that checks one program after the other; emulated code that is wrong can end it."""

    process: Any = None
    pipe: Any = None
    begun: int = 0

    def check(self, asked: Asked, before: frozenset[str], earlier: Outcome | None) -> Outcome:
        pipe = self.started() if self.pipe is None or self.begun == PROGRAMS_EACH else self.pipe
        self.begun += 1
        try:
            pipe.send((asked, before, earlier))
            return pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            self.pipe = None
            return Outcome([f"the process that ran it has ended with {self.process.exitcode}"])

    def started(self) -> Any:
        self.stop()
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,))
        self.process.start()
        theirs.close()
        self.begun = 0
        return self.pipe

    def stop(self) -> None:
        if self.pipe is not None:
            self.pipe.send(None)
            self.process.join()
            self.pipe = None


# ---- the whole run -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Run:
    """What has been found so far, of sources with this digest, and `earlier` with others; `file` holds it."""

    file: Path | None
    sources: str
    found: dict[str, Outcome] = field(default_factory=dict)
    earlier: dict[str, Outcome] = field(default_factory=dict)
    as_before: int = 0
    seconds: float = 0.0
    lock: Lock = field(default_factory=Lock)

    def note(self, asked: Asked, found: Outcome, seconds: float) -> None:
        with self.lock:
            earlier = self.earlier.pop(asked.name, None)
            same = earlier is not None and earlier.made_of == found.made_of
            self.found[asked.name] = found
            self.as_before += same
            self.seconds += seconds
            print(f"{asked.name}: {'as before: ' if same else ''}{said_of(found)}", flush=True)
            self.write()

    def reached(self) -> frozenset[str]:
        """The forms of the kernels that programs so far have traced and emulated."""
        with self.lock:
            return frozenset(form for one in self.found.values() for form in one.forms)

    def write(self) -> None:
        """Old or new, never torn."""
        if self.file is None:
            return
        report = {
            "format": FORMAT, "arch": ARCH, "orders": ORDERS, "left_out": missing(), "sources": self.sources,
            "runners": digest(RUNNERS), "commit": commit(), "seconds": round(self.seconds, 1),
            "as_before": self.as_before, "total": total(self.found),
            "programs": {name: asdict(one) for name, one in self.found.items()},
            "earlier": {name: asdict(one) for name, one in self.earlier.items()},
        }  # fmt: skip
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        os.replace(fresh, self.file)


def begun(file: Path | None) -> Run:
    """A run, or what is left of it."""
    sources = digest()
    run = Run(file, sources)
    if file is None or not file.is_file():
        return run
    known = json.loads(file.read_text(encoding="utf-8"))
    if (known.get("format"), known.get("runners")) != (FORMAT, digest(RUNNERS)):
        print(f"{file} is of other sources: from the start", flush=True)
        return run
    found, earlier = ({name: _outcome(one) for name, one in known[part].items()} for part in ("programs", "earlier"))
    if known["sources"] != sources:
        print(f"{file} is of other sources: what they compile to the same is not run again", flush=True)
        run.earlier = {**earlier, **found}
        return run
    run.found, run.earlier, run.as_before, run.seconds = found, earlier, known["as_before"], known["seconds"]
    return run


def _outcome(one: dict) -> Outcome:
    kernels = {name: Resources(**use) for name, use in one["kernels"].items()}
    return Outcome(**{**one, "kernels": kernels})


def digest(folders: Sequence[str] = SOURCES) -> str:
    """Of the sources there."""
    sha = hashlib.sha256()
    for path in sorted(path for folder in folders for path in files_of(ROOT / folder)):
        if path.is_file() and "__pycache__" not in path.parts:
            sha.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return sha.hexdigest()


def files_of(path: Path) -> Iterator[Path]:
    return path.rglob("*.*") if path.is_dir() else iter([path])


def commit() -> str | None:
    """The commit that is checked out, where git knows; sources may have been changed since."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def check_all(run: Run, programs: list[Asked], jobs: int) -> None:
    """Those that have not been checked, `jobs` at a time."""
    left = iter([asked for asked in programs if asked.name not in run.found])
    lock = Lock()

    def take() -> Asked | None:
        with lock:
            return next(left, None)

    def work() -> None:
        worker = Worker()
        while (asked := take()) is not None:
            start = time.monotonic()
            run.note(asked, worker.check(asked, run.reached(), run.earlier.get(asked.name)), time.monotonic() - start)
        worker.stop()

    with ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(work) for _ in range(jobs)]:
            done.result()


# ---- the command -------------------------------------------------------------------------------------------------


def main() -> int:
    asked = _arguments()
    files = [*asked.files, *(corpus() if asked.all else ())]
    programs = [Asked(_name(path), path, 0, 0, asked.seconds) for path in files]
    numbers = range(asked.first, asked.first + asked.random)
    programs += [Asked(f"random {asked.seed} {k}", None, asked.seed, k, asked.seconds) for k in numbers]
    for what in missing():
        print(f"LEFT OUT: {what}", flush=True)
    run = begun(asked.json)
    check_all(run, programs, asked.jobs)
    run.found = {one.name: run.found[one.name] for one in programs}
    run.write()
    _show(run)
    bad = sum(bool(one.faults) for one in run.found.values())
    print(f"{len(run.found)} programs ({run.as_before} as before), {bad} with faults; {said(total(run.found))}")
    if digest() != run.sources:
        print("the sources have been changed meanwhile: this is of several trees")
        return 1
    return 1 if bad else 3 if missing() else 0


def _name(path: Path) -> str:
    path = path.resolve()
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.support.emulator.check", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--all", action="store_true", help="every program of the repository")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="number of random programs")
    parser.add_argument("--first", type=int, default=0, metavar="K", help="the number of the first of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="of the processor, for the tracer and all orders of each program")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--json", type=Path, help="write everything to this file; if it is there, go on from it")
    return parser.parse_args()


def missing() -> list[str]:
    without_nvrtc = [] if has_nvrtc() else [f"compiling for sm_90 (NVRTC is missing: {GET_NVRTC})"]
    return without_nvrtc + ([] if COMPILER is not None else ["emulation (no C++ compiler: install g++ or clang++)"])


def said_of(found: Outcome) -> str:
    if found.faults:
        return f"FAULT {found.faults[0][:1500]}"
    more = [f"{len(getattr(found, name))} {name.replace('_', ' ')}" for name in NAMES if getattr(found, name)]
    counts = f"{len(found.kernels)} kernels, {found.traced} traced, {found.ran} emulated"
    slower = [f"{found.slower} slower cases left out"] if found.slower else []
    return ", ".join([counts, *slower, *more, f"{found.seconds:.1f} s"])


def total(found: dict[str, Outcome]) -> dict[str, int]:
    """Sums over programs."""
    all_of = found.values()
    return {
        "kernels": sum(len(one.kernels) for one in all_of),
        "spill": sum(use.spills for one in all_of for use in one.kernels.values()),
        "traced": sum(one.traced for one in all_of),
        "emulated": sum(one.ran for one in all_of),
        "slower": sum(one.slower for one in all_of),
        **{name: sum(len(getattr(one, name)) for one in all_of) for name in NAMES},
    }


def said(sums: dict[str, int]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sums.items())


def _show(run: Run) -> None:
    """The kernels that spill, those that take most registers and shared memory, and what was left out."""
    kernels = [(name, kernel, use) for name, one in run.found.items() for kernel, use in one.kernels.items()]
    most = sorted(kernels, key=lambda one: -one[2].registers)[:10] + sorted(kernels, key=lambda one: -one[2].shared)[:5]
    shown = [one for one in kernels if one[2].spills] + [one for one in most if not one[2].spills]
    print(f"{'kernel':<70} {'registers':>9} {'spilled':>8} {'stack':>6} {'shared':>7}")
    for name, kernel, use in dict.fromkeys(shown):
        spilled = use.spill_stores + use.spill_loads
        label = f"{Path(name).name} {kernel}"[:70]
        print(f"{label:<70} {use.registers:>9} {spilled:>8} {use.stack:>6} {use.shared:>7}")
    for line in _left_out(run.found):
        print(line)


def _left_out(found: dict[str, Outcome]) -> Iterator[str]:
    for name, one in found.items():
        yield from (f"{name}: skipped {what}" for what in one.skipped)
        for kind, kernels in (("traced", one.not_traced), ("emulated", one.not_emulated)):
            if kernels:
                yield f"{name}: never {kind}: {', '.join(kernels)}"


if __name__ == "__main__":
    sys.exit(main())
