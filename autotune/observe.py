"""From executions to the cost of a data set: what runs have seen, put together.

A `Piece` is what one run saw of a side: seconds of its own and, for each guard reached, the pieces of the side it took.
Executions of a guard with equal parallelism are one piece. Pieces of different runs, which took different sides,
together give a `Side` of the model.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ..kernels.host_ir.timing_events import Execution
from .model import FAILS, Guard, Side


class Status(Enum):
    """How the execution of a side ended. `CUT`: with that of a side inside it, so that nothing is known of its time."""

    ENDED = "ended"
    FAILED = "failed"
    STOPPED = "stopped"
    CUT = "cut"


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """The guard, the parallelism compared, and the side taken."""

    thresholds: tuple[str, ...]
    pars: tuple[int, ...]
    taken: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """`seconds` without those of guards inside, of `count` executions together."""

    seconds: float
    count: int
    status: Status
    guards: Mapping[Key, Piece]


# ---- one run ----------------------------------------------------------------------------------------------------


def piece_of(total: float, executions: Sequence[Execution], status: Status) -> Piece:
    """A whole run of an entry, or an execution of a guard, that took `total` seconds and reached these guards."""
    own = max(0.0, total - sum(e.seconds for e in executions))
    blamed = status if all(e.ended for e in executions) else Status.CUT
    return Piece(own, 1, blamed, _merged(executions, status))


def _merged(executions: Iterable[Execution], status: Status) -> dict[Key, Piece]:
    found: dict[Key, Piece] = {}
    for execution in executions:
        key = Key(execution.thresholds, execution.pars, execution.taken)
        own = Status.ENDED if execution.ended else status
        piece = piece_of(execution.seconds, execution.inner, own)
        found[key] = _together(found[key], piece) if key in found else piece
    return found


WORST = (Status.FAILED, Status.STOPPED, Status.CUT, Status.ENDED)


def _together(first: Piece, second: Piece) -> Piece:
    """Two executions with the same parallelism."""
    guards = dict(first.guards)
    for key, piece in second.guards.items():
        guards[key] = _together(guards[key], piece) if key in guards else piece
    status = min(first.status, second.status, key=WORST.index)
    return Piece(first.seconds + second.seconds, first.count + second.count, status, guards)


# ---- several runs -----------------------------------------------------------------------------------------------


def median_piece(pieces: Sequence[Piece]) -> Piece:
    """What repetitions of one run saw: medians of the times."""
    keys = dict.fromkeys(key for piece in pieces for key in piece.guards)
    guards = {key: median_piece([piece.guards[key] for piece in pieces if key in piece.guards]) for key in keys}
    return replace(pieces[0], seconds=statistics.median(p.seconds for p in pieces), guards=guards)


def scaled(piece: Piece, factor: float) -> Piece:
    """All times `factor` times as long."""
    return replace(
        piece, seconds=piece.seconds * factor, guards={k: scaled(p, factor) for k, p in piece.guards.items()}
    )


def side_of(pieces: Sequence[Piece]) -> Side:
    """The cost of a side that these pieces are of. A side never seen cannot be chosen: it counts as failing."""
    groups = dict.fromkeys((key.thresholds, key.pars) for piece in pieces for key in piece.guards)
    guards = tuple(Guard(ts, ps, side_of(seen(pieces, ts, ps, True)), side_of(seen(pieces, ts, ps, False)))
                for ts, ps in groups)  # fmt: skip
    return Side(median_seconds(pieces), guards)


def seen(pieces: Sequence[Piece], thresholds: tuple[str, ...], pars: tuple[int, ...], taken: bool) -> list[Piece]:
    """What pieces saw of one side of a guard."""
    key = Key(thresholds, pars, taken)
    return [piece.guards[key] for piece in pieces if key in piece.guards]


def median_seconds(pieces: Sequence[Piece]) -> float:
    """The median of those that ended; else the time until a stop, which is at most that of the side."""
    ended = [p.seconds for p in pieces if p.status is Status.ENDED]
    if ended:
        return statistics.median(ended)
    stopped = [p.seconds for p in pieces if p.status is Status.STOPPED]
    return max(stopped, default=FAILS)


def is_guess(pieces: Sequence[Piece]) -> bool:
    """Is the time only known to be at least this long?"""
    statuses = {piece.status for piece in pieces}
    return Status.ENDED not in statuses and Status.STOPPED in statuses


# ---- as data ----------------------------------------------------------------------------------------------------


def piece_to_data(piece: Piece) -> dict[str, Any]:
    """For JSON."""
    guards = [[list(k.thresholds), list(k.pars), k.taken, piece_to_data(p)] for k, p in piece.guards.items()]
    return {"seconds": piece.seconds, "count": piece.count, "status": piece.status.value, "guards": guards}


def piece_from_data(data: Mapping[str, Any]) -> Piece:
    guards = {Key(tuple(ts), tuple(ps), taken): piece_from_data(inner) for ts, ps, taken, inner in data["guards"]}
    return Piece(data["seconds"], data["count"], Status(data["status"]), guards)
