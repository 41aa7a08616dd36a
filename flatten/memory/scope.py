"""The statements of a body of the host that are changed together, and what is known of their names."""

from __future__ import annotations

from collections import Counter

from ...ir.core import Param, PrimOp, Stm
from ...ir.errors import Loc
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.traverse import free_in_stm
from ...ir.types import I64, Atom, Const, Name, Names, Prim, Type, Var, i64
from ..aliasing.classes import Sharing
from ..fusion.graph import node_of


@dataclass(slots=True)
class Scope:
    """The statements of a body of the host, where each of its names is bound and how many use it (the result counts as
    one); what is known of all names."""

    names: Names
    sharing: Sharing
    types: dict[Name, Type]
    defined: dict[Name, Stm]
    stms: list[Stm]
    uses: Counter[Name]
    places: dict[Name, int]

    def fresh(self, param: Param) -> Param:
        """A further version of the array `param`, which one statement uses."""
        made = Param(self.names.again(param.name), param.type)
        self.sharing.link(param.name, made.name)
        self.types[made.name] = made.type
        self.uses[made.name] = 1
        return made

    def change(self, stms: list[Stm]) -> None:
        """Other statements in place of those so far."""
        self.stms, self.places = stms, places_in(stms)


def uses_in(stms: list[Stm], result: tuple[Atom, ...]) -> Counter[Name]:
    """How many statements use a name; the result counts as one."""
    uses = Counter(name for stm in stms for name in free_in_stm(stm))
    uses.update({atom.name for atom in result if isinstance(atom, Var)})
    return uses


def places_in(stms: list[Stm]) -> dict[Name, int]:
    """Which statement binds a name."""
    return {p.name: k for k, stm in enumerate(stms) for p in stm.pat}


def may_move(sharing: Sharing, stm: Stm, between: list[Stm]) -> bool:
    """Whether nothing that the statement reads is overwritten in between."""
    reads = [name for name in free_in_stm(stm) if sharing.consumed(name)]
    written = {name for other in between for name in node_of(other).overwritten} if reads else set[Name]()
    return not any(sharing.same(x, y) for x in reads for y in written)


def op_in(scope: Scope, stms: list[Stm], op: Op, x: Atom, y: Atom, loc: Loc) -> Atom:
    """`x op y`, for sums and products of sizes."""
    if (op, x) == (Op.ADD, i64(0)) or (op, x) == (Op.MUL, i64(1)):
        return y
    if (op, y) == (Op.MUL, i64(1)):
        return x
    if op is Op.ADD and isinstance(x, Const) and isinstance(y, Const):
        return i64(int(x.value) + int(y.value))
    param = Param(scope.names.fresh("at"), I64)
    stms.append(Stm((param,), PrimOp(op, Prim.I64, (x, y)), (), (), loc))
    scope.defined[param.name] = stms[-1]
    return Var(param.name)
