"""Values of Python for records, tuples and sums as components, and components as such values."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ir.core import FunDef
from ..ir.errors import DataError, Diagnostic
from ..ir.scalar import DTYPES
from ..ir.types import Const, Var
from .classes import Classes
from .forms import Form, Plain, Record, Sum, components_of, field_names, text_of

MISSING = object()
"""A payload of a constructor that a value does not have."""


# ---- to components -----------------------------------------------------------------------------------------------


def to_components(fun: FunDef, forms: Sequence[Form], args: Sequence[Any], classes: Classes) -> list[Any]:
    """The components of the arguments of an entry; raises `DataError` D0104 for a value of another form."""
    found = [part for k, (form, arg) in enumerate(zip(forms, args), 1) for part in _Taker(classes, k).parts(form, arg)]
    return _filled(fun, found)


@dataclass(frozen=True, slots=True)
class _Taker:
    """Takes an argument, of this number, apart."""

    classes: Classes
    number: int

    def parts(self, form: Form, value: Any) -> Iterator[Any]:
        match form:
            case Plain():
                yield value
            case Record(fields) if form.rank and _is_rows(value):
                columns = self.columns(form, value)
                yield from columns if columns else [[] for _ in components_of(form)]
            case Record(fields):
                parts = _fields_of(form, value)
                if parts is None:
                    raise _unsuited(form, value, self.number)
                for (_, field), part in zip(fields, parts, strict=True):
                    yield from self.parts(field, part)
            case Sum(cases):
                which, payload = self.case(form, value)
                yield which
                for k, (_, args) in enumerate(cases):
                    if k != which:
                        yield from [MISSING for arg in args for _ in components_of(arg)]
                        continue
                    for arg, part in zip(args, payload, strict=True):
                        yield from self.parts(arg, part)

    def columns(self, form: Record, rows: Any) -> list[Any]:
        """The components of an array that is given by its elements, or its rows, each a list. A payload that an
        element does not have is zero."""
        inner = _in_rows(form)
        found = [list(self.parts(inner, row)) for row in rows]
        return [_column(part, column) for part, column in zip(components_of(inner), zip(*found, strict=True))]

    def case(self, form: Sum, value: Any) -> tuple[int, Sequence[Any]]:
        """Which constructor a value has, and its payload: an object of its class, `{"name": payload}`, `"name"` alone
        where there is none."""
        match value:
            case str():
                name, payload = value, ()
            case Mapping() if len(value) == 1:
                ((name, payload),) = value.items()
            case tuple():
                ours = (name for name, _ in form.cases if type(value) is self.classes.case(form, name))
                name, payload = next(ours, None), value
            case _:
                name, payload = None, ()
        for which, (own, args) in enumerate(form.cases):
            if own == name:
                parts = (payload,) if len(args) == 1 and isinstance(value, Mapping) else payload
                if isinstance(parts, Sequence) and len(parts) == len(args):
                    return which, parts
        raise _unsuited(form, value, self.number)


def _is_rows(value: Any) -> bool:
    """Whether an array of records is given by its elements."""
    return isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype == object)


def _column(part: Plain, cells: Sequence[Any]) -> Any:
    """One component of all elements; where an element has none, zeros in the shape of the others, if one has it."""
    shape = next((np.shape(cell) for cell in cells if cell is not MISSING), None)
    if shape is None:
        return MISSING
    return [np.zeros(shape, DTYPES[part.prim])[()] if cell is MISSING else cell for cell in cells]


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


def _unsuited(form: Form, value: Any, number: int) -> DataError:
    text = f"argument {number}: expected {text_of(form)}, got {reprlib.repr(value)}"
    return DataError(Diagnostic("D0104", text, hint=_hint(form)))


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
