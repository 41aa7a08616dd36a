"""Kernels by hand that `soac test` has found to agree with what they implement: `.soac/prog.soac.verified`.

    sums_block 5f1c..            a kernel, and the digest of it and its function (`ir/by_hand.py`)

A kernel that is not among them, or has changed since, is never taken unless `--force` or `--param` says so: its guards
stay unset, whatever a tuning file says, and tuning leaves it out. One that is has the default threshold of the device;
on a CPU, where blocks and their shared memory are emulated, it is taken only where tuning says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from .autotune.tuning import INFINITY, working_path
from .data.files import write_file
from .devices import class_of
from .ir.by_hand import kernel_of_guard
from .ir.machine import CPU
from .ir.version_tree import Branch, Site
from .kernels.devices.cpu.executable import WORKERS
from .kernels.devices.device import default_of


def verified_path(program: Path) -> Path:
    """Where the digests of a program's verified kernels are."""
    return working_path(program, ".verified")


def noted(program: Path) -> dict[str, str]:
    """The digests of kernels that were verified, by their names; none where the file cannot be read."""
    try:
        lines = verified_path(program).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.split() for line in lines)
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def note(program: Path, kernel: str, digest: str | None) -> None:
    """Notes that a kernel is verified, or (None) that it is not. Where nothing can be written it stays as it was."""
    found = {**noted(program), kernel: digest}
    text = "".join(f"{name} {one}\n" for name, one in sorted(found.items()) if one is not None)
    with contextlib.suppress(OSError):
        verified_path(program).parent.mkdir(exist_ok=True)
        write_file(verified_path(program), text.encode())


def verified(program: Path, digests: Mapping[str, str]) -> frozenset[str]:
    """Which of a program's kernels, given with their digests, are verified."""
    known = noted(program) if digests else {}
    return frozenset(name for name, digest in digests.items() if known.get(name) == digest)


def with_kernels(
    values: Mapping[str, int], guards: Sequence[str], known: frozenset[str], device: str, threads: int | None
) -> dict[str, int]:
    """The settings of a tuning file, without those of kernels that are not `known` to be right, and with thresholds for
    those that are."""
    chosen = dict(values)
    for guard in guards:
        kernel = kernel_of_guard(guard)
        if kernel in known:
            own = default_of(class_of(device), guard, threads or WORKERS)
            chosen.setdefault(guard, INFINITY if device == CPU.name else own)
        elif kernel is not None:
            chosen.pop(guard, None)
    return chosen


def tunable(sites: Sequence[Site], known: frozenset[str]) -> tuple[Site, ...]:
    """The sites without the versions of kernels that are not known to be right."""
    return tuple(Site(site.entry, branch) for site in sites for branch in _kept(site.tree, known))


def _kept(branch: Branch, known: frozenset[str]) -> Iterator[Branch]:
    then, orelse = (tuple(kept for one in side for kept in _kept(one, known)) for side in (branch.then, branch.orelse))
    kernel = kernel_of_guard(branch.threshold)
    if kernel is None or kernel in known:
        yield replace(branch, then=then, orelse=orelse)
    else:
        yield from orelse
