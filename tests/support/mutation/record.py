"""Which tests run which lines: a pytest plugin, `pytest -n 0 -p tests.support.mutation.record`.

Modules of the compiler are compiled with a mark before each statement, which costs little beside a tracer. Writes the
lines of each test (of "", what imports run), and seconds of processor time of the tests that pass, into the folder that
$SOAC_MUTATION_RECORD names.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import time
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
LINES, SECONDS = "lines.json", "seconds.json"
FOLDERS = ("flatten", "ir", "kernels")
MARKS = "__lines_that_ran__"
"""The name under which marked code finds the marks."""


class Marks:
    """A byte for each statement: whether it ran. `places`: file and lines of each."""

    def __init__(self) -> None:
        self.ran = bytearray(1 << 18)
        self.places: list[tuple[str, range]] = []

    def taken(self) -> dict[str, list[int]]:
        """The lines that ran since the last time, by file."""
        found: dict[str, set[int]] = {}
        at = self.ran.find(1)
        while at >= 0:
            file, lines = self.places[at]
            found.setdefault(file, set()).update(lines)
            self.ran[at] = 0
            at = self.ran.find(1, at)
        return {file: sorted(lines) for file, lines in found.items()}

    def mark(self, file: str, stms: list[ast.stmt]) -> list[ast.stmt]:
        """The statements, each behind its mark."""
        marked: list[ast.stmt] = []
        for stm in stms:
            is_said = isinstance(stm, ast.Expr) and isinstance(stm.value, ast.Constant)
            if not is_said and not (isinstance(stm, ast.ImportFrom) and stm.module == "__future__"):
                (own,) = ast.parse(f"{MARKS}[{len(self.places)}] = 1").body
                marked.append(ast.copy_location(own, stm))
                self.places.append((file, range(stm.lineno, _end(stm) + 1)))
            for part in (stm, *getattr(stm, "handlers", ()), *getattr(stm, "cases", ())):
                for name in ("body", "orelse", "finalbody"):
                    if inner := getattr(part, name, None):
                        setattr(part, name, self.mark(file, inner))
            marked.append(stm)
        return marked


def _end(stm: ast.stmt) -> int:
    """The last line that is run with a statement: of a choice those of all cases, of others with lists their heads."""
    match stm:
        case ast.Match():
            return stm.end_lineno or stm.lineno
        case ast.If() | ast.While() | ast.For() | ast.With() | ast.Try() | ast.FunctionDef() | ast.ClassDef():
            return max(stm.lineno, stm.body[0].lineno - 1)
        case _:
            return stm.end_lineno or stm.lineno


def load_changed(change: Callable[[str, Any], object]) -> None:
    """From now on modules of FOLDERS are loaded with their syntax trees changed; `change` is given the file, too."""
    usual = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        path = Path(self.get_filename(fullname)).resolve()
        file = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""
        if file.partition("/")[0] not in FOLDERS:
            return usual(self, fullname)
        tree = ast.parse(path.read_bytes())
        change(file, tree)
        return compile(ast.fix_missing_locations(tree), path, "exec")

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


class Recorder:
    """The lines of one run, by the test that runs them."""

    def __init__(self, out: Path) -> None:
        self.out, self.marks = out, Marks()
        self.took: dict[str, float] = {}
        self.failed: set[str] = set()
        self.lines: dict[str, dict[str, list[int]]] = {}
        setattr(builtins, MARKS, self.marks.ran)
        load_changed(lambda file, tree: setattr(tree, "body", self.marks.mark(file, tree.body)))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.lines[""] = self.lines.get("") or self.marks.taken()
        start = time.process_time()
        try:
            return (yield)
        finally:
            self.took[item.nodeid] = round(time.process_time() - start, 3)
            self.lines[item.nodeid] = self.marks.taken()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        passed = {name: took for name, took in self.took.items() if name not in self.failed}
        (self.out / LINES).write_text(json.dumps(self.lines), encoding="utf-8")
        (self.out / SECONDS).write_text(json.dumps(passed, indent=0), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(Path(os.environ["SOAC_MUTATION_RECORD"])))
