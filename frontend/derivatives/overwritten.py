"""What a loop keeps of its iterations for the way back: the values of its parameters; of an array that is updated in
place the places, and what stood there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...ir.core import Body, Convert, Copied, DimIndex, Index, Loop, Param, PrimOp, Scratch, Slice, Stm, Update
from ...ir.records import dataclass
from ...ir.rename import substitute_body, substitute_exp
from ...ir.traverse import free_in_body, free_in_stm, index_atoms, live
from ...ir.types import Atom, Name, Type, Var
from ..building.code import Carried, Code


@dataclass(frozen=True, slots=True)
class Overwritten:
    """The updates of an array in an iteration of a loop; of each what stood there, and of indices their values, in
    `arrays` over the iterations, by the names in the loop."""

    loop: Loop
    updates: tuple[Stm, ...]
    arrays: Mapping[Atom, Var]

    def restored(self, code: Code, array: Var, at: Atom, mapping: Mapping[Name, Atom]) -> tuple[Var, Var]:
        """The array before iteration `at`, from what it is afterwards, and what its first update writes over.
        `mapping`: the loop's index as it is here."""
        old = array
        for stm in reversed(self.updates):
            update = stm.exp
            assert isinstance(update, Update)
            known = {i.name: self.index(code, i, at, mapping) for i in _atoms(update)}
            undone = substitute_exp(update, known)
            assert isinstance(undone, Update)
            old = code.at(self.arrays[Var(stm.pat[0].name)], at)
            exp = Update(array.name, undone.dims, old, True)
            array = code.let(array.name.base, exp, code.types[array.name])
        return array, old

    def index(self, code: Code, atom: Var, at: Atom, mapping: Mapping[Name, Atom]) -> Atom:
        """The value of an index at iteration `at`."""
        return code.at(self.arrays[atom], at) if atom in self.arrays else computed(code, self.loop, atom, mapping)


def updates_of(loop: Loop, k: int) -> list[Stm] | None:
    """The updates from parameter `k`, an array, to its next value, if there is nothing else in between and they write
    parts of known size, which the body does not read."""
    made = {p.name: stm for stm in loop.body.stms for p in stm.pat}
    found: list[Stm] = []
    atom = loop.body.result[k]
    while atom != Var(loop.params[k].name):
        stm = made.get(atom.name) if isinstance(atom, Var) else None
        match stm.exp if stm else None:
            case Update(array, dims, _, _) if stm and _is_part(dims, made):
                found.append(stm)
                atom = Var(array)
            case Copied(source):
                atom = source
            case _:
                return None
    own = {stm.pat[0].name for stm in found}
    users = [stm for stm in loop.body.stms if any(name in own for name in free_in_stm(stm))]
    is_read = any(stm not in found and not isinstance(stm.exp, Copied) for stm in users)
    return None if is_read else found[::-1] or None


def computed(code: Code, loop: Loop, atom: Var, mapping: Mapping[Name, Atom]) -> Atom:
    """Computes a scalar once more that follows from the index of a loop; `mapping` has that."""
    body = code.fresh_body(substitute_body(_computed(loop, atom) or Body((), (atom,)), mapping))
    code.stms += body.stms
    return body.result[0]


def _computed(loop: Loop, atom: Atom) -> Body | None:
    """What computes a scalar from the index of a loop and what is outside, by arithmetic. It has been computed before,
    so that it needs no certificates."""
    body = live(Body(tuple([replace(stm, certs=()) for stm in loop.body.stms]), (atom,)))
    bound = {p.name for p in (*loop.params, *[p for stm in loop.body.stms for p in stm.pat])}
    is_plain = all(isinstance(stm.exp, PrimOp | Convert | Copied) for stm in body.stms)
    return body if is_plain and bound.isdisjoint(free_in_body(body)) else None


def _is_part(dims: Sequence[DimIndex], made: Mapping[Name, Stm]) -> bool:
    """Whether the dims are those of a part, of a size that is known outside."""
    counts = [dim.count for dim in dims if isinstance(dim, Slice)]
    return len(counts) < len(dims) and not any(isinstance(count, Var) and count.name in made for count in counts)


class Kept(Carried):
    """Further parameters of a loop: arrays over its iterations."""

    __slots__ = ("at", "count", "inner", "keys")

    def __init__(self, code: Code, inner: Code, count: Atom, at: Atom) -> None:
        super().__init__(code)
        self.inner, self.count, self.at = inner, count, at
        self.keys: list[Atom] = []

    def keep(self, value: Var, key: Atom | None = None) -> None:
        """Keeps `value` of each iteration, by its name or `key`."""
        if (key or value) in self.keys:
            return
        type = self.code.type_of(value).array_of(self.count)
        array = self.enter(value.name.base + "s", self.code.let("states", Scratch(type), type), type)
        self.keys.append(key or value)
        self.nexts.append(self.inner.put(array, (self.at,), value))

    def overwritten(self, stm: Stm) -> None:
        """Keeps what an update, which comes next, writes over."""
        update = stm.exp
        assert isinstance(update, Update)
        type = stm.pat[0].type
        part = Type(type.prim, tuple([dim.count for dim in update.dims if isinstance(dim, Slice)]))
        self.inner.loc = stm.loc
        old = self.inner.let("old", Index(update.array, update.dims, update.safe), part)
        self.keep(old, Var(stm.pat[0].name))

    def places(self, loop: Loop, stm: Stm) -> None:
        """Keeps the indices of an update that are not easy to compute again."""
        for atom in _atoms(stm.exp):
            if _computed(loop, atom) is None:
                self.keep(atom)

    def arrays(self, results: Sequence[Param]) -> dict[Atom, Var]:
        """The arrays after the loop, by the keys."""
        return {key: Var(p.name) for key, p in zip(self.keys, results, strict=True)}


def _atoms(exp: object) -> Iterator[Var]:
    """The names among the indices of an update."""
    assert isinstance(exp, Update)
    return (atom for atom in index_atoms(exp.dims) if isinstance(atom, Var))
