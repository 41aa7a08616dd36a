"""Programs that were compiled before are loaded without the compiler, unless something they are made of changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import soac
from soac import api
from soac.frontend.source.text import Reach
from soac.ir.errors import RunError
from soac.kernels.devices import disk_cache as cache
from soac.kernels.devices.cpu.runtime import jit

TEXT = 'import "lib"\nentry main [n] (xs: [n]f32) (i: i64): f32 = twice (reduce (+) 0 xs) + xs[i]\n'
LIB = "def twice (x: f32) = 2 * x\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program with an import, and a cache of its own."""
    own = cache.Cache(tmp_path / "cache")
    monkeypatch.setattr(jit, "user_cache", lambda: own)
    (tmp_path / "main.soac").write_text(TEXT)
    (tmp_path / "lib.soac").write_text(LIB)
    return tmp_path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that the compiler was asked for."""
    asked: list[str] = []
    real = api.flat_prog

    def counting(text: str, file: str, reach: Reach) -> object:
        asked.append(file)
        return real(text, file, reach)

    monkeypatch.setattr(api, "flat_prog", counting)
    return asked


def value(folder: Path) -> float:
    return float(soac.load(folder / "main.soac").main(np.array([1, 2, 4], np.float32), 2))


def test_the_second_time_nothing_is_compiled(folder: Path, compiled: list[str]) -> None:
    assert [value(folder), value(folder)] == [18, 18]
    assert len(compiled) == 1


CHANGES = [("lib.soac", LIB.replace("2 *", "3 *")), ("main.soac", TEXT.replace("0", "1"))]


@pytest.mark.parametrize(("file", "text"), CHANGES)
def test_a_changed_file_is_compiled_again(folder: Path, compiled: list[str], file: str, text: str) -> None:
    before = value(folder)
    (folder / file).write_text(text)
    assert value(folder) > before
    assert len(compiled) == 2


def test_a_removed_import_is_an_error_again(folder: Path) -> None:
    value(folder)
    (folder / "lib.soac").unlink()
    with pytest.raises(soac.SoacError, match="lib"):
        value(folder)


def test_a_changed_compiler_finds_nothing(folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    value(folder)
    monkeypatch.setattr(cache, "compiler", lambda: "another")
    value(folder)
    assert len(compiled) == 2


def test_only_the_files_of_the_package_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those beside it, which are the repository's, or all packages that are installed."""
    walked: list[Path] = []
    monkeypatch.setattr(cache.os, "walk", lambda folder, followlinks: walked.append(Path(folder)) or [])
    cache.compiler.__wrapped__()
    assert walked == [Path(soac.__file__).parent]


def test_without_its_code_a_program_is_compiled_again(folder: Path, compiled: list[str]) -> None:
    value(folder)
    objects = sorted((folder / "cache").glob("*"), key=lambda file: file.stat().st_size)
    objects[-1].unlink()
    assert value(folder) == 18
    assert len(compiled) == 2


def test_failures_name_the_same_place(folder: Path) -> None:
    messages = []
    for _ in range(2):
        with pytest.raises(RunError) as found:
            soac.load(folder / "main.soac").main(np.array([1], np.float32), 5)
        messages.append(str(found.value))
    assert messages[0] == messages[1]
    assert "main.soac:2" in messages[0]


def test_the_stages_are_compiled_when_asked_for(folder: Path, compiled: list[str]) -> None:
    value(folder)
    program = soac.load(folder / "main.soac")
    assert len(compiled) == 1
    assert program.compiled.flat.functions
    assert program.compiled.warnings == program.facts.warnings
    assert len(compiled) == 2


COMPILER = (
    "soac.frontend.",
    "soac.flatten",
    "soac.kernels.schedule",
    "soac.kernels.passes",
    "soac.kernels.lanes",
    "lark",
)


def test_a_stored_program_runs_without_the_compiler(folder: Path) -> None:
    """Loading the compiler takes longer than a small program."""
    code = f"""if True:
        import sys, soac, numpy
        soac.load({str(folder / "main.soac")!r}).main(numpy.ones(3, numpy.float32), 0)
        print(*(name for name in sys.modules if name.startswith({COMPILER!r})))"""
    environment = {**os.environ, "SOAC_CACHE_DIR": str(folder / "cache")}
    printed = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert "lark" in printed[0].split()
    light = {"source", "source.text", "source.diagnostics", "parsing", "parsing.literals"}
    assert {name.removeprefix("soac.frontend.") for name in printed[1].split()} <= light
