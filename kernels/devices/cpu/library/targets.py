"""The processors that a library has code for, by name."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import llvmlite.binding as llvm

from .....ir.records import dataclass
from ..runtime import jit
from ..runtime.jit import Host

X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
WIDE = "-prefer-256-bit"
"""What `jit.host` says too: vectors as wide as registers."""


@dataclass(frozen=True, slots=True)
class Target:
    """`level`: what a processor must have (`x86_64.ll`)."""

    name: str
    level: int
    host: Host


NAMED = {
    target.name: target
    for target in (
        Target("x86-64-v4", 4, Host(X86, "x86-64-v4", WIDE, True)),
        Target("x86-64-v3", 3, Host(X86, "x86-64-v3", "", True)),
        Target("x86-64-v2", 2, Host(X86, "x86-64-v2", "", True)),
        Target("aarch64", 1, Host(ARM, "generic", "+neon", True)),
    )
}
"""Best first: of those that a processor runs, a library takes the first."""

NATIVE = "native"
BASES = {X86: Host(X86, "x86-64", "", True), ARM: NAMED["aarch64"].host}
"""For the code that chooses a target, and calls it: what every processor runs."""


@cache
def prepare() -> None:
    """LLVM's code generators for all of these."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


def native() -> Target | None:
    """This machine as a target; None where it is none of these systems."""
    here = jit.host()
    machine, *_, system = here.triple.partition("-")
    triple = next((known for known in BASES if known.startswith(machine)), None)
    return Target(NATIVE, 1, replace(here, triple=triple, apart=True)) if triple and "linux" in system else None


def defaults() -> tuple[str, ...]:
    """The named targets of this machine's kind; those of x86-64 elsewhere."""
    mine = jit.host().triple.split("-")[0]
    found = tuple(name for name, target in NAMED.items() if target.host.triple.startswith(mine))
    return found or tuple(name for name, target in NAMED.items() if target.host.triple == X86)
