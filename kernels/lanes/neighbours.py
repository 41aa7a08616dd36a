"""Loads of neighbours: what they share comes from registers.

    threads i in lo..hi { x[i-1] .. x[i] .. x[i+1] }

A group of 4 vectors of 16 lanes reads x[i-1 .. i+62], x[i .. i+63] and x[i+1 .. i+64]: 12 vectors, most of which lie
across two lines of the cache, while 66 elements are different. So only the first of such loads is done as it stands.
Of another one, `shift` elements further on, all vectors but the last are made of two of the first,

    x[i + shift + 16*k ..] = the elements from `shift` on of x[i + 16*k ..] and x[i + 16*(k+1) ..],

which is one instruction where vectors have 64 bytes and the target has such vectors.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.polynomials import Monomial
from ...ir.records import dataclass
from ..kernel_ir.affine import Environment
from ..kernel_ir.nodes import KArray, Kernel, KLet, KLoad, KStm, KVar
from ..kernel_ir.traverse import assigned, children, statements, stored_arrays

SMALLEST = 4
"""Bytes of the elements whose vectors are shifted by one instruction."""

Row = tuple[KArray, tuple[tuple[Monomial[str], int], ...]]
"""An array, and an index into it but for a constant."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A load made before in the same list of statements, and how many elements further on this one is."""

    source: KVar
    shift: int


Near = dict[str, Neighbour]
"""Of a list of statements: the variables of loads that are near others of the list, with these."""


def neighbours(kernel: Kernel) -> dict[int, Near]:
    """For the lists of statements of a kernel, by identity, what is near each other: less than a vector away. Passes
    write lists out again with the names that they had, so a list that stands in several places has none where these
    disagree."""
    assert kernel.lanes is not None, "lanes are chosen before a kernel is printed"
    found: dict[int, Near] = {}
    for place, near in _found(Environment(assigned(kernel.body)), kernel.body, kernel.lanes.width):
        found[place] = near if found.get(place, near) == near else {}
    return {place: near for place, near in found.items() if near}


def _found(known: Environment, stms: tuple[KStm, ...], width: int) -> Iterator[tuple[int, Near]]:
    firsts: dict[Row, list[tuple[int, KVar]]] = {}
    found: Near = {}
    for stm in stms:
        match stm:
            case KLet(var, KLoad(array, index)) if array.prim.bytes >= SMALLEST:
                poly = dict(known.of(index))
                place = poly.pop((), 0)
                others = firsts.setdefault((array, tuple(sorted(poly.items()))), [])
                near = [Neighbour(first, place - at) for at, first in others if 0 < abs(place - at) < width]
                if near:
                    found[var.name] = near[0]
                else:
                    others.append((place, var))
            case _:
                written = {array for inner in statements((stm,)) for array in stored_arrays(inner)}
                firsts = {row: loads for row, loads in firsts.items() if row[0] not in written}
                for inside in children(stm):
                    yield from _found(known, inside, width)
        if isinstance(stm, KLet):
            known.note(stm)
    yield id(stms), found
