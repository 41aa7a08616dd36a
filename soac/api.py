"""The Python face: `compile` and `load` give a `Program`, whose entry points are its methods.

    prog = soac.load("matmul.soac")
    zss = prog.main(xss, yss)
    zss = prog["main"](xss, yss)          also where `main` is a method of `Program`
    with prog.settings({"main.zss.suff_outer_0": 1}, threads=2):
        zss = prog.main(xss, yss)
    results = prog.call("main", [xss, yss], threads=1)     components in, a list of components out

With `device="cuda"` it runs on a GPU. Results stay there until somebody looks at them (`numpy.asarray(zss)`), and are
arguments of other calls or arrays of CuPy, PyTorch and JAX without a copy; so are their arrays as arguments.

Arguments are NumPy arrays of exactly the types of the entry. Numbers of Python and NumPy and nested lists are
converted: integers must fit, floats are rounded (0.1 for an f32), but may not overflow (1e300). Records and sums are
those of `soac/python/entry.py`. Settings are those of the command line (`--param`, `--threads`), and the same names and
values are wrong. Errors are exceptions (`soac.SoacError`) with the text that the command line shows. A caller's array
is never written, but for those given as `out`.
"""

from __future__ import annotations

import dataclasses
import reprlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from . import program_cache as stored
from .arguments import to_arguments
from .autotune.tuning import clamped, read_tuning, threads_name, tuning_beside
from .by_hand import verified, with_kernels
from .checked_settings import checked_sides, checked_threads, checked_values, guards_of, listed, misused, parameters_of
from .devices import described, on_gpu, require
from .entries import no_entry, require_entries, shown
from .frontend.source.text import Reach
from .ir.collector import paused_collector
from .ir.core import FunDef
from .ir.machine import CPU, MACHINES, Machine
from .ir.records import dataclass
from .kernels.devices.cpu.executable import WORKERS
from .kernels.devices.cpu.runtime.functions import runtime_beside
from .kernels.devices.device import Call, Runnable, default_of, on_host
from .kernels.host_ir.timing_events import Event
from .program_cache import Facts
from .python.entry import Axes, Entry, Owner
from .source import read_source
from .versions import forced_sides, named_versions

if TYPE_CHECKING:
    from types import SimpleNamespace

    from .pipeline import Compiled, Flat
    from .python.classes import Classes

Trace = Sequence[tuple[str, int, bool]]  # threshold, parallelism, taken
Made = TypeVar("Made")
How = tuple[Mapping[str, int], Mapping[str, bool], int | None]  # settings, sides of guards, threads


@dataclass(frozen=True, slots=True)
class Source:
    """What a program is compiled from: text, name of the file, what it may import, the device it is for."""

    text: str
    file: str
    reach: Reach
    device: str


