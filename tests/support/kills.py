"""Commands that are killed, or lack something: `python -m tests.support.kills --count 300 --seed 1`.

A child runs a command in a folder with a program, a cache, a study and outputs; it is ended by SIGKILL or Ctrl-C at a
random moment, or has too little disk or memory. Whatever happens:

    no entry of the cache, tuning file, database or output is torn
    what is said is a message, no traceback; Ctrl-C ends with 130
    the same command afterwards gives what it gives otherwise

Children are forked from this process, which has loaded all modules, so that the moment falls into the command's work;
every fifth is a new interpreter.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from soac.__main__ import main as soac
from soac.autotune.tuning import parse_setting
from soac.kernels.devices import disk_cache

ROOT = Path(__file__).parents[2]
PROGRAM = """-- ==
-- input { [[1, 2], [3, 4]] } output { [3, 7] }
-- random input { [20][30]i32 }
def main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 xs) xss
"""
COMMANDS = {
    "run": ("run", "a.soac", "[[1, 2], [3, 4]]"),
    "test": ("test", "-j", "1", "--all-versions", "--json", "tested.json", "a.soac"),
    "autotune": ("autotune", "--runs", "1", "--trials", "2", "a.soac"),
    "compile": ("compile", "a.soac", "-o", "out"),
    "dataset": ("dataset", "-g", "[100000]i32", "-o", "xs.in"),
}
SHORTAGES = ("disk", "memory")
LIMIT = 120  # seconds that a command may take


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: exit code, negative for a signal, and what it said."""

    code: int
    out: str
    err: str


@dataclass(slots=True)
class Child:
    """A command under way."""

    pid: int
    folder: Path

    def ended(self) -> Ended:
        _, status = os.waitpid(self.pid, 0)
        files = (self.folder / name for name in ("stdout", "stderr"))  # neither is there if it ended at once
        out, err = (file.read_text(errors="replace") if file.exists() else "" for file in files)
        return Ended(os.waitstatus_to_exitcode(status), out, err)


def start(folder: Path, words: tuple[str, ...], fresh: bool, limit: Callable[[], None] = lambda: None) -> Child:
    """Runs a command in `folder`, in a fork of this process or a `fresh` one; `limit` is called in it first."""
    for name in ("stdout", "stderr"):
        (folder / name).unlink(missing_ok=True)
    pid = os.fork()
    if pid:
        return Child(pid, folder)
    try:
        os.chdir(folder)
        for name, number in (("stdout", 1), ("stderr", 2)):
            os.dup2(os.open(name, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), number)
        os.environ.update(SOAC_CACHE_DIR=str(folder / "cache"), PYTHONPATH=str(ROOT))
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # where files are limited, CPython leaves half of them
        sys.dont_write_bytecode = True
        signal.alarm(LIMIT)
        limit()
        if fresh:
            os.execv(sys.executable, [sys.executable, "-m", "soac", *words])
        sys.argv = ["soac", *words]
        soac()
        code: int | str | None = 0
    except SystemExit as left:
        code = left.code
    except BaseException:
        said = traceback.format_exc()
        os.write(2, said.encode())
        code = 1 if before_main(said) else 99
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else 0)


def prepared(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "a.soac").write_text(PROGRAM)


# ---- what must hold


def check_files(folder: Path) -> None:
    """Nothing is torn."""
    cache = disk_cache.Cache(folder / "cache")
    for entry in folder.glob(f"cache/*{disk_cache.SUFFIX}"):
        before = entry.read_bytes()
        assert disk_cache.get(cache, entry.name.removesuffix(disk_cache.SUFFIX)) is not None, f"{entry}: {before[:80]}"
    for tuning in folder.glob("a.soac.tuning"):
        lines = tuning.read_text().splitlines()
        assert all(parse_setting(line, [line.partition("=")[0]]) for line in lines), lines
    for file in (*folder.glob("a.soac.tuning.json"), *folder.glob("tested.json"), *folder.glob("out/*.json")):
        json.loads(file.read_text())
    for database in folder.glob("a.soac.tuning.db"):
        with closing(sqlite3.connect(database)) as connection:
            assert connection.execute("pragma quick_check").fetchone() == ("ok",)
    for data in folder.glob("xs.in"):
        assert data.read_bytes().endswith(b"]\n")


def check_words(ended: Ended) -> None:
    assert "Traceback" not in ended.err or before_main(ended.err), ended.err
    assert "internal compiler error" not in ended.err, ended.err
    assert ended.code not in (70, 99), ended


