"""The meaning of SOACs and segops on values, given their lambdas and bodies as functions on a frame.

Both walk rows of values in order and do the same with each: feed the scans, then the reductions, and keep the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from . import arrays
from .errors import IRError
from .records import dataclass
from .types import Prim

Value = Any
"""A scalar (`scalar.Value`) or a numpy array; the checker of the IR, not Python's, says which."""
Frame = list[Any]
"""A place for each name and constant of a function; place 0 holds what belongs to the run as a whole."""
Values = Callable[[Frame], Sequence[Value]]
Function = Callable[[Frame, Sequence[Value]], Sequence[Value]]
Columns = list[list[Value]]


@dataclass(frozen=True, slots=True)
class Operator:
    """A reduction's operator (left values, then right values) and its neutral elements, `size` many."""

    op: Function
    neutral: Values
    size: int


@dataclass(frozen=True, slots=True)
class RowType:
    """The type of one row of a result: scalar type, and its shape as it is in a frame."""

    prim: Prim
    shape: Values

    def collect(self, frame: Frame, rows: Sequence[Value], outer: tuple[int, ...]) -> np.ndarray:
        """`rows`, in row-major order of `outer`, as one array."""
        return arrays.stack(rows, outer, tuple(self.shape(frame)), self.prim)


@dataclass(frozen=True, slots=True)
class Space:
    """The places of the indices of a space, outermost first, and its widths."""

    indices: tuple[int, ...]
    widths: Values

    def shape(self, frame: Frame) -> tuple[int, ...]:
        """The widths in a frame; a negative one counts as 0."""
        return tuple([max(0, w) for w in self.widths(frame)])

    def points(self, frame: Frame, cut: int | None, shape: tuple[int, ...]) -> Iterator[None]:
        """Sets the first `cut` indices (all for None) to each point in turn."""
        places = self.indices[:cut]
        for point in itertools.product(*map(range, shape[:cut])):
            for place, index in zip(places, point):
                frame[place] = index
            yield

    def inner_rows(self, frame: Frame, indices: range, body: Values) -> Iterator[Sequence[Value]]:
        """What `body` gives along the innermost dimension, at these indices of it."""
        place = self.indices[-1]
        for index in indices:
            frame[place] = index
            yield body(frame)


def rows_of(xs: np.ndarray, width: int) -> Sequence[Value]:
    """The `width` rows of `xs`, scalars as Python values."""
    if xs.shape[0] != width:
        raise IRError(f"an array of {xs.shape[0]} rows where the width is {width}")
    return xs.tolist() if xs.ndim == 1 else list(xs)


def sweep(
    frame: Frame,
    rows: Iterable[Sequence[Value]],
    scans: tuple[Operator, ...],
    reds: tuple[Operator, ...],
    columns: Columns,
) -> list[Value]:
    """Walks `rows`: appends scanned and mapped values to `columns` (in that order), returns the reduced values."""
    operators = scans + reds
    kept = sum(s.size for s in scans)
    used = sum(o.size for o in operators)
    state = [tuple(o.neutral(frame)) for o in operators]
    for row in rows:
        at = column = 0
        for k, operator in enumerate(operators):
            state[k] = tuple(operator.op(frame, (*state[k], *row[at : at + operator.size])))
            at += operator.size
            if k < len(scans):
                for value in state[k]:
                    columns[column].append(value)
                    column += 1
        for column, value in enumerate(row[used:], start=kept):
            columns[column].append(value)
    return [value for values in state[len(scans) :] for value in values]


# ---- SOACs -------------------------------------------------------------------------------------------------------


