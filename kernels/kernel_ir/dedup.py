"""Kernels that are the same but for names: the leaves of a version tree, and entries that call each other, launch one.

A kernel's variables are numbered in the order in which they are made, so that two kernels are the same if their texts
are, the words before the numbers left out, and if they fail in the same way at the same places of the source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from .nodes import FailureSite, Kernel, KLet, KOp
from .show import show_kernel
from .traverse import statements

NUMBERED = re.compile(r"\b[A-Za-z_]\w*?_(\d+)\b")

Form = tuple[str, tuple[bool, ...], tuple[FailureSite, ...]]


def form_of(kernel: Kernel) -> Form:
    """What two kernels have in common that are the same but for names."""
    lets = (stm.rhs for stm in statements(kernel.body) if isinstance(stm, KLet))
    exact = tuple(rhs.exact for rhs in lets if isinstance(rhs, KOp))
    return NUMBERED.sub(r"v\1", show_kernel(replace(kernel, name="kernel"))), exact, kernel.sites


@dataclass(slots=True)
class Kernels:
    """The kernels of a program, in the order of their first launch."""

    made: list[Kernel] = field(default_factory=list)
    places: dict[Form, int] = field(default_factory=dict)

    def shared(self, kernel: Kernel) -> Kernel:
        """The kernel that does what `kernel` does: one that was there before, or this one."""
        place = self.places.setdefault(form_of(kernel), len(self.made))
        if place == len(self.made):
            self.made.append(kernel)
        return self.made[place]

    def forget(self, count: int) -> None:
        """Without the kernels after the first `count`."""
        del self.made[count:]
        self.places = {form: place for form, place in self.places.items() if place < count}
