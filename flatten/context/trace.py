"""Which rules fired, as data: `soac dev --trace-rules` prints it, tests count it."""

from __future__ import annotations

from enum import Enum

from ...ir.records import dataclass


class Rule(Enum):
    """The rules by the names of the paper; the value is what a trace shows."""

    G0 = "G0"
    G1 = "G1"
    G2 = "G2"
    GR_RED = "Gr redomap"
    GR_SCAN = "Gr scanomap"
    GR_SCATTER = "Gr scatter"
    GR_HIST = "Gr hist"
    HIST_ROWS = "hist rows"
    G6 = "G6"
    SPLIT = "split"
    FISSION = "fission"
    IRWIM = "IRWIM"
    ISWIM = "ISWIM"
    INVARIANT = "invariant"
    ALIAS = "alias"
    REARRANGE = "rearrange"
    RESHAPE = "reshape"
    REPLICATE = "replicate"
    IOTA = "iota"
    SLICE = "slice"
    CONCAT = "concat"
    UPDATE = "update"
    BRANCH_WRITE = "branch of writes"
    MAP_LOOP = "map-loop"
    MAP_IF = "map-if"
    SEQ_OUTER = "sequential outer"
    INCREMENTAL = "incremental"
    INSIDE = "inside"
    ROUNDS = "rounds"
    BALANCE = "balance"
    SEGMENTS = "segments"
    FLAT_MAP = "flat map"
    FLAT_SCAN = "flat scan"
    FLAT_RED = "flat redomap"
    FLAT_SCATTER = "flat scatter"
    VARYING_IF = "varying branch"
    VARYING_LOOP = "varying loop"
    CALL = "call"
    APPEND = "append"
    SEQUENTIAL = "sequential"
    SEQUENTIALISE = "sequentialise"
    IRREGULAR = "stays in the thread"
    SKIP_SCALARS = "skip scalars"


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule and what it was applied to."""

    rule: Rule
    about: str

    def __str__(self) -> str:
        return f"{self.rule.value}: {self.about}"
