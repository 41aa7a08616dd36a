"""The Python face: `compile` and `load` give a `Program`, whose entry points are its methods.

    prog = soac.load("matmul.soac")
    zss = prog.main(xss, yss)
    results = prog.call("main", [xss, yss], thresholds={"main.zss.suff_outer_0": 1})
    prog["call"](x)                       an entry point that is called like a method

With `device="cuda"` it runs on a GPU. Results stay there until somebody looks at them (`numpy.asarray(zss)`), and are
arguments of other calls or arrays of CuPy, PyTorch and JAX without a copy; so are their arrays as arguments.

Arguments are NumPy arrays and scalars of exactly the types of the entry. Python numbers and nested lists are converted:
integers must fit, floats are rounded (0.1 for an f32), but may not overflow (1e300). Settings are those of the command
line (`--param`, `--threads`), and the same names and values are wrong. Errors are exceptions
(`soac.SoacError`) with the text that the command line shows. A caller's array is never written.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import program_cache as stored
from .arguments import to_arguments
from .autotune.tuning import threads_name
from .checked_settings import checked_sides, checked_threads, checked_values, guards_of, parameters_of
from .devices import MACHINES, on_gpu, require
from .entries import no_entry, require_entries
from .frontend.source.text import Reach
from .ir.core import FunDef
from .ir.machine import CPU, Machine
from .kernels.devices.device import Call, Runnable, on_host
from .kernels.host_ir.timing_events import Event
from .program_cache import Facts
from .source import read_source

if TYPE_CHECKING:
    from .pipeline import Compiled

Trace = Sequence[tuple[str, int, bool]]  # threshold, parallelism, taken


@dataclass(frozen=True, slots=True)
class Source:
    """What a program is compiled from: text, name of the file, what it may import, the device it is for."""

    text: str
    file: str
    reach: Reach
    device: str


@dataclass(slots=True)
class Deferred:
    """A program that is compiled when somebody looks at how."""

    compile: Callable[[], Compiled]
    done: Compiled | None = None

    def get(self) -> Compiled:
        if self.done is None:
            self.done = self.compile()
        return self.done


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled program. `thresholds` are the settings it runs with unless a call says otherwise; `facts` what may be
    set, and warnings. It is copied and pickled as its source and settings, and compiled again where it arrives."""

    source: Source = field(repr=False)
    stages: Deferred = field(repr=False)
    facts: Facts = field(repr=False)
    executable: Runnable = field(repr=False)
    thresholds: Mapping[str, int]
    _prepared: dict[str, Call] = field(init=False, repr=False, compare=False, default_factory=dict)

    @property
    def compiled(self) -> Compiled:
        """The program at every stage; one that was found on disk is compiled for it."""
        return self.stages.get()

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the entry points, in the order of the source."""
        return tuple(self.executable.functions)

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
            return self._run(entry, args, thresholds, forced, threads)[0]
        return (self._prepared.get(entry) or self._ready(entry))(args)

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
        results, reached = self._run(entry, args, thresholds, forced, threads)
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

    def _run(
        self,
        entry: str,
        args: Sequence[Any],
        thresholds: Mapping[str, int] | None,
        forced: Mapping[str, bool] | None,
        threads: int | None,
    ) -> tuple[list[Any], Trace]:
        settings, sides, workers = self._settings(entry, thresholds, forced, threads)
        return self.executable.run(entry, args, settings, sides, workers, to_arguments)

    def _settings(
        self,
        entry: str,
        thresholds: Mapping[str, int] | None,
        forced: Mapping[str, bool] | None,
        threads: int | None,
    ) -> tuple[Mapping[str, int], Mapping[str, bool], int | None]:
        """What a call runs with, and on how many threads, if that is said; `SettingError` C0101 for what the program
        or no machine has."""
        self.function(entry)
        settings = self.thresholds
        if thresholds:
            settings = {**settings, **checked_values(thresholds, parameters_of(self.facts, self.entries))}
        sides = checked_sides(forced, guards_of(self.facts)) if forced else {}
        return settings, sides, checked_threads(threads) or self._threads(entry, settings)

    def _threads(self, entry: str, settings: Mapping[str, int]) -> int | None:
        return settings.get(threads_name(entry)) or None

    def __reduce__(self) -> tuple[Callable[..., Program], tuple[Source, dict[str, int]]]:
        return again, (self.source, dict(self.thresholds))

    def __getitem__(self, entry: str) -> Callable[..., Any]:
        """The entry point as a function; also where the attribute `prog.NAME` is something else (`prog["call"]`)."""
        call = self._prepared.get(entry) or self._ready(entry)

        def function(*args: Any) -> Any:
            results = call(args)
            return results[0] if len(results) == 1 else tuple(results)

        function.__name__ = entry
        return function

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__") or name not in self.executable.functions:
            raise AttributeError(f"the program has no entry point `{name}`; it has: {', '.join(self.entries)}")
        return self[name]


def compile(
    text: str,
    file: str = "<text>",
    thresholds: Mapping[str, int] | None = None,
    reach: Reach = Reach.PROJECT,
    device: str = "cpu",
) -> Program:
    """Compiles the text of a program for a device, `cpu` or `cuda`; `file` is the name that messages show, `reach` says
    what it may import."""
    return _for_python(build(Source(text, file, reach, device)), thresholds)


def load(path: str | Path, thresholds: Mapping[str, int] | None = None, device: str = "cpu") -> Program:
    """Compiles the program in a file."""
    return _for_python(build(Source(read_source(Path(path)), str(path), Reach.PROJECT, device)), thresholds)


def _for_python(program: Program, thresholds: Mapping[str, int] | None) -> Program:
    """The program with settings; its user is warned of entry points that are no attributes."""
    for name in program.entries:
        if name.startswith("__") or hasattr(Program, name):
            text = f'`prog.{name}` is not the entry point `{name}`: write `prog["{name}"]`'
            warnings.warn(text, stacklevel=3)
    known = parameters_of(program.facts, program.entries)
    return replace(program, thresholds=checked_values(thresholds or {}, known))


def again(source: Source, thresholds: Mapping[str, int]) -> Program:
    """A program that was copied or pickled."""
    return replace(build(source), thresholds=thresholds)


def build(source: Source) -> Program:
    """The program, found on disk or compiled, without settings."""
    text, file, reach = source.text, source.file, source.reach
    require(source.device)
    later = Deferred(lambda: compile_prog(text, file, reach=reach))
    found = stored.find(text, file, reach, later.get) if source.device == "cpu" else None
    if found is not None:
        executable, facts = found
        return Program(source, later, facts, executable, {})
    compiled = with_entries(compile_prog(text, file, machine=MACHINES[source.device], reach=reach), file)
    done = Deferred(lambda: compiled, compiled)
    runnable = stored.build(text, file, reach, compiled) if source.device == "cpu" else on_gpu(compiled)
    return Program(source, done, stored.facts_of(compiled), runnable, {})


def compile_prog(text: str, file: str, machine: Machine = CPU, reach: Reach = Reach.PROJECT) -> Compiled:
    """A program through all passes. The compiler is loaded for it: what the cache has runs without."""
    from .pipeline import compile_prog

    return compile_prog(text, file, machine=machine, reach=reach)


def with_entries(compiled: Compiled, file: str) -> Compiled:
    """`compiled` from `file`, if it has an entry point; raises `CompileError` E0001."""
    require_entries(compiled.core, file)
    return compiled
