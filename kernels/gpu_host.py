"""What the host decides before a launch of a GPU's schedule: by sizes alone, so that results do not depend on load."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.errors import Loc
from ..ir.ops import Op
from ..ir.types import Atom, Const, i64
from .host import HostBody, HostIf
from .hostbuild import HostBuilder

_HOLDS = {Op.LE: int.__le__, Op.LT: int.__lt__, Op.GE: int.__ge__}


def chosen(
    h: HostBuilder, test: Op, size: Atom, bound: int, then: Callable[[], None], orelse: Callable[[], None], loc: Loc
) -> None:
    """`if size test bound then .. else ..`; decided here where the size is known."""
    if isinstance(size, Const):
        (then if _HOLDS[test](int(size.value), bound) else orelse)()
        return
    cond = h.op(test, size, i64(bound), base="is")
    saved, bodies = h.out, []
    for emit in (then, orelse):
        h.out = []
        emit()
        bodies.append(HostBody(tuple(h.out), ()))
    h.out = saved
    h.emit((), HostIf(cond, *bodies), loc)


def powers_of_two(h: HostBuilder, size: Atom, most: int, base: str) -> Atom:
    """The least power of two that is not below `size`, or `most`."""
    if isinstance(size, Const):
        return i64(min(most, 1 << max(0, int(size.value) - 1).bit_length()))
    found: Atom = i64(most)
    power = most // 2
    while power:
        found = h.choice(h.op(Op.LE, size, i64(power)), i64(power), found, base)
        power //= 2
    return found
