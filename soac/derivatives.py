"""Derivatives of entry points: `soac.vjp(prog, "f")` and `soac.jvp(prog, "f")`.

    loss_vjp = soac.vjp(prog, "loss")
    dw, dx = loss_vjp(w, x, 1.0)            the adjoints of the parameters, where the result has adjoint 1
    dy = soac.jvp(prog, "loss")(w, x, tw, tx)      the tangent of the result

The program gets an entry point more, and is compiled (or found on disk) as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .api import Program, build
from .ir.core import FunDef


def vjp(program: Program, entry: str) -> Callable[..., Any]:
    """A function of the arguments and of an adjoint for each result, to the adjoints of the parameters."""
    return derived(program, [entry])[f"{entry}_vjp"]


def jvp(program: Program, entry: str) -> Callable[..., Any]:
    """A function of the arguments and of a tangent for each, to the tangents of the results."""
    return derived(program, [entry])[f"{entry}_jvp"]


def derived(program: Program, entries: Sequence[str]) -> Program:
    """The program with entry points `f_jvp` and `f_vjp` for each `f` of `entries`."""
    added = "".join(_entries_for(name, program.function(name)) for name in entries)
    return build(replace(program.source, text=f"{program.source.text}\n{added}"))


def _entries_for(name: str, fun: FunDef) -> str:
    """The source text of the two; what an entry consumes is copied before."""
    assert fun.entry is not None
    xs, tangents = ([f"{name}_{base}{k}" for k in range(len(fun.entry.params))] for base in "xt")
    adjoints = [f"{name}_y{k}" for k in range(len(fun.entry.results))]
    call = " ".join([name, *[f"(copy {x})" for x in xs]])
    function = f"(\\{_packed(xs)} -> {call}) {_packed(xs)}"
    forward = f"entry {name}_jvp {' '.join([*xs, *tangents])} = jvp {function} {_packed(tangents)}\n"
    return forward + f"entry {name}_vjp {' '.join([*xs, *adjoints])} = vjp {function} {_packed(adjoints)}\n"


def _packed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
