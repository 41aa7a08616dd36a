"""Views of views give the elements that NumPy gives: rearranged, sliced, reshaped, row by row, of what is stored,
replicated, written out or made by a map."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.flatten.simplify.driver import simplify
from soac.ir.check import Stage, check
from soac.ir.core import (
    ArrayLit,
    Body,
    DimIndex,
    Exp,
    Fix,
    FunDef,
    Index,
    Lambda,
    Param,
    PrimOp,
    Prog,
    Rearrange,
    Replicate,
    Reshape,
    Screma,
    Slice,
    Stm,
)
from soac.ir.entry_points import Entry, EntryParam, EntryResult
from soac.ir.errors import NOWHERE
from soac.ir.interpret import interpret
from soac.ir.ops import Op
from soac.ir.types import I64, Atom, Const, Name, Names, Prim, Type, Var, i64

N, XS = Name("n", 1), Name("xs", 2)
SCALAR = Type(Prim.I32, ())


def type_of(shape: tuple[int, ...]) -> Type:
    return Type(Prim.I32, tuple(map(i64, shape)))


@dataclass(slots=True)
class Code:
    """Statements, how fresh names are made, and how many elements `xs` has."""

    size: int
    names: Names = field(default_factory=lambda: Names(10))
    stms: list[Stm] = field(default_factory=list)

    def let(self, exp: Exp, type_: Type) -> Name:
        param = Param(self.names.fresh("v"), type_)
        self.stms.append(Stm((param,), exp, (), (), NOWHERE))
        return param.name

    def inner(self) -> Code:
        return Code(self.size, self.names)


def stored(code: Code, values: np.ndarray) -> Name:
    return code.let(Reshape(tuple(map(i64, values.shape)), XS), type_of(values.shape))


def literal(code: Code, values: np.ndarray) -> Name:
    """Every element loaded, then written out."""
    if values.ndim == 0:
        return code.let(Index(XS, (Fix(i64(int(values))),), True), SCALAR)
    parts = tuple(Var(literal(code, row)) for row in values)
    return code.let(ArrayLit(parts, type_of(values.shape[1:])), type_of(values.shape))


def mapped(code: Code, array: Name, shape: tuple[int, ...]) -> Name:
    """x + 1 for all elements, by a map for each dimension."""
    inner, row = code.inner(), Param(code.names.fresh("row"), type_of(shape[1:]))
    if shape[1:]:
        result = mapped(inner, row.name, shape[1:])
    else:
        result = inner.let(PrimOp(Op.ADD, Prim.I32, (Var(row.name), Const(Prim.I32, 1))), SCALAR)
    f = Lambda((row,), Body(tuple(inner.stms), (Var(result),)), (type_of(shape[1:]),))
    return code.let(Screma(i64(shape[0]), (array,), f, (), ()), type_of(shape))


def rows_rearranged(code: Code, array: Name, shape: tuple[int, ...], perm: tuple[int, ...]) -> Name:
    """Each row rearranged."""
    inner, row = code.inner(), Param(code.names.fresh("row"), type_of(shape[1:]))
    made = type_of(tuple(shape[1:][k] for k in perm))
    result = Var(inner.let(Rearrange(perm, row.name), made))
    f = Lambda((row,), Body(tuple(inner.stms), (result,)), (made,))
    return code.let(Screma(i64(shape[0]), (array,), f, (), ()), made.array_of(i64(shape[0])))


@st.composite
def slices(draw: st.DrawFn, size: int) -> Slice:
    """Some elements of a dimension of this size."""
    stride = draw(st.sampled_from([1, 1, -1, 2]))
    start = draw(st.integers(0, size - 1))
    room = (size - 1 - start) // stride if stride > 0 else start
    return Slice(i64(start), i64(draw(st.integers(1, room + 1))), i64(stride))


def taken(dim: DimIndex) -> int | list[int]:
    if isinstance(dim, Fix):
        return number(dim.index)
    start, count, stride = map(number, (dim.start, dim.count, dim.stride))
    return [start + k * stride for k in range(count)]


def number(atom: Atom) -> int:
    assert isinstance(atom, Const)
    return int(atom.value)


@st.composite
def permutations(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    """Often rotations, which from three dimensions on are not their own inverse."""
    turned = draw(st.integers(0, rank - 1))
    rotation = (*range(turned, rank), *range(turned))
    return draw(st.one_of(st.just(rotation), st.permutations(range(rank)).map(tuple)))


@st.composite
def views(draw: st.DrawFn) -> tuple[Code, Name, np.ndarray]:
    """A chain of views, and what it gives for xs = 0, 1, 2, .."""
    made = draw(st.sampled_from(["stored", "literal", "replicated", "a number"]))
    shape = tuple(
        draw(st.permutations((2, 3, 1 if made == "literal" else 4, 2)))[: draw(st.sampled_from([2, 3, 3, 4, 4]))]
    )
    code, values = Code(prod(shape)), np.arange(prod(shape), dtype=np.int32).reshape(shape)
    array = literal(code, values) if made == "literal" else stored(code, values)
    if made == "replicated":
        array = code.let(Replicate((i64(3), i64(2)), Var(array)), type_of((3, 2, *shape)))
        values = np.broadcast_to(values, (3, 2, *shape))
    if made == "a number":
        x = code.let(Index(XS, (Fix(i64(1)),), True), SCALAR)
        array = code.let(Replicate(tuple(map(i64, shape)), Var(x)), type_of(shape))
        values = np.ones(shape, np.int32)
    for _ in range(draw(st.integers(1, 4))):
        array, values = draw(one_view(code, array, values))
    return code, array, values


@st.composite
def one_view(draw: st.DrawFn, code: Code, array: Name, values: np.ndarray) -> tuple[Name, np.ndarray]:
    kinds = ["rearrange", "rearrange", "index", "index", "map", "reshape", *(["rows"] if values.ndim > 1 else [])]
    match draw(st.sampled_from(kinds)):
        case "rearrange":
            perm = draw(permutations(values.ndim))
            values = values.transpose(perm)
            return code.let(Rearrange(perm, array), type_of(values.shape)), values
        case "rows":
            perm = draw(permutations(values.ndim - 1))
            made = rows_rearranged(code, array, values.shape, perm)
            return made, values.transpose((0, *(k + 1 for k in perm)))
        case "map":
            return mapped(code, array, values.shape), values + 1
        case "reshape":
            values = values.reshape(draw(st.sampled_from([(values.size,), (1, values.size), values.shape])))
            return code.let(Reshape(tuple(map(i64, values.shape)), array), type_of(values.shape)), values
        case _:
            return draw(indexed(code, array, values))


@st.composite
def indexed(draw: st.DrawFn, code: Code, array: Name, values: np.ndarray) -> tuple[Name, np.ndarray]:
    """A part of it, some dimensions fixed."""
    dims: list[DimIndex] = [draw(slices(size)) for size in values.shape]
    for k in draw(st.sets(st.integers(0, values.ndim - 1), max_size=max(1, values.ndim - 3))):
        dims[k] = Fix(i64(draw(st.integers(0, values.shape[k] - 1))))
    for k, dim in reversed(list(enumerate(dims))):
        values = values.take(taken(dim), axis=k)
    return code.let(Index(array, tuple(dims), True), type_of(values.shape)), values


def assert_elements(code: Code, results: list[tuple[Name, np.ndarray]]) -> None:
    """Simplified, the statements give these values."""
    types = [type_of(values.shape) for _, values in results]
    outputs = tuple(EntryResult(str(type_), (k,)) for k, type_ in enumerate(types))
    entry = Entry("main", 1, (EntryParam("xs", "[n]i32", 1, False),), outputs)
    params = (Param(N, I64), Param(XS, Type(Prim.I32, (Var(N),))))
    outs = tuple(Param(code.names.fresh("r"), type_) for type_ in types)
    body = Body(tuple(code.stms), tuple(Var(name) for name, _ in results))
    fun = FunDef(Name("main", 3), params, (), outs, body, entry, (), NOWHERE)
    made = simplify(Prog((), (fun,), code.names.next))
    check(made, Stage.CORE)
    found, _ = interpret(made, "main", [np.arange(code.size, dtype=np.int32)])
    for one, (_, values) in zip(found, results, strict=True):
        np.testing.assert_array_equal(np.asarray(one), values)


@pytest.mark.whole
@settings(max_examples=120)
@given(views())
def test_views_of_views_have_their_elements(given: tuple[Code, Name, np.ndarray]) -> None:
    code, array, values = given
    assert_elements(code, [(array, values)])


def test_parts_of_every_rearrangement() -> None:
    """One index of four fixed, of all permutations."""
    shape = (2, 3, 4, 5)
    code, values = Code(prod(shape)), np.arange(prod(shape), dtype=np.int32).reshape(shape)
    results: list[tuple[Name, np.ndarray]] = []
    for perm, k in itertools.product(itertools.permutations(range(4)), range(4)):
        turned = values.transpose(perm)
        view = code.let(Rearrange(perm, stored(code, values)), type_of(turned.shape))
        dims: list[DimIndex] = [Slice(i64(0), i64(size), i64(1)) for size in turned.shape]
        dims[k] = Fix(i64(1))
        part = turned.take([1], axis=k).squeeze(k)
        results.append((code.let(Index(view, tuple(dims), True), type_of(part.shape)), part))
    assert_elements(code, results)
