"""Wrong programs: code, message and place of what inference says."""

from __future__ import annotations

import pytest

from soac.ir.errors import CompileError
from tests.support.infer_cases import errors, infer_text, marked, only_error

# text, code, what is marked, and a part of the message
WRONG = [
    ("def f (xs: []i32) = lenght xs", "E0201", "lenght", "unknown name `lenght`"),
    ("def f = m.x", "E0201", "m.x", "unknown name `m`"),
    ("def f = i32.foo", "E0201", "i32.foo", "unknown name `i32.foo`"),
    ("def f (xs: [n]i32) = xs", "E0201", "n", "unknown name `n`"),
    ("def f = 1 +++ 2", "E0201", "+++", "unknown operator `+++`"),
    ("def f = g 1 def g (x: i32) = x", "E0201", "g", "unknown name `g`"),
    ("def f (xs: []i32) = map xs (+1)", "E0202", "xs", "argument 1 of `map`: expected `a -> b`, found `[]i32`"),
    ("def f (xs: []i32) : []i32 = map (+1)", "E0202", "map (+1)", "result of `f`"),
    ("def f (x: i32) = x + 1f32", "E0202", "1f32", "right operand of `+`: expected `i32`, found `f32`"),
    ("def f (x: bool) = x + x", "E0202", "x", "`bool` cannot be an operand of `+`"),
    ("def f (x: f32) = x << 1", "E0202", "x", "`f32` cannot be an operand of `<<`"),
    ("def f = if 1 then 2 else 3", "E0202", "1", "condition of `if`"),
    ("def f = if true then 1 else 2.5f32 == 1 && 3", "E0202", "3", "right operand of `&&`"),
    ("def f b = if b then 1i32 else 2i64", "E0202", "2i64", "branches of `if` differ"),
    ("def f = [1, true]", "E0202", "true", "element 2 of an array"),
    ("def f (x: i32) = x[0]", "E0202", "x", "cannot index `i32`"),
    ("def f [n] (x: [n]i32) = x[0, 1]", "E0202", "x", "more than 1 index into `[n]i32`"),
    ("def f [n] (x: [n]i32) = x[1u8]", "E0202", "1u8", "cannot be an index"),
    ("def f [n] (x: *[n]i32) = x with [0] = true", "E0202", "true", "value of an update"),
    ("def f (x: i32) : f32 = x", "E0202", "x", "result of `f`: expected `f32`, found `i32`"),
    ("def f = \\x -> x x", "E0202", "x", "argument 1 of `x`"),
    ("def f = loop x = 1 for i < 10 do true", "E0202", "true", "body of a loop"),
    ("def f = loop x = 1 while x do 2", "E0202", "x", "condition of a loop"),
    ("def f = loop x = 1 for i < 1.5 do 2", "E0202", "1.5", "cannot be the bound of a loop"),
    ("def f = 1.5 : i32", "E0202", "1.5", "ascribed expression"),
    ("def f = let g = \\a b -> a < b in g (1, 2) 3", "E0202", "(1, 2)", "expected `scalar`"),
    ("def f = let g = \\a b -> a & b in g (1, 2) 3", "E0202", "(1, 2)", "expected `integer or bool`"),
    (
        "def f [k][n] (x: [k][n]i32): [n]i32 = reduce (\\a b -> if a[0] < b[0] then a else b[1:]) x[0] x",
        "E0203",
        "\\a b -> if a[0] < b[0] then a else b[1:]",
        "sizes do not match; argument 1 of `reduce`",
    ),
    ("def f 'a (x: a) : i32 = x", "E0202", "x", "result of `f`: expected `i32`, found `a`"),
    ("def f = \\x -> x == (\\y -> y)", "E0202", "\\y -> y", "right operand of `==`"),
    ("def f [n][m] (x: [n]i32) (y: [m]i32) = map2 (+) x y", "E0203", "y", "sizes `n` and `m` do not match"),
    ("def f = map2 (+) [1, 2] [1, 2, 3]", "E0203", "[1, 2, 3]", "sizes `2` and `3` do not match"),
    ("def f [n][m] (x: [n][m]i32) : [m][n]i32 = x", "E0203", "x", "result of `f`"),
    ("def f : [3]i32 = iota 4 |> map i32.i64", "E0203", "iota 4 |> map i32.i64", "sizes `3` and `4` do not match"),
    ("def f = [[1], [2, 3]]", "E0204", "[2, 3]", "row 2 has 2 elements, row 1 has 1"),
    ("def f = [[[1]], [[2, 3]]]", "E0204", "[[2, 3]]", "row 2 is `[1][2]"),
    ("def f (x: i32) (x: f32) = x", "E0205", "x", "duplicate"),
    ("def f [n][n] (x: [n]i32) = x", "E0205", "[n]", "duplicate size parameter `n`"),
    ("def f = 1 def f = 2", "E0205", "f", "duplicate definition `f`"),
    ("type t = i32 type t = f32", "E0205", None, "duplicate type `t`"),
    ("def f = {a = 1, a = 2}", "E0205", "2", "duplicate field `a`"),
    ("def f = let (a, a) = (1, 2) in a", "E0205", "a", "duplicate"),
    ("def f (x: []i32) = if length x == 0 then x else f x[1:]", "E0206", "f", "does not declare its result"),
    ("def f x = g x def g x = f x", "E0206", "g", "`g`, which uses this definition in turn, does not declare its type"),
    ("def f x = g x def g 'a (x: a): a = f x", "E0206", "g", "take and give data of known types"),
    ("def f (x: i32) = let g y = g (y + 1) in g x", "E0206", "g", "not in scope of its own definition"),
    ("def f (g: i32 -> i32) (x: i32): i32 = f (\\y -> g y) x", "E0206", "\\y -> g y", "passed unchanged"),
    ("def f (g: i32 -> i32) (x: i32): i32 = (f g <| x) + 1", "E0206", "f g", "not fully saturated"),
    ("def f (x: i32): i32 -> i32 = \\y -> f y x", "E0206", "f", "not first-order"),
    (
        "def f x = reduce (\\a b -> (a, b)) 0 x",
        "E0208",
        "\\a b -> (a, b)",
        "`reduce` must be `a -> a -> a`",
    ),
    ("def f (x: []f32) = scan (\\a b -> a < b) true x", "E0202", None, ""),
    ("def f (x: #a | #b i32) = match x case #a -> 1", "E0211", None, "do not cover all values"),
    ("def f (x: i32) = match x case 1 -> 2 case 2 -> 3", "E0211", None, "do not cover all values"),
    ("def f (x: (bool, bool)) = match x case (true, _) -> 1 case (_, true) -> 2", "E0211", None, "do not cover"),
    ("def f (x: #a i32 | #b) = let #a y = x in y", "E0211", "#a y", "the pattern does not cover all values"),
    ("def f (r: {foo: i32}) = r.fo", "E0212", "r.fo", "unknown field `fo` of `{foo: i32}`"),
    ("def f = (1, 2).2", "E0212", "(1, 2).2", "unknown field `2`"),
    ("def f (x: i32) = x.y", "E0212", "x.y", "`i32` has no field `y`"),
    ("def f (x: i32) = x 1", "E0213", "x", "`x` is not a function"),
    ("def f = (iota 3) 1", "E0213", "iota 3", "this is not a function"),
    ("def f = 3 4", "E0213", "3", "this is not a function"),
    ("def f = map (+1) [1] [2]", "E0213", "[2]", "`map` takes 2 arguments, found 3"),
    ("def f (x: foo) = x", "E0214", "foo", "unknown type `foo`"),
    ("type v 't = (t, t) def f (x: v) = x", "E0215", "v", "type `v` takes 1 argument, found 0"),
    ("type v [n] = [n]i32 def f (x: v i32) = x", "E0215", "i32", "is a size, not a type"),
    ("def f (x: #a) = match x case #b -> 1 case _ -> 2", "E0216", "#b", "does not match"),
    ("def f g = \\x -> x.foo", "E0217", "x.foo", "is not known here"),
    ("def f (x: i32) = if x > 2 then (+ 1) else (+ 2)", "E0218", None, "result of `if` cannot be a function"),
    ("def f = [(+ 1)]", "E0218", "[(+ 1)]", "element of an array"),
    ("def f = map (\\x -> (+ x)) [1]", "E0218", "map", "type parameter `'x` of `map`"),
    ("def f = loop g = (+ 1) for i < 3 do g", "E0218", "(+ 1)", "loop parameter"),
    ("entry f 'a (x: a) = x", "E0219", "f", "entry point `f` is polymorphic"),
    ("entry f (g: i32 -> i32) = g 1", "E0219", "f", "a function among its parameters"),
    ("open nope", "E0220", "nope", "unknown module `nope`"),
    ("def f = nope.(1)", "E0220", "nope.(1)", "unknown module `nope`"),
    ("def f : i8 = 300", "E0104", "300", "literal 300 does not fit `i8` (-128..127)"),
    ("def f (x: u8) = x + 256", "E0104", "256", "literal 256 does not fit `u8` (0..255)"),
]


