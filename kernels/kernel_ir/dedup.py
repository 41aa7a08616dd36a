"""Kernels that are the same but for names: the versions of a tree, and entries that call each other, launch one.

Two kernels are the same if they have the same structure, with variables and arrays numbered in the order in which they
are mentioned, and if they fail in the same way at the same places of the source. Constants are the same if their bits
are; of a note, the line counts. Of the calls that lead to a place, the innermost that all have are kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field, fields, is_dataclass, replace
from functools import cache
from itertools import takewhile

from ...ir.errors import Loc
from ...ir.records import dataclass
from ...ir.types import Const
from .nodes import FailureSite, KArray, Kernel, KVar, Note
from .traverse import statements


def same_kernel(x: Kernel, y: Kernel) -> bool:
    """Are two kernels the same but for names?"""
    return form_of(x) == form_of(y)


def form_of(kernel: Kernel) -> Hashable:
    """What kernels have in common that are the same but for names."""
    return _form(replace(kernel, name=""), {})


def _form(node: object, numbers: dict[str, int]) -> Hashable:
    if isinstance(node, tuple):
        return tuple([_form(part, numbers) for part in node])
    if isinstance(node, KVar):
        return numbers.setdefault(node.name, len(numbers)), node.prim
    if isinstance(node, KArray):
        return numbers.setdefault(node.name, len(numbers)), node.prim, node.space
    if isinstance(node, Note) and isinstance(node.what, Loc):
        return Note, node.what.file, node.what.line
    if isinstance(node, FailureSite):
        return FailureSite, node.code, node.loc.here, node.parts
    kind = type(node)
    names = _parts(kind)
    return (kind, *[_form(getattr(node, name), numbers) for name in names]) if names is not None else node


@cache
def _parts(kind: type) -> tuple[str, ...] | None:
    """The names of what a node has; None of what is compared as it is."""
    return tuple([f.name for f in fields(kind)]) if is_dataclass(kind) and kind is not Const else None


def _outline(kernel: Kernel) -> Hashable:
    """What kernels have in common that might be the same: quick to find, and mostly another for each."""
    prims = [x.prim for x in (*kernel.arrays, *kernel.scalars)]
    return (*prims, *map(type, statements(kernel.body)))


@dataclass(slots=True)
class Kernels:
    """The kernels of a program, in the order of their first launch. `alike`: where kernels of one outline are."""

    made: list[Kernel] = field(default_factory=list)
    alike: dict[Hashable, list[int]] = field(default_factory=dict)

    def shared(self, kernel: Kernel) -> Kernel:
        """The kernel that does what `kernel` does: one that was there before, or this one."""
        places = self.alike.setdefault(_outline(kernel), [])
        place = next((k for k in places if same_kernel(self.made[k], kernel)), None)
        if place is None:
            places.append(len(self.made))
            self.made.append(kernel)
            return kernel
        if kernel.sites != self.made[place].sites:
            self.made[place] = replace(self.made[place], sites=_common(self.made[place].sites, kernel.sites))
        return self.made[place]

    def forget(self, count: int) -> None:
        """Without the kernels after the first `count`."""
        del self.made[count:]
        self.alike = {outline: [k for k in places if k < count] for outline, places in self.alike.items()}


def _common(xs: tuple[FailureSite, ...], ys: tuple[FailureSite, ...]) -> tuple[FailureSite, ...]:
    """The failure sites of two kernels that are the same, with the calls that both have."""
    calls = [_prefix(x.loc.calls, y.loc.calls) for x, y in zip(xs, ys, strict=True)]
    return tuple([replace(x, loc=x.loc.here.called(common)) for x, common in zip(xs, calls, strict=True)])


def _prefix(xs: tuple[Loc, ...], ys: tuple[Loc, ...]) -> tuple[Loc, ...]:
    return tuple([x for x, _ in takewhile(lambda pair: pair[0] == pair[1], zip(xs, ys, strict=False))])
