"""Loops whose states are a few elements: a variable for each element.

    loop z = a do .. z[0] .. z[1] .. in [u, v]
      ⟶  loop s = a[0], t = a[1] do let z = [s, t] .. z[0] .. z[1] .. in [u, v][0], [u, v][1];  z = [s, t]   [U-State]

Of vectors, quaternions, states of differential equations, sums for a block of a sparse matrix: inside of a map such an
array would be stored and loaded in each iteration. The elements are read, and updated, at places that are known at
compile time, so that the simplifier finds them in the literals. What else reads an array needs it in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..ir.core import (
    ArrayLit,
    Body,
    DimIndex,
    Exp,
    Fix,
    Index,
    Loop,
    Param,
    Prog,
    Soac,
    Stm,
    Update,
)
from ..ir.records import dataclass
from ..ir.traverse import bodies, free_in_stm, map_bodies, operands
from ..ir.types import Atom, Const, Name, Names, Type, Var, i64, scalar

MOST = 16
"""Elements of a state."""


def loosened(prog: Prog) -> Prog:
    """`prog` with such loops; the same one where there is none."""
    state = _States(Names(prog.next_name))
    functions = tuple(replace(f, body=state.body(f.body, inside=False)) for f in prog.functions)
    return Prog(prog.consts, functions, state.names.next) if state.fired else prog


@dataclass(slots=True)
class _States:
    names: Names
    fired: int = 0

    def body(self, body: Body, inside: bool) -> Body:
        """`inside` of a SOAC."""
        return Body(tuple(new for stm in body.stms for new in self.stm(stm, inside)), body.result)

    def stm(self, stm: Stm, inside: bool) -> Iterable[Stm]:
        within = inside or isinstance(stm.exp, Soac)
        stm = replace(stm, exp=map_bodies(lambda body: self.body(body, within), stm.exp))
        if not inside or not isinstance(stm.exp, Loop):
            return (stm,)
        states = [k for k in range(len(stm.exp.params)) if _is_state(stm.exp, k)]
        return self.loop(stm, stm.exp, states) if states else (stm,)

    def loop(self, stm: Stm, loop: Loop, states: list[int]) -> Iterator[Stm]:
        """The elements before the loop, the loop, and the arrays that it gives."""
        self.fired += 1
        params, pat = list[Param](), list[Param]()
        inits, results = list[Atom](), list[Atom]()
        before, behind, after = list[Stm](), list[Stm](), list[Stm]()
        for k, (param, init, result, given) in enumerate(
            zip(loop.params, loop.inits, loop.body.result, stm.pat, strict=True)
        ):
            if k not in states:
                params.append(param)
                inits.append(init)
                results.append(result)
                pat.append(given)
                continue
            row = scalar(param.type.prim)
            entered, parts, made, left = (self.elements(param, row) for _ in range(4))
            yield from self.read(stm, init, entered)
            before.append(replace(stm, pat=(param,), exp=_literal(parts, row), attrs=()))
            behind += self.read(stm, result, made)
            after.append(replace(stm, pat=(given,), exp=_literal(left, row), attrs=()))
            params += parts
            inits += _vars(entered)
            results += _vars(made)
            pat += left
        body = Body((*before, *loop.body.stms, *behind), tuple(results))
        yield replace(stm, pat=tuple(pat), exp=Loop(tuple(params), tuple(inits), loop.form, body))
        yield from after

    def elements(self, array: Param, row: Type) -> tuple[Param, ...]:
        """A variable for each element."""
        return tuple(Param(self.names.again(array.name), row) for _ in range(_count(array)))

    def read(self, stm: Stm, array: Atom, into: tuple[Param, ...]) -> list[Stm]:
        assert isinstance(array, Var), "arrays are variables"
        elements = ((x, Index(array.name, (Fix(i64(k)),), True)) for k, x in enumerate(into))
        return [replace(stm, pat=(x,), exp=element, attrs=()) for x, element in elements]


def _literal(elements: tuple[Param, ...], row: Type) -> ArrayLit:
    return ArrayLit(_vars(elements), row)


def _vars(params: Iterable[Param]) -> tuple[Var, ...]:
    return tuple(Var(param.name) for param in params)


def _count(array: Param) -> int:
    """How many elements an array of one dimension has; 0 where it has another number of them, or another one each
    time."""
    match array.type.shape:
        case (Const(_, count),):
            return int(count)
        case _:
            return 0


def _is_state(loop: Loop, k: int) -> bool:
    """Whether parameter `k` is read and updated at known places alone, and gets such an array or a literal again."""
    count = _count(loop.params[k])
    if not 0 < count <= MOST:
        return False
    versions, literals = {loop.params[k].name}, set[Name]()
    for stm in loop.body.stms:
        match stm.exp:
            case ArrayLit(elems) if len(elems) == count:
                literals.add(stm.pat[0].name)
            case Update(array, dims, value) if array in versions and _is_known(dims, count):
                if isinstance(value, Var) and value.name in versions:
                    return False
                versions.add(stm.pat[0].name)
            case _ if not _only_reads(stm, versions, count):
                return False
            case _:
                pass
    result = loop.body.result[k]
    return isinstance(result, Var) and result.name in versions | literals


def _only_reads(stm: Stm, arrays: set[Name], count: int) -> bool:
    """Whether of these arrays only elements at known places are read."""
    if arrays.isdisjoint(free_in_stm(stm)):
        return True
    inner: tuple[Body, ...] = bodies(stm.exp)
    if not inner:
        return _is_element(stm.exp, arrays, count)
    own = {atom.name for atom in operands(stm.exp) if isinstance(atom, Var)}
    given = {atom.name for body in inner for atom in body.result if isinstance(atom, Var)}
    return arrays.isdisjoint(own | given) and all(
        _only_reads(one, arrays, count) for body in inner for one in body.stms
    )


def _is_element(exp: Exp, arrays: set[Name], count: int) -> bool:
    return isinstance(exp, Index) and exp.array in arrays and _is_known(exp.dims, count)


def _is_known(dims: tuple[DimIndex, ...], count: int) -> bool:
    match dims:
        case (Fix(Const(_, at)),):
            return 0 <= int(at) < count
        case _:
            return False