@pytest.mark.parametrize("text,code,place,part", WRONG, ids=[f"{w[1]}-{w[0][:40]}" for w in WRONG])
def test_error(text: str, code: str, place: str | None, part: str) -> None:
    error = only_error(text)
    assert error.code == code, error
    assert part in error.message
    if place is not None:
        assert marked(text, error) == place


def test_hints() -> None:
    assert only_error("def f (xs: []i32) = lenght xs").hint == "did you mean `length`?"
    assert only_error("def f (xs: []i32) = mpa (+1) xs").hint == "did you mean `map`?"
    for indexed in ("xs [0]", "(iota 3) [1]", "[1, 2] [0]"):
        assert only_error(f"def f (xs: []i32) = {indexed}").hint == "an index has no blank before it: `xs[i]`"
    assert only_error('def f = "ab"[0]').hint == 'to index a string, write `("..")[i]`'
    assert only_error("def f (xs: []i32) = xs 0").hint is None
    hint = only_error("def f (xs: [n]i32) = xs").hint
    assert hint is not None
    assert hint.startswith("sizes are parameters too: write `[n]` before the others")
    assert only_error("def f [len] (xs: [lne]i32) = xs").hint == "did you mean `len`?"
    assert only_error("def f = sqrt 2").hint == "there are `f32.sqrt` and `f64.sqrt`"


