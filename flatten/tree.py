"""The version tree of a flat program: sites, and the leaves of each.

A *site* is an outermost guard: an `If` on a `GuardCmp`. Its *leaves* are the versions of the nest, each the sides
taken at the guards on the way to it. Sites are independent of each other; "every version" means every leaf of every
site. Used by `--force SITE=LEAF`, `test --all-versions`, the tuner and `explain`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from ..ir.core import Body, GuardCmp, If, Prog, SizeParam, Stm
from ..ir.traverse import all_exps, bodies
from ..ir.types import Name, Var

Leaf = dict[str, bool]


@dataclass(frozen=True, slots=True)
class Branch:
    """A guard and what is on its two sides: further guards, independent of each other."""

    threshold: str
    then: tuple[Branch, ...]
    orelse: tuple[Branch, ...]


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
    def leaves(self) -> tuple[Leaf, ...]:
        """The versions: for each, the sides of the guards that lead to it. Nested guards side by side multiply only
        while there are few; beyond that each of their leaves is taken at least once."""
        return leaves_of(self.tree)


MAX_PRODUCT = 64


def sites(prog: Prog) -> tuple[Site, ...]:
    """The sites of the constants and of all functions, in program order."""
    bodies_of = [("consts", Body(prog.consts, ()))]
    bodies_of += [(fun.entry.name if fun.entry is not None else fun.name.base, fun.body) for fun in prog.functions]
    return tuple(Site(entry, tree) for entry, body in bodies_of for tree in guards_in(body))


def size_params(prog: Prog) -> dict[str, int]:
    """The size parameters of all functions, with their defaults."""
    found = (exp for fun in prog.functions for exp in all_exps(fun.body))
    return {exp.name: exp.default for exp in found if isinstance(exp, SizeParam)}


def guards_in(body: Body) -> tuple[Branch, ...]:
    """The outermost guards of a body, those in its loops and other branches included."""
    comparisons = {stm.pat[0].name: stm.exp for stm in body.stms if isinstance(stm.exp, GuardCmp)}
    return tuple(branch for stm in body.stms for branch in _of_stm(stm, comparisons))


def _of_stm(stm: Stm, comparisons: dict[Name, GuardCmp]) -> tuple[Branch, ...]:
    match stm.exp:
        case If(Var(cond), then, orelse) if cond in comparisons:
            return (Branch(comparisons[cond].threshold, guards_in(then), guards_in(orelse)),)
        case exp:
            return tuple(branch for body in bodies(exp) for branch in guards_in(body))


def _thresholds(branch: Branch) -> Iterator[str]:
    yield branch.threshold
    for inner in (*branch.then, *branch.orelse):
        yield from _thresholds(inner)


def leaves_of(branch: Branch) -> tuple[Leaf, ...]:
    """The leaves below a guard, least parallel first."""
    then = tuple({branch.threshold: True, **leaf} for leaf in _combined(branch.then))
    orelse = tuple({branch.threshold: False, **leaf} for leaf in _combined(branch.orelse))
    return then + orelse


def _combined(branches: tuple[Branch, ...]) -> tuple[Leaf, ...]:
    """Leaves of independent guards together."""
    choices = [leaves_of(branch) for branch in branches]
    count = 1
    for leaves in choices:
        count *= len(leaves)
    if count <= MAX_PRODUCT:
        return tuple(_merged(picked) for picked in product(*choices))
    longest = max(map(len, choices))
    return tuple(_merged(tuple(leaves[min(k, len(leaves) - 1)] for leaves in choices)) for k in range(longest))


def _merged(leaves: tuple[Leaf, ...]) -> Leaf:
    return {threshold: side for leaf in leaves for threshold, side in leaf.items()}


def combinations(all_sites: tuple[Site, ...]) -> tuple[Leaf, ...]:
    """Leaves of all sites together such that every leaf of every site occurs; all combinations while they are few."""
    return _combined(tuple(site.tree for site in all_sites))
