"""`docs/builtins.md` says of every function of the library what it is, and every example gives what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from soac.data.read_write import read_values
from soac.frontend.compile import compile_text
from soac.frontend.library import known_prelude
from soac.frontend.source.declarations import ValDec
from soac.ir.interpret import interpret
from tests.docs.test_language import INTERNAL

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "builtins_page.py"))


def test_the_page_is_as_written() -> None:
    assert SCRIPT["PAGE"].read_text(encoding="utf-8") == SCRIPT["page"](), "run scripts/builtins_page.py"


def test_every_function_is_there() -> None:
    listed = {re.sub(r"[()]", "", one.name) for one in SCRIPT["builtins"]()}
    assert listed | INTERNAL == {dec.name for dec in known_prelude().module.decs if isinstance(dec, ValDec)}


@pytest.mark.slow
def test_examples() -> None:
    known = SCRIPT["builtins"]()
    prog = compile_text("\n".join(f"entry e{k} = {one.exp}" for k, one in enumerate(known)), "examples.soac")
    for k, one in enumerate(known):
        found, _ = interpret(prog, f"e{k}", [], None)
        expected = read_values(one.values.encode(), one.name, None)
        assert [(np.asarray(f).dtype, np.asarray(f).tolist()) for f in found] == [
            (np.asarray(e).dtype, np.asarray(e).tolist()) for e in expected
        ], one.exp
