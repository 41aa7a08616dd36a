"""Bad inputs, row by row: no traceback, the exit code of the kind of mistake, and a hint that is right when followed.

A case is a row of the list of bad inputs, files, a command, what it must end with and show, and the correction: what
the message advises, after which the command succeeds. Rows that take a machine, a signal or minutes are tested
elsewhere.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tests.soac.commands.test_bad_inputs import PAIR, SUM, binary
from tests.support.command_line import Command, Outcome

ROOT = Path(__file__).parents[3]
CHECK = ("check", "a.soac")
RUN = ("run", "a.soac", "[1, 2, 3]")
ROWS = "def main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss\n"
DATA = "-- ==\n-- input { [1, 2] }\n"
Files = Mapping[str, str | bytes]


@dataclass(frozen=True)
class Case:
    """`files`: a text alone is that of `a.soac`. `followed`: files and words that change, as the message advises."""

    row: int
    files: str | Files
    words: Sequence[str]
    code: int
    shown: str
    followed: tuple[str | Files, Sequence[str]] | None = None
    also: tuple[str, ...] = field(default=())


def np_bytes(values: object, **named: object) -> bytes:
    made = io.BytesIO()
    np.save(made, np.array(values, **named), allow_pickle=True)  # type: ignore[arg-type]
    return made.getvalue()


def npz_bytes(values: np.ndarray) -> bytes:
    made = io.BytesIO()
    np.savez_compressed(made, values)
    return made.getvalue()


def tuned(text: str, program: str = SUM) -> Files:
    return {"a.soac": program, "a.soac.tuning": text}


def fails(row: int, text: str, code: str, hint: str, right: str | None = None) -> Case:
    """A program that `soac check` refuses, and the text that follows its hint."""
    return Case(row, text, CHECK, 1, f"error[{code}]", None if right is None else (right, CHECK), (hint,))


def refuses(row: int, data: str, code: str, hint: str, right: str | None = None, program: str = SUM) -> Case:
    """An argument that `soac run` refuses, and what follows its hint."""
    followed = None if right is None else (program, ("run", "a.soac", right))
    return Case(row, program, ("run", "a.soac", data), 1, f"error[{code}]", followed, (hint,))


def ifs(first: int, end: int) -> str:
    return "".join(f"if x == {k} then {k} else " for k in range(first, end)) + "0"


def cases(first: int, end: int) -> str:
    return "(match x " + "".join(f"case {k} -> {k} " for k in range(first, end)) + "case _ -> 0)"


SCALAR = "def main (x: {}) = x\n"
CASES = [
    fails(1, "", "E0001", "add `entry main ...`", "entry main (x: i32) = x\n"),
    fails(1, "def main' (x: i32) = x\n", "E0001", "add `entry main ...`", "entry main' (x: i32) = x\n"),
    Case(1, SUM, ("run", "a.soac", "-e", "mian", "[1]"), 1, "did you mean `main`", (SUM, ("run", "a.soac", "[1]"))),
    Case(2, {"a.soac": b"def main = \xff"}, CHECK, 1, "error[E0002]: `a.soac` is not UTF-8 at byte 11"),
    Case(2, {"a.soac": b"def main\x00 = 1"}, CHECK, 1, "error[E0002]"),
    Case(3, {"a.soac": b"\xef\xbb\xbfdef main (xs: []i32) =\r\n\ti32.sum xs"}, RUN, 0, "6i32"),
    fails(4, "def main (xs: []i32) = map (\\x -> x+", "E0101", "this `(` is not closed",
          "def main (xs: []i32) = map (\\x -> x+1) xs"),
    fails(5, "def main = let 2x = 1i32 in 2x", "E0102", "did you mean `x2`?", "def main = let x2 = 1i32 in x2"),
    fails(5, "def main = \u201cabc\u201d", "E0102", 'did you mean `"`?', 'def main = "abc"'),
    fails(5, "def main (xs: []i32) = map (\u03bbx -> x) xs", "E0102", "did you mean `\\`?",
          "def main (xs: []i32) = map (\\x -> x) xs"),
    fails(6, "def main = " + "(" * 100_000 + "1i32" + ")" * 100_000, "E0103", "name inner parts",
          "def inner = " + "(" * 200 + "1i32" + ")" * 200 + "\ndef main = " + "(" * 200 + "inner" + ")" * 200),
    *(fails(6, f"def main (x: i32) = {chain(0, 300)}", "E0103", "split the tests in halves, `if x < m then",
            f"def main (x: i32) = if x < 150 then {chain(0, 150)} else {chain(150, 300)}") for chain in (ifs, cases)),
    fails(8, "def main = " + "9" * 5000, "E0104", "the limit is 400"),
    fails(8, "def main = 300i8", "E0104", "(-128..127)", "def main = 127i8"),
    fails(8, "def main = 1e999999999", "E0104", "beyond the range of `f64`", "def main = 1e300"),
    fails(9, "def main (xs: []i32) = lenght xs", "E0201", "did you mean `length`?", "def main (xs: []i32) = length xs"),
    fails(10, "def main (xs: []i32): []i32 = map xs", "E0202", "`map` has type `(a -> x) -> [n]a -> *[n]x`",
          "def main (xs: []i32): []i32 = map (+ 1) xs"),
    fails(10, "def main (xs: []i32): []i32 = map xs (+ 1)", "E0202", "`map` has type `(a -> x) -> [n]a -> *[n]x`",
          "def main (xs: []i32): []i32 = map (+ 1) xs"),
    fails(11, "def main [n][m] (xs: [n]i32) (ys: [m]i32) = map2 (+) xs ys", "E0203", "say so: `:> [n]i32`",
          "def main [n][m] (xs: [n]i32) (ys: [m]i32) = map2 (+) xs (ys :> [n]i32)"),
    fails(12, "def main = [[1], [2, 3]]", "E0204", "row 2 has 2 elements, row 1 has 1",
          "def main = [[1, 1], [2, 3i32]]"),
    fails(13, "def f = 1\ndef f = 2\ndef main = f", "E0205", "also bound here"),
    fails(13, "def main [n][n] (xs: [n]i32) = xs", "E0205", "duplicate size parameter `n`"),
    Case(14, {"a.soac": 'import "b"\ndef main = 1i32', "b.soac": 'import "a"\ndef x = 1i32'}, CHECK, 1,
         "import cycle: a.soac -> b.soac -> a.soac"),
    Case(15, 'import "lib"\ndef main = one', CHECK, 1, "looked for `lib.soac`",
         ({"lib.soac": "def one = 1i32"}, CHECK)),
    Case(15, {"b.soac": "def one = 1i32", "sub/a.soac": 'import "../b"\ndef main = one'}, ("check", "sub/a.soac"), 1,
         "pass `--allow-outside`", ({}, ("check", "--allow-outside", "sub/a.soac"))),
    fails(16, "def main (xs: []i32) = reduce (\\(a: i32) (b: bool) -> a) 0 xs", "E0208", "must be `a -> a -> a`",
          "def main (xs: []i32) = reduce (\\(a: i32) (b: i32) -> a + b) 0 xs"),
    fails(17, "def main [n] (xs: *[n]i32) = let ys = xs with [0] = 1 in (xs[0], ys)", "E0209", "use a `copy` of it",
          "def main [n] (xs: *[n]i32) = let ys = copy xs with [0] = 1 in (xs[0], ys)"),
    fails(17, "def main [n] (xs: [n]i32) = xs with [0] = 1", "E0221", "`*",
          "def main [n] (xs: *[n]i32) = xs with [0] = 1"),
    Case(18, "def main (xs: []i32) = #[sequential_outr] i32.sum xs", ("check", "--Werror", "a.soac"), 1,
         "did you mean `sequential_outer`?",
         ("def main (xs: []i32) = #[sequential_outer] i32.sum xs", ("check", "--Werror", "a.soac"))),
    Case(19, "def int (x: i32) = x\ndef __global__ (a': i32) = int a'\ndef main (xs: []i32) = __global__ xs[0]", RUN,
         0, "1i32"),
    Case(21, "def main (xs: []i32): i32 =\n  xs[3]", RUN, 1, "index [3] out of bounds for array of shape [3]",
         also=("a.soac:2:3",)),
    Case(22, "def main (xs: []i32) = map (1 /) xs", ("run", "a.soac", "[0]"), 1, "error[R0102]: division by zero"),
    Case(22, "def main (xs: []i32) = map (/ -1) xs", ("run", "a.soac", "[-2147483648]"), 0, "[-2147483648i32]"),
    Case(23, "def main (xs: []i32) = assert (xs[0] > 1) xs[0]", RUN, 1, "assertion is false"),
    refuses(24, "-1", "R0104", "negative size", "1", "def main (n: i64) = iota n\n"),
    refuses(24, "1099511627776", "R0301", "[1099511627776]f64", "2", "def main (n: i64) = replicate n 0f64\n"),
    Case(25, "def main (xs: []f32) = map (* 1) xs", ("run", "a.soac", "[f32.nan, -0.0, 1e-45, f32.inf]"), 0,
         "[f32.nan, -0.0f32, 1e-45f32, f32.inf]"),
    Case(26, "def main [n][m] (xss: [n][m]i32) = transpose xss", ("run", "a.soac", "empty([0][3]i32)"), 0,
         "empty([3][0]i32)"),
    refuses(27, "[1, 2", "D0101", "this `[` is not closed", "[1, 2]"),
    refuses(27, "[1, 2.0]", "D0102", "the array began with i32", "[1, 2]"),
    refuses(27, "[[1], [2, 3]]", "D0103", "row 2 has 2 elements", "[[1, 1], [2, 3]]",
            "def main (xss: [][]i32) = length xss\n"),
    refuses(28, "[1i64]", "D0104", "without the suffix `i64` it is read as []i32", "[1]"),
    refuses(28, "1000000000000", "D0104", "does not fit i32 (-2147483648..2147483647)", "2147483647",
            SCALAR.format("i32")),
    Case(28, SCALAR.format("i32"), ("run", "a.soac", "1000000000000i64"), 1, "a parameter of type i64 takes it",
         (SCALAR.format("i64"), ("run", "a.soac", "1000000000000i64"))),
    refuses(28, "2.0", "D0104", "write `2i32`", "2i32", SCALAR.format("i32")),
    refuses(28, "1", "D0104", "write `true`", "true", SCALAR.format("bool")),
    refuses(28, "1e300", "D0104", "does not fit f32", "1e30", SCALAR.format("f32")),
    refuses(28, "[[1]]", "D0104", "expected []i32, got [1][1]i32"),
    Case(28, {"a.soac": SUM, "d.npy": np_bytes([1, 2])}, ("run", "a.soac", "d.npy"), 1,
         "`soac dataset FILE --as []i32`", ({}, ("dataset", "d.npy", "--as", "[]i32"))),
    Case(29, {"a.soac": SUM, "d": binary(body=8)}, ("run", "a.soac", "d"), 1, "error[D0105]"),
    Case(29, {"a.soac": SUM, "d": binary(dims=(1 << 60,))}, ("run", "a.soac", "d"), 1, "error[D0106]"),
    Case(29, {"a.soac": SUM, "d": binary(rank=255, dims=(1,) * 255)}, ("run", "a.soac", "d"), 1, "error[D0107]"),
    Case(29, {"a.soac": SUM, "d": binary(kind=b" q99")}, ("run", "a.soac", "d"), 1, "error[D0108]"),
    Case(29, {"a.soac": SUM, "d": binary(version=9)}, ("run", "a.soac", "d"), 1, "error[D0109]"),
    Case(30, {"a.soac": SCALAR.format("bool"), "d": b"b\x02\x00bool\x07"}, ("run", "a.soac", "d"), 1, "error[D0110]"),
    Case(31, {"a.soac": SUM, "d.npy": np_bytes([{}], dtype=object)}, ("run", "a.soac", "d.npy"), 1, "error[D0111]"),
    Case(31, {"a.soac": SUM, "d.npy": np_bytes([1, 2], dtype=">i4")}, ("run", "a.soac", "d.npy"), 0, "3i32"),
    Case(32, {"a.soac": SUM, "d.npz": npz_bytes(np.zeros(10**6, np.int32))},
         ("run", "a.soac", "d.npz", "--max-input", "100000"), 1, "(`--max-input`)",
         ({}, ("run", "a.soac", "d.npz", "--max-input", "10000000"))),
    Case(33, PAIR, ("run", "a.soac", "[[1]]"), 1, "`main` takes 2 values", (PAIR, ("run", "a.soac", "[[1]]", "[1]"))),
    refuses(33, "[1] [2]", "D0113", "expected []i32; found [1]i32, [1]i32", "[1]"),
    refuses(33, "[1] junk", "D0101", "expected a value, found `junk`", "[1]"),
    refuses(33, "", "D0113", "expected []i32; found none", "[]"),
    *(
        Case(34, tuned(text), RUN, 1, "a setting is NAME=INTEGER, without spaces",
             ({"a.soac.tuning": "main.threads=1\n"}, RUN))
        for text in ("foo=", "foo=abc", "foo=-1", "foo=1e9", "foo", "= 1", "main.threads=1\nmain.threads=1")
    ),
    Case(35, tuned("main.suff_outer0=3\n", ROWS), ("run", "a.soac", "[[1]]"), 0, "did you mean `main.ys.suff_outer_0`?",
         ({"a.soac.tuning": "main.ys.suff_outer_0=3\n"}, ("run", "a.soac", "[[1]]"))),
    Case(36, tuned("main.threads=100000\n"), RUN, 0, "warning[T0104]"),
    Case(37, tuned("#" * (1 << 21)), RUN, 1, "pass --no-tuning", ({}, (*RUN, "--no-tuning"))),
    Case(38, SUM, ("run", "b.soac"), 2, "File 'b.soac' does not exist"),
    Case(38, {"product.soac": SUM}, ("run", "prodcut.soac"), 2, "Did you mean 'product.soac'?"),
    Case(38, SUM, ("check", "."), 2, "is a directory"),
    Case(38, SUM, ("rnu", "a.soac"), 2, "Did you mean `run`?", (SUM, RUN)),
    Case(38, {"-x.soac": SUM}, ("run", "-x.soac", "[1, 2]"), 0, "3i32"),
    Case(39, SUM, (*RUN, "--device", "cuda"), 3, "`--device cpu` works everywhere", (SUM, (*RUN, "--device", "cpu"))),
    Case(41, SUM, ("dataset", "--generate", "[3]i32", "-o", "none/x"), 1, "error[S0201]: cannot write to `none/x`"),
    Case(42, ROWS, ("run", "a.soac", "[[1]]", "--param", "main.suff_outer_0=5"), 2,
         "did you mean `main.ys.suff_outer_0`",
         (ROWS, ("run", "a.soac", "[[1]]", "--param", "main.ys.suff_outer_0=5"))),
    Case(42, SUM, ("bench", "a.soac", "--runs", "0"), 2, "0 is not in the range 1<=x"),
    Case(43, ROWS, ("autotune", "a.soac"), 1, "add a `-- ==` block with an input",
         ("-- ==\n-- input { [[1f32]] }\n" + ROWS, ("autotune", "--runs", "1", "a.soac"))),
    Case(43, "-- ==\n-- input { [[1f32]] }\n" + ROWS.replace("map", "assert (n > 1) map"),
         ("autotune", "--runs", "1", "a.soac"), 1, "all runs of `main` failed", also=("assertion is false",)),
    Case(43, "-- ==\n-- input { [[1f32]] } output { [2f32] }\n" + ROWS, ("autotune", "--runs", "1", "a.soac"), 70,
         "expected 2.0f32, got 1.0f32"),
    Case(44, "-- ==\n-- inptu { [1] }\n" + SUM, ("test", "a.soac"), 1, "did you mean `input`?",
         (DATA + SUM, ("test", "a.soac", "--timeout", "-1")), ("a.soac:2:4",)),  # as long as it takes
    # of a newcomer
    fails(47, "def main (val: i32) = val", "E0101", "`val` is a reserved word", "def main (value: i32) = value"),
    fails(47, 'def main = "\u65e5\u672c"[0]', "E0213", 'write `("..")[i]`', 'def main = ("\u65e5\u672c")[0]'),
    fails(47, "def main (x: i32) = x 1", "E0213", "`x` is not a function"),
    fails(47, "def main = " + "x" * 100_000, "E0201", " ... "),
    Case(47, {"lib/v.soac": "def one = 1i32", "a.soac": 'import "lib/v"\ndef main (xs: []i32) = one'},
         ("run", "lib/../a.soac", "[]"), 0, "1i32"),
    Case(47, SUM, ("bench", "a.soac"), 0, "nothing to time"),
    Case(47, "-- " + "x" * (5 << 20), CHECK, 1, "is larger than 4 MiB"),
    Case(47, SUM, ("explain", "a.soac"), 0, "main (xs: [n]i32)"),
]  # fmt: skip

ELSEWHERE = {
    7: "tests/soac/commands/test_bad_inputs.py::test_long_chain_compiles",
    20: "tests/flatten/test_goldens.py::test_budget",
    40: "tests/soac/commands/test_commands.py::test_bug_of_the_compiler",
    45: "tests/soac/commands/test_commands.py::test_interrupted_in_a_kernel",
    46: "tests/soac/commands/test_commands.py::test_bug_of_the_compiler",
}
"""Rows whose tests are elsewhere; `tests/soac/test_shortages.py` has more of 41, `tests/support/kills.py` of 45."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.row}-{case.shown[:30]}")
def test_a_bad_input_and_its_correction(command: Command, tmp_path: Path, case: Case) -> None:
    outcome = carry_out(command, tmp_path, case.files, case.words)
    assert outcome.code == case.code, outcome.err
    for part in (case.shown, *case.also):
        assert part in outcome.out + outcome.err
    if case.followed is not None:
        after = carry_out(command, tmp_path, *case.followed)
        assert after.code == 0, after.err
        assert "warning" not in after.err


def carry_out(command: Command, folder: Path, files: str | Files, words: Sequence[str]) -> Outcome:
    for name, content in ({"a.soac": files} if isinstance(files, str) else files).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    outcome = command(*words)
    assert "Traceback" not in outcome.err
    return outcome


def test_every_row_is_tested() -> None:
    assert {case.row for case in CASES} | set(ELSEWHERE) == set(range(1, 48))
    for place in ELSEWHERE.values():
        file, _, name = place.partition("::")
        assert re.search(rf"^def {name}\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