@dataclass(slots=True)
class Deferred(Generic[Made]):
    """A program that is compiled, or lowered, when somebody looks at how. `before`: what it is made from."""

    compile: Callable[[], Made]
    before: Deferred[Any] | None = None
    done: Made | None = None

    @property
    def is_begun(self) -> bool:
        """Whether the compiler has run for it."""
        return self.done is not None or (self.before is not None and self.before.is_begun)

    def get(self) -> Made:
        if self.done is None:
            self.done = self.compile()
        return self.done


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a block of `Program.settings` has set."""

    thresholds: Mapping[str, int]
    sides: Mapping[str, bool]
    threads: int | None


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Program:
    """A compiled program: its entry points are attributes, and items by their names.

    `thresholds` are the settings it runs with unless a call says otherwise; `facts` what may be set, and warnings. It
    is copied and pickled as its source and settings, and compiled again where it arrives. Entries become attributes of
    the object when they are first asked for."""

    source: Source
    stages: Deferred[Compiled]
    facts: Facts
    executable: Runnable
    thresholds: Mapping[str, int]
    _prepared: dict[str, Call] = field(init=False, compare=False, default_factory=dict)
    _functions: dict[object, Entry] = field(init=False, compare=False, default_factory=dict)
    _chosen: list[Chosen] = field(init=False, compare=False, default_factory=list)
    _classes: list[Classes] = field(init=False, compare=False, default_factory=list)

    @property
    def compiled(self) -> Compiled:
        """The program at every stage; one that was found on disk is compiled for it."""
        return self.stages.get()

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the entry points, in the order of the source."""
        return tuple(self.executable.functions)

    @property
    def versions(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """For each entry point its sites, and the names of their versions from the least parallel one on."""
        found: dict[str, dict[str, tuple[str, ...]]] = {entry: {} for entry in self.entries}
        for site in self.facts.sites:
            found.setdefault(site.entry, {})[site.name] = tuple(named_versions(site))
        return found

    @property
    def params(self) -> dict[str, int]:
        """What may be set (`settings`, `thresholds=`), with the values of now: thresholds, sizes, and the threads of an
        entry, 0 for all cores."""
        now = self._merged()
        known = self.defaults(now.threads) | dict(self.facts.sizes) | dict.fromkeys(map(threads_name, self.entries), 0)
        return {**known, **now.thresholds}

    def defaults(self, threads: int | None) -> dict[str, int]:
        """What thresholds are on this many threads unless they are set; None: on all cores."""
        device, workers = self.executable.device, threads or WORKERS
        return {name: default_of(device, name, workers) for name in guards_of(self.facts)}

    @property
    def types(self) -> SimpleNamespace:
        """The classes of records and of constructors that entries take and give."""
        from types import SimpleNamespace

        return SimpleNamespace(**self._all_classes().by_name())

    def function(self, entry: str) -> FunDef:
        """The signature of an entry point; `CompileError` E0001 where there is none of that name."""
        if entry not in self.executable.functions:
            raise no_entry(str(entry), self.entries)
        return self.executable.functions[entry]

    def call(
        self,
        entry: str,
        args: Sequence[Any],
        thresholds: Mapping[str, int] | None = None,
        forced: Mapping[str, bool] | None = None,
        threads: int | None = None,
    ) -> list[Any]:
        """The results of an entry point, one array or scalar for each component; arrays of a GPU stay there."""
        if thresholds or forced or threads is not None:
            return self._run(entry, args, self._settings(entry, thresholds, forced, threads))[0]
        return (self._prepared.get(entry) or self._ready(entry))(args)

    @contextmanager
    def settings(
        self,
        thresholds: Mapping[str, int] | None = None,
        forced: Mapping[str, bool] | Sequence[str] | None = None,
        threads: int | None = None,
    ) -> Iterator[Program]:
        """Inside of the block all calls of this program, in all threads, run with these settings. `forced` has sides of
        guards, or versions as `--force` names them: `["main.ys.suff_outer_0=full"]`."""
        known = parameters_of(self.facts, self.entries)
        asked = (forced,) if isinstance(forced, str) else forced or {}
        sides = forced_sides(self.facts.sites, (*asked,)) if isinstance(asked, Sequence) else asked
        sides = checked_sides(sides, guards_of(self.facts))
        chosen = Chosen(checked_values(thresholds or {}, known), sides, checked_threads(threads))
        self._chosen.append(chosen)
        self._reset()
        try:
            yield self
        finally:
            self._chosen.remove(chosen)
            self._reset()

    def _reset(self) -> None:
        self._prepared.clear()
        for entry in self._functions.values():
            entry.reset()

    def _merged(self) -> Chosen:
        """The settings of calls that say nothing."""
        values, sides, threads = dict(self.thresholds), {}, None
        for chosen in self._chosen:
            values |= chosen.thresholds
            sides |= chosen.sides
            threads = chosen.threads or threads
        return Chosen(values, sides, threads)

    def prepare(
        self,
        entry: str,
        thresholds: Mapping[str, int] | None = None,
        forced: Mapping[str, bool] | None = None,
        threads: int | None = None,
    ) -> Call:
        """`call` with settings that are decided once: a function from the arguments, in a list, to the results. Worth
        it where many calls of some microseconds have settings of their own."""
        settings, sides, workers = self._settings(entry, thresholds, forced, threads)
        return self.executable.prepare(entry, (settings, sides), workers, to_arguments)

    def _ready(self, entry: str) -> Call:
        """The call without settings."""
        return self._prepared.setdefault(entry, self.prepare(entry))

    def trace(
        self,
        entry: str,
        args: Sequence[Any],
        thresholds: Mapping[str, int] | None = None,
        forced: Mapping[str, bool] | None = None,
        threads: int | None = None,
    ) -> tuple[list[np.ndarray | np.generic], Trace]:
        """The results in host memory, and the guards that were decided: (threshold, parallelism, first branch
        taken)."""
        results, reached = self._run(entry, args, self._settings(entry, thresholds, forced, threads))
        return on_host(results), reached

    def timed(
        self,
        entry: str,
        args: Sequence[Any],
        settings: Mapping[str, int],
        forced: Mapping[str, bool],
        threads: int | None,
        log: list[Event] | None,
    ) -> list[Any]:
        """The results as `call` gives them, and in `log` the guards reached and when, also if the run fails. Settings
        are taken as they are."""
        values = {**self.thresholds, **settings}
        return self.executable.run(
            entry, args, values, forced, threads or self._threads(entry, values), to_arguments, log
        )[0]

    def place(self, entry: str, args: Sequence[Any]) -> list[Any]:
        """Arguments where the device reads them, so that calls take no time to bring them there."""
        return self.executable.place(entry, to_arguments(self.function(entry), args))

    def _run(self, entry: str, args: Sequence[Any], how: How) -> tuple[list[Any], Trace]:
        return self.executable.run(entry, listed(args), *how, to_arguments)

    def _settings(
        self,
        entry: str,
        thresholds: Mapping[str, int] | None,
        forced: Mapping[str, bool] | None,
        threads: int | None,
    ) -> How:
        """What a call runs with, and on how many threads, if that is said; `SettingError` C0101 for what the program
        or no machine has."""
        self.function(entry)
        now = self._merged()
        settings, sides = now.thresholds, now.sides
        if thresholds:
            settings = {**settings, **checked_values(thresholds, parameters_of(self.facts, self.entries))}
        if forced:
            sides = {**sides, **checked_sides(forced, guards_of(self.facts))}
        return settings, sides, checked_threads(threads) or now.threads or self._threads(entry, settings)

    def _threads(self, entry: str, settings: Mapping[str, int]) -> int | None:
        return settings.get(threads_name(entry)) or None

    def __reduce__(self) -> tuple[Callable[..., Program], tuple[Source, dict[str, int]]]:
        return again, (self.source, dict(self.thresholds))

    # ---- entries -------------------------------------------------------------------------------------------------

    def __getitem__(self, entry: str) -> Entry:
        """The entry point as a function; also where the attribute `prog.NAME` is something else (`prog["call"]`)."""
        found = self._functions.get(entry)
        if found is None:
            fun, doc = self.function(entry), self.facts.docs.get(entry, "")
            owner = Owner(self._ready, self._batch, self._all_classes, self)
            found = self._functions.setdefault(entry, Entry(fun, doc, owner))
        return found

    def __getattr__(self, name: str) -> Entry:
        if name.startswith("__") or name not in self.executable.functions:
            text = f"the program has no entry point `{shown(name)}`; it has: {', '.join(map(shown, self.entries))}"
            raise AttributeError(text, name=name, obj=self)
        found = self[name]
        vars(self)[name] = found
        return found

    def _batch(self, entry: str, in_axes: Axes) -> Entry:
        """The entry mapped over leading dimensions, of a program of its own."""
        from .batched import batched_text, mapped_arguments

        mapped = mapped_arguments(self[entry], in_axes)
        key = entry, mapped
        if key not in self._functions:
            text, name = batched_text(self.source.text, self[entry], mapped)
            self._functions[key] = build(replace(self.source, text=text))[name]
        return self._functions[key]

    def _all_classes(self) -> Classes:
        """The classes of all entries, so that their names do not depend on what was called."""
        if not self._classes:
            from .python.classes import classes_of

            self._classes.append(classes_of(map(self.function, self.entries), self.facts.types))
        return self._classes[0]

    # ---- what it is ----------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __dir__(self) -> Iterable[str]:
        return sorted({*object.__dir__(self), *self.entries})

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.entries)

    def __repr__(self) -> str:
        lines = "".join(f"\n  {self[name]}" for name in self.entries)
        return f"<soac program {self.source.file} on {self.source.device}:{lines}>"

    def _repr_html_(self) -> str:
        from .python.display import html_of_program

        return html_of_program(self.source.file, self.source.device, [self[name] for name in self.entries], self.params)


