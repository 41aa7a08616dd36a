"""The oracle: what a core or flattened program means, by direct evaluation.

Arrays are numpy arrays that are never overwritten (an update copies), scalars are Python values under `ir/scalar.py`, a
space is walked in row-major order, reductions and scans fold from the left starting with the neutral element.
Everything is evaluated as written: unused failures fail too. A failure of the program is a `RunError`; a value that
does not fit the type it is bound to is a bug of the compiler (`IRError`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np

from . import scalar
from .closures import body_values, statement_steps, type_checks
from .core import FunDef, Param, Prog
from .depth import allow_depth
from .entry import Argument, bind_sizes
from .errors import IRError
from .frames import Call, Layout, Step, getter
from .parallel import Frame, Value, Values
from .records import dataclass
from .recursion import most_calls, too_many_calls
from .types import Name, Prim

Trace = tuple[tuple[str, int, bool], ...]

DEFAULT_THRESHOLD = 32768


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How guards decide: `forced` answers by name, else `values` compared with the parallelism; `default`, where
    nothing is said, for a version that pays.
    `values` also holds size parameters; 0 stands for their default."""

    values: Mapping[str, int] = field(default_factory=dict[str, int])
    forced: Mapping[str, bool] = field(default_factory=dict[str, bool])
    default: int = DEFAULT_THRESHOLD

    def taken(self, threshold: str, par: int, pays: bool = True) -> bool:
        """Whether the guard holds; never for a version that does not fit."""
        unforced = self.values[threshold] <= par if threshold in self.values else pays and self.default <= par
        return par >= 0 and self.forced.get(threshold, unforced)


@dataclass(slots=True)
class Run:
    """What one run has beside its frames: how guards decide, the guards reached, the program's constants so far, how
    many calls of each function are open."""

    thresholds: Thresholds
    trace: list[tuple[str, int, bool]]
    consts: list[Value]
    calls: dict[Name, int] = field(default_factory=dict[Name, int])


@dataclass(frozen=True, slots=True)
class Prepared:
    """A program ready to be run any number of times."""

    prog: Prog
    functions: Mapping[Name, Call]
    consts: Callable[[Run, Frame], None]
    const_frame: Frame

    def run(self, entry: str, args: Sequence[Argument], thresholds: Thresholds) -> tuple[list[Argument], Trace]:
        """As `interpret`."""
        fun = find_entry(self.prog, entry)
        sizes = bind_sizes(fun, args)
        state = Run(thresholds, [], [])
        self.consts(state, [state, *self.const_frame[1:]])
        results = self.functions[fun.name](state, (*sizes, *map(_to_value, args)))
        return [_from_value(results[k], fun.results[k].type.prim) for k in outside_results(fun)], tuple(state.trace)


def interpret(
    prog: Prog, entry: str, args: Sequence[Argument], thresholds: Thresholds | None = None
) -> tuple[list[Argument], Trace]:
    """The results of an entry as the outside sees them, and the guards reached: (threshold, parallelism, taken).

    `args`: numpy arrays and scalars for all parameters but the sizes, which follow from the shapes."""
    return prepare(prog).run(entry, args, thresholds or Thresholds())


def find_entry(prog: Prog, entry: str) -> FunDef:
    """The function of an entry; for programs written by hand, also a function of that name."""
    for fun in prog.functions:
        if fun.entry and fun.entry.name == entry:
            return fun
    for fun in prog.functions:
        if entry in (str(fun.name), fun.name.base):
            return fun
    raise IRError(f"the program has no entry {entry}")


def outside_results(fun: FunDef) -> Sequence[int]:
    """The positions of the results that the outside sees, in its order."""
    if fun.entry is None:
        return range(len(fun.results))
    return [component for result in fun.entry.results for component in result.components]


def prepare(prog: Prog) -> Prepared:
    """Makes every function a closure; constants are computed once in a run."""
    allow_depth()
    functions: dict[Name, Call] = {}
    layout = Layout(functions, _decide, _size_of)
    steps = [(tuple(statement_steps(layout, stm)), layout.names(p.name for p in stm.pat)) for stm in prog.consts]
    names = tuple(p for stm in prog.consts for p in stm.pat)
    for fun in prog.functions:
        functions[fun.name] = _function(fun, functions, names)
    return Prepared(prog, functions, _consts(steps), layout.template)


def _consts(statements: Sequence[tuple[Sequence[Step], Values]]) -> Callable[[Run, Frame], None]:
    """Computes the constants in order: a function that one of them calls sees those before it."""

    def run(state: Run, frame: Frame) -> None:
        for steps, values in statements:
            for step in steps:
                step(frame)
            state.consts.extend(values(frame))

    return run


def _decide(state: Run, threshold: str, par: int, pays: bool) -> bool:
    taken = state.thresholds.taken(threshold, par, pays)
    state.trace.append((threshold, par, taken))
    return taken


def _size_of(state: Run, name: str, default: int) -> int:
    return state.thresholds.values.get(name, 0) or default


def _function(fun: FunDef, functions: Mapping[Name, Call], consts: tuple[Param, ...]) -> Call:
    layout = Layout(functions, _decide, _size_of)
    const_places = layout.bind_all(consts)
    params = layout.bind_all(fun.params)
    checks = type_checks(layout, fun.params)
    run = body_values(layout, fun.body)
    results = layout.bind_all(fun.results)
    result_checks, most = type_checks(layout, fun.results), most_calls(fun)

    def call(state: Run, args: Sequence[Value]) -> Sequence[Value]:
        frame: Frame = layout.template.copy()
        frame[0] = state
        for place, value in zip(const_places, state.consts):
            frame[place] = value
        _store(frame, params, args)
        for check in checks:
            check(frame)
        open_calls = state.calls.get(fun.name, 0)
        if open_calls >= most:
            raise too_many_calls(fun.name.base, most, fun.loc)
        state.calls[fun.name] = open_calls + 1
        try:
            _store(frame, results, run(frame))
        except RecursionError:
            raise too_many_calls(fun.name.base, open_calls, fun.loc) from None
        finally:
            state.calls[fun.name] = open_calls
        for check in result_checks:
            check(frame)
        return getter(results)(frame)

    return call


def _store(frame: Frame, places: Sequence[int], values: Sequence[Value]) -> None:
    for place, value in zip(places, values, strict=True):
        frame[place] = value


def _to_value(arg: Argument) -> Value:
    return arg if isinstance(arg, np.ndarray) and arg.ndim else arg.item()


def _from_value(value: Value, prim: Prim) -> Argument:
    return value if isinstance(value, np.ndarray) else scalar.DTYPES[prim].type(value)