def before_main(said: str) -> bool:
    """Whether Ctrl-C ended an interpreter before the command's first line, or a fork where no command runs: what it
    prints is Python's."""
    is_ours = re.search(r'__main__\.py", line \d+, in main$', said, re.MULTILINE)
    return said.rstrip().endswith("KeyboardInterrupt") and is_ours is None


def check_afterwards(folder: Path, command: str, fresh: bool = False) -> None:
    """The command does its work."""
    ended = start(folder, COMMANDS[command], fresh).ended()
    assert ended.code == 0, ended
    assert ended.out == "[3i32, 7i32]\n" or command != "run", ended
    check_files(folder)


# ---- one trial


def kill(folder: Path, source: random.Random, longest: dict[str, float], fresh: bool = False) -> str:
    """Ends a command by a signal at a random moment, early ones more often; what came of it."""
    command = source.choice(list(COMMANDS))
    which = source.choice((signal.SIGKILL, signal.SIGINT))
    fresh = source.randrange(5) == 0 or fresh
    child = start(folder, COMMANDS[command], fresh)
    until = time.monotonic() + source.random() ** 1.5 * (longest[command] + (1.0 if fresh else 0.0))
    look = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while time.monotonic() < until and os.waitid(os.P_PID, child.pid, look) is None:
        time.sleep(0.005)
    os.kill(child.pid, which)
    ended = child.ended()
    check_files(folder)
    check_words(ended)
    if which is signal.SIGINT:
        allowed = (0, 130, -signal.SIGINT, 1) if before_main(ended.err) else (0, 130, -signal.SIGINT)
        assert ended.code in allowed, ended  # -SIGINT: before Python has begun
    return f"{command}, {which.name}: {'ended' if ended.code == 0 else 'killed'}"


def starve(folder: Path, source: random.Random) -> str:
    """Runs a command with little disk, or little memory."""
    command, what = source.choice(list(COMMANDS)), source.choice(SHORTAGES)
    exponent = source.uniform(10, 18) if what == "disk" else source.uniform(20, 29)  # messages have room
    room = int(2**exponent)

    def limit() -> None:
        if what == "disk":
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            return
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))

    ended = start(folder, COMMANDS[command], False, limit).ended()
    check_files(folder)
    if ended.code == -signal.SIGABRT and what == "memory":  # LLVM ends the process itself
        assert "out of memory" in ended.err or "bad_alloc" in ended.err, ended
        return f"{command}, little {what}: ended by LLVM"
    check_words(ended)
    assert ended.code in (0, 1, 3), ended
    assert ended.code == 0 or ended.err or ended.out, ended
    return f"{command}, little {what}: {'ended' if ended.code == 0 else 'refused'}"


def together(folder: Path, processes: int) -> None:
    """Commands at once on an empty cache: each gives its result."""
    prepared(folder)
    children = [start(folder, COMMANDS["run"], False) for _ in range(processes)]
    codes = [child.ended().code for child in children]
    assert codes == [0] * processes, codes
    check_files(folder)


def torture(folder: Path, count: int, seed: int) -> Counter[str]:
    """`count` trials, three of four by signals; what came of them. Now and then all is begun anew."""
    source, seen = random.Random(seed), Counter[str]()
    longest: dict[str, float] = {}
    for number in range(count):
        here = folder / f"f{number // 50}"
        if number % 50 == 0:
            prepared(here)
            for command in () if longest else (*COMMANDS, *COMMANDS):  # the second time with a cache
                begin = time.monotonic()
                check_afterwards(here, command)
                longest[command] = time.monotonic() - begin
        seen[starve(here, source) if source.randrange(4) == 0 else kill(here, source, longest)] += 1
        if number % 50 == 49:
            for command in COMMANDS:
                check_afterwards(here, command)
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.kills", description="Commands killed and starved.")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    load()
    with tempfile.TemporaryDirectory() as folder:
        seen = torture(Path(folder), asked.count, asked.seed)
        together(Path(folder) / "together", 16)
    for what, times in sorted(seen.items()):
        print(f"{times:5} {what}")
    print(f"{asked.count} commands killed or starved, 16 at once on one cache: nothing lost, nothing torn")


def load() -> None:
    """What commands need, once for all forks."""
    from soac import api, pipeline  # noqa: F401
    from soac.commands import autotune, compile, dataset, run, test  # noqa: F401
    from soac.kernels.devices.cpu import build  # noqa: F401


if __name__ == "__main__":
    main()
