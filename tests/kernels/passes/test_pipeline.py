"""The passes over kernels, one behind the other."""

from __future__ import annotations

from soac.kernels.passes.pipeline import CPU_PASSES
from soac.pipeline import compile_prog

ALWAYS = {"choose-lanes", "nontemporal-stores"}
"""What a kernel for a CPU gets in any case."""


def test_passes_that_find_nothing_give_the_same_kernel() -> None:
    """So that what was found of its body need not be found again."""
    (kernel,) = compile_prog("entry main [n] (xs: [n]f64): [n]f64 = map (\\x -> x * x + 1) xs", "p.soac").host.kernels
    changed: set[str] = set()
    for name, run in CPU_PASSES:
        before, kernel = kernel, run(kernel)
        if kernel is not before:
            changed.add(name)
    assert changed == ALWAYS
