"""Where tasks run: on the workers of Dask, or, for tests of what is partitioned, at once in this process."""

from __future__ import annotations

import math
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..ir.errors import Diagnostic, RunError, SystemFault
from ..kernels.devices.cpu.runtime.thread_pool import is_stopping
from . import worker
from .held import HELD, hold
from .worker import GLANCE, Settings

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 60.0
"""Seconds that workers have to be there for an array."""
Handle = Any
"""A value on the workers."""
Run = Callable[[str, Sequence[Any], Settings], Any]


class Engine(Protocol):
    """`submit` starts a task; handles among its arguments, in lists and tuples too, stand for their values."""

    @property
    def run(self) -> Run: ...
    def submit(self, function: Callable[..., Any], *args: Any) -> Handle: ...
    def begin(self) -> None:
        """Of a call, for which a time limit holds."""
        ...

    def end(self) -> None:
        """Of a call that has failed: nothing of it is left."""
        ...

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

    def begin(self) -> None:
        pass

    def end(self) -> None:
        pass

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
    computed again. `seconds`: how long a call may take. `_started`: what may still run or be kept."""

    client: Client
    seconds: float | None = None
    run: Run = field(default=worker.run)
    _until: float = field(default=math.inf)
    _next: int = field(default=0)
    _started: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet)

    def __post_init__(self) -> None:
        from .aligned import Aligned

        try:
            self.client.run_on_scheduler(hold)
            self.client.register_plugin(Aligned())
        except ModuleNotFoundError as fault:
            text = f"the scheduler of the cluster has no `{fault.name}`"
            hint = "soac is installed on every machine of a cluster"
            raise SystemFault(Diagnostic("S0102", text, hint=hint)) from None

    def begin(self) -> None:
        self._until = time.monotonic() + (math.inf if self.seconds is None else self.seconds)

    def submit(self, function: Callable[..., Any], *args: Any) -> Handle:
        self._check()
        handle = self.client.submit(function, *args, pure=False)
        self._started.add(handle)
        return handle

    def put(self, array: np.ndarray) -> Handle:
        """On two workers; tried again where these are lost meanwhile, or do not run yet."""
        until = time.monotonic() + PATIENCE
        while True:
            with suppress(*([TimeoutError, KeyError, OSError] if time.monotonic() < until else [])):
                return self._put(array)
            self._check()
            time.sleep(GLANCE)

    def _put(self, array: np.ndarray) -> Handle:
        workers = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        at = [workers[(self._next + k) % len(workers)] for k in range(min(2, len(workers)))]
        self._next += 1
        key = f"{HELD}{uuid.uuid4().hex}"
        return self.client.scatter({key: array}, workers=at, broadcast=True)[key]  # type: ignore[index]

    def is_handle(self, value: Any) -> bool:
        from distributed import Future

        return isinstance(value, Future)

    def values(self, handles: Sequence[Handle]) -> list[Any]:
        self.wait(handles)
        return self.client.gather(list(handles))  # type: ignore[return-value]

    def wait(self, handles: Iterable[Handle]) -> None:
        from distributed import wait

        for handle in handles:  # in order: of several failures the first is reported
            while not handle.done():
                with suppress(TimeoutError, CancelledError):
                    wait([handle], timeout=GLANCE)
                self._check()
            if handle.status in ("cancelled", "lost"):
                text = "the cluster has lost a value with all workers that had it"
                raise RunError(Diagnostic("R0304", text, hint="call it with its arguments again"))
            if handle.status == "error":
                handle.result()

    def _check(self) -> None:
        if is_stopping():
            raise KeyboardInterrupt
        if time.monotonic() > self._until:
            text = f"the cluster has not finished in {self.seconds:g} s"
            raise RunError(Diagnostic("R0303", text))

    def end(self) -> None:
        """Cancels what has not ended; workers stop what they run of it (`worker.watched`)."""
        self.client.cancel([handle for handle in self._started if not handle.done()], force=True)
