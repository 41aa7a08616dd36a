"""The form of elaborated core: functions, entry points, names, attributes, constants, imports, failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from soac.frontend.compile import compile_text
from soac.ir.core import Apply, Assert, Attr, Loop, PrimOp, Prog, Screma
from soac.ir.errors import CompileError, RunError
from soac.ir.interpret import interpret
from soac.ir.traverse import all_exps
from soac.ir.types import i64
from tests.support.elaborate_cases import core_of, run, values


def main_of(prog: Prog):
    return next(fun for fun in prog.functions if fun.entry is not None and fun.entry.name == "main")


def count(prog: Prog, kind: type) -> int:
    return sum(isinstance(exp, kind) for fun in prog.functions for exp in all_exps(fun.body))


# ---- functions ----------------------------------------------------------------------------------------------------

BIG = "  let y = " + " ".join(f"(x * {i} -" for i in range(30)) + " x" + ")" * 30 + " in y + x\n"


def test_big_function_called_twice_becomes_one_core_function() -> None:
    prog = core_of("def f (x: i32) =\n" + BIG + "def main (x: i32) = f x + f (x + 1)")
    assert len(prog.functions) == 2
    assert count(prog, Apply) == 2


def test_small_function_is_inlined() -> None:
    prog = core_of("def f (x: i32) = x * x def main (x: i32) = f x + f (x + 1)")
    assert len(prog.functions) == 1


def test_function_called_once_is_inlined() -> None:
    assert len(core_of("def f (x: i32) =\n" + BIG + "def main (x: i32) = f x").functions) == 1


def test_higher_order_function_is_inlined() -> None:
    source = "def f (g: i32 -> i32) (x: i32) =\n" + BIG + "def main (x: i32) = f (+ 1) x + f (+ 2) x"
    assert len(core_of(source).functions) == 1


def test_many_calls_stay_small() -> None:
    chain = "\n".join(f"def f{i} (x: i32) = f{i - 1} x + f{i - 1} (x * {i})" for i in range(1, 25))
    prog = core_of("def f0 (x: i32) = x + 1\n" + chain + "\ndef main (x: i32) = f24 x")
    assert count(prog, PrimOp) < 1500


def test_one_core_function_per_form_of_arguments() -> None:
    source = "def f [n] (xs: [n]i32) (k: i64) =\n  let x = i32.sum xs\n" + BIG
    prog = core_of(source + "def main [n] (xs: [n]i32) (k: i64) = f xs k + f xs n + f (xs ++ xs) k")
    assert sorted(len(fun.params) for fun in prog.functions) == [2, 3, 3]


def test_unique_parameters_of_core_functions_are_consumed() -> None:
    body = "  let x = xs[0]\n" + BIG.replace("in y + x", "in xs with [0] = y")
    prog = core_of("def f [n] (xs: *[n]i32) : *[n]i32 =\n" + body + "def main (xs: *[]i32) = f (f xs)")
    assert all(fun.consumes for fun in prog.functions)


def test_calls_within_calls_end() -> None:
    """Polymorphic recursion would be a function for each of endlessly many types."""
    with pytest.raises(CompileError, match="E0202"):
        compile_text("def f 'a (n: i32) (x: a) : i32 = f (n - 1) (x, x) def main x = f x x", "t.soac")


# ---- entry points -------------------------------------------------------------------------------------------------


def test_entry_shares_sizes_and_unpacks_tuples() -> None:
    prog = core_of("entry main [n] (xs: [n](i32, f32)) (ys: *[n]bool) (k: i64) = (k, (xs, ys))")
    fun = main_of(prog)
    assert fun.entry is not None
    assert fun.entry.sizes == 1
    assert [p.components for p in fun.entry.params] == [2, 1, 1]
    assert [p.unique for p in fun.entry.params] == [False, True, False]
    assert [p.text for p in fun.entry.params] == ["[n](i32, f32)", "[n]bool", "i64"]
    assert [r.components for r in fun.entry.results] == [(0,), (1, 2, 3)]
    assert len(fun.params) == 5


def test_entry_result_sizes_come_first() -> None:
    fun = main_of(core_of("def main (xs: []i32) = filter (> 0) xs"))
    assert fun.entry is not None
    assert [str(p.type.prim.value) for p in fun.results] == ["i64", "i32"]
    assert fun.entry.results[0].components == (1,)
    assert fun.entry.results[0].text == "[]i32"


def test_only_entries_of_the_root_and_what_they_reach() -> None:
    prog = core_of("def unused (x: i32) = iota 3 entry a (x: i32) = x entry b (y: i32) = y + 1")
    assert [fun.entry.name for fun in prog.functions if fun.entry] == ["a", "b"]
    assert run("def f = 1i32 entry other (x: i32) = x + f", "2i32", "other")[0] == 3


def test_constant_sizes_stand_in_the_parameter_types() -> None:
    fun = main_of(core_of("def main (xs: [3]i32) = xs[0]"))
    assert fun.params[0].type.shape == (i64(3),)


# ---- names, attributes, constants ---------------------------------------------------------------------------------


def test_bindings_name_core_variables() -> None:
    fun = main_of(core_of("def main (xs: []i32) = let ys = map (+ 1) xs let total = i32.sum ys in total * 2"))
    assert [stm.pat[0].name.base for stm in fun.body.stms[:2]] == ["ys", "total"]
    assert fun.params[1].name.base == "xs"


def test_attributes_go_to_the_statement_of_the_expression() -> None:
    fun = main_of(core_of("def main (xs: []i32) = let ys = map (+ 1) xs in #[sequential] map (* 2) ys"))
    assert [stm.attrs for stm in fun.body.stms] == [(), (Attr("sequential", ()),)]


def test_unsafe_drops_checks() -> None:
    safe = core_of("def main (xs: []i32) (i: i64) = xs[:i]")
    unsafe = core_of("def main (xs: []i32) (i: i64) = #[unsafe] xs[:i]")
    assert count(safe, Assert) == 1
    assert count(unsafe, Assert) == 0


def test_constants_are_computed_once() -> None:
    prog = core_of("def table = map (* 2) (iota 5) def main (i: i64) (j: i64) = table[i] + table[j]")
    assert len([stm for stm in prog.consts if isinstance(stm.exp, Screma)]) == 1
    assert count(prog, Screma) == 0


def test_equal_sizes_need_no_check() -> None:
    lets = "let ys = xs ++ [1] let zs = [2] ++ xs in map2 (+) (ys :> [n+1]i32) (zs :> [n+1]i32)"
    source = "def main [n] (xs: [n]i32) = " + lets
    assert count(core_of(source), Assert) == 0


def test_sizes_that_stay_are_not_carried() -> None:
    prog = core_of("def main [n] (xs: [n]i32) = loop ys = xs for i < 3 do map (+ i) ys")
    loops = [exp for fun in prog.functions for exp in all_exps(fun.body) if isinstance(exp, Loop)]
    assert [len(loop.params) for loop in loops] == [1]


def test_known_commutative_operators() -> None:
    source = (
        "def main (xs: []i32) = (reduce (+) 0 xs, reduce i32.max 0 xs, reduce (\\x y -> y * x) 1 xs, "
        "reduce (\\(a, b) (c, d) -> (a + c, b * d)) (0, 1) (zip xs xs), reduce (\\x _ -> x) 0 xs, reduce (-) 0 xs)"
    )
    prog = core_of(source)
    reds = [exp.reds[0].comm for exp in all_exps(main_of(prog).body) if isinstance(exp, Screma)]
    assert reds == [True, True, True, True, False, False]


def test_long_chains() -> None:
    prog = compile_text("def main (x: i32) = x" + " + x * 2" * 10_000, "t.soac")
    assert interpret(prog, "main", values("1i32"))[0] == [20001]


def test_long_lets() -> None:
    lets = "".join(f" let x = x * {i % 3 + 1} - {i}\n" for i in range(10_000))
    assert compile_text("def main (x: i32) =\n" + lets + " in x", "t.soac").functions


# ---- imports ------------------------------------------------------------------------------------------------------


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "main.soac"


def _compiled(file: Path) -> Prog:
    return compile_text(file.read_text(), str(file))


def test_imports_are_found_beside_the_importer(tmp_path: Path) -> None:
    files = {
        "main.soac": 'import "lib/a"\nimport "lib/b"\ndef main (x: i32) = a x + b x',
        "lib/a.soac": 'import "b"\ndef a (x: i32) = b x * 2\nlocal def hidden = 1i32',
        "lib/b.soac": "def b (x: i32) = x + 1\nentry main (x: i32) = x",
    }
    prog = _compiled(write(tmp_path, files))
    assert [fun.entry.name for fun in prog.functions if fun.entry] == ["main"]


@pytest.mark.parametrize("spelling", ["main.soac", "../main.soac", "../sub/../main.soac", "../link/main.soac"])
def test_imports_do_not_depend_on_the_spelling_of_the_path(
    tmp_path: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"main.soac": 'import "lib/a"\ndef main (x: i32) = a x', "lib/a.soac": "def a (x: i32) = x + 1"}
    path = write(tmp_path / "root", files)
    (path.parent / "sub").mkdir()
    (path.parent / "link").symlink_to(path.parent)
    monkeypatch.chdir(path.parent if spelling == "main.soac" else path.parent / "sub")
    assert interpret(_compiled(Path(spelling)), "main", values("1i32"))[0] == [2]


@pytest.mark.parametrize(
    "files, message",
    [
        ({"main.soac": 'import "nothing"'}, "E0207.*cannot find import"),
        ({"main.soac": 'import "../main"'}, "E0207.*outside the project root"),
        ({"main.soac": 'import "main"'}, "E0206.*import cycle"),
        ({"main.soac": 'import "a"', "a.soac": 'import "b"', "b.soac": 'import "a"'}, "E0206.*a.soac.*b.soac.*a.soac"),
        ({"main.soac": 'import "a"\ndef main = hidden', "a.soac": "local def hidden = 1i32"}, "E0201"),
    ],
)  # fmt: skip
def test_faulty_imports(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        _compiled(write(tmp_path, files))


# ---- failures while running ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source, given, message",
    [
        ("def main (xs: []i32) (i: i32) = xs[i]", "[1i32] 1i32", "1:33.*R0101"),
        ("def main (xs: []i32) (i: i64) = xs[i:]", "[1i32] 2i64", r"R0101.*index \[2:1\]"),
        ("def main (xs: []i32) (i: i64) = xs[:i]", "[1i32] -1i64", r"R0101.*index \[0:-1\]"),
        ("def main (xs: []i32) (i: i64) = xs[::i]", "[1i32] 0i64", r"R0101.*index \[::0\].*a stride is not 0"),
        ("def main (xs: [][]i32) (i: i64) = xs[0, i:]", "[[1i32]] 2i64", r"R0101.*index \[0, 2:1\] out.*\[1\]\[1\]"),
        ("def main (xs: *[]i32) (i: i64) = xs with [i] = 0", "[1i32] -1i64", "R0101"),
        ("def main (x: i32) = 1 / x", "0i32", "1:21.*R0102"),
        ("def main (x: i32) = assert (x > 0) x", "0i32", "R0103.*assertion is false: x > 0, where x = 0"),
        ("def main (n: i64) = iota n", "-1i64", "R0104.*range 0..1..<-1 is invalid: negative size in iota"),
        ("def main (n: i64) = replicate n true", "-2i64", "R0104.*-2"),
        ("def main (n: i64) = 1...n", "-2i64", "R0104.*range 1...-2"),
        ("def main (n: i64) = 3..<n", "1i64", "R0104.*range 3..<1"),
        ("def main (n: i64) = 1..n...5", "1i64", "R0104.*range 1..1...5"),
        ("def main (xs: []i32) = xs :> [3]i32", "[1i32]", r"R0105.*shape .\[1\]. cannot match shape of type .\[3\]i32"),
        ("def main (n: i64) (xs: [n]i32) = xs", "2i64 [1i32]", r"R0105.*shape .\[1\]"),
        ("def main (xs: []i32) = unflatten (xs :> [2*2]i32)", "[1i32]", "R0105"),
        ("def main (xs: []i32) = head xs", "empty([0]i32)", "1:24.*R0101"),
        ("def f (x: i32) : i32 = ??? def main (x: i32) = if x > 0 then x else f x", "0i32", "R0103.*hole"),
    ],
)
def test_failures_say_where_and_what(source: str, given: str, message: str) -> None:
    with pytest.raises(RunError, match=message):
        run(source, given)


def test_sizes_that_are_scalar_parameters_are_no_results() -> None:
    fun = main_of(core_of("def main (n: i64) : [n]i64 = iota n"))
    assert len(fun.results) == 1


def test_a_size_that_nothing_tells_is_an_error() -> None:
    with pytest.raises(CompileError, match=r"E0227.*a size of `length`"):
        compile_text("def f [n] (x: i32) : [n]i32 = replicate n x def main (x: i32) = length (f x)", "t.soac")


def test_a_size_from_the_place_of_use_is_not_shared() -> None:
    body = "  let y = " + " + ".join(f"x * {i}" for i in range(30)) + " in replicate n y\n"
    source = "def f [n] (x: i32) : [n]i32 =\n" + body + "def main (x: i32) : ([2]i32, [3]i32) = (f x, f x)"
    assert [len(result) for result in run(source, "1i32")] == [2, 3]
