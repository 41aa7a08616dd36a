"""The GPUs that a library has code for: cubins for those named, PTX for others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..checked_settings import misused
from ..ir.errors import Diagnostic, SystemFault
from ..kernels.devices.cpu.library import targets
from ..kernels.devices.cpu.runtime.jit import Host
from ..kernels.devices.cuda.library.objects import Image
from ..kernels.devices.cuda.nvrtc import NoCompiler, architectures, compile_cuda
from ..kernels.kernel_ir.nodes import Kernel

DEFAULTS = ("sm_80", "sm_90", "compute_80")
CUBIN, PTX = "sm_", "compute_"
Images = Callable[[str, Sequence[Kernel]], Sequence[Image]]
"""From a module of CUDA C and its kernels to what the driver loads."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """`archs`: cubins first, the newest of each first; the `host` that calls the driver."""

    archs: tuple[str, ...]
    host: Host
    images: Images


def gpus_of(names: Sequence[str]) -> Gpus:
    """GPUs by names such as `sm_90`, or `compute_90` for PTX. Raises `SettingError` C0101 for others, and `SystemFault`
    S0101 where there is no NVRTC."""
    try:
        known = architectures()
    except NoCompiler as why:
        raise SystemFault(Diagnostic("S0101", str(why))) from None
    there = {*known, *(arch.replace(CUBIN, PTX) for arch in known)}
    asked = tuple(dict.fromkeys(names)) or tuple(name for name in DEFAULTS if name in there)
    if strange := [name for name in asked if name not in there]:
        raise misused(f"no GPU `{strange[0]}` here", f"there are: {', '.join(known)}, and compute_NN for PTX")
    archs = tuple(sorted(asked, key=lambda name: (name.startswith(PTX), -number_of(name))))
    triple = targets.NAMED[targets.defaults()[0]].host.triple
    return Gpus(archs, targets.BASES[triple], lambda text, _: [image(text, arch) for arch in archs])


def number_of(arch: str) -> int:
    """90 of sm_90; of sm_90a too."""
    return int("".join(filter(str.isdigit, arch)))


def image(text: str, arch: str) -> Image:
    """A module compiled. GPUs that take PTX are not named: the driver knows them."""
    return Image(arch, 0 if arch.startswith(PTX) else number_of(arch), compile_cuda(text, arch))
