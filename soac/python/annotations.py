"""Annotations of entries, as objects (`typing.get_type_hints`) and as text for stubs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from ..ir.core import FunDef
from ..ir.scalar import DTYPES
from ..ir.types import Prim
from .classes import Classes
from .forms import Form, Plain, Record, Sum, form_of


def annotations_of(fun: FunDef, names: Iterable[str], classes: Classes) -> dict[str, Any]:
    """The types of parameters, by the names that Python has for them, and `return`."""
    assert fun.entry is not None
    found = {name: annotation(form_of(param.text), classes) for name, param in zip(names, fun.entry.params)}
    return {**found, "return": results_of([annotation(form_of(one.text), classes) for one in fun.entry.results])}


def annotation(form: Form, classes: Classes) -> Any:
    """The type of what an entry gives; it takes more."""
    match form:
        case Plain(prim, 0):
            return DTYPES[prim].type
        case Plain(prim):
            return npt.NDArray[DTYPES[prim].type]
        case Record(fields):
            return (
                results_of([annotation(part, classes) for _, part in fields], 0) if form.is_tuple else classes.of(form)
            )
        case Sum(cases):
            return Union[tuple(classes.case(form, name) for name, _ in cases)]  # noqa: UP007


def results_of(types: Sequence[Any], alone: int = 1) -> Any:
    """One type, or a tuple."""
    return types[0] if len(types) == alone else tuple[tuple(types)] if types else tuple[()]


# ---- as text -----------------------------------------------------------------------------------------------------


def text_given(form: Form, classes: Classes) -> str:
    """The type of a result, or of a field."""
    match form:
        case Plain(prim, 0):
            return scalar_name(prim)
        case Plain(prim):
            return f"NDArray[{scalar_name(prim)}]"
        case Record(fields) if form.is_tuple:
            return tuple_text([text_given(part, classes) for _, part in fields])
        case Record():
            return classes.of(form).__name__
        case Sum(cases):
            return " | ".join(classes.case(form, name).__name__ for name, _ in cases)


def text_taken(form: Form, classes: Classes) -> str:
    """The type of an argument."""
    match form:
        case Plain(Prim.BOOL, 0):
            return "bool | np.bool_"
        case Plain(prim, 0):
            return "float | np.floating[Any] | np.integer[Any]" if prim.is_float else "int | np.integer[Any]"
        case Plain():
            return f"{text_given(form, classes)} | Sequence[Any]"
        case Record(fields) if form.is_tuple and not form.rank:
            return tuple_text([text_taken(part, classes) for _, part in fields])
        case Record() if form.rank:
            return f"{text_given(form, classes)} | Sequence[Any] | Mapping[str, Any]"
        case Record():
            return f"{text_given(form, classes)} | Mapping[str, Any]"
        case Sum():
            return f"{text_given(form, classes)} | Mapping[str, Any] | str"


def text_of_results(forms: Sequence[Form], classes: Classes) -> str:
    texts = [text_given(form, classes) for form in forms]
    return texts[0] if len(texts) == 1 else tuple_text(texts)


def tuple_text(texts: Sequence[str]) -> str:
    return f"tuple[{', '.join(texts) or '()'}]"


def scalar_name(prim: Prim) -> str:
    return "Any" if prim is Prim.BF16 else f"np.{np.dtype(DTYPES[prim]).type.__name__}"
