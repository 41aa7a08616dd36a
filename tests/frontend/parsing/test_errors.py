"""What a user sees when a program does not parse: the whole text, as rendered; and the renderer's own rules."""

from __future__ import annotations

import re

import pytest

from soac.frontend.parsing.parse import parse_module
from soac.frontend.source.diagnostics import did_you_mean, edit_distance, render, render_all
from soac.ir.errors import NOWHERE, CompileError, Diagnostic, Label, Loc


def rendered(text: str) -> str:
    with pytest.raises(CompileError) as caught:
        parse_module(text, "t.soac")
    return render(caught.value.diagnostics[0], lambda file: text if file == "t.soac" else None)


GOLDEN = [
    (
        "def f = (map (\\x -> x+",
        """\
error[E0101]: expected an expression, found end of file
 --> t.soac:1:23
  |
1 | def f = (map (\\x -> x+
  |              -        ^
  |              |
  |              this `(` is not closed
""",
    ),
    (
        "def f = (1,\n 2]",
        """\
error[E0101]: expected `)`, found `]`
 --> t.soac:2:3
  |
1 | def f = (1,
  |         - this `(` is not closed
2 |  2]
  |   ^
""",
    ),
    (
        "def f (x: [n) = 1",
        """\
error[E0101]: expected `]`, found `)`
 --> t.soac:1:13
  |
1 | def f (x: [n) = 1
  |           - ^
  |           |
  |           this `[` is not closed
""",
    ),
    (
        "def f =\n  let x = 1\n\ndef g = 2",
        """\
error[E0101]: expected `in`, found `def`
 --> t.soac:4:1
  |
2 |   let x = 1
  |   --- this `let` has no `in`
...
4 | def g = 2
  | ^^^
""",
    ),
    (
        "def f = if a the b",
        """\
error[E0101]: expected `then`, found end of file
 --> t.soac:1:19
  |
1 | def f = if a the b
  |         --        ^
  |         |
  |         this `if` has no `then`
""",
    ),
    (
        "map f xs",
        """\
error[E0101]: expected a declaration, found `map`
 --> t.soac:1:1
  |
1 | map f xs
  | ^^^
  = hint: definitions begin with `def`, entry points with `entry`
""",
    ),
    (
        "def 2x = 1",
        """\
error[E0102]: `2x` is neither a number nor a name: a name cannot begin with a digit
 --> t.soac:1:5
  |
1 | def 2x = 1
  |     ^^
  = hint: did you mean `x2`?
""",
    ),
    (
        "def f =\r\n\t(1,\t\u03bbx)",
        """\
error[E0102]: no token begins with `\u03bb` U+03BB GREEK SMALL LETTER LAMDA
 --> t.soac:2:6
  |
2 |     (1, \u03bbx)
  |         ^
  = hint: did you mean `\\`?
""",
    ),
    (
        "def f = \u201ca\u201d",
        """\
error[E0102]: no token begins with `\u201c` U+201C LEFT DOUBLE QUOTATION MARK
 --> t.soac:1:9
  |
1 | def f = \u201ca\u201d
  |         ^
  = hint: did you mean `"`?
""",
    ),
    (
        'def f = 1 -- \u6f22\u5b57\ndef g = ("\u6f22\u5b57", )',
        """\
error[E0101]: a tuple has two elements or more, or none
 --> t.soac:2:9
  |
2 | def g = ("\u6f22\u5b57", )
  |         ^^^^^^^^^^ only one element
""",
    ),
    (
        "def f = 300i8",
        """\
error[E0104]: `300i8` does not fit i8 (-128..127)
 --> t.soac:1:9
  |
1 | def f = 300i8
  |         ^^^^^
""",
    ),
    (
        "def f = 1..2",
        """\
error[E0101]: `..` gives a step; the range needs an end, with `...`, `..<` or `..>`
 --> t.soac:1:10
  |
1 | def f = 1..2
  |          ^^
""",
    ),
]


@pytest.mark.parametrize(("text", "expected"), GOLDEN, ids=lambda t: t[:20])
def test_golden(text: str, expected: str) -> None:
    assert rendered(text) == expected


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("def f x y", "E0101", "expected a parameter or pattern or `=`, found end of file"),
        ("type t = ", "E0101", "expected a type, found end of file"),
        ("def then = 1", "E0101", "expected a parameter or pattern, found `then`"),
        ("def f = x y then", "E0101", "expected a declaration, found `then`"),
        ("def f = match x", "E0101", "expected `case`, found end of file"),
        ("def f = a.", "E0101", "expected a field, found end of file"),
        ("def f = \\x x", "E0101", "expected a parameter or pattern or `->`, found end of file"),
        ("def f = x[1", "E0101", "expected `]`, `,` or `:`, found end of file"),
        ("def f = (x with)", "E0101", "expected a field, found `)`"),
        ("def f = 1...2...3", "E0101", "ranges do not nest"),
        ("def f = (a ..<)", "E0101", "expected an operand before `)`"),
        ("def f = (1 + 2).(x)", "E0101", "only a module can be opened with `.(`"),
        ("def m.f = 1", "E0101", "expected `=`, found `.`"),
        ("def (m.+) a b = 1", "E0101", "`m.+` cannot be defined: the name is qualified"),
        ("def f = a$b", "E0102", "no token begins with `$`"),
        ("def f = \x1b[31m", "E0102", "no token begins with U+001B"),
        ("def f = a\u00a0b", "E0102", "no token begins with U+00A0 NO-BREAK SPACE"),
        ("def f = \"abc", "E0102", "this string does not end on its line"),
        ("def f = '\\q'", "E0102", "`\\q` is no escape sequence"),
        ("def f = 1i7", "E0102", "`1i7` has no valid suffix"),
        ("def f = 0b12", "E0102", "`0b12` is not a number"),
        ("def f = \\{x} -> 1 \u2264 2", "E0102", "no token begins with `\u2264` U+2264 LESS-THAN OR EQUAL TO"),
    ],
)  # fmt: skip
def test_messages(text: str, code: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_module(text, "t.soac")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == (code, message)
    assert diagnostic.primary.loc.line >= 1


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("def f = x + *- y", "operators are read as long as possible"),
        ("def f = loop x = 0 for _ < 3 do x + 1", "the index of a loop has a name"),
        ("def f = a = b", "comparison is `==`"),
        ("def then = 1", "`then` is a reserved word"),
        ("def f = x else", "no `if` is open here"),
        ("def f = x)", "no `(` is open here"),
        ("def f = a\u2212b", "did you mean `-`?"),
        ("def f = a\u00a0b", "did you mean a plain blank?"),
        ("def f = a\u200bb", "it cannot be seen: delete it"),
        ("def f = \uff08x)", "did you mean `(`?"),
        ("def gr\u00f6\u00dfe = 1", "names are made of ASCII letters, digits, `_` and `'`"),
    ],
)
def test_hints(text: str, hint: str) -> None:
    assert f"= hint: {hint}" in rendered(text)