def test_wrong_argument_shows_the_function_beside_what_was_found() -> None:
    error = only_error("def f (xs: []i32) (ys: []bool) = map2 (+) xs ys")
    assert error.message == "argument 3 of `map2`: expected `[]i32`, found `[]bool`"
    assert "`map2` has type `(a -> b -> x) -> [n]a -> [n]b -> *[n]x`" in error.notes
    assert [label.text for label in error.others] == ["argument 1 is `i32 -> i32 -> i32`", "argument 2 is `[]i32`"]


def test_missing_argument_is_said() -> None:
    assert "the function found here lacks 1 more argument" in only_error("def f : []i32 = map (+ 1)").notes


def test_sizes_show_where_they_come_from() -> None:
    text = "def f [n][m] (x: [n]i32) (y: [m]i32) = map2 (+) x y"
    labels = {(label.loc.col, label.text) for label in only_error(text).others}
    assert (7, "size `n` is a parameter here") in labels
    assert (10, "size `m` is a parameter here") in labels


def test_errors_of_independent_definitions_are_all_reported() -> None:
    text = "def a = x1\ndef b = a + 1\ndef c = true + 1\ndef d : i32 = 1\ntype t = nope\ndef e (x: t) = x\ndef g = d 1"
    assert [(e.code, e.primary.loc.line) for e in errors(text)] == [
        ("E0201", 1),
        ("E0202", 3),
        ("E0214", 5),
        ("E0213", 7),
    ]


def test_misspelt_attributes_warn() -> None:
    _, _, warnings = infer_text("def f = #[sequential_outr] 1 def g = #[flattening(only_iner)] 2 def h = #[whatever] 3")
    assert [(w.code, w.hint) for w in warnings] == [
        ("W0301", "did you mean `sequential_outer`?"),
        ("W0301", "did you mean `only_inner`?"),
    ]


