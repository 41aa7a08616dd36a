"""`soac test` on kernels by hand: each is compared with what it implements, on random inputs.

The function is an entry of a program of its own. Sizes are those around the numbers that the kernel mentions
(`around.py`). Every version, the kernel's among them, runs on the CPU and must give what the interpreter gives; the
kernel is traced as a GPU would run it, and may have no hazards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..arguments import Argument
from ..data.read_write import TOLERANCE, compare_values, epsilon
from ..ir.by_hand import Version, kernel_of_guard
from ..ir.core import Apply, Body, ForLoop, FunDef, Loop, Param, Prog, Stm
from ..ir.entry_points import Entry, EntryParam, EntryResult
from ..ir.errors import RunError
from ..ir.interpret import interpret
from ..ir.machine import CPU, CUDA, Mode
from ..ir.rename import refreshing, rewrite_atom, rewrite_params
from ..ir.traverse import all_exps, names_in_types
from ..ir.types import I64, Const, Names, Var
from ..kernels.devices.cpu.executable import Executable
from ..pipeline import compile_core
from ..versions import runs_of
from . import sync
from .around import around
from .outcomes import words_of_failure
from .properties import drawn
from .references import OutOfTime, within

ENTRY = "by_hand"
SECONDS = 20.0
"""After which no further input is traced."""
EACH = 1.0
"""Seconds that the interpreter may take for an input; others are left out."""
LARGEST = 8
"""Elements of a dimension whose size is not a size of the kernel's."""


def unlike(prog: Prog, version: Version, seed: int) -> str | None:
    """How a kernel differs from its function, on which input; None where it does not."""
    trial = _Trial(program_of(prog, version), version)
    given = inputs(trial.program.functions[-1], version, seed)
    begin, compared = time.monotonic(), set[Callable[..., str | None]]()
    for step in (trial.run, trial.traced):
        for said, args in given:
            if step == trial.traced and step in compared and time.monotonic() > begin + SECONDS:
                break
            try:
                fault = step(args)
            except OutOfTime:
                continue
            if fault is not None:
                return f"for {said} (seed {seed}): {fault}"
            compared.add(step)
    return None if len(compared) == 2 else "no input was small enough to compare it with its function"


class _Trial:
    """A function with a kernel, compiled for both machines."""

    def __init__(self, program: Prog, version: Version) -> None:
        self.program, self.name = program, version.name
        self.cpu, self.gpu = (compile_core(program, Mode.INCREMENTAL, machine) for machine in (CPU, CUDA))
        self.executable = Executable.build(self.cpu.host, program.functions)

    def run(self, args: list[Argument]) -> str | None:
        """What is wrong on the CPU for an input, if something is. Raises `OutOfTime` where that is not found out."""
        expected = self.expected(args)
        for forced in runs_of(self.cpu.flat, ENTRY):
            try:
                results = self.executable.run(ENTRY, list(args), forced=forced)[0]
            except RunError as error:
                return words_of_failure(error)
            if (fault := _difference(results, expected, args)) is not None:
                return fault if self.is_by_kernel(forced) else f"the compiler's version {dict(forced)}: {fault}"
        return None

    def traced(self, args: list[Argument]) -> str | None:
        """As `run`, for the kernel as a GPU runs it."""
        expected = self.expected(args)
        mine = next(forced for forced in runs_of(self.gpu.flat, ENTRY) if self.is_by_kernel(forced))
        try:
            report = sync.traced(self.gpu, ENTRY, args, mine, SECONDS / 8)
        except RunError as error:
            return words_of_failure(error)
        if report is None:
            raise OutOfTime
        return sync.hazards_of(report) or _difference(report.results, expected, args)

    def expected(self, args: list[Argument]) -> list[Argument]:
        """What the function gives; raises `OutOfTime` where that takes long or fails."""
        try:
            return list(within(EACH, lambda: interpret(self.program, ENTRY, args, None)[0]))
        except RunError:
            raise OutOfTime from None

    def is_by_kernel(self, forced: Mapping[str, bool]) -> bool:
        return any(side and kernel_of_guard(guard) == self.name for guard, side in forced.items())


def _difference(results: Sequence[Argument], expected: Sequence[Argument], args: Sequence[Argument]) -> str | None:
    elements = sum(np.size(arg) for arg in args)
    for got, wanted in zip(results, expected, strict=True):
        if (said := compare_values(got, wanted, max(TOLERANCE, elements * epsilon(wanted)))) is not None:
            return said
    return None


def inputs(fun: FunDef, version: Version, seed: int) -> list[tuple[str, list[Argument]]]:
    """Random arguments, small ones first, with sizes around those that the kernel mentions."""
    args = drawn(fun, np.random.PCG64(seed), LARGEST)
    found = list(around(fun, args, tiles_of(version.kernel)))
    found.sort(key=lambda one: sum(np.size(arg) for arg in one[1]))
    return found or [("random arguments", args)]


def tiles_of(kernel: FunDef) -> tuple[int, ...]:
    """The constants that bound the loops of a kernel, and how many threads a block has."""
    forms = (exp.form for exp in all_exps(kernel.body) if isinstance(exp, Loop))
    bounds = (form.bound for form in forms if isinstance(form, ForLoop))
    found = {int(bound.value) for bound in bounds if isinstance(bound, Const)}
    found |= {int(attr.args[0].name) for stm in kernel.body.stms for attr in stm.attrs if attr.args}
    return tuple(sorted(size for size in found if 2 < size <= 1024))


def program_of(prog: Prog, version: Version) -> Prog:
    """A program whose entry calls the function, and nothing else does."""
    names, fun = Names(prog.next_name), version.function
    renaming = refreshing(names)
    params, results = rewrite_params(fun.params, renaming), rewrite_params(fun.results, renaming)
    pat = tuple(Param(names.again(p.name), p.type) for p in results)
    sizes = set(names_in_types(p.type for p in params))
    count = sum(1 for p in params if p.type == I64 and p.name in sizes)
    entry = Entry(
        ENTRY,
        count,
        tuple(EntryParam(p.name.base, p.type.prim.value, 1, False) for p in params[count:]),
        tuple(EntryResult(r.type.prim.value, (k,)) for k, r in enumerate(results)),
    )
    call = Stm(pat, Apply(fun.name, tuple(Var(p.name) for p in params)), (), (), fun.loc)
    body = Body((call,), tuple(Var(p.name) for p in pat))
    consumes = tuple(atom.name for c in fun.consumes if isinstance(atom := rewrite_atom(Var(c), renaming), Var))
    main = FunDef(names.fresh(ENTRY), params, consumes, results, body, entry, (), fun.loc)
    others = tuple(one for one in prog.functions if one.entry is None)
    return Prog(prog.consts, (*others, main), names.next)
