"""Published benchmarks: the NumPy reference and every version of ours against the published results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import soac
from benchmarks.peers.on_numpy import finance, flat, optionpricing
from soac.data.read_write import read_values
from soac.versions import versions_of
from tests.support.numpy_references import in_double

ROOT = Path(__file__).parents[2]
TOLERANCE = 0.002


def values(path: Path) -> list[np.ndarray | np.generic]:
    return read_values(path.read_bytes(), str(path), None)


def close(got: object, expected: object) -> bool:
    return np.allclose(np.asarray(got, np.float64), np.asarray(expected, np.float64), rtol=TOLERANCE, atol=1e-6)


@pytest.mark.parametrize("size", ["small", "medium"])
def test_reference_of_locvolcalib(published: Path, size: str) -> None:
    outer, nx, ny, nt, *market = values(published / "LocVolCalib" / f"{size}.in")
    got = finance.locvolcalib(*map(int, (outer, nx, ny, nt)), *map(float, market))
    (expected,) = values(published / "LocVolCalib" / f"{size}.out")
    assert np.max(np.abs(got - expected)) < 2e-6


@pytest.mark.parametrize("size", ["16", "64"])
def test_reference_of_lud(published: Path, size: str) -> None:
    (matrix,) = values(published / "lud" / f"{size}.in")
    (expected,) = values(published / "lud" / f"{size}.out")
    assert close(flat.lud(np.asarray(matrix, np.float64)), expected)


@pytest.mark.parametrize(("program", "folder", "size"), [
    ("locvolcalib", "LocVolCalib", "small"),
    ("locvolcalib", "LocVolCalib", "medium"),
    ("lud", "lud", "16"),
    ("lud", "lud", "64"),
])  # fmt: skip
def test_every_version(published: Path, program: str, folder: str, size: str) -> None:
    prog = soac.load(ROOT / "programs" / f"{program}.soac")
    args = [arg.astype(np.int64) if arg.dtype.kind == "i" else arg for arg in values(published / folder / f"{size}.in")]
    (expected,) = values(published / folder / f"{size}.out")
    assert close(prog.main(*args), expected)
    for site, version, forced in versions_of(prog.compiled.flat):
        if site.startswith("main."):
            (got,) = prog.call("main", args, forced=forced)
            assert close(got, expected), f"{site}={version}"


# ---- option pricing -------------------------------------------------------------------------------------------------

OPTIONS = ROOT / "programs" / "optionpricing.soac"


@pytest.mark.parametrize("size", ["small", "medium"])
def test_reference_of_optionpricing(published: Path, size: str) -> None:
    args = map(in_double, values(published / "OptionPricing" / f"{size}.in"))
    (expected,) = values(published / "OptionPricing" / f"{size}.out")
    assert close(optionpricing.optionpricing(*args), expected)


def test_optionpricing_from_a_file(published: Path) -> None:
    """The published file as it is, with its comments, on stdin."""
    with (published / "OptionPricing" / "small.in").open("rb") as data:
        done = subprocess.run(
            [sys.executable, "-m", "soac", "run", "--no-tuning", str(OPTIONS)],
            stdin=data,
            capture_output=True,
            cwd=ROOT,
        )
    assert done.returncode == 0, done.stderr.decode()
    (expected,) = values(published / "OptionPricing" / "small.out")
    assert close(read_values(done.stdout, "stdout", None)[0], expected)


def test_every_version_of_optionpricing(published: Path) -> None:
    prog = soac.load(OPTIONS)
    args = values(published / "OptionPricing" / "medium.in")
    (expected,) = values(published / "OptionPricing" / "medium.out")
    for site, version, forced in versions_of(prog.compiled.flat):
        if site.startswith("main."):
            (got,) = prog.call("main", args, forced=forced)
            assert close(got, expected), f"{site}={version}"
