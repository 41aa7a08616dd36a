"""Types that inference finds, feature by feature, beneath the real prelude."""

from __future__ import annotations

from functools import cache

import pytest

from soac.frontend.source import syntax as s
from soac.frontend.source.atoms import Ident, Lit, PVar
from soac.frontend.source.declarations import ValDec
from soac.frontend.source.types import SizeConst, SizeVar, TArray, TPrim
from soac.ir.types import Prim
from tests.support.infer_cases import definitions, infer_text, nodes, show, type_of

TYPES = {
    # numbers
    "def f = 1": "i32",
    "def f = 1.5": "f64",
    "def f = 1 / 2.0": "f64",
    "def f (x: u8) = x + 1": "u8 -> u8",
    "def f x y = x + y": "i32 -> i32 -> i32",
    "def f x = x && true": "bool -> bool",
    "def f (x: f32) = x % 2 ** 3": "f32 -> f32",
    "def f (x: u64) = x & 0xff | x << 3 ^ x >>> 2": "u64 -> u64",
    "def f (x: i64) = -x < 3 && !(x == 2)": "i64 -> bool",
    "def f (x: i32) = !x": "i32 -> i32",
    "def f = (1u8, 2.5f32, 'a', 1e3, -1)": "(u8, f32, i32, f64, i32)",
    "def f (x: i64) = (f32.i64 x, i32.bool (x > 0), bool.i64 x)": "i64 -> (f32, i32, bool)",
    "def f (x: f16) = f16.sqrt x + 1": "f16 -> f16",
    "def f (x: f32) = f32.(sqrt x + pi)": "f32 -> f32",
    "def f = f64.atan2 1 2 + f64.inf": "f64",
    "def f [n] (x: [n]i32) (y: [n]i32) = x == y": "[n]i32 -> [n]i32 -> bool",
    # functions
    "def f x = x": "a -> a",
    "def f g x = g (g x)": "(a -> a) -> a -> a",
    "def f = \\g h x -> g (h x)": "(a -> b) -> (c -> a) -> c -> b",
    "def f = map f32.tan": "[]f32 -> *[]f32",
    "def f = map (+1i64) >-> reduce (+) 0": "[]i64 -> i64",
    "def f = (1 +) >-> (* 2) >-> f64.i32": "i32 -> f64",
    "def f = (map (2 **) [1, 2], map (`i32.max` 3) [1], map (i32.- 1) [1])": "([2]i32, [1]i32, [1]i32)",
    "def f (x: i32) : i32 -> i32 = \\y -> x + y": "i32 -> i32 -> i32",
    "def f 'a (x: a) : (a, a) = let dup 'b (y: b) : (b, b) = (y, y) in dup x": "a -> (a, a)",
    "def f (n: i64) = let id 'a (x: a) = x in (id n, id true)": "i64 -> (i64, bool)",
    "def f (x: i32) = let g 'a (y: a) = (y, x) in ((g 1f32).0, (g true).0)": "i32 -> (f32, bool)",
    "def f = let add = \\x y -> x + y in add 1 2f32": "f32",
    "def (+^) (a: f32, b: f32) (c, d) = (a + c, b + d) def f = (1, 2) +^ (3, 4) +^ (5, 6)": "(f32, f32)",
    "def (x: i32) `foo` (y: i32) = x * y def f = 3 `foo` 4 `foo` 5": "i32",
    "def f = reduce (f32.+) 0 [1]": "f32",
    "def f = map (uncurry (+)) (zip [1, 2] [3, 4])": "[2]i32",
    "def map (x: i32) = x def f = map 3": "i32",
    "def f () = 3": "() -> i32",
    "def f '^a (g: a) = g": "a -> a",
    # records and tuples
    "def f (r: {a: i32, b: {c: f32}}) = r.b.c": "{a: i32, b: {c: f32}} -> f32",
    "def f (r: {a: i32, b: {c: f32}}) = (r with b.c = 2 with a = 1).a": "{a: i32, b: {c: f32}} -> i32",
    "def f (ps: [](f32, bool)) = map (.0) ps": "[](f32, bool) -> *[]f32",
    "def f (rs: []{x: f32}) = map (\\r -> r.x + 1) rs": "[]{x: f32} -> *[]f32",
    "def f = \\r -> let {a, b} = r in a + b + 1u8": "{a: u8, b: u8} -> u8",
    "def f = (\\(a, b) {x} -> a + b + x) (1, 2) {x = 3}": "i32",
    "def f b = if b then {a = 1, b = 2.0} else {a = 3, b = 4}": "bool -> {a: i32, b: f64}",
    "def f (x: (i32, (bool, f32))) = x.1.0": "(i32, (bool, f32)) -> bool",
    # type abbreviations
    "type v 't = {x: t, y: t} def f (a: v f32) : v f32 = {y = a.x, x = a.y}": "{x: f32, y: f32} -> {x: f32, y: f32}",
    "type m [n][m] 't = [n][m]t type q [n] = m [n][n] f32 def f [n] (a: q [n]) : q [n] = a": "[n][n]f32 -> [n][n]f32",
    "type~ a = []i32 def f (x: a) (y: a) = length x + length y": "[]i32 -> []i32 -> i64",
    # sums
    "def f (x: #a i32 | #b) = match x case #a y -> y case #b -> 0": "(#a i32 | #b) -> i32",
    "def f (b: bool) : #l i32 | #r = if b then #l 3 else #r": "bool -> #l i32 | #r",
    "def f (x: (i32, bool)) = match x case (0, true) -> 1 case (_, false) -> 2 case (n, _) -> n": "(i32, bool) -> i32",
    # arrays and sizes
    "def f = [(1, 2.0), (3, 4)]": "[2](i32, f64)",
    'def f = "né"': "[3]u8",
    "def f (n: i64) = (0..<n, 1...n, 0..1..<n, 1..3...9)": "(n: i64) -> *([n]i64, []i64, [n]i64, []i32)",
    "def f [n] (xs: [n]i32) = (xs[1:], xs[:2], xs[1:3], xs[:], xs[::-1])":
        "[n]i32 -> ([]i32, [2]i32, []i32, [n]i32, [n]i32)",
    "def f [n][m] (x: [n][m]i32) = (x[0], x[0, 1], x[0][1], x[:, 0])": "[n][m]i32 -> ([m]i32, i32, i32, [n]i32)",
    "def f [n][m] (a: [n][m]f32) = map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) a) a": "[n][m]f32 -> *[n][n]f32",
    "def f (n: i64) = iota n": "(n: i64) -> *[n]i64",
    "def f (xs: []i32) = map2 (+) (indices xs) (indices xs)": "[]i32 -> *[]i64",
    "def f [n][m] (xs: [n][m]i32) = unflatten (flatten xs)": "[n][m]i32 -> [n][m]i32",
    "def f [n][m] (xs: [n * m]i32) = unflatten xs": "[n * m]i32 -> [n][m]i32",
    "def f [n][m] (xs: [n]i32) (ys: [m]i32) = (split (concat xs ys)).1": "[n]i32 -> [m]i32 -> *[m]i32",
    "def f [n] (xs: [n]i32) = map2 (+) (tail xs) (init xs)": "[n]i32 -> *[]i32",
    "def f [n] (xs: [n]i32) = let [k] (ys: [k]i32) = filter (> 0) xs in (k + n, ys)": "[n]i32 -> *(i64, []i32)",
    "def f [n] (xs: [n]i32) (m: i64) = xs :> [m]i32": "[n]i32 -> (m: i64) -> [m]i32",
    "def f b (n: i64) = if b then iota n else [1, 2, 3]": "bool -> i64 -> *[]i64",
    "def f = tabulate_2d 3 4 (\\i j -> i * j)": "[3][4]i64",
    "def f = iota 10 |> map i32.i64": "[10]i32",
    "def f n m : [n][m]i32 = rep (rep 0)": "(n: i64) -> (m: i64) -> [n][m]i32",
    # loops
    "def f (n: i64) = loop xs = replicate n 0 for i < 10 do map (+ i) xs": "(n: i64) -> *[n]i32",
    "def f [n] (xs: [n]i32) = loop xs for i < 3 do filter (> i) xs :> [n]i32": "[n]i32 -> [n]i32",
    "def f [n] (a: [n]i32) (b: [n]i32) = loop (a, b) for i < 3 do (b, a)": "[n]i32 -> [n]i32 -> ([n]i32, [n]i32)",
    "def f = loop xs = [1i64] for i < 10 do concat xs xs": "[]i64",
    "def f (n: i32) = loop (i, a) = (0, 1) while i < n do (i + 1, a * 2)": "i32 -> (i32, i32)",
    "def f (xs: [](f32, i32)) = loop s = 0 for (x, i) in xs do s + x * f32.i32 i": "[](f32, i32) -> f32",
    "def f x = loop x for i < 3 do x * 2u8": "u8 -> u8",
    # modules
    "module m = { def g (x: i32) = x + 1 module n = { def h = g 2 } } def f = m.g m.n.h": "i32",
    "module m = { type t = i32 def g (x: t) = x } open m def f (x: m.t) = g x": "i32 -> i32",
    "module m = { def a = 1u8 } def f = let m2 = 2 in m.(a + a)": "u8",
    # the rest
    "def f (x: i32) = assert (x > 0) (x + 1)": "i32 -> i32",
    "def f (x: i32) : f32 = ???": "i32 -> f32",
    "def f [n] (xs: *[n]i32) (i: i64) = let xs[i] = 3 let xs[i + 1] = xs[i] in xs": "*[n]i32 -> i64 -> *[n]i32",
    "def f (x: i32) = let x = f32.i32 x let x = x + 1 in x": "i32 -> f32",
}  # fmt: skip


