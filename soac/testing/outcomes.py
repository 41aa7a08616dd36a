"""What is said while programs are tested: steps that begin, outcomes, and failures in words."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import Enum

from ..failures import shortage, source_line_of
from ..frontend.source.diagnostics import render_all
from ..ir.errors import Diagnostic, SoacError

PREPARING = -1  # the version of a place where the arguments of a case are made


class Status(Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a check on one version, and why if it did not pass. `version` names forced guards."""

    name: str
    version: str
    status: Status
    why: str | None
    seconds: float

    @property
    def fault(self) -> str | None:
        """What is wrong, if something is."""
        return self.why if self.status is Status.FAILED else None


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A step of a program: the check by its number, and the version."""

    check: int
    version: int

    def following(self) -> Place:
        """Where to go on if this step never ends. Without its arguments a case cannot be run on any version."""
        return Place(self.check + 1, PREPARING) if self.version == PREPARING else Place(self.check, self.version + 1)


START = Place(0, PREPARING)


@dataclass(frozen=True, slots=True)
class Begin:
    """A step begins; it may take `seconds`. Without a `place` nothing can be done if it fails."""

    place: Place | None
    name: str
    version: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Said:
    """Warnings about a program or its tuning file, as text."""

    text: str


@dataclass(frozen=True, slots=True)
class Costs:
    """What traced launches of a kernel cost together: hazards (`uninitialised` among them); requests of warps to global
    memory, the 32-byte sectors that they touch, and the most that one touches; requests to shared memory and the turns
    that they take; statements executed, and what they cost when all of a block take as long as its busiest thread;
    fences. `shared_bytes` is the most that a block asks for."""

    kernel: str
    launches: int
    blocks: int
    hazards: int
    uninitialised: int
    requests: int
    sectors: int
    worst: int
    shared_requests: int
    turns: int
    work: int
    padded: int
    fences: int
    shared_bytes: int

    def plus(self, other: Costs) -> Costs:
        """The costs of both together."""
        most = {"worst": max(self.worst, other.worst), "shared_bytes": max(self.shared_bytes, other.shared_bytes)}
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self) if f.name != "kernel"}
        return Costs(self.kernel, **{**sums, **most})


@dataclass(frozen=True, slots=True)
class Seen:
    """What a traced case costs on a version, kernel by kernel."""

    kernels: tuple[Costs, ...]


Event = Begin | Outcome | Said | Seen


# ---- making outcomes -------------------------------------------------------------------------------------------------


def ended(name: str, version: str, begin: float, check: Callable[[], str | None]) -> Outcome:
    """The outcome of a check that gives what is wrong."""
    try:
        fault = check()
    except Exception as error:
        fault = words_of_failure(error)
    return done(name, version, begin, fault)


def done(name: str, version: str, begin: float, fault: str | None) -> Outcome:
    status = Status.PASSED if fault is None else Status.FAILED
    return Outcome(name, version, status, fault, time.perf_counter() - begin)


# ---- words -----------------------------------------------------------------------------------------------------------


def words_of(diagnostics: Sequence[Diagnostic]) -> str:
    """Everything that diagnostics say, without the source."""
    lines: list[str] = []
    for one in diagnostics:
        lines.append(f"{one.primary.loc}: {'warning' if one.is_warning else 'error'}[{one.code}]: {one.message}")
        lines += [label.text for label in (one.primary, *one.others) if label.text]
        lines += [text for text in (*one.notes, one.stack, one.hint) if text]
    return "\n".join(lines)


def words_of_failure(error: Exception) -> str:
    """A failure that was not asked for: the user's as the command line shows it, what the machine lacks in words,
    ours as what it is."""
    match error:
        case SoacError():
            return shown(error.diagnostics).rstrip()
        case _ if (short := shortage(error)) is not None:
            return short
        case _:
            first = (str(error).strip().splitlines() or [""])[0][:200]
            return f"internal compiler error: {type(error).__name__}: {first}"


def shown(diagnostics: Sequence[Diagnostic]) -> str:
    """Diagnostics as the command line shows them, without colours."""
    return render_all(diagnostics, source_line_of)
