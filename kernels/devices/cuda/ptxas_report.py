"""What kernels take of a multiprocessor, as the assembler reports it: registers, spills, memory. No GPU is needed.

ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
ptxas         .     160 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 160 bytes cumulative stack size, 1200 bytes smem
"""

from __future__ import annotations

import re

from ....ir.records import dataclass

_KERNEL = re.compile(r"Compiling entry function '(\w+)'")
_NUMBERS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "spill_stores": re.compile(r"(\d+) bytes spill stores"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
    "stack": re.compile(r"(\d+) bytes stack frame"),
    "shared": re.compile(r"(\d+) bytes smem"),
    "barriers": re.compile(r"used (\d+) barriers"),
}


@dataclass(frozen=True, slots=True)
class Resources:
    """Registers of a thread; bytes that it spills, of its stack, and of the shared memory of its block; barriers."""

    registers: int
    spill_stores: int
    spill_loads: int
    stack: int
    shared: int
    barriers: int

    @property
    def spills(self) -> bool:
        return self.spill_stores + self.spill_loads > 0


def parsed(log: str) -> dict[str, Resources]:
    """The resources of each kernel in what the assembler has printed, by name."""
    _, *parts = _KERNEL.split(log)
    return {name: _of(said) for name, said in zip(parts[::2], parts[1::2], strict=True)}


def _of(said: str) -> Resources:
    found = {name: pattern.search(said) for name, pattern in _NUMBERS.items()}
    return Resources(**{name: int(match[1]) if match else 0 for name, match in found.items()})
