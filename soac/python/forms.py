"""The form of a value as Python sees it, from the text of a type in the signature of an entry.

[n][m]f32                 an array of rank 2
[n]{x: f32, y: f32}       a record of arrays: the components of an array's elements are arrays of their own
#circle f32 | #none       a sum: a number that says which constructor, and the payloads of all of them
[n](#circle f32 | #none)  a record of these as arrays: `constructor`, `circle`
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ..ir.records import dataclass
from ..ir.types import Prim

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plain:
    """An array of this rank, or a scalar."""

    prim: Prim
    rank: int


@dataclass(frozen=True, slots=True)
class Record:
    """Named parts; a tuple has the names 0, 1, .. . Where it stands for an array of records, `rank` is that of the
    array, `element` the form of an element, and `text` its type."""

    fields: tuple[tuple[str, Form], ...]
    text: str
    rank: int = 0
    element: Form | None = None

    @property
    def is_tuple(self) -> bool:
        return not self.fields or self.fields[0][0] == "0"


@dataclass(frozen=True, slots=True)
class Sum:
    """Constructors with their payloads, in the order of their numbers."""

    cases: tuple[tuple[str, tuple[Form, ...]], ...]
    text: str


Form = Plain | Record | Sum

TOKEN = re.compile(r"#?[^\s()\[\]{},:|#]+|[(){},:|]")

CONSTRUCTOR = "constructor"
"""The field of an array of sums that says which constructor each element has."""


def is_plain(text: str) -> bool:
    """Whether a type is an array or a scalar."""
    return text[-1:] not in ")}" and "#" not in text


def form_of(text: str) -> Form:
    """The form of a value of a type."""
    reader = _Reader(list(_tokens(text)))
    return reader.type()


def components_of(form: Form) -> list[Plain]:
    """The parts of a form that are arrays and scalars, in order; the number of a constructor is an i8."""
    match form:
        case Plain():
            return [form]
        case Record(fields):
            return [part for _, field in fields for part in components_of(field)]
        case Sum(cases):
            payloads = (arg for _, args in cases for arg in args)
            return [Plain(Prim.I8, 0), *(part for arg in payloads for part in components_of(arg))]


def _tokens(text: str) -> Iterator[str]:
    """Names, signs, and sizes as `[..]`."""
    at = 0
    while at < len(text):
        if text[at] == "[":
            end = _closing(text, at)
            yield text[at:end]
            at = end
        elif (found := TOKEN.match(text, at)) is not None:
            yield found[0]
            at = found.end()
        else:
            at += 1


def _closing(text: str, at: int) -> int:
    """The place behind the bracket that closes the one at a place: sizes may be expressions."""
    depth = 0
    for end in range(at, len(text)):
        depth += {"[": 1, "]": -1}.get(text[end], 0)
        if not depth:
            return end + 1
    return len(text)


@dataclass(slots=True)
class _Reader:
    tokens: list[str]
    at: int = 0

    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def has(self, sign: str) -> bool:
        if self.next() != sign:
            return False
        self.at += 1
        return True

    def type(self) -> Form:
        if not self.next().startswith("#"):
            return self.part()
        cases = [self.case()]
        while self.has("|"):
            cases.append(self.case())
        return Sum(tuple(cases), text_of_sum(cases))

    def case(self) -> tuple[str, tuple[Form, ...]]:
        name, args = self.take()[1:], []
        while self.next() not in ("", "|", ")", "}", ","):
            args.append(self.part())
        return name, tuple(args)

    def part(self) -> Form:
        rank = 0
        while self.next().startswith("["):
            self.at, rank = self.at + 1, rank + 1
        element = self.element()
        return element if rank == 0 else _in_array(element, rank)

    def element(self) -> Form:
        if self.has("{"):
            fields = list(self.until("}", lambda: (self.take(), self.has(":"), self.type())))
            return _record([(name, form) for name, _, form in fields])
        if not self.has("("):
            return Plain(Prim(self.take()), 0)
        parts = list(self.until(")", self.type))
        grouped = len(parts) == 1 and isinstance(parts[0], Sum)
        return parts[0] if grouped else _record([(str(k), part) for k, part in enumerate(parts)])

    def until(self, end: str, one: Callable[[], T]) -> Iterator[T]:
        while not self.has(end):
            yield one()
            self.has(",")


def _record(fields: list[tuple[str, Form]]) -> Record:
    if not fields or fields[0][0] == "0":
        text = f"({', '.join(text_of(form) for _, form in fields)})"
    else:
        text = f"{{{', '.join(f'{name}: {text_of(form)}' for name, form in fields)}}}"
    return Record(tuple(fields), text)


def text_of(form: Form) -> str:
    """The type without sizes."""
    match form:
        case Plain(prim, rank):
            return "[]" * rank + prim.value
        case Record(_, text, rank):
            return "[]" * rank + (f"({text})" if text.startswith("#") else text)
        case Sum(_, text):
            return text


def text_of_sum(cases: Iterable[tuple[str, tuple[Form, ...]]]) -> str:
    def part(form: Form) -> str:
        text = text_of(form)
        return f"({text})" if isinstance(form, Sum) else text

    return " | ".join(" ".join([f"#{name}", *map(part, args)]) for name, args in cases)


def _in_array(element: Form, rank: int) -> Form:
    """The form of an array of elements."""
    match element:
        case Plain(prim, inner):
            return Plain(prim, inner + rank)
        case Record(fields, text):
            held = [(name, _in_array(field, rank)) for name, field in fields]
            return Record(tuple(held), text, rank + element.rank, element)
        case Sum(cases, text):
            held = [(CONSTRUCTOR, Plain(Prim.I8, rank))]
            held += [(name, _in_array(arg, rank)) for name, arg in payloads_of(cases)]
            return Record(tuple(held), text, rank, element)


def payloads_of(cases: Iterable[tuple[str, tuple[Form, ...]]]) -> Iterator[tuple[str, Form]]:
    """All payloads by name: that of the constructor, with a number where it has several."""
    seen = {CONSTRUCTOR}
    for name, args in cases:
        for k, arg in enumerate(args):
            own = name if len(args) == 1 else f"{name}{k}"
            while own in seen:
                own += "_"
            seen.add(own)
            yield own, arg


def field_names(names: Iterable[str]) -> list[str]:
    """Names as fields of a named tuple, which do not begin with `_`, all different."""
    return unique_names(f"f{name}" if name.startswith("_") else name for name in map(python_name, names))


def unique_names(names: Iterable[str]) -> list[str]:
    """Names in Python, all different."""
    made: list[str] = []
    for name in map(python_name, names):
        while name in made:
            name += "_"
        made.append(name)
    return made


def python_name(name: str) -> str:
    """A name of the language as one of Python: `x'` is `x_`, `class` is `class_`."""
    made = re.sub(r"\W", "_", name)
    return f"{made}_" if keyword.iskeyword(made) or not made.isidentifier() else made
