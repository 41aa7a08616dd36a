"""Programs that Python imports."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import soac


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    soac.install_importer()
    soac.install_importer()
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_a_program_is_a_module(folder: Path) -> None:
    (folder / "twofold.soac").write_text("type p = {a: i32}\nentry twice (x: i32): p = {a = 2 * x}")
    module = importlib.import_module("twofold")
    assert module.twice(2) == module.p(4)
    assert module.program.source.file == str(folder / "twofold.soac")
    assert module.__all__ == ["p", "twice", "program"]


def test_in_a_package_and_after_modules_of_python(folder: Path) -> None:
    (folder / "pack").mkdir()
    (folder / "pack" / "__init__.py").touch()
    (folder / "pack" / "inner.soac").write_text("entry one (x: i32): i32 = x")
    assert importlib.import_module("pack.inner").one(1) == 1
    (folder / "both.soac").write_text("entry one (x: i32): i32 = x")
    (folder / "both.py").write_text("x = 1")
    assert importlib.import_module("both").x == 1
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("pack.nothing")


def test_a_wrong_program_is_an_error(folder: Path) -> None:
    (folder / "wrongone.soac").write_text("entry one = lenght")
    with pytest.raises(soac.CompileError, match="E0201"):
        importlib.import_module("wrongone")
