"""The machine as data: an ordered table of levels, and how far to flatten for it.

Flattening is written once over the table. A row says at which level the threads of a version run, what the guard of
such a version is called, and how much parallelism and memory there is inside it. Adding a level is adding a row
(DESIGN 2.4).
"""

from __future__ import annotations

from enum import Enum

from .core import Level
from .records import dataclass
from .thresholds import Threshold


class Mode(Enum):
    """FULL exploits all parallelism, OUTER only the outermost, INCREMENTAL puts versions under thresholds; EVERY as
    well, without leaving out those that cannot win."""

    FULL = "full"
    OUTER = "outer"
    INCREMENTAL = "incremental"
    EVERY = "every"


@dataclass(frozen=True, slots=True)
class LevelRow:
    """A level of the machine: `level` tags the segops that run there, `guard` names the thresholds of versions that
    stop at it (`main.ys.suff_outer_0`). One of its collectives has `threads` threads, where no size says how many, and
    as much parallelism fills it, where no threshold says how much; it holds segops of at most `most` parallelism, and
    `bytes` of the arrays that go from one to the next; `opt_in` where it is set to hold more, with fewer collectives at
    work at once."""

    level: Level
    guard: str
    threads: int
    most: int
    bytes: int
    opt_in: int = 0


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: its levels from the lowest to the highest, the most versions an entry may hold, the most widths that
    vary over a nest which it flattens, the edge of a tile of one dimension, a block's threads (None: rows are not
    shared by way of the memory of a block), the threads that fill it, with fewer than which the points of a nest are
    rather given to collectives, if they fill these (None: to threads in any case), and whether a loop of maps on arrays
    of its own is worth versions in which these stay with one thread or collective, though no thread reads what another
    has made (where there are caches), and how many elements a round of a loop has at most for one collective to go
    through all of them."""

    name: str
    levels: tuple[LevelRow, ...]
    max_versions: int
    max_segments: int
    tile: int | None
    full: int | None
    keeps_rows: bool = False
    rounds: int = 1024

    @property
    def lowest(self) -> LevelRow:
        return self.levels[0]

    @property
    def higher(self) -> tuple[LevelRow, ...]:
        """The levels that have threads inside."""
        return self.levels[1:]


MOST_SEGMENTS = 16
"""Each descriptor of a width that varies takes about ten kernels, and copies the branch around it."""

SEQUENTIAL_FACTOR = 8
"""Elements that a lane of a warp may take one after the other."""

THREAD = LevelRow(Level.THREAD, "suff_outer", 1, 1, 0)
WARP = LevelRow(Level.WARP, "suff_intra_warp", 32, 32 * SEQUENTIAL_FACTOR, (48 << 10) // 8)
BLOCK = LevelRow(Level.BLOCK, "suff_intra", 256, 1024, 48 << 10, 227 << 10)
CORE = LevelRow(Level.BLOCK, "suff_intra", 64, 1 << 14, 1 << 20)
"""A block of the CPU is one core's turn: its arrays stay in the cache of the core, and the others do not wait long."""

CUDA = Machine("cuda", (THREAD, WARP, BLOCK), 64, MOST_SEGMENTS, BLOCK.threads, 1 << 18)
CPU = Machine("cpu", (THREAD, CORE), 64, MOST_SEGMENTS, None, None, keeps_rows=True)
MACHINES = {machine.name: machine for machine in (CPU, CUDA)}
"""The devices by name, and the levels that programs are flattened for."""


EVEN = "suff_even"
"""The kind of a guard that compares the longest row of a nest with the share of a thread, or the threads that its
points are worth with those there are; its threshold is the number of threads of the host, unless it is set
(`docs/flattening.md`, balance; `flatten/versions/loop_defaults.py`)."""


ROUNDS = "suff_rounds"
"""The kind of a guard that compares the elements of a round of a loop with what one collective goes through sooner than
launches begin; its threshold is 0, unless it is set (`flatten/versions/rounds.py`)."""


IN_PLACE = "suff_in_place"
"""The kind of a guard that compares the bytes of the arrays that a loop changes with those from which on it is worth
changing them in place (`flatten/versions/in_place.py`)."""


def level_of(threshold: str) -> Level | None:
    """The level inside whose collectives the threads of a version are that this threshold guards; None if it guards
    another kind of version."""
    kind = Threshold.of(threshold).kind
    if kind == ROUNDS:
        return Level.BLOCK
    rows = (row for machine in MACHINES.values() for row in machine.higher)
    return next((row.level for row in rows if row.guard == kind), None)


def is_inside(threshold: str) -> bool:
    """Whether a threshold guards versions whose threads are inside a collective."""
    return level_of(threshold) is not None
