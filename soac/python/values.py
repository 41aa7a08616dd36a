"""Values of Python for records, tuples and sums as components, and components as such values."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir.core import FunDef
from ..ir.errors import NOWHERE, DataError, Diagnostic, Label
from ..ir.scalar import DTYPES
from ..ir.types import Const, Var
from .classes import Classes
from .forms import Form, Plain, Record, Sum, components_of, field_names, python_name, text_of

MISSING = object()
"""A payload of a constructor that a value does not have."""


# ---- to components -----------------------------------------------------------------------------------------------


def to_components(fun: FunDef, forms: Sequence[Form], args: Sequence[Any]) -> list[Any]:
    """The components of the arguments of an entry; raises `DataError` D0104 for a value of another form."""
    found = [part for k, (form, arg) in enumerate(zip(forms, args), 1) for part in _taken(form, arg, k)]
    return _filled(fun, found)


def _taken(form: Form, value: Any, number: int) -> Iterator[Any]:
    match form:
        case Plain():
            yield value
        case Record(fields) if form.rank and _is_rows(value):
            columns = _columns(form, value, number)
            yield from columns if columns else [[] for _, field in fields for _ in components_of(field)]
        case Record(fields):
            parts = _fields_of(form, value)
            if parts is None:
                raise _unsuited(form, value, number)
            for (_, field), part in zip(fields, parts, strict=True):
                yield from _taken(field, part, number)
        case Sum(cases):
            which, payload = _case_of(form, value, number)
            yield which
            for k, (_, args) in enumerate(cases):
                if k != which:
                    yield from [MISSING for arg in args for _ in components_of(arg)]
                    continue
                for arg, part in zip(args, payload, strict=True):
                    yield from _taken(arg, part, number)


def _is_rows(value: Any) -> bool:
    """Whether an array of records is given by its elements."""
    return isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype == object)


def _columns(form: Record, rows: Any, number: int) -> list[Any]:
    """The components of an array that is given by its elements, or its rows, each a list. A payload that an element
    does not have is zero."""
    inner = _in_rows(form)
    found = [list(_taken(inner, row, number)) for row in rows]
    zeros = [DTYPES[part.prim].type(0) for part in components_of(inner)]
    return [
        [zero if cell is MISSING else cell for cell in column] for zero, column in zip(zeros, zip(*found, strict=True))
    ]


def _in_rows(form: Record) -> Form:
    """The form of the rows of an array of records."""
    assert form.element is not None
    if form.rank == 1:
        return form.element
    fields = tuple((name, _row(field)) for name, field in form.fields)
    return Record(fields, form.text, form.rank - 1, form.element)


def _row(form: Form) -> Form:
    match form:
        case Plain(prim, rank):
            return Plain(prim, rank - 1)
        case Record():
            return _in_rows(form)
        case Sum():
            raise AssertionError("an array has no sums")


def _fields_of(form: Record, value: Any) -> list[Any] | None:
    """The parts of a record that a value has: a tuple, a mapping, a structured array, or an object with attributes."""
    names = [name for name, _ in form.fields]
    if form.is_tuple:
        return list(value) if isinstance(value, tuple | list) and len(value) == len(names) else None
    if isinstance(value, Mapping):
        return [value[name] for name in names] if set(value) == set(names) else None
    if isinstance(value, np.ndarray | np.void) and value.dtype.names is not None:
        return [value[name] for name in names] if set(value.dtype.names) == set(names) else None
    known = field_names(names)
    is_ours = not isinstance(value, np.ndarray | np.generic) and all(hasattr(value, name) for name in known)
    return [getattr(value, name) for name in known] if is_ours else None


def _case_of(form: Sum, value: Any, number: int) -> tuple[int, Sequence[Any]]:
    """Which constructor a value has, and its payload: an object of its class, `{"name": payload}`, `"name"` alone
    where there is none."""
    match value:
        case str():
            name, payload = value, ()
        case Mapping() if len(value) == 1:
            ((name, payload),) = value.items()
        case tuple():
            ours = {python_name(name): name for name, _ in form.cases}
            named = type(value).__name__
            name = next((own for short, own in ours.items() if named == short or named.endswith(f"_{short}")), None)
            payload = value
        case _:
            name, payload = None, ()
    for which, (own, args) in enumerate(form.cases):
        if own == name:
            parts = (payload,) if len(args) == 1 and not isinstance(value, tuple) else payload
            if isinstance(parts, Sequence) and len(parts) == len(args):
                return which, parts
    raise _unsuited(form, value, number)


def _unsuited(form: Form, value: Any, number: int) -> DataError:
    text = f"argument {number}: expected {text_of(form)}, got {reprlib.repr(value)}"
    return DataError(Diagnostic("D0104", text, Label(NOWHERE, ""), hint=_hint(form)))


def _hint(form: Form) -> str:
    match form:
        case Record(fields) if not form.is_tuple:
            keys = ", ".join(f'"{name}": ..' for name, _ in fields)
            own = f"a dict {{{keys}}}, or an object with these attributes"
        case Record(fields):
            own = f"a tuple of {len(fields)}"
        case Sum(cases):
            own = " or ".join(f'{{"{name}": ..}}' if args else f'"{name}"' for name, args in cases)
        case Plain():
            own = "an array"
    return f"write {own}" + (", or a list of elements" if isinstance(form, Record) and form.rank else "")


def _filled(fun: FunDef, found: list[Any]) -> list[Any]:
    """Components with zeros in place of those that are missing, in arrays of the sizes that others give."""
    if not any(value is MISSING for value in found):
        return found
    assert fun.entry is not None
    params = fun.params[fun.entry.sizes :]
    sizes: dict[Any, int] = {}
    for param, value in zip(params, found):
        if value is not MISSING and param.type.shape:
            dims = zip(param.type.shape, np.shape(value))
            sizes |= {size.name: n for size, n in dims if isinstance(size, Var)}

    def zeros(k: int) -> Any:
        type_ = params[k].type
        shape = [int(size.value) if isinstance(size, Const) else sizes.get(size.name, 0) for size in type_.shape]
        return np.zeros(shape, DTYPES[type_.prim]) if shape else DTYPES[type_.prim].type(0)

    return [zeros(k) if value is MISSING else value for k, value in enumerate(found)]


# ---- from components ---------------------------------------------------------------------------------------------


def from_components(form: Form, parts: Iterator[Any], classes: Classes) -> Any:
    """The value whose components come next."""
    match form:
        case Plain():
            return next(parts)
        case Record(fields):
            values = [from_components(field, parts, classes) for _, field in fields]
            return tuple(values) if form.is_tuple else classes.of(form)(*values)
        case Sum(cases):
            which = int(next(parts))
            payloads = [[from_components(arg, parts, classes) for arg in args] for _, args in cases]
            return classes.case(form, cases[which][0])(*payloads[which])
