"""`soac.map`: an entry point on many data sets, each a call of its own on whatever executor there is.

    with ProcessPoolExecutor() as pool:
        results = soac.map(program, [(0.1, xs), (0.2, xs)], executor=pool)

An executor is one of `concurrent.futures` (processes, `mpi4py.futures.MPIPoolExecutor`), a client of Dask or a
`soac.Cluster`. A process compiles the program once, or finds it in the cache on its disk.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from .api import Program, Source, again
from .checked_settings import listed, misused

if TYPE_CHECKING:
    from concurrent.futures import Executor

PROGRAMS = 16
"""How many programs a process remembers."""
Settings = tuple[tuple[str, int], ...]


def map(
    program: Program,
    inputs: Iterable[Sequence[Any]],
    entry: str = "main",
    executor: Executor | Any = None,
) -> list[Any]:
    """The result of an entry for the arguments in each of `inputs`, in their order, a tuple where it has several;
    without an executor, one after the other. Raises what the first call that fails raises."""
    if not isinstance(program, Program):
        raise misused(f"`soac.map` is given {reprlib.repr(program)}", "it takes a program: `soac.map(prog, [(xs, 2)])`")
    if not isinstance(inputs, Iterable):
        raise misused(f"the inputs are {reprlib.repr(inputs)}", "they are a list of calls: `soac.map(prog, [(xs, 2)])`")
    program.function(entry)
    call = partial(result_of, program.source, tuple(sorted(program.thresholds.items())), entry)
    if executor is None:
        return [call(args) for args in inputs]
    client: Any = getattr(executor, "client", executor)
    pool: Any = client.get_executor(pure=False) if hasattr(client, "get_executor") else client
    return list(pool.map(call, list(inputs)))


def result_of(source: Source, settings: Settings, entry: str, args: Sequence[Any]) -> Any:
    """One call."""
    return program_of(source, settings)[entry](*listed(args))


@lru_cache(PROGRAMS)
def program_of(source: Source, settings: Settings) -> Program:
    """The program in this process."""
    return again(source, dict(settings))