def compile(
    text: str,
    file: str = "<text>",
    thresholds: Mapping[str, int] | None = None,
    reach: Reach = Reach.PROJECT,
    device: str = "cpu",
) -> Program:
    """Compiles the text of a program for a device, `cpu` or `cuda`; `file` is the name that messages show, `reach` says
    what it may import."""
    if not isinstance(text, str):
        raise misused(f"the text of a program is a `str`, not {reprlib.repr(text)}", "`soac.load` reads a file")
    return _for_python(build(Source(text, str(file), reach, device)), thresholds)


def load(
    path: str | Path,
    thresholds: Mapping[str, int] | None = None,
    device: str = "cpu",
    tuning: bool | str | Path = False,
) -> Program:
    """Compiles the program in a file. `tuning`: a tuning file, or True for that beside the program, if there is one;
    `thresholds` count for more."""
    if not isinstance(path, str | Path):
        raise misused(f"the path of a program is not {reprlib.repr(path)}", "`soac.compile` takes a text")
    program = _for_python(build(Source(read_source(Path(path)), str(path), Reach.PROJECT, device)), thresholds)
    file = tuning_beside(Path(path), device) if tuning is True else Path(tuning) if tuning else None
    return _with_kernels(program if file is None else _tuned(program, file), Path(path), thresholds or {})


