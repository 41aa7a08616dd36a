"""NVIDIA's driver library, asked without PyCUDA: which GPUs there are, or why there is none to be seen."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache

NAMES = ("libcuda.so.1", "nvcuda.dll")
_MAJOR, _MINOR = 75, 76
"""The attributes of a device that hold its compute capability."""


class NoDriver(Exception):
    """Why there is no GPU to be used."""


@dataclass(frozen=True, slots=True)
class Found:
    """A GPU that the driver shows; `driver` is the version of CUDA that it knows."""

    name: str
    arch: str
    memory: int
    driver: tuple[int, int]


@cache
def library() -> ctypes.CDLL:
    """Raises NoDriver."""
    for name in NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise NoDriver("no NVIDIA driver: the library libcuda.so.1 is not on this machine")


def error_text(status: int) -> str:
    """What the driver calls a status."""
    text = ctypes.c_char_p()
    library().cuGetErrorString(status, ctypes.byref(text))
    return text.value.decode(errors="replace") if text.value else f"error {status}"


def gpus() -> tuple[Found, ...]:
    """The GPUs of this machine, at least one. Raises NoDriver."""
    cuda = library()
    status = cuda.cuInit(0)
    if status != 0:
        raise NoDriver(f"the NVIDIA driver does not start: {error_text(status)}")
    count = ctypes.c_int()
    _must(cuda.cuDeviceGetCount(ctypes.byref(count)))
    if count.value == 0:
        raise NoDriver("the NVIDIA driver shows no GPU")
    version = ctypes.c_int()
    _must(cuda.cuDriverGetVersion(ctypes.byref(version)))
    return tuple(_gpu(cuda, number, divmod(version.value // 10, 100)) for number in range(count.value))


def _gpu(cuda: ctypes.CDLL, number: int, driver: tuple[int, int]) -> Found:
    device, name = ctypes.c_int(), ctypes.create_string_buffer(256)
    memory, major, minor = ctypes.c_size_t(), ctypes.c_int(), ctypes.c_int()
    _must(cuda.cuDeviceGet(ctypes.byref(device), number))
    _must(cuda.cuDeviceGetName(name, len(name), device))
    _must(cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device))
    _must(cuda.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device))
    _must(cuda.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device))
    return Found(name.value.decode(errors="replace"), f"sm_{major.value}{minor.value}", memory.value, driver)


def _must(status: int) -> None:
    if status != 0:
        raise NoDriver(f"the NVIDIA driver fails: {error_text(status)}")
