"""The meaning of SOACs and segops on values, given their lambdas and bodies as functions on a frame.

Both walk rows of values in order and do the same with each: feed the scans or reductions, and keep the rest.
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
Rows = Callable[[Frame], Iterable[Sequence[Value]]]
Spans = Callable[[Frame, tuple[int, ...]], Iterable[range]]
"""The indices along the innermost dimension that each row of a space of this shape has."""
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
    operators: tuple[Operator, ...],
    is_scan: bool,
    columns: Columns,
) -> list[Value]:
    """Walks `rows`: appends scanned and mapped values to `columns` (in that order), returns the reduced values."""
    state = [tuple(o.neutral(frame)) for o in operators]
    for row in rows:
        at = 0
        for k, operator in enumerate(operators):
            state[k] = tuple(operator.op(frame, (*state[k], *row[at : at + operator.size])))
            at += operator.size
        scanned = itertools.chain.from_iterable(state) if is_scan else ()
        for column, value in zip(columns, (*scanned, *row[at:]), strict=True):
            column.append(value)
    return [] if is_scan else [value for values in state for value in values]


# ---- SOACs -------------------------------------------------------------------------------------------------------


def screma(
    width: int, sources: Values, f: Function, operators: tuple[Operator, ...], is_scan: bool, kept: tuple[RowType, ...]
) -> Values:
    """`kept`: the row types of what is scanned or mapped."""
    rows = mapped(width, sources, f)

    def run(frame: Frame) -> Sequence[Value]:
        columns: Columns = [[] for _ in kept]
        reduced = sweep(frame, rows(frame), operators, is_scan, columns)
        outer = (max(0, frame[width]),)
        done = [t.collect(frame, column, outer) for t, column in zip(kept, columns)]
        return (*reduced, *done)

    return run


def mapped(width: int, sources: Values, f: Function) -> Rows:
    """What `f` gives for each row of arrays."""
    return lambda frame: (f(frame, row) for row in _rows(frame, max(0, frame[width]), sources))


def _rows(frame: Frame, width: int, sources: Values) -> Iterable[Sequence[Value]]:
    columns = [rows_of(xs, width) for xs in sources(frame)]
    return zip(*columns) if columns else itertools.repeat((), width)


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


def written(rows: Rows, dests: Values, rank: int, safe: bool = False) -> Values:
    """Writes into `dests`: a row gives `rank` indices and values; later writes win, where two go to one place. Those
    out of bounds are left out, and an `IRError` where it is `safe`."""
    return lambda frame: write(dests(frame), rows(frame), rank, safe)


def write(dests: Sequence[Value], rows: Iterable[Sequence[Value]], rank: int, safe: bool) -> Sequence[Value]:
    """`dests` with the rows written."""
    new = [xs.copy() for xs in dests]
    for row in rows:
        index = tuple(row[:rank])
        for xs, value in zip(new, row[rank:], strict=True):
            if arrays.inside(index, xs.shape):
                xs[index] = value
            elif safe:
                raise IRError(f"a safe segscatter writes at {index} of {xs.shape}")
    return new


def combined(rows: Rows, operator: Operator, dests: Values, rank: int) -> Values:
    """A histogram: a row gives `rank` indices and values; `operator` combines these into `dests` there."""

    def run(frame: Frame) -> Sequence[Value]:
        new = [xs.copy() for xs in dests(frame)]
        for row in rows(frame):
            index = tuple(row[:rank])
            if arrays.inside(index, new[0].shape):
                old = [_element(xs, index) for xs in new]
                for xs, value in zip(new, operator.op(frame, (*old, *row[rank:])), strict=True):
                    xs[index] = value
        return new

    return run


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


def whole_rows(_: Frame, shape: tuple[int, ...]) -> Iterable[range]:
    """Rows are all of the innermost dimension."""
    return itertools.repeat(range(shape[-1]))


def rows_to(ends: int) -> Spans:
    """Row i is the elements from the end of the one before it to `ends[i]`."""

    def spans(frame: Frame, shape: tuple[int, ...]) -> Iterator[range]:
        first = 0
        for end in rows_of(frame[ends], shape[0]):
            if not first <= end <= shape[-1]:
                raise IRError(f"a row of {shape[-1]} elements from {first} to {end}")
            yield range(first, end)
            first = end

    return spans


def folded(
    space: Space, spans: Spans, operators: tuple[Operator, ...], is_scan: bool, body: Values,
    types: tuple[RowType, ...],
) -> Values:  # fmt: skip
    """`segred` and `segscan`: the innermost dimension reduced or scanned, from the left; arrays over the outer ones for
    what is reduced, then over all for what is scanned or mapped."""
    cut = 0 if is_scan else sum(r.size for r in operators)
    reduced, kept = types[:cut], types[cut:]

    def run(frame: Frame) -> Sequence[Value]:
        shape = space.shape(frame)
        columns: Columns = [[] for _ in kept]
        totals: Columns = [[] for _ in reduced]
        for _, inner in zip(space.points(frame, -1, shape), spans(frame, shape)):
            values = sweep(frame, space.inner_rows(frame, inner, body), operators, is_scan, columns)
            for total, value in zip(totals, values):
                total.append(value)
        whole = [t.collect(frame, column, shape) for t, column in zip(kept, columns)]
        if len(shape) == 1:
            return [total[0] for total in totals] + whole
        return [t.collect(frame, total, shape[:-1]) for t, total in zip(reduced, totals)] + whole

    return run


def over(space: Space, body: Values) -> Rows:
    """What a body gives at each point of a space."""
    return lambda frame: (body(frame) for _ in space.points(frame, None, space.shape(frame)))


def in_pieces(rows: Rows, each: int) -> Rows:
    """Rows of `each` values, one or several in each of `rows`."""
    return lambda frame: (row[k : k + each] for row in rows(frame) for k in range(0, len(row), each))
