"""Which versions are still to be timed: one run forces a version at every site, so that a data set has no
more runs than the site with the most versions has versions.

A side of a guard is *seen* once a run took it for every parallelism that the guard compared and that fits. Guards on a
side are found when it is first taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.version_tree import Branch
from .observe import Key, Piece, median_seconds

Forced = dict[str, bool]
Ran = tuple[Forced, Piece]
"""The sides that a run was forced to take, and what it saw."""


def next_versions(branches: Sequence[Branch], runs: Sequence[Ran]) -> Forced | None:
    """The sides to take in the next run of a data set; None if the runs so far saw all that they can."""
    forced, is_missing = _side(branches, runs, {})
    return forced if is_missing else None


def _side(branches: Sequence[Branch], runs: Sequence[Ran], path: Forced) -> tuple[Forced, bool]:
    """Sides for the guards of a side that was seen in these runs, and whether something of it has not been seen;
    `path` leads to it."""
    forced: Forced = {}
    is_missing = not runs
    for branch in branches:
        below, missing = _branch(branch, runs, path)
        forced |= below
        is_missing |= missing
    return forced, is_missing


def _branch(branch: Branch, runs: Sequence[Ran], path: Forced) -> tuple[Forced, bool]:
    reached = dict.fromkeys(
        key.pars for _, piece in runs for key in piece.guards if key.thresholds == branch.thresholds
    )
    if runs and not reached:
        return {}, False
    fitting = [pars for pars in reached if min(pars) >= 0]
    then, orelse = _taken(branch, runs, fitting, True), _taken(branch, runs, list(reached), False)
    first, first_missing = _choice(branch, True, then, runs, path)
    second, second_missing = _choice(branch, False, orelse, runs, path)
    if (reached and not fitting) or (not first_missing and (second_missing or _time(orelse) <= _time(then))):
        return second, second_missing
    return {**second, **first}, first_missing  # what does not fit goes to the other side even so


def _taken(branch: Branch, runs: Sequence[Ran], reached: Sequence[tuple[int, ...]], side: bool) -> list[list[Ran]]:
    """For each parallelism, what runs saw of a side."""
    keys = [Key(branch.thresholds, pars, side) for pars in reached]
    return [[(forced, piece.guards[key]) for forced, piece in runs if key in piece.guards] for key in keys]


def _choice(
    branch: Branch, side: bool, groups: Sequence[Sequence[Ran]], runs: Sequence[Ran], path: Forced
) -> tuple[Forced, bool]:
    """How to take a side, and whether something of it is missing: not if a run that did the same already came to it,
    and so failed before it saw the rest."""
    own = dict.fromkeys(branch.thresholds, side)
    inner = branch.then if side else branch.orelse
    below, is_missing = _side(inner, [ran for group in groups for ran in group], path | own)
    forced = own | below
    if not (is_missing or not all(groups)):
        return forced, False
    reached = (asked for asked, piece in runs if any(_is_of(key, branch, side) for key in piece.guards))
    return forced, not any((path | forced).items() <= asked.items() for asked in reached)


def _is_of(key: Key, branch: Branch, side: bool) -> bool:
    return key.thresholds == branch.thresholds and key.taken == side


def _time(groups: Sequence[Sequence[Ran]]) -> float:
    """Seconds of a side, for all parallelisms together."""
    pieces = [[piece for _, piece in group] for group in groups]
    return sum(median_seconds(group) + _time_inside(group) for group in pieces) if groups else float("inf")


def _time_inside(pieces: Sequence[Piece]) -> float:
    keys = dict.fromkeys(key for piece in pieces for key in piece.guards)
    groups = {key: [piece.guards[key] for piece in pieces if key in piece.guards] for key in keys}
    cheapest: dict[tuple[object, object], float] = {}
    for key, group in groups.items():
        place = key.thresholds, key.pars
        cheapest[place] = min(cheapest.get(place, float("inf")), median_seconds(group) + _time_inside(group))
    return sum(cheapest.values())


def most_versions(branches: Sequence[Branch]) -> int:
    """The most runs that a data set needs: guards side by side share them."""
    return max((most_versions(branch.then) + most_versions(branch.orelse) for branch in branches), default=1)
