"""Stubs of programs, and a client that type checkers accept and refuse."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import Command

ROOT = Path(__file__).parents[3]
PROGRAM = r"""
type point = {x: f32, y: [2]f32}
type shape = #circle f32 | #rect f32 f32 | #none
-- | The area "of" a \shape.
entry area (s: shape) (class: bool): f32 = 1
entry point [n] (ps: [n]{a: i64, b: f64}) (t: (i32, [n]f32)): (shape, i64, []f32) = (#none, n, t.1)
entry out (out: i32): {x: f32, y: [2]f32} = {x = 1, y = [1, 2]}
"""
STUB = """\
class circle(NamedTuple):
    value: np.float32

class none(NamedTuple):
    pass

class rect(NamedTuple):
    value0: np.float32
    value1: np.float32

class a_b(NamedTuple):
    a: np.int64
    b: np.float64

class a_b_array(NamedTuple):
    a: NDArray[np.int64]
    b: NDArray[np.float64]

class point2(NamedTuple):
    x: np.float32
    y: NDArray[np.float32]

def area(s: circle | none | rect | Mapping[str, Any] | str, class_: bool | np.bool_, *, out: Any = None) -> np.float32:
    \"\"\"The area 'of' a \\\\shape.\"\"\"
"""
GOOD = """\
import numpy as np
from numpy.typing import NDArray

import soac

soac.install_importer()

import shapes

area: np.float32 = shapes.area(shapes.circle(np.float32(2)), True)
area = shapes.area({"rect": (2, 3)}, class_=False)
shape, n, ys = shapes.point([{"a": 1, "b": 2}], (1, [2]))
if isinstance(shape, shapes.circle):
    radius: np.float32 = shape.value
size: NDArray[np.float32] = shapes.out(1).y


@soac.function
def twice(xs: NDArray[np.float32]) -> NDArray[np.float32]:
    r\"\"\"entry twice [n] (xs: [n]f32): [n]f32 = map (\\x -> 2 * x) xs\"\"\"
    raise NotImplementedError


zs: NDArray[np.float32] = twice(ys)
with shapes.program.settings(threads=1) as prog:
    print(area, n, zs, prog.params, soac.vmap(twice)([zs]), soac.autotune)
"""
BAD = ("shapes.area(1.5, True)", 'shapes.out("a")', "a: str = shapes.out(1)", "shapes.aera", "twice(zs, 5)")


@pytest.fixture
def folder(tmp_path: Path, command: Command) -> Path:
    (tmp_path / "shapes.soac").write_text(PROGRAM)
    assert command("stubs", str(tmp_path / "shapes.soac")).out == f"wrote {tmp_path / 'shapes.pyi'}\n"
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(GOOD + "\n".join(BAD) + "\n")
    return tmp_path


def test_stub(folder: Path, command: Command) -> None:
    text = (folder / "shapes.pyi").read_text()
    assert STUB in text
    assert "def out(out: int | np.integer[Any]) -> point2: ..." in text
    assert command("stubs", "-o", "-", str(folder / "shapes.soac")).out == text


def test_what_cannot_be_written(folder: Path, command: Command) -> None:
    file = str(folder / "shapes.soac")
    assert "S0201" in command("stubs", "-o", str(folder / "none" / "a.pyi"), file).err
    assert "one file at a time" in command("stubs", "-o", "-", file, file).err


@pytest.mark.slow
def test_the_client_runs(folder: Path) -> None:
    ran = subprocess.run([sys.executable, "good.py"], cwd=folder, env=environment(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("1.0 1 [4.]")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def checker(name: str) -> list[str]:
    """A type checker of this Python, if there is one."""
    if name == "mypy":
        if importlib.util.find_spec("mypy") is None:
            pytest.skip("mypy is not installed")
        return [sys.executable, "-m", "mypy"]
    beside = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if beside is None:
        pytest.skip(f"{name} is not installed")
    return [beside, "--pythonpath", sys.executable]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mypy", "pyright", "basedpyright"])
def test_type_checkers(folder: Path, name: str) -> None:
    where = {**environment(), "MYPYPATH": str(ROOT)}
    (folder / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{ROOT}"], "typeCheckingMode": "standard"}}')

    def said(file: str) -> tuple[int, str]:
        ran = subprocess.run([*checker(name), file], cwd=folder, env=where, capture_output=True, text=True)
        return ran.returncode, ran.stdout

    code, text = said("good.py")
    assert code == 0, text
    _, text = said("bad.py")
    first = len(GOOD.splitlines()) + 1
    assert all(f"bad.py:{first + k}" in text for k in range(len(BAD))), text
