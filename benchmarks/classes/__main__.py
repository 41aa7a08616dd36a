"""`python -m benchmarks.classes [CLASS..] [--only ENTRY]`: the entries of each class beside Numba, one thread.

Prints the least processor times of both in milliseconds, taken in turns, and their ratio (above 1: soac is faster).
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import soac

HERE = Path(__file__).parent
CLASSES = tuple(sorted(path.stem for path in HERE.glob("[a-z]*.py")))
SECONDS = 0.4
CALLS = 4
"""Until a call takes what later ones take: the first two compile."""


def least(runs: tuple[Callable[[], Any], ...]) -> list[float]:
    """Of each run, the least time of a call in milliseconds; in turns."""
    best = [min(timed(run, 1) for _ in range(CALLS)) for run in runs]
    counts = [max(1, int(0.002 / max(seconds, 1e-7))) for seconds in best]
    end = time.perf_counter() + SECONDS * len(runs)
    while time.perf_counter() < end:
        for k, run in enumerate(runs):
            best[k] = min(best[k], timed(run, counts[k]))
    return [1e3 * seconds for seconds in best]


def timed(run: Callable[[], Any], count: int) -> float:
    """Seconds of processor time of a call."""
    begin = time.thread_time()
    for _ in range(count):
        run()
    return (time.thread_time() - begin) / count


def differs(got: list[Any], wanted: Any) -> bool:
    """Whether two results are not equal up to rounding."""
    pairs = zip(got, wanted if isinstance(wanted, tuple) else (wanted,), strict=True)
    return not all(np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-3, atol=1e-3) for a, b in pairs)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("classes", nargs="*", default=CLASSES)
    options.add_argument("--only", default="", help="entries whose name has this in it")
    chosen = options.parse_args()
    ratios: list[float] = []
    for name in chosen.classes:
        peers, program = importlib.import_module(f".{name}", __package__), soac.load(HERE / f"{name}.soac")
        for large in (False, True):
            for entry, args in peers.data(large).items():
                if chosen.only in entry:
                    run, peer = program.prepare(entry, threads=1), peers.PEERS[entry]
                    wrong = "  differs" if differs(run(args), peer(*args)) else ""
                    ours, theirs = least((lambda: run(args), lambda: peer(*args)))  # noqa: B023
                    ratios.append(theirs / ours)
                    size = "large" if large else "small"
                    print(f"{name}.{entry:14} {size} {ours:9.4f} {theirs:9.4f} {theirs / ours:6.2f}{wrong}", flush=True)
    print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f} of {len(ratios)}")


if __name__ == "__main__":
    main()
