"""Test blocks: every form, the places, and what is refused."""

from __future__ import annotations

import pytest

from soac.data.read_write import read_values
from soac.ir.errors import CompileError, DataError
from soac.ir.types import Prim
from soac.testing import blocks as t
from soac.testing.blocks import parse_tests


def one(text: str) -> t.TestBlock:
    (block,) = parse_tests(text, "t.soac")
    return block


def case(text: str) -> t.Case:
    (found,) = one(f"-- ==\n-- {text}").cases
    return found


SAMPLE = """\
-- Sums.
-- ==
-- tags { slow gpu }
-- entry: f g'
-- "small one" nobench input { 3 [1, 2,
--   4] } output { 6 "a}" }
-- random input { [1000][32]f32 5i64 i32 [3]bool } auto output
-- input @data/big.in.gz
-- output @data/big.out
-- compiled random no_python input { [2_000]u8 -1.5f32 f32.nan true }
-- input { 0 } error: division by (zero|null)
-- input {} error:
-- script input { mk 10i64 }
-- structure gpu { SegMap 1
--   /If/True/SegRed 12 }
-- structure { Screma 0 }
-- warning: deprecated
def f = 1
-- ==
-- entry: h
-- input { }
-- output { 1 }
"""


def test_every_form() -> None:
    block, second = parse_tests(SAMPLE, "t.soac")
    assert (block.tags, block.entries, block.compile_error, block.properties) == (
        ("slow", "gpu"),
        ("f", "g'"),
        None,
        (),
    )
    assert second.entries == ("h",)
    assert block.loc.line == 2
    assert second.loc.line == 19
    small, random, file, compiled, fails, any_error, script = block.cases
    assert (small.name, small.tags, small.loc.line, small.loc.col) == ("small one", ("nobench",), 5, 4)
    assert isinstance(random.input, t.RandomInput)
    assert [(i.prim, i.shape) for i in random.input.items if isinstance(i, t.RandomType)] == [
        (Prim.F32, (1000, 32)),
        (Prim.I32, ()),
        (Prim.BOOL, (3,)),
    ]
    assert isinstance(random.expected, t.AutoOutput)
    assert isinstance(file.input, t.ValuesFile)
    assert isinstance(file.expected, t.Output)
    assert isinstance(file.expected.values, t.ValuesFile)
    assert (file.input.path, file.expected.values.path) == ("data/big.in.gz", "data/big.out")
    assert compiled.tags == ("compiled", "no_python")
    assert isinstance(compiled.input, t.RandomInput)
    assert [i.text.strip() for i in compiled.input.items if isinstance(i, t.ValuesText)] == [
        "-1.5f32",
        "f32.nan",
        "true",
    ]
    assert isinstance(compiled.expected, t.Succeeds)
    assert isinstance(fails.expected, t.Fails)
    assert fails.expected.pattern.regex == "division by (zero|null)"
    assert isinstance(any_error.expected, t.Fails)
    assert any_error.expected.pattern.regex == ""
    assert isinstance(script.input, t.ScriptInput)
    assert script.input.text == "mk 10i64"
    assert [(x.pipeline, x.counts) for x in block.structures] == [
        ("gpu", (("SegMap", 1), ("/If/True/SegRed", 12))),
        (None, (("Screma", 0),)),
    ]
    assert [w.regex for w in block.warnings] == ["deprecated"]


def test_literal_values_keep_their_places() -> None:
    small = parse_tests(SAMPLE, "t.soac")[0].cases[0]
    assert isinstance(small.input, t.ValuesText)
    values = read_values(small.input.text.encode(), "t.soac", first_line=small.input.line)
    assert [v.tolist() for v in values] == [3, [1, 2, 4]]
    bad = case("input { 1 [2, 3x] }").input
    assert isinstance(bad, t.ValuesText)
    with pytest.raises(DataError) as caught:
        read_values(bad.text.encode(), "t.soac", first_line=bad.line)
    loc = caught.value.diagnostics[0].primary.loc
    assert (loc.line, loc.col) == (2, 4 + "input { 1 [2, 3x".index("3"))


