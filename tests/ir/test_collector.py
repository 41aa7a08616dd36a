"""Cycles that are made while the collector is paused are collected in the end."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

from soac.ir import collector
from soac.ir.collector import paused_collector


class Knot:
    def __init__(self) -> None:
        self.itself = self


def test_memory_of_cycles_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "MORE", 20_000)
    monkeypatch.setattr(collector, "left", sys.getallocatedblocks() // 2)
    assert gc.isenabled()
    with paused_collector():
        first = weakref.ref(Knot())
    assert first() is not None
    with paused_collector():
        for _ in range(20_000):
            Knot()
    assert first() is None


def test_what_was_made_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the next collection does not walk it."""
    monkeypatch.setattr(collector, "frozen", False)
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    with paused_collector():
        made = Knot()
    assert any(one is made for one in gc.get_objects(2))


def test_little_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "left", sys.getallocatedblocks())
    with paused_collector():
        first = weakref.ref(Knot())
    assert first() is not None


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    try:
        with paused_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_others_have_frozen_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "frozen", False)
    gc.freeze()
    with paused_collector():
        pass
    assert gc.get_freeze_count() > 0
    monkeypatch.setattr(gc, "get_freeze_count", lambda: pytest.fail("counted again"))
    with paused_collector():
        pass
