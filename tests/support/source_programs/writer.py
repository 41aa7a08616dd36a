"""What a generator of random programs keeps: decisions, what is in scope, what was reached.

A literal without a suffix is written with its type behind it in control characters, which `finished` takes out: the
evaluator gets the type by place. `weak` says that the context decides the type of such a literal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tests.support.source_programs.types import (
    FLOATS,
    INTS,
    PRIMS,
    Array,
    Prim,
    Record,
    Sum,
    Tuple,
    Type,
    fields_of,
    sizes_of,
)

Decide = Callable[[int], int]
T = TypeVar("T")
MARK = re.compile("\x02(\\w+)\x03")
COMMON = ("i32", "i64", "f32", "i32", "i64", "bool")


@dataclass(frozen=True, slots=True)
class Var:
    """A name of a type. `block`: in which block it was bound; `roots`: arrays whose memory it may share; `below`: a
    size that an index is less than; `own`: an array that nothing else refers to, which may be consumed; `among`: a size
    that is not 0 where the name is in scope."""

    name: str
    type: Type
    block: int
    roots: frozenset[str]
    below: str | None = None
    own: bool = False
    among: str | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the program: call it with arguments of these types; `roots` as for a `Var`."""

    name: str
    params: tuple[Type, ...]
    result: Type
    consumes: bool = False
    roots: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Scope:
    """What is in scope."""

    vars: tuple[Var, ...] = ()
    sizes: tuple[str, ...] = ()
    functions: tuple[Function, ...] = ()


