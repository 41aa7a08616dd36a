"""Versions of sites together."""

from __future__ import annotations

import pytest

from soac.ir.core import NO_DEFAULT
from soac.ir.scalar import int_range
from soac.ir.types import Prim
from soac.ir.version_tree import MAX_PRODUCT, Branch, Site, combinations


def chain(name: str, depth: int) -> Branch:
    """Guards in each other's second sides: one more version than these."""
    inner = (chain(name, depth - 1),) if depth > 1 else ()
    return Branch((f"{name}{depth}",), (), inner)


@pytest.mark.parametrize("depths", [(1, 2), (3, 3), (7, 1, 9), (2,) * 20])
def test_each_version_of_each_site_occurs(depths: tuple[int, ...]) -> None:
    """All combinations while they are few, then as many as the site of most has versions."""
    sites = tuple(Site("main", chain("abcdefghijklmnopqrst"[k], depth)) for k, depth in enumerate(depths))
    found, product = combinations(sites), 1
    for site in sites:
        assert all(any(version.items() <= one.items() for one in found) for version in site.versions)
        product *= len(site.versions)
    assert len(found) == (product if product <= MAX_PRODUCT else max(depths) + 1)


def test_no_size_is_what_stands_for_none() -> None:
    """It is a number, and greater than all sizes."""
    assert int_range(Prim.I64)[1] == NO_DEFAULT