def screma(
    width: int, sources: Values, f: Function, operators: tuple[tuple[Operator, ...], ...], kept: tuple[RowType, ...]
) -> Values:
    """`operators` are scans and reductions; `kept` the row types of the scanned, then the mapped values."""
    scans, reds = operators

    def run(frame: Frame) -> Sequence[Value]:
        columns: Columns = [[] for _ in kept]
        reduced = sweep(frame, _mapped(frame, width, sources, f), scans, reds, columns)
        outer = (max(0, frame[width]),)
        done = [t.collect(frame, column, outer) for t, column in zip(kept, columns)]
        cut = sum(s.size for s in scans)
        return (*done[:cut], *reduced, *done[cut:])

    return run


def _mapped(frame: Frame, width: int, sources: Values, f: Function) -> Iterator[Sequence[Value]]:
    return (f(frame, row) for row in _rows(frame, max(0, frame[width]), sources))


def _rows(frame: Frame, width: int, sources: Values) -> Iterable[Sequence[Value]]:
    columns = [rows_of(xs, width) for xs in sources(frame)]
    return zip(*columns) if columns else itertools.repeat((), width)


def scatter(width: int, sources: Values, f: Function, dests: Values, rank: int) -> Values:
    """Later writes win, where two go to one place."""

    def run(frame: Frame) -> Sequence[Value]:
        return _write(dests(frame), _mapped(frame, width, sources, f), rank)

    return run


def hist(width: int, sources: Values, f: Function, operator: Operator, dests: Values, rank: int) -> Values:
    """`hist`: for each element `f` gives `rank` indices and values; `operator` combines these into `dests` there."""

    def run(frame: Frame) -> Sequence[Value]:
        return _combine(frame, dests(frame), _mapped(frame, width, sources, f), operator, rank)

    return run


def with_acc(width: int, sources: Values, f: Function, dests: Values, kept: tuple[RowType, ...]) -> Values:
    """The rows in their order, each given the accumulators that the one before it leaves."""

    def run(frame: Frame) -> Sequence[Value]:
        n = max(0, frame[width])
        accs = list(dests(frame))
        columns: Columns = [[] for _ in kept]
        for row in _rows(frame, n, sources):
            found = list(f(frame, (*accs, *row)))
            accs = found[: len(accs)]
            for column, value in zip(columns, found[len(accs) :], strict=True):
                column.append(value)
        return (*accs, *[t.collect(frame, column, (n,)) for t, column in zip(kept, columns)])

    return run


def accumulate(accs: Values, row: Values, operator: Operator | None, rank: int) -> Values:
    """One row of a histogram, or of a scatter where there is no operator."""

    def run(frame: Frame) -> Sequence[Value]:
        if operator is None:
            return _write(accs(frame), [row(frame)], rank)
        return _combine(frame, accs(frame), [row(frame)], operator, rank)

    return run


def _write(dests: Sequence[Value], rows: Iterable[Sequence[Value]], rank: int, safe: bool = False) -> Sequence[Value]:
    """`safe`: no index is out of range."""
    new = [xs.copy() for xs in dests]
    for row in rows:
        index = tuple(row[:rank])
        for xs, value in zip(new, row[rank:], strict=True):
            if arrays.inside(index, xs.shape):
                xs[index] = value
            elif safe:
                raise IRError(f"a safe segscatter writes at {index} of {xs.shape}")
    return new


def _combine(
    frame: Frame, dests: Sequence[Value], rows: Iterable[Sequence[Value]], operator: Operator, rank: int
) -> Sequence[Value]:
    new = [xs.copy() for xs in dests]
    for row in rows:
        index = tuple(row[:rank])
        if all(arrays.inside(index, xs.shape) for xs in new):
            old = [_element(xs, index) for xs in new]
            for xs, value in zip(new, operator.op(frame, (*old, *row[rank:])), strict=True):
                xs[index] = value
    return new


def _element(xs: np.ndarray, index: tuple[Any, ...]) -> Value:
    """A scalar as a Python value, a row as a copy: the operator sees what is there now."""
    return xs.item(index) if len(index) == xs.ndim else xs[index].copy()


# ---- segops ------------------------------------------------------------------------------------------------------


