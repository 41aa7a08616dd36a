"""`soac test` on kernels by hand: each is compared with what it implements, on random inputs.

The function is an entry of a program of its own. Sizes are those around the numbers that the kernel mentions
(`around.py`). Every version, the kernel's among them, runs on the CPU and must give what the interpreter gives; the
kernel is traced as a GPU would run it, and may have no hazards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from ..arguments import Argument
from ..data.read_write import TOLERANCE, compare_values, epsilon, is_float
from ..ir.by_hand import Version, kernel_of_guard
from ..ir.core import Apply, Body, ForLoop, FunDef, Loop, Param, Prog, Stm
from ..ir.entry_points import plain_entry
from ..ir.errors import RunError
from ..ir.interpret import interpret
from ..ir.machine import BLOCK, CPU, CUDA, Mode
from ..ir.rename import refreshing, rewrite_atom, rewrite_params
from ..ir.traverse import all_exps, names_in_types
from ..ir.types import I64, Const, Names, Var
from ..kernels.devices.cpu.executable import Executable
from ..kernels.tracer.run import Report
from ..pipeline import compile_core
from ..versions import runs_of
from . import sync
from .around import in_words, sizes_around
from .outcomes import words_of_failure
from .properties import drawn
from .references import OutOfTime, within

ENTRY = "by_hand"
SECONDS = 20.0
"""After which no further input is traced."""
EACH = 1.0
"""Seconds that the interpreter may take for an input; others are left out."""
MOST_BOUNDS = 30
"""Of those of the integers in arrays that are tried."""
LARGEST = 8
"""Elements of a dimension whose size is not a size of the kernel's."""


def unlike(prog: Prog, version: Version, seed: int) -> str | None:
    """How a kernel differs from its function, on which input; None where it does not."""
    trial = _Trial(program_of(prog, version), version)
    begin, compared = time.monotonic(), set[Callable[..., str | None]]()
    draws = inputs(trial.program.functions[-1], version, seed)
    given = [one for said, forms in draws if (one := trial.usable(said, forms))]
    for step in (trial.run, trial.traced):
        for one in given:
            if step == trial.traced and step in compared and time.monotonic() > begin + SECONDS:
                break
            try:
                fault = step(one)
            except OutOfTime:
                continue
            if fault is not None:
                return f"for {one.said} (seed {seed}): {fault}"
            if all(np.size(arg) for arg in one.args):
                compared.add(step)
    return (
        None
        if len(compared) == 2
        else "there was no input on which its function succeeds in time, and which has elements"
    )


@dataclass(frozen=True, slots=True)
class _Input:
    """Arguments, what they are called, and what the function gives for them."""

    said: str
    args: list[Argument]
    expected: list[Argument]


class _Trial:
    """A function with a kernel, compiled for both machines."""

    def __init__(self, program: Prog, version: Version) -> None:
        self.program, self.name = program, version.name
        self.cpu, self.gpu = (compile_core(program, Mode.INCREMENTAL, machine) for machine in (CPU, CUDA))
        self.executable = Executable.build(self.cpu.host, program.functions)

    def usable(self, said: str, draws: Iterable[list[Argument]]) -> _Input | None:
        """The first of some inputs for which the function succeeds, in time."""
        for args in draws:
            with suppress(RunError, OutOfTime):
                return _Input(said, args, within(EACH, lambda args=args: self.expected(args)))
        return None

    def expected(self, args: list[Argument]) -> list[Argument]:
        return list(interpret(self.program, ENTRY, args, None)[0])

    def run(self, one: _Input) -> str | None:
        """What is wrong on the CPU for an input, if something is."""
        for forced in runs_of(self.cpu.flat, ENTRY):
            if not self.is_by(forced) <= {self.name}:
                continue
            try:
                results = self.executable.run(ENTRY, list(one.args), forced=forced)[0]
            except RunError as error:
                return words_of_failure(error)
            if (fault := _difference(results, one)) is not None:
                if not self.is_by(forced):
                    return f"the compiler's version {dict(forced)}: {fault}"
                return "\n".join(filter(None, (fault, self.hazards(one))))
        return None

    def traced(self, one: _Input) -> str | None:
        """As `run`, for the kernel as a GPU runs it."""
        try:
            report = self.report(one)
        except RunError as error:
            return words_of_failure(error)
        return sync.hazards_of(report) or _difference(report.results, one)

    def hazards(self, one: _Input) -> str | None:
        """Why a kernel may have gone wrong: races and reads of what no thread has written."""
        with suppress(RunError, OutOfTime):
            return sync.hazards_of(self.report(one))
        return None

    def report(self, one: _Input) -> Report:
        mine = next(forced for forced in runs_of(self.gpu.flat, ENTRY) if self.is_by(forced) == {self.name})
        report = sync.traced(self.gpu, ENTRY, one.args, mine, SECONDS / 8)
        if report is None:
            raise OutOfTime
        return report

    def is_by(self, forced: Mapping[str, bool]) -> set[str]:
        """The kernels that a version takes."""
        return {kernel for guard, side in forced.items() if side and (kernel := kernel_of_guard(guard)) is not None}


