"""The machines that soac runs on, and what is said on others."""

from __future__ import annotations

import os
import sys

SYSTEMS = ("linux", "darwin")
PROCESSORS = ("x86_64", "aarch64", "arm64")


def refused(system: str, processor: str) -> str | None:
    """Why soac does not run here; None where it does."""
    if system in SYSTEMS and processor in PROCESSORS:
        return None
    rest = ": the Linux of WSL 2 runs it" if system == "win32" else ""
    return f"soac runs on Linux and macOS, on x86-64 and aarch64; this is {system} on {processor}{rest}"


def refused_here() -> str | None:
    """As `refused`, for this machine."""
    if sys.platform == "win32":
        return refused(sys.platform, os.environ.get("PROCESSOR_ARCHITECTURE", "an unknown processor").lower())
    return refused(sys.platform, os.uname().machine)
