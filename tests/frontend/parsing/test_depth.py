"""Nesting is counted: too deep is E0103, whatever the recursion limit is, and what is allowed compiles."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from soac.frontend.compile import compile_text
from soac.ir.depth import FRAMES, MOST_LEVELS, allow_depth
from soac.ir.errors import CompileError, IRError
from soac.ir.parse import parse_prog


def _lets(n: int, value: str, result: str) -> str:
    """`let x1 = .. let x2 = ..`: `@` in `value` is the one before, in `result` the last."""
    lets = "\n".join(f"let x{i + 1} = {value.replace('@', f'x{i}')}" for i in range(n))
    return f"def main (x0: i32) =\n{lets}\nin {result.replace('@', f'x{n}')}"


def _decs(n: int, first: str, then: str, last: str) -> str:
    """Declarations: `@` is the number of the one before, `%` its own."""
    decs = "\n".join(then.replace("@", str(i)).replace("%", str(i + 1)) for i in range(n))
    return f"{first}\n{decs}\n{last.replace('@', str(n))}"


# name: the program with n levels
NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "def main (x: i32) = " + "(" * n + "x" + ")" * n,
    "tuples": lambda n: "def main (x: i32) = " + "(" * n + "x" + ", 1)" * n,
    "records": lambda n: "def main (x: i32) = " + "{a = " * n + "x" + "}" * n,
    "arrays": lambda n: "def main (x: i32) = " + "[" * n + "x" + "]" * n,
    "lambdas": lambda n: "def main (x: i32) = let f = " + "\\y -> " * n + "x in x",
    "branches": lambda n: "def main (x: i32) = " + "if x > 0 then " * n + "x" + " else 0" * n,
    "loops": lambda n: "def main (x: i32) = " + "".join(f"loop y{i} = x for i{i} < 2 do " for i in range(n)) + "x",
    "lets": lambda n: "def main (x: i32) = " + "let y = " * n + "x" + " in y" * n,
    "calls": lambda n: "def f (x: i32) = x\ndef main (x: i32) = " + "f (" * n + "x" + ")" * n,
    "patterns": lambda n: "def f " + "(" * n + "x" + ", _)" * n + " = x\ndef main (x: i32) = x",
    "types": lambda n: "def f (x: " + "(" * n + "i32" + ", i32)" * n + ") = 1\ndef main (x: i32) = x",
    "types of arrays": lambda n: "def f (x: " + "[]" * n + "i32) = 1\ndef main (x: i32) = x",
    "types of functions": lambda n: "def f (x: " + "i32 -> " * n + "i32) = 1\ndef main (x: i32) = x",
    "modules": lambda n: "module m = { " * n + "def y = 1i32" + " }" * n + "\ndef main (x: i32) = x",
    "found records": lambda n: _lets(n, "{a = @}", "x0"),
    "found tuples": lambda n: _lets(n, "(@, 1i32)", "@"),
    "found arrays": lambda n: _lets(n, "[@]", "x0"),
    "found functions": lambda n: _lets(n, "\\(y: i32) -> @", "x0"),
    "functions within": lambda n: _decs(
        n, "def f0 (y: i32) = y", "def f% (y: i32) = f@ y + 1", "def main (x: i32) = f@ x"
    ),
    "polymorphic records": lambda n: _decs(
        n, "def f0 y = y", "def f% y = f@ {a = y}", "def main (x: i32) = let _ = f@ x in x"
    ),
    "named types": lambda n: _decs(
        n, "type t0 = i32", "type t% = {a: t@}", "def main (x: i32) = let f (_: t@) = x in x"
    ),
    "sums": lambda n: _decs(n, "type t0 = i32", "type t% = #a t@ | #b", "def main (x: i32) = x"),
    "named modules": lambda n: _decs(
        n, "module m0 = { def y = 1 }", "module m% = { module a = m@ }", "def main (x: i32) = x"
    ),
    "named module types": lambda n: _decs(
        n, "module type s0 = { val y: i32 }", "module type s% = { module a: s@ }", "def main (x: i32) = x"
    ),
}  # fmt: skip


@pytest.fixture(params=[None, 200_000], ids=["limit as it is", "limit raised by others"])
def limit(request: pytest.FixtureRequest) -> Iterator[None]:
    before = sys.getrecursionlimit()
    if request.param is not None:
        sys.setrecursionlimit(request.param)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize("name", NESTED)
def test_too_deep_is_refused(name: str) -> None:
    with pytest.raises(CompileError) as error:
        compile_text(NESTED[name](2000), "t.soac")
    assert {found.code for found in error.value.diagnostics} == {"E0103"}


@pytest.mark.parametrize("name", NESTED)
def test_what_is_not_too_deep_compiles(name: str) -> None:
    compile_text(NESTED[name](100), "t.soac")


def test_threads_compile_side_by_side() -> None:
    """The limit that one thread needs is not lowered by another."""

    def outcome(at: int) -> str:
        try:
            compile_text(NESTED["found records"](9000 if at % 2 else 100), "t.soac")
        except CompileError as error:
            return error.diagnostics[0].code
        return "compiled"

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(outcome, range(8))) == ["compiled", "E0103"] * 4


def test_the_recursion_limit_is_raised_and_never_lowered() -> None:
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(FRAMES + 1)
        allow_depth()
        assert sys.getrecursionlimit() == FRAMES + 1
    finally:
        sys.setrecursionlimit(before)


def test_brackets_of_the_text_of_an_ir_are_counted() -> None:
    with pytest.raises(IRError, match="nested deeper than"):
        parse_prog("next_name 1\nfun f_0 " + "(" * 5 * MOST_LEVELS)
