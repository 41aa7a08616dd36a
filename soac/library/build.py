"""A program as a library in a directory: `NAME.h`, `libNAME.a`, `libNAME.so`, `manifest.json`, files for build systems,
and a wheel where that is asked for."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import __version__
from ..autotune.tuning import program_digest
from ..checked_settings import misused
from ..ir.errors import NOWHERE, CompileError, Diagnostic, Label
from ..ir.machine import EVEN, ROUNDS, level_of
from ..ir.thresholds import Threshold
from ..ir.version_tree import sites
from ..kernels.devices.cpu.executable import CpuDevice
from ..kernels.devices.cpu.host.emit import is_native
from ..kernels.devices.cpu.library import objects, targets
from ..kernels.devices.cpu.library.archive import archive
from ..kernels.devices.cpu.library.interface import OF_THREADS, Interface, Value, identifier
from ..kernels.devices.cpu.library.targets import Target
from ..kernels.devices.cpu.runtime.jit import Host
from ..kernels.devices.cuda.device import CudaDevice
from ..kernels.devices.cuda.library import objects as gpu_objects
from ..kernels.devices.device import Device
from ..kernels.host_ir.nodes import HostFun, Interpret, statements
from ..output import write_files
from ..pipeline import Compiled
from ..versions import named_versions
from . import packages, wheel
from .gpus import Gpus
from .header import header
from .link import shared

INSIDE = "soac"
"""How the names begin that are a library's own."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be built. `presets`: what settings are from the start; `source`: the text of the program."""

    name: str
    version: str
    targets: tuple[Target, ...] | Gpus
    presets: Mapping[str, int]
    source: str
    with_wheel: bool


@dataclass(frozen=True, slots=True)
class Made:
    """The files of a library; in words why there is no shared one, "" if there is."""

    files: tuple[str, ...]
    why_static: str


def build_library(compiled: Compiled, order: Order, folder: Path) -> Made:
    """Writes the library. Raises what `require_native` and `write_files` raise, and `SystemFault` S0101 for a wheel
    where there is no linker."""
    require_native(compiled)
    name, host = order.name, host_of(order)
    machine, needs = host.triple.partition("-")[0], NEEDS[device_of(order)]
    built = objects_of(compiled, order)
    contents = {
        f"lib{name}.a": archive(tuple(built.objects.values())),
        f"{name}.h": header(built.interface, device_of(order)).encode(),
        f"{name}.pc": packages.pkg_config(name, order.version, needs).encode(),
    }
    linked = shared(f"lib{name}.so", contents[f"lib{name}.a"], machine, needs)
    if isinstance(linked, str):
        (folder / f"lib{name}.so").unlink(missing_ok=True)
    else:
        contents[f"lib{name}.so"] = linked
    contents[f"{name}Config.cmake"] = packages.cmake(name, isinstance(linked, bytes), needs).encode()
    manifest = json.dumps(manifest_of(compiled, built.interface, order, contents), indent=2) + "\n"
    contents["manifest.json"] = manifest.encode()
    if order.with_wheel:
        contents |= wheel.wheel(built.interface, order.version, machine, manifest, wheel.require_linked(linked))
    write_files(folder, contents)
    return Made(tuple(contents), linked if isinstance(linked, str) else "")


NEEDS = {"cpu": ("m", "pthread"), "cuda": ("m", "pthread", "dl")}
"""The libraries that those for a device need."""


def device_of(order: Order) -> str:
    """What runs the kernels of a library."""
    return "cuda" if isinstance(order.targets, Gpus) else "cpu"


def host_of(order: Order) -> Host:
    """What runs its host program."""
    return order.targets.host if isinstance(order.targets, Gpus) else order.targets[0].host


def objects_of(compiled: Compiled, order: Order) -> objects.Built:
    """The objects of a library."""
    if isinstance(order.targets, Gpus):
        gpus = order.targets
        return gpu_objects.build(
            compiled.host, order.name, gpus.host, gpus.images, lambda t: default(CudaDevice, 1, t), order.presets
        )
    return objects.build(
        compiled.host, order.name, order.targets, lambda t: default(CpuDevice, OF_THREADS, t), order.presets
    )


