"""Digests of what programs emit: every stage of both machines is in them."""

from __future__ import annotations

from pathlib import Path

from scripts.emit_digest import ON_CPU, digests_of


def test_each_stage_of_both_machines_has_a_digest() -> None:
    found = digests_of(Path("programs/dotprod.soac"))
    assert set(found) == {*ON_CPU, "cuda-kernels", "cuda-host", "cuda"}
