"""The runtime is made beside the compiler, by another thread."""

from __future__ import annotations

import threading

import pytest

from soac.kernels.devices.cpu.runtime import functions


def test_made_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there at the end, and made once."""
    makers: list[threading.Thread] = []

    def loaded() -> functions.Runtime:
        makers.append(threading.current_thread())
        return functions.Runtime(1, 2)

    monkeypatch.setattr(functions._Holder, "runtime", None)
    monkeypatch.setattr(functions, "_loaded", loaded)
    for _ in range(2):
        with functions.runtime_beside():
            pass
    assert len(makers) == 1
    assert makers[0] is not threading.current_thread()
    assert functions.runtime().call == 1


def test_failures_are_left_to_those_who_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded() -> functions.Runtime:
        raise MemoryError("none left")

    monkeypatch.setattr(functions._Holder, "runtime", None)
    monkeypatch.setattr(functions, "_loaded", loaded)
    with functions.runtime_beside():
        pass
    with pytest.raises(MemoryError, match="none left"):
        functions.runtime()
