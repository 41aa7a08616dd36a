"""`soac repl`: expressions and definitions, evaluated as they are typed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import click
import platformdirs

from ..api import Program, Source, build
from ..data.read_write import Format, write_values
from ..failures import show_diagnostics
from ..frontend.compile import compile_source, inspect_source
from ..frontend.parsing.parse import parse_module
from ..frontend.source.declarations import ValDec
from ..frontend.source.text import Reach
from ..ir.errors import CompileError, Diagnostic, SoacError
from ..kernels.devices.cpu.runtime import thread_pool
from ..lsp.analysis import analyse
from ..lsp.complete import complete
from ..source import read_source
from ..terminal import PATIENCE, waiting
from .options import FILE

FILE_NAME, RESULT = "<repl>", "it_"
HELP = """an expression   evaluates it           :type EXP    its type
a declaration   adds it (`def f x = ..`) :defs        what was added
:load FILE      adds those of a file     :clear       forgets all
:help           this                     :quit, Ctrl-D
Ctrl-C          stops what runs, or leaves the line"""


@click.command("repl")
@click.argument("file", required=False, type=FILE)
def command(file: Path | None) -> None:
    """Evaluate expressions and definitions as they are typed; those of FILE are known from the start.

    A line that is not complete goes on in the next one. What was typed is kept for the next time; Tab completes."""
    shell = Shell()
    if file is not None:
        shell.run(f":load {file}")
    with _history(shell) as keep:
        for text in _typed(sys.stdin.isatty()):
            if text.strip() in (":quit", ":q"):
                break
            _stoppable(lambda text=text: shell.run(text))
            keep()


def _stoppable(action: Callable[[], None]) -> None:
    """Does something in a thread of its own. Ctrl-C asks the kernels to stop; a second one ends the session."""
    done: Future[None] = Future()

    def settle() -> None:
        try:
            done.set_result(action())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=settle, daemon=True).start()
    try:
        wait([done])
    except KeyboardInterrupt:
        thread_pool.request_stop()
        if not wait([done], PATIENCE).done:
            click.echo("soac: waits for what runs; Ctrl-C again ends the session", err=True)
            wait([done])
    thread_pool.forget_stop()
    try:
        done.result()
    except KeyboardInterrupt:
        click.echo("soac: interrupted", err=True)


@dataclass(slots=True)
class Shell:
    """The declarations so far, as text."""

    text: str = ""

    def run(self, typed: str) -> None:
        """Does what a line says; errors are shown, and change nothing."""
        word, _, rest = typed.strip().partition(" ")
        try:
            match word:
                case "":
                    return
                case ":help" | ":h" | ":?":
                    click.echo(HELP)
                case ":type" | ":t":
                    click.echo(self.type_of(rest))
                case ":defs":
                    click.echo(self.text, nl=False)
                case ":clear":
                    self.text = ""
                case ":load" | ":l":
                    self.add(read_source(Path(rest.strip())))
                case _ if word.startswith(":"):
                    click.echo(f"there is no `{word}`; `:help` shows what there is", err=True)
                case _ if is_declaration(typed):
                    self.add(typed)
                case _:
                    self.evaluate(typed)
        except SoacError as error:
            self.show(error.diagnostics, typed)

    def add(self, declarations: str) -> None:
        text = f"{self.text}{declarations.rstrip()}\n"
        compile_source(text, FILE_NAME, Reach.PROJECT)
        self.text = text

    def evaluate(self, exp: str) -> None:
        program = self.program_of(exp)
        if program is None:
            click.echo(self.type_of(exp))
            return
        with waiting("running"):
            results = program.call(RESULT, [])
        click.echo(write_values(results, Format.TEXT).decode(), nl=False)

    def program_of(self, exp: str) -> Program | None:
        """The program that gives the value of an expression; None where that is a function, or of a type that no entry
        point gives."""
        try:
            with waiting("compiling"):
                program = build(Source(f"{self.text}entry {RESULT} =\n{exp}\n", FILE_NAME, Reach.PROJECT, "cpu"))
        except CompileError as error:
            if error.diagnostics[0].code != "E0219":
                raise
            return None
        return None if program.function(RESULT).params else program

    def type_of(self, exp: str) -> str:
        modules, found = inspect_source(f"{self.text}def {RESULT} =\n{exp}\n", FILE_NAME, Reach.PROJECT)
        if found.errors:
            raise CompileError(*found.errors)
        last = modules[-1].decs[-1]
        assert isinstance(last, ValDec)
        return found.work.show(found.typed.schemes[last.id].type)

    def show(self, diagnostics: Sequence[Diagnostic], typed: str) -> None:
        """Messages speak of the lines that were typed last."""
        before = self.text if is_declaration(typed) else f"{self.text}line\n"
        shown = f"{before}{typed.removeprefix(':type ')}\n"
        show_diagnostics(diagnostics, {FILE_NAME: shown}.get)

    def names(self, before: str) -> list[str]:
        """The names that may go on."""
        _, known = analyse(self.text, FILE_NAME)
        names = complete(known, before, self.text.count("\n") + 1) if known is not None else []
        return [name.text for name in names]


def is_declaration(typed: str) -> bool:
    with suppress(CompileError):
        return bool(parse_module(typed, FILE_NAME).decs)
    return typed.lstrip().startswith(("def ", "entry ", "type ", "module ", "open ", "import ", "local "))


def is_complete(typed: str) -> bool:
    """Whether the text parses, or is wrong before its end."""
    try:
        parse_module(typed if is_declaration(typed) else f"def {RESULT} =\n{typed}", FILE_NAME)
    except CompileError as error:
        return "found end of file" not in error.diagnostics[0].message
    return True


def _typed(is_terminal: bool) -> Iterator[str]:
    """What is typed, line by line; lines that are not complete go on until they are, or an empty one."""
    text = ""
    while True:
        try:
            line = input(("> " if not text else "| ") if is_terminal else "")
        except EOFError:
            if text:
                yield text
            return
        except KeyboardInterrupt:
            if not is_terminal:
                raise
            click.echo()
            text = ""
            continue
        text = f"{text}\n{line}" if text else line
        if not line.strip() or text.startswith(":") or is_complete(text):
            yield text
            text = ""


@contextmanager
def _history(shell: Shell) -> Iterator[Callable[[], None]]:
    """Line editing with completion and what was typed before, where Python has it; gives what saves the history."""
    try:
        import readline
    except ImportError:
        yield lambda: None
        return
    file = Path(platformdirs.user_data_dir("soac")) / "history"
    with suppress(OSError):
        readline.read_history_file(file)
    found: list[str] = []

    def names(word: str, state: int) -> str | None:
        if state == 0:
            prefix = word.rpartition(".")[0]
            names = shell.names(readline.get_line_buffer()[: readline.get_endidx()])
            full = [f"{prefix}.{name}" if prefix else name for name in names]
            found[:] = [name for name in full if name.startswith(word)]
        return found[state] if state < len(found) else None

    readline.set_completer(names)
    readline.set_completer_delims(" \t\n()[]{},+-*/%<>=!&|^\\:")
    readline.parse_and_bind("tab: complete")

    def keep() -> None:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(file)

    yield keep
