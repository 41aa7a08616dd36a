"""One program of futhark-benchmarks, in a process of its own: compiled, run on the data that is there, timed.

What is found is printed line by line as JSON, so that a process which is ended has said all that it knew:
`compiled` or `refused` first, then a line for each data set.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import soac
from soac.arguments import Argument
from soac.data.read_write import compare_values
from soac.frontend.source.text import Reach
from soac.ir.errors import SoacError
from soac.ir.version_tree import combinations
from soac.kernels.host_ir.nodes import Interpret, statements
from soac.reports.timing import Effort, race
from soac.session import Session, open_program
from soac.settings import Settings
from soac.testing.blocks import Output, RandomInput, parse_tests
from soac.testing.checks import EXCLUDED
from soac.testing.datasets import DataSet, data_sets, inputs_of, values_of

from ..clock import processor_clock

EFFORT = Effort(rounds=3, seconds=0.2, spread=0.03, most_rounds=300, most_seconds=2.0)
LARGEST = 1 << 26
"""Elements of an array that is drawn at random, at most."""
SETTINGS = Settings("cpu", 1, None, False, (), (), Reach.ANYWHERE)


def main(words: Sequence[str]) -> None:
    """FILE, and the seconds that tuning may take: 0 for none."""
    path, tuner_seconds = Path(words[0]), float(words[1])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    soac.compile("entry main (x: i64): i64 = x + 1").call("main", [1])  # what is done only once
    with tempfile.TemporaryDirectory() as empty:
        os.environ["SOAC_CACHE_DIR"] = empty
        begin = time.process_time()
        try:
            session = open_program(path, SETTINGS)
        except SoacError as error:
            say("refused", [f"{one.code}: {one.message}" for one in error.diagnostics])
            return
        say("compiled", facts_of(session, time.process_time() - begin))
        tuned = tuned_session(path, session, tuner_seconds) if tuner_seconds else None
        for data_set in data_sets(parse_tests(session.text, str(path))):
            if not EXCLUDED & set(data_set.case.tags):
                say("set", set_of(session, tuned, data_set, path))


def say(kind: str, what: object) -> None:
    print(json.dumps({kind: what}), flush=True)


def facts_of(session: Session, seconds: float) -> dict[str, Any]:
    """Seconds to compile without machine code, kernels and versions, and the statements that are interpreted."""
    compiled = session.program.compiled
    stms = [stm for fun in compiled.host.functions for stm in statements(*fun.bodies)]
    whys = Counter(stm.exp.why for stm in stms if isinstance(stm.exp, Interpret))
    return {
        "load_s": seconds,
        "entries": list(session.program.entries),
        "kernels": len(compiled.host.kernels),
        "versions": {site.name: len(list(combinations((site,)))) for site in session.sites},
        "statements": len(stms),
        "interpreted": dict(whys),
    }


def tuned_session(path: Path, session: Session, seconds: float) -> Session | None:
    """The program with the settings that `soac autotune` finds in this time; None if it has no choice or no data."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "tuning"
        words = [sys.executable, "-m", "soac", "autotune", str(path), "--allow-outside", "--threads", "1"]
        words += ["--timeout", str(seconds), "--tuning", str(target), "--storage", f"sqlite:///{folder}/times.db"]
        try:
            subprocess.run(words, capture_output=True, timeout=4 * seconds + 60, check=False)
        except subprocess.TimeoutExpired:
            return None
        return open_program(path, replace(SETTINGS, tuning=target, use_tuning=True)) if target.exists() else None


def set_of(session: Session, tuned: Session | None, data_set: DataSet, path: Path) -> dict[str, Any]:
    """A data set: `skipped` and why, or the time to the first result and of the calls after it, and what is wrong."""
    found: dict[str, Any] = {"entry": data_set.entry, "data": data_set.label}
    if too_large(data_set):
        return found | {"skipped": "too large"}
    program, clock = session.program, processor_clock()
    try:
        args = inputs_of(data_set, program, path)
    except SoacError as error:
        return found | {"skipped": error.diagnostics[0].message.partition(str(path.parent))[0].strip(" `:")}
    try:
        want = expected(session, data_set, path)
        begin = clock()
        results = program.call(data_set.entry, args, threads=1)
        found["first_s"] = clock() - begin
        found["wrong"] = None if want is None else difference(results, want)
        found["compared"] = want is not None
        runs = {"untuned": session} | ({"tuned": tuned} if tuned is not None else {})
        calls = {name: one.program.prepare(data_set.entry, threads=1) for name, one in runs.items()}
        placed = program.place(data_set.entry, args)
        times = race({name: lambda call=call: call(placed) for name, call in calls.items()}, EFFORT, clock)
    except SoacError as error:
        return found | {"failed": f"{error.diagnostics[0].code}: {error.diagnostics[0].message}"}
    return found | {f"{name}_ms": seen.median * 1e3 for name, seen in times.items()}


def too_large(data_set: DataSet) -> bool:
    given = data_set.case.input
    shapes = (getattr(item, "shape", ()) for item in given.items) if isinstance(given, RandomInput) else ()
    return any(math.prod(shape) > LARGEST for shape in shapes)


def expected(session: Session, data_set: DataSet, path: Path) -> list[Argument] | None:
    """What the test block says, if that is there."""
    output = data_set.case.expected
    if not isinstance(output, Output):
        return None
    fun = session.program.function(data_set.entry)
    try:
        return values_of(output.values, [result.type for result in fun.results], path, None)
    except SoacError:
        return None


def difference(results: Sequence[Any], want: Sequence[Argument]) -> str | None:
    differences = (compare_values(got, wanted) for got, wanted in zip(results, want, strict=True))
    return next((f"result {k}: {said}" for k, said in enumerate(differences) if said), None)


if __name__ == "__main__":
    main(sys.argv[1:])
