"""What else computes the programs of the suite: a package for each library, with a function for each entry point.

Every package has `PEERS`, from (program, entry point) to a function of the entry point's arguments, and `bind`, which
puts the arguments where the library wants them and gives a call to be timed, and `fetch`, which makes NumPy arrays of
what the call gave. Packages are imported only where their library is there.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

CPU = ("numpy", "numba", "jax")
MORE = ("torch", "torch_compiled", "scipy")
"""On a CPU too, where they are installed (the extra `bench`): shown, but not counted as the best peer."""

CUDA = ("torch", "cupy", "jax", "triton", "numba_cuda")

DISTRIBUTION = {"numba_cuda": "numba", "torch_compiled": "torch"}
"""What has to be installed for a library, where it is called otherwise."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A call to be timed; its results are NumPy arrays only after `fetch`."""

    library: str
    call: Callable[[], Any]
    fetch: Callable[[Any], list[Any]]


def peers_of(program: str, entry: str, args: Sequence[Any], libraries: Sequence[str]) -> list[Peer]:
    """The peers of an entry point for these arguments, of those libraries that are there."""
    found: list[Peer] = []
    for library in libraries:
        package = package_of(library)
        function = None if package is None else package.PEERS.get((program, entry))
        if package is not None and function is not None:
            found.append(Peer(library, package.bind(function, args), package.fetch))
    return found


def package_of(library: str) -> ModuleType | None:
    """The package for a library, None where the library is missing."""
    if importlib.util.find_spec(DISTRIBUTION.get(library, library)) is None:
        return None
    return importlib.import_module(f".on_{library}", __package__)
