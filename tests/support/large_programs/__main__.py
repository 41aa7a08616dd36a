"""Big runs: `python -m tests.support.large_programs --count 1000 --seed 1`.

Program k of a seed is always the same. What differs from NumPy is shown with what the wrong result needs, and written
to --out. `--small`: sizes around those of warps; with `--emulator`, in the emulated CUDA device.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

from tests.support.large_programs.check import FULL_EVERY, check_program, program_of
from tests.support.large_programs.generate import LARGE, SMALL, Program
from tests.support.property.guards import Broken
from tests.support.source_programs.stages import Reach, Refused


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.large_programs", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many programs")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--seed", type=int, default=1, help="which programs")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each version on each number of threads")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no program after this time")
    parser.add_argument("--small", action="store_true", help="sizes around those of warps")
    parser.add_argument("--emulator", action="store_true", help="in the emulated CUDA device (of small sizes)")
    parser.add_argument("--out", type=Path, default=Path("large-programs"), help="where wrong programs are written")
    given = parser.parse_args()
    os.environ["SOAC_CACHE_DIR"] = ""  # no program comes twice
    scale = SMALL if given.small or given.emulator else LARGE
    reach, start, wrong, refused, done = Reach(), time.monotonic(), 0, 0, 0
    for number in range(given.first, given.first + given.count):
        if time.monotonic() - start > given.seconds:
            break
        done += 1
        program = program_of(Random(f"{given.seed} {number}"), scale)
        try:
            check_program(program, reach, number % FULL_EVERY == 0, given.repeats, given.emulator)
        except Refused as error:
            refused += 1
            print(f"program {number} is refused: {error}\n{program.text}", flush=True)
        except Exception as error:  # a crash of the compiler is a finding too
            wrong += 1
            program = smaller(program, error, given.repeats, given.emulator)
            sizes = ", ".join(f"{x.name} {list(x.value.shape)}" for x in program.inputs)
            text = f"-- {given.seed} {number}: {str(error)[:400]}\n-- {sizes}\n{program.text}"
            print(text, flush=True)
            given.out.mkdir(parents=True, exist_ok=True)
            (given.out / f"seed{given.seed}_{number}.soac").write_text(text, encoding="utf-8")
        if done % 20 == 0:
            print(f"{done} programs, {wrong} wrong, {time.monotonic() - start:.0f} s", flush=True)
    for name, count in sorted(item for item in reach.schedules.items() if ":" not in item[0]):  # less the layouts
        print(f"{count:7d}  {name}")
    runs, seconds = reach.programs["runs"], time.monotonic() - start
    print(f"seed {given.seed}: {done} programs, {runs} runs in {seconds:.0f} s, {wrong} wrong, {refused} refused")
    return 1 if wrong or refused else 0


def smaller(program: Program, error: Exception, repeats: int, emulated: bool) -> Program:
    """With the wrong result alone, if it is wrong then; the rest without what the results do not need."""
    found = re.search(r"result (\d+),", str(error)) if isinstance(error, Broken) else None
    candidates = [program.giving(int(found[1]))] if found else [program.giving(k) for k in range(len(program.results))]
    for one in candidates:
        try:
            check_program(one, Reach(), False, repeats, emulated)
        except Refused:
            continue
        except Exception:
            return one
    return replace(program)


if __name__ == "__main__":
    sys.exit(main())
