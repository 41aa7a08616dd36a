"""The machine as data: an ordered table of levels, and how far to flatten for it.

Flattening is written once over the table. A row says at which level the threads of a version run, what the guard of
such a version is called, and what becomes of parallelism inside it. Adding a level is adding a row (DESIGN 2.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..ir.core import Level


class Mode(Enum):
    """FULL exploits all parallelism, OUTER only the outermost, INCREMENTAL puts versions under thresholds."""

    FULL = "full"
    OUTER = "outer"
    INCREMENTAL = "incremental"


@dataclass(frozen=True, slots=True)
class LevelRow:
    """A level of the machine: `level` tags the segops that run there, `guard` names the thresholds of versions that
    stop at it (`main.ys.suff_outer_0`)."""

    level: Level
    guard: str


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: its levels from the lowest to the highest, and the most versions an entry may hold."""

    name: str
    levels: tuple[LevelRow, ...]
    max_versions: int

    @property
    def lowest(self) -> LevelRow:
        return self.levels[0]


THREAD = LevelRow(Level.THREAD, "suff_outer")
CUDA = Machine("cuda", (THREAD,), 64)
CPU = Machine("cpu", (THREAD,), 64)
MACHINES = {machine.name: machine for machine in (CUDA, CPU)}
