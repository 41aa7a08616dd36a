"""An index that is taken to be in bounds is: a simplified program fails for the sizes that it failed for before."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.errors import RunError
from soac.ir.interpret import Prepared, Thresholds, prepare

SIZES = range(5)
OPERATORS = ("({} + {})", "({} - {})", "({} * {})", "(i64.min {} {})", "(i64.max {} {})", "({} % {})")
numbers = st.sampled_from(("0", "1", "2", "3", "i64.highest"))
atoms = st.sampled_from(("i", "i", "i", "n")) | numbers


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(
        ("({} + {})", "({} - {})", "({} * {})", "(i64.min {} {})", "(i64.max {} {})", "({} % {})")
    )
    return st.builds(str.format, operators, inner, atoms) | st.builds(
        str.format, st.just("({} / {})"), inner, st.just("2")
    )


places = atoms | combined(atoms) | combined(combined(atoms))
conditions = st.builds(
    "{} {} {}".format, combined(atoms) | atoms, st.sampled_from(("<", "<=", ">", ">=", "==", "!=")), atoms
)
arrays = st.sampled_from(("xs", "ys", "zs", "xs", "us"))
slices = st.builds("{}[{}:{}]".format, arrays, numbers | st.just("i"), numbers | st.just("n"))
reads = st.builds("{}[{}]".format, arrays, places) | slices.map("i64.sum ({})".format)
bodies = (
    st.builds("if {} then {} else 0".format, conditions, reads)
    | st.builds("if {} && {} then {} else 0".format, conditions, conditions, reads)
    | st.builds("if {} then 0 else {}".format, conditions, reads)
    | reads
)
widths = st.sampled_from(("n", "n + 1", "2", "n"))
maps = st.builds("map (\\i -> {}) (iota ({}))".format, bodies, widths)


@settings(max_examples=8)
@given(st.lists(maps, min_size=20, max_size=20))
def test_a_program_fails_where_it_failed(texts: list[str]) -> None:
    given = "let ys = [1, 2, 3i64] let zs = replicate (2 * n + 1) 1i64 let us = replicate (n / 2) 1i64 in"
    entries = (f"entry e{k} [n] (xs: [n]i64): []i64 = {given} {text}" for k, text in enumerate(texts))
    prog = compile_text("\n".join(entries), "bounds.soac")
    before, after = prepare(prog), prepare(simplify(prog))
    for k, text in enumerate(texts):
        for n in SIZES:
            assert outcome(before, k, n) == outcome(after, k, n), (text, n)


def outcome(prepared: Prepared, entry: int, n: int) -> list[int] | None:
    try:
        ((found,), _) = prepared.run(f"e{entry}", (np.arange(n),), Thresholds())
    except RunError:
        return None
    return np.asarray(found).tolist()
