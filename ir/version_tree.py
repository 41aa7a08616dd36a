"""The version tree of a flat program: sites, and the versions of each.

A *site* is an outermost guard: an `If` on a `GuardCmp`, or on a conjunction of such. Its *versions* are those of
the nest, each the sides taken at the guards on the way to it. Sites are independent of each other; "every version"
means every version of every site. Used by `--force GUARD=VERSION`, `test --all-versions`, the tuner and `explain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

from .core import NO_DEFAULT, Body, GuardCmp, If, Param, PrimOp, Prog, SizeParam, Stm
from .ops import Op
from .records import dataclass
from .traverse import bodies, free_in_body, free_in_stm
from .types import Name, Prim, Var

Sides = dict[str, bool]
"""A version: for each guard on the way to it, by threshold, whether its first side is taken."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A guard, its thresholds joined by `&&`, and what is on its two sides: further guards, independent of each
    other."""

    thresholds: tuple[str, ...]
    then: tuple[Branch, ...]
    orelse: tuple[Branch, ...]

    @property
    def threshold(self) -> str:
        """The guard is called by its first threshold."""
        return self.thresholds[0]


@dataclass(frozen=True, slots=True)
class Site:
    """An outermost guard; `entry` is the function it stands in."""

    entry: str
    tree: Branch

    @property
    def name(self) -> str:
        """The site is called by its outermost threshold."""
        return self.tree.threshold

    @property
    def thresholds(self) -> tuple[str, ...]:
        return tuple(_thresholds(self.tree))

    @property
    def versions(self) -> tuple[Sides, ...]:
        """The versions: for each, the sides of the guards that lead to it. Nested guards side by side multiply only
        while there are few; beyond that each version of theirs is taken at least once."""
        return versions_of(self.tree)


MAX_PRODUCT = 64

CONSTANTS = "consts"
"""Where the guards of constants stand, which every entry may meet."""


def sites(prog: Prog) -> tuple[Site, ...]:
    """The sites of the constants and of all functions, in program order."""
    bodies_of = [(CONSTANTS, Body(prog.consts, ()))]
    bodies_of += [(fun.entry.name if fun.entry is not None else fun.name.base, fun.body) for fun in prog.functions]
    return tuple(Site(entry, tree) for entry, body in bodies_of for tree in guards_in(body))


@dataclass(frozen=True, slots=True)
class Size:
    """A size parameter with its default, and the sides of guards that lead to it."""

    name: str
    default: int
    path: tuple[tuple[str, bool], ...]

    def is_reached(self, forced: Mapping[str, bool]) -> bool:
        """May a run with these sides forced come to it?"""
        return all(forced.get(guard, side) == side for guard, side in self.path)


def size_params(prog: Prog) -> dict[str, int]:
    """The size parameters of the constants and of all functions, with their defaults."""
    found = [size for body in prog.bodies for size in sizes_in(body)]
    return {size.name: size.default for size in found}


def sizes_of(prog: Prog, entry: str) -> tuple[Size, ...]:
    """The size parameters with a default that an entry uses: its own, and those of the constants that it needs."""
    found = [size for _, body in _bodies_of(prog, entry) for size in sizes_in(body)]
    return tuple({size.name: size for size in found if size.default != NO_DEFAULT}.values())


def sites_of(prog: Prog, entry: str) -> tuple[Site, ...]:
    """The sites that an entry meets: its own, and those of the constants that it needs."""
    return tuple(Site(where, tree) for where, body in _bodies_of(prog, entry) for tree in guards_in(body))


def _bodies_of(prog: Prog, entry: str) -> tuple[tuple[str, Body], ...]:
    """The body of an entry, and what of the constants it needs."""
    body = next(fun.body for fun in prog.functions if fun.entry is not None and fun.entry.name == entry)
    needed, found = set(free_in_body(body)), list[Stm]()
    for stm in reversed(prog.consts):
        if any(param.name in needed for param in stm.pat):
            needed |= set(free_in_stm(stm))
            found.append(stm)
    return (entry, body), (CONSTANTS, Body(tuple(reversed(found)), ()))


def sizes_in(body: Body, path: tuple[tuple[str, bool], ...] = ()) -> Iterator[Size]:
    """The size parameters of a body, with the sides of guards that lead to them."""
    compared = comparisons(body)
    for stm in body.stms:
        match stm.exp:
            case SizeParam(name, default):
                yield Size(name, default, path)
            case If(Var(cond), then, orelse) if cond in compared:
                yield from sizes_in(then, (*path, *((t, True) for t in compared[cond])))
                yield from sizes_in(orelse, (*path, *((t, False) for t in compared[cond])))
            case exp:
                for inner in bodies(exp):
                    yield from sizes_in(inner, path)


def guards_in(body: Body) -> tuple[Branch, ...]:
    """The outermost guards of a body, those in its loops and other branches included."""
    compared = comparisons(body)
    return tuple(branch for stm in body.stms for branch in _of_stm(stm, compared))


def comparisons(body: Body) -> dict[Name, tuple[str, ...]]:
    """The thresholds behind each condition of a body that is a guard or a conjunction of guards."""
    found: dict[Name, tuple[str, ...]] = {}
    for stm in body.stms:
        found |= compared_by(stm.pat, stm.exp, found)
    return found


def compared_by(
    pat: tuple[Param, ...], exp: object, known: Mapping[Name, tuple[str, ...]]
) -> dict[Name, tuple[str, ...]]:
    """The thresholds behind what a statement binds, if it is a guard or a conjunction of `known` guards."""
    match exp:
        case GuardCmp(threshold):
            return {pat[0].name: (threshold,)}
        case PrimOp(Op.AND, Prim.BOOL, (Var(a), Var(b))) if a in known and b in known:
            return {pat[0].name: tuple(dict.fromkeys(known[a] + known[b]))}
        case _:
            return {}


def _of_stm(stm: Stm, compared: dict[Name, tuple[str, ...]]) -> tuple[Branch, ...]:
    match stm.exp:
        case If(Var(cond), then, orelse) if cond in compared:
            return (Branch(compared[cond], guards_in(then), guards_in(orelse)),)
        case exp:
            return tuple(branch for body in bodies(exp) for branch in guards_in(body))


def _thresholds(branch: Branch) -> Iterator[str]:
    yield from branch.thresholds
    for inner in (*branch.then, *branch.orelse):
        yield from _thresholds(inner)


def versions_of(branch: Branch) -> tuple[Sides, ...]:
    """The versions below a guard, least parallel first."""
    then = tuple({**dict.fromkeys(branch.thresholds, True), **version} for version in _combined(branch.then))
    orelse = tuple({**dict.fromkeys(branch.thresholds, False), **version} for version in _combined(branch.orelse))
    return then + orelse


def _combined(branches: tuple[Branch, ...]) -> tuple[Sides, ...]:
    """Versions of independent guards together."""
    choices = [versions_of(branch) for branch in branches]
    if prod(map(len, choices)) <= MAX_PRODUCT:
        return tuple(_merged(picked) for picked in product(*choices))
    longest = max(map(len, choices))
    return tuple(_merged(tuple(versions[min(k, len(versions) - 1)] for versions in choices)) for k in range(longest))


def _merged(versions: tuple[Sides, ...]) -> Sides:
    return {threshold: side for version in versions for threshold, side in version.items()}


def combinations(all_sites: tuple[Site, ...]) -> tuple[Sides, ...]:
    """Combinations of versions of all sites such that every version of each occurs; all of them while they are few."""
    return _combined(tuple(site.tree for site in all_sites))