@cache
def found() -> dict[str, str]:
    """The type of `f` in every text, from one inference: each text is a module of one program."""
    module, typed, _ = infer_text("\n".join(f"module t{i} = {{ {text} }}" for i, text in enumerate(TYPES)))
    inner = [next(d for d in nodes(m, ValDec) if d.name == "f") for m in module.decs]
    return {text: show(typed.schemes[dec.id].type) for text, dec in zip(TYPES, inner)}


@pytest.mark.parametrize("text", TYPES)
def test_type(text: str) -> None:
    assert found()[text] == TYPES[text]


def test_literals_have_their_final_type() -> None:
    module, typed, _ = infer_text("def f (x: f32) = let y = 1 let z = 2 in x + y + f32.i64 z")
    one, two = nodes(module.decs, Lit)
    assert typed.types[one.id] == TPrim(Prim.F32)
    assert typed.types[two.id] == TPrim(Prim.I64)


def test_instances_say_what_parameters_stand_for() -> None:
    module, typed, _ = infer_text("def f [n] (xs: [n]f32) = map f64.f32 xs def g = f [1, 2, 3]")
    of_map = next(i for i in nodes(module.decs, Ident) if i.name == ("map",))
    of_f = next(i for i in nodes(module.decs, Ident) if i.name == ("f",))
    instance = typed.instances[of_map.id]
    assert {name: show(ty) for name, ty in instance.types.items()} == {"a": "f32", "x": "f64"}
    assert isinstance(instance.sizes["n"], SizeVar)
    assert instance.sizes["n"].name == "n"
    assert typed.instances[of_f.id].sizes == {"n": SizeConst(3)}


