"""A random program of a few statements over large arrays, with its arguments and what it gives by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import gcd
from random import Random
from typing import Any

import numpy as np

from tests.support.large_programs.operators import (
    DTYPES,
    LARGEST,
    PRIMS,
    is_float,
    literal,
)

EDGES = (1023, 1024, 1025, 4095, 4096, 4097, 16383, 16384, 16385, 65535, 65536, 65537, 131071, 131073, 200003)
SHORT = (0, 1, 2, 3, 15, 16, 17, 31, 33, 64, 100)
SHAPES = (
    (3, 70001), (70001, 3), (257, 1031), (1, 65537), (65537, 1), (1025, 33), (64, 1024), (129, 513), (0, 5), (5, 0),
    (16384, 4), (2, 16385), (4097, 17), (31, 4096), (511, 129), (20000, 8), (8, 20000), (100, 100),
)  # fmt: skip
BINS = (1, 2, 7, 16, 255, 256, 1000, 1024, 4096, 4097, 30000, 100000)
SMALL_EDGES = (30, 32, 33, 63, 64, 65, 127, 129, 255, 256, 257, 300, 511, 513, 1025)
SMALL_SHAPES = ((3, 257), (257, 3), (33, 31), (1, 300), (65, 5), (0, 4), (4, 0), (16, 16))
SMALL_BINS = (1, 3, 16, 33, 255, 300)


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes of a program."""

    edges: Sequence[int]
    shapes: Sequence[tuple[int, int]]
    bins: Sequence[int]


LARGE, SMALL = Scale(EDGES, SHAPES, BINS), Scale(SMALL_EDGES, SMALL_SHAPES, SMALL_BINS)


@dataclass(frozen=True, slots=True)
class Array:
    """A variable: its type, its sizes as they read, and its value. `largest`: of the values of an index array."""

    name: str
    prim: str
    dims: tuple[str, ...]
    value: np.ndarray

    @property
    def type(self) -> str:
        return "".join(f"[{dim}]" for dim in self.dims) + self.prim


@dataclass(frozen=True, slots=True)
class Line:
    """A statement: its text, what it binds, and the names that it uses."""

    text: str
    made: tuple[str, ...]
    uses: frozenset[str]


@dataclass(frozen=True, slots=True)
class Program:
    """A source text with an entry point `main`, its arguments, the names of its results and what they are."""

    inputs: tuple[Array, ...]
    lines: tuple[Line, ...]
    results: tuple[Array, ...]

    @property
    def text(self) -> str:
        given = {dim for x in self.inputs for dim in x.dims if not dim.isdigit()}
        sizes = "".join(f"[{dim}]" for dim in sorted(given))
        params = " ".join(f"({x.name}: {x.type})" for x in self.inputs)
        body = "\n".join(f"  {line.text}" for line in self.lines)
        shown = ", ".join(x.name for x in self.results)
        return f"entry main {sizes} {params} =\n{body}\n  in {shown if len(self.results) == 1 else f'({shown})'}\n"

    @property
    def args(self) -> tuple[np.ndarray, ...]:
        return tuple(x.value for x in self.inputs)

    def giving(self, k: int) -> Program:
        """The program with what result `k` needs."""
        needed, lines = {self.results[k].name, *self.results[k].dims}, list[Line]()
        for line in reversed(self.lines):
            if needed & set(line.made):
                lines.insert(0, line)
                needed |= line.uses
        inputs = tuple(x for x in self.inputs if x.name in needed)
        sizes = {dim for x in inputs for dim in x.dims}
        more = tuple(x for x in self.inputs if x not in inputs and not sizes.issuperset({*x.dims} & needed))
        return Program((*inputs, *more[:1]), tuple(lines), (self.results[k],))


