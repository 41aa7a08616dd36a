"""Programs in colour: every token of every program is known, and none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String
from pygments.util import ClassNotFound

from soac.frontend.parsing.parse import parse_module
from soac.ir.errors import CompileError
from soac.pygments_lexer import SoacLexer

ROOT = Path(__file__).parents[2]
CORPUS = [
    path
    for folder in ("programs", "benchmarks", "tests/conformance", "tests/regress", "frontend/source")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".soac", ".fut")
]


def unknown(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        parse_module(text, str(path))
    except CompileError:
        return []
    tokens = list(SoacLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join(value for _, value in tokens) == text.replace("\r\n", "\n")
    return [value for kind, value in tokens if kind is Error]


def test_programs() -> None:
    assert [unknown(path) for path in CORPUS[::40]] == [[] for _ in CORPUS[::40]]


@pytest.mark.slow
def test_all_programs() -> None:
    assert [path for path in CORPUS if unknown(path)] == []


def test_kinds() -> None:
    text = '-- ==\n-- input { 1 }\n-- | says\n#[inline]\ndef f \'a (x: f32) = m.g #one 0x1F 2.5f32 "a" -- end'
    kinds = {value.strip(): kind for kind, value in SoacLexer().get_tokens(text)}
    expected = {
        "-- ==\n-- input { 1 }\n-- | says": Comment.Special,
        "#[inline]": Name.Decorator,
        "def": Keyword.Declaration,
        "'a": Name.Variable,
        "f32": Keyword.Type,
        "m": Name.Namespace,
        "g": Name,
        "#one": Name.Label,
        "0x1F": Number.Hex,
        "2.5f32": Number.Float,
        '"a"': String,
        "=": Operator,
        "-- end": Comment.Single,
    }
    assert {value: kinds.get(value) for value in expected} == expected


def test_found_by_name() -> None:
    """Where soac is installed; in a plain checkout Pygments knows nothing of it."""
    try:
        found = get_lexer_by_name("soac")
    except ClassNotFound:
        pytest.skip("soac is not installed")
    assert isinstance(found, SoacLexer)
    assert isinstance(get_lexer_for_filename("a.soac"), SoacLexer)
