r"""Reductions of planes of an array that do not lie together: of the columns of each plane first.

    map b (\m → reduce_comm ⊙ d (flatten m)) (rearrange (1, 0, 2) xs)                       m : [a][c]
    ⟶  let ts = map b (\m → map c (reduce_comm ⊙ d) (transpose m)) (rearrange (1, 0, 2) xs)
       in map b (reduce_comm ⊙ d) ts

A plane would be copied to be flat, or its elements found by division. Columns are those of the array as it is stored,
which is read once, row by row. The map before the reduction comes along; other statements of the body stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..frontend.building.code import Code
from ..ir.core import Body, Lambda, Param, Prog, Rearrange, Reshape, Screma, Stm
from ..ir.records import dataclass
from ..ir.traverse import bound_in_body, free_in_stm, host_stms, types_in
from ..ir.types import Atom, Name, Names, Type, Var
from .simplify.driver import simplify


def column_reductions(prog: Prog) -> Prog:
    """`prog` with such reductions in maps of the host, those of reductions and scans too, by columns; simplified, if
    there are any."""
    state = _Splitter(Names(prog.next_name), types_in(prog))
    functions = tuple([replace(f, body=state.host(f.body)) for f in prog.functions])
    same = state.names.next == prog.next_name
    return prog if same else simplify(Prog(prog.consts, functions, state.names.next))


@dataclass(frozen=True, slots=True)
class _Planes:
    """A reduction of elements of planes: its place in the body of the map, and the positions of the planes among what
    the map is given."""

    at: int
    exp: Screma
    inputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Splitter:
    names: Names
    types: dict[Name, Type]

    def host(self, body: Body) -> Body:
        turned = {stm.pat[0].name for stm in body.stms if isinstance(stm.exp, Rearrange) and stm.exp.perm[0] != 0}
        stms = [new for stm in host_stms(self.host, body) for new in self.statement(stm, turned)]
        return Body(tuple(stms), body.result)

    def statement(self, stm: Stm, turned: set[Name]) -> Iterator[Stm]:
        """A map or what it is part of, with the columns of its planes reduced before."""
        soac = stm.exp
        while isinstance(soac, Screma) and (found := planes_of(soac, turned)) is not None:
            code = Code(self.names, self.types, stm.loc)
            soac = self.split(code, soac, found)
            yield from code.stms
        yield replace(stm, exp=soac)

    def split(self, code: Code, soac: Screma, found: _Planes) -> Screma:
        """The map that is given what columns give, which `code` computes."""
        reds = found.exp.reds
        height, width = soac.map.params[found.inputs[0]].type.shape

        def columns(inner: Code, planes: Sequence[Var]) -> Sequence[Atom]:
            return inner.map(width, [inner.rearrange((1, 0), m) for m in planes], column)

        def column(inner: Code, rows: Sequence[Var]) -> Sequence[Atom]:
            f = inner.fresh_lambda(found.exp.map)
            ops = tuple([replace(red, op=inner.fresh_lambda(red.op)) for red in reds])
            return inner.screma(Screma(height, tuple([r.name for r in rows]), f, (), ops))

        made = code.map(soac.width, [Var(soac.arrays[k]) for k in found.inputs], columns)
        given = [code.param("columns", code.type_of(t).row()) for t in made]
        last = Screma(width, *code.as_they_are([Var(p.name) for p in given]), (), reds)
        return given_more(soac, found.at, last, made, given)


def given_more(soac: Screma, at: int, exp: Screma, arrays: Sequence[Var], params: Sequence[Param]) -> Screma:
    """A map over more arrays, with another expression for a statement of its body."""
    stms = list(soac.map.body.stms)
    stms[at] = replace(stms[at], exp=exp)
    f = replace(soac.map, params=(*soac.map.params, *params), body=replace(soac.map.body, stms=tuple(stms)))
    return replace(soac, arrays=(*soac.arrays, *(a.name for a in arrays)), map=f)


def planes_of(soac: Screma, turned: set[Name]) -> _Planes | None:
    """The first reduction of scalars in the body of a map whose operands are all elements of planes, in any order, and
    that depends on nothing else of the body."""
    inner = {*(p.name for p in soac.map.params), *bound_in_body(soac.map.body)}
    planes = {
        p.name: k
        for k, (p, array) in enumerate(zip(soac.map.params, soac.arrays, strict=True))
        if array in turned and p.type.rank == 2
    }
    flat: dict[Name, int] = {}
    for at, stm in enumerate(soac.map.body.stms):
        match stm.exp:
            case Reshape((_,), array) if array in planes:
                flat[stm.pat[0].name] = planes[array]
            case Screma(_, arrays, f, (), reds) as exp if arrays and reds and flat.keys() >= set(arrays):
                inputs = tuple([flat[name] for name in arrays])
                alone = inner.isdisjoint(name for name in free_in_stm(stm) if name not in arrays)
                comm = all(red.comm for red in reds) and len({_shape(soac, k) for k in inputs}) == 1
                if alone and comm and _gives_scalars(f, exp.num_reds):
                    return _Planes(at, exp, inputs)
            case _:
                pass
    return None


def _gives_scalars(f: Lambda, count: int) -> bool:
    return len(f.ret) == count and not any(t.shape for t in f.ret)


def _shape(soac: Screma, k: int) -> tuple[Atom, ...]:
    return soac.map.params[k].type.shape
