"""Running a small program from its text through the core interpreter; `tests/frontend/elaborate/programs/*.txt`.

== NAME
the program, any number of lines
<< arguments of `main`
>> its results
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soac.data.read_write import read_values
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Prog
from soac.ir.interpret import interpret
from soac.ir.parse import parse_prog
from soac.ir.show import show


@dataclass(frozen=True)
class Case:
    """A program, the arguments of `main`, and its results (as data text)."""

    name: str
    source: str
    given: str
    expected: str


def cases_in(path: Path) -> list[Case]:
    """The cases of one file."""
    found = []
    for block in path.read_text(encoding="utf-8").split("\n== "):
        name, rest = block.removeprefix("== ").split("\n", 1)
        source, _, data = rest.partition("\n<<")
        given, _, expected = data.partition("\n>>")
        found.append(Case(f"{path.stem}: {name}", source, given.strip(), expected.strip()))
    return found


PROGRAMS = Path(__file__).parents[1] / "frontend" / "elaborate" / "programs"
CASES = [case for path in sorted(PROGRAMS.glob("*.txt")) for case in cases_in(path)]


def core_of(source: str) -> Prog:
    """The core of a program, checked, and printed and read back."""
    prog = compile_text(source, "test.soac")
    check(prog, Stage.CORE)
    text = show(prog)
    assert show(parse_prog(text)) == text
    return prog


def values(text: str) -> list:
    return list(read_values(text.encode(), "values", None))


def run(source: str, given: str = "", entry: str = "main") -> list:
    return interpret(core_of(source), entry, values(given))[0]


def run_case(case: Case) -> None:
    """The program gives what is expected: types, shapes and values."""
    found, wanted = run(case.source, case.given), values(case.expected)
    assert len(found) == len(wanted), found
    for have, want in zip(found, wanted, strict=True):
        have, want = np.asarray(have), np.asarray(want)
        assert have.dtype == want.dtype, (have.dtype, want.dtype)
        assert have.shape == want.shape, (have, want)
        if have.dtype.kind == "f":
            np.testing.assert_allclose(have, want, rtol=1e-5)
        else:
            np.testing.assert_array_equal(have, want)
