"""What is checked: programs with small cases of their entry points, and what the interpreter gives for each.

The cases are those of the test blocks. Of one that is too large for an emulator the sizes are made smaller, those that
are equal in it alike: `random input { [1000][32]f32 32i64 }` becomes `[19][17]f32 17i64`. A check needs every kernel on
every version, not many elements.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import soac
from soac.api import Program
from soac.arguments import Argument, parameter_types
from soac.flatten.tiling import choose
from soac.flatten.versions import rounds
from soac.frontend.source.text import Reach
from soac.ir.core import FunDef, Param
from soac.ir.errors import Loc, RunError, SoacError
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import BLOCK, CUDA, Machine, Mode
from soac.ir.scalar import DTYPES
from soac.ir.types import Atom, Const, Name, Var
from soac.kernels.schedule import merge_path, table
from soac.kernels.schedule.cpu import segred as chunked
from soac.kernels.schedule.cuda import seghist as gpu_seghist
from soac.kernels.schedule.cuda import segmap as gpu_segmap
from soac.kernels.schedule.cuda import segred as gpu_segred
from soac.kernels.schedule.cuda import segscan as gpu_segscan
from soac.kernels.schedule.cuda import tile_splits
from soac.kernels.schedule.host_builder import HostBuilder
from soac.pipeline import Compiled, compile_core, compile_prog
from soac.testing.blocks import RandomInput, RandomType, ScriptInput, ValuesText, parse_tests
from soac.testing.datasets import DataSet, arguments_of, data_sets, described, inputs_of
from tests.support.emulator.wide_tiles import Wide, wide_runs
from tests.support.programs import is_large
from tests.support.property.device import resized
from tests.support.property.guards import Broken
from tests.support.property.segops import one_value_a_place
from tests.support.property.soak import on_device, program, within

ROOT = Path(__file__).parents[3]
MOST_ELEMENTS = 1000
"""Of the arguments of a case."""
LARGE = 100
"""A script with a number above it is not run as it is."""
ORACLE_SECONDS, SMALLER_SECONDS, RANDOM_SECONDS = 3.0, 0.5, 60.0
"""Of the processor: what the interpreter may take for a case, for one that was made smaller, and for one of a random
program."""
ODD, POWERS = (17, 9, 5, 3), (16, 4, 2)
"""What the least of the numbers becomes that are made smaller; the next ones become 2 more, or twice as much for
programs that ask for powers of two; n + 1 stays one more than n. Numbers that are less stay."""
NUMBER = re.compile(r"(?<![\w.])\d+(?=(?:[iu](?:8|16|32|64))?(?![\w.]))")
SMALL_SIZES = ((4, 0), (9, 1), (17, 8))
"""Of arguments that are made up, and the value of scalars among them."""
RANDOM_SIZES = ((1, 17), (33, 2))
"""Of arguments of a random program, beside those that its number gives."""

Emit = Callable[[tuple[Param, ...]], None]
Limits = tuple[tuple[ModuleType, str, Any], ...]
"""Names of modules, and what they stand for."""


def last(_h: HostBuilder, pat: tuple[Param, ...], cond: Atom, then: Emit, orelse: Emit, _loc: Loc) -> None:
    """In the place of `host_builder.either`: a segop is run by the last of its schedules, which is right for all sizes;
    partial results are combined, however few there are."""
    (then if isinstance(cond, Const) and cond.value else orelse)(pat)


FEW = (
    (gpu_segred, "SHORT", 4, 0), (gpu_segred, "LEAST_CHUNK", 16, 1), (gpu_segred, "CHUNK_UNIT", 16, 1),
    (merge_path, "GRAIN", 8, 1), (gpu_segscan, "BLOCK", replace(BLOCK, threads=2), replace(BLOCK, threads=2)),
    (gpu_segscan, "tile_items", lambda size: 2, lambda size: 1),
    (gpu_segmap, "rows_in_registers", lambda kernel: None, lambda kernel: None),
    (gpu_seghist, "LEAST_CHUNK", 16, 2), (gpu_seghist, "ATOMIC", 8, 8), (gpu_seghist, "MOST_PARTIAL", 64, 8),
    (gpu_seghist, "SHARED", 256, 64),
    (rounds, "BATCH", 4 * rounds.LEAST, rounds.LEAST),
    (choose, "LEAST_SHARE", 16, 1), (tile_splits, "LEAST_SHARE", 16, 1),
)  # fmt: skip
"""Limits from which on a schedule for more elements is taken, and what they are so that small cases reach it: cases of
some 20 elements, and where these leave out a kernel, of two or three."""
PARTS: tuple[Limits, ...] = (
    tuple((module, name, some) for module, name, some, _ in FEW),
    ((table, "either", last),),
    tuple((module, name, few) for module, name, _, few in FEW),
    ((chunked, "either", last),),
)
"""With what a program is compiled again so that small cases reach kernels for many elements, one after the other."""
MOST_WIDE = 1 << 16
"""Elements of the arguments that reach whole register tiles."""

Run = Callable[..., tuple[Sequence[Argument], object]]
Results = Sequence[Argument] | str
"""What a call gives, or the text of its failure."""


@dataclass(frozen=True, slots=True)
class Call:
    """A case: an entry with arguments, what it gives, and how long the interpreter took."""

    entry: str
    label: str
    args: Sequence[Argument]
    wanted: Results
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Subject:
    """A program and its cases, quick ones first, and those that are `left_out`, each with the reason. `compile` makes
    `compiled`; `wide`: cases for whole register tiles; `in_parts`: with which limits it is compiled;
    `wanted`: kernels that are to be reached, and nothing more; `known`: those that need not be; `made_up`: calls of
    entries whose own cases do not reach all kernels; `seconds`: in the place of `PROGRAM_SECONDS`."""

    name: str
    compile: Callable[[], Compiled]
    compiled: Compiled
    calls: tuple[Call, ...]
    left_out: tuple[str, ...] = ()
    wide: tuple[tuple[Wide, Call], ...] = ()
    in_parts: int | None = None
    wanted: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    made_up: Callable[[], tuple[Call, ...]] = tuple
    seconds: float | None = None


@contextmanager
def compiled_with(limits: Limits) -> Iterator[None]:
    """Programs are compiled as if a few elements were many."""
    before = [getattr(module, name) for module, name, _ in limits]
    try:
        for module, name, value in limits:
            setattr(module, name, value)
        yield
    finally:
        for (module, name, _), value in zip(limits, before, strict=True):
            setattr(module, name, value)


def in_small_parts(subject: Subject, part: int) -> Subject:
    """The program as compiled so, with the same cases, without those for wide tiles."""
    with compiled_with(PARTS[part]):
        return replace(subject, compiled=subject.compile(), wide=(), in_parts=part, known=frozenset())


def outcome(run: Run, *args: object) -> Results:
    """The results, or the text of the failure."""
    try:
        with np.errstate(all="ignore"):
            return run(*args)[0]
    except RunError as failure:
        return str(failure)


# ---- programs with test blocks -----------------------------------------------------------------------------------


def corpus() -> list[Path]:
    """Every program that is not there to be rejected."""
    conformance = (ROOT / "tests" / "conformance").rglob("*.fut")
    apart = {"rejected", "library"}
    return [
        *sorted((ROOT / "programs").glob("*.soac")),
        *sorted((ROOT / "tests" / "regress").glob("*.soac")),
        *sorted(path for path in conformance if not apart & set(path.relative_to(ROOT).parts)),
    ]


def of_file(path: Path, machine: Machine = CUDA) -> Subject:
    """A program with small cases."""
    text = path.read_text(encoding="utf-8")
    compiled = compile_prog(text, str(path), machine=machine, reach=Reach.ANYWHERE)
    compile = partial(compile_core, compiled.core, Mode.INCREMENTAL, machine)
    cases = Cases(path, compiled)
    found = [cases.small(one) for one in data_sets(parse_tests(text, str(path)))]
    calls = {(call.entry, call.label): call for call in found if isinstance(call, Call)}
    with_cases = {call.entry for call in calls.values()}
    made_up = [call for entry in cases.functions if entry not in with_cases for call in cases.made_up(entry)]
    left_out = tuple(why for why in found if isinstance(why, str))
    quick = tuple(sorted((*calls.values(), *made_up), key=lambda call: call.seconds))
    return Subject(
        str(path),
        compile,
        compiled,
        quick,
        left_out,
        wide_calls(compiled),
        made_up=partial(cases.all_made_up, with_cases),
    )


@dataclass(slots=True)
class Cases:
    """The cases of a program as calls, each made once."""

    path: Path
    compiled: Compiled
    functions: Mapping[str, FunDef] = field(init=False)
    oracle: Run = field(init=False)
    tried: dict[tuple[str, str], Call | str] = field(init=False, default_factory=dict)
    scripted: Program | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.functions = {fun.entry.name: fun for fun in self.compiled.core.functions if fun.entry}
        self.oracle = prepare(self.compiled.core).run

    def small(self, one: DataSet) -> Call | str:
        """The case, or if it is too large the first smaller one that does not fail; or why there is none."""
        first = self.call(one, ORACLE_SECONDS)
        if isinstance(first, Call):
            return first
        later = (call for less in smaller(one) if isinstance(call := self.call(less, SMALLER_SECONDS), Call))
        return next((call for call in later if not isinstance(call.wanted, str)), f"{one.entry} {one.label}: {first}")

    def call(self, one: DataSet, seconds: float) -> Call | str:
        key = one.entry, one.label
        if key not in self.tried:
            self.tried[key] = self._call(one, seconds)
        return self.tried[key]

    def _call(self, one: DataSet, seconds: float) -> Call | str:
        try:
            with within(seconds):
                args = self.arguments(one)
                if sum(np.size(a) for a in args) > MOST_ELEMENTS:
                    return "it is large, and cannot be made smaller"
                return timed(self.oracle, one.entry, one.label, args)
        except SoacError as refused:  # sizes that do not fit, a file that is not there, a script that fails
            return str(refused)
        except Broken:
            return f"the interpreter takes more than {seconds:g} s"

    def all_made_up(self, entries: Iterable[str]) -> tuple[Call, ...]:
        """Those of some entries that do not fail."""
        found = (call for entry in sorted(entries) for call in self.made_up(entry))
        return tuple(call for call in found if not isinstance(call.wanted, str))

    def made_up(self, entry: str) -> Iterator[Call]:
        """Calls with small numbers from 1 on, such as of an entry that makes the data of others; then with each of the
        sizes 0, for kernels that only arrays without elements have launched. None that writes two values to a place."""
        fun = self.functions[entry]
        given = fun.params[len(fun.params) - len(parameter_types(fun)) :]
        sizes = dict.fromkeys(size.name for p in given for size in p.type.shape if isinstance(size, Var))
        for start, scalar in SMALL_SIZES:
            lengths = {name: start + k for k, name in enumerate(sizes)}
            for some in (lengths, *({**lengths, name: 0} for name in sizes)):
                args = [small_numbers(param, some, scalar) for param in given]
                try:
                    with within(SMALLER_SECONDS), one_value_a_place():
                        call = timed(self.oracle, entry, f"made up of {[*some.values()]}, {scalar}", args)
                except (Broken, SoacError):  # arguments that no caller may give
                    continue
                yield call

    def arguments(self, one: DataSet) -> list[Argument]:
        """Raises what reading them or running a script raises."""
        given, fun = one.case.input, self.functions[one.entry]
        if not isinstance(given, ScriptInput):
            return [np.empty(MOST_ELEMENTS + 1)] if is_large(one, MOST_ELEMENTS) else arguments_of(one, fun, self.path)
        if isinstance(given.text, str) and any(number > LARGE for number in numbers_in(given.text)):
            return [np.empty(MOST_ELEMENTS + 1)]
        self.scripted = self.scripted or soac.load(self.path)
        return inputs_of(one, self.scripted, self.path)


def timed(oracle: Run, entry: str, label: str, args: Sequence[Argument]) -> Call:
    begin = time.process_time()
    wanted = outcome(oracle, entry, args, Thresholds())
    return Call(entry, label, args, wanted, time.process_time() - begin)


def wide_calls(compiled: Compiled) -> tuple[tuple[Wide, Call], ...]:
    """Arguments made up for whole register tiles, where the program takes such and the interpreter is quick enough."""
    functions = {fun.entry.name: fun for fun in compiled.core.functions if fun.entry}
    oracle, found = prepare(compiled.core).run, dict[tuple[str, int], Call]()
    for one in (runs := list(wide_runs(compiled.flat))):
        fun = functions[one.entry]
        given = fun.params[len(fun.params) - len(parameter_types(fun)) :]
        args = [small_numbers(param, one.lengths) for param in given]
        if sum(np.size(a) for a in args) > MOST_WIDE or (one.entry, one.each) in found:
            continue
        with suppress(Broken), within(ORACLE_SECONDS):
            call = timed(oracle, one.entry, f"for tiles of {one.each}", args)
            if not isinstance(call.wanted, str):
                found[one.entry, one.each] = call
    return tuple((one, found[one.entry, one.each]) for one in runs if (one.entry, one.each) in found)


def small_numbers(param: Param, lengths: Mapping[Name, int], scalar: int = 1) -> Argument:
    """1, 2 .. of a type, one value for scalars; a parameter that is a size has its value."""
    if param.name in lengths:
        return np.int64(lengths[param.name])
    shape = tuple(lengths[s.name] if isinstance(s, Var) else int(s.value) for s in param.type.shape)
    values = (np.arange(prod(shape)) % 9 + 1).reshape(shape).astype(DTYPES[param.type.prim])
    return values if shape else DTYPES[param.type.prim].type(scalar)


# ---- smaller cases -----------------------------------------------------------------------------------------------


def numbers_in(text: str) -> list[int]:
    return [int(found) for found in NUMBER.findall(text)]


def smaller(one: DataSet) -> Iterator[DataSet]:
    """The case with other sizes, larger ones first."""
    match one.case.input:
        case RandomInput(items):
            shapes = [n for item in items if isinstance(item, RandomType) for n in item.shape]
            numbers = shapes + [n for item in items if isinstance(item, ValuesText) for n in numbers_in(item.text)]
        case ScriptInput(str(text)) | ValuesText(text) if "[" not in text:
            numbers = numbers_in(text)
        case _:
            return
    for fresh in [*((lambda k, base=base: base + 2 * k) for base in ODD),
                  *((lambda k, base=base: base << k) for base in POWERS)]:  # fmt: skip
        yield renumbered(one, fewer(numbers, fresh))


def fewer(numbers: Iterable[int], fresh: Callable[[int], int]) -> dict[int, int]:
    """What becomes of each number that is not less than `fresh(0)`."""
    to: dict[int, int] = {}
    for n in sorted({n for n in numbers if n >= fresh(0)}):
        to[n] = to[n - 1] + 1 if n - 1 in to else fresh(len(to))
    return to


def renumbered(one: DataSet, to: Mapping[int, int]) -> DataSet:
    """The case with some numbers in the place of others."""

    def text_of(text: str) -> str:
        return NUMBER.sub(lambda found: str(to.get(int(found[0]), int(found[0]))), text)

    def item_of(item: RandomType | ValuesText) -> RandomType | ValuesText:
        if isinstance(item, ValuesText):
            return replace(item, text=text_of(item.text))
        return replace(item, shape=tuple(to.get(n, n) for n in item.shape))

    match one.case.input:
        case RandomInput(items) as given:
            fresh = replace(given, items=tuple(map(item_of, items)))
        case ScriptInput(str(text)) | ValuesText(text) as given:
            fresh = replace(given, text=text_of(text))
        case _:
            raise AssertionError("only random values and scripts have sizes to change")
    label = " ".join(fresh.text.split()) if isinstance(fresh, ValuesText) else described(fresh)
    return replace(one, label=f"smaller: {label}", case=replace(one.case, input=fresh))


# ---- random programs ---------------------------------------------------------------------------------------------


def of_number(seed: int, number: int) -> Subject:
    """Random program `number` of a seed, with arguments of several sizes; those that take long are left out."""
    case = on_device(program(seed, number), number)
    compile, oracle = partial(compile_core, case.prog, Mode.INCREMENTAL, CUDA), prepare(case.prog).run
    all_args = [case.args, *(resized(case, n, k, number).args for n, k in RANDOM_SIZES)]
    calls, left_out = list[Call](), list[str]()
    for k, args in enumerate(all_args):
        try:
            with within(RANDOM_SECONDS):
                calls.append(timed(oracle, "main", f"#{k}", args))
        except Broken:
            left_out.append(f"main #{k}: the interpreter takes more than {RANDOM_SECONDS:g} s")
    quick, compiled = tuple(sorted(calls, key=lambda call: call.seconds)), compile()
    made_up = partial(with_other_scalars, oracle, quick[0].args) if quick else tuple[Call, ...]
    name = f"random {seed} {number}"
    return Subject(name, compile, compiled, quick, tuple(left_out), wide_calls(compiled), made_up=made_up)


def with_other_scalars(oracle: Run, args: Sequence[Argument]) -> tuple[Call, ...]:
    """Calls that do not fail with the same arrays and other conditions, numbers, or both: for the other branches."""
    found = list[Call]()
    for label, kinds in (("other conditions", "b"), ("other numbers", "iuf"), ("other scalars", "biuf")):
        others = [_other(arg) if not np.ndim(arg) and arg.dtype.kind in kinds else arg for arg in args]
        with suppress(Broken), within(RANDOM_SECONDS):
            found.append(timed(oracle, "main", label, others))
    return tuple(call for call in found if not isinstance(call.wanted, str))


def _other(scalar: Any) -> Argument:
    with np.errstate(all="ignore"):
        return np.logical_not(scalar) if scalar.dtype.kind == "b" else scalar.dtype.type(scalar + 1)
