"""Shared libraries, by a linker of this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

LINKERS = {
    "x86_64": ("x86_64-linux-gnu-gcc", "cc", "gcc", "clang"),
    "aarch64": ("aarch64-linux-gnu-gcc", "cc", "gcc", "clang"),
}
"""What links for a machine, the first that is there and does."""


def shared(static: Path, machine: str) -> Path | str:
    """The shared library beside a static one; in words why there is none. It is never unloaded: threads wait in it."""
    output = static.with_suffix(".so")
    whole = ("-Wl,--whole-archive", str(static), "-Wl,--no-whole-archive")
    how = ("-shared", "-o", str(output), *whole, f"-Wl,-soname,{output.name}", "-Wl,-z,nodelete", "-Wl,--no-undefined")
    said = "no C compiler is here to call a linker (cc, gcc or clang)"
    for linker in LINKERS[machine]:
        if path := shutil.which(linker):
            done = subprocess.run([path, *how, "-lm", "-lpthread"], capture_output=True, text=True, check=False)
            if not done.returncode:
                return output
            said = f"`{linker}` does not link for {machine}: {(done.stderr.splitlines() or [''])[0]}"
    return said
