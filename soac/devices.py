"""The devices of this machine, and what is missing where one cannot be used."""

from __future__ import annotations

import os
from dataclasses import dataclass

import llvmlite.binding as llvm

from .ir.errors import NOWHERE, Diagnostic, Label, SystemFault


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device as `soac devices` shows it; `missing` says why it cannot be used, or None."""

    name: str
    description: str
    missing: str | None


def devices() -> tuple[DeviceInfo, ...]:
    return (
        DeviceInfo("cpu", f"{os.cpu_count()} cores of {llvm.get_host_cpu_name()}, LLVM lanes", None),
        DeviceInfo("cuda", "NVIDIA GPU", "this version of soac has no CUDA device yet"),
    )


def require(name: str) -> None:
    """Raises `SystemFault` S0101 if the device `name` cannot be used."""
    device = next(d for d in devices() if d.name == name)
    if device.missing is not None:
        text = f"the device `{name}` cannot be used: {device.missing}"
        raise SystemFault(Diagnostic("S0101", text, Label(NOWHERE, ""), hint="`--device cpu` works everywhere"))
