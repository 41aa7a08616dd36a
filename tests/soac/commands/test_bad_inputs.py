"""Bad inputs: each ends in a message with its code and the right exit code, none in a traceback."""

from __future__ import annotations

import io
import os
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from soac.failures import show_diagnostics
from soac.ir.errors import NOWHERE, Diagnostic, Label
from tests.support.command_line import Command

SUM = "def main [n] (xs: [n]i32): i32 = reduce (+) 0 xs\n"
PAIR = "def main [n][m] (a: [n][m]i32) (b: [m]i32): [n]i32 = map (\\r -> reduce (+) 0 (map2 (*) r b)) a\n"

# text of the program, expected code, a part of the message
WRONG_PROGRAMS = {
    "empty file": ("", "E0001", "--> a.soac:1:1"),
    "no entry point": ("def helper (x: i32) = x\n", "E0001", "--> a.soac:1:1"),
    "ends in an expression": ("def main xs = map (\\x -> x+", "E0101", "end of file"),
    "name that starts with a digit": ("def main = let 2x = 1 in 2x", "E010", ""),
    "typographic quote": ("def main = \u201cabc\u201d", "E0102", "U+201C"),
    "Greek lambda": ("def main (xs: []i32) = map (\u03bbx -> x) xs", "E0102", "\u03bb"),
    "deep parentheses": ("def main = " + "(" * 100_000 + "1" + ")" * 100_000, "E0103", "256"),
    "deep brackets": ("def main = " + "[" * 100_000, "E0103", "256"),
    "long literal": ("def main = " + "9" * 5000, "E0104", ""),
    "literal out of range": ("def main = 300i8", "E0104", "i8"),
    "misspelt name": ("def main (xs: []i32) = lenght xs", "E0201", "length"),
    "map with one argument": ("def main (xs: []i32): []i32 = map xs", "E0202", "map"),
    "map in the wrong order": ("def main (xs: []i32): []i32 = map xs (\\x -> x)", "E0202", "map"),
    "ragged literal": ("def main = [[1], [2, 3]]", "E0204", ""),
    "defined twice": ("def f = 1\ndef f = 2\ndef main = f", "E0205", "f"),
    "parameter twice": ("def main (x: i32) (x: i32) = x", "E0205", "x"),
    "recursion": ("def f (x: []i32) = if length x == 0 then x else f x[1:]\ndef main (x: []i32) = f x", "E0206", "f"),
    "missing import": ('import "nowhere"\ndef main = 1', "E0207", ""),
    "import outside": ('import "../../etc/passwd"\ndef main = 1', "E0207", ""),
    "operator of the wrong type": ("def main (xs: []i32) = reduce (\\a (b: bool) -> a) 0 xs", "E020", ""),
    "used after consumption": (
        "def main [n] (xs: *[n]i32): (i32, []i32) = let ys = xs with [0] = 1 in (xs[0], ys)", "E0209", "xs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_PROGRAMS)
def test_wrong_program(command: Command, tmp_path: Path, case: str) -> None:
    text, code, part = WRONG_PROGRAMS[case]
    (tmp_path / "a.soac").write_text(text, encoding="utf-8")
    outcome = command("check", "a.soac")
    assert outcome.code == 1, outcome.err
    assert f"error[{code}" in outcome.err
    assert part in outcome.err
    assert "Traceback" not in outcome.err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("settings", "colored"), [
    ({"TERM": "xterm"}, True), ({}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": "1"}, False),
])  # fmt: skip
def test_colour_where_the_terminal_has_it(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], colored: bool
) -> None:
    for name in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    show_diagnostics([Diagnostic("E0201", "unknown name", Label(NOWHERE, ""))])
    assert ("\x1b[" in terminal.getvalue()) is colored


FINE_PROGRAMS = {
    "byte order mark": b"\xef\xbb\xbf" + SUM.encode(),
    "CRLF": SUM.replace("=", "=\r\n ").encode(),
    "tabs, no final newline": SUM.replace("= ", "=\n\t").rstrip().encode(),
    "names of C": b"def int (x: i32) = x\ndef __global__ (a': i32) = int a'\n"
    b"def main [n] (xs: [n]i32) = __global__ (reduce (+) 0 xs)",
}


@pytest.mark.parametrize("case", FINE_PROGRAMS)
def test_fine_program(command: Command, tmp_path: Path, case: str) -> None:
    (tmp_path / "a.soac").write_bytes(FINE_PROGRAMS[case])
    assert command("run", "a.soac", "[1, 2, 3]").clean().out == "6i32\n"


def test_long_chain_compiles(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("def main (x: i32): i32 = " + "+".join(["x"] * 10_000))
    assert command("run", "a.soac", "1").clean().out == "10000i32\n"


@pytest.mark.parametrize("data", [b"def main = \xff", b"\x7fELF\x00\x00", b"def main\x00 = 1"])
def test_no_text(command: Command, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.soac").write_bytes(data)
    outcome = command("check", "a.soac")
    assert outcome.code == 1
    assert "E0002" in outcome.err


@pytest.mark.parametrize(
    "args", [("check",), ("run",), ("stubs",), ("explain", "--html", "a.html")], ids=lambda args: args[0]
)
def test_a_name_that_is_no_text(command: Command, tmp_path: Path, args: tuple[str, ...]) -> None:
    name = os.fsdecode(b"a\xff.soac")
    try:
        (tmp_path / name).write_text(SUM)
    except OSError:
        pytest.skip("names of files are text here")
    outcome = command(*args, name, *(["[1, 2]"] if args == ("run",) else []))
    assert (outcome.code, outcome.err) == (0, ""), outcome.err


def test_caret_stands_under_a_tabbed_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("def main (xs: []i32) =\n\tlenght xs\n")
    lines = command("check", "a.soac").err.splitlines()
    shown = next(k for k, line in enumerate(lines) if "lenght xs" in line)
    assert lines[shown].index("lenght") == lines[shown + 1].index("^")


# ---- data -------------------------------------------------------------------------------------------------------


def binary(
    rank: int = 1, kind: bytes = b" i32", version: int = 2, dims: tuple[int, ...] = (3,), body: int = 12
) -> bytes:
    return b"b" + bytes([version, rank]) + kind + b"".join(struct.pack("<q", d) for d in dims) + b"\x01" * body


BAD_DATA = {
    "unclosed": (b"[1, 2", "D010"),
    "two types": (b"[1, 2.0]", "D010"),
    "ragged": (b"[[1], [2, 3]]", "D010"),
    "another type": (b"[1i64, 2i64, 3i64]", "D0104"),
    "binary, cut off": (binary(body=8), "D010"),
    "binary, enormous": (binary(dims=(1 << 60,)), "D010"),
    "binary, 255 dimensions": (binary(rank=255, dims=(1,) * 255), "D010"),
    "binary, unknown type": (binary(kind=b" q99"), "D010"),
    "binary, version 9": (binary(version=9), "D010"),
    "nothing": (b"", "D0113"),
    "too much": (b"[1] [2]", "D0113"),
    "junk": (b"[1] @", "D01"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data(command: Command, tmp_path: Path, case: str) -> None:
    data, code = BAD_DATA[case]
    (tmp_path / "a.soac").write_text(SUM)
    (tmp_path / "data").write_bytes(data)
    for outcome in (command("run", "a.soac", stdin=data), command("run", "a.soac", "data")):
        assert outcome.code == 1, outcome.err
        assert f"error[{code}" in outcome.err
        assert "Traceback" not in outcome.err


def test_bad_bool(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("def main (b: bool): bool = !b")
    outcome = command("run", "a.soac", stdin=b"b\x02\x00bool\x07")
    assert outcome.code == 1
    assert "D0110" in outcome.err


def test_npy_files(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("def main [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss")
    matrix = np.array([[1, 2], [3, 4]], dtype=np.int32)
    for name, array in {"plain": matrix, "big": matrix.astype(">i4"), "fortran": np.asfortranarray(matrix)}.items():
        np.save(tmp_path / f"{name}.npy", array)
        assert command("run", "a.soac", f"{name}.npy").clean().out == "[3i32, 7i32]\n"
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    outcome = command("run", "a.soac", "objects.npy")
    assert outcome.code == 1
    assert "D0111" in outcome.err


def test_sizes_that_disagree(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(PAIR)
    outcome = command("run", "a.soac", "[[1, 2], [3, 4]]", "[1, 2, 3]")
    assert outcome.code == 1
    assert "`b` has shape [3]" in outcome.err
    assert "size m" in outcome.err


# ---- running ----------------------------------------------------------------------------------------------------

FAILURES = {
    "index": ("def main [n] (xs: [n]i32): [n]i32 =\n  map (\\i -> xs[i+1]) (iota n)", "[1, 2, 3]", "R0101", "[3]"),
    "division": ("def main [n] (xs: [n]i32): [n]i32 =\n  map (\\x -> 1 / x) xs", "[1, 0, 2]", "R0102", "zero"),
    "remainder": ("def main [n] (xs: [n]i32): [n]i32 =\n  map (\\x -> 1 % x) xs", "[1, 0, 2]", "R0102", "zero"),
    "assert": ("def main [n] (xs: [n]i32): [n]i32 =\n  map (\\x -> assert (x > 0) x) xs", "[1, 0, 2]", "R0103", ""),
    "negative size": ("def main [n] (xs: [n]i32): []i64 =\n  iota (i64.i32 xs[0])", "[-1]", "R0104", "-1"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_failure_in_a_kernel(command: Command, tmp_path: Path, case: str) -> None:
    text, data, code, part = FAILURES[case]
    (tmp_path / "a.soac").write_text(text)
    outcome = command("run", "a.soac", data)
    assert outcome.code == 1, outcome.err
    assert f"error[{code}]" in outcome.err
    assert part in outcome.err
    assert "a.soac:2:" in outcome.err


def test_lowest_divided_by_minus_one_wraps(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("def main [n] (xs: [n]i32): [n]i32 = map (/ (-1)) xs")
    assert command("run", "a.soac", "[-2147483648]").clean().out == "[-2147483648i32]\n"


def test_empty_inputs_keep_their_shape(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("def main [n][m] (xss: [n][m]i32): [m][n]i32 = map (map (+ 1)) (transpose xss)")
    assert command("run", "a.soac", "empty([0][3]i32)").clean().out == "empty([3][0]i32)\n"


# ---- the command line and tuning files ----------------------------------------------------------------------------


def test_no_such_file(command: Command) -> None:
    assert command("run", "missing.soac").code == 2
    assert command("check", ".").code == 2
    assert command("run").code == 2
    assert command("nonsense").code == 2


@pytest.mark.parametrize("name", ["-x.soac", "a b;rm.soac", "$(x).soac"])
def test_odd_file_names(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(SUM)
    assert command("run", name, "[1, 2]").clean().out == "3i32\n"


def test_program_on_stdin(command: Command) -> None:
    assert command("check", "-", stdin=SUM.encode()).code == 0


@pytest.mark.parametrize("name", ["missing.in", "missing.npy", "."])
def test_data_file_that_is_not_there(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.soac").write_text(SUM)
    outcome = command("run", "a.soac", name)
    assert outcome.code == 2
    assert f"'{name}'" in outcome.err


def test_data_from_a_pipe(command: Command, tmp_path: Path) -> None:
    """As the shell's `<(...)` gives it."""
    (tmp_path / "a.soac").write_text(SUM)
    reading, writing = os.pipe()
    os.write(writing, b"[1, 2, 3]")
    os.close(writing)
    assert command("run", "a.soac", f"/dev/fd/{reading}").clean().out == "6i32\n"
    os.close(reading)


def test_a_file_in_a_folder_that_cannot_be_read(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> list[str]:
        raise PermissionError

    monkeypatch.setattr(os, "listdir", refused)
    outcome = command("run", "missing.soac")
    assert outcome.code == 2
    assert "does not exist" in outcome.err


def test_unknown_entry(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(SUM)
    outcome = command("run", "a.soac", "-e", "mian", "[1]")
    assert outcome.code == 1
    assert "did you mean `main`" in outcome.err


def test_misspelt_parameter(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(SUM)
    outcome = command("run", "a.soac", "[1]", "--param", "suff=5")
    assert outcome.code == 2
    assert "C0101" in outcome.err


@pytest.mark.parametrize(("line", "code"), [
    ("foo=", "T0101"), ("foo=abc", "T0101"), ("foo=-1", "T0101"), ("foo=1e9", "T0101"), ("foo", "T0101"),
    ("foo=1\nfoo=1", "T0101"),
])  # fmt: skip
def test_bad_tuning_file(command: Command, tmp_path: Path, line: str, code: str) -> None:
    (tmp_path / "a.soac").write_text(SUM)
    (tmp_path / "a.soac.tuning").write_text(line + "\n")
    outcome = command("run", "a.soac", "[1]")
    assert outcome.code == 1
    assert code in outcome.err
    assert command("run", "a.soac", "[1]", "--no-tuning").code == 0


def test_tuning_file_of_another_compiler(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.fut").write_text(SUM)
    (tmp_path / "a.fut.tuning").write_text("default_threshold=2000\nmain.suff_intra_par_0=32\n")
    outcome = command("run", "a.fut", "[1]")
    assert outcome.code == 0
    assert "warning[T0102]" in outcome.err


def test_tuning_file_that_is_a_directory(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(SUM)
    (tmp_path / "a.soac.tuning").mkdir()
    outcome = command("run", "a.soac", "[1]")
    assert outcome.code == 1
    assert "T0105" in outcome.err


def test_tuning_file_that_is_not_shown(command: Command, tmp_path: Path) -> None:
    """Neither an endless device nor what a link points to is read for the message."""
    (tmp_path / "a.soac").write_text(SUM)
    (tmp_path / "secret").write_text("secret=1\n")
    (tmp_path / "link").symlink_to("secret")
    os.mkfifo(tmp_path / "pipe")
    for name in ("/dev/zero", "pipe", "link"):
        outcome = command("run", "a.soac", "[1]", "--tuning", name)
        assert outcome.code == 1
        assert "T0105" in outcome.err
        assert "secret=1" not in outcome.err


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root reads everything")
def test_tuning_file_that_is_unreadable(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(SUM)
    (tmp_path / "a.soac.tuning").write_text("")
    (tmp_path / "a.soac.tuning").chmod(0)
    assert command("run", "a.soac", "[1]").code == 1


def test_missing_device(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(SUM)
    outcome = command("run", "a.soac", "[1]", "--device", "cuda")
    assert outcome.code == 3
    assert "S0101" in outcome.err
    assert "--device cpu" in outcome.err


def test_misspelt_attribute(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("def main [n] (xs: [n]i32): i32 = #[sequential_outr] reduce (+) 0 xs")
    outcome = command("check", "a.soac").clean()
    assert "warning[W0301]" in outcome.err
    assert "sequential_outer" in outcome.err
    assert command("check", "--Werror", "a.soac").code == 1
    assert command("run", "a.soac", "[1, 2]").clean().out == "3i32\n"
