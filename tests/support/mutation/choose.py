"""Chooses what ledgers look at: `python -m tests.support.mutation.choose passes|flatten|shapes [MOST] [WAYS]`.

Of each golden pair the first MOST variants, random kernels for passes, and the first MOST programs of each shape are
tried. Those are kept that reach each outcome of a condition (`conditions.py`) that any reaches, WAYS of them where
there are as many: those first that add the most in a second. MOST of 0 thins out what the ledger has."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from tests.support.mutation.conditions import install

OUTCOMES = install()  # before the compiler is imported
Row = tuple[str, str, int]
LEAST = 30
"""Outcomes in a second (on a machine that is slow, of code that is marked) that are worth a program."""
WHERE = {
    "passes": ("kernels/passes/", "kernels/analysis/"),
    "flatten": ("flatten/", "ir/"),
    "shapes": ("flatten/", "ir/"),
}


def of_passes(most: int) -> Iterator[Row]:
    """Those of the pass itself, the other pairs as they are, and kernels as they are lowered for all passes."""
    from tests.kernels.passes.test_goldens import GOLDEN, PASSES
    from tests.kernels.passes.test_near_misses import LOWERED, RANDOM

    texts = [f"{path.parent.name}/{path.stem}" for path in sorted(GOLDEN.glob("*/*.kir"))]
    for name in PASSES:
        own = [text for text in texts if text.startswith(f"{name}/")]
        yield from ((name, text, number) for text in own for number in range(most))
        yield from ((name, text, 0) for text in texts if text not in own)
        yield from ((name, text, number) for text in RANDOM for number in range(most // 4))
    for name, texts in LOWERED.items():
        yield from ((name, str(k), number) for k in range(len(texts)) for number in range(most // 2))


def of_flatten(most: int) -> Iterator[Row]:
    """Of golden pairs, and of core programs."""
    from tests.flatten.test_near_misses import ALL, CORE
    from tests.flatten.test_pairs import PASSES
    from tests.support.golden_pairs import pairs

    texts = {name: [f"{name}/{path.stem}" for path in pairs(name)] for name in PASSES}
    for name, own in texts.items():
        yield from ((name, text, number) for text in own for number in range(most))
    for name in ALL:
        yield from ((name, path.stem, number) for path in sorted(CORE.glob("*.ir")) for number in range(most))


def of_shapes(most: int) -> Iterator[Row]:
    from tests.property.test_ledger import run_of
    from tests.support.property.shapes import SHAPES

    return ((name, run_of(name, number), number) for name in SHAPES for number in range(most))


def cheapest(tried: list[tuple[Row, float, frozenset[int]]], ways: int) -> Iterator[Row]:
    """What is still to be reached by a program only becomes less, so that the best one is the first of the heap whose
    worth is up to date."""
    reached = Counter[int]()

    def worth(k: int) -> float:
        _, seconds, outcomes = tried[k]
        return -sum(reached[at] < ways for at in outcomes) / (seconds + 0.005)

    left = [(worth(k), k) for k in range(len(tried))]
    heapify(left)
    while left and left[0][0] < 0:
        _, k = heappop(left)
        if left and worth(k) > left[0][0]:
            heappush(left, (worth(k), k))
        elif worth(k) < -LEAST:
            reached.update(tried[k][2])
            yield tried[k][0]


def main(which: str, most: str = "60", ways: str = "1") -> None:
    if which == "passes":
        from tests.kernels.passes.test_near_misses import LEDGER
    elif which == "flatten":
        from tests.flatten.test_near_misses import LEDGER
    else:
        from tests.property.test_ledger import CHOSEN as LEDGER
    made = {"passes": of_passes, "flatten": of_flatten, "shapes": of_shapes}[which](int(most))
    rows = made if int(most) else (row[:3] for row in LEDGER.known())
    tried, places = list[tuple[Row, float, frozenset[int]]](), dict[tuple[str, int], int]()
    for row in rows:
        OUTCOMES.taken()
        start = time.process_time()
        try:
            LEDGER.became(*row)
        except AssertionError:
            continue  # no pass is given such a kernel
        except Exception as fault:
            print("a fault of the compiler:", *row, repr(fault)[:300], flush=True)
            continue
        found = [at for at in OUTCOMES.taken() if OUTCOMES.places[at].startswith(WHERE[which])]
        whose = [
            row[0] if OUTCOMES.places[at].startswith(WHERE[which][0]) and which != "shapes" else "" for at in found
        ]
        outcomes = frozenset(places.setdefault(one, len(places)) for one in zip(whose, found, strict=True))
        tried.append((row, time.process_time() - start, outcomes))
    chosen = list(cheapest(tried, int(ways)))
    LEDGER.write(sorted(chosen))
    print(f"{len(chosen)} of {len(tried)} chosen, which reach {len(places)} outcomes")


if __name__ == "__main__":
    main(*sys.argv[1:])
