"""Named tuples for the records and sums of a program.

A record has a class with its fields; a constructor of a sum one with its payload, `value`, or `value0`, `value1`, ..
where there are several. Classes have the names of the source: that of the type, else of the fields (`x_y`), and
`.._array` for arrays of records. Records of array elements are records of arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from ..ir.core import FunDef
from .forms import CONSTRUCTOR, Form, Plain, Record, Sum, field_names, form_of, is_plain, python_name

Class = type[Any]
RESERVED = frozenset(("Any", "Mapping", "NDArray", "NamedTuple", "Program", "Sequence", "np", "program"))
"""Names that modules of programs and their stubs have."""


@dataclass(frozen=True, slots=True)
class Fields:
    """A class to be made: its name, and Python's names of its fields with their forms."""

    name: str
    fields: tuple[tuple[str, Form], ...]


@dataclass(slots=True)
class Classes:
    """The classes that a program needs so far, by the text of a record's type, and by that of a sum's with the name of
    the constructor. `names`: of types, by their texts; `reserved`: names that are something else."""

    names: Mapping[str, str]
    reserved: frozenset[str]
    planned: dict[tuple[str, ...], Fields] = field(default_factory=dict)
    made: dict[tuple[str, ...], Class] = field(default_factory=dict)

    def of(self, form: Record) -> Class:
        return self.made[key_of(form)]

    def case(self, form: Sum, constructor: str) -> Class:
        return self.made[form.text, constructor]

    def by_name(self) -> dict[str, Class]:
        return {made.__name__: made for made in self.made.values()}

    def plan(self, form: Form) -> None:
        """Names for the classes of a form and of its parts."""
        match form:
            case Plain():
                return
            case Record(fields):
                for _, part in fields:
                    self.plan(part)
                if form.element is not None:
                    self.plan(form.element)
                if not form.is_tuple:
                    self._add(key_of(form), [self._name_of(form)], fields)
            case Sum(cases, text):
                for name, args in cases:
                    for arg in args:
                        self.plan(arg)
                    names = ["value"] if len(args) == 1 else [f"value{k}" for k in range(len(args))]
                    wishes = [name, f"{self.names[text]}_{name}" if text in self.names else name]
                    self._add((text, name), wishes, zip(names, args))

    def _name_of(self, form: Record) -> str:
        names = (name for name, _ in form.fields if name != CONSTRUCTOR)
        base = self.names.get(form.text) or "_".join(names)
        return base if not form.rank else f"{base}_array{form.rank if form.rank > 1 else ''}"

    def _add(self, key: tuple[str, ...], wishes: list[str], fields: Iterable[tuple[str, Form]]) -> None:
        if key in self.planned:
            return
        taken = {one.name for one in self.planned.values()} | self.reserved
        wishes += [f"{wishes[-1]}{k}" for k in range(2, len(taken) + 3)]
        name = next(name for name in map(python_name, wishes) if name not in taken)
        parts = list(fields)
        held = tuple(zip(field_names(name for name, _ in parts), (form for _, form in parts)))
        self.planned[key] = Fields(name, held)
        self.made[key] = named_tuple(name, tuple(name for name, _ in held))


@cache
def named_tuple(name: str, fields: tuple[str, ...]) -> Class:
    """The class of this name with these fields, the same for all programs of the process, so that values are compared
    by it; values are pickled by its name and fields."""
    made: Any = NamedTuple(name, [(field, Any) for field in fields])  # type: ignore[misc]
    made.__module__ = "soac.types"
    made.__reduce__ = lambda self: (again, (name, fields, tuple(self)))  # type: ignore[method-assign]
    return made


def again(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """A value that was copied or pickled."""
    return named_tuple(name, fields)(*values)


def classes_of(functions: Iterable[FunDef], names: Mapping[str, str]) -> Classes:
    """The classes of what entries take and give."""
    entries = list(functions)
    found = Classes(names, RESERVED | {fun.name.base for fun in entries})
    for fun in entries:
        assert fun.entry is not None
        for part in (*fun.entry.params, *fun.entry.results):
            if not is_plain(part.text):
                found.plan(form_of(part.text))
    return found


def key_of(form: Record) -> tuple[str, ...]:
    return (form.text, "[]" * form.rank) if form.rank else (form.text,)
