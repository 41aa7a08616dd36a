"""The language reference is true: every example is compiled, and gives what it says.

A fenced block of `docs/language.md` or `docs/derivatives.md` is a program. Its `-- ==` blocks are run by
`soac test`; its other comments say

    -- > EXP = VALUES       the values of an expression, as data files write them
    -- > EXP fails CODE     a run-time failure
    -- ! DEC is CODE        the program with this declaration added is refused
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import soac
from soac.cli import run_cli
from soac.data.read_write import read_values
from soac.frontend.library import known_prelude
from soac.frontend.source.declarations import ValDec
from soac.frontend.source.numeric_modules import members
from soac.ir.types import Prim

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {"language": TEXT, "derivatives": (ROOT / "docs" / "derivatives.md").read_text(encoding="utf-8")}
BLOCKS = [
    (f"{page}{text.count(chr(10), 0, found.start()) + 2}", found[1])
    for page, text in PAGES.items()
    for found in BLOCK.finditer(text)
]
GIVES = re.compile(r"^-- > (?!.* fails R\d{4}$)(.*) = (\S.*)$", re.MULTILINE)
FAILS = re.compile(r"^-- > (.*) fails (R\d{4})$", re.MULTILINE)
REFUSED = re.compile(r"^-- ! (.*) is (E\d{4})$", re.MULTILINE)
INTERNAL = {"scratch", "unflatten_to", "appended_rows"}  # of the prelude, for its own use

each_block = pytest.mark.parametrize("text", [text for _, text in BLOCKS], ids=[place for place, _ in BLOCKS])


@each_block
def test_block_says_something(text: str) -> None:
    said = GIVES.findall(text) + FAILS.findall(text) + REFUSED.findall(text)
    assert len(said) == len(re.findall(r"^-- [>!]", text, re.MULTILINE))
    assert said or "-- ==" in text


@each_block
def test_values(text: str) -> None:
    said = [(exp, values, None) for exp, values in GIVES.findall(text)]
    said += [(exp, None, code) for exp, code in FAILS.findall(text)]
    if not said:
        return
    entries = "\n".join(f"entry example_{k} = {exp}" for k, (exp, _, _) in enumerate(said))
    prog = soac.compile(f"{text}\n{entries}\n")
    for k, (exp, values, code) in enumerate(said):
        if values is None:
            assert code_of(lambda: prog.call(f"example_{k}", [])) == code, exp  # noqa: B023
        else:
            assert_equal(prog.call(f"example_{k}", []), read_values(values.encode(), exp, None), exp)


def assert_equal(found: list, expected: list, exp: str) -> None:
    assert [(x.dtype, x.shape) for x in found] == [(x.dtype, x.shape) for x in expected], exp
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6 if x.dtype.kind == "f" else 0, err_msg=exp)


def code_of(run: Callable[[], object]) -> str | None:
    try:
        run()
    except soac.SoacError as error:
        return error.diagnostics[0].code
    return None


@each_block
def test_refusals(text: str) -> None:
    for dec, code in REFUSED.findall(text):
        assert code_of(lambda: soac.compile(f"{text}\n{dec}\nentry main = 0\n")) == code, dec  # noqa: B023


@pytest.mark.parametrize("text", [text for _, text in BLOCKS if "-- ==" in text])
def test_test_blocks(text: str, tmp_path: Path) -> None:
    path = tmp_path / "example.soac"
    path.write_text(text, encoding="utf-8")
    assert run_cli(["test", "--all-versions", str(path)]) == 0


# ---- nothing is left out --------------------------------------------------------------------------------------------


def is_described(name: str) -> bool:
    """Whether the reference has a name as code, alone or with its arguments; `zip4` is described by `zip`."""
    stem = name.rstrip("2345")
    return any(re.search(rf"(?<![\w.]){re.escape(n)}(?!\w)", TEXT) for n in {name, stem})


def test_the_whole_prelude_is_there() -> None:
    names = {dec.name for dec in known_prelude().module.decs if isinstance(dec, ValDec)}
    assert len(names) > 80
    assert [name for name in sorted(names - INTERNAL) if not is_described(name)] == []


@pytest.mark.parametrize("prim", Prim)
def test_all_numeric_members_are_there(prim: Prim) -> None:
    section = TEXT[TEXT.index("## Numeric modules") : TEXT.index("## Modules and files")].replace("\\|", "|")
    described = set(re.findall(r"[^\s`]+", section))
    assert [name for name in members(prim) if name not in described and name not in {p.value for p in Prim}] == []


def test_contents() -> None:
    headings = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    linked = re.findall(r"\[([^\]]*)\]\(#([^)]*)\)", TEXT[: TEXT.index("## Programs")])
    assert [title for title, _ in linked] == headings
    for title, anchor in linked:
        assert anchor == re.sub(r"[^a-z -]", "", title.lower()).replace(" ", "-")
