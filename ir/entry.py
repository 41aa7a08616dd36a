"""Calling an entry from outside: its arguments checked, and its size parameters found from their shapes.

The first `entry.sizes` parameters of an entry's function are sizes that no caller gives; they follow from the arrays
that come after. The interpreter and the devices bind them here, so that a mismatch reads the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .arrays import shape_text
from .core import FunDef
from .entry_points import Entry
from .errors import DataError, Diagnostic, Label, RunError
from .scalar import prim_of
from .types import Atom, Name, Type, Var

Argument = np.ndarray | np.generic


def bind_sizes(fun: FunDef, args: Sequence[Argument]) -> tuple[int, ...]:
    """The values of the size parameters of `fun`, called with `args` (one for each of the other parameters).

    Raises `DataError` for arguments of another number or type, `RunError` where shapes do not fit each other."""
    entry = _entry_of(fun)
    if len(args) != len(fun.params) - entry.sizes:
        raise _wrong_number(fun, len(args))
    known: dict[Name, tuple[int, int | None]] = {}
    for position, (param, arg) in enumerate(zip(fun.params[entry.sizes :], args)):
        _check_type(fun, position, param.type, arg)
        if not param.type.shape and param.type.prim.is_int:
            known[param.name] = (int(arg), None)
    for position, (param, arg) in enumerate(zip(fun.params[entry.sizes :], args)):
        _match_shape(fun, position, param.type, arg.shape, known)
    for size in fun.params[: entry.sizes]:
        if size.name not in known:
            raise RunError(
                _diagnostic(fun, "R0105", f"size {size.name.base} of `{entry.name}` follows from no argument")
            )
    return tuple(known[size.name][0] for size in fun.params[: entry.sizes])


def _entry_of(fun: FunDef) -> Entry:
    return fun.entry or Entry(fun.name.base, 0, (), ())


def _match_shape(
    fun: FunDef, position: int, t: Type, shape: tuple[int, ...], known: dict[Name, tuple[int, int | None]]
) -> None:
    """Adds the sizes of one array to `known` (value, and the position that gave it). Raises RunError:

    invalid size: argument 2 `b` has shape [3][4], `a` needs [5][_] because both use size m"""
    for size, actual in zip(t.shape, shape, strict=True):
        if isinstance(size, Var):
            known.setdefault(size.name, (actual, position))
    clash = next((s for s, n in zip(t.shape, shape) if _expected(s, known) != n), None)
    if clash is not None:
        needed = "".join(f"[{_expected(s, known)}]" if s == clash else "[_]" for s in t.shape)
        why = f"its type needs {needed}"
        if isinstance(clash, Var):
            why = _why(fun, position, known[clash.name][1], needed, clash.name)
        has = f"{_argument(fun, position)} has shape {shape_text(shape)}"
        raise RunError(_diagnostic(fun, "R0105", f"invalid size: {has}, {why}"))


def _expected(size: Atom, known: dict[Name, tuple[int, int | None]]) -> int:
    return known[size.name][0] if isinstance(size, Var) else int(size.value)


# ---- what is said ------------------------------------------------------------------------------------------------


def _why(fun: FunDef, position: int, giver: int | None, needed: str, size: Name) -> str:
    if giver is None:
        return f"its type needs {needed} because of the argument `{size.base}`"
    if _param_name(fun, giver) == _param_name(fun, position):
        return f"its type needs {needed} because both use {_shown(fun, size)}"
    return f"`{_param_name(fun, giver)}` needs {needed} because both use {_shown(fun, size)}"


def _shown(fun: FunDef, size: Name) -> str:
    """A size by its name, if the program gives it one."""
    params = fun.entry.params if fun.entry is not None else ()
    named = fun.entry is None or any(f"[{size.base}]" in param.text for param in params)
    return f"size {size.base}" if named else "one size"


def _check_type(fun: FunDef, position: int, t: Type, arg: Argument) -> None:
    if prim_of(arg.dtype) is not t.prim or arg.ndim != t.rank:
        expected = "".join(f"[{_size_text(s)}]" for s in t.shape) + t.prim.value
        prim = prim_of(arg.dtype)
        found = shape_text(arg.shape) + (prim.value if prim else str(arg.dtype))
        text = f"{_argument(fun, position)}: expected {expected}, got {found}"
        raise DataError(_diagnostic(fun, "D0104", text))


def _size_text(size: Atom) -> str:
    return size.name.base if isinstance(size, Var) else str(size.value)


def _wrong_number(fun: FunDef, given: int) -> DataError:
    entry = _entry_of(fun)
    wanted = len(fun.params) - entry.sizes
    types = ", ".join(p.text for p in entry.params)
    values = "1 value" if wanted == 1 else f"{wanted} values"
    return DataError(_diagnostic(fun, "D0113", f"`{entry.name}` takes {values} ({types}), got {given}"))


def _argument(fun: FunDef, position: int) -> str:
    number, name = source_param(fun, position)
    return f"argument {number} `{name}`"


def _param_name(fun: FunDef, position: int) -> str:
    return source_param(fun, position)[1]


def source_param(fun: FunDef, position: int) -> tuple[int, str]:
    """Number (from 1) and name of the source parameter that the core parameter at `position` is a component of."""
    names = list(_component_names(_entry_of(fun)))
    if position < len(names):
        return names[position]
    return position + 1, fun.params[position].name.base


def _component_names(entry: Entry) -> Iterator[tuple[int, str]]:
    for number, param in enumerate(entry.params, start=1):
        yield from [(number, param.name)] * param.components


def _diagnostic(fun: FunDef, code: str, text: str) -> Diagnostic:
    return Diagnostic(code, text, Label(fun.loc, ""))
