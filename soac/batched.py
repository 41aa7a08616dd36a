"""An entry mapped over a leading dimension of its arguments: a `map` around it, compiled as a program of its own.

entry dot [n] (xs: [n]f32) (ys: [n]f32): f32 = ..
entry dot_batched xs ys = map (\\xs -> dot xs ys) xs              dot.batched((0, None))
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from .checked_settings import misused
from .python.entry import Axes, Entry

MOST_MAPPED = 5
"""Arguments that may have a leading dimension: the library has no `map6`, and no `unzip6`."""


def mapped_arguments(entry: Entry, in_axes: Axes) -> tuple[bool, ...]:
    """For each argument whether it has one more dimension; `SettingError` C0101 for axes that there are not."""
    number = len(entry.parameters)
    if not number:
        raise misused(f"`{entry}` has no arguments", "only arguments have a leading dimension")
    axes = list(in_axes) if isinstance(in_axes, Sequence) else [in_axes] * number
    if len(axes) != number or any(axis is not None and not _is_zero(axis) for axis in axes) or axes == [None] * number:
        text = f"`in_axes` is {in_axes!r}, but `{entry}` has {number} argument{'' if number == 1 else 's'}"
        raise misused(text, "give 0 for each argument that has a leading dimension, and None for the others")
    mapped = tuple(axis is not None for axis in axes)
    if sum(mapped) > MOST_MAPPED:
        raise misused(f"more than {MOST_MAPPED} arguments have a leading dimension", "put some of them into a record")
    return mapped


def batched_text(source: str, entry: Entry, mapped: Sequence[bool]) -> tuple[str, str]:
    """A text that has the entry mapped over these arguments as another entry, and the name of that."""
    name = f"{entry.entry.name}_batched"
    while name in source:
        name += "_"
    taken = {name, entry.entry.name, *(f"{f}{k}" for f in ("map", "unzip") for k in range(1, MOST_MAPPED + 1))}
    params = [f"arg{k}" if one.name in taken else one.name for k, one in enumerate(entry.entry.params)]
    over = [param for param, is_mapped in zip(params, mapped) if is_mapped]
    doc = f"-- | `{entry.entry.name}` over a leading dimension of {', '.join(over)}."
    args = [f"(copy {param})" if one.unique else param for param, one in zip(params, entry.entry.params)]
    body = f"map{len(over)} (\\{' '.join(over)} -> {entry.entry.name} {' '.join(args)}) {' '.join(over)}"
    if 1 < len(entry.entry.results) <= MOST_MAPPED:
        body = f"unzip{len(entry.entry.results)} ({body})"
    return f"{source}\n{doc}\nentry {name} {' '.join(params)} = {body}\n", name


def _is_zero(axis: object) -> bool:
    try:
        return not isinstance(axis, bool) and operator.index(axis) == 0  # type: ignore[arg-type]
    except TypeError:
        return False
