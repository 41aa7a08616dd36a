"""Which iterations of a loop use the same part of an array, by indices that are linear in the loop's index.

    loop ys for i < n do ys with [i + 1] = f ys[i]

No iteration writes what this one or an earlier one has read, so that the array after the loop has all that was read;
and each writes a part of its own, which has its last value there.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ...ir.core import Convert, Copied, DimIndex, Exp, Fix, ForLoop, Index, Loop, PrimOp, Stm, Update
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.traverse import all_stms, free_in_body, operands, scoped_bodies
from ...ir.types import Atom, Const, Name, Prim, Var

Form = Mapping[Name | None, int]
"""A sum of names with factors; None: one."""


@dataclass(frozen=True, slots=True)
class Indices:
    """What is known of the indices in a `for` loop: the loop's index, what comes from `outside`, what its body binds by
    one expression."""

    index: Name
    outside: Container[Name]
    made: Mapping[Name, Exp]

    def form(self, atom: Atom) -> Form | None:
        """`atom` as a sum of the loop's index and names from outside."""
        match atom:
            case Const(_, value):
                return {None: int(value)}
            case Var(name) if name == self.index or name in self.outside:
                return {name: 1}
            case Var(name):
                return self._computed(self.made.get(name))

    def _computed(self, exp: Exp | None) -> Form | None:
        match exp:
            case Copied(atom):
                return self.form(atom)
            case Convert(source, Prim.I64, Var(self.index)) if source.is_signed:
                return {self.index: 1}
            case PrimOp(Op.ADD | Op.SUB | Op.MUL as op, Prim.I64, (x, y)):
                a, b = self.form(x), self.form(y)
                if a is None or b is None:
                    return None
                if op is not Op.MUL:
                    return _sum(a, b, 1 if op is Op.ADD else -1)
                return next((_sum({}, f, k[None]) for f, k in ((a, b), (b, a)) if k.keys() <= {None} and k), None)
            case _:
                return None

    def turns(self, here: Sequence[DimIndex], there: Sequence[DimIndex]) -> int | None:
        """How many iterations later `there` is the part that is `here` now; -1: earlier or never. None is unknown."""
        found = None
        for dim, other in zip(here, there, strict=True):
            if not isinstance(dim, Fix) or not isinstance(other, Fix):
                continue
            x, y = self.form(dim.index), self.form(other.index)
            if x is None or y is None or not (apart := _sum(x, y, -1)).keys() <= {None}:
                continue
            step, distance = y.get(self.index, 0), apart.get(None, 0)
            if step == 0 and distance == 0:
                continue
            turns = -1 if step == 0 or distance % step else distance // step
            if turns < 0 or found not in (None, turns):
                return -1
            found = turns
        return found


def _sum(x: Form, y: Form, factor: int) -> Form:
    total = {name: x.get(name, 0) + factor * y.get(name, 0) for name in (*x, *y)}
    return {name: k for name, k in total.items() if k}


def indices_of(loop: Loop) -> Indices:
    """The indices in a `for` loop."""
    assert isinstance(loop.form, ForLoop)
    made = {stm.pat[0].name: stm.exp for stm in all_stms(loop.body) if len(stm.pat) == 1}
    params = {p.name for p in loop.params}
    return Indices(loop.form.index, [n for n in free_in_body(loop.body) if n not in params], made)


def keeps_what_it_reads(loop: Loop, k: int, updates: Sequence[Stm]) -> bool:
    """Whether parameter `k`, whose next value `updates` make, has after the loop what its iterations read of it."""
    name, indices = loop.params[k].name, indices_of(loop)
    written = [stm.exp for stm in updates]
    made = {stm.pat[0].name for stm in updates}
    for stm in all_stms(loop.body):
        used = {atom.name for atom in operands(stm.exp) if isinstance(atom, Var)}
        inner = {atom.name for _, body in scoped_bodies(stm.exp) for atom in body.result if isinstance(atom, Var)}
        if name in inner or not made.isdisjoint(inner):
            return False
        match stm.exp:
            case Update() if stm in updates:
                pass
            case Index(array, dims, _) if array == name:
                later = [indices.turns(dims, exp.dims) for exp in written if isinstance(exp, Update)]
                if any(turns != -1 for turns in later):
                    return False
            case Copied(Var(other)) if other in made:
                made.add(stm.pat[0].name)
            case _ if name in used or not made.isdisjoint(used):
                return False
            case _:
                pass
    results = [atom.name for atom in loop.body.result if isinstance(atom, Var)]
    return name not in results and sum(result in made for result in results) == 1


def writes_apart(loop: Loop, dims: Sequence[DimIndex]) -> bool:
    """Whether each iteration has a part of its own at `dims`."""
    return indices_of(loop).turns(dims, dims) == 0
