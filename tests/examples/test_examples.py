"""The examples, built and run as their first lines say."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.library_clients import built

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="libraries are for Linux")
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


@pytest.mark.slow
@pytest.mark.skipif(None in (shutil.which("gcc"), shutil.which("pkg-config")), reason="no C compiler or pkg-config")
def test_c_by_pkg_config(matmul: Path) -> None:
    """The header is strict C99; the flags are enough."""
    source, made, here = matmul / "one.c", matmul / "one", {**os.environ, "PKG_CONFIG_PATH": str(matmul)}
    source.write_text("#include <matmul.h>\nint main(void) { return matmul_setting_count() == 0; }\n")
    flags = subprocess.check_output(["pkg-config", "--cflags", "--libs", "--static", "matmul"], text=True, env=here)
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-Wl,-rpath,{matmul}"]
    subprocess.run(["gcc", *strict, source, "-o", made, *flags.split()], check=True)
    subprocess.run([made], check=True)
