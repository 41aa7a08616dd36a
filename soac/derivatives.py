"""Derivatives of entry points: `soac.vjp(prog, "f")` and `soac.jvp(prog, "f")`.

    loss_vjp = soac.vjp(prog, "loss")
    dw, dx = loss_vjp(w, x, 1.0)                   the adjoints of the parameters, where the result has adjoint 1
    dy = soac.jvp(prog, "loss")(w, x, tw, tx)      the tangent of the result

Parameters without floats are constant: they have neither adjoints nor tangents.
The program gets an entry point more, and is compiled (or found on disk) as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .api import Program, build
from .ir.core import FunDef


def vjp(program: Program, entry: str) -> Callable[..., Any]:
    """A function of the arguments and of an adjoint for each result, to the adjoints of the float parameters."""
    return derived(program, [entry])[f"{entry}_vjp"]


def jvp(program: Program, entry: str) -> Callable[..., Any]:
    """A function of the arguments and of a tangent for each float one, to the tangents of the results."""
    return derived(program, [entry])[f"{entry}_jvp"]


def derived(program: Program, entries: Sequence[str]) -> Program:
    """The program with entry points `f_jvp` and `f_vjp` for each `f` of `entries`."""
    added = "".join(_entries_for(name, program.function(name)) for name in entries)
    return build(replace(program.source, text=f"{program.source.text}\n{added}"))


def _entries_for(name: str, fun: FunDef) -> str:
    """The source text of the two; what an entry consumes is copied before."""
    assert fun.entry is not None
    count, floats = len(fun.entry.params), float_parameters(fun)
    xs = [f"{name}_x{k}" for k in range(count)]
    tangents = [f"{name}_t{k}" for k in floats]
    adjoints = [f"{name}_y{k}" for k in range(len(fun.entry.results))]
    call = " ".join([name, *[f"(copy {x})" for x in xs]])
    varied = _packed([xs[k] for k in floats])
    function = f"(\\{varied} -> {call}) {varied}"
    forward = f"entry {name}_jvp {' '.join([*xs, *tangents])} = jvp {function} {_packed(tangents)}\n"
    return forward + f"entry {name}_vjp {' '.join([*xs, *adjoints])} = vjp {function} {_packed(adjoints)}\n"


def float_parameters(fun: FunDef) -> list[int]:
    """The positions of the parameters, as the user sees them, that hold floats."""
    assert fun.entry is not None
    found: list[int] = []
    rest = list(fun.params[fun.entry.sizes :])
    for k, param in enumerate(fun.entry.params):
        mine, rest = rest[: param.components], rest[param.components :]
        found += [k] if any(p.type.prim.is_float for p in mine) else []
    return found


def _packed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
