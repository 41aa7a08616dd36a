"""The house keeps its order: imports go down, no code is evaluated, what the README prints is what CI runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = ("ir", "frontend", "flatten", "kernels", "autotune")  # each may import those before it
SOURCES = [path for floor in (*FLOORS, "soac") for path in sorted((ROOT / floor).glob("**/*.py"))]
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "yaml"}


def floor_of(path: Path) -> str:
    """The floor a file belongs to; `soac` for the face."""
    return path.resolve().relative_to(ROOT.resolve()).parts[0]


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and module of every import; a relative one as `.`, `..ir.core`, ..."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name


@pytest.mark.parametrize("path", [p for p in SOURCES if floor_of(p) != "soac"], ids=lambda p: f"{floor_of(p)}/{p.name}")
def test_imports_go_down(path: Path) -> None:
    below = FLOORS[: FLOORS.index(floor_of(path))]
    for line, module in imports_of(path):
        where = f"{path.name}:{line} imports {module}"
        assert module.split(".")[0] not in ("soac", *FLOORS), f"{where}: inside, imports are relative"
        if module.startswith(".."):
            assert module.removeprefix("..").split(".")[0] in below, f"{where}: imports go down"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: f"{floor_of(p)}/{p.name}")
def test_nothing_is_evaluated(path: Path) -> None:
    """No eval, exec or pickle anywhere: a program is data until it is run."""
    for line, module in imports_of(path):
        assert module.split(".")[0] not in FORBIDDEN_MODULES, f"{path.name}:{line} imports {module}"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            own = node.func.id == "compile" and floor_of(path) == "soac"  # `soac.compile` takes the text of a program
            assert own or node.func.id not in FORBIDDEN_CALLS, f"{path.name}:{node.lineno} calls {node.func.id}"


def test_every_floor_is_linked() -> None:
    for floor in FLOORS:
        link = ROOT / "soac" / floor
        assert link.is_symlink()
        assert link.readlink() == Path("..") / floor


def test_ci_runs_the_command_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    last_line = (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().splitlines()[-1]
    assert last_line.endswith("pytest")
    assert last_line in map(str.strip, readme.splitlines())
