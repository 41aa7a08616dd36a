"""Values of the evaluator: scalars, tuples, records as dicts, `Sum`, arrays as `Vec`, functions as `Fun`.

An empty array knows a `row`, an element that it might have had, where one can be made: only its sizes count. None
stands for what is not known; where a size of it would decide something, evaluation ends with `Undetermined`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.support.source_programs.scalars import TYPES

Value = Any


class Undetermined(Exception):
    """The value depends on a size that only types tell."""


class TooLong(Exception):
    """More steps than a program may take."""


class Vec(list[Value]):
    """An array; `row` counts where it is empty."""

    __slots__ = ("row",)

    def __init__(self, items: Any, row: Value = None) -> None:
        super().__init__(items)
        self.row = row


@dataclass(frozen=True, slots=True)
class Sum:
    """A value of a sum type."""

    name: str
    args: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Fun:
    """A function of `arity` arguments, of which some are `held`."""

    arity: int
    run: Callable[..., Value]
    held: tuple[Value, ...] = ()


def apply(f: Fun, *args: Value) -> Value:
    """`f` of some arguments: a function where some lack, and the result of it where there are more."""
    while True:
        have = f.held + args
        if len(have) < f.arity:
            return Fun(f.arity, f.run, have)
        result = f.run(*have[: f.arity])
        args = have[f.arity :]
        if not args:
            return result
        f = result


def first(xs: Vec) -> Value:
    """An element to take sizes from."""
    return xs[0] if xs else xs.row


def known(value: Value) -> Value:
    """A value whose sizes count."""
    if value is None:
        raise Undetermined
    return value


def size(value: int) -> Value:
    return np.int64(value)


def same(x: Value, y: Value) -> bool:
    """`==` of the language: nan equals nothing."""
    match x:
        case tuple() | list():
            return len(x) == len(y) and all(map(same, x, y))
        case dict():
            return all(same(x[key], y[key]) for key in x)
        case Sum(name, args):
            return name == y.name and all(map(same, args, y.args))
        case _:
            return bool(x == y)


# ---- from and to arguments and results -------------------------------------------------------------------------------


def from_numpy(array: Any) -> Value:
    """An argument of an entry."""
    if isinstance(array, np.ndarray) and array.ndim:
        if array.shape[0]:
            return Vec([from_numpy(part) for part in array])
        return Vec([], from_numpy(np.zeros(array.shape[1:], array.dtype)))
    return bool(array) if array.dtype == np.bool_ else array[()] if isinstance(array, np.ndarray) else array


def unzipped(value: Value, row: Callable[[Value], Value]) -> Value:
    """An array with each element changed, and the row that an empty one has."""
    return Vec([row(x) for x in value], None if value.row is None else row(value.row))


def agrees(value: Value, found: np.ndarray | np.generic, tolerance: float) -> bool:
    """Does a result of the compiler equal an array or scalar of scalars? With a tolerance, nearly."""
    array = np.asarray(found)
    elements: list[Value] = []
    if not _shape_fits(value, array.shape, elements):
        return False
    if not elements:
        return array.size == 0
    expected = np.array(elements)
    if expected.dtype != array.dtype:
        return False
    given = array.reshape(-1)
    if tolerance:
        with np.errstate(all="ignore"):
            return np.allclose(
                given.astype(np.float64), expected.astype(np.float64), tolerance, tolerance, equal_nan=True
            )
    if array.dtype.kind == "V":  # bf16, for which NumPy lacks some functions
        expected, given = expected.astype(np.float32), given.astype(np.float32)
    if not np.array_equal(expected, given, equal_nan=given.dtype.kind == "f"):
        return False
    return given.dtype.kind != "f" or bool(np.all((np.signbit(expected) == np.signbit(given)) | np.isnan(expected)))


def _shape_fits(value: Value, shape: tuple[int, ...], elements: list[Value]) -> bool:
    if not isinstance(value, Vec):
        elements.append(value)
        return not shape
    if not shape or len(value) != shape[0]:
        return False
    if not value:
        return value.row is None or _shape_fits(value.row, shape[1:], [])
    return all(_shape_fits(x, shape[1:], elements) for x in value)


def components(value: Value, form: Any) -> list[Value]:
    """The arrays and scalars of scalars that a result consists of; `form` is its type (`types.py`), for what an empty
    array does not show."""
    from tests.support.source_programs.types import Array, Prim, fields_of

    match form:
        case Prim():
            return [value]
        case Array(_, elem):
            if isinstance(elem, Prim | Array) and _is_plain(elem):
                return [value]
            count = len(components(zero_of(elem), elem))
            return [unzipped(value, lambda x, k=k: components(x, elem)[k]) for k in range(count)]
        case _:
            parts = fields_of(form)
            return [part for name, type in parts for part in components(_field(value, name), type)]


def _is_plain(form: Any) -> bool:
    from tests.support.source_programs.types import Array, Prim

    return isinstance(form, Prim) or (isinstance(form, Array) and _is_plain(form.elem))


def _field(value: Value, name: str) -> Value:
    return value[int(name)] if isinstance(value, tuple) else value[name]


def zero_of(form: Any) -> Value:
    """Some value of the structure of a type, without regard to sizes."""
    from tests.support.source_programs.types import Array, Prim, Tuple, fields_of

    match form:
        case Prim(name):
            return TYPES[name](0)
        case Array(_, elem):
            return Vec([], zero_of(elem))
        case Tuple():
            return tuple([zero_of(type) for _, type in fields_of(form)])
        case _:
            return {name: zero_of(type) for name, type in fields_of(form)}
