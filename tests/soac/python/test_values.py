"""Values of random types become components and come back; rows and columns of an array are the same components."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from soac.ir.core import Body, FunDef, Param
from soac.ir.entry_points import Entry, EntryParam
from soac.ir.errors import NOWHERE
from soac.ir.scalar import DTYPES
from soac.ir.types import Name, Type, i64
from soac.python.classes import classes_of
from soac.python.forms import Form, Plain, Record, Sum, components_of, form_of, is_plain, text_of
from soac.python.values import from_components, to_components

PRIMS = ("i32", "f64", "bool", "u8")
LENGTH = 3


def random_type(drawn: random.Random, depth: int) -> str:
    match drawn.randrange(5 if depth else 1):
        case 1:
            return f"[{LENGTH}]{part(drawn, depth)}"
        case 2:
            names = drawn.sample(["x", "y'", "class", "_z", "tag"], drawn.randint(1, 3))
            return f"{{{', '.join(f'{name}: {random_type(drawn, depth - 1)}' for name in sorted(names))}}}"
        case 3:
            return f"({', '.join(random_type(drawn, depth - 1) for _ in range(drawn.choice((0, 2, 3))))})"
        case 4:
            names = sorted(drawn.sample(["a", "b", "constructor", "if"], drawn.randint(1, 3)))
            cases = (" ".join([f"#{n}", *(part(drawn, depth) for _ in range(drawn.randrange(3)))]) for n in names)
            return " | ".join(cases)
        case _:
            return drawn.choice(PRIMS)


def part(drawn: random.Random, depth: int) -> str:
    text = random_type(drawn, depth - 1)
    return f"({text})" if text.startswith("#") else text


def random_value(drawn: random.Random, form: Form) -> Any:
    """A value as rows of dicts: what a user writes."""
    match form:
        case Plain(prim, rank):
            bits = [drawn.randrange(2) for _ in range(LENGTH**rank)]
            return np.array(bits, DTYPES[prim]).reshape((LENGTH,) * rank)[()]
        case Record(fields, rank=0):
            parts = {name: random_value(drawn, field) for name, field in fields}
            return tuple(parts.values()) if form.is_tuple else parts
        case Record(element=element, rank=rank):
            assert element is not None
            return random_rows(drawn, element, rank)
        case Sum(cases):
            name, args = drawn.choice(cases)
            values = tuple(random_value(drawn, arg) for arg in args)
            return name if not values else {name: values[0] if len(values) == 1 else values}


def random_rows(drawn: random.Random, element: Form, rank: int) -> Any:
    return [random_rows(drawn, element, rank - 1) for _ in range(LENGTH)] if rank else random_value(drawn, element)


def entry_of(text: str) -> FunDef:
    parts = components_of(form_of(text))
    params = tuple(Param(Name("x", k), Type(p.prim, (i64(LENGTH),) * p.rank)) for k, p in enumerate(parts))
    entry = Entry("f", 0, (EntryParam("x", text, len(parts), False),), ())
    return FunDef(Name("f", 0), params, (), (), Body((), ()), entry, (), NOWHERE)


@pytest.mark.parametrize("seed", range(0, 400, 50))
def test_there_and_back(seed: int) -> None:
    for k in range(50):
        drawn = random.Random(seed + k)
        text = random_type(drawn, 3)
        form, fun = form_of(text), entry_of(text)
        assert text_of(form).replace("[]", f"[{LENGTH}]") == text
        assert is_plain(text) == isinstance(form, Plain)
        classes = classes_of([fun], {})
        parts = to_components(fun, [form], [random_value(drawn, form)], classes)
        arrays = [np.asarray(part, DTYPES[p.type.prim]) for part, p in zip(parts, fun.params, strict=True)]
        assert [a.ndim for a in arrays] == [len(p.type.shape) for p in fun.params], text
        value = from_components(form, iter(arrays), classes)
        again = to_components(fun, [form], [value], classes)
        assert all(np.array_equal(one, other) for one, other in zip(arrays, again, strict=True)), text
