"""Kernels by hand in core: what a user has written to compute a function, as one more function.

    fun f (n: i64, xs: [n]f32) : (r: f32) = ..
    by hand fun k (n: i64, xs: [n]f32) : (out: f32) = { scalars of the host; fully par }

`k` takes what `f` takes and fills the arrays that are called results. It is closed and made once, by the front end;
`kernels/schedule/by_hand.py` reads it. Statements without a pattern do something: an `Update` stores in place, the
bodies of an `If` or of a `Loop` without parameters have such statements. Attributes say more:

    block(n) warp thread   of the last statement, a loop over the blocks of the launch: what executes its body
    all(unit)              of a loop inside: its indices are executed at once, by a unit each
    shared registers       of a scratch: where it is
    collective             of a SOAC: the block executes it
    fence commit wait(n)   of a copy, which does nothing else
    atomic(op)             of an update of an element
    shuffle(op)            of an element of registers, and a store of it behind: the element whose number is that of the
                           thread `op` the index, of all threads at once
    later                  of a load and the store behind it: the element is copied while the thread goes on
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace

from .core import Attr, FunDef, Prog, Stm
from .records import dataclass
from .show import show
from .thresholds import Threshold
from .traverse import needed_functions

BY_HAND = "by_hand"
"""Attribute of a call: which kernel is to do it."""
FENCE, COLLECTIVE, ALL = "fence", "collective", "all"
ATOMIC, LATER, COMMIT, WAIT, SHUFFLE = "atomic", "later", "commit", "wait", "shuffle"
PLACE_FENCES = "place_fences"
"""Of a kernel: the compiler places its fences."""


def attr_of(stm: Stm, name: str) -> Attr | None:
    """The attribute of a statement of a kernel, or None."""
    return next((attr for attr in stm.attrs if attr.name == name), None)


@dataclass(frozen=True, slots=True)
class Version:
    """A kernel by hand and the function that it is a version of."""

    function: FunDef
    kernel: FunDef

    @property
    def name(self) -> str:
        return self.kernel.name.base


def guard_kind(kernel: str) -> str:
    """What the thresholds of a kernel's versions are called."""
    return f"{BY_HAND}_{kernel}"


def kernel_of_guard(threshold: str) -> str | None:
    """The kernel whose version a threshold guards; None if it guards another."""
    kind = Threshold.of(threshold).kind
    return kind.removeprefix(f"{BY_HAND}_") if kind.startswith(f"{BY_HAND}_") else None


def versions_by_hand(prog: Prog) -> Iterator[Version]:
    """The kernels of a program with their functions, those that no entry calls too."""
    return (Version(fun, kernel) for fun in prog.functions for kernel in fun.kernels)


def digest(version: Version, prog: Prog) -> str:
    """What tells a kernel and its function, in a program before any pass, from others: the text of both and of what the
    function calls, whatever tags names have."""
    by_name = {fun.name: replace(fun, kernels=()) for fun in prog.functions}
    needed = needed_functions(prog.functions, [version.function.name])
    text = show(Prog(prog.consts, (*(by_name[name] for name in needed), version.kernel), 0))
    order: dict[str, int] = {}
    plain = re.sub(r"_(\d+)\b", lambda tag: f"_{order.setdefault(tag[1], len(order))}", text)
    return hashlib.sha256(plain.encode()).hexdigest()


def digests(prog: Prog) -> dict[str, str]:
    """The digests of the kernels of a program by their names; one for all forms that a kernel is made for."""
    found: dict[str, list[str]] = {}
    for version in versions_by_hand(prog):
        found.setdefault(version.name, []).append(digest(version, prog))
    return {name: hashlib.sha256("".join(sorted(parts)).encode()).hexdigest() for name, parts in found.items()}
