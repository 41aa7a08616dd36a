"""How many performance warnings a program has, in one line for commands that do something else.

To count them, all versions are lowered, which takes as long as a first result. So they are counted where that is
little beside what is done (`soac check --performance`, `bench`, calls of several seconds), and kept on disk.
"""

from __future__ import annotations

from hashlib import sha256

from ..api import Program
from ..frontend.source.text import Reach
from ..kernels.devices import disk_cache as disk
from ..kernels.devices.cpu.runtime import jit
from ..program_cache import key

LONG = 5.0
"""Seconds of a call that are many, compared with the time in which all versions are lowered."""


def summary(program: Program, seconds: float = LONG) -> str | None:
    """`2 performance warnings (..)`; None if there are none, or they are not worth counting for `seconds` of work."""
    source = program.source
    if source.device != "cpu":
        return None
    data = disk.get(jit.user_cache(), _place(source.text, source.file, source.reach))
    if data is not None and data.isdigit():
        return summary_of(int(data), source.file)
    if seconds < LONG:
        return None
    from .checks import performance_warnings

    count = len(performance_warnings(program.compiled))
    keep(source.text, source.file, source.reach, count)
    return summary_of(count, source.file)


def summary_of(count: int, file: str) -> str | None:
    """The number of warnings in a line; None where there are none."""
    if not count:
        return None
    return f"{count} performance warning{'' if count == 1 else 's'}; `soac check --performance {file}` explains"


def keep(text: str, file: str, reach: Reach, count: int) -> None:
    """Keep how many warnings a program has."""
    disk.put(jit.user_cache(), _place(text, file, reach), str(count).encode())


def _place(text: str, file: str, reach: Reach) -> str:
    return sha256(f"performance {key(text, file, reach)}".encode()).hexdigest()
