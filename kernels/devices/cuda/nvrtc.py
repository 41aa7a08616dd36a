"""CUDA C to cubin by NVRTC, NVIDIA's compiler library: no GPU, no driver and no toolkit is needed, a Python wheel is.

The library is that of the wheel `nvidia-cuda-nvrtc`, else the system's. Options are fixed: no contraction, IEEE
division and square root, denormals kept. Kernels that spill are compiled again with more registers
(`launch_bounds.py`). Cubins are cached on disk beside the objects of the CPU.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
import sys
from functools import cache as memoised
from pathlib import Path

from ....ir.errors import IRError
from ....ir.records import dataclass
from .. import disk_cache as disk
from ..disk_cache import Cache
from .launch_bounds import more_registers
from .ptxas_report import Resources, parsed

OPTIONS = ("-std=c++17", "-fmad=false", "-prec-div=true", "-prec-sqrt=true", "-ftz=false")
GET_NVRTC = "`pip install 'nvidia-cuda-nvrtc>=13.0,<13.1'`"
VERBOSE = "--ptxas-options=-v"
COMMENT = re.compile(r"^\s*//.*\n", re.MULTILINE)


class NoCompiler(Exception):
    """NVRTC is not on this machine; the text says how to get it."""


@dataclass(frozen=True, slots=True)
class Nvrtc:
    """The library, and its version."""

    library: ctypes.CDLL
    version: tuple[int, int]


@memoised
def nvrtc() -> Nvrtc:
    """The library, loaded once. Raises NoCompiler."""
    for place in _places():
        try:
            for builtins in Path(place).parent.glob("libnvrtc-builtins.so.*"):  # it asks for them by name
                ctypes.CDLL(str(builtins))
            library = ctypes.CDLL(place)
        except OSError:
            continue
        major, minor = ctypes.c_int(), ctypes.c_int()
        if library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0:
            return Nvrtc(library, (major.value, minor.value))
    raise NoCompiler(f"NVRTC is not installed: {GET_NVRTC} brings it")


def _places() -> list[str]:
    """Where the library may be: in wheels, newest first, in toolkits, then wherever the system looks."""
    found = [
        str(path)
        for folder in dict.fromkeys(sys.path)
        if folder
        for pattern in ("nvidia/cu*/lib/libnvrtc.so.*", "nvidia/cuda_nvrtc/lib/libnvrtc.so.*")
        for path in sorted(Path(folder).glob(pattern), reverse=True)
        if "alt" not in path.name
    ]
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    toolkits = [*roots, *sorted(Path("/usr/local").glob("cuda*"), reverse=True)]
    found += [str(path) for root in toolkits for path in sorted((root / "lib64").glob("libnvrtc.so.*"), reverse=True)]
    system = ctypes.util.find_library("nvrtc")
    return found + ([system] if system is not None else [])


def architectures() -> tuple[str, ...]:
    """What NVRTC compiles for, the oldest first. Raises NoCompiler."""
    library, count = nvrtc().library, ctypes.c_int()
    _must(library, library.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    numbers = (ctypes.c_int * count.value)()
    _must(library, library.nvrtcGetSupportedArchs(numbers))
    return tuple(f"sm_{number}" for number in sorted(numbers))


def compile_cuda(text: str, arch: str, cache: Cache | None = None) -> bytes:
    """The cubin of a module for an architecture such as `sm_90`, PTX for one such as `compute_90`; it does not depend
    on comments, in which there are paths of this machine. Raises NoCompiler, IRError where it is refused."""
    return disk.stored(*_place("nvrtc-3", text, arch, cache), lambda: _without_spills(text, arch)[0])


def resources(text: str, arch: str, cache: Cache | None = None) -> dict[str, Resources]:
    """Of each kernel of a module, by name, as the assembler says. Raises NoCompiler, IRError where the module is
    refused."""
    place = _place("nvrtc-report-2", text, arch, cache)
    return parsed(disk.stored(*place, lambda: _without_spills(text, arch)[1].encode()).decode())


def _place(kind: str, text: str, arch: str, cache: Cache | None) -> tuple[Cache, str]:
    """Where it is kept."""
    key = disk.key_of(COMMENT.sub("", text), kind, arch, *OPTIONS, *map(str, nvrtc().version))
    return disk.user_cache() if cache is None else cache, key


def _without_spills(text: str, arch: str) -> tuple[bytes, str]:
    """The code and the log of a module whose kernels have as many registers as they need, if there are as many."""
    while True:
        code, log = _compiled(nvrtc().library, text, arch)
        if (roomier := more_registers(text, parsed(log))) == text:
            return code, log
        text = roomier


def _compiled(library: ctypes.CDLL, text: str, arch: str) -> tuple[bytes, str]:
    """The cubin and the log."""
    program = ctypes.c_void_p()
    _must(library, library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None))
    try:
        options = [option.encode() for option in (f"--gpu-architecture={arch}", *OPTIONS, VERBOSE)]
        table = (ctypes.c_char_p * len(options))(*options)
        status = library.nvrtcCompileProgram(program, len(options), table)
        log = _bytes(library, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        if status != 0:
            begin = log.rfind("\n", 0, max(0, log.find("error"))) + 1  # behind warnings
            raise IRError(f"NVRTC refuses generated code: {log[begin : begin + 4000]}")
        return _bytes(library, program, "PTX" if arch.startswith("compute_") else "CUBIN"), log
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _bytes(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _must(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _must(library, getattr(library, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _must(library: ctypes.CDLL, status: int) -> None:
    if status != 0:
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise IRError(f"NVRTC: {library.nvrtcGetErrorString(status).decode()}")
