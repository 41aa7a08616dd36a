"""What `auto output` is compared with: the interpreter where it is quick enough, else another version of the program.

The interpreter evaluates the program as the front end left it, and shares no pass with what is tested. Where it takes
longer than a few seconds, the program is compiled again with only its outer parallelism, and runs on one thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from ..arguments import Argument
from ..ir.interpret import interpret
from ..ir.machine import CPU, Mode
from ..kernels.devices.cpu.executable import Executable
from ..kernels.devices.interrupt import raise_in
from ..pipeline import Compiled, compile_core

SECONDS = 5.0  # that the interpreter may take
GRACE = 5.0  # that it may take to notice

T = TypeVar("T")


class OutOfTime(BaseException):
    """Raised in a thread whose time is up; not for `except Exception` to stop."""


def reference(compiled: Compiled, entry: str, args: Sequence[Argument], seconds: float = SECONDS) -> list[Argument]:
    """The results of an entry point, found without the versions under test. Raises what the program raises."""
    try:
        return within(seconds, lambda: list(interpret(compiled.core, entry, list(args), None)[0]))
    except OutOfTime:
        return outer_only(compiled, entry, args)


def outer_only(compiled: Compiled, entry: str, args: Sequence[Argument]) -> list[Argument]:
    """The results of the program with its outer parallelism alone, on one thread."""
    outer = compile_core(compiled.core, Mode.OUTER, CPU)
    executable = Executable.build(outer.host, compiled.core.functions)
    return executable.run(entry, list(args), threads=1)[0]


def within(seconds: float, function: Callable[[], T]) -> T:
    """What `function` gives; raises `OutOfTime` if that takes longer. It must spend its time in Python."""
    result: Future[T] = Future()
    thread = threading.Thread(target=_fulfil, args=(result, function), daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        assert thread.ident is not None
        raise_in(thread.ident, OutOfTime)
        thread.join(GRACE)
    if not result.done():
        raise OutOfTime
    return result.result()


def _fulfil(result: Future[T], function: Callable[[], T]) -> None:
    try:
        result.set_result(function())
    except BaseException as error:
        result.set_exception(error)
