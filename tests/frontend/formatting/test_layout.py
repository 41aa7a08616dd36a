"""The layout of programs: what it looks like, and the laws over all programs of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from soac.frontend.formatting import breaking, layout
from soac.frontend.formatting.layout import format_text
from soac.frontend.formatting.same_syntax import same_syntax
from soac.frontend.parsing.parse import parse_module
from soac.frontend.source.text import decode_source
from soac.ir.errors import CompileError

ROOT = Path(__file__).parents[3]
CORPUS = [
    path
    for folder in ("programs", "benchmarks", "tests/conformance", "tests/regress", "frontend/source")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".soac", ".fut")
]


def holds(path: Path) -> None:
    """The laws for one program: the tree stays, comments stay, and a second time changes nothing."""
    try:
        text = decode_source(path.read_bytes(), str(path))
        before = parse_module(text, str(path))
    except CompileError:
        return
    formatted = format_text(text, str(path))
    assert same_syntax(parse_module(formatted, "other.soac").decs, before.decs)
    assert format_text(formatted, str(path)) == formatted
    assert "".join(formatted.split()) == "".join(text.split())


@pytest.mark.parametrize("path", CORPUS[::60], ids=lambda path: path.stem)
def test_laws(path: Path) -> None:
    holds(path)


@pytest.mark.slow
def test_laws_for_all_programs() -> None:
    for path in CORPUS:
        holds(path)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (breaking, layout):
        monkeypatch.setattr(module, "WIDTH", 50)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("path", CORPUS[7::90], ids=lambda path: path.stem)
def test_laws_where_most_lines_are_broken(path: Path) -> None:
    holds(path)


@pytest.mark.slow
@pytest.mark.usefixtures("narrow")
def test_laws_for_all_programs_where_most_lines_are_broken() -> None:
    for path in CORPUS:
        holds(path)


@pytest.mark.parametrize("path", sorted((ROOT / "programs").rglob("*.soac")), ids=lambda path: path.stem)
def test_programs_are_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_text(text, str(path)) == text, "run `soac fmt programs`"


BEFORE = r"""

def   f[n] [m]( xs:[n] [m]f32 )( k : i64):( [n]f32,i32 )=
-- what it does
   let g x=x* -1+ - - x   -- first
   let y = 2 -- second


   let r.a[1 ,k+1 ] = {a=1,b=(.x) r}
   in if k==1 then
     map (\x->
        x)
       xs[k  : , 0]
   else if k < 2
     then ( + 1 ) 3
   else match k case 1->0..<n-1
   case _ -> ( -3)
module m={def a=1
def b : i64 = 2 }
type t 'a [n]= ?[k] . [k][n+1]a
"""

AFTER = r"""def f [n][m] (xs: [n][m]f32) (k: i64): ([n]f32, i32) =
  -- what it does
  let g x = x * -1 + - -x  -- first
  let y = 2                -- second

  let r.a[1, k+1] = {a = 1, b = (.x) r}
  in if k == 1 then
       map (\x ->
              x)
           xs[k:, 0]
     else if k < 2
     then (+ 1) 3
     else match k case 1 -> 0 ..< n - 1
          case _ -> (-3)
module m = { def a = 1
             def b: i64 = 2 }
type t 'a [n] = ?[k].[k][n+1]a
"""


def test_layout() -> None:
    assert format_text(BEFORE, "f.soac") == AFTER


LONG = r"""entry main [n][m] (xss: [n][m]f32) (yss: [m][n]f32): [n][n]f32 = map (\row -> f32.sum row) xss -- why
def g x y = if x > 1000 && y > 1000 then let a = x + y let b = a * 1000 in a else match x case _ -> x
def t = {one = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], two = "more than fifty characters, never broken"}
"""

BROKEN = r"""entry main [n][m] (xss: [n][m]f32)
                  (yss: [m][n]f32): [n][n]f32 =
  map (\row -> f32.sum row) xss  -- why
def g x y =
  if x > 1000 && y > 1000
  then let a = x + y let b = a * 1000 in a
  else match x case _ -> x
def t =
  {one = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
          13],
   two = "more than fifty characters, never broken"}
"""


@pytest.mark.usefixtures("narrow")
def test_long_lines_are_broken() -> None:
    assert format_text(LONG, "f.soac") == BROKEN
    assert format_text(BROKEN, "f.soac") == BROKEN


def test_comments_alone_and_nothing() -> None:
    assert format_text("", "f.soac") == ""
    assert format_text("\n\n  -- a\n\n\n  -- b\n\n", "f.soac") == "-- a\n\n-- b\n"
    assert format_text("\r\n-- a \r\ndef x = 1\r\n", "f.soac") == "-- a\ndef x = 1\n"