def default(device: type[Device], threads: int, threshold: str) -> int:
    """What a threshold is unless it is set: for any machine, whatever this one was calibrated to."""
    level, kind = level_of(threshold), Threshold.of(threshold).kind
    if kind in (EVEN, ROUNDS):
        return threads if kind == EVEN else 0
    return device.default_threshold if level is None else device.default_inside[level]


# ---- what is asked for -------------------------------------------------------------------------------------------


def library_name(asked: str) -> str:
    """The name of a library in C; raises `SettingError` C0101 for one that libraries use themselves."""
    name = identifier(asked)
    if name.startswith(INSIDE):
        raise misused(f"a library cannot be called `{asked}`", f"the names inside of libraries begin with `{INSIDE}`")
    return name


def library_version(asked: str) -> str:
    """A version as wheels have it; raises `SettingError` C0101 for another text."""
    if re.fullmatch(r"[0-9]+(\.[0-9]+)*((a|b|rc|\.post|\.dev)[0-9]+)?", asked) is None:
        raise misused(f"`{asked}` is no version", "such as `1.0` or `1.0rc1`")
    return asked


def targets_of(names: Sequence[str]) -> tuple[Target, ...]:
    """The targets of these names, best first; raises `SettingError` C0101 where they are of several machines."""
    chosen = [target_of(name) for name in dict.fromkeys(names or targets.defaults())]
    if len({target.host.triple for target in chosen}) > 1:
        raise misused("the targets of a library are of one machine", "build a library for each")
    return tuple(sorted(chosen, key=lambda target: (target.name != targets.NATIVE, -target.level)))


def target_of(name: str) -> Target:
    """A target by its name."""
    found = targets.native() if name == targets.NATIVE else targets.NAMED.get(name)
    if found is None:
        raise misused(f"no target `{name}` here", f"there are: {', '.join(targets.NAMED)}")
    return found


def require_native(compiled: Compiled) -> None:
    """Raises `CompileError` E0004 for the entries that need Python, with what it is."""
    found = [one for fun in compiled.host.functions for one in needs_python(fun)]
    if found:
        raise CompileError(*found)


def needs_python(fun: HostFun) -> Iterator[Diagnostic]:
    """Why an entry has no native form."""
    if is_native(fun):
        return
    reasons = [(stm.exp.why, stm.loc) for stm in statements(*fun.bodies) if isinstance(stm.exp, Interpret)]
    for why, loc in reasons or [("a size that follows from no argument", NOWHERE)]:
        yield Diagnostic("E0004", f"`{fun.entry.name}` cannot be in a library: {why}", Label(loc, ""))


# ---- the manifest ------------------------------------------------------------------------------------------------


def manifest_of(
    compiled: Compiled, interface: Interface, order: Order, files: Mapping[str, bytes]
) -> dict[str, object]:
    """What is in the library, for programs that read it: format 1. `files`: those whose digests it has."""
    return {
        "format": 1,
        "soac": __version__,
        "name": interface.name,
        "version": order.version,
        "program": program_digest(order.source),
        "device": device_of(order),
        "targets": list(described_targets(order)),
        "entries": {
            entry.name: {
                "symbol": entry.symbol,
                "signature": entry.signature,
                "parameters": list(map(described, entry.params)),
                "results": list(map(described, entry.results)),
            }
            for entry in interface.entries
        },
        "settings": [{"name": s.name, "default": s.default, "preset": s.preset} for s in interface.settings],
        "versions": {site.name: dict(named_versions(site)) for site in sites(compiled.flat)},
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }


def described_targets(order: Order) -> Iterator[dict[str, str]]:
    """What the library has code for."""
    if isinstance(order.targets, Gpus):
        yield from ({"name": arch, "triple": order.targets.host.triple} for arch in order.targets.archs)
        return
    yield from ({"name": t.name, "triple": t.host.triple, "cpu": t.host.cpu} for t in order.targets)


def described(value: Value) -> dict[str, object]:
    """A component of a parameter or result: a scalar has rank 0."""
    return {"name": value.name, "type": value.prim.value, "rank": value.rank}