@dataclass(slots=True)
class Writer:
    """A program under construction."""

    r: Random
    scale: Scale
    inputs: list[Array] = field(default_factory=list[Array])
    lines: list[Line] = field(default_factory=list[Line])
    arrays: list[Array] = field(default_factory=list[Array])
    results: list[Array] = field(default_factory=list[Array])
    number: int = 0

    # ---- names, inputs, lines ----------------------------------------------------------------------------------------

    def fresh(self, base: str) -> str:
        self.number += 1
        return f"{base}{self.number}"

    def input(self, prim: str, dims: tuple[str, ...], value: np.ndarray) -> Array:
        made = Array(self.fresh("in"), prim, dims, np.ascontiguousarray(value, DTYPES[prim]))
        self.inputs.append(made)
        return made

    def numbers(self, prim: str, shape: tuple[int, ...]) -> np.ndarray:
        """Random elements: of few values, or of all."""
        rng = np.random.default_rng(self.r.randrange(2**32))
        if prim == "bool":
            return rng.random(shape) < self.r.choice((0.001, 0.1, 0.5, 0.99))
        if is_float(prim):
            return rng.integers(-LARGEST, LARGEST + 1, shape).astype(DTYPES[prim])
        info = np.iinfo(DTYPES[prim])
        if self.r.random() < 0.5:
            return rng.integers(max(info.min, -5), 9, shape).astype(DTYPES[prim])
        return rng.integers(info.min, info.max, shape, dtype=DTYPES[prim], endpoint=True)

    def array(self, rank: int) -> Array:
        """An array that is there, or a new argument."""
        there = [x for x in self.arrays if len(x.dims) == rank]
        if there and self.r.random() < 0.85:
            return self.r.choice(there[-3:])
        prim = self.r.choice(PRIMS)
        if rank == 1:
            size = self.r.choice(self.scale.edges) if self.r.random() < 0.9 else self.r.choice(SHORT)
            return self.keep(self.input(prim, (self.fresh("n"),), self.numbers(prim, (size,))))
        shape = self.r.choice(self.scale.shapes)
        return self.keep(self.input(prim, (self.fresh("n"), self.fresh("m")), self.numbers(prim, shape)))

    def beside(self, xs: Array, prim: str) -> Array:
        """An array of the same sizes and this type: one that is there, or a new argument."""
        there = [y for y in self.arrays if y.dims == xs.dims and y.prim == prim and y is not xs]
        if there and self.r.random() < 0.7:
            return self.r.choice(there)
        if all(dim in {d for x in self.inputs for d in x.dims} for dim in xs.dims):
            return self.input(prim, xs.dims, self.numbers(prim, xs.value.shape))
        # the size is computed: from the elements themselves
        seven, zero = literal(xs.prim, 7), literal(xs.prim, 0)
        if xs.prim == "bool":
            test, value = "!x", np.logical_not(xs.value)
        elif is_float(xs.prim):
            test, value = f"x < {zero}", xs.value < 0
        else:
            test, value = f"x % {seven} < {literal(xs.prim, 3)}", np.mod(xs.value, DTYPES[xs.prim].type(7)) < 3
        yes, no = (True, False) if prim == "bool" else (3, 5)
        chosen = np.where(value, DTYPES[prim].type(yes), DTYPES[prim].type(no))
        body = f"(\\x -> if {test} then {literal(prim, yes)} else {literal(prim, no)})"
        for _ in xs.dims[1:]:
            body = f"(map {body})"
        return self.let("ys", prim, xs.dims, f"map {body} {xs.name}", chosen, xs)

    def keep(self, x: Array) -> Array:
        self.arrays.append(x)
        return x

    def line(self, pattern: str, text: str, made: Iterable[str], used: Iterable[Array | str]) -> None:
        names = {name for u in used for name in ((u,) if isinstance(u, str) else (u.name, *u.dims))}
        self.lines.append(Line(f"let {pattern} = {text}", tuple(made), frozenset(names)))

    def let(
        self, base: str, prim: str, dims: tuple[str, ...], text: str, value: np.ndarray, *used: Array | str
    ) -> Array:
        """A new array of sizes that are known."""
        name = self.fresh(base)
        assert value.dtype == DTYPES[prim], (text, value.dtype, prim)
        made = Array(name, prim, dims, value)
        self.line(f"{name}: {made.type}", text, (name,), (*used, *dims))
        return self.keep(made)

    def let_sized(self, prim: str, rest: tuple[str, ...], text: str, value: np.ndarray, *used: Array | str) -> Array:
        """A new array whose outermost size gets a name."""
        name, size = self.fresh("ys"), self.fresh("k")
        assert value.dtype == DTYPES[prim], (text, value.dtype, prim)
        made = Array(name, prim, (size, *rest), value)
        self.line(f"[{size}] ({name}: {made.type})", text, (name, size), (*used, *rest))
        return self.keep(made)

    def number_of(self, prim: str, text: str, value: Any, *used: Array | str) -> Array:
        """A new scalar, which is a result."""
        made = Array(self.fresh("s"), prim, (), np.asarray(value, DTYPES[prim]))
        self.line(f"{made.name}: {prim}", text, (made.name,), used)
        self.results.append(made)
        return made

    def consume(self, x: Array) -> str:
        """The text of an array that is overwritten: the array itself, which is then gone, or a copy."""
        if x in self.arrays and x not in self.inputs and self.r.random() < 0.5 and self._owned(x):
            self.arrays = [y for y in self.arrays if y.name != x.name]
            return x.name
        return f"(copy {x.name})"

    def _owned(self, x: Array) -> bool:
        """Whether a `map` has made it, so that nothing is an alias of it."""
        makers = [line.text for line in self.lines if x.name in line.made]
        return bool(makers) and makers[0].split(" = ", 1)[1].startswith(("map ", "scatter ", "hist ", "scan "))

    def indices(self, count: str, length: int, bound: int, unique: bool) -> tuple[str, np.ndarray, list[Array]]:
        """The text of `[count]i64` with values below `bound`, or beside it; how; the arrays that it uses."""
        r, i = self.r, np.arange(length, dtype=np.int64)
        if unique and bound < length:
            raise LookupError
        if r.random() < 0.35 and count in {d for x in self.inputs for d in x.dims}:
            rng = np.random.default_rng(r.randrange(2**32))
            if unique:
                found = rng.permutation(max(bound, length))[:length]
                found[found >= bound] = -1
            else:
                found = rng.integers(-1, bound + 1, length)
                if r.random() < 0.3:
                    found[: length * 3 // 4] = bound // 2
            given = self.input("i64", (count,), found)
            return given.name, given.value, [given]
        step = r.choice((1, 1, 3, 7, 17, 1021))
        shift = r.choice((0, 1, 5, max(0, bound - 1)))
        if bound == 0:
            return f"(replicate {count} (-1i64))", np.full(length, -1), []
        if unique:
            while gcd(step, bound) > 1:
                step += 1
        if r.random() < 0.3:
            return f"(map (\\i -> {bound} - 1 - i) (iota {count}))", bound - 1 - i, []
        found = (i * step + shift) % bound
        return f"(map (\\i -> (i * {step} + {shift}) % {bound}) (iota {count}))", found, []


Statement = Callable[[Writer], None]
