"""The peers of the benchmarks give what the programs give, on the data of the programs' tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from benchmarks.peers import CPU, MORE, Peer, package_of, peers_of
from benchmarks.suite import CLASSES, SUITE, difference, large_data_sets, program_path
from soac.session import Session
from soac.testing.blocks import Fails
from soac.testing.datasets import DataSet, inputs_of
from tests.support.programs import opened, sets_of


def small_data_sets(session: Session, program: str) -> Iterator[tuple[DataSet, list[Any]]]:
    """Those that have elements, and that tests use."""
    path = program_path(program)
    for one in sets_of(path):
        if not isinstance(one.case.expected, Fails) and "notest" not in one.case.tags:
            args = inputs_of(one, session.program, path)
            if all(np.size(arg) for arg in args):
                yield one, args


@pytest.mark.slow
@pytest.mark.parametrize("library", [*CPU, *MORE])
@pytest.mark.parametrize("program", [*SUITE, *CLASSES])
def test_peers_agree(program: str, library: str) -> None:
    package = package_of(library)
    if package is None:
        pytest.skip(f"{library} is not installed")
    session = opened(program_path(program))
    compared: set[str] = set()
    for one, args in small_data_sets(session, program):
        for peer in peers_of(program, one.entry, args, [library]):
            wanted = session.program.call(one.entry, args)
            assert difference(program, one.entry, results_of(peer), wanted) is None, f"{one.entry} {one.label}"
            compared.add(one.entry)
    assert compared >= {entry for name, entry in package.PEERS if name == program}


def results_of(peer: Peer) -> list[Any]:
    with np.errstate(all="ignore"):
        return peer.fetch(peer.call())


@pytest.mark.whole  # opens programs that other tests have opened
@pytest.mark.parametrize("program", [*SUITE, *CLASSES])
def test_every_program_has_large_data_and_a_peer(program: str) -> None:
    entries = {one.entry for one in large_data_sets(program)}
    numpy = package_of("numpy")
    assert numpy is not None
    assert entries
    assert entries <= set(opened(program_path(program)).program.entries)
    assert {(program, entry) for entry in entries} <= set(numpy.PEERS)
