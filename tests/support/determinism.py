"""Ten programs of floats, run again and again: `python -m tests.support.determinism`.

Each version has the same bits on 1 to 8 threads, with a cold and a warm cache (two processes), with other sizes that
`autotune` may choose, and with those of the tuning file that it has written.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import soac
from soac.api import Program
from soac.frontend.source.text import Reach
from soac.session import open_program
from soac.settings import Settings
from soac.tuning.runs import blocks_of
from soac.versions import runs_of

ROOT = Path(__file__).parents[2]
VECTOR, MATRIX = "[200003]f32", "[300][701]f32"
PROGRAMS = {
    "sum": ("[n] (xs: [n]f32): f32 = reduce (+) 0 xs", (VECTOR,)),
    "mean": ("[n] (xs: [n]f64): f64 = reduce (+) 0 (map (\\x -> f64.exp x / 3) xs) / f64.i64 n", ("[200003]f64",)),
    "scan": ("[n] (xs: [n]f32): [n]f32 = scan (+) 0 xs", (VECTOR,)),
    "rows": ("[n][m] (xss: [n][m]f32): [n]f32 = map (reduce (+) 0) xss", (MATRIX,)),
    "columns": ("[n][m] (xss: [n][m]f32): [m]f32 = map (reduce (+) 0) (transpose xss)", (MATRIX,)),
    "product": (
        "[n][m] (a: [n][m]f32): [n][n]f32 = map (\\r -> map (\\c -> reduce (+) 0 (map2 (*) r c)) a) a",
        ("[150][401]f32",),
    ),
    "histogram": (
        "[n] (xs: [n]f32): [17]f32 = hist (+) 0 17 (map (\\x -> i64.f32 (x * 17)) xs) xs",
        (VECTOR,),
    ),
    "segments": (
        "[n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> reduce (+) 0 (scan (+) 0 (filter (> 0.5) xs))) xss",
        ("[60][701]f32",),
    ),
    "loop": (
        "[n] (xs: [n]f32): [n]f32 = loop ys = xs for i < 5 do let s = reduce (+) 0 ys in map (\\y -> y / s + 0.1) ys",
        (VECTOR,),
    ),
    "softmax": (
        "[n][m] (xss: [n][m]f32): [n][m]f32 =\n"
        "  map (\\xs -> let e = map f32.exp xs let s = reduce (+) 0 e in map (/ s) e) xss",
        (MATRIX,),
    ),
}  # fmt: skip


def text_of(name: str) -> str:
    body, types = PROGRAMS[name]
    return f"-- ==\n-- random input {{ {' '.join(types)} }}\ndef main {body}\n"


def inputs_of(name: str) -> list[np.ndarray]:
    source = np.random.default_rng(7)
    found: list[np.ndarray] = []
    for word in PROGRAMS[name][1]:
        *dims, kind = word.replace("]", " ").replace("[", " ").split()
        found.append(source.random(tuple(map(int, dims))).astype({"f32": np.float32, "f64": np.float64}[kind]))
    return found


def bits(results: list[Any]) -> str:
    return hashlib.sha256(b"".join(np.asarray(result).tobytes() for result in results)).hexdigest()


def sizes_of(path: Path, name: str) -> list[Mapping[str, int]]:
    """Settings that a search on several threads may try, one after another."""
    session = open_program(path, settings(path, tuned=False))
    blocks = blocks_of(session, "main", "cpu", 4)
    return [{d.name: value} for block in blocks for d in block.dimensions for value in d.values]


def settings(path: Path, tuned: bool) -> Settings:
    return Settings("cpu", None, None, tuned, (), (), Reach.PROJECT)


def same_bits(path: Path, name: str, most_threads: int) -> dict[str, str]:
    """The bits of each version of a program; AssertionError where a version has others."""
    path.write_text(text_of(name))
    program, args, found = soac.load(path), inputs_of(name), dict[str, str]()
    for forced in runs_of(program.compiled.flat, "main"):
        of_version = {bits(program.call("main", args, forced=forced, threads=t)) for t in range(1, most_threads + 1)}
        of_version |= {bits(program.call("main", args, size, forced, 3)) for size in sizes_of(path, name)}
        assert len(of_version) == 1, f"{name}, {forced}: {len(of_version)} different results"
        found[f"{name} {sorted(forced.items())}"] = of_version.pop()
    return found


def tuned_bits(path: Path, name: str) -> None:
    """After a search: the same bits as the version that is taken has without the file."""
    command = [sys.executable, "-m", "soac", "autotune", "--runs", "1", "--trials", "6", str(path)]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    program, args = open_program(path, settings(path, tuned=True)).program, inputs_of(name)
    results, reached = program.trace("main", args)
    forced = {threshold: taken for threshold, _, taken in reached}
    assert bits(results) == bits(untuned(path).trace("main", args, forced=forced)[0]), f"{name}: tuned"


def untuned(path: Path) -> Program:
    return open_program(path, settings(path, tuned=False)).program


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.determinism", description="Bits of float programs.")
    parser.add_argument("--child", type=Path, help="run here once and print the bits")
    asked = parser.parse_args()
    if asked.child is not None:
        for name in PROGRAMS:
            for version, digest in same_bits(asked.child / f"{name}.soac", name, 8).items():
                print(version, digest)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "SOAC_CACHE_DIR": f"{folder}/cache"}
        command = [sys.executable, "-m", "tests.support.determinism", "--child", folder]
        cold, warm = (subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, check=True) for _ in range(2))
        assert cold.stdout == warm.stdout, "a cold and a warm cache give different bits"
        for name in PROGRAMS:
            tuned_bits(Path(folder) / f"{name}.soac", name)
        versions = len(cold.stdout.splitlines())
    print(f"{len(PROGRAMS)} programs, {versions} versions, 1 to 8 threads, cold, warm and tuned: the same bits")
    return 0


if __name__ == "__main__":
    sys.exit(main())