def test_sizes_that_only_the_context_knows_are_in_the_instance() -> None:
    module, typed, _ = infer_text("def f (n: i64) : [n]i32 = rep 0")
    rep = next(i for i in nodes(module.decs, Ident) if i.name == ("rep",))
    [parameter] = nodes(module.decs, PVar)
    assert typed.instances[rep.id].sizes == {"n": SizeVar("n", parameter.id)}


def test_a_size_names_the_variable_that_binds_it() -> None:
    module, typed, _ = infer_text("def f (n: i64) = let m = n + 1 in iota m")
    n, m = nodes(module.decs, PVar)
    call = nodes(module.decs, s.Call)[0]
    found_type = typed.types[call.id]
    assert isinstance(found_type, TArray)
    assert found_type.size == SizeVar("m", m.id)
    assert n.id != m.id


def test_schemes_list_invented_parameters() -> None:
    module, typed, _ = infer_text("def f 'a (x: a) y (zs: []a) = (x, y, zs)")
    [dec] = nodes(module.decs, ValDec)
    scheme = typed.schemes[dec.id]
    assert [var.name for var in scheme.types][:1] == ["a"]
    assert (len(scheme.types), len(scheme.sizes)) == (2, 1)


def test_dotted_names_are_modules_first_then_fields() -> None:
    module, typed, _ = infer_text("module m = { def r = {a = {b = 1}} } def f (x: {y: i32}) = m.r.a.b + x.y")
    resolved = {i.name: typed.resolved[i.id] for i in nodes(module.decs, Ident)}
    assert resolved == {("m", "r", "a", "b"): 2, ("x", "y"): 1}


def test_local_names_of_a_module_are_hidden() -> None:
    with pytest.raises(Exception, match="E0201"):
        infer_text("module m = { local def h = 3 def g = h } def f = m.h")


def test_consumption_is_in_the_type() -> None:
    found = definitions("def f (xs: *[]i32) : *[]i32 = xs def g (xs: []i32) = map (+ 1) xs def h (xs: []i32) = xs[1:]")
    assert found == {"f": "*[]i32 -> *[]i32", "g": "[]i32 -> *[]i32", "h": "[]i32 -> []i32"}


def test_long_chains_and_deep_nests() -> None:
    assert type_of("def f (x: i64) = " + " + ".join(["x"] * 10_000)) == "i64 -> i64"
    lets = "\n".join(f"let x{i + 1} = x{i} + 1" for i in range(5_000))
    assert type_of(f"def f (x0: u8) =\n{lets}\nin x5000") == "u8 -> u8"
    assert type_of("def f (x: i32) = " + "(1 + " * 250 + "x" + ")" * 250) == "i32 -> i32"
    assert type_of("def f x = " + "(if true then x else " * 250 + "1" + ")" * 250) == "i32 -> i32"


def test_types_that_double_stay_cheap() -> None:
    lets = " ".join(f"let x{i + 1} = (x{i}, x{i})" for i in range(14))
    assert type_of(f"def f = let x0 = 1 {lets} in x14 |> (.0.0.0.0.0.0.0.0.0.0.0.0.0.0)") == "i32"
