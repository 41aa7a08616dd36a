"""Notebooks: `%load_ext soac`, then cells that are programs.

    %%soac [NAME] [--device cuda]
    entry main [n] (xs: [n]f32): f32 = reduce (+) 0 xs

The entry points become functions of the notebook, and NAME, if there is one, the program. Mistakes are shown as the
command line shows them.
"""

from __future__ import annotations

import shlex
import sys
from itertools import count
from pathlib import Path
from typing import Any

from .api import Program, compile
from .checked_settings import misused
from .frontend.source.diagnostics import render
from .ir.errors import SoacError, more_about


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext soac`."""
    numbers = count(1)

    def cell(line: str, text: str) -> Program | None:
        return run_cell(shell, line, text, f"cell-{next(numbers)}.soac")

    cell.__doc__ = __doc__
    shell.register_magic_function(cell, "cell", "soac")
    shell.set_custom_exc((SoacError,), show_error)


def run_cell(shell: Any, line: str, text: str, file: str) -> Program | None:
    """The program of a cell, which the notebook displays; its functions are put into the notebook."""
    try:
        name, device = parsed_line(line)
        program = compile(text, file, device=device)
    except SoacError as error:
        show(error, {file: text})
        return None
    shell.push({entry: program[entry] for entry in program.entries})
    if name is not None:
        shell.push({name: program})
    return program


def parsed_line(line: str) -> tuple[str | None, str]:
    """What stands behind `%%soac`: a name for the program, and a device."""
    words = shlex.split(line)
    device = "cpu"
    if "--device" in words[:-1]:
        at = words.index("--device")
        device = words[at + 1]
        del words[at : at + 2]
    if len(words) > 1 or not all(word.isidentifier() for word in words):
        text = f"`%%soac {line}`"
        raise misused(text, "write `%%soac [NAME] [--device cuda]`")
    return (words[0] if words else None), device


def show(error: SoacError, texts: dict[str, str]) -> None:
    for diagnostic in error.diagnostics:
        print(render(diagnostic, texts.get, False).rstrip("\n"), file=sys.stderr)
    print(more_about(error.diagnostics), file=sys.stderr)


def show_error(
    shell: Any, kind: type[BaseException], error: SoacError, trace: Any, tb_offset: int | None = None
) -> None:
    """An error of a call, with the lines of the notebook that led to it and none of soac's."""
    inside, at = str(Path(__file__).parent), trace
    while at.tb_next is not None and not at.tb_next.tb_frame.f_code.co_filename.startswith(inside):
        at = at.tb_next
    at.tb_next = None
    shell.showtraceback((kind, error.with_traceback(trace), trace), tb_offset=tb_offset)