def _with_kernels(program: Program, path: Path, thresholds: Mapping[str, int]) -> Program:
    """The program with thresholds for the kernels by hand that are verified."""
    right, guards = verified(path, program.facts.by_hand), guards_of(program.facts)
    chosen = with_kernels(program.thresholds, guards, right, program.source.device, None)
    return replace(program, thresholds={**chosen, **thresholds})


def _tuned(program: Program, file: Path) -> Program:
    """The program with the settings of a tuning file; what is wrong with the file is a warning."""
    known, source = parameters_of(program.facts, program.entries), program.source
    values, said = read_tuning(file, known, source.text, described(source.device))
    fitting, notes = clamped(file, values)
    for diagnostic in (*said, *notes):
        warnings.warn(diagnostic.message, stacklevel=3)
    return replace(program, thresholds={**fitting, **program.thresholds})


def _for_python(program: Program, thresholds: Mapping[str, int] | None) -> Program:
    """The program with settings; its user is warned of entry points that are no attributes."""
    own = {*dir(Program), *vars(program)}
    for name in program.entries:
        if name.startswith("__") or name in own:
            text = f'`prog.{name}` is not the entry point `{name}`: write `prog["{name}"]`'
            warnings.warn(text, stacklevel=3)
    if not thresholds:
        return program
    return replace(program, thresholds=checked_values(thresholds, parameters_of(program.facts, program.entries)))


def again(source: Source, thresholds: Mapping[str, int]) -> Program:
    """A program that was copied or pickled."""
    return replace(build(source), thresholds=thresholds)


def build(source: Source) -> Program:
    """The program, found on disk or compiled, without settings."""
    require(source.device)
    if source.device != "cpu":
        with paused_collector():
            made = compile_prog(source.text, source.file, MACHINES[source.device], source.reach)
            compiled = with_entries(made, source.file)
            runnable = on_gpu(compiled)
        return Program(source, Deferred(lambda: compiled), stored.facts_of(compiled), runnable, {})
    text, file, reach = source.text, source.file, source.reach
    flat = Deferred(lambda: with_entries(flat_prog(text, file, reach), file))
    stages = Deferred(lambda: lowered(flat.get()), flat)
    found = stored.find(text, file, reach, flat.get)
    if found is None:
        with paused_collector(), runtime_beside():
            found = stored.build(text, file, reach, flat.get())
    executable, facts = found
    return Program(source, stages, facts, executable, {})


def compile_prog(text: str, file: str, machine: Machine = CPU, reach: Reach = Reach.PROJECT) -> Compiled:
    """A program through all passes. The compiler is loaded for it: what the cache has runs without."""
    from .pipeline import compile_prog

    return compile_prog(text, file, machine=machine, reach=reach)


def flat_prog(text: str, file: str, reach: Reach) -> Flat:
    """A program through all passes but lowering."""
    from .pipeline import flat_prog

    return flat_prog(text, file, reach=reach)


def lowered(flat: Flat) -> Compiled:
    """All of a program lowered, for a look at it."""
    from .pipeline import lowered

    with paused_collector():
        return lowered(flat, CPU)


Stages = TypeVar("Stages", "Flat", "Compiled")


def with_entries(compiled: Stages, file: str) -> Stages:
    """`compiled` from `file`, if it has an entry point; raises `CompileError` E0001."""
    require_entries(compiled.core, file)
    return compiled
