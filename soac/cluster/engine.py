"""Where tasks run: on the workers of Dask, or, for tests of what is partitioned, at once in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..ir.errors import NOWHERE, Diagnostic, Label, RunError
from . import worker
from .worker import Settings

if TYPE_CHECKING:
    from distributed import Client

Handle = Any
"""A value on the workers."""
Run = Callable[[str, Sequence[Any], Settings], Any]


class Engine(Protocol):
    """`submit` starts a task; handles among its arguments, in lists and tuples too, stand for their values."""

    @property
    def run(self) -> Run: ...
    def submit(self, function: Callable[..., Any], *args: Any) -> Handle: ...
    def put(self, array: np.ndarray) -> Handle: ...
    def is_handle(self, value: Any) -> bool: ...
    def values(self, handles: Sequence[Handle]) -> list[Any]:
        """Waits, and raises what a task has raised."""
        ...

    def wait(self, handles: Iterable[Handle]) -> None: ...


@dataclass(frozen=True, slots=True)
class Here:
    """A value of the engine that runs tasks at once."""

    value: Any


@dataclass(slots=True)
class Inline:
    """Runs each task when it is submitted, by `run`. `tasks` counts them."""

    run: Run = field(default=worker.run)
    tasks: int = 0

    def submit(self, function: Callable[..., Any], *args: Any) -> Here:
        self.tasks += 1
        return Here(function(*map(self._value, args)))

    def put(self, array: np.ndarray) -> Here:
        return Here(array)

    def is_handle(self, value: Any) -> bool:
        return isinstance(value, Here)

    def values(self, handles: Sequence[Here]) -> list[Any]:
        return [handle.value for handle in handles]

    def wait(self, handles: Iterable[Here]) -> None:
        pass

    def _value(self, arg: Any) -> Any:
        match arg:
            case Here(value):
                return value
            case list():
                return [self._value(x) for x in arg]
            case tuple():
                return tuple(self._value(x) for x in arg)
            case _:
                return arg


@dataclass(slots=True)
class Dask:
    """Tasks of `distributed`. What is put there is held by two workers, so that one may be lost; what tasks give is
    computed again. `seconds`: how long a wait may take."""

    client: Client
    seconds: float | None = None
    run: Run = field(default=worker.run)
    _next: int = field(default=0)

    def submit(self, function: Callable[..., Any], *args: Any) -> Handle:
        return self.client.submit(function, *args, pure=False)

    def put(self, array: np.ndarray) -> Handle:
        workers = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        at = [workers[(self._next + k) % len(workers)] for k in range(min(2, len(workers)))]
        self._next += 1
        return self.client.scatter(array, workers=at, broadcast=True, hash=False)

    def is_handle(self, value: Any) -> bool:
        from distributed import Future

        return isinstance(value, Future)

    def values(self, handles: Sequence[Handle]) -> list[Any]:
        self.wait(handles)
        return self.client.gather(list(handles))  # type: ignore[return-value]

    def wait(self, handles: Iterable[Handle]) -> None:
        from distributed import wait

        pending = list(handles)
        try:
            wait(pending, timeout=self.seconds)
        except TimeoutError:
            self.client.cancel(pending, force=True)
            text = f"the cluster has not finished in {self.seconds:g} s"
            raise RunError(Diagnostic("R0303", text, Label(NOWHERE, ""))) from None
        except KeyboardInterrupt:
            self.client.cancel(pending, force=True)
            raise
        for handle in pending:
            if handle.status == "error":
                handle.result()
