"""Large programs on the CPU device: every version, on several numbers of threads, several times, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from soac.frontend.library import known_prelude
from soac.frontend.parsing.parse import parse_module
from soac.ir.errors import CompileError, RunError
from soac.ir.machine import CPU, CUDA
from soac.ir.version_tree import combinations, sites
from soac.kernels.devices.cpu.executable import Executable
from tests.support.large_programs.flat import FLAT
from tests.support.large_programs.generate import LARGE, Program, Scale, Writer
from tests.support.large_programs.rows import ROWS
from tests.support.property.guards import Broken
from tests.support.source_programs.stages import (
    Reach,
    Refused,
    compiled_for,
    elaborated,
    emulated_run,
    on_emulator,
    quickly,
)

MOST_VERSIONS, MOST_EMULATED = 12, 3
THREADS = (1, 2, 4)
MOST_RESULTS = 6
FULL_EVERY = 8


def program_of(r: Random, scale: Scale = LARGE) -> Program:
    """Two to five statements; the results are the numbers and the arrays made last."""
    w = Writer(r, scale)
    kinds = FLAT if r.random() < 0.6 else (*FLAT, *ROWS, *ROWS)
    wanted = r.randrange(2, 6)
    for _ in range(30):
        before = len(w.lines)
        if wanted == 0:
            break
        arrays, inputs = list(w.arrays), list(w.inputs)
        try:
            r.choice(kinds)(w)
        except LookupError:
            w.lines, w.arrays, w.inputs = w.lines[:before], arrays, inputs
            continue
        wanted -= 1
    made = {name for line in w.lines for name in line.made}
    results = [x for x in w.arrays if x.name in made][-MOST_RESULTS:]
    return Program(tuple(w.inputs), tuple(w.lines), tuple([*w.results, *results][-MOST_RESULTS:]))


def programs(scale: Scale = LARGE) -> st.SearchStrategy[Program]:
    """The strategy for Hypothesis."""
    return st.randoms(use_true_random=False).map(lambda r: program_of(r, scale))


def check_program(program: Program, reach: Reach, full: bool = False, repeats: int = 1, emulated: bool = False) -> None:
    """Raises `Broken` unless all versions give what NumPy gives, `Refused` where the front end does not accept it.
    `emulated`: on the emulated CUDA device."""
    try:
        prog = elaborated(parse_module(program.text, "large.soac", known_prelude().module.next_id))
    except CompileError as error:
        raise Refused(str(error)) from error
    compiled, kernels = compiled_for(prog, CUDA if emulated else CPU, reach)
    versions = combinations(sites(compiled.flat))
    if emulated:
        device = on_emulator(compiled)
        for version in versions[:MOST_EMULATED]:
            _compare(program, f"emulator {version}", partial(emulated_run, device, program.args, version), reach)
        return
    device = Executable.build(compiled.host, compiled.flat.functions) if full else quickly(compiled, kernels)
    for version in versions[:MOST_VERSIONS]:
        for threads in (t for t in THREADS for _ in range(repeats)):
            run = partial(device.run, "main", program.args, forced=version, threads=threads)
            _compare(program, f"cpu {version} on {threads} threads", run, reach)


def _compare(program: Program, place: str, run: Callable[[], tuple[Sequence[Any], object]], reach: Reach) -> None:
    reach.programs["runs"] += 1
    try:
        found = run()[0]
    except RunError as error:
        raise Broken(f"{place}: fails with {error}") from None
    for k, (wanted, one) in enumerate(zip(program.results, found, strict=True)):
        message = difference(wanted.value, np.asarray(one))
        if message:
            raise Broken(f"{place}: result {k}, {wanted.name}, {message}")


def difference(wanted: np.ndarray, found: np.ndarray) -> str:
    """Where two arrays differ; nothing if they are equal."""
    if wanted.shape != found.shape or wanted.dtype != found.dtype:
        return f"{found.dtype} {found.shape} for {wanted.dtype} {wanted.shape}"
    wrong = np.argwhere(np.asarray(wanted != found))
    if not len(wrong):
        return ""
    at = tuple(int(k) for k in wrong[0])
    return f"{len(wrong)} elements of {found.shape} differ, first at {at}: {found[at]} for {wanted[at]}"