def segmap(space: Space, body: Values, kept: tuple[RowType, ...]) -> Values:
    """`segmap`: the body at each point of the space; an array over the space for each of `kept`."""

    def run(frame: Frame) -> Sequence[Value]:
        shape = space.shape(frame)
        rows = [body(frame) for _ in space.points(frame, None, shape)]
        columns = zip(*rows) if rows else [()] * len(kept)
        return [t.collect(frame, column, shape) for t, column in zip(kept, columns)]

    return run


def segred(
    space: Space, reds: tuple[Operator, ...], body: Values, reduced: tuple[RowType, ...], kept: tuple[RowType, ...]
) -> Values:
    """`segred`: the innermost dimension reduced, from the left; arrays over the outer ones, then `kept` over all."""

    def run(frame: Frame) -> Sequence[Value]:
        shape = space.shape(frame)
        columns: Columns = [[] for _ in kept]
        totals: Columns = [[] for _ in reduced]
        for _ in space.points(frame, -1, shape):
            values = sweep(frame, space.inner_rows(frame, range(shape[-1]), body), (), reds, columns)
            for total, value in zip(totals, values):
                total.append(value)
        whole = [t.collect(frame, column, shape) for t, column in zip(kept, columns)]
        return _reduced(frame, totals, reduced, shape[:-1]) + whole

    return run


def segred_rows(
    space: Space, ends: int, reds: tuple[Operator, ...], body: Values, reduced: tuple[RowType, ...]
) -> Values:
    """Row i is the elements from the end of the one before it to `ends[i]`."""

    def run(frame: Frame) -> Sequence[Value]:
        shape = space.shape(frame)
        totals: Columns = [[] for _ in reduced]
        first = 0
        for _, end in zip(space.points(frame, -1, shape), rows_of(frame[ends], shape[0]), strict=True):
            if not first <= end <= shape[-1]:
                raise IRError(f"a row of {shape[-1]} elements from {first} to {end}")
            values = sweep(frame, space.inner_rows(frame, range(first, end), body), (), reds, [])
            for total, value in zip(totals, values):
                total.append(value)
            first = end
        return _reduced(frame, totals, reduced, shape[:-1])

    return run


def _reduced(frame: Frame, totals: Columns, types: tuple[RowType, ...], outer: tuple[int, ...]) -> list[Value]:
    if not outer:
        return [total[0] for total in totals]
    return [t.collect(frame, total, outer) for t, total in zip(types, totals)]


def segscan(space: Space, scans: tuple[Operator, ...], body: Values, kept: tuple[RowType, ...]) -> Values:
    """`segscan`: inclusive scans along the innermost dimension, from the left; arrays over the space."""

    def run(frame: Frame) -> Sequence[Value]:
        shape = space.shape(frame)
        columns: Columns = [[] for _ in kept]
        for _ in space.points(frame, -1, shape):
            sweep(frame, space.inner_rows(frame, range(shape[-1]), body), scans, (), columns)
        return [t.collect(frame, column, shape) for t, column in zip(kept, columns)]

    return run


def segscatter(space: Space, body: Values, dests: Values, rank: int, safe: bool) -> Values:
    """`segscatter`: each point gives `rank` indices and values for `dests`, once or several times; writes out of bounds
    are left out, and an `IRError` where it is `safe`."""

    def run(frame: Frame) -> Sequence[Value]:
        places = dests(frame)
        each = rank + len(places)
        given = (body(frame) for _ in space.points(frame, None, space.shape(frame)))
        rows = (row[k : k + each] for row in given for k in range(0, len(row), each))
        return _write(places, rows, rank, safe)

    return run


def seghist(space: Space, operator: Operator, body: Values, dests: Values, rank: int) -> Values:
    """`seghist`: as `hist`, with the points of the space as elements."""

    def run(frame: Frame) -> Sequence[Value]:
        rows = (body(frame) for _ in space.points(frame, None, space.shape(frame)))
        return _combine(frame, dests(frame), rows, operator, rank)

    return run
