"""What a report of a compiler bug needs: source, the pass that failed and the program before it, versions, log."""

from __future__ import annotations

import json
import platform
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from .frontend.compile import compile_text
from .ir.errors import SoacError
from .ir.machine import CPU, Mode
from .pipeline import PASSES, all_stages
from .source import read_source
from .stages import show_after
from .version import __version__

PACKAGES = ("lark", "numpy", "click", "llvmlite", "optuna", "rich", "platformdirs", "pycuda", "nvidia-cuda-nvrtc")


@dataclass(frozen=True, slots=True)
class Replay:
    """The pass that fails on a program, and the text of the program before it."""

    failing: str
    before: str


def replay(source: Path) -> Replay | None:
    """Runs the passes on `source` again, with the checker in between; None if none fails."""
    failing, before = PASSES[0], ""
    try:
        core = compile_text(read_source(source), str(source))
        for name, after in all_stages(core, Mode.INCREMENTAL, CPU, True, CPU):
            failing, before = PASSES[PASSES.index(name) + 1], show_after(after)
    except SoacError:
        return None
    except Exception:
        return Replay(failing, before)
    return None


def write_bundle(trace: str, args: Sequence[str]) -> tuple[str, str | None]:
    """Writes a directory `soac-ice-....` below the current one: its name, and the pass that failed, if found."""
    bundle = Path(tempfile.mkdtemp(prefix="soac-ice-", dir="."))
    try:
        return bundle.name, _filled(bundle, trace, args)
    except OSError:
        shutil.rmtree(bundle, ignore_errors=True)
        raise


def _filled(bundle: Path, trace: str, args: Sequence[str]) -> str | None:
    """Writes the files of a bundle; the pass that failed, if found."""
    (bundle / "log.txt").write_text(trace, encoding="utf-8")
    (bundle / "versions.json").write_text(json.dumps(versions(), indent=2) + "\n", encoding="utf-8")
    (bundle / "command.json").write_text(json.dumps(list(args)) + "\n", encoding="utf-8")
    failing = None
    for source in (Path(arg) for arg in args if arg.endswith(".soac")):
        if source.is_file():
            (bundle / source.name).write_bytes(source.read_bytes())
            found = replay(source)
            if found is not None:
                failing = found.failing
                (bundle / f"before-{failing}.soir").write_text(found.before, encoding="utf-8")
    return failing


def versions() -> dict[str, str]:
    """Versions of soac, of Python and of the packages it uses; `absent` where one is not installed."""
    return {
        "soac": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{package: _version_of(package) for package in PACKAGES},
    }


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"
