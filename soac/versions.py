"""Versions by name: what `--force SITE=LEAF` means, and the runs that take every leaf.

A site is called by its outermost threshold. A leaf is called `outer` (stop at the first guard), `full` (all guards
refused), or by its number, from the least parallel one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from .autotune.tuning import SettingError
from .flatten.tree import Leaf, Site, combinations, sites
from .ir.core import Prog
from .ir.errors import NOWHERE, Diagnostic, Label


def leaf_name(site: Site, leaf: Leaf) -> str:
    if not any(leaf.values()):
        return "full"
    return "outer" if leaf == {site.name: True} else str(site.leaves.index(leaf))


def leaves_of(prog: Prog) -> Iterator[tuple[str, str, Leaf]]:
    """Every leaf of every site of a flat program: site, leaf, and the sides to take."""
    for site in sites(prog):
        for leaf in site.leaves:
            yield site.name, leaf_name(site, leaf), leaf


def runs_of(prog: Prog, entry: str) -> tuple[Leaf, ...]:
    """Sides to take in runs of an entry, so that each leaf of each of its sites is taken in some run; all
    combinations while they are few. One run without choices if there are no sites."""
    return combinations(tuple(site for site in sites(prog) if site.entry == entry)) or ({},)


def forced_sides(all_sites: Sequence[Site], forces: Sequence[str]) -> Mapping[str, bool]:
    """The sides that `SITE=LEAF` settings ask for; raises `SettingError` C0101."""
    return {guard: side for force in forces for guard, side in _forced_leaf(all_sites, force).items()}


def _forced_leaf(all_sites: Sequence[Site], force: str) -> Leaf:
    name, _, wanted = force.partition("=")
    site = next((s for s in all_sites if s.name == name), None)
    if site is None:
        raise _unknown("guard site", name, [s.name for s in all_sites])
    named = {leaf_name(site, leaf): leaf for leaf in site.leaves}
    numbered = {str(number): leaf for number, leaf in enumerate(site.leaves)}
    leaf = (named | numbered).get(wanted)
    if leaf is None:
        raise _unknown(f"leaf of `{name}`", wanted, list(named))
    return leaf


def _unknown(what: str, name: str, known: list[str]) -> SettingError:
    near = difflib.get_close_matches(name, known, n=1)
    listed = ", ".join(known) or "none"
    hint = f"did you mean `{near[0]}`? there are: {listed}" if near else f"there are: {listed}"
    return SettingError(Diagnostic("C0101", f"unknown {what} `{name}`", Label(NOWHERE, ""), hint=hint))
