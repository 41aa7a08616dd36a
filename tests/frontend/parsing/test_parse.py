"""The parser: trees of snippets, the language's twelve traps, precedence, literals, ranges of the source, limits."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.parse_tables import GRAMMAR, OPTIONS, TABLES, analyse, tables
from soac.frontend.parsing import parse
from soac.frontend.parsing.lexer import FastLexer
from soac.frontend.parsing.parse import parse_module
from soac.frontend.parsing.tables import load_parser
from soac.frontend.source import syntax as s
from soac.frontend.source.atoms import Ident, Lit, Operator, PLit, PVar, TEName
from soac.frontend.source.declarations import TypeDec, ValDec
from soac.frontend.source.text import MAX_SOURCE, decode_source
from soac.ir.core import Attr
from soac.ir.errors import CompileError, Loc
from soac.ir.types import Prim

HIDDEN = {"id", "loc", "name_loc", "is_decimal"}


def tree(node: Any) -> str:
    """A node as an S-expression, without ids and places."""
    match node:
        case Ident(name=name) | TEName(name=name):
            return ".".join(name)
        case Operator(name=name, backtick=backtick):
            return f"`{'.'.join(name)}`" if backtick else ".".join(name)
        case Lit(value=value, prim=prim):
            return f"{value}{prim.value if prim and prim is not Prim.BOOL else ''}"
        case PVar(name=name):
            return name
        case PLit(literal=literal):
            return tree(literal)
        case s.PAscript(pat=pat, type=type_):
            return f"({tree(pat)}: {tree(type_)})"
        case s.Chain(first=first, rest=rest):
            return f"({' '.join([tree(first)] + [f'{tree(op)} {tree(x)}' for op, x in rest])})"
        case s.Call(function=f, args=args):
            return f"({' '.join(tree(x) for x in (f, *args))})"
        case s.Point(index=index):
            return tree(index)
        case Attr(name=name, args=args):
            return name + (f"({', '.join(tree(a) for a in args)})" if args else "")
        case tuple():
            return f"[{' '.join(tree(x) for x in node)}]"
        case Enum():
            return str(node.value)
        case None:
            return "_"
        case _ if is_dataclass(node):
            parts = [tree(getattr(node, f.name)) for f in fields(node) if f.name not in HIDDEN]
            return f"({' '.join([type(node).__name__, *parts])})"
        case _:
            return str(node)


def exp(text: str) -> s.Exp:
    (dec,) = parse_module(f"def it = {text}", "t.soac").decs
    assert isinstance(dec, ValDec)
    return dec.body


def fault(text: str) -> Any:
    with pytest.raises(CompileError) as caught:
        parse_module(text, "t.soac")
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def nodes_of(node: Any) -> list[Any]:
    """All nodes of a tree, the root first."""
    found, todo = [], [node]
    while todo:
        at = todo.pop()
        if isinstance(at, tuple):
            todo += at
        elif is_dataclass(at) and not isinstance(at, (Loc, Attr)):
            found.append(at)
            todo += [getattr(at, f.name) for f in fields(at)]
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f x y", "(f x y)"),
        ("f (g x) (h y).1", "(f (g x) (Project (h y) 1))"),
        ("(f x) y", "((f x) y)"),
        ("()", "(Tuple [])"),
        ("(a, b,)", "(Tuple [a b])"),
        ("[1, 2, 3]", "(Array [1 2 3])"),
        ("[]", "(Array [])"),
        ("{x = 1, y}", "(Record [[x 1] [y y]])"),
        ("{0 = a}", "(Record [[0 a]])"),
        ('"a\\n\\"\\65"', '(StringLit a\n"A)'),
        ("if a then b else c d", "(If a b (c d))"),
        ("\\x (y: i32) -> x + y", "(Lambda [x (y: i32)] _ (x + y))"),
        ("\\x : [n]i32 -> x", "(Lambda [x] (TEArray n i32) x)"),
        ("map (\\x -> x) xs", "(map (Lambda [x] _ x) xs)"),
        ("map \\x -> x + 1", "(map (Lambda [x] _ (x + 1)))"),
        ("assert (a < b) c d", "(Assert (a < b) (c d))"),
        ("#[unroll] f x", "(Attributed unroll (f x))"),
        ("#[flattening(only_inner)] x", "(Attributed flattening(only_inner) x)"),
        ("#[bound(10, a(b))] x", "(Attributed bound(10, a(b)) x)"),
        ("???", "(Hole)"),
        ("m.(x + 1)", "(OpenIn [m] (x + 1))"),
        ("a.m.(x)", "(OpenIn [a m] x)"),
        ("f x : i32", "(Ascript (f x) i32)"),
        ("x :> [n]f32", "(Coerce x (TEArray n f32))"),
        ("x : a : b", "(Ascript (Ascript x a) b)"),
        ("0..2...10", "(Range 0 2 ... 10)"),
        ("0..<n", "(Range 0 _ ..< n)"),
        ("n-1..>0", "(Range (n - 1) _ ..> 0)"),
        ("#none", "(Constr none [])"),
        ("#some x (f y)", "(Constr some [x (f y)])"),
        ("x[i, 1:n, ::-1]", "(Index x [i (SliceIndex 1 n _) (SliceIndex _ _ -1)])"),
        ("x[:, 2:]", "(Index x [(SliceIndex _ _ _) (SliceIndex 2 _ _)])"),
        ("match x case 1 -> a case (#c y, -2i8) -> b", "(Match x [[1 a] [(PTuple [(PConstr c [y]) -2i8]) b]])"),
        ("match x case _ -> match y case 1 -> 2 case 3 -> 4", "(Match x [[(PWild) (Match y [[1 2] [3 4]])]])"),
        ("loop x = 0 for i < n do x + i", "(Loop [] x 0 (ForLess i n) (x + i))"),
        ("loop (x, y) = (0, 1) while x < y do (y, x)",
         "(Loop [] (PTuple [x y]) (Tuple [0 1]) (While (x < y)) (Tuple [y x]))"),
        ("loop x = 0 for (a, b) in xs do x", "(Loop [] x 0 (ForIn (PTuple [a b]) xs) x)"),
        ("loop [k] (xs: [k]i32) = ys while c do zs", "(Loop [k] (xs: (TEArray k i32)) ys (While c) zs)"),
    ],
)  # fmt: skip
def test_expressions(text: str, expected: str) -> None:
    assert tree(exp(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("let x = 1 in x", "(Let [(LetPat [] x 1 False)] x)"),
        ("let x = 1 let y = 2 in y", "(Let [(LetPat [] x 1 False) (LetPat [] y 2 False)] y)"),
        ("let x = 1 in let y = 2 in y", "(Let [(LetPat [] x 1 False) (LetPat [] y 2 False)] y)"),
        ("let x = let y = 1 in y in x", "(Let [(LetPat [] x (Let [(LetPat [] y 1 False)] y) False)] x)"),
        ("let (a, _) = p in a", "(Let [(LetPat [] (PTuple [a (PWild)]) p False)] a)"),
        ("let {a, b = (c: i32)} = p in a", "(Let [(LetPat [] (PRecord [[a a] [b (c: i32)]]) p False)] a)"),
        ("let [n] (x: [n]i32) = y in n", "(Let [(LetPat [n] (x: (TEArray n i32)) y False)] n)"),
        ("let f x = x in f", "(Let [(LetFun f [] [x] _ x)] f)"),
        ("let f [n] 'a (x: [n]a): a = x in f",
         "(Let [(LetFun f [(TypeParam n size) (TypeParam a ')] [(x: (TEArray n a))] a x)] f)"),
        ("let (+) a b = a in 1", "(Let [(LetFun + [] [a b] _ a)] 1)"),
        ("let x[0] = 1 in x", "(Let [(LetPat [] x (With x [(IndexStep [0])] 1) True)] x)"),
        ("let x[0, 1:2].f = 1 in x",
         "(Let [(LetPat [] x (With x [(IndexStep [0 (SliceIndex 1 2 _)]) (FieldStep f)] 1) True)] x)"),
        ("let r.f = 1 in r", "(Let [(LetPat [] r (With r [(FieldStep f)] 1) True)] r)"),
    ],
)  # fmt: skip
def test_let(text: str, expected: str) -> None:
    assert tree(exp(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 1: f[x] is indexing, f [x] application
        ("f[x]", "(Index f [x])"),
        ("f [x]", "(f (Array [x]))"),
        ("f x[0] [y]", "(f (Index x [0]) (Array [y]))"),
        ("(f x)[0][1]", "(Index (Index (f x) [0]) [1])"),
        ("{a = 1} [0]", "((Record [[a 1]]) (Array [0]))"),
        # 2: operators as long as possible
        ("f -x", "(f - x)"),
        ("f (-x)", "(f (Negate x))"),
        ("x <- y", "(x <- y)"),
        ("x - -1", "(x - -1)"),
        ("!a != b", "((Not a) != b)"),
        ("a --b\n + c", "(a + c)"),
        ("a+-- b\n c", "(a +-- (b c))"),
        # 3: numbers after a dot
        ("t.0.1", "t.0.1"),
        ("(f t).0.1", "(Project (Project (f t) 0) 1)"),
        ("0..<n", "(Range 0 _ ..< n)"),
        ("1...10i32", "(Range 1 _ ... 10i32)"),
        ("1.5...2.5", "(Range 1.5 _ ... 2.5)"),
        # 4: qualified operators are one token
        ("(f32.+)", "f32.+"),
        ("map2 (u16./) xs", "(map2 u16./ xs)"),
        ("a f32.+ b", "(a f32.+ b)"),
        ("a.b", "a.b"),
        ("a.b + c", "(a.b + c)"),
        # 5: characters, type parameters, primes
        ("'a'", "97"),
        ("x' 'a'", "(x' 97)"),
        ("'\\''", "39"),
        ("f' x''", "(f' x'')"),
        # 6: #foo, #[attr]
        ("#[a] f (#foo)", "(Attributed a (f (Constr foo [])))"),
        # 7: braces are records
        ("{}", "(Record [])"),
        ("(x, y: t)", "(Tuple [x (Ascript y t)])"),
        # 8: sections
        ("(+ 1)", "(RightSection + 1)"),
        ("(1 +)", "(LeftSection 1 +)"),
        ("(a * b +)", "(LeftSection (a * b) +)"),
        ("(`f` x)", "(RightSection `f` x)"),
        ("(x `m.f`)", "(LeftSection x `m.f`)"),
        ("(- 1)", "-1"),
        ("(1 -)", "(LeftSection 1 -)"),
        ("(-)", "-"),
        ("(.0)", "(PathSection [(FieldStep 0)])"),
        ("(.x.y[1])", "(PathSection [(FieldStep x) (FieldStep y) (IndexStep [1])])"),
        ("(.[i, :])", "(PathSection [(IndexStep [i (SliceIndex _ _ _)])])"),
        # 12: with
        ("a with [0] = x with [1] = y", "(With (With a [(IndexStep [0])] x) [(IndexStep [1])] y)"),
        ("a with [0] = x |> f", "(With a [(IndexStep [0])] (x |> f))"),
        ("r with f.g = v", "(With r [(FieldStep f) (FieldStep g)] v)"),
        ("r with [i].f = v", "(With r [(IndexStep [i]) (FieldStep f)] v)"),
        ("r with f[i] = v", "(With r [(FieldStep f) (IndexStep [i])] v)"),
        ("a with [0] = b with [1] = \\x -> x",
         "(With (With a [(IndexStep [0])] b) [(IndexStep [1])] (Lambda [x] _ x))"),
    ],
)  # fmt: skip
def test_traps(text: str, expected: str) -> None:
    assert tree(exp(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c - d", "(a + (b * c) - d)"),
        ("a * b + c * d", "((a * b) + (c * d))"),
        ("a ** b ** c", "(a ** b ** c)"),
        ("-x ** 2", "((Negate x) ** 2)"),
        ("-f x", "(Negate (f x))"),
        ("-x % y", "((Negate x) % y)"),
        ("a & b == c", "((a & b) == c)"),
        ("a == b && c || d", "(((a == b) && c) || d)"),
        ("a << b + c", "(a << (b + c))"),
        ("f <| g <| x", "(f <| (g <| x))"),
        ("x |> f |> g", "(x |> f |> g)"),
        ("f <| x |> g", "((f <| x) |> g)"),
        ("x |> f <| y", "(x |> (f <| y))"),
        ("a `f` b |> g", "(a `f` (b |> g))"),
        ("a + b `f` c + d", "((a + b) `f` (c + d))"),
        ("a `f` b..<c", "(Range (a `f` b) _ ..< c)"),
        ("a >>= b + c", "(a >>= (b + c))"),
        ("a +^ b * c", "(a +^ (b * c))"),
        ("a >-> b == c", "(a >-> b == c)"),
        ("a + if c then d else e + f", "(a + (If c d (e + f)))"),
        ("a * \\x -> x + 1", "(a * (Lambda [x] _ (x + 1)))"),
        ("if a then b else c : t", "(If a b (Ascript c t))"),
        ("a f32.* b + c", "((a f32.* b) + c)"),
        ("a || !b && c", "(a || ((Not b) && c))"),
    ],
)
def test_precedence(text: str, expected: str) -> None:
    assert tree(exp(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[n][m]f32", "(TEArray n (TEArray m f32))"),
        ("[]f32", "(TEArray _ f32)"),
        ("[n + 1]f32", "(TEArray (n + 1) f32)"),
        ("*[n]f32", "(TEUnique (TEArray n f32))"),
        ("vec [n] t", "(TEApply [vec] [(TESize n) t])"),
        ("m.t [] (a, b)", "(TEApply [m t] [(TESize _) (TETuple [a b])])"),
        ("(i32, {x: a, 0: b})", "(TETuple [i32 (TERecord [[x a] [0 b]])])"),
        ("()", "(TETuple [])"),
        ("a -> b -> c", "(TEArrow _ a (TEArrow _ b c))"),
        ("(x: i64) -> [x]t", "(TEArrow x i64 (TEArray x t))"),
        ("(a -> b) -> c", "(TEArrow _ (TEArrow _ a b) c)"),
        ("#a i32 [n]f32 | #b", "(TESum [[a [i32 (TEArray n f32)]] [b []]])"),
        ("?[n][m].[n][m]t", "(TEExists [n m] (TEArray n (TEArray m t)))"),
    ],
)
def test_types(text: str, expected: str) -> None:
    (dec,) = parse_module(f"type t = {text}", "t.soac").decs
    assert isinstance(dec, TypeDec)
    assert tree(dec.type) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f [n] 'a '~b '^c (x: [n]a) _ {y} : a = x",
         "(ValDec f [(TypeParam n size) (TypeParam a ') (TypeParam b '~) (TypeParam c '^)] "
         "[(x: (TEArray n a)) (PWild) (PRecord [[y y]])] a x False [])"),
        ("def f[n] x = x", "(ValDec f [(TypeParam n size)] [x] _ x False [])"),
        ("entry main x = x", "(ValDec main [] [x] _ x True [])"),
        ("let x = 1", "(ValDec x [] [] _ 1 False [])"),
        ("def (+^) a b = a", "(ValDec +^ [] [a b] _ a False [])"),
        ("def a +^ b : i32 = a", "(ValDec +^ [] [a b] i32 a False [])"),
        ("def a `f` b = a", "(ValDec f [] [a b] _ a False [])"),
        ("#[noinline] #[a(b)] entry f x = x", "(ValDec f [] [x] _ x True [noinline a(b)])"),
        ("type v [n] 't = [n]t", "(TypeDec v [(TypeParam n size) (TypeParam t ')] (TEArray n t) ')"),
        ("type^ t = i32 -> i32", "(TypeDec t [] (TEArrow _ i32 i32) '^)"),
        ("local def f x = x", "(LocalDec (ValDec f [] [x] _ x False []))"),
        ('import "a/b"', "(ImportDec a/b)"),
        ('open import "a"', "(OpenDec (ModuleImport a))"),
        ("open a.b", "(OpenDec (ModuleName [a b]))"),
        ("module m = { def x = 1 type t = i32 }",
         "(ModuleDec m (Structure [(ValDec x [] [] _ 1 False []) (TypeDec t [] i32 ')]))"),
        ("module f (p: a) : b = p",
         "(ModuleDec f (Functor p (SigName [a]) (Ascribed (ModuleName [p]) (SigName [b]))))"),
        ("module f = \\(p: a): b -> g p {}",
         "(ModuleDec f (Functor p (SigName [a]) (Ascribed (ModuleCall (ModuleCall (ModuleName [g]) (ModuleName [p])) "
         "(Structure [])) (SigName [b]))))"),
        ("module type a = { val f 'a: a -> t  type^ t [n] 'x  type u = i32  module m: b  include c with t = i32 }",
         "(ModuleTypeDec a (Signature [(ValSpec f [(TypeParam a ')] (TEArrow _ a t)) "
         "(TypeSpec t [(TypeParam n size) (TypeParam x ')] '^) (TypeDec u [] i32 ') (ModuleSpec m (SigName [b])) "
         "(Include (SigWith (SigName [c]) [t] [] i32))]))"),
        ("module type a = (p: b) -> c -> d",
         "(ModuleTypeDec a (SigArrow p (SigName [b]) (SigArrow _ (SigName [c]) (SigName [d]))))"),
    ],
)  # fmt: skip
def test_declarations(text: str, expected: str) -> None:
    (dec,) = parse_module(text, "t.soac").decs
    assert tree(dec) == expected


def test_nothing_separates_declarations() -> None:
    module = parse_module("def a = 1 def b = a + 2 #[x] entry c = b type t = i32 def d : t = 3", "t.soac")
    assert [getattr(dec, "name", None) for dec in module.decs] == ["a", "b", "c", "t", "d"]


# ---- literals


@pytest.mark.parametrize(
    ("text", "value", "prim", "is_decimal"),
    [
        ("42", 42, None, False),
        ("42i8", 42, Prim.I8, False),
        ("0xffu32", 255, Prim.U32, False),
        ("0x80i8", -128, Prim.I8, False),
        ("0b1111_1111i8", -1, Prim.I8, False),
        ("0xffff_ffff_ffff_ffffi64", -1, Prim.I64, False),
        ("0x1f32", 0x1F32, None, False),
        ("0b1010", 10, None, False),
        ("0rXIV", 14, None, False),
        ("1_000", 1000, None, False),
        ("1.5f32", 1.5, Prim.F32, True),
        ("1e-3", 1e-3, None, True),
        ("2f32", 2.0, Prim.F32, False),
        ("0x1.8p3f64", 12.0, Prim.F64, True),
        ("true", True, Prim.BOOL, False),
        ("-128i8", -128, Prim.I8, False),
        ("- 5", -5, None, False),
        ("(-9223372036854775808i64)", -(2**63), Prim.I64, False),
        ("18446744073709551615u64", 2**64 - 1, Prim.U64, False),
        ("'\\x41'", 65, None, False),
    ],
)
def test_literals(text: str, value: Any, prim: Prim | None, is_decimal: bool) -> None:
    literal = exp(text)
    assert isinstance(literal, Lit)
    assert (literal.value, literal.prim, literal.is_decimal) == (value, prim, is_decimal)
    assert type(literal.value) is type(value)


@pytest.mark.parametrize("text", ["-1u8", "-(-5)", "-true", "- -128i8", "-x"])
def test_other_negations_stay(text: str) -> None:
    assert isinstance(exp(text), s.Negate)


def test_negative_zero_keeps_its_sign() -> None:
    literal = exp("-0.0")
    assert isinstance(literal, Lit)
    assert str(literal.value) == "-0.0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("300i8", "`300i8` does not fit i8 (-128..127)"),
        ("128i8", "`128i8` does not fit i8 (-128..127)"),
        ("-129i8", "`129i8` does not fit i8 (-128..127)"),
        ("-(128i8 + 1i8)", "`128i8` does not fit i8 (-128..127)"),
        ("256u8", "`256u8` does not fit u8 (0..255)"),
        ("9" * 5000, "this literal has 5000 digits; the limit is 400"),
        ("1." + "9" * 5000, "this literal has 5002 digits; the limit is 400"),
    ],
)
def test_literals_out_of_range(text: str, message: str) -> None:
    diagnostic = fault(f"def x = {text}")
    assert (diagnostic.code, diagnostic.message) == ("E0104", message)


# ---- ids and places


SAMPLE = """def f [n] (xs: [n]i32) (k, _) =
  let ys[0] = -(1 + k) * 2
  let g (x: i32) = x `max` 0
  in (loop (a, b) for i < n do if i == 0 then (a, b) else (b, a.0 + xs[i])).1
