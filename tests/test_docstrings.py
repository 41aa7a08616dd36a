"""Every public function and class of the packages that are done has a docstring."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DONE = ("flatten", "ir", "kernels")


def without(path: Path) -> list[str]:
    """The public functions and classes of a file that have no docstring."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, kinds)]
    return [node.name for node in found if not node.name.startswith("_") and ast.get_docstring(node) is None]


@pytest.mark.parametrize("package", DONE)
def test_public_functions_and_classes_have_docstrings(package: str) -> None:
    paths = sorted((ROOT / package).rglob("*.py"))
    assert [f"{path.relative_to(ROOT)}: {name}" for path in paths for name in without(path)] == []
