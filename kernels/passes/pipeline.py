"""All passes over kernel IR in order, for each machine: what makes a lowered kernel ready to be printed.

A pass is a plain function `Kernel -> Kernel`; where it finds nothing it gives the same kernel, and tests for that first
if this takes less. Those of a CPU give the kernel its lanes (`choose_lanes.py`); those of a GPU its fences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..kernel_ir.nodes import Kernel
from .choose_lanes import LaneSettings, choose_lanes
from .columns_by_rows import columns_by_rows
from .divide_warps import divide_warps
from .flags_as_words import flags_as_words
from .flat_row_scans import flat_row_scans
from .hoist_invariants import hoist_invariants
from .if_convert import if_convert
from .interleave_rows import interleave_rows
from .join_channels import join_channels
from .join_rows import join_rows
from .join_writes import join_writes
from .narrow_argreduce import narrow_argreduce
from .narrow_carried import narrow_carried
from .narrow_comparisons import narrow_comparisons
from .narrow_divisions import narrow_divisions
from .needed_rounds import needed_rounds
from .nontemporal_stores import nontemporal_stores
from .one_by_one import one_by_one
from .peel_boundaries import peel_boundaries, peel_remainders
from .place_fences import place_fences
from .split_at_multiples import split_at_multiples
from .split_residues import split_residues
from .split_varying_reductions import split_varying_reductions
from .straighten_indices import straighten_indices
from .tile_rows import tile_rows
from .vectorise_accesses import vectorise_accesses

KernelPass = tuple[str, Callable[[Kernel], Kernel]]
Passes = tuple[KernelPass, ...]


DIVIDE: KernelPass = ("divide-warps", divide_warps)


def cpu_passes(settings: LaneSettings) -> Passes:
    """The passes of a CPU for lanes as the settings say."""
    return (
        DIVIDE,
        ("join-rows", join_rows),
        ("needed-rounds", needed_rounds),
        ("one-by-one", one_by_one),
        ("columns-by-rows", columns_by_rows),
        ("nontemporal-stores", nontemporal_stores),
        ("hoist-invariants", hoist_invariants),
        ("peel-remainders", peel_remainders),
        ("split-residues", split_residues),
        ("split-at-multiples", split_at_multiples),
        ("peel-boundaries", peel_boundaries),
        ("join-channels", join_channels),
        ("if-convert", if_convert),
        ("narrow-argreduce", narrow_argreduce),
        ("narrow-divisions", narrow_divisions),
        ("narrow-comparisons", narrow_comparisons),
        ("narrow-carried", narrow_carried),
        ("interleave-rows", interleave_rows),
        ("join-writes", join_writes),
        ("flags-as-words", flags_as_words),
        ("choose-lanes", lambda kernel: choose_lanes(kernel, settings)),
        ("flat-row-scans", flat_row_scans),
        ("split-varying-reductions", split_varying_reductions),
        ("tile-rows", tile_rows),
    )


CPU_PASSES: Passes = cpu_passes(LaneSettings())

CUDA_PASSES: Passes = (
    DIVIDE,
    ("straighten-indices", straighten_indices),
    ("vectorise-accesses", vectorise_accesses),
    ("place-fences", place_fences),
)


def ready(kernel: Kernel, passes: Passes) -> Kernel:
    """The kernel after all passes."""
    for _, run in passes:
        kernel = run(kernel)
    return kernel


def all_ready(kernels: Iterable[Kernel], passes: Passes) -> tuple[Kernel, ...]:
    """The kernels after all passes (`ready`), in order."""
    return tuple(ready(kernel, passes) for kernel in kernels)
