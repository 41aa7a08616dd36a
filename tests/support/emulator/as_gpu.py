"""As `sitecustomize` of a Python, makes soac take the stand-in for the driver's library (`libcuda.cpp`) for a GPU: its
modules are emulated kernels. Where PyCUDA is not there, its layer is left out, too. For rehearsals of what is done on a
machine with a GPU, by processes that know nothing of this."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Any

LAYER = "pycuda_driver"


class Emulation(importlib.abc.MetaPathFinder):
    """Changes the layer of PyCUDA as soon as it is imported."""

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.rpartition(".")[2] != LAYER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        assert spec is not None
        assert spec.loader is not None
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            execute(module)
            emulate(module)

        loader.exec_module = exec_module
        return spec


def emulate(layer: Any) -> None:
    """Kernels are compiled for the GPU, which has to work, and then emulated."""
    real, compile_cuda = layer.PyCuda.load, layer.compile_cuda

    def load(driver: Any, text: str, signatures: Sequence[Any]) -> dict[str, int]:
        from tests.support.emulator.driver import emulated_text, library_of

        compile_cuda(text, driver.properties.arch)
        library = library_of(emulated_text(text, signatures))
        layer.compile_cuda = lambda text, arch: bytes(library) + b"\0"
        try:
            return real(driver, text, signatures)
        finally:
            layer.compile_cuda = compile_cuda

    def opened(number: int = 0) -> Any:
        from tests.support.emulator.driver import EmulatedDriver

        return EmulatedDriver(limit=1 << 31)

    if hasattr(sys.modules.get("pycuda"), "is_left_out"):
        layer.PyCuda.open = staticmethod(opened)
    else:
        layer.PyCuda.load = load


def leave_out(name: str) -> None:
    """A module of that name that holds nothing."""
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
    sys.modules[name].is_left_out = True  # type: ignore[attr-defined]


sys.meta_path.insert(0, Emulation())
if importlib.util.find_spec("pycuda") is None:
    for missing in ("pycuda", "pycuda.driver"):
        leave_out(missing)
