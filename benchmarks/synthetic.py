"""Entries that are made up: random sequences of guard sites with the time of every side, and a bench that runs them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from soac.autotune.measure import UNTUNED, Record, Version
from soac.autotune.model import FAILS, Guard, Side
from soac.autotune.observe import Key, Piece, Status
from soac.autotune.store import Request
from soac.ir.version_tree import Branch

PARS = (1, 2, 3, 5, 8, 13, 1000, 2500)  # some are thousandths of a measured property
DEFAULT = 4


@dataclass(slots=True)
class Maker:
    """Draws entries: guards with one or two thresholds, guards inside them, loops that meet a guard several times."""

    source: random.Random
    most_guards: int = 4
    count: int = 0
    fitting: float = 0.9
    failing: float = 0.05

    def branches(self, depth: int) -> tuple[Branch, ...]:
        made: list[Branch] = []
        for _ in range(self.source.randint(1 if depth == 0 else 0, 2)):
            if self.count < self.most_guards and depth < 3:
                names = self.names()
                made.append(Branch(names, self.branches(depth + 2), self.branches(depth + 1)))
        return tuple(made)

    def names(self) -> tuple[str, ...]:
        size = 2 if self.source.random() < 0.3 and self.count + 2 <= self.most_guards else 1
        self.count += size
        return tuple(f"main.t{self.count - k}" for k in range(size))

    def side(self, branches: Sequence[Branch], can_fail: bool) -> Side:
        fails = can_fail and self.source.random() < self.failing
        guards: dict[tuple[tuple[str, ...], tuple[int, ...]], Guard] = {}
        for branch in branches if not fails else ():
            for _ in range(self.source.choice((1, 1, 1, 2, 3))):
                one = self.guard(branch)
                guards[one.thresholds, one.pars] = one
        return Side(FAILS if fails else self.source.randint(1, 20) / 8, tuple(guards.values()))

    def guard(self, branch: Branch) -> Guard:
        fits = self.source.random() < self.fitting
        pars = tuple(self.source.choice(PARS) if fits else -2000 for _ in branch.thresholds)
        return Guard(branch.thresholds, pars, self.side(branch.then, True), self.side(branch.orelse, False))


def entry(seed: int, cases: int | None = None, failing: float = 0.05) -> tuple[tuple[Branch, ...], tuple[Side, ...]]:
    """The guards of an entry, and what each data set costs."""
    source = random.Random(seed)
    maker = Maker(source, failing=failing)
    branches = maker.branches(0)
    return branches, tuple(maker.side(branches, False) for _ in range(cases or source.randint(1, 4)))


@dataclass(slots=True)
class MadeUp:
    """Times a run by the truth, with noise of so much of it and a machine that is now faster, now slower."""

    truth: Sequence[Side]
    noise: float = 0.0
    source: random.Random = field(default_factory=lambda: random.Random(7))
    requests: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Record:
        self.requests.append(request)
        load = 1.0 + self.noise * self.source.random() * 5
        piece = self.piece(self.truth[request.case], request.version, load)
        plain = self.piece(self.truth[request.case], UNTUNED, load)
        reason = "out of memory" if piece.status is not Status.ENDED else ""
        others = () if plain.status is not Status.ENDED else (total(plain),)
        status = Status.ENDED if piece.status is Status.ENDED else Status.FAILED
        return Record(status, (total(piece),), piece, others, plain if others else None, reason)

    def piece(self, side: Side, version: Version, load: float) -> Piece:
        """What a run sees: all that comes after a failure is missing."""
        seconds = side.seconds * load * (1 + self.noise * (self.source.random() - 0.5))
        if side.seconds == FAILS:
            return Piece(0.001, 1, Status.FAILED, {})
        guards: dict[Key, Piece] = {}
        for one in side.guards:
            taken = takes(one, version)
            inner = self.piece(one.then if taken else one.orelse, version, load)
            guards[Key(one.thresholds, one.pars, taken)] = inner
            if inner.status is not Status.ENDED:
                return Piece(seconds, 1, Status.CUT, guards)
        return Piece(seconds, 1, Status.ENDED, guards)


def takes(guard: Guard, version: Version) -> bool:
    if min(guard.pars) < 0:
        return False
    forced = [version.forced.get(t) for t in guard.thresholds]
    settings: Mapping[str, int] = version.settings
    sides = [settings.get(t, DEFAULT) <= par for t, par in zip(guard.thresholds, guard.pars, strict=True)]
    return all(side if force is None else force for side, force in zip(sides, forced, strict=True))


def total(piece: Piece) -> float:
    return piece.seconds + sum(total(inner) for inner in piece.guards.values())
