"""Derivatives of entry points: `soac.vjp(prog, "f")` and `soac.jvp(prog, "f")`.

    loss_vjp = soac.vjp(prog, "loss")
    dw, dx = loss_vjp(w, x, 1.0)                   the adjoints of the parameters, where the result has adjoint 1
    dw = soac.vjp(prog, "loss", ["w"])(w, x, 1.0)  of this one alone
    dy = soac.jvp(prog, "loss")(w, x, tw, tx)      the tangent of the result
    soac.vjp(prog.loss)                            the same as soac.vjp(prog, "loss")

Parameters and results without floats are constant: they have neither adjoints nor tangents.
The program gets an entry point more, and is compiled (or found on disk) as any other.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from .api import Program, build
from .checked_settings import misused
from .ir.core import FunDef
from .python.entry import Entry


class Mode(Enum):
    """Which derivative: that of forward or of reverse mode."""

    JVP = "jvp"
    VJP = "vjp"


def vjp(program: Program | Entry, entry: str | None = None, by: Sequence[str] | None = None) -> Callable[..., Any]:
    """A function of the arguments and of an adjoint for each float result, to the adjoints of the float parameters, or
    of those that `by` names."""
    of = entry_of(program, entry)
    return derivative(of, Mode.VJP, _positions(of, by))


def jvp(program: Program | Entry, entry: str | None = None, by: Sequence[str] | None = None) -> Callable[..., Any]:
    """A function of the arguments and of a tangent for each float one, or each that `by` names, to the tangents of the
    float results."""
    of = entry_of(program, entry)
    return derivative(of, Mode.JVP, _positions(of, by))


def entry_of(program: Program | Entry, entry: str | None) -> Entry:
    """The entry point that is meant: one, or the name of one in a program."""
    match program, entry:
        case Entry(), None:
            return program
        case Program(), str():
            return program[entry]
        case _:
            given = reprlib.repr(program if entry is None else entry)
            raise misused(f"{given} is no entry point", 'write `soac.vjp(prog.loss)` or `soac.vjp(prog, "loss")`')


def derivative(entry: Entry, mode: Mode, by: Sequence[int]) -> Entry:
    """The derivative by the parameters at these positions."""
    text, name = _derived(entry.fun, mode, by)
    source = entry.program.source
    return build(replace(source, text=f"{source.text}\n{text}"))[name]


def derived(program: Program, entries: Sequence[str]) -> Program:
    """The program with entry points `f_jvp` and `f_vjp` for each `f` of `entries`, by all parameters with floats."""
    functions = [program.function(name) for name in entries]
    added = [_derived(fun, mode, float_parameters(fun))[0] for fun in functions for mode in Mode]
    return build(replace(program.source, text="\n".join([program.source.text, *added])))


def _derived(fun: FunDef, mode: Mode, by: Sequence[int]) -> tuple[str, str]:
    """The source text of an entry point for a derivative, and its name; what `fun` consumes is copied before."""
    assert fun.entry is not None
    name, count = fun.entry.name, len(fun.entry.results)
    results = float_results(fun)
    if not by or not results:
        raise misused(f"`{name}` has no {'results' if by else 'parameters'} with floats", "it has no derivative")
    of_all = list(by) == float_parameters(fun)
    made = f"{name}_{mode.value}" + ("" if of_all else f"_by_{'_'.join(map(str, by))}")
    xs = [f"{name}_x{k}" for k in range(len(fun.entry.params))]
    ys = [f"{name}_r{k}" for k in range(count)]
    seeds = [f"{name}_d{k}" for k in (by if mode is Mode.JVP else results)]
    call = " ".join([name, *[f"(copy {x})" for x in xs]])
    if len(results) < count:
        call = f"let {_packed(ys)} = {call} in {_packed([ys[k] for k in results])}"
    varied = _packed([xs[k] for k in by])
    body = f"{mode.value} (\\{varied} -> {call}) {varied} {_packed(seeds)}"
    return f"entry {made} {' '.join([*xs, *seeds])} = {body}\n", made


def _positions(entry: Entry, by: Sequence[str] | None) -> list[int]:
    floats = float_parameters(entry.fun)
    if by is None:
        return floats
    names = [entry.parameters[k] for k in floats]
    if isinstance(by, str) or not by or not set(by) <= set(names):
        raise misused(f"`by` is {by!r}", f"it lists some of the parameters with floats: {', '.join(names)}")
    return [k for k, name in zip(floats, names) if name in by]


def float_parameters(fun: FunDef) -> list[int]:
    """The positions of the parameters, as the user sees them, that hold floats."""
    assert fun.entry is not None
    found: list[int] = []
    rest = list(fun.params[fun.entry.sizes :])
    for k, param in enumerate(fun.entry.params):
        mine, rest = rest[: param.components], rest[param.components :]
        found += [k] if any(p.type.prim.is_float for p in mine) else []
    return found


def float_results(fun: FunDef) -> list[int]:
    """The positions of the results, as the user sees them, that hold floats."""
    assert fun.entry is not None
    listed = enumerate(fun.entry.results)
    return [k for k, one in listed if any(fun.results[c].type.prim.is_float for c in one.components)]


def _packed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
