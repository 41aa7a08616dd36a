"""The devices of this machine, what is missing where one cannot be used and how to get it; programs ready to run."""

from __future__ import annotations

import importlib.util
import shutil
from functools import cache
from typing import TYPE_CHECKING

from .ir.cores import cores
from .ir.errors import Diagnostic, SystemFault
from .ir.machine import MACHINES
from .ir.records import dataclass
from .kernels.devices.cpu.executable import CpuDevice
from .kernels.devices.cpu.runtime import jit
from .kernels.devices.cuda import libcuda
from .kernels.devices.cuda.libcuda import Found, NoDriver
from .kernels.devices.device import Device, Runnable, bytes_text

if TYPE_CHECKING:
    from .kernels.devices.cuda.gpu import Gpu
    from .pipeline import Compiled

GET_DRIVER = "install NVIDIA's driver for the GPU (then `nvidia-smi` shows it)"
GET_PYCUDA = (
    "`pip install 'pycuda>=2024.1'`; PyCUDA is compiled then, which takes a C++ compiler and CUDA's headers (the CUDA "
    "toolkit); docs/gpu.md says how to do without a toolkit"
)
GET_COMPILER = "install g++ or clang++"


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that a device needs, in words, and how to get it."""

    what: str
    how: str


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device as `soac devices` shows it; with nothing `missing` it can be used."""

    name: str
    description: str
    missing: tuple[Missing, ...]


def devices() -> tuple[DeviceInfo, ...]:
    return tuple(map(device, MACHINES))


def device(name: str) -> DeviceInfo:
    """The device `name`. What a GPU lacks is looked for where the GPU is asked for only: that starts processes."""
    match name:
        case "cpu":
            return DeviceInfo("cpu", f"{cores()} cores of {jit.host().cpu}, LLVM lanes", ())
        case "cuda":
            return DeviceInfo("cuda", described_gpu(), missing_for_cuda())
        case _:
            hint = "there are: " + ", ".join(f"`{one}`" for one in MACHINES)
            raise SystemFault(Diagnostic("S0101", f"there is no device `{name}`", hint=hint))


def described(name: str) -> str:
    """The device `name` of this machine, in words."""
    return device(name).description


def described_gpu() -> str:
    try:
        gpu = libcuda.gpus()[0]
    except NoDriver:
        return "NVIDIA GPU"
    major, minor = gpu.driver
    return f"{gpu.name}, {gpu.arch}, {bytes_text(gpu.memory)}, driver for CUDA {major}.{minor}"


def missing_for_cuda() -> tuple[Missing, ...]:
    """All that stands between this machine and the device `cuda`."""
    gpu = _gpu_or_missing()
    without_gpu = (gpu,) if isinstance(gpu, Missing) else ()
    pycuda = _missing_pycuda(not without_gpu)
    compiler = _missing_nvrtc(None if isinstance(gpu, Missing) else gpu)
    return (*without_gpu, *(one for one in (pycuda, compiler) if one is not None))


def _gpu_or_missing() -> Found | Missing:
    try:
        return libcuda.gpus()[0]
    except NoDriver as why:
        return Missing(str(why), GET_DRIVER)


def _missing_pycuda(there_is_a_driver: bool) -> Missing | None:
    """PyCUDA cannot be imported without a driver, so without one it is only looked for."""
    if importlib.util.find_spec("pycuda") is None:
        return Missing("PyCUDA is not installed", GET_PYCUDA)
    if not there_is_a_driver:
        return None
    try:
        importlib.import_module("pycuda.driver")
    except Exception as why:  # built against another CUDA, another Python, ..
        return Missing(f"PyCUDA does not start: {why}", f"build it again: {GET_PYCUDA}")
    return None


def _missing_nvrtc(gpu: Found | None) -> Missing | None:
    from .kernels.devices.cuda import nvrtc

    try:
        version = nvrtc.nvrtc().version
    except nvrtc.NoCompiler:
        return Missing("NVRTC, the compiler of CUDA C, is not installed", nvrtc.GET_NVRTC)
    if gpu is None:
        return None
    if gpu.arch not in (known := nvrtc.architectures()):
        said = f"NVRTC {version[0]}.{version[1]} compiles for {known[0]} to {known[-1]}, not for {gpu.arch}"
        return Missing(said, "install the version of `nvidia-cuda-nvrtc` that knows the GPU")
    if gpu.driver[0] < version[0]:
        said = f"the driver knows CUDA {gpu.driver[0]}.{gpu.driver[1]}, NVRTC is of CUDA {version[0]}.{version[1]}"
        return Missing(said, f"a newer driver, or `pip install 'nvidia-cuda-nvrtc-cu{gpu.driver[0]}'`")
    return None


def cxx_compiler() -> str | None:
    """The C++ compiler by which the tests emulate kernels."""
    return shutil.which("g++") or shutil.which("clang++")


def require(name: str) -> None:
    """Raises `SystemFault` S0101 if the device `name` cannot be used."""
    missing = device(name).missing
    if missing:
        raise unusable(name, missing)


def unusable(name: str, missing: tuple[Missing, ...]) -> SystemFault:
    text = f"the device `{name}` cannot be used: " + "; ".join(one.what for one in missing)
    notes = tuple(f"{one.what}: {one.how}" for one in missing)
    hint = "`--device cpu` works everywhere"
    return SystemFault(Diagnostic("S0101", text, notes=notes, hint=hint))


# ---- programs ----------------------------------------------------------------------------------------------------


def class_of(name: str) -> type[Device]:
    """The class of a device, which says the default thresholds also where the device is missing."""
    if name == "cpu":
        return CpuDevice
    from .kernels.devices.cuda.device import CudaDevice

    return CudaDevice


def on_gpu(compiled: Compiled) -> Runnable:
    """A program ready to run on the GPU, which `require` has let through; it was compiled for that machine."""
    from .kernels.devices.cuda.executable import CudaExecutable

    return CudaExecutable.build(compiled.host, compiled.core.functions, the_gpu())


@cache
def the_gpu() -> Gpu:
    """The first GPU, one object for all programs of the process."""
    from .kernels.devices.cuda.gpu import Gpu
    from .kernels.devices.cuda.pycuda_driver import PyCuda

    return Gpu(PyCuda.open())
