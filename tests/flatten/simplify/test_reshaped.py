"""What is taken of an array that was given another shape is taken of the array itself."""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.core import Index, Reshape
from soac.ir.interpret import interpret
from soac.ir.traverse import all_exps


@pytest.mark.parametrize(("taken", "expected"), [("[i, j]", 77), ("[i, j:j + 2]", [77, 84]), ("[i, j:j + 2][1]", 84)])
def test_of_a_row_or_an_element(taken: str, expected: int | list[int]) -> None:
    """(reshape [n][m] xs)[i, j]  ⟶  xs[i*m + j], and a part of a row likewise."""
    text = f"entry f (k: i64) (xs: []i64) (i: i64) (j: i64) = #[unsafe] (unflatten (xs :> [k*5]i64)){taken}"
    prog = simplify(inline(compile_text(text, "a.soac")))
    exps = list(all_exps(prog.functions[0].body))
    assert not any(isinstance(exp, Reshape) for exp in exps)
    assert [len(exp.dims) for exp in exps if isinstance(exp, Index)] == [1]
    args = [np.int64(4), np.arange(20) * 7, np.int64(2), np.int64(1)]
    np.testing.assert_array_equal(interpret(prog, "f", args)[0][0], expected)
