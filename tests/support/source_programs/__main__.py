"""Big runs: `python -m tests.support.source_programs --count 10000 --seed 1 --stages evaluator,passes,cpu --jobs 2`.

Program k of a seed is always the same. All stages given are compared; what differs is made small and written to
tests/regress/. At the end stands what was reached.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from soac.flatten.context.trace import Rule
from soac.ir.ops import Op
from tests.support.processes import results
from tests.support.property.soak import OTHERS
from tests.support.source_programs.search import SECONDS_TO_SHRINK, Outcome, run
from tests.support.source_programs.stages import STAGES, Reach

PART = 80


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.source_programs", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--seed", type=int, default=1, help="which programs")
    parser.add_argument("--stages", default="evaluator", help=f"of {','.join(STAGES)}")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--shrink", type=float, default=SECONDS_TO_SHRINK, help="seconds to make a program small")
    parser.add_argument("--reach", action="store_true", help="show what was reached")
    given = parser.parse_args()
    stages = tuple(given.stages.split(","))
    unknown = set(stages) - set(STAGES)
    if unknown:
        parser.error(f"no such stage: {', '.join(unknown)}")
    parts = [
        range(k, min(k + PART, given.first + given.count)) for k in range(given.first, given.first + given.count, PART)
    ]
    os.environ["SOAC_CACHE_DIR"] = ""  # no program comes twice
    total, start = Outcome(), time.monotonic()
    for part in outcomes(given.seed, parts, stages, given.shrink, given.jobs):
        total.add(part)
        for one in part.found:
            print(f"  program {one.number}: {one.path}\n    {one.message[:300]}", flush=True)
        for one in part.refused:
            print(f"  program {one.number} is refused: {one.message[:160]}", flush=True)
        rate = total.reach.programs["all"] / (time.monotonic() - start)
        print(f"{total.reach.programs['all']} programs, {len(total.found)} wrong, {rate:.1f}/s", flush=True)
    if given.reach:
        print(table(total.reach))
    count, seconds = total.reach.programs["all"], time.monotonic() - start
    print(f"seed {given.seed}: {count} programs in {seconds:.0f} s, {len(total.found)} wrong")
    return 1 if total.found else 0


def outcomes(seed: int, parts: list[range], stages: tuple[str, ...], shrink: float, jobs: int):
    """The outcome of each part as it comes."""
    if jobs == 1:
        yield from (run(seed, part, stages, shrink) for part in parts)
        return
    yield from (made for _, made in results(run, [(seed, part, stages, shrink) for part in parts], jobs))


def table(reach: Reach) -> str:
    """What was reached and how often, with what was not."""
    reach.rules.update({rule.value: 0 for rule in Rule} if reach.rules else {})
    reach.passes.update(dict.fromkeys(OTHERS, 0) if reach.passes else {})
    missing = {op.value for op in Op} - {name.split()[0] for name in reach.operations}
    reach.operations.update(dict.fromkeys(missing, 0))
    lines = []
    for name in reach.__slots__:
        counts = getattr(reach, name)
        if counts:
            lines.append(f"{name}:")
            lines += [f"{counts[key]:9d}  {key}" for key in sorted(counts)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
