"""Versions by name: what `--force GUARD=VERSION` means, and the runs that take every version.

A site is called by its outermost threshold. A version is called `outer` (stop at the first guard), `full` (all guards
refused), `warp` or `block` (the only guard that it takes is for a version inside one), like the kernel by hand that it
is, or by its number, from the least parallel one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .autotune.tuning import SettingError
from .ir.by_hand import kernel_of_guard
from .ir.core import Prog
from .ir.errors import Diagnostic
from .ir.machine import is_inside, level_of
from .ir.nearest import nearest
from .ir.version_tree import Sides, Site, combinations, sites, sites_of


def named_versions(site: Site) -> Mapping[str, Sides]:
    """The versions of a site by name, from the least parallel one on."""
    named = {guard: _name(guard) for guard in _own_guards(site)}
    return {_taken(version, named) or str(number): version for number, version in enumerate(site.versions)}


def _own_guards(site: Site) -> Iterator[str]:
    """The guards of the versions of the outermost nest: one on the refusing side of the other."""
    branch = site.tree
    yield branch.threshold
    while len(branch.orelse) == 1 and (is_inside(branch.orelse[0].threshold) or kernel_of_guard(branch.threshold)):
        (branch,) = branch.orelse
        yield branch.threshold


def _name(guard: str) -> str:
    level = level_of(guard)
    return kernel_of_guard(guard) or ("outer" if level is None else level.value)


def _taken(version: Sides, named: Mapping[str, str]) -> str | None:
    if not any(version.values()):
        return "full"
    *_, (last, side) = version.items()
    return named.get(last) if side else None


def versions_of(prog: Prog) -> Iterator[tuple[str, str, Sides]]:
    """Every version of every site of a flat program: site, version, and the sides to take."""
    for site in sites(prog):
        for name, version in named_versions(site).items():
            yield site.name, name, version


def runs_of(prog: Prog, entry: str) -> tuple[Sides, ...]:
    """Sides to take in runs of an entry, so that each version of each site that it meets is taken in some run; all
    combinations while they are few. One run without choices if there are no sites."""
    return combinations(sites_of(prog, entry)) or ({},)


def misfits(forced: Mapping[str, bool], reached: Sequence[tuple[str, int, bool]]) -> str | None:
    """Why a forced version did not run, if it did not: at this size it does not fit the machine."""
    wanted = next(((name, par) for name, par, _ in reached if par < 0 and forced.get(name)), None)
    return None if wanted is None else f"`{wanted[0]}` does not fit: {-wanted[1]} in parallel in one collective"


def forced_sides(all_sites: Sequence[Site], forces: Sequence[str]) -> Mapping[str, bool]:
    """The sides that `GUARD=VERSION` settings ask for; raises `SettingError` C0101."""
    return {guard: side for force in forces for guard, side in _forced_version(all_sites, force).items()}


def _forced_version(all_sites: Sequence[Site], force: str) -> Sides:
    name, _, wanted = force.partition("=")
    site = next((s for s in all_sites if s.name == name), None)
    if site is None:
        raise unknown("guard site", name, [s.name for s in all_sites])
    named = dict(named_versions(site))
    numbered = {str(number): version for number, version in enumerate(site.versions)}
    version = (named | numbered).get(wanted)
    if version is None:
        raise unknown(f"version of `{name}`", wanted, list(named))
    return version


def unknown(what: str, name: str, known: Sequence[str]) -> SettingError:
    """C0101 for something of this kind that the program does not have, with what it has."""
    near = nearest(name, known)
    listed = ", ".join(known) or "none"
    hint = f"did you mean `{near}`? there are: {listed}" if near else f"there are: {listed}"
    return SettingError(Diagnostic("C0101", f"unknown {what} `{name}`", hint=hint))