@dataclass(slots=True)
class Writer:
    """State of a generator. `fuel`: how many compound expressions may follow. `strong`: literals need their suffix.
    `is_small`, `is_large`: of the sizes; `empty`: those that are 0; `in_nothing`: within what is done for
    each element of nothing."""

    decide: Decide
    fuel: int
    may_fail: bool = False
    is_large: bool = False
    is_small: bool = True
    scope: Scope = field(default_factory=Scope)
    reached: Counter[str] = field(default_factory=Counter)
    names: int = 0
    blocks: int = 0
    block: int = 0
    nesting: int = 0
    strong: int = 0
    lines: list[str] = field(default_factory=list)
    templates: dict[str, Any] = field(default_factory=dict)
    named: list[Type] = field(default_factory=list)
    empty: frozenset[str] = frozenset()
    in_nothing: bool = False

    # ---- decisions -------------------------------------------------------------------------------------------------

    def pick(self, items: Sequence[T]) -> T:
        return items[self.decide(len(items))]

    def recent(self, items: Sequence[T]) -> T:
        """One of them, those at the end more often."""
        return items[-1 - min(self.decide(len(items)), self.decide(len(items)))]

    def one_in(self, count: int) -> bool:
        """True once in `count` times; no for the simplest choice."""
        return self.decide(count) == count - 1

    def fails(self, count: int) -> bool:
        """Where something may fail, once in `count` times; half of it where nothing is done."""
        return self.may_fail and self.one_in(2 if self.in_nothing else count)

    def fresh(self, base: str) -> str:
        self.names += 1
        name = f"{base}{self.names}"
        return name if name not in PRIMS else self.fresh(base)

    def note(self, what: str) -> None:
        self.reached[what] += 1

    def spend(self) -> bool:
        """Is there fuel for one more compound expression?"""
        self.fuel -= 1
        return self.fuel >= 0

    # ---- scope -----------------------------------------------------------------------------------------------------

    @contextmanager
    def with_suffixes(self, needed: bool) -> Iterator[None]:
        """Where no context says the type."""
        self.strong += needed
        try:
            yield
        finally:
            self.strong -= needed

    @contextmanager
    def inside(self, *vars: Var) -> Iterator[None]:
        """A block of its own, with further names. What is done for each element of nothing may fail."""
        before, block, lines, fails = self.scope, self.block, self.lines, (self.may_fail, self.in_nothing)
        self.in_nothing |= any(v.among in self.empty for v in vars)
        self.may_fail |= self.in_nothing
        self.blocks += 1
        self.block, self.lines = self.blocks, []
        self.nesting += 1
        self.scope = replace(before, vars=(*before.vars, *[replace(v, block=self.block) for v in vars]))
        try:
            yield
        finally:
            self.scope, self.block, self.lines = before, block, lines
            self.may_fail, self.in_nothing = fails
            self.nesting -= 1

    def var(
        self, base: str, type: Type, text: str | None = None, below: str | None = None, among: str | None = None
    ) -> Var:
        """A new name; what it may share memory with, by the text that makes it (None: nothing)."""
        name = self.fresh(base)
        roots = frozenset((name,)) | (self.roots_in(text) if text is not None else frozenset())
        return Var(name, type, self.block, roots, below, among=among or below)

    def roots_in(self, text: str) -> frozenset[str]:
        words = set(re.findall(r"\w+", text))
        shared = [v.roots for v in self.scope.vars if v.name in words]
        return frozenset().union(*shared, *(f.roots for f in self.scope.functions if f.name in words))

    def add(self, var: Var) -> Var:
        self.scope = replace(self.scope, vars=(*self.scope.vars, var))
        return var

    def add_size(self, name: str) -> None:
        self.scope = replace(self.scope, sizes=(*self.scope.sizes, name))

    def add_function(self, function: Function) -> None:
        self.scope = replace(self.scope, functions=(*self.scope.functions, function))

    def consume(self, var: Var) -> None:
        """Takes away a variable and what may share memory with it."""
        kept = tuple(v for v in self.scope.vars if not v.roots & var.roots)
        functions = tuple(f for f in self.scope.functions if not f.roots & var.roots)
        self.scope = replace(self.scope, vars=kept, functions=functions)

    def vars_of(self, type: Type) -> list[Var]:
        return [v for v in self.scope.vars if v.type == type]

    def arrays(self, size: str | None = None) -> list[Var]:
        """Array variables, those of a size."""
        return [v for v in self.scope.vars if isinstance(v.type, Array) and size in (None, v.type.size)]

    def paths(self, type: Type) -> list[str]:
        """Names and fields of names that are of a type."""
        return [path for v in self.scope.vars for path in _paths(v.name, v.type, type)]

    def scalars(self) -> list[tuple[str, str]]:
        """Scalars in scope, with their types."""
        return [(path, prim.name) for v in self.scope.vars for path, prim in _scalars(v.name, v.type)]

    def size(self) -> str:
        """A size in scope, sometimes a number."""
        if not self.scope.sizes or self.one_in(16):
            return self.pick(("3", "1", "4", "2"))
        return self.recent(self.scope.sizes)

    # ---- types -----------------------------------------------------------------------------------------------------

    def prim(self) -> Prim:
        return Prim(self.pick(COMMON) if self.decide(2) == 0 else self.pick(PRIMS))

    def number(self) -> Prim:
        return Prim(self.pick(("i32", "i64", "f32", *INTS, *FLOATS)))

    def integer(self) -> Prim:
        return Prim(self.pick(("i32", "i64", *INTS)))

    def type(self, depth: int = 2) -> Type:
        """A type of values, with sizes that are in scope."""
        what = self.decide(12) if depth else 0
        if what < 6:
            return self.prim()
        if what < 7:
            return Tuple(tuple(self.type(depth - 1) for _ in range(2 + self.decide(2))))
        if what == 7:
            self.note("record")
            return Record(tuple((name, self.type(depth - 1)) for name in ("x", "y", "a")[: 2 + self.decide(2)]))
        if what == 8 and self.named:
            return self.pick(self.named)
        if what < 11:
            return Array(self.size(), self.type(depth - 1))
        return self.prim()

    def in_scope(self, type: Type) -> bool:
        """Are all sizes of a type?"""
        return all(size.isdigit() or size in self.scope.sizes for size in sizes_of(type))


def _paths(text: str, type: Type, wanted: Type) -> Iterator[str]:
    if type == wanted:
        yield text
    elif isinstance(type, Tuple | Record):
        for name, part in fields_of(type):
            yield from _paths(f"{text}.{name}", part, wanted)


def _scalars(text: str, type: Type) -> Iterator[tuple[str, Prim]]:
    if isinstance(type, Prim):
        yield text, type
    elif isinstance(type, Tuple | Record):
        for name, part in fields_of(type):
            yield from _scalars(f"{text}.{name}", part)


def indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def finished(text: str) -> tuple[str, dict[tuple[int, int], str]]:
    """The text of a program, and the types of its literals without a suffix by line and column."""
    places: dict[tuple[int, int], str] = {}
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        clean, last = "", 0
        for found in MARK.finditer(line):
            clean += line[last : found.start()]
            last = found.end()
            word = re.search(r"-?'?[\w.\\]+'?$|-?\w+\.?\w*[eE]-\d+$", clean)
            assert word is not None, line
            begin = word.start() + 1
            places[number, begin] = found[1]
            if clean[begin - 1] == "-":
                places[number, begin + 1] = found[1]
        lines.append(clean + line[last:])
    return "\n".join(lines), places


__all__ = ["Sum", "Writer"]
