"""Failures of libraries: their texts are those of the runners of host programs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from soac.ir.errors import Loc, RunError
from soac.ir.ops import Op
from soac.ir.types import Prim
from soac.kernels.devices.cpu.host.failure_sites import (
    AssertionSite,
    BoundsSite,
    MemorySite,
    ScalarSite,
    Site,
    error_of,
)
from soac.kernels.devices.cpu.library.failures import NEXT, SKIP, of_host

HERE = Loc("f.soac", 1, 2, 3, 4)
CASES: tuple[tuple[Site, tuple[int, ...]], ...] = (
    (ScalarSite(Op.DIV, Prim.I32, HERE), (7, 0)),
    (ScalarSite(Op.POW, Prim.I64, HERE), (-70, -3)),
    (AssertionSite("R0103", ("sizes ", Prim.I64, " and ", Prim.I64), HERE), (4, -5)),
    (BoundsSite((False,), HERE), (9, 4)),
    (BoundsSite((False, False), HERE), (1, -2, 4, 5)),
    (BoundsSite((True,), HERE), (3, 2, 5, 4)),
    (MemorySite(Prim.F32, 2, HERE), (1 << 40, 3)),
)


@pytest.mark.parametrize(("site", "values"), CASES)
def test_texts_are_those_of_python(site: Site, values: tuple[int, ...]) -> None:
    error, shown = error_of(site, values), of_host(site)
    wanted = error.diagnostics[0].message if isinstance(error, RunError) else f"out of memory: {error}"
    assert filled(shown.text, values) == wanted
    assert len(shown.kinds) == len(values)
    assert not isinstance(error, RunError) or shown.code == error.diagnostics[0].code


def filled(text: str, values: Sequence[int]) -> str:
    """A text with its values, as `failures.ll` writes it."""
    left, out = list(values), ""
    for char in text:
        match char:
            case "\1" if char == NEXT:
                out += str(left.pop(0))
            case "\2" if char == SKIP:
                left.pop(0)
            case _:
                out += char
    return out
