"""What is known of places in arrays holds for all sizes: parts that are apart have no element in common, and a thread
that may read a place reads what no other thread writes. Against all threads, one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.flatten.aliasing.classes import sharing_in
from soac.flatten.aliasing.regions import Form, are_apart, part_of, reads_only_own
from soac.ir.core import Body, DimIndex, Fix, Index, Param, PrimOp, Prog, Rearrange, SegSpace, Slice, Stm
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.types import I64, Atom, Name, Prim, Type, Var, i64

M, A, B = Name("m", 1), Name("i", 2), Name("j", 3)
"""A size, and the indices of threads."""
SIZES = (0, 1, 2, 3)


class Sums:
    """Atoms for sums of names and numbers, and the statements that make them."""

    def __init__(self) -> None:
        self.defined: dict[Name, Stm] = {}

    def op(self, op: Op, x: Atom, y: Atom) -> Atom:
        name = Name("s", 100 + len(self.defined))
        param = Param(name, I64)
        self.defined[name] = Stm((param,), PrimOp(op, Prim.I64, (x, y)), (), (), NOWHERE)
        return Var(name)

    def of(self, form: tuple[tuple[Name, int], ...], number: int) -> Atom:
        made: Atom = i64(number)
        for name, factor in form:
            term = self.op(Op.MUL, i64(abs(factor)), Var(name))
            made = self.op(Op.ADD if factor > 0 else Op.SUB, made, term)
        return made


def value(sums: Sums, atom: Atom, given: dict[Name, int]) -> int:
    if not isinstance(atom, Var):
        return int(atom.value)
    stm = sums.defined.get(atom.name)
    if stm is None:
        return given[atom.name]
    assert isinstance(stm.exp, PrimOp)
    x, y = (value(sums, arg, given) for arg in stm.exp.args)
    return {Op.ADD: x + y, Op.SUB: x - y, Op.MUL: x * y}[stm.exp.op]


def places(sums: Sums, dims: tuple[DimIndex, ...], given: dict[Name, int]) -> set[tuple[int, ...]]:
    """All elements of a part."""
    ranges: list[list[int]] = []
    for dim in dims:
        if isinstance(dim, Fix):
            ranges.append([value(sums, dim.index, given)])
        else:
            start, count, stride = (value(sums, atom, given) for atom in (dim.start, dim.count, dim.stride))
            ranges.append([start + k * stride for k in range(count)])
    return set(itertools.product(*ranges))


numbers = st.integers(-2, 3)
outer_forms = st.sampled_from([(), (), ((M, 1),), ((M, 2),), ((M, -1),)])
inner_forms = st.sampled_from([((A, 1),), ((A, -1),), ((B, 1),), ((A, 2),), ((M, 1), (A, -1)), ((M, 1),), ()])


@st.composite
def parts(draw: st.DrawFn, sums: Sums, rank: int) -> tuple[DimIndex, ...]:
    def atom() -> Atom:
        return sums.of(draw(outer_forms), draw(numbers))

    def dim() -> DimIndex:
        if draw(st.booleans()):
            return Fix(atom())
        return Slice(atom(), atom(), i64(draw(st.sampled_from([1, 1, 1, 2, -1]))))

    return tuple(dim() for _ in range(rank))


@pytest.mark.whole
@settings(max_examples=150)
@given(st.data())
def test_parts_that_are_apart_have_nothing_in_common(data: st.DataObject) -> None:
    sums, rank = Sums(), data.draw(st.integers(1, 2))
    first, second = (data.draw(parts(sums, rank)) for _ in range(2))
    if are_apart(first, second, sums.defined):
        for m in SIZES:
            assert places(sums, first, {M: m}).isdisjoint(places(sums, second, {M: m})), m


def threads(space: SegSpace, sums: Sums, m: int) -> Iterator[dict[Name, int]]:
    widths = [range(value(sums, width, {M: m})) for width in space.widths]
    for indices in itertools.product(*widths):
        yield {M: m, **dict(zip(space.indices, indices, strict=True))}


Reads = list[Atom]
"""An index for each dimension."""


def assert_apart(sums: Sums, to: tuple[DimIndex, ...], perm: list[int], reads: Callable[[list[Atom]], Reads]) -> None:
    """If threads that fill a part `to` of `xs` may read an element of it, through a view by `perm`, then no other
    thread writes that. `reads` is given the place that a thread writes."""
    rank, counts = len(to), [dim.count for dim in to if isinstance(dim, Slice)]
    space = SegSpace(tuple(zip((A, B, Name("k", 4), Name("l", 5)), counts, strict=False)))
    part = part_of(to, space, sums.defined)
    if part is None or not counts:
        return
    taken = reads([written(part.own, sums, k) for k in range(rank)])
    if not set().union(*(names(sums, atom) for atom in taken)) <= {M, *space.indices}:
        return
    xs, ys, x = Name("xs", 10), Name("ys", 11), Name("x", 12)
    view = Stm((Param(ys, Type(Prim.I32, (i64(9),) * rank)),), Rearrange(tuple(perm), xs), (), (), NOWHERE)
    load = Stm((Param(x, Type(Prim.I32, ())),), Index(ys, tuple(Fix(taken[k]) for k in perm), True), (), (), NOWHERE)
    sharing = sharing_in(Prog((view,), (), 1000))
    if reads_only_own(Body((load,), (Var(x),)), xs, part, sharing, {**sums.defined, ys: view}):
        for m in SIZES:
            writes = {tuple(at(f, t) for f in part.own): t for t in threads(space, sums, m)}
            for t in threads(space, sums, m):
                place = tuple(value(sums, atom, t) for atom in taken)
                assert writes.get(place, t) == t, (m, t, place)


@pytest.mark.whole
@settings(max_examples=150)
@given(st.data())
def test_a_thread_reads_what_no_other_writes(data: st.DataObject) -> None:
    sums, rank = Sums(), data.draw(st.integers(1, 4))
    to = data.draw(parts(sums, rank))

    def reads(own: list[Atom]) -> Reads:
        return [data.draw(st.sampled_from([one, sums.of(data.draw(inner_forms), data.draw(numbers))])) for one in own]

    assert_apart(sums, to, data.draw(st.permutations(range(rank))), reads)


@pytest.mark.parametrize("factor", [1, -1, 2])
def test_indices_on_both_sides_of_a_part(factor: int) -> None:
    """Rows 2 .. 2 + w, and indices that begin or end beside them."""
    for w, shift, column in itertools.product((1, 2, 3), range(-2, 9), (0, 1)):
        sums = Sums()
        to = (Slice(i64(2), i64(w), i64(1)), Slice(i64(0), i64(2), i64(1)))
        assert_apart(sums, to, [1, 0], lambda _, s=sums, k=shift, c=column: [s.of(((A, factor),), k), i64(c)])


@pytest.mark.parametrize("perm", [*itertools.permutations(range(3))], ids=str)
def test_indices_through_a_rearranged_view(perm: tuple[int, ...]) -> None:
    for order in itertools.permutations(range(3)):
        to = (Slice(i64(0), i64(2), i64(1)),) * 3
        assert_apart(Sums(), to, list(perm), lambda own, order=order: [own[k] for k in order])


def test_a_view_of_another_by_a_stride_that_is_not_known_may_read_anything() -> None:
    """xs[m a], read as zs[a] for zs = ys[:: m], ys = xs[:], where thread a writes xs[a]."""
    xs, ys, zs, x = (Name(base, 10 + k) for k, base in enumerate(("xs", "ys", "zs", "x")))
    part = part_of((Slice(i64(0), i64(9), i64(1)),), SegSpace(((A, i64(9)),)), {})
    assert part is not None
    row = Type(Prim.I32, (i64(9),))
    views = [
        Stm((Param(view, row),), Index(below, (Slice(i64(0), i64(9), stride),), True), (), (), NOWHERE)
        for view, below, stride in ((ys, xs, i64(1)), (zs, ys, Var(M)))
    ]
    load = Stm((Param(x, Type(Prim.I32, ())),), Index(zs, (Fix(Var(A)),), True), (), (), NOWHERE)
    sharing = sharing_in(Prog(tuple(views), (), 1000))
    defined = {view.pat[0].name: view for view in views}
    assert not reads_only_own(Body((load,), (Var(x),)), xs, part, sharing, defined)
    by_one = {**defined, zs: replace(views[1], exp=Index(ys, (Slice(i64(0), i64(9), i64(1)),), True))}
    assert reads_only_own(Body((load,), (Var(x),)), xs, part, sharing, by_one)


def written(own: tuple[Form, ...], sums: Sums, k: int) -> Atom:
    """The k-th index of what a thread writes."""
    form = tuple((name, factor) for name, factor in own[k].items() if name is not None)
    return sums.of(form, own[k].get(None, 0))


def names(sums: Sums, atom: Atom) -> set[Name]:
    if not isinstance(atom, Var):
        return set()
    stm = sums.defined.get(atom.name)
    if stm is None:
        return {atom.name}
    assert isinstance(stm.exp, PrimOp)
    return set().union(*(names(sums, arg) for arg in stm.exp.args))


def at(form: Form, given: dict[Name, int]) -> int:
    return sum(factor * (1 if name is None else given[name]) for name, factor in form.items())
