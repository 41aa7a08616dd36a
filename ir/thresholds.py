"""The names of what a tuning file sets, written and read in one place."""

from __future__ import annotations

import re

from .records import dataclass

_NAME = re.compile(r"([^.]*)(?:\.(.*))?\.(.*?)(?:_(\d+))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Threshold:
    """`main.ys.suff_outer_0`: the entry, the binding that has versions, what the guard compares, and which one of the
    binding's. Sizes have such names too; those of a whole entry, such as `main.tasks`, no binding and no number."""

    entry: str
    binding: str
    kind: str
    number: int | None

    def __str__(self) -> str:
        stem = f"{self.entry}.{self.binding}" if self.binding else self.entry
        return f"{stem}.{self.kind}" if self.number is None else f"{stem}.{self.kind}_{self.number}"

    @staticmethod
    def of(name: str) -> Threshold:
        """What a name says; one of another form is a kind alone."""
        found = _NAME.match(name)
        if found is None:
            return Threshold("", "", name, None)
        entry, binding, kind, number = found.groups()
        return Threshold(entry, binding or "", kind, None if number is None else int(number))


NODE = "suff_node"
"""The kind of the guards between one device and a cluster."""


def is_node(name: str) -> bool:
    """Whether a name is that of a guard between one device and a cluster."""
    return Threshold.of(name).kind == NODE


def next_of(counts: dict[Threshold, int], entry: str, binding: str, kind: str) -> str:
    """The next name of a kind at a binding; `counts` has the names given so far, by the first."""
    first = Threshold(entry, binding, kind, 0)
    counts[first] = counts.get(first, -1) + 1
    return str(Threshold(entry, binding, kind, counts[first]))
