"""What points cost that read neighbours, where lanes lie on the innermost dimension: loads, arithmetic, stores.

Points that several others compute again share what they load: five points of a five-point stencil load 13 elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from ...ir.core import Body, Fix, If, Index, PrimOp, SegMap, SegRed, SegScan, Stm
from ...ir.ops import EXPENSES, Expense, Op
from ...ir.records import dataclass
from ...ir.types import Atom, Const, Name, Prim
from ..context.recompute_cost import weight_of

LOAD, STORE = 2.0, 2.0
"""Most vectors lie across two lines of the cache."""
ARITHMETIC: Mapping[Expense, float] = {
    Expense.INSTRUCTION: 0.5, Expense.FEW: 2.0, Expense.DIVISION: 8.0, Expense.CALL: 20.0,
}  # fmt: skip
"""Two instructions begin at once."""

Place = tuple[Name | None, int] | Atom
"""An index with a number added, a number (of no index), or something else."""
Element = tuple[Name, tuple[Place, ...]]


@dataclass(frozen=True, slots=True)
class Points:
    """What a point loads, and what its arithmetic costs."""

    loads: Set[Element]
    arithmetic: float

    def cost(self, stores: int) -> float:
        return LOAD * len(self.loads) + self.arithmetic + STORE * stores


def points_of(body: Body, indices: Sequence[Name]) -> Points:
    """What a point of a body without arrays of its own loads and computes; both sides of a branch are computed."""
    places: dict[Name, Place] = {name: (name, 0) for name in indices}
    loads = set[Element]()
    return Points(loads, sum(_arithmetic(stm, places, loads) for stm in body.stms))


def _arithmetic(stm: Stm, places: dict[Name, Place], loads: set[Element]) -> float:
    """What a statement's arithmetic costs; records the place that it is, or what it loads."""
    match stm.exp:
        case Index(array, dims) if all(isinstance(dim, Fix) for dim in dims):
            loads.add((array, tuple(place_in(places, dim.index) for dim in dims if isinstance(dim, Fix))))
        case PrimOp(Op.ADD | Op.SUB as op, Prim.I64, (x, Const(_, by))) if isinstance(at := place_in(places, x), tuple):
            places[stm.pat[0].name] = at[0], at[1] + (int(by) if op is Op.ADD else -int(by))
        case PrimOp(op):
            return ARITHMETIC[EXPENSES[op]]
        case If(_, then, orelse):
            return 1.0 + sum(_arithmetic(one, places, loads) for one in (*then.stms, *orelse.stms))
        case exp:
            return weight_of(exp)
    return 0.0


def place_in(places: Mapping[Name, Place], atom: Atom) -> Place:
    """The place that an atom is."""
    return (None, int(atom.value)) if isinstance(atom, Const) else places.get(atom.name, atom)


def shifted(points: Points, indices: Sequence[Name], at: Sequence[Place]) -> Set[Element]:
    """What a point loads at another place."""
    by = dict(zip(indices, at, strict=True))

    def moved(place: Place) -> Place:
        if not isinstance(place, tuple) or place[0] is None:
            return place
        to = by[place[0]]
        return (to[0], to[1] + place[1]) if isinstance(to, tuple) else to

    return {(array, tuple(map(moved, places))) for array, places in points.loads}


def excess(made: SegMap, reader: SegMap | SegRed | SegScan, arrays: Set[Name]) -> float:
    """What a point of a reader of `arrays` costs more if it computes them, less what storing and loading them costs.
    The units are about a vector instruction of a core."""
    first, second = points_of(made.body, made.space.indices), points_of(reader.body, reader.space.indices)
    at = {places for array, places in second.loads if array in arrays}
    loads = {element for element in second.loads if element[0] not in arrays}
    for places in at:
        loads |= shifted(first, made.space.indices, places)
    together = Points(loads, second.arithmetic + len(at) * first.arithmetic)
    return together.cost(0) - first.cost(len(arrays)) - second.cost(0)