# ---- rendering


def test_labels_notes_and_other_files() -> None:
    diagnostic = Diagnostic(
        "E0203",
        "sizes differ",
        Label(Loc("a.soac", 12, 5, 12, 8), "this is [n]"),
        (Label(Loc("a.soac", 12, 1, 12, 2), ""), Label(Loc("b.soac", 1, 1, 2, 4), "[m] comes from here")),
        ("first\nsecond",),
        "use `:>`",
    )
    sources = {"a.soac": "\n" * 11 + "f = map g\n", "b.soac": "def x =\n 123"}
    expected = """\
error[E0203]: sizes differ
  --> a.soac:12:5
   |
12 | f = map g
   | -   ^^^ this is [n]
  ::: b.soac:1:1
   |
 1 | def x =
   | ------- [m] comes from here
   = note: first
           second
   = hint: use `:>`
"""
    assert render(diagnostic, sources.get) == expected


def test_overlapping_labels_take_rows_of_their_own() -> None:
    diagnostic = Diagnostic(
        "E0205", "twice", Label(Loc("a", 1, 1, 1, 6), "all"), (Label(Loc("a", 1, 3, 1, 4), "part"),)
    )
    assert render(diagnostic, lambda _: "a b c").splitlines()[4:] == ["  | ^^^^^ all", "  |   - part"]


def test_no_place_and_no_source() -> None:
    assert render(Diagnostic("C0101", "no such file"), lambda _: None) == "error[C0101]: no such file\n"
    label = Label(Loc("gone.soac", 3, 4, 3, 5), "here")
    assert (
        render(Diagnostic("W0301", "odd", label), lambda _: None)
        == "warning[W0301]: odd\n --> gone.soac:3:4\n  = here\n"
    )
    assert render(Diagnostic("E0101", "odd", label), lambda _: "one line").endswith("3 |\n  |    ^ here\n")


def test_nothing_steers_the_terminal() -> None:
    source = "a \x1b[31m\u202eb\x07 c"
    text = render(Diagnostic("E0101", "bad \x1b[0m", Label(Loc("\x1bf", 1, 1, 1, 2), "x\x1b")), lambda _: source)
    assert all(c.isprintable() or c == "\n" for c in text)


def test_long_lines_are_cut_around_the_fault() -> None:
    source = "x" * 5000 + "!" + "y" * 5000
    lines = render(Diagnostic("E0101", "bad", Label(Loc("f", 1, 5001, 1, 5002), "")), lambda _: source).splitlines()
    assert len(lines[3]) < 200
    assert lines[3][lines[4].index("^")] == "!"


def test_long_messages_are_cut_in_the_middle() -> None:
    name = "x" * 1_000_000
    text = render(
        Diagnostic("E0201", f"unknown name `{name}` here", Label(NOWHERE, ""), (), (name,), name), lambda _: None
    )
    assert len(text) < 7000
    assert text.splitlines()[0].startswith("error[E0201]: unknown name `xxx")
    assert text.splitlines()[0].endswith("xxx` here")


def test_color_only_adds_escapes() -> None:
    for text, expected in GOLDEN:
        with pytest.raises(CompileError) as caught:
            parse_module(text, "t.soac")
        colored = render(caught.value.diagnostics[0], lambda _, text=text: text, color=True)
        assert "\x1b[1;31m" in colored
        assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == expected


def test_several_are_separated() -> None:
    assert (
        render_all([Diagnostic("E1", "a"), Diagnostic("W1", "b")], lambda _: None) == "error[E1]: a\n\nwarning[W1]: b\n"
    )


# ---- suggestions


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lenght", "length"),
        ("Length", "length"),
        ("sequential_outr", "sequential_outer"),
        ("x", None),
        ("reduce_com", "reduce_comm"),
        ("zzzzzz", None),
    ],
)
def test_did_you_mean(name: str, expected: str | None) -> None:
    assert did_you_mean(name, ["reduce", "length", "sequential_outer", "reduce_comm", "map"]) == expected


def test_edit_distance_counts_swaps_once() -> None:
    assert edit_distance("ab", "ba", 3) == 1
    assert edit_distance("kitten", "sitting", 3) == 3
    assert edit_distance("", "abc", 3) == 3
    assert edit_distance("abc", "xyzuvw", 2) > 2