entry main (r: {x: f32}) = match r.x case 1 -> #a r with x = 2 case _ -> #b
"""


def test_ids_are_unique_and_begin_where_asked() -> None:
    module = parse_module(SAMPLE, "t.soac", 1000)
    ids = [node.id for node in nodes_of(module.decs) if hasattr(node, "id")]
    assert len(set(ids)) == len(ids)
    assert min(ids) >= 1000
    assert max(ids) < module.next_id


def test_places_lie_inside_each_other() -> None:
    module = parse_module(SAMPLE, "t.soac")
    for node in nodes_of(module.decs):
        if not hasattr(node, "loc"):
            continue
        assert (node.loc.line, node.loc.col) < (node.loc.end_line, node.loc.end_col)
        for child in nodes_of(tuple(getattr(node, f.name) for f in fields(node))):
            if hasattr(child, "loc"):
                assert (child.loc.line, child.loc.col) >= (node.loc.line, node.loc.col)
                assert (child.loc.end_line, child.loc.end_col) <= (node.loc.end_line, node.loc.end_col)


@pytest.mark.parametrize(
    ("text", "col", "end_col"),
    [
        ("(a + b) * c", 10, 21),
        ("f (g x)", 10, 17),
        ("a + b", 10, 15),
        ("-(x)", 10, 14),
        ("(a)", 11, 12),
        ("(f).x", 10, 15),
    ],
)
def test_parentheses_belong_to_the_phrase_around(text: str, col: int, end_col: int) -> None:
    loc = exp(text).loc
    assert (loc.col, loc.end_col) == (col, end_col)


def test_places_count_characters_and_accept_crlf() -> None:
    module = parse_module('-- Größe\r\ndef a = "äö"\r\ndef b = c', "t.soac")
    assert module.decs[1].loc == Loc("t.soac", 3, 1, 3, 10)
    assert module.decs[0].loc == Loc("t.soac", 2, 1, 2, 13)


def test_missing_initial_value_is_the_pattern() -> None:
    loop = exp("loop (x, {y, z = (w: i32)}) while c do x")
    assert isinstance(loop, s.Loop)
    assert tree(loop.init) == "(Tuple [x (Record [[y y] [z w]])])"
    assert fault("def f = loop _ while c do x").code == "E0101"


# ---- limits


def test_long_chains_stay_flat() -> None:
    n = 10_000
    chain = exp("+".join(["1"] * n))
    assert isinstance(chain, s.Chain)
    assert len(chain.rest) == n - 1
    for separator in ("\n", " in\n"):
        lets = exp("".join(f"let a{i} = {i}{separator}" for i in range(n)) + ("1" if separator != "\n" else "in 1"))
        assert isinstance(lets, s.Let)
        assert len(lets.bindings) == n
    call = exp("f" + " x" * n)
    assert isinstance(call, s.Call)
    assert len(call.args) == n


def test_long_chains_of_with_are_accepted() -> None:
    update = exp("a" + "".join(f" with [{i}] = {i}" for i in range(1000)))
    for i in reversed(range(1000)):
        assert isinstance(update, s.With)
        assert tree(update.value) == str(i)
        update = update.target


@pytest.mark.parametrize(
    "text",
    [
        "def x = " + "(" * 100_000,
        "def x = " + "[" * 100_000 + "]" * 100_000,
        "def x = " + "(" * 100_000 + "1" + ")" * 100_000,
        "def x " + "{a = " * 100_000,
        "def x = " + "- " * 3000 + "1",
        "def x = " + "if a then b else " * 3000 + "1",
        "def x = " + "\\x -> " * 3000 + "1",
        "def x = " + "f <| " * 3000 + "1",
        "def x = a" + "[0]" * 3000,
        "type t = " + "[]" * 3000 + "i32",
        "type t = " + "i32 -> " * 3000 + "i32",
    ],
    ids=lambda text: text[:16],
)
def test_deep_nesting_is_refused(text: str) -> None:
    diagnostic = fault(text)
    assert (diagnostic.code, diagnostic.message) == ("E0103", "nested deeper than 256 levels")


@pytest.mark.parametrize("count", [300, 1500, 3000])
def test_a_chain_of_branches_is_too_deep_at_one_place(count: int) -> None:
    """Also where it is so long that the parser gives up before there is a tree."""
    diagnostic = fault("def x = " + "if a then b else " * count + "1")
    assert 250 <= diagnostic.primary.loc.col // len("if a then b else ") <= 258
    assert "each `else if` or `case` is a level" in str(diagnostic.hint)
    assert "match" not in str(fault("def x = " + "\\x -> " * count + "1").hint)
    exp("match a " + "".join(f"case {k} -> b " for k in range(count)) + "case _ -> c")


def test_an_unfinished_deep_phrase_is_a_fault_at_its_end() -> None:
    for text in ("- " * 10_000, "if a then b else " * 10_000, "\\x -> " * 10_000):
        assert fault(f"def x = {text}").message == "expected an expression, found end of file"


def test_moderate_nesting_is_accepted() -> None:
    exp("(" * 250 + "1" + ")" * 250)
    exp("f (" * 200 + "1" + ")" * 200)
    exp("if a then b else " * 200 + "1")


def test_brackets_in_comments_and_strings_do_not_nest() -> None:
    parse_module("-- " + "(" * 1000 + '\ndef x = "' + "(" * 1000 + "\"\ndef y = '('\n" * 1, "t.soac")


# ---- files


@pytest.mark.parametrize("text", ["-- \ud800", 'def x = "\udcff"'])
def test_halves_of_characters(text: str) -> None:
    with pytest.raises(CompileError, match=r"`t\.soac` is not UTF-8 at 2:") as caught:
        parse_module("def é = 1\n" + text, "t.soac")
    assert caught.value.diagnostics[0].code == "E0002"


def test_decode_source() -> None:
    assert decode_source(b"\xef\xbb\xbfdef x = 1", "t.soac") == "def x = 1"
    for data, message in [
        (b"def x\n = \xff", "`t.soac` is not UTF-8 at byte 9"),
        (b"abc\0", "`t.soac` is not a text file: NUL at byte 3"),
    ]:
        with pytest.raises(CompileError) as caught:
            decode_source(data, "t.soac")
        (diagnostic,) = caught.value.diagnostics
        assert (diagnostic.code, diagnostic.message) == ("E0002", message)
    with pytest.raises(
        CompileError, match=r"(?m)`t\.soac` is larger than 4 MiB$"
    ):  # readers stop there: its size is not known
        decode_source(b" " * (MAX_SOURCE + 1), "t.soac")


# ---- the grammar, and Lark's tables of it


def test_the_tables_are_those_of_the_grammar() -> None:
    """Fails if the grammar changes, or what Lark makes of it; `python scripts/parse_tables.py` writes them anew."""
    assert TABLES.read_text(encoding="utf-8") == tables(GRAMMAR.read_text(encoding="utf-8"))


def test_the_actions_are_those_of_lark() -> None:
    """Beginning with the first state of both, those that the same tokens lead to have the same actions."""
    mine = load_parser(object()).parser.parser._parse_table
    wanted = analyse(GRAMMAR.read_text(encoding="utf-8")).parser.parser._parse_table
    left = [(wanted.start_states["start"], mine.start_states["start"])]
    seen = dict(left)
    for state, own in left:  # grows
        assert mine.states[own].keys() == wanted.states[state].keys()
        for token, (action, target) in wanted.states[state].items():
            kind, to = mine.states[own][token]
            assert kind.name == action.name
            if action.name == "Reduce":
                assert (to, to.alias, to.options.expand1) == (target, target.alias, target.options.expand1)
            elif target not in seen:
                seen[target] = to
                left.append((target, to))
            assert action.name == "Reduce" or seen[target] == to
    assert len(seen) == len(wanted.states) == len(mine.states)
    assert {mine.end_states["start"]} == {seen[state] for state in wanted.end_states.values()}


def test_the_builder_has_a_method_for_every_rule() -> None:
    for rule in analyse(GRAMMAR.read_text(encoding="utf-8")).rules:
        name = rule.alias or rule.options.template_source or rule.origin.name
        passes_on = rule.options.expand1 and not rule.alias and len(rule.expansion) == 1
        assert name[0] == "_" or passes_on or hasattr(parse.Builder, name), rule


def test_the_grammar_has_one_conflict(caplog: pytest.LogCaptureFixture) -> None:
    level = lark.logger.level
    lark.logger.setLevel(logging.DEBUG)
    try:
        analyse(GRAMMAR.read_text(encoding="utf-8"), debug=True)
    finally:
        lark.logger.setLevel(level)
    conflicts = [r.getMessage() for r in caplog.records if "conflict" in r.getMessage().lower()]
    assert len(conflicts) == 1
    assert "CASE" in conflicts[0]


def test_the_lexer_is_that_of_lark() -> None:
    """The same tokens at the same places as Lark's basic lexer, which it replaces for its speed."""
    text = "\n\n".join(path.read_text(encoding="utf-8") for path in sorted(Path("programs").glob("*.soac")))
    text += "def f' = -- a\t\n  (-1.5e3f32, 'x', x'[0x1f], t.0.1, 1...2, m.+ _ _a, iff <- a-->b)  \n--\r\n \t"
    grammar = GRAMMAR.read_text(encoding="utf-8")
    mine = lark.Lark(grammar, **OPTIONS | {"lexer": FastLexer}).lex(text)
    slots = ("type", "value", "line", "column", "end_line", "end_column", "start_pos", "end_pos")
    for got, wanted in zip(mine, analyse(grammar).lex(text), strict=True):
        assert [getattr(got, slot) for slot in slots] == [getattr(wanted, slot) for slot in slots]


