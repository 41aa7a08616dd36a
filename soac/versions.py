"""Versions by name: what `--force SITE=LEAF` means, and the runs that take every leaf.

A site is called by its outermost threshold. A leaf is called `outer` (stop at the first guard), `full` (all guards
refused), `warp` or `block` (the only guard that it takes is for a version inside one), or by its number, from the least
parallel one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from .autotune.tuning import SettingError
from .ir.core import Prog
from .ir.errors import NOWHERE, Diagnostic, Label
from .ir.machine import is_inside, level_of
from .ir.version_tree import Leaf, Site, combinations, sites


def names_of_leaves(site: Site) -> Mapping[str, Leaf]:
    """The leaves of a site by name, from the least parallel one on."""
    named = {guard: _name(guard) for guard in _own_guards(site)}
    return {_taken(leaf, named) or str(number): leaf for number, leaf in enumerate(site.leaves)}


def _own_guards(site: Site) -> Iterator[str]:
    """The guards of the versions of the outermost nest: one on the refusing side of the other."""
    branch = site.tree
    yield branch.threshold
    while len(branch.orelse) == 1 and is_inside(branch.orelse[0].threshold):
        (branch,) = branch.orelse
        yield branch.threshold


def _name(guard: str) -> str:
    level = level_of(guard)
    return "outer" if level is None else level.value


def _taken(leaf: Leaf, named: Mapping[str, str]) -> str | None:
    if not any(leaf.values()):
        return "full"
    *_, (last, side) = leaf.items()
    return named.get(last) if side else None


def leaves_of(prog: Prog) -> Iterator[tuple[str, str, Leaf]]:
    """Every leaf of every site of a flat program: site, leaf, and the sides to take."""
    for site in sites(prog):
        for name, leaf in names_of_leaves(site).items():
            yield site.name, name, leaf


def runs_of(prog: Prog, entry: str) -> tuple[Leaf, ...]:
    """Sides to take in runs of an entry, so that each leaf of each of its sites is taken in some run; all
    combinations while they are few. One run without choices if there are no sites."""
    return combinations(tuple(site for site in sites(prog) if site.entry == entry)) or ({},)


def misfits(forced: Mapping[str, bool], met: Sequence[tuple[str, int, bool]]) -> str | None:
    """Why a forced version did not run, if it did not: at this size it does not fit the machine."""
    wanted = next(((name, par) for name, par, _ in met if par < 0 and forced.get(name)), None)
    return None if wanted is None else f"`{wanted[0]}` does not fit: {-wanted[1]} in parallel in one collective"


def forced_sides(all_sites: Sequence[Site], forces: Sequence[str]) -> Mapping[str, bool]:
    """The sides that `SITE=LEAF` settings ask for; raises `SettingError` C0101."""
    return {guard: side for force in forces for guard, side in _forced_leaf(all_sites, force).items()}


def _forced_leaf(all_sites: Sequence[Site], force: str) -> Leaf:
    name, _, wanted = force.partition("=")
    site = next((s for s in all_sites if s.name == name), None)
    if site is None:
        raise unknown("guard site", name, [s.name for s in all_sites])
    named = dict(names_of_leaves(site))
    numbered = {str(number): leaf for number, leaf in enumerate(site.leaves)}
    leaf = (named | numbered).get(wanted)
    if leaf is None:
        raise unknown(f"leaf of `{name}`", wanted, list(named))
    return leaf


def unknown(what: str, name: str, known: Sequence[str]) -> SettingError:
    """C0101 for something of this kind that the program does not have, with what it has."""
    near = difflib.get_close_matches(name, known, n=1)
    listed = ", ".join(known) or "none"
    hint = f"did you mean `{near[0]}`? there are: {listed}" if near else f"there are: {listed}"
    return SettingError(Diagnostic("C0101", f"unknown {what} `{name}`", Label(NOWHERE, ""), hint=hint))
