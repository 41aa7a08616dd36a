"""Properties: entry points that give true whatever they are given, tried on random arguments.

    -- property: reversing_twice
    #[prop] entry reversing_twice (xs: []i32): bool = reverse (reverse xs) == xs

Arrays grow from trial to trial, from no elements to `LARGEST` in each dimension, or to what `#[size(N)]` says. A
property that has a generator of its own (`#[gen(f)]`), or takes what cannot be drawn, is not tried.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..api import Program
from ..arguments import Argument, parameter_types
from ..data.read_write import random_value
from ..data.text import write_text
from ..ir.core import Attr, FunDef
from ..ir.types import I64, Const, Name, Prim, Type, Var

TRIALS = 100
LARGEST = 20
SHOWN = 200  # characters of an argument that are shown


def untried(program: Program, name: str) -> str | None:
    """Why a property is not tried; None if it is."""
    if name not in program.entries:
        return None
    fun = program.function(name)
    assert fun.entry is not None
    if any(attr.name == "gen" for attr in fun.attrs):
        return "it has a generator of its own"
    odd = next((param.text for param in fun.entry.params if "#" in param.text), None)
    return f"values of `{odd}` are not drawn" if odd is not None else None


def refuted(program: Program, name: str, seed: int, threads: int | None) -> str | None:
    """Arguments for which a property does not hold, in words; None if all trials went well."""
    if name not in program.entries:
        return f"there is no entry point `{name}`"
    fun = program.function(name)
    if [param.type for param in fun.results] != [Type(Prim.BOOL, ())]:
        return f"`{name}` gives no bool"
    source = np.random.PCG64(seed)
    for trial in range(TRIALS):
        args = drawn(fun, source, trial * (_largest(fun.attrs) + 1) // TRIALS)
        (holds,) = program.call(name, args, forced={}, threads=threads)
        if not holds:
            return "does not hold for " + " ".join(_shown(arg) for arg in args)
    return None


def _largest(attrs: tuple[Attr, ...]) -> int:
    said = next((attr.args[0].name for attr in attrs if attr.name == "size" and attr.args), "")
    return int(said) if said.isdigit() else LARGEST


def drawn(
    fun: FunDef, source: np.random.PCG64, largest: int, known: Mapping[Name, int] | None = None
) -> list[Argument]:
    """Random arguments with at most `largest` elements in a dimension whose size is not `known`. A number that names a
    size is that size."""
    sizes = dict(known or {})
    shapes = [tuple([_size(dim, sizes, source, largest) for dim in type.shape]) for type in parameter_types(fun)]
    spoken = {name.base: size for name, size in sizes.items()}
    params = fun.params[len(fun.params) - len(shapes) :]
    return [
        np.int64(spoken[param.name.base])
        if param.type == I64 and param.name.base in spoken
        else random_value(source, param.type.prim, shape)
        for param, shape in zip(params, shapes, strict=True)
    ]


def _size(dim: Var | Const, sizes: dict[Name, int], source: np.random.PCG64, largest: int) -> int:
    match dim:
        case Const(_, value):
            return int(value)
        case Var(name):
            drawn = int(source.random_raw(1)[0]) % (largest + 1)
            return sizes.setdefault(name, drawn)


def _shown(arg: Argument) -> str:
    text = write_text(arg)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}.."
