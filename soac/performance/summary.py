"""How many performance warnings a program has, in one line for commands that do something else.

They are counted when a program has been compiled, and kept beside what is compiled: a program that is found on disk is
not compiled for them.
"""

from __future__ import annotations

from hashlib import sha256

from ..api import Program
from ..kernels.devices import disk_cache as disk
from ..kernels.devices.cpu.runtime import jit
from ..program_cache import key


def summary(program: Program) -> str | None:
    """`2 performance warnings (..)`; None if there are none, or they were not counted."""
    return summary_of(_count(program), program.source.file)


def summary_of(count: int, file: str) -> str | None:
    """The number of warnings in a line; None where there are none."""
    if not count:
        return None
    return f"{count} performance warning{'' if count == 1 else 's'}; `soac check --performance {file}` explains"


def _count(program: Program) -> int:
    source = program.source
    if source.device != "cpu":
        return 0
    place = sha256(f"performance {key(source.text, source.file, source.reach)}".encode()).hexdigest()
    if not program.stages.is_begun:
        data = disk.get(jit.user_cache(), place)
        return int(data) if data is not None and data.isdigit() else 0
    from .checks import performance_warnings

    count = len(performance_warnings(program.compiled))
    disk.put(jit.user_cache(), place, str(count).encode())
    return count