def test_warnings_of_a_function_by_the_name_outside_are_said_once() -> None:
    text = (
        "def f (x: i32): i32 = x  module m = { def f (x: (i32, i32)) = #[sequentiall] (f x.0, f x.1) }\n"
        "def g (x: i32): i32 = x  module k = { def g (x: (i32, i32)) = #[sequentiall] (g x.0 + true) }"
    )
    with pytest.raises(CompileError) as caught:
        infer_text(text)
    assert [d.code for d in caught.value.diagnostics] == ["E0202"]
    _, _, warnings = infer_text(text.split("\n")[0])
    assert [w.code for w in warnings] == ["W0306", "W0301"]


def test_comparing_arrays_is_deprecated() -> None:
    text = (
        "def f (xs: [2]i32) (ys: [2]i32) = xs == ys  def g (x: (i32, bool)) = x != x && x.0 == 2\n"
        "def h (x: {a: i32, b: []i32}) = [x.b] != [x.b]  def k (xs: []i32) = all (== 3) xs && (==) xs xs"
    )
    _, _, warnings = infer_text(text)
    assert [(w.code, w.primary.loc.line, w.primary.loc.col) for w in warnings] == [
        ("W0304", 1, 38),
        ("W0304", 2, 39),
        ("W0304", 2, 86),
    ]
    assert warnings[0].message == "comparing arrays with `==` is deprecated"


def test_sizes_that_are_said_to_be_equal_are_left_to_run_time() -> None:
    for text in (
        "def f (n: i64) (m: i64) = map2 (+) (iota n) (iota m :> [n]i64)",
        "def f [n] (x: [n]i64) = map2 (+) x (iota 3 :> [n]i64)",
        "def f [n] (x: [n]i64) : [n]i64 = filter (> 0) x :> [n]i64",
        "def f (x: []i64) = if length x > 1 then x else [1]",
        "def f [n] (x: [n]i64) = loop y = x for i < 3 do y[1:]",
        "def f [n] (x: [n]i64) = map (\\i -> iota i :> [n]i64) x",
    ):
        infer_text(text)


SIZES = {
    "def f (n: i64) (m: i64) = map2 (+) (iota n) (iota m)": "E0203",
    "def f [n] (x: [n]i64) = map2 (+) x (iota 3)": "E0203",
    "def f [n] (x: [n]i64) : [n]i64 = filter (> 0) x": "E0203",
    "def f [n] (x: [n]i64) : [n]i64 = iota (length x)": "E0203",
    "def f (n: i64) (x: [n + 1]i64) : [1 + n]i64 = x": "E0203",
    "def f [n] (x: [n]i64) = map (\\i -> iota i) x": "E0202",
    "def f (x: []i64) = length <| filter (> 0) x": "E0225",
    "def f (x: []i64) = (\\g -> g (filter (> 0) x)) (\\_ -> 0)": "E0225",
    "def f xs = let ys = filter (> 0) [1] in zip xs ys": "E0226",
    "def f (n: i64, b: bool) (xs: [n]i64) = (xs, b)": "E0226",
    "def f (n: i64, b: bool) : [n]bool = rep b": "E0226",
    "def f = filter (> 0) >-> length": "E0226",
    "def f = loop x = [1] for i < 3 do let y = filter (> i) [i] in map2 (+) x y": "E0226",
    "def f [n] (g: [n]i64 -> i64) = n def h = f (\\x -> x[0])": "E0227",
    "def f = length (let x : [][]i32 = [] in x)": "E0227",
}


@pytest.mark.parametrize("text", SIZES, ids=list(SIZES))
def test_sizes_that_are_not_the_same(text: str) -> None:
    assert [e.code for e in errors(text)] == [SIZES[text]]


def test_nesting_too_deep_for_types_is_refused() -> None:
    lets = "\n".join(f"let x{i + 1} = {{a = x{i}}}" for i in range(9_000))
    found = errors(f"def f x0 =\n{lets}\nin x9000")
    assert [e.code for e in found] == ["E0103"]
