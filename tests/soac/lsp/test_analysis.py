"""What editors ask of a program, without a server."""

from __future__ import annotations

import pytest

from soac.lsp.analysis import Analysis, analyse, definition_at, hints_of, hover_at
from soac.lsp.complete import complete
from soac.lsp.rename import applied, rename
from tests.support.by_hand import text_of

TEXT = """-- Twice every element.
def doubled [n] (xs: [n]i32) = map (* 2) xs

entry main [n] (ys: [n]i32): i32 =
  let zs = doubled ys
  in i32.sum zs
"""


def analysed(text: str) -> Analysis:
    diagnostics, analysis = analyse(text, "main.soac")
    assert analysis is not None
    assert diagnostics == []
    return analysis


def test_answers() -> None:
    analysis = analysed(TEXT)
    hover = hover_at(analysis, 5, 14)
    assert hover is not None
    assert "[n]i32" in str(hover)
    assert "Twice every element." in str(hover)
    place = definition_at(analysis, 5, 14)
    assert place is not None
    assert (place.line, place.col) == (2, 5)
    assert any("[n]i32" in str(hint) for hint in hints_of(analysis))
    assert any("'doubled'" in str(name) for name in complete(analysis, "  let zs = dou", 5))


def test_renaming_keeps_the_meaning() -> None:
    edits = rename(analysed(TEXT), 5, 8, "twice")
    assert applied(TEXT, edits) == TEXT.replace("zs", "twice")
    edits = rename(analysed(TEXT), 2, 6, "twice")
    assert applied(TEXT, edits) == TEXT.replace("doubled", "twice")


def test_renaming_in_a_kernel_by_hand() -> None:
    """What the parser has put in, to type the kernel and for its words, is not renamed."""
    text = text_of("stencil")
    line = next(number for number, text in enumerate(text.splitlines(), 1) if "def smooth_halo" in text)
    head, tail = text.split("#[")
    edits = rename(analysed(text), line, len("def smooth_halo [n] (x"), "zs")
    kernel, rest = tail.split("entry")
    assert applied(text, edits) == f"{head}#[{kernel.replace('xs', 'zs')}entry{rest}"


@pytest.mark.parametrize(("text", "codes"), [("def f = (", "E01"), ("def f (x: i32) = x + true", "E02")])
def test_errors_are_diagnostics(text: str, codes: str) -> None:
    diagnostics, _ = analyse(text, "main.soac")
    assert diagnostics[0].code.startswith(codes)
