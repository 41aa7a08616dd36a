r"""What a map reads at the number of its row becomes an input of the map, whose adjoint is a map's result.

map (\i -> .. a[k, i] ..) (iota n)   ⟶   map (\x -> .. x ..) a[k]      where a[k] has n elements
(a..b)[i]   ⟶   a + i
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.core import (
    Body,
    Copied,
    DimIndex,
    Exp,
    Fix,
    ForLoop,
    Index,
    Iota,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Screma,
    Slice,
)
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.traverse import bound_in_body, free_in_body, map_bodies
from ...ir.types import Atom, Const, Name, Prim, Type, Var, i64
from ..building.code import Code, is_whole

Bounds = Mapping[Name, Atom]


def with_inputs(code: Code, body: Body, ranges: Mapping[Name, Iota], below: Bounds) -> Body:
    """`body` whose maps have what they read at their row's number as inputs. `ranges`: arrays of numbers; `below`:
    numbers that are natural and below a bound."""
    inner, ranges = code.inside(), dict(ranges)
    numbers = {name: made.count for name, made in ranges.items() if _is_natural(made)}
    for stm in body.stms:
        inner.loc = stm.loc
        known = below
        match stm.exp:
            case Iota(count) as made:
                ranges[stm.pat[0].name] = made
                if _is_natural(made):
                    numbers[stm.pat[0].name] = count
            case Index(array, (Fix(at),), True) if array in ranges and ranges[array].prim is Prim.I64:
                stm = replace(stm, exp=_number(inner, ranges[array], at))
            case Screma(arrays=arrays, map=f):
                known = {**below, **{p.name: numbers[a] for a, p in zip(arrays, f.params, strict=True) if a in numbers}}
            case Loop(form=ForLoop(index, bound)):
                known = {**below, index: bound}
            case _:
                pass
        exp = map_bodies(lambda body, known=known: with_inputs(inner, body, ranges, known), stm.exp)
        if isinstance(exp, Screma) and not exp.scans and not exp.reds:
            for array, param in list(zip(exp.arrays, exp.map.params, strict=True)):
                if numbers.get(array) == exp.width:
                    exp = _extended(inner, exp, param.name, below)
        inner.keep(replace(stm, exp=exp))
    return inner.body(body.result)


def _is_natural(made: Iota) -> bool:
    return (made.start, made.step) == (i64(0), i64(1))


def _number(code: Code, made: Iota, at: Atom) -> Exp:
    """Element `at` of a range."""
    return PrimOp(Op.ADD, Prim.I64, (made.start, code.op(Op.MUL, at, made.step)))


def _extended(code: Code, exp: Screma, number: Name, below: Bounds) -> Screma:
    """The map with what it reads at `number` as further inputs; without those that are not used any more."""
    bound = {*bound_in_body(exp.map.body), *[p.name for p in exp.map.params]}
    reads = _Reads(code, exp.width, number, bound, below, {})
    body = reads.body(exp.map.body)
    used = free_in_body(body)
    pairs = [(a, p) for a, p in zip(exp.arrays, exp.map.params, strict=True) if p.name != number or p.name in used]
    pairs += reads.found.values()
    f = Lambda(tuple([p for _, p in pairs]), body, exp.map.ret)
    return replace(exp, arrays=tuple([a for a, _ in pairs]), map=f) if reads.found else exp


@dataclass(frozen=True, slots=True)
class _Reads:
    """What is read at `number`, from arrays that are not `bound` in the map: the new inputs and parameters."""

    code: Code
    width: Atom
    number: Name
    bound: set[Name]
    below: Bounds
    found: dict[tuple[Name, tuple[DimIndex, ...]], tuple[Name, Param]]

    def body(self, body: Body) -> Body:
        """The body with reads replaced by parameters."""
        stms = []
        for stm in body.stms:
            match stm.exp:
                case Index(array, dims, safe) if self.is_row(array, dims, safe):
                    stms.append(replace(stm, exp=Copied(self.input(array, dims))))
                case exp:
                    stms.append(replace(stm, exp=map_bodies(self.body, exp)))
        return Body(tuple(stms), body.result)

    def is_row(self, array: Name, dims: tuple[DimIndex, ...], safe: bool) -> bool:
        """Whether all rows together read a part of `array` that is there even if there are no rows."""
        own = Fix(Var(self.number))
        if array in self.bound or dims.count(own) != 1:
            return False
        shape = self.code.types[array].shape
        if shape[dims.index(own)] != self.width:
            return False
        return all(dim == own or self.is_outside(dim, size, safe) for dim, size in zip(dims, shape, strict=True))

    def is_outside(self, dim: DimIndex, size: Atom, safe: bool) -> bool:
        match dim:
            case Fix(Const(value=place)):
                return safe or (isinstance(size, Const) and 0 <= place < size.value)
            case Fix(Var(name)):
                return name not in self.bound and (safe or self.below.get(name) == size)
            case _:
                return is_whole(dim, size)

    def input(self, array: Name, dims: tuple[DimIndex, ...]) -> Var:
        """The parameter for a read; makes the input where it is the first of its kind."""
        key = array, dims
        if key not in self.found:
            made = self.rows(array, dims, dims.index(Fix(Var(self.number))))
            self.found[key] = made.name, self.code.param(array.base, self.code.types[made.name].row())
        return Var(self.found[key][1].name)

    def rows(self, array: Name, dims: tuple[DimIndex, ...], at: int) -> Var:
        """The part of `array` that all rows read, with these as its rows."""
        code, type = self.code, self.code.types[array]
        dims = (*dims[:at], Slice(i64(0), self.width, i64(1)), *dims[at + 1 :])
        part = Var(array)
        kept = [k for k, dim in enumerate(dims) if isinstance(dim, Slice)]
        if len(kept) < len(dims):
            part = code.let(array.base, Index(array, dims, True), Type(type.prim, tuple([type.shape[k] for k in kept])))
        place = kept.index(at)
        return code.rearrange((place, *[k for k in range(len(kept)) if k != place]), part)