def test_random_literals_keep_their_places() -> None:
    source = case("random input { [2]i32 5i8 }").input
    assert isinstance(source, t.RandomInput)
    literal = source.items[1]
    assert isinstance(literal, t.ValuesText)
    assert (literal.line, literal.loc.col, literal.text.index("5") + 1) == (2, 26, 26)


def test_compile_errors_and_properties() -> None:
    block = one("-- ==\n-- error: unknown `x.*y`\ndef f = 1")
    assert block.compile_error is not None
    assert block.compile_error.regex == "unknown `x.*y`"
    assert one("-- ==\n-- tags { a }\n-- property: p q").properties == ("p", "q")


def test_blocks_end_where_the_comment_ends() -> None:
    assert parse_tests("def f = 1 -- ==\n  -- ==\n-- == x\n", "t.soac") == ()
    first, second = parse_tests("-- ==\n-- input { 1 }\n-- ==\r\n-- entry: g\r\n-- input { 2 }\r\ndef f = 1", "t.soac")
    assert (len(first.cases), second.entries, len(second.cases)) == (1, ("g",), 1)
    assert one("-- ==").cases == ()


def test_comments_and_strings_inside_values() -> None:
    found = case('input { "}" 1 -- not } this\n--  2 }').input
    assert isinstance(found, t.ValuesText)
    assert [v.tolist() for v in read_values(found.text.encode(), "t")] == [[125], 1, 2]


@pytest.mark.parametrize(
    ("text", "message", "line", "col"),
    [
        ("inptu { 1 }", "unknown key `inptu`", 2, 4),
        ("compiled inptu { 1 }", "unknown key `inptu`", 2, 13),
        ("entr: x", "unknown key `entr:`", 2, 4),
        ("output { 1 }", "`output` without `input`", 2, 4),
        ("input { 1 } output { 2 } output { 3 }", "`output` without `input`", 2, 29),
        ("auto output", "`output` without `input`", 2, 4),
        ("input { 1 } error: (a", "bad regular expression: missing ), unterminated subpattern at position 0", 2, 23),
        ("input { 1", "this `{` is not closed", 2, 10),
        ("input 1", "expected `{` after `input`", 2, 10),
        ("input {} output", "expected `{` after `output`", 2, 19),
        ("input {} auto", "expected `output` after `auto`", 2, 17),
        ("compiled", "expected `input`, found the end of the block", 2, 12),
        ("random script input {}", "an input is `random` or `script`, not both", 2, 4),
        ("random input { [n]i32 }", "expected a type with sizes, as `[1000]f32`, or a literal", 2, 19),
        ("random input { [2] 5i32 }", "expected a type with sizes, as `[1000]f32`, or a literal", 2, 19),
        ("random input { foo }", "expected a type with sizes, as `[1000]f32`, or a literal", 2, 19),
        ("error: x\n-- input { 1 }", "a block with `error:` has no inputs", 3, 4),
        ("property: x\n-- input { 1 }", "a block with `property:` has no inputs", 3, 4),
        ("error: x\n\n-- ==\n-- input {}", "a program that must not compile has one test block only", 4, 1),
        ("warning: x\n-- entry: f", "unknown key `entry:`", 3, 4),
        ("structure foo { A 1 }", "unknown pipeline `foo`", 2, 14),
        ("structure { A }", "expected a name and a number, as `SegMap 1`", 2, 14),
        ("entry:\n-- input {}", "expected a name after `entry:`", 2, 4),
        ("entry: 1x\n-- input {}", "`1x` is not a name", 2, 4),
        ("}", "unexpected `}`", 2, 4),
    ],
)
def test_faults(text: str, message: str, line: int, col: int) -> None:
    with pytest.raises(CompileError) as caught:
        parse_tests(f"-- ==\n-- {text}\n", "t.soac")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("E0301", f"test block: {message}")
    assert (diagnostic.primary.loc.line, diagnostic.primary.loc.col) == (line, col)
