"""The command line as a reader: words in, an exit code and messages out, in this process and an empty folder."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from random import Random

import click

from soac.cli import COMMANDS, LazyGroup, cli, run_cli

RUN_IN_PROCESS = ("run", "dataset", "check", "explain", "dev", "benchcmp", "compile", "devices")
"""Commands without processes of their own and without long runs."""

PROGRAM = "def main [n] (xs: [n]i32): i32 = reduce (+) 0 xs\nentry two [n][m] (a: [n][m]f32) = map (map (* 2)) a\n"
FILES = {
    "a.soac": PROGRAM.encode(),
    "b.soac": b"def main = lenght 1",
    "a.soac.tuning": b"main.red.suff_outer_0=4\n",
    "a.in": b"[1, 2, 3]",
    "times": b'{"a.soac": {"main": [1, 2]}}',
}
WORDS = (
    *FILES, "-", "--", ".", "[1, 2]", "5i64", "[3]f32", "[2][0]i8", "i32=0:9", "[]f64", "main", "two", "cpu", "core",
    "flat", "fuse", "llvm", "cuda", "text", "1", "0", "-1", "1e400", "99999999999999999999", "nan", "x=1", "",
    "main.threads=2",
    "\u00e9\u0301", "a\nb", "%s{0}", "\ud800", "--help", "a" * 5000, "~", "$(x)", "=", "-b", "-e", "-g",
)  # fmt: skip
SEPARATOR = b"\0"


def words_of(source: Random) -> bytes:
    """A command with options that it shows, or nearly, and operands: hidden ones confine the process that has them."""
    name = source.choice(RUN_IN_PROCESS)
    command = LazyGroup.get_command(cli, click.Context(cli), name)  # type: ignore[arg-type]
    assert command is not None
    assert name in COMMANDS
    words = [name]
    if isinstance(command, click.Group):
        words.append(source.choice(list(command.commands)))
        command = command.commands[words[-1]]
    words += ["a.soac"] if source.random() < 0.6 and name != "dataset" else []
    shown = [param for param in command.params if not getattr(param, "hidden", False)]
    options = [option for param in shown for option in param.opts if option.startswith("-")]
    for _ in range(source.randrange(5)):
        kind = source.random()
        if kind < 0.5 and options:
            words.append(source.choice(options))
        words.append(source.choice(WORDS))
        if kind > 0.9:
            words[-1] = words[-1][: source.randrange(4)] + source.choice(WORDS)
    return SEPARATOR.join(word.encode("utf-8", "surrogatepass") for word in words)


def run_line(data: bytes) -> object:
    """The exit code; a bug of the compiler is a fault."""
    for path in Path().iterdir():
        if path.is_file() and path.name not in FILES:
            path.unlink()
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    words = [word.decode("utf-8", "surrogateescape") for word in data.split(SEPARATOR)]
    kept = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    sys.stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    try:
        code = run_cli(words)
        sys.stderr.flush()
        said = sys.stderr.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
    assert code in (0, 1, 2, 3), said
    assert "Traceback" not in said, said
    return code
