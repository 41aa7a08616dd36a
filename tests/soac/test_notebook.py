"""Cells of notebooks that are programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from soac.notebook import run_cell


class Shell:
    """The part of a notebook's shell that a cell uses."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    def push(self, names: dict[str, Any]) -> None:
        self.names |= names


def test_a_cell_defines_functions() -> None:
    shell = Shell()
    program = run_cell(shell, "prog", "entry twice (x: i32): i32 = 2 * x", "cell-1.soac")
    assert shell.names["prog"] is program
    assert shell.names["twice"](4) == 8


@pytest.mark.parametrize(("line", "text", "says"), [
    ("", "entry twice = lenght", "cell-1.soac:1:15"), ("a b", "", "write `%%soac [NAME] [--device cuda]`"),
    ("--device gpu", "entry f (x: i32) = x", "there are: `cpu`, `cuda`"),
])  # fmt: skip
def test_a_wrong_cell_shows_what_is_wrong(capsys: pytest.CaptureFixture[str], line: str, text: str, says: str) -> None:
    assert run_cell(Shell(), line, text, "cell-1.soac") is None
    assert says in capsys.readouterr().err


@pytest.fixture
def ipython() -> Iterator[Any]:
    testing = pytest.importorskip("IPython.core.interactiveshell")
    shell = testing.InteractiveShell.instance()
    shell.run_line_magic("load_ext", "soac")
    yield shell
    testing.InteractiveShell.clear_instance()


COMPLETED = {"prog.tw": "twice", "prog['tw": "twice", "twice(x": "x="}


def test_in_ipython(ipython: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = "-- | Twice.\nentry twice (x: i32): i32 = 2 * x\nentry at [n] (xs: [n]i32) = xs[5]"
    ran = ipython.run_cell(f"%%soac prog\n{text}")
    assert ran.success
    assert "twice(x: i32)" in ipython.display_formatter.format(ran.result)[0]["text/html"]
    assert ipython.run_cell("twice(4)").result == 8
    with pytest.importorskip("IPython.core.completer").provisionalcompleter():
        found = {text: [one.text for one in ipython.Completer.completions(text, len(text))] for text in COMPLETED}
    assert all(wanted in found[text] for text, wanted in COMPLETED.items()), found
    capsys.readouterr()
    assert not ipython.run_cell("at([1])").success
    shown = capsys.readouterr()
    assert "R0101" in shown.out + shown.err
    assert "native.py" not in shown.out + shown.err
