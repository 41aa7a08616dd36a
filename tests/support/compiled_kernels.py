"""Kernels as one module, with lanes of any settings; programs have a module for each."""

from __future__ import annotations

from soac.kernels.devices.cpu.runtime.jit import CompiledKernels, load_text
from soac.kernels.devices.disk_cache import Cache
from soac.kernels.kernel_ir.nodes import Kernel
from soac.kernels.kernel_ir.values import symbol_of
from soac.kernels.lanes.module import emit
from soac.kernels.passes.choose_lanes import LaneSettings
from soac.kernels.passes.pipeline import all_ready, cpu_passes


def compile_kernels(kernels: tuple[Kernel, ...], settings: LaneSettings, cache: Cache | None = None) -> CompiledKernels:
    """The kernels as machine code, by their names; `cache` None is the user's."""
    symbols = {kernel.name: symbol_of(kernel.name) for kernel in kernels}
    loaded = load_text(emit(all_ready(kernels, cpu_passes(settings))), tuple(symbols.values()), cache)
    return CompiledKernels(loaded.engine, {name: loaded.addresses[symbol] for name, symbol in symbols.items()})
