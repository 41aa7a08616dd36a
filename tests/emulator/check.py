"""`python -m tests.emulator.check FILES`: the CUDA C of programs, emulated, against the interpreter.

Every small case of their test blocks, on every version, with the threads of a block in ascending, descending and random
order.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from soac.arguments import Argument
from soac.datasets import arguments_of, data_sets
from soac.flatten.levels import CPU, Machine
from soac.frontend.data import compare_values
from soac.frontend.testblocks import ScriptInput, parse_tests
from soac.ir.errors import RunError
from soac.ir.interpret import Thresholds, prepare
from soac.pipeline import Compiled, compile_prog
from soac.versions import runs_of

from .emulate import build, emulated

ORDERS = (0, 1, 5)
MOST_ELEMENTS = 1000


def faults(path: Path, machine: Machine = CPU, orders: Sequence[int] = ORDERS) -> list[str]:
    """What is wrong with the emulated program."""
    text = path.read_text(encoding="utf-8")
    compiled = compile_prog(text, path.name, machine=machine)
    emulator, oracle = build(compiled.host.kernels), prepare(compiled.core)
    devices = [(order, emulated(compiled, emulator, order)) for order in orders]
    found: list[str] = []
    for entry, label, args in cases(path, text, compiled):
        wanted = outcome(oracle.run, entry, args, Thresholds())
        for forced in runs_of(compiled.flat, entry):
            for order, device in devices:
                got = outcome(device.run, entry, args, None, forced)
                found += [f"{entry} {label} {forced} order {order}: {f}" for f in _differences(wanted, got)]
    return found


def cases(path: Path, text: str, compiled: Compiled) -> Iterator[tuple[str, str, Sequence[Argument]]]:
    """Entry, label and arguments of the small cases of a program."""
    functions = {fun.entry.name: fun for fun in compiled.core.functions if fun.entry}
    for one in data_sets(parse_tests(text, str(path)), tuple(functions)):
        if isinstance(one.case.input, ScriptInput):
            continue
        try:
            args = arguments_of(one, functions[one.entry], path)
        except RunError:
            continue
        if sum(np.size(a) for a in args) <= MOST_ELEMENTS:
            yield one.entry, one.label, args


def outcome(run: Callable[..., tuple[Sequence[Argument], object]], *args: object) -> Sequence[Argument] | str:
    """The results, or the text of the failure."""
    try:
        with np.errstate(all="ignore"):
            return run(*args)[0]
    except RunError as failure:
        return str(failure)


def _differences(wanted: Sequence[Argument] | str, got: Sequence[Argument] | str) -> Iterator[str]:
    if isinstance(wanted, str) or isinstance(got, str):
        if isinstance(wanted, str) != isinstance(got, str):
            yield f"{got} instead of {wanted}"
        return
    for k, (x, y) in enumerate(zip(got, wanted, strict=True)):
        difference = compare_values(x, y)
        if difference:
            yield f"result {k}: {difference}"


def main() -> None:
    bad = 0
    for name in sys.argv[1:]:
        try:
            found = faults(Path(name))
        except Exception:
            found = [traceback.format_exc(limit=3)]
        bad += bool(found)
        print(f"{name}: {'ok' if not found else found[0][:1500]}", flush=True)
    print(f"{len(sys.argv) - 1} programs, {bad} with faults")


if __name__ == "__main__":
    main()
