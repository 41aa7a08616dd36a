"""What an entry takes: arguments of its types, and calls that are open at once, case by case."""

from __future__ import annotations

import numpy as np
import pytest

from soac.frontend.compile import compile_text
from soac.ir.entry import bind_sizes
from soac.ir.errors import DataError, RunError
from soac.ir.interpret import interpret
from soac.ir.scalar import DTYPES
from soac.ir.types import Prim

RECURSIVE = (
    "#[depth({})] def down (n: i64): i64 = if n == 0 then 0 else 1 + down (n - 1) entry main (n: i64): i64 = down n"
)


@pytest.mark.parametrize("prim", [Prim.I32, Prim.F64, Prim.BOOL], ids=lambda prim: prim.value)
@pytest.mark.parametrize("rank", range(3))
def test_only_arguments_of_the_type_are_taken(prim: Prim, rank: int) -> None:
    sizes, dims = "[n]" * (rank > 0) + "[m]" * (rank > 1), ("", "[n]", "[n][m]")[rank]
    prog = compile_text(f"entry main {sizes} (xs: {dims}{prim.value}): i32 = 0", "entry.soac")
    (fun,) = prog.functions
    for given in (Prim.I32, Prim.F64, Prim.BOOL):
        for shape in ((), (2,), (2, 3), (2, 3, 4)):
            argument = np.zeros(shape, DTYPES[given])[()]
            if given is prim and len(shape) == rank:
                assert bind_sizes(fun, [argument]) == shape
            else:
                with pytest.raises(DataError):
                    bind_sizes(fun, [argument])


@pytest.mark.parametrize("depth", range(4))
def test_calls_that_may_be_open(depth: int) -> None:
    """A limit of no call is one of one call."""
    prog = compile_text(RECURSIVE.format(depth), "depth.soac")
    for n in range(6):
        if n + 1 <= max(1, depth):
            assert interpret(prog, "main", [np.int64(n)])[0] == [n]
        else:
            with pytest.raises(RunError, match="deeper"):
                interpret(prog, "main", [np.int64(n)])
