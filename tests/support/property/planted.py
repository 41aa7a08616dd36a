"""How many random programs it takes to find each planted fault: `python -m tests.support.property.planted`.

Prints a row for each fault of `faults.py`: the median, over several seeds, of the number of the first program that
breaks the law with it (`more` than were tried counts as one more), and which generators made those programs. `--write`
makes such a program smaller and keeps it in tests/property/planted/, where `test_planted.py` replays it.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections import Counter
from functools import partial
from pathlib import Path

from tests.support.property.device import check_device
from tests.support.property.faults import FAULTS, ROOT, Fault, planted
from tests.support.property.generate import Case
from tests.support.property.irregular import small_parts
from tests.support.property.law import Tally, broken_by, check_law
from tests.support.property.saved import load, save
from tests.support.property.shapes import SHAPES, shape_of
from tests.support.property.soak import MODES, Law, broken, kind_of, on_device, program, smallest

NEAREST: dict[str, str] = {
    "order of operands swapped": "sequentialise",
    "components of a tuple swapped": "IRWIM",
    "flag of a segment off by one": "flat scan",
    "operator on rows reduced elementwise at one place": "IRWIM",
    "fusion across an overwriting": "update",
    "fusion that forgets what others need": "fuse_map_map",
    "map-loop interchange with a variant trip count": "stays in the thread",
    "distribution across a branch of variant condition": "varying branch",
    "loop that keeps its first values": "map-loop",
    "rearrange by the inverse permutation": "rearrange",
    "reversed slice treated as identity": "slice",
    "second part of a concatenation at the offset of the first": "concat",
    "failing operation moved out of its branch": "map-if",
    "tile beyond the end of a row": "tile",
    "guard > for >=": "incremental",
    "guard on the wrong dimension": "incremental",
    "both branches of a guard identical": "incremental",
    "one name for the thresholds of two nests": "incremental",
    "block version chosen where it does not fit": "inside",
}
"""The rule on whose programs a fault shows, where there is one: programs of its shape are searched, too."""

KEPT = ROOT / "tests" / "property" / "planted"


def path_of(fault: Fault) -> Path:
    """Where the smallest known counterexample of a fault is."""
    return KEPT / (re.sub(r"[^a-z0-9]+", "_", fault.name.replace(">=", "ge").replace(">", "gt")) + ".ir")


def law_of(fault: Fault, number: int) -> Law:
    """What program `number` is tested for, with the fault in the compiler."""
    mode = MODES[number % len(MODES)]

    def law(case: Case) -> Tally:
        with planted(fault):
            return check_device(on_device(case, number)) if fault.device else check_law(case, mode)

    return law


def search(fault: Fault, seed: int, most: int) -> int | None:
    """The number of the first program of a seed that finds the fault."""
    for number in range(most):
        if broken(law_of(fault, number), program(seed, number)):
            return number
    return None


def search_nearest(fault: Fault, most: int) -> int | None:
    """The number of the first program of the shape of a fault's rule that finds it."""
    name = NEAREST[fault.name]
    modes = SHAPES[name].modes

    def law(case: Case) -> Tally:
        with planted(fault), small_parts():
            return check_law(case, modes[number % len(modes)])

    for number in range(most):
        if broken(law, shape_of(name, number)):
            return number
    return None


def keep(fault: Fault, seed: int, number: int, seconds: float) -> None:
    """Writes a small program that finds the fault."""
    law = law_of(fault, number)
    case = smallest(law, seed, number, seconds)
    message = f"{fault.name}: {broken_by(law, case)}"
    save(on_device(case, number) if fault.device else case, path_of(fault), message)


def row(fault: Fault, found: list[int | None], most: int) -> str:
    """What the searches of all seeds have found, as a row of a table."""
    needed = statistics.median(most + 1 if number is None else number + 1 for number in found)
    kinds = Counter(kind_of(number).value for number in found if number is not None)
    by = ", ".join(f"{kind} ({times})" for kind, times in kinds.most_common())
    median = f"{needed:g}" if needed <= most else f"more than {most}"
    return f"| {fault.group.value} | {fault.name} | {median} | {by or '-'} |"


def replayed(fault: Fault) -> list[str]:
    """What is found wrong with the counterexample that was kept, in every mode."""
    case = load(path_of(fault))
    laws = (check_device,) if fault.device else tuple(partial(check_law, mode=mode) for mode in MODES)
    with planted(fault):
        return [message for law in laws if (message := broken_by(law, case)) is not None]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.property.planted", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="how many to try for each fault and seed")
    parser.add_argument("--seeds", type=int, default=3, help="how many searches for each fault")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--write", type=float, default=0.0, help="seconds to make a counterexample smaller and keep it")
    given = parser.parse_args()
    never = 0
    for fault in (fault for fault in FAULTS if given.only in fault.name):
        found = [search(fault, seed, given.programs) for seed in range(given.seeds)]
        print(row(fault, found, given.programs), flush=True)
        if fault.name in NEAREST:
            number = search_nearest(fault, given.programs)
            print(f"    of the shape {NEAREST[fault.name]}: {'never' if number is None else number + 1}", flush=True)
        first = min(((number, seed) for seed, number in enumerate(found) if number is not None), default=None)
        never += first is None
        if first is not None and given.write:
            keep(fault, first[1], first[0], given.write)
    return 1 if never else 0


if __name__ == "__main__":
    sys.exit(main())