def _difference(results: Sequence[Argument], one: _Input) -> str | None:
    elements = sum(np.size(arg) for arg in one.args)
    for got, wanted in zip(results, one.expected, strict=True):
        if (said := compare_values(got, wanted, max(TOLERANCE, elements * epsilon(wanted)))) is not None:
            return said
    return None


def inputs(fun: FunDef, version: Version, seed: int) -> list[tuple[str, Iterator[list[Argument]]]]:
    """Random arguments, small ones first, with sizes around those that the kernel mentions; of each size several, of
    which the first is taken for which the function succeeds."""
    source = np.random.PCG64(seed)
    sizes = list(sizes_around(fun, tiles_of(version.kernel))) or [{}]
    found = [(in_words(one) or "random arguments", drawn(fun, source, LARGEST, one)) for one in sizes]
    found.sort(key=lambda one: sum(np.size(arg) for arg in one[1]))
    return [(said, forms(args)) for said, args in found]


def forms(args: Sequence[Argument]) -> Iterator[list[Argument]]:
    """Floats of both signs, numbers that may count something less than all sizes, and in arrays any integers; then
    integers that are indices into something, and then offsets, which are in order."""
    sizes = sorted({max(size, 1) for arg in args for size in np.shape(arg)}, reverse=True) or [1]
    plain = [_signed(arg) if is_float(arg) else arg if np.ndim(arg) else _below(arg, sizes) for arg in args]
    yield plain
    places = [k for k, arg in enumerate(args) if np.ndim(arg) and arg.dtype.kind in "iu"]
    for ordered in (False, True):
        for bounds in islice(product(sizes, repeat=len(places)), MOST_BOUNDS):
            made = list(plain)
            for k, bound in zip(places, bounds, strict=True):
                made[k] = np.mod(args[k], bound, dtype=args[k].dtype)
                made[k] = np.sort(made[k], axis=-1) if ordered else made[k]
            yield made


def _signed(arg: Argument) -> Argument:
    return np.subtract(np.multiply(arg, 2), 1, dtype=arg.dtype)


def _below(arg: Argument, sizes: Sequence[int]) -> Argument:
    """An integer that is no size, as one that is less than all sizes."""
    return np.mod(arg, sizes[-1], dtype=arg.dtype) if arg.dtype.kind in "iu" and int(arg) not in sizes else arg


def tiles_of(kernel: FunDef) -> tuple[int, ...]:
    """The constants that bound the loops of a kernel, and how many threads a block has; of a kernel of single threads
    those are the compiler's."""
    forms = (exp.form for exp in all_exps(kernel.body) if isinstance(exp, Loop))
    bounds = (form.bound for form in forms if isinstance(form, ForLoop))
    found = {int(bound.value) for bound in bounds if isinstance(bound, Const)}
    found |= {int(attr.args[0].name) for stm in kernel.body.stms for attr in stm.attrs if attr.args}
    return tuple(sorted(size for size in found if 2 < size <= BLOCK.most)) or (BLOCK.threads,)


def program_of(prog: Prog, version: Version) -> Prog:
    """A program whose entry calls the function, and nothing else does."""
    names, fun = Names(prog.next_name), version.function
    renaming = refreshing(names)
    params, results = rewrite_params(fun.params, renaming), rewrite_params(fun.results, renaming)
    pat = tuple(Param(names.again(p.name), p.type) for p in results)
    sizes = set(names_in_types(p.type for p in params))
    count = sum(1 for p in params if p.type == I64 and p.name in sizes)
    taken = [(p.name.base, p.type.prim) for p in params[count:]]
    entry = plain_entry(ENTRY, count, taken, [r.type.prim for r in results])
    call = Stm(pat, Apply(fun.name, tuple(Var(p.name) for p in params)), (), (), fun.loc)
    body = Body((call,), tuple(Var(p.name) for p in pat))
    consumes = tuple(atom.name for c in fun.consumes if isinstance(atom := rewrite_atom(Var(c), renaming), Var))
    main = FunDef(names.fresh(ENTRY), params, consumes, results, body, entry, (), fun.loc)
    others = tuple(one for one in prog.functions if one.entry is None)
    return Prog(prog.consts, (*others, main), names.next)
