"""How many random programs it takes to find each planted fault: `python -m tests.property.planted`.

Prints, for each fault of `faults.py`, the number of the first program that breaks the law with it, and the median.
`--write` makes that program smaller and keeps it in tests/planted/, where `test_planted.py` replays it.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from functools import partial
from pathlib import Path

from tests.property.device import check_device
from tests.property.faults import FAULTS, Fault, planted
from tests.property.generate import Case
from tests.property.law import Tally, broken_by, check_law
from tests.property.saved import load, save
from tests.property.soak import MODES, Law, on_device, program, smallest

KEPT = Path(__file__).parent.parent / "planted"
SEED = 0


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


def search(fault: Fault, most: int) -> int | None:
    """The number of the first program that finds the fault."""
    for number in range(most):
        if broken_by(law_of(fault, number), program(SEED, number)):
            return number
    return None


def keep(fault: Fault, number: int, seconds: float) -> None:
    """Writes a small program that finds the fault."""
    law = law_of(fault, number)
    case = smallest(law, SEED, number, seconds)
    message = f"{fault.name}: {broken_by(law, case)}"
    save(on_device(case, number) if fault.device else case, path_of(fault), message)


def replayed(fault: Fault) -> list[str]:
    """What is found wrong with the counterexample that was kept, in every mode."""
    case = load(path_of(fault))
    laws = (check_device,) if fault.device else tuple(partial(check_law, mode=mode) for mode in MODES)
    with planted(fault):
        return [message for law in laws if (message := broken_by(law, case)) is not None]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.property.planted", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="how many to try for each fault")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--write", type=float, default=0.0, help="seconds to make a counterexample smaller and keep it")
    given = parser.parse_args()
    found: list[int] = []
    chosen = [fault for fault in FAULTS if given.only in fault.name]
    for fault in chosen:
        number = search(fault, given.programs)
        print(f"{'never' if number is None else number + 1:>6}  {fault.name}", flush=True)
        if number is not None:
            found.append(number + 1)
            if given.write:
                keep(fault, number, given.write)
    print(f"{len(found)} of {len(chosen)} found; programs until then: median {statistics.median(found or [0]):g}")
    return 0 if len(found) == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
