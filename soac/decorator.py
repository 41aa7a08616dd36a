"""Programs inside of Python: a decorator that makes the text of a program a function, and `vmap`.

    @soac.function
    def scaled(xs: NDArray[np.float32], k: float) -> NDArray[np.float32]:
        r\"""
        -- | `xs`, each times `k`.
        entry scaled [n] (xs: [n]f32) (k: f32): [n]f32 = map (* k) xs
        \"""
        ...

Type checkers see the function that was written; messages name its file and line.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar, cast, overload

from .api import compile
from .checked_settings import misused
from .python.entry import Axes, Entry

P = ParamSpec("P")
R = TypeVar("R")


@overload
def function(stub: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def function(
    source: str | None = None,
    /,
    *,
    entry: str | None = None,
    thresholds: Mapping[str, int] | None = None,
    device: str = "cpu",
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def function(
    source: Callable[P, R] | str | None = None,
    /,
    *,
    entry: str | None = None,
    thresholds: Mapping[str, int] | None = None,
    device: str = "cpu",
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a function of Python an entry point of a program: its documentation, or `source`, is the text. The entry
    has the name of the function, unless `entry` says another one or it is the only one; parameters are the same. What
    comes back is a `soac.Entry`."""
    if callable(source):
        return _made(source, None, entry, thresholds, device)
    if source is not None and not isinstance(source, str):
        raise misused(f"`soac.function` is given {source!r}", "write `@soac.function` above a function")
    return lambda stub: _made(stub, source, entry, thresholds, device)


def _made(
    stub: Callable[P, R], source: str | None, name: str | None, thresholds: Mapping[str, int] | None, device: str
) -> Callable[P, R]:
    if not inspect.isfunction(stub):
        raise misused(f"`soac.function` is given {stub!r}", "write `@soac.function` above a function")
    text = source if source is not None else stub.__doc__
    if text is None:
        hint = 'its documentation is to be a program: write it in r"""..."""'
        raise misused(f"`{stub.__qualname__}` has no documentation", hint)
    if source is None:
        text = "\n" * _lines_before(stub) + text
    program = compile(text, stub.__code__.co_filename, thresholds, device=device)
    alone = program.entries[0] if len(program.entries) == 1 else stub.__name__
    found = program[name or (stub.__name__ if stub.__name__ in program.entries else alone)]
    _require_same_parameters(stub, found)
    found.__module__, found.__qualname__ = stub.__module__, stub.__qualname__
    return cast(Callable[P, R], found)


def _lines_before(stub: Callable[..., object]) -> int:
    """Lines of the file before the documentation of a function; 0 where there is no file."""
    try:
        lines, first = inspect.getsourcelines(stub)
    except OSError:
        return 0
    begins = next((k for k, line in enumerate(lines) if '"""' in line or "'''" in line), 0)
    return max(first, 1) - 1 + begins


def _require_same_parameters(stub: Callable[..., object], entry: Entry) -> None:
    names = list(inspect.signature(stub).parameters)
    if names != entry.parameters:
        listed = ", ".join(entry.parameters)
        raise misused(
            f"`{entry}` has other parameters than `{entry.__name__}({', '.join(names)})`",
            f"write `def {entry.__name__}({listed})`",
        )


def vmap(entry: Entry | Callable[..., object], in_axes: Axes = 0) -> Entry:
    """The entry over a leading dimension of its arguments, compiled: `Entry.batched`."""
    if not isinstance(entry, Entry):
        raise misused(f"`soac.vmap` is given {entry!r}", "it takes an entry point: `soac.vmap(prog.main)`")
    return entry.batched(in_axes)
