"""The examples, built and run as their first lines say."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.library_clients import built

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SHOWN = """\
22 28
40 52
22 28
40 52
R0105: invalid size: the shapes of the arguments do not fit `main (xss: [n][p]f32) (yss: [p][m]f32) : [n][m]f32`
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
def test_cpp(matmul: Path) -> None:
    build = matmul / "build"
    for command in (["-S", EXAMPLES / "cpp", "-B", build, f"-Dmatmul_DIR={matmul}"], ["--build", build]):
        subprocess.run(["cmake", *command], check=True, capture_output=True)
    assert subprocess.check_output([build / "product"], text=True) == SHOWN


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rustc") is None, reason="no Rust compiler")
def test_rust(matmul: Path) -> None:
    source, made = EXAMPLES / "rust" / "main.rs", matmul / "product"
    subprocess.run(["rustc", "-O", "-L", f"native={matmul}", source, "-o", made], check=True, capture_output=True)
    assert subprocess.check_output([made], text=True) == SHOWN


@pytest.fixture(scope="module")
def matmul(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of the product."""
    folder = tmp_path_factory.mktemp("matmul")
    built(ROOT / "programs" / "matmul.soac", folder, ["native"])
    return folder
