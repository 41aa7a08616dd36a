"""The name that was perhaps meant, for messages about one that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The name that `name` was perhaps meant to be: its letters in another order, or else the most similar one, if they
    are alike by at least `cutoff` (0 to 1)."""
    import difflib  # takes a while, and most runs have no mistake

    near = difflib.get_close_matches(name, list(names), n=5, cutoff=cutoff)
    return min(near, key=lambda one: sorted(one) != sorted(name), default=None)
