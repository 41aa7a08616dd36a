"""What a call may set: values of thresholds and sizes, sides of guards, a number of threads; each is checked.

A wrong one is a `SettingError` (C0101) that says what the program has, as for `--param`, `--force` and `--threads`.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .autotune.tuning import INFINITY, SettingError, require_possible, threads_name, unknown_setting
from .ir.errors import Diagnostic
from .kernels.limits import MAX_THREADS
from .program_cache import Facts
from .versions import unknown


def parameters_of(facts: Facts, entries: Iterable[str]) -> list[str]:
    """What may be set: thresholds, sizes, and the number of threads of each entry."""
    return [*guards_of(facts), *facts.sizes, *map(threads_name, entries)]


def guards_of(facts: Facts) -> list[str]:
    """The guards that may be forced, by their thresholds."""
    return [name for site in facts.sites for name in site.thresholds]


def checked_values(values: Mapping[str, Any], known: Collection[str]) -> dict[str, int]:
    """`values`, if they are integers for parameters in `known`."""
    if not isinstance(values, Mapping):
        raise misused(f"settings are {values!r}", 'a mapping from names to integers: {"main.ys.suff_outer_0": 1}')
    return {name: _value(name, value, known) for name, value in values.items()}


def _value(name: str, value: Any, known: Collection[str]) -> int:
    if name not in known:
        raise unknown_setting(str(name), known)
    number = _integer(value)
    if number is None or not 0 <= number <= INFINITY:
        raise misused(f"`{name}` is {value!r}", "a setting is an integer from 0 to 2^63-1")
    require_possible(name, number)
    return number


def checked_sides(forced: Mapping[str, Any], known: Sequence[str]) -> dict[str, bool]:
    """`forced`, if they are bools for guards in `known`."""
    if not isinstance(forced, Mapping):
        raise misused(f"what is forced is {forced!r}", 'a mapping from guards to sides: {"main.ys.suff_outer_0": True}')
    for name, side in forced.items():
        if name not in known:
            raise unknown("guard", str(name), known)
        if not isinstance(side, bool | np.bool_):
            raise misused(f"the side of `{name}` is {side!r}", "True takes the first version, False the other one")
    return {name: bool(side) for name, side in forced.items()}


def checked_threads(threads: Any) -> int | None:
    """`threads`, if that is how many a launch may have; None: not said."""
    if threads is None:
        return None
    number = _integer(threads)
    if number is None or not 1 <= number <= MAX_THREADS:
        raise misused(f"`threads` is {threads!r}", f"an integer from 1 to {MAX_THREADS}, or None for all cores")
    return number


def _integer(value: Any) -> int | None:
    """`value`, if it is an integer of Python or NumPy."""
    try:
        return None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        return None


def listed(args: Any) -> Sequence[Any]:
    """`args`, if they are several; a `SettingError` where one argument stands for all of them."""
    try:
        return args if isinstance(args, Sequence) else [*args]
    except TypeError:
        raise misused(f"the arguments of a call are {reprlib.repr(args)}", "give a list, also of one: `[x]`") from None


def misused(text: str, hint: str) -> SettingError:
    return SettingError(Diagnostic("C0101", text, hint=hint))
