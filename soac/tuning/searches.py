"""A whole search of an entry: versions, sizes, versions with these sizes, and what was chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ..autotune.measure import OutOfBudget
from ..autotune.search import Problem, Search
from ..autotune.sizes import Block, search_sizes


@dataclass(slots=True)
class Outcome:
    """What a search has found so far: the problem with the sizes for which all versions were timed, the best sizes, and
    whether there was time enough."""

    problem: Problem
    sizes: Mapping[str, int] = field(default_factory=dict)
    is_whole: bool = False


def search_all(search: Search, outcome: Outcome, blocks: Callable[[], list[Block]], trials: int) -> None:
    """Times what is missing; `outcome` has what was found also where the search is interrupted."""
    problem = outcome.problem
    try:
        search.see_versions(problem)
        tuned = search.settle(problem)
        outcome.sizes, is_whole = search_sizes(search, tuned, blocks(), trials)
        if not is_whole:
            return
        if outcome.sizes:
            sized = replace(problem, sizes=dict(outcome.sizes))
            search.see_versions(sized)
            outcome.problem, tuned = sized, search.settle(sized)
        search.confirm(outcome.problem, {**tuned.solution.thresholds, **outcome.problem.sizes})
    except OutOfBudget:
        return
    outcome.is_whole = True
