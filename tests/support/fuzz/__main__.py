"""Every reader on inputs that are almost right: `python -m tests.support.fuzz --reader NAME --count N --seed S`.

Input k of a reader follows from (reader, seed, k) alone. Workers read them one after another, each within limits: a
reader gives a value or refuses with a diagnostic, which is shown. What is counted as a fault:

    any other exception        a traceback
    SECONDS of processor time  a hang: the worker is ended by SIGPROF, also inside of compiled code
    MEMORY bytes               address space beyond what the worker had at first, or resident
    another end of the worker  a crash

Faults are printed once for each kind, and their inputs written to `--out`. Without `--reader` all of them share the
count by their weights. Ends with 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import resource
import signal
import struct
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from soac.cli import STACK
from tests.support.fuzz.readers import READERS, Reader, Refused

SECONDS = 5.0
MEMORY = 1 << 30
STATE = struct.Struct("<3q")
"""What a worker shares with the parent: the input in hand, and how many it has read and refused."""

RECYCLED = 20_000  # inputs after which a worker is replaced


@dataclass(slots=True)
class Tally:
    """What came of the inputs of a reader."""

    read: int = 0
    refused: int = 0
    largest: int = 0
    slowest: float = 0.0
    peak: int = 0
    seconds: float = 0.0
    faults: dict[str, list[int]] = field(default_factory=dict)

    def add(self, said: dict[str, float]) -> None:
        self.largest = max(self.largest, int(said["largest"]))
        self.slowest = max(self.slowest, said["slowest"])
        self.peak = max(self.peak, int(said["peak"]))

    def fault(self, kind: str, number: int) -> None:
        self.faults.setdefault(kind, []).append(number)


def input_of(reader: Reader, seed: int, number: int) -> bytes:
    return reader.make(Random(f"{reader.name} {seed} {number}"))


# ---- a worker


def work(reader: Reader, seed: int, numbers: range, at: mmap.mmap, pipe: int) -> None:
    """Reads inputs, notes in `at` which, and writes a line for every fault and one for all the rest."""
    with tempfile.TemporaryDirectory() as folder, os.fdopen(pipe, "w") as out:
        os.chdir(folder)
        sys.stdin, sys.stdout, sys.stderr = (open(os.devnull, mode) for mode in ("r", "w", "w"))  # noqa: SIM115
        reader.read(input_of(reader, seed, -1))  # loads what it needs
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
        thread = threading.Thread(target=_read_all, args=(reader, seed, numbers, at, out))
        thread.start()
        thread.join()


def _read_all(reader: Reader, seed: int, numbers: range, at: mmap.mmap, out) -> None:  # type: ignore[no-untyped-def]
    done: dict[str, Any] = {"read": 0, "refused": 0, "largest": 0, "slowest": 0.0, "peak": 0}
    following = numbers.start
    for number in numbers:
        following = number + numbers.step
        at[:] = STATE.pack(number, done["read"], done["refused"])
        data = input_of(reader, seed, number)
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            outcome = reader.read(data)
            done["refused" if outcome is Refused.REFUSED else "read"] += 1
        except BaseException:
            out.write(json.dumps({"number": number, "fault": _where(traceback.format_exc())}) + "\n")
        signal.setitimer(signal.ITIMER_PROF, 0)
        done["slowest"] = max(done["slowest"], time.process_time() - begin)
        done["largest"] = max(done["largest"], len(data))
        done["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        if done["peak"] > MEMORY:
            out.write(json.dumps({"number": number, "fault": f"{done['peak'] >> 20} MiB resident"}) + "\n")
            break
    out.write(json.dumps(done) + "\n")
    out.flush()
    at[:] = STATE.pack(following, done["read"], done["refused"])


def _where(trace: str) -> str:
    """The last frame and the exception, which tell one fault from another."""
    lines = [line.strip() for line in trace.strip().splitlines()]
    frames = [line for line in lines if line.startswith("File ")]
    said = re.sub(r"[0-9]{2,}|'.*?'|`.*?`", "..", lines[-1])[:160]
    return f"{said}  [{'; '.join(frames[-3:])}]"


# ---- the parent


def run(reader: Reader, seed: int, start: int, count: int, jobs: int) -> Tally:
    tally, begin = Tally(), time.monotonic()
    waiting = [range(start + k, start + count, jobs) for k in range(jobs)]
    running: dict[int, tuple[range, mmap.mmap, int]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            numbers = waiting.pop()
            if numbers:
                pid, at, pipe = _start(reader, seed, numbers[:RECYCLED])
                running[pid] = (numbers, at, pipe)
        if running:
            pid, status = os.wait()
            numbers, at, pipe = running.pop(pid)
            waiting.append(_ended(tally, numbers, at, pipe, status))
    tally.seconds = time.monotonic() - begin
    return tally


def _start(reader: Reader, seed: int, numbers: range) -> tuple[int, mmap.mmap, int]:
    at = mmap.mmap(-1, STATE.size)
    at[:] = STATE.pack(numbers.start, 0, 0)
    ours = os.memfd_create("faults")
    theirs = os.dup(ours)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        threading.stack_size(STACK)
        code = 1
        try:
            work(reader, seed, numbers, at, theirs)
            code = 0
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(code)
    os.close(theirs)
    return child, at, ours


def _ended(tally: Tally, numbers: range, at: mmap.mmap, pipe: int, status: int) -> range:
    """Notes what a worker has said; the inputs that are left."""
    number, read, refused = STATE.unpack(at[:])
    tally.read, tally.refused = tally.read + read, tally.refused + refused
    os.lseek(pipe, 0, os.SEEK_SET)
    with os.fdopen(pipe) as said:
        for line in map(json.loads, said):
            tally.fault(line["fault"], line["number"]) if "fault" in line else tally.add(line)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        tally.fault(f"hang: {SECONDS:g} s" if name == "SIGPROF" else f"ended by {name}", number)
        number += numbers.step
    elif os.WEXITSTATUS(status):
        tally.fault("the worker failed", number)
        number = numbers.stop
    return range(number, numbers.stop, numbers.step)


def report(reader: Reader, seed: int, count: int, tally: Tally, out: Path) -> None:
    faults = sum(map(len, tally.faults.values()))
    print(
        f"{reader.name}: {count} inputs (seed {seed}), {tally.read} read, {tally.refused} refused, {faults} faults; "
        f"at most {tally.largest} bytes, {tally.slowest:.2f} s, {tally.peak >> 20} MiB; {tally.seconds:.0f} s",
        flush=True,
    )
    for kind, numbers in tally.faults.items():
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"{reader.name}-{seed}-{numbers[0]}"
        file.write_bytes(input_of(reader, seed, numbers[0]))
        print(f"  {len(numbers)} times: {kind}\n    input {numbers[0]}: {file}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.fuzz", description="Readers on fuzzed inputs.")
    parser.add_argument("--reader", choices=sorted(READERS))
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="number of the first input")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "soac-fuzz")
    asked = parser.parse_args()
    chosen = [READERS[asked.reader]] if asked.reader else list(READERS.values())
    weights = sum(reader.weight for reader in chosen)
    total: Counter[str] = Counter()
    for reader in chosen:
        count = asked.count * reader.weight // weights
        tally = run(reader, asked.seed, asked.start, count, asked.jobs)
        report(reader, asked.seed, count, tally, asked.out.resolve())
        total["inputs"] += count
        total["faults"] += sum(map(len, tally.faults.values()))
    print(f"{total['inputs']} inputs, {total['faults']} faults")
    return int(total["faults"] > 0)


if __name__ == "__main__":
    sys.exit(main())
