"""Code of little effort for kernels of little work: made in an eighth of the time, and a few times slower.

It serves the launches of a kernel in the first call that has any, where their work (`launch_work`) is less than
compiling would take; a call that launches the kernel again gets code of full effort, as one does that turns out to take
longer, and one that is timed. What it computes is the same. The cache keeps the code with the largest numbers of
launches that it is known to be good for, so that a process that has not compiled the program need not look at the
kernel.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from ....ir.records import dataclass
from ....ir.types import Prim
from ...kernel_ir.nodes import Kernel, KVar
from ...kernel_ir.traverse import all_statements
from ...kernel_ir.values import symbol_of
from .. import disk_cache as disk
from .kernel_code import KernelCode, key_of
from .runtime import jit
from .runtime.jit import CompiledKernels, Effort, load_stored

WORK = 1_000_000.0
"""Work of a launch that is less than compiling a statement of the kernel with full effort takes."""

NANOSECONDS = 1_000_000
"""How long launches of a kernel may take in all, for each of its statements, before it is compiled with full effort."""

CALLBACK = 10_000
"""Nanoseconds that it takes to ask for the code of a launch."""

SCALES = (256, 16, 1)
"""How much larger launches may be than the one that code was made for, the largest first that is of little work."""

Numbers = tuple[int, ...]
"""The blocks of a launch, and its integers."""

INTEGERS = {Prim.I64: ctypes.c_int64, Prim.I32: ctypes.c_int32}


class Launch(NamedTuple):
    """A launch in a call, which is the state and the number of the call."""

    call: tuple[int, int]
    numbers: Numbers


@dataclass(slots=True)
class Quick:
    """The code of a form of a kernel for one call, whose object the cache has under `key`. `limits`: the largest
    numbers that it is known to be good for; `budget`: nanoseconds that its launches may take, of which some are
    `spent`."""

    key: str
    code: CompiledKernels
    limits: Numbers
    budget: int
    call: tuple[int, int]
    spent: int = 0

    def spend(self, nanoseconds: int) -> None:
        self.spent += nanoseconds + CALLBACK


def launch_at(kernel: Kernel, call: tuple[int, int], table: int, blocks: int) -> Launch:
    """A launch whose scalars stand in a table of words, behind two of the runtime and the arrays."""
    first = table + 8 * (2 + len(kernel.arrays))
    numbers = [INTEGERS[v.prim].from_address(first + 8 * k).value for k, v in enumerate(kernel.scalars) if is_number(v)]
    return Launch(call, (blocks, *numbers))


def quick(code: KernelCode, kernel: Kernel, far: bool, launch: Launch, before: Quick | None) -> Quick | None:
    """The quick code that is good for a launch; None where code of full effort is. `before`: what there was for the
    launch before."""
    if code.body is None or (before is not None and (before.call != launch.call or before.spent > before.budget)):
        return None
    found = before or stored(code, kernel.name, far, launch)
    if found is None or not within(launch.numbers, found.limits):
        found = made(code, kernel.name, far, launch, found)
    if found is not None and before is not None:
        found.spent = before.spent
    return found


def within(numbers: Numbers, limits: Numbers) -> bool:
    """Whether a launch has no larger numbers than these."""
    return all(x <= limit for x, limit in zip(numbers, limits, strict=True))


def stored(code: KernelCode, name: str, far: bool, launch: Launch) -> Quick | None:
    """Quick code in the cache, if it has some."""
    data = disk.get(jit.user_cache(), key_of(code, name, far, Effort.QUICK)) if code.program else None
    if data is None:
        return None
    with suppress(ValueError):
        key, budget, *limits = json.loads(data)
        found = load_stored(key, (symbol_of(name),))
        if found is not None:
            return Quick(key, found, tuple(limits), budget, launch.call)
    return None


def made(code: KernelCode, name: str, far: bool, launch: Launch, smaller: Quick | None) -> Quick | None:
    """Quick code for a launch, compiled unless there was some for `smaller` ones; None where its work is not little."""
    assert code.body is not None, "code of full effort needs no body"
    kernel = code.body(name)
    size = sum(1 for _ in all_statements(kernel.body))
    largest = launch.numbers if smaller is None else tuple(map(max, launch.numbers, smaller.limits))
    wanted = (*(scaled(launch.numbers, scale) for scale in SCALES[:-1]), largest, launch.numbers)
    limits = next((found for found in wanted if is_little(kernel, found, size)), None)
    if limits is None:
        return None
    key, compiled = (smaller.key, smaller.code) if smaller else code.compile(name, far, Effort.QUICK)
    budget = size * NANOSECONDS
    if code.program:
        data = json.dumps([key, budget, *limits]).encode()
        disk.put(jit.user_cache(), key_of(code, name, far, Effort.QUICK), data)
    return Quick(key, compiled, limits, budget, launch.call)


def is_number(scalar: KVar) -> bool:
    """Whether a scalar may be a size."""
    return scalar.prim in INTEGERS


def scaled(numbers: Numbers, scale: int) -> Numbers:
    """Numbers of a launch that is larger by a factor."""
    return tuple(scale * max(1, x) for x in numbers)


def is_little(kernel: Kernel, numbers: Sequence[int], size: int) -> bool:
    """Whether a launch takes less than compiling a kernel of `size` statements."""
    from ...analysis.launch_work import launch_work  # the cache mostly has the code, and what it is good for

    blocks, *values = numbers
    known = dict(zip(filter(is_number, kernel.scalars), values, strict=True))
    return launch_work(kernel, blocks, known) < size * WORK
