"""The command line: `soac COMMAND ..`. A table of commands, each loaded when called, and what a failure ends with.

Exit codes: 0 done, 1 the program, its data or its tuning file is wrong, 2 wrong usage, 3 something is missing on this
machine, 70 a bug of the compiler, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import warnings
from collections.abc import Sequence
from typing import Any

import click

from .ir.collector import paused_collector
from .ir.nearest import nearest
from .version import __version__

INTERRUPTED = 130
STACK = 256 << 20  # bytes of the thread that runs a command
POOL = ".kernels.devices.cpu.runtime.thread_pool"  # runs kernels, once it is loaded
GRACE = 1.0  # seconds that an interrupted command has to end by itself
SESSIONS = frozenset({"repl"})  # commands that Ctrl-C does not end: they have threads for what it is to stop

# name, also that of the module in soac/commands → the line that `soac --help` shows
COMMANDS = {
    "run": "Run an entry point on values.",
    "test": "Run the `-- ==` test blocks of programs.",
    "bench": "Time programs on the data sets of their test blocks.",
    "benchcmp": "Compare two files of times that `soac bench --json` wrote.",
    "dataset": "Make, convert and compare data files.",
    "fmt": "Give programs one layout.",
    "check": "Check a program; never runs it.",
    "stubs": "Write what type checkers need of programs that Python imports.",
    "compile": "Write kernels, host program and manifest to a directory.",
    "build": "Write a library for C, C++, Rust or Python.",
    "autotune": "Time every version and choose the thresholds.",
    "explain": "Show the versions of a program, and which run on given data.",
    "lsp": "Serve an editor: diagnostics, types, definitions, completion, renaming.",
    "errors": "Say what the codes of messages mean, and what to do.",
    "dev": "Show a program after a stage or a pass.",
    "new": "Make a project: a program with tests, ready to run.",
    "repl": "Evaluate expressions and definitions as they are typed.",
    "cache": "Show or clear the cache of compiled code.",
    "completion": "Print or install completion for a shell.",
    "devices": "List the devices of this machine.",
    "doctor": "Print versions and settings for a bug report.",
}


class LazyGroup(click.Group):
    """A group that imports a command only when it is called; the help page needs no import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        with paused_collector():
            return importlib.import_module(f".commands.{cmd_name}", __package__).command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            near = nearest(args[0], COMMANDS)
            also = f" Did you mean `{near}`?" if near else ""
            raise click.UsageError(f"There is no command `{args[0]}`.{also}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="soac")
def cli() -> None:
    """A functional array compiler with incremental flattening."""


def main(args: Sequence[str] | None = None) -> None:
    """The entry point of the command `soac`; ends the process.

    The command runs in a thread of its own. This one waits for Ctrl-C, which Python would not deliver while a kernel
    runs, and then asks the kernels to stop."""
    code = Code()
    words = sys.argv[1:] if args is None else list(args)
    warnings.showwarning = _show_warning
    threading.stack_size(STACK)
    if words[:1] and words[0] in SESSIONS:
        sys.exit(run_cli(words))
    try:
        threading.Thread(target=_settle, args=(code, words), daemon=True).start()
        code.result()
    except RuntimeError as error:  # no room for the stack of a thread
        sys.exit(importlib.import_module(".failures", __package__).report(error, words))
    except KeyboardInterrupt:
        _interrupt(code)
    sys.exit(code.result())


def _show_warning(message: Warning | str, *_place: Any, **_more: Any) -> None:
    """One line for the user (a cache that cannot be used), without the place in the compiler."""
    click.echo(f"soac: warning: {message}", err=True)


class Code:
    """The exit code of a command in another thread, once it has ended."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.value: int | BaseException = 0

    def result(self, seconds: float | None = None) -> int:
        """Waits for it; raises TimeoutError, or what ended the command."""
        if not self.ended.wait(seconds):
            raise TimeoutError
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


def _settle(code: Code, words: list[str]) -> None:
    """Runs a command line; `code` is settled whatever happens, for the process waits for it."""
    try:
        code.value = run_cli(words)
    except BaseException as error:
        code.value = error
    code.ended.set()


def _interrupt(code: Code) -> None:
    """Stops running kernels, so that the command can end by itself; ends the process if it does not."""
    pool = sys.modules.get(f"{__package__}{POOL}")
    stop = getattr(pool, "request_stop", None)  # none while the module is being imported: then nothing runs
    if stop is not None:
        stop()
    try:
        code.result(GRACE)
    except (TimeoutError, KeyboardInterrupt):
        _say_interrupted()
        os._exit(INTERRUPTED)


def _say_interrupted() -> None:
    click.echo("soac: interrupted", err=True)


def run_cli(args: list[str]) -> int:
    """Runs a command line; the exit code. Every failure is reported on stderr, none as a traceback."""
    try:
        code = cli.main(args, prog_name="soac", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _say_interrupted()
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click itself leaves with `SystemExit` when a command finds its pipe closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to be flushed at exit
        return 0
    except Exception as error:
        return importlib.import_module(".failures", __package__).report(error, args)
