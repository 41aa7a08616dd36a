"""A digest of every stage of every program: proof that a change of structure changes nothing that is emitted.

    python scripts/emit_digest.py write FILE                  digests of this tree, as JSON
    python scripts/emit_digest.py compare OLD NEW             the stages that differ; ends with 1 if one does
    python scripts/emit_digest.py compare OLD NEW --listed F  .. but for the programs and stages that F lists

The programs are those of `programs/`, of the conformance corpus and of `tests/regress`. The target is fixed (the levels
of the CPU for `core` to `llvm`, those of a GPU for `cuda-kernels`, `cuda-host` and `cuda`; vectors of 512 bits), so
that digests of two machines are equal. Names of a host function are numbered by their first mention, so that a trial
that takes fresh names changes nothing. A program that does not compile has the digest of its message. `tests/emit.md`
lists the commits whose digests differ from those of the commit before, with the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
CORPUS = ("programs/*.soac", "tests/conformance/**/*.fut", "tests/regress/*.soac")
ON_CPU = ("core", "fused", "flat", "kernels", "host", "llvm")
ON_CUDA = ("kernels", "host", "cuda")
NUMBERED = re.compile(r"(?<![\w.])(?<!launch )([A-Za-z][\w']*)_\d+\b")

Digests = dict[str, dict[str, str]]


def corpus() -> list[Path]:
    """The programs, relative to the root."""
    return sorted(path.relative_to(ROOT) for pattern in CORPUS for path in ROOT.glob(pattern))


def digests_of(path: Path) -> dict[str, str]:
    """SHA-256 of each stage of one program, by the stage's name."""
    return {stage: hashlib.sha256(text.encode()).hexdigest()[:16] for stage, text in texts_of(path)}


def renumbered(function: str) -> str:
    """A host function with its names, `n_17`, numbered in the order in which they are mentioned first."""
    seen: dict[str, int] = {}
    return NUMBERED.sub(lambda name: f"{name[1]}_{seen.setdefault(name[0], len(seen))}", function)


def texts_of(path: Path) -> Iterator[tuple[str, str]]:
    """The text of each stage of one program."""
    from soac.frontend.source.text import Reach
    from soac.ir.errors import CompileError
    from soac.pipeline import Emit, Mode, compile_prog
    from soac.stages import show_stage

    try:
        from soac.ir.machine import CPU, CUDA
    except ImportError:
        from soac.ir.machine import CPU, CUDA

    text = (ROOT / path).read_text(encoding="utf-8")
    for machine, prefix, emitted in ((CPU, "", ON_CPU), (CUDA, "cuda-", ON_CUDA)):
        try:
            compiled = compile_prog(text, str(path), Mode.INCREMENTAL, machine, reach=Reach.ANYWHERE)
        except CompileError as error:
            yield "error", str(error)
            return
        for stage in emitted:
            name = stage if stage == "cuda" else prefix + stage
            shown = show_stage(compiled, Emit(stage))
            yield name, "\n\n".join(map(renumbered, shown.split("\n\n"))) if stage == "host" else shown


def write(out: Path, jobs: int) -> None:
    os.chdir(ROOT)
    paths = corpus()
    with ProcessPoolExecutor(jobs) as pool:
        found = {str(path): stages for path, stages in zip(paths, pool.map(digests_of, paths, chunksize=4))}
    out.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(found)} programs, {sum(map(len, found.values()))} stages")


def compare(old: Digests, new: Digests, listed: list[str]) -> int:
    """Print what differs; how much of it is not listed."""
    unlisted = 0
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path, {}), new.get(path, {})
        stages = [s for s in sorted(before.keys() | after.keys()) if before.get(s) != after.get(s)]
        free = [s for s in stages if not any(fnmatch(f"{path} {s}", pattern) for pattern in listed)]
        unlisted += len(free)
        if stages:
            print(f"{path}: {' '.join(s if s in free else f'({s})' for s in stages)}")
    print(f"{unlisted} stages differ")
    return unlisted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("out", type=Path)
    writing.add_argument("--jobs", type=int, default=2)
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--listed", type=Path, help="a file of lines `PROGRAM STAGE`, with * and ?")
    args = parser.parse_args()
    if args.command == "write":
        write(args.out, args.jobs)
        return 0
    listed = args.listed.read_text(encoding="utf-8").splitlines() if args.listed else []
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (args.old, args.new))
    return 1 if compare(old, new, [line for line in listed if line and not line.startswith("#")]) else 0


if __name__ == "__main__":
    sys.exit(main())
