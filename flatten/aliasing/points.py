"""Results of a nest of maps as the scalar code of its points.

    map (λi → if c then row else map (λx → e) row)     element (i, j):  if c then row[j] else let x = row[j] in e

Rows are read element by element; branches that give rows are branches that give their elements.
"""

from __future__ import annotations

from collections.abc import Collection

from ...ir.basic import is_iota, whole
from ...ir.core import Body, Copied, Copy, Fix, If, Index, Param, Rearrange, Screma, Stm
from ...ir.records import dataclass
from ...ir.rename import rename_body
from ...ir.traverse import bound_in_body, free_in_body
from ...ir.types import Atom, Name, Names, Prim, Type, Var
from .regions import is_plain, is_plain_stm


def point_of(
    names: Names, stm: Stm, results: tuple[int, ...], at: tuple[Name, ...], numbers: Collection[Name]
) -> Body | None:
    """The code of the elements of these results of a map at the indices `at`, under fresh names; None where a row is
    more than maps, branches and views. `numbers`: the arrays that number their elements."""
    stms: list[Stm] = []
    points = _Points(names, Type(Prim.I64, ()), numbers, {}, stm, stms, set())
    atoms: list[Atom] = []
    for result in results:
        points.element = Type(stm.pat[result].type.prim, ())
        atom = points.of_map(stm, result, tuple(map(Var, at)), stms)
        if atom is None:
            return None
        atoms.append(atom)
    body = Body(tuple(stms), tuple(atoms))
    inside = bound_in_body(Body((stm,), ()))
    known = is_plain(body) and inside.keys().isdisjoint(free_in_body(body))
    return rename_body(body, names) if known else None


@dataclass(slots=True)
class _Points:
    """The type of an element, what the bodies on the way have `made`, the map of which all are points, and their code
    outside of branches, with the maps whose scalars are there by now, by the first names that these bind."""

    names: Names
    element: Type
    numbers: Collection[Name]
    made: dict[Name, Stm]
    stm: Stm
    code: list[Stm]
    walked: set[Name]

    def of_map(self, stm: Stm, result: int, at: tuple[Atom, ...], out: list[Stm]) -> Atom | None:
        """Element `at` of what a map gives."""
        match stm.exp:
            case Screma(_, arrays, f, (), ()) if not stm.attrs and (stm is self.stm or not stm.certs):
                pass
            case _:
                return None
        if out is self.code:
            if stm.pat[0].name in self.walked:
                return self.of_result(f.body, result, at[1:], out)
            self.walked.add(stm.pat[0].name)
        for array, param in zip(arrays, f.params, strict=True):
            counts = array in self.numbers or (array in self.made and is_iota(self.made[array].exp))
            row = Copied(at[0]) if counts else Index(array, (Fix(at[0]), *whole(param.type.shape)), True)
            out.append(Stm((param,), row, (), (), stm.loc))
        return self.of_body(f.body, result, at[1:], out)

    def of_body(self, body: Body, result: int, at: tuple[Atom, ...], out: list[Stm]) -> Atom | None:
        """Element `at` of what a body gives, after its scalars and views."""
        self.made.update((p.name, stm) for stm in body.stms for p in stm.pat)
        out += [stm for stm in body.stms if is_plain_stm(stm)]
        return self.of_result(body, result, at, out)

    def of_result(self, body: Body, result: int, at: tuple[Atom, ...], out: list[Stm]) -> Atom | None:
        """Element `at` of what a body gives, whose scalars are there."""
        return self.of(body.result[result], at, out) if at else body.result[result]

    def of(self, array: Atom, at: tuple[Atom, ...], out: list[Stm]) -> Atom | None:
        """`array[at]`, of what a body has made or what is from outside."""
        assert isinstance(array, Var), "an array is a variable"
        stm = self.made.get(array.name)
        if stm is None:
            return self.let(Index(array.name, tuple(map(Fix, at)), True), self.stm, out)
        result = [p.name for p in stm.pat].index(array.name)
        match stm.exp:
            case Index() | Rearrange():
                return self.let(Index(array.name, tuple(map(Fix, at)), True), stm, out)
            case If(cond, then, orelse) if not stm.attrs:
                sides = tuple(self.side(body, result, at) for body in (then, orelse))
                return None if None in sides else self.let(If(cond, *(s for s in sides if s is not None)), stm, out)
            case Copied(Var() as source):
                return self.of(source, at, out)
            case Copy(source):
                return self.of(Var(source), at, out)
            case _:
                return self.of_map(stm, result, at, out)

    def side(self, body: Body, result: int, at: tuple[Atom, ...]) -> Body | None:
        """Of a side of a branch that gives rows, the code of an element."""
        stms: list[Stm] = []
        atom = self.of_body(body, result, at, stms)
        return None if atom is None else Body(tuple(stms), (atom,))

    def let(self, exp: Index | If, stm: Stm, out: list[Stm]) -> Var:
        param = Param(self.names.fresh("x"), self.element)
        out.append(Stm((param,), exp, () if stm is self.stm else stm.certs, (), stm.loc))
        return Var(param.name)
