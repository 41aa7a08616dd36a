"""A random program: its text, arguments, and what its results are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from hypothesis import strategies as st

from tests.support.source_programs.expressions import INEXACT_BINARY, INEXACT_UNARY
from tests.support.source_programs.header import declarations
from tests.support.source_programs.scalars import TYPES
from tests.support.source_programs.statements import arrayed, statements
from tests.support.source_programs.types import (
    FLOATS,
    I64,
    Array,
    Prim,
    Record,
    Tuple,
    Type,
    fields_of,
    has_array,
    has_sum,
    show,
)
from tests.support.source_programs.writer import Decide, Var, Writer, finished

SMALL, MEDIUM, LARGE = (0, 1, 2, 3, 5, 7), (8, 16, 17, 33, 40, 65, 70), (100, 257, 1000, 1025, 2500)
MOST_RESULTS = 7
TOLERANCE = {"f16": 0.02, "bf16": 0.1, "f32": 1e-4, "f64": 1e-9}


@dataclass(frozen=True, slots=True)
class Program:
    """A program with arguments. `literals`: types of literals without a suffix, by place; `results`: the types of the
    results of `main`, each with the tolerance to compare it with (0: all bits); `frame`, `shown`: the text around the
    results, and of each of them its type and itself."""

    text: str
    literals: dict[tuple[int, int], str]
    args: tuple[np.ndarray | np.generic, ...]
    arg_types: tuple[Type, ...]
    results: tuple[tuple[Type, float], ...]
    reached: Counter[str]
    frame: tuple[str, str] = ("", "")
    shown: tuple[tuple[str, str], ...] = ()

    def giving(self, chosen: Sequence[int]) -> Program:
        """The program with some of its results alone."""
        shown = tuple(self.shown[k] for k in chosen)
        return replace(
            self, text=framed(self.frame, shown), results=tuple(self.results[k] for k in chosen), shown=shown
        )


def framed(frame: tuple[str, str], shown: Sequence[tuple[str, str]]) -> str:
    """The text before the type of the result, the type, the text before the result, the result."""
    types, texts = (", ".join(parts) for parts in zip(*shown, strict=True))
    return f"{frame[0]}{types}{frame[1]}{texts}\n" if len(shown) == 1 else f"{frame[0]}({types}){frame[1]}({texts})\n"


def program_of(decide: Decide) -> Program:
    """A program by the decisions given."""
    kind = decide(20)
    is_large = kind == 19
    w = Writer(
        decide, fuel=7 if is_large else 6 + decide(22), is_large=is_large, is_small=kind < 14, may_fail=decide(7) == 6
    )
    sizes = _sizes(decide, kind)
    w.empty = frozenset(name for name, size in sizes.items() if size == 0)
    head = declarations(w, decide(5))
    params = _params(w)
    with w.inside(*params):
        for size in ("n", "m"):
            w.add_size(size)
        statements(w, 1 + decide(2 if is_large else 7))
        w.fuel = max(w.fuel, 3)
        arrayed(w)
        results, texts = _results(w)
        shown = " ".join(f"({p.name}: {show(p.type)})" for p in params)
        types = [_open(w, type) for type, _ in results]
        lines = "".join(f"{line}\n".replace("\n", "\n  ") for line in w.lines)
        body = f"{lines}in " if w.lines else ""
    marked = f"{head}\ndef main [n] [m] {shown}: \x04 =\n  {body}\x04"
    clean, literals = finished(marked)
    before, between, _ = clean.split("\x04")
    frame, parts = (before, between), tuple(zip(types, texts, strict=True))
    numbers = np.random.default_rng(decide(1 << 16))
    args = tuple(part for p in params for part in _arguments(numbers, p.type, sizes, ()))
    w.note("large arrays" if is_large else "small arrays")
    w.note("may fail" if w.may_fail else "does not fail")
    if 0 in sizes.values():
        w.note("empty arrays")
    return Program(
        framed(frame, parts), literals, args, tuple(p.type for p in params), tuple(results), w.reached, frame, parts
    )


def _params(w: Writer) -> tuple[Var, ...]:
    """Parameters that tell both sizes, and some more."""
    first, second = w.prim(), w.prim()
    types: list[Type] = [Array("n", first), Array("m", second) if w.decide(2) else Array("n", Array("m", second))]
    for _ in range(w.decide(4)):
        match w.decide(6):
            case 0:
                types.append(Array("n", Tuple((w.prim(), w.prim()))))
            case 1:
                types.append(Record((("b", w.prim()), ("a", Array("m", w.prim())))))
            case 2:
                types.append(Array("m", Array("n", w.prim())))
            case 3 if not w.is_large:
                types.append(Array("n", Array("m", Array("3", w.prim()))))
            case _:
                types.append(w.prim())
    return tuple(w.var("xs" if isinstance(type, Array) else "c", type) for type in types)


def _results(w: Writer) -> tuple[list[tuple[Type, float]], list[str]]:
    """Values to give back, the last ones first; of floats also what functions that are not exact make of them."""
    found = [v for v in w.scope.vars[::-1] if not has_sum(v.type)]
    made = [v for v in found if v.block == w.block and not v.name.startswith(("xs", "c"))]
    chosen = sorted(made, key=lambda v: not has_array(v.type))[: 1 + w.decide(MOST_RESULTS)] or found[:2]
    results: list[tuple[Type, float]] = [(v.type, 0.0) for v in chosen]
    texts = [f"copy {v.name}" if any(root.startswith("con") for root in v.roots) else v.name for v in chosen]
    floats = [v for v in found if _float_of(v.type)]
    if floats and w.decide(3) == 0:
        var = w.pick(floats)
        prim = _float_of(var.type)
        binary = w.one_in(4)
        name = w.pick(INEXACT_BINARY if binary else INEXACT_UNARY)
        infix = name == "**"
        w.note(f"{name} {prim}")
        second = f" 1.5{prim}" if binary else ""
        x = var.name if isinstance(var.type, Prim) else "x"
        apply = f"{x} **{second}" if infix else f"{prim}.{name} {x}{second}"
        apply = apply if isinstance(var.type, Prim) else f"map (\\x -> {apply}) {var.name}"
        results.append((var.type, TOLERANCE[prim]))
        texts.append(apply)
    return results, texts


def _float_of(type: Type) -> str:
    match type:
        case Prim(name) | Array(_, Prim(name)) if name in FLOATS:
            return name
        case _:
            return ""


def _open(w: Writer, type: Type) -> str:
    """The type of a result, without the sizes that the parameters do not tell."""
    match type:
        case Array(size, elem):
            return f"[{size if size in ('n', 'm') or size.isdigit() else ''}]{_open(w, elem)}"
        case Tuple(elems):
            return f"({', '.join(_open(w, elem) for elem in elems)})"
        case Record(fields, None):
            return f"{{{', '.join(f'{name}: {_open(w, part)}' for name, part in fields)}}}"
        case _:
            return show(type)


# ---- arguments -----------------------------------------------------------------------------------------------------


def _sizes(decide: Decide, kind: int) -> dict[str, int]:
    n, m = (LARGE, SMALL) if kind == 19 else (MEDIUM, SMALL) if kind >= 14 else (SMALL, SMALL)
    sizes = {"n": n[decide(len(n))], "m": m[decide(len(m))]}
    if kind == 18:
        sizes = {"n": 64 + decide(7), "m": 0}
    return {"n": sizes["m"], "m": sizes["n"]} if decide(4) == 3 else sizes


def _arguments(
    numbers: np.random.Generator, type: Type, sizes: dict[str, int], shape: tuple[int, ...]
) -> list[np.ndarray | np.generic]:
    """Arrays and scalars of scalars, in the order in which an entry takes them."""
    match type:
        case Prim(name):
            return [random_scalars(numbers, name, shape)]
        case Array(size, elem):
            return _arguments(numbers, elem, sizes, (*shape, sizes.get(size) if size in sizes else int(size)))  # type: ignore[arg-type]
        case _:
            return [part for _, elem in fields_of(type) for part in _arguments(numbers, elem, sizes, shape)]


def random_scalars(numbers: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray | np.generic:
    """Small numbers mostly, and now and then those at the edges of a type."""
    dtype = np.dtype(TYPES[name])
    if name == "bool":
        data = numbers.integers(0, 2, shape).astype(dtype)
    elif name in FLOATS:
        small = numbers.integers(-20, 20, shape) / 4
        edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e4, 0.1, -3.0, 1e-5, 2.0**-14])
        data = np.where(numbers.random(shape) < 0.85, small, edges[numbers.integers(0, len(edges), shape)]).astype(
            dtype
        )
    else:
        info = np.iinfo(dtype)
        small = numbers.integers(max(info.min, -5), 12, shape)
        wide = numbers.integers(info.min, info.max, shape, dtype, endpoint=True)
        data = np.where(numbers.random(shape) < 0.85, small.astype(dtype), wide)
    array = np.asarray(data, dtype)
    return array if shape else array[()]


def arguments_as_values(program: Program) -> list[object]:
    """The arguments as the evaluator has them: arrays of tuples in one piece."""
    from tests.support.source_programs.values import from_numpy

    parts = iter([from_numpy(arg) for arg in program.args])
    return [_assembled(type, parts) for type in program.arg_types]


def _assembled(type: Type, parts: object) -> object:
    from tests.support.source_programs.values import Vec

    match type:
        case Prim():
            return next(parts)  # type: ignore[call-overload]
        case Array(_, elem):
            depth, bottom = 1, elem
            while isinstance(bottom, Array):
                depth, bottom = depth + 1, bottom.elem
            if isinstance(bottom, Prim):
                return next(parts)  # type: ignore[call-overload]
            inner = _assembled_fields(bottom, parts)
            return _zipped(bottom, inner, depth)
        case _:
            return _record_of(type, _assembled_fields(type, parts))
    return Vec([])


def _assembled_fields(type: Type, parts: object) -> list[object]:
    return [_assembled(elem, parts) for _, elem in fields_of(type)]


def _record_of(type: Type, values: list[object]) -> object:
    names = [name for name, _ in fields_of(type)]
    return tuple(values) if isinstance(type, Tuple) else dict(zip(names, values, strict=True))


def _zipped(type: Type, arrays: list[object], depth: int) -> object:
    from tests.support.source_programs.values import Vec

    if depth == 0:
        return _record_of(type, arrays)
    rows = [_zipped(type, list(row), depth - 1) for row in zip(*arrays, strict=True)]  # type: ignore[call-overload]
    return Vec(rows, _zipped(type, [xs.row for xs in arrays], depth - 1))  # type: ignore[attr-defined]


@st.composite
def programs(draw: Callable) -> Program:
    """Programs for Hypothesis. The decisions are its own, moved on by a seed: alone they repeat earlier programs."""
    salt = Random(draw(st.integers(0, 2**32 - 1)))
    return program_of(lambda below: (draw(st.integers(0, below - 1)) + salt.randrange(below)) % below)


__all__ = ["I64"]