def test_threads_parse_at_once() -> None:
    """The builder holds the file and the ids of one text; none of them reaches the tree of another."""
    texts = [f"def f{i} (x: i32) = (x + {i}) * 2\n" * 50 for i in range(8)]
    alone = [parse_module(text, f"{i}.soac", i) for i, text in enumerate(texts)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda i: parse_module(texts[i], f"{i}.soac", i), range(8))) == alone


# ---- whatever the text, a tree or a diagnostic

TOKENS = (
    "def let in if then else loop for while do match case assert with entry type module import open \\ -> ( ) [ ] { } "
    ", : :> = + - * <| |> .. ..< ! ` ??? ? . _ x f' 1 2.5 300i8 2x 'a' \"s\" #c #[ \u03bb"
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(TOKENS.split()), max_size=30).map(" ".join))
def test_any_tokens_give_a_tree_or_a_diagnostic(text: str) -> None:
    for source in (text, f"def f x = {text}"):
        try:
            module = parse_module(source, "t.soac")
        except CompileError as error:
            (diagnostic,) = error.diagnostics
            assert diagnostic.code in {"E0101", "E0102", "E0104", "E0210"}
            assert diagnostic.primary.loc.line >= 1
        else:
            assert module.text == source


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_any_text_gives_a_tree_or_a_diagnostic(text: str) -> None:
    try:
        parse_module(text, "t.soac")
    except CompileError as error:
        count = len(error.diagnostics)
    else:
        count = 1
    assert count == 1
