"""The Python face: `compile` and `load` give a `Program`, whose entry points are its methods.

    prog = soac.load("matmul.soac")
    zss = prog.main(xss, yss)
    call = prog.call("main", [xss, yss], thresholds={"main.zss.suff_outer_0": 1})

Arguments are NumPy arrays and scalars of exactly the types of the entry; Python numbers and nested lists are converted
where no value changes. Errors are exceptions (`soac.SoacError`) with the text that the command line shows. A
caller's array is never written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .arguments import to_arguments
from .entries import no_entry, require_entries
from .frontend.compile import Reach
from .ir.core import FunDef
from .kernels.cpu import Executable
from .pipeline import Compiled, compile_prog
from .source import read_source

Trace = Sequence[tuple[str, int, bool]]  # threshold, parallelism, taken


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled program. `thresholds` are the settings it runs with unless a call says otherwise."""

    compiled: Compiled = field(repr=False)
    executable: Executable = field(repr=False)
    thresholds: Mapping[str, int]

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the entry points, in the order of the source."""
        return tuple(fun.entry.name for fun in self.compiled.core.functions if fun.entry)

    def function(self, entry: str) -> FunDef:
        """The core function behind an entry point; `CompileError` E0001 where there is none of that name."""
        for fun in self.compiled.core.functions:
            if fun.entry and fun.entry.name == entry:
                return fun
        raise no_entry(entry, self.entries)

    def call(
        self,
        entry: str,
        args: Sequence[Any],
        thresholds: Mapping[str, int] | None = None,
        forced: Mapping[str, bool] | None = None,
        threads: int | None = None,
    ) -> list[np.ndarray | np.generic]:
        """The results of an entry point, one array or scalar for each component."""
        return self.trace(entry, args, thresholds, forced, threads)[0]

    def trace(
        self,
        entry: str,
        args: Sequence[Any],
        thresholds: Mapping[str, int] | None = None,
        forced: Mapping[str, bool] | None = None,
        threads: int | None = None,
    ) -> tuple[list[np.ndarray | np.generic], Trace]:
        """The results, and the guards that were decided: (threshold, parallelism, first branch taken)."""
        if entry not in self.executable.functions:
            raise no_entry(entry, self.entries)
        settings = {**self.thresholds, **thresholds} if thresholds else self.thresholds
        return self.executable.run(entry, args, settings, forced, threads, to_arguments)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__") or name not in self.entries:
            raise AttributeError(f"the program has no entry point `{name}`; it has: {', '.join(self.entries)}")

        def entry(*args: Any) -> Any:
            results = self.call(name, args)
            return results[0] if len(results) == 1 else tuple(results)

        entry.__name__ = name
        return entry


def compile(
    text: str, file: str = "<text>", thresholds: Mapping[str, int] | None = None, reach: Reach = Reach.PROJECT
) -> Program:
    """Compiles the text of a program; `file` is the name that messages show, `reach` says what it may import."""
    compiled = with_entries(compile_prog(text, file, reach=reach))
    executable = Executable.build(compiled.host, compiled.core.functions)
    return Program(compiled, executable, dict(thresholds or {}))


def load(path: str | Path, thresholds: Mapping[str, int] | None = None) -> Program:
    """Compiles the program in a file."""
    return compile(read_source(Path(path)), str(path), thresholds)


def with_entries(compiled: Compiled) -> Compiled:
    """`compiled`, if it has an entry point; raises `CompileError` E0001."""
    require_entries(compiled.core)
    return compiled
