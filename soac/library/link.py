"""Shared libraries, by a linker of this machine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

LINKERS = {
    "x86_64": ("x86_64-linux-gnu-gcc", "cc", "gcc", "clang"),
    "aarch64": ("aarch64-linux-gnu-gcc", "cc", "gcc", "clang"),
}
"""What links for a machine, the first that is there and does."""

ALL_OF_IT = ("-Wl,--whole-archive", "static.a", "-Wl,--no-whole-archive")
KEPT = ("-Wl,--no-undefined", "-Wl,-z,nodelete")
"""It is never unloaded: threads wait in it."""


def shared(name: str, static: bytes, machine: str, needs: Sequence[str]) -> bytes | str:
    """The shared library `name` of a static one, which needs others; in words why there is none."""
    said = "no C compiler is here to call a linker (cc, gcc or clang)"
    with TemporaryDirectory(prefix="soac-link-") as place:
        folder = Path(place)
        (folder / "static.a").write_bytes(static)
        for linker in LINKERS[machine]:
            if path := shutil.which(linker):
                libraries = (f"-l{one}" for one in needs)
                how = [path, "-shared", "-o", name, f"-Wl,-soname,{name}", *KEPT, *ALL_OF_IT, *libraries]
                done = subprocess.run(how, cwd=folder, capture_output=True, text=True, check=False)
                if not done.returncode:
                    return (folder / name).read_bytes()
                said = f"`{linker}` does not link for {machine}: {(done.stderr.splitlines() or [''])[0]}"
    return said
