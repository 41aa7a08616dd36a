"""What a caller knows of a native host function: how its state is laid out, and what its numbers stand for.

The state has the words of the runtime (`runtime/assembly.py`), the arguments, the results, the settings, the failure
record and the frame, in this order.
"""

from __future__ import annotations

from collections.abc import Iterator

from .....ir.core import Param
from .....ir.errors import Loc
from .....ir.records import dataclass
from .....ir.types import Type
from ....host_ir.nodes import HostFun
from ..runtime.assembly import Word
from .failure_sites import Site

BEGIN, END = 0, 1
"""What a mark of a branch says."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a caller may set: the threshold of a guard, or a size with its default."""

    name: str
    size: int | None


def setting_word(first: int, which: int) -> int:
    """Where the value of a setting is in the state; the word behind it says whether that is a default."""
    return first + 2 * which


@dataclass(frozen=True, slots=True)
class NativeFun:
    """A host function as code. `kernels`, `settings`, `branches` (those that guards decide) and `calls` by number;
    `results`, `first_setting` and `record` are where these start in its state, which has `words` words."""

    fun: HostFun
    symbol: str
    kernels: tuple[str, ...]
    settings: tuple[Setting, ...]
    sites: tuple[Site, ...]
    branches: tuple[tuple[str, ...], ...]
    calls: tuple[Loc, ...]
    results: int
    first_setting: int
    record: int
    words: int


def result_words(type_: Type) -> int:
    """A scalar, or a descriptor."""
    return 2 + 2 * type_.rank if type_.shape else 1


def given(fun: HostFun) -> tuple[Param, ...]:
    """What a caller gives: all but the sizes."""
    return fun.params[fun.entry.sizes :]


def argument_places(fun: HostFun) -> Iterator[tuple[Param, int]]:
    """What a caller gives, with where it starts in the state: a scalar, or address and sizes of an array."""
    at = Word.FIRST
    for param in given(fun):
        yield param, at
        at += 1 + param.type.rank


def result_places(info: NativeFun) -> Iterator[tuple[Param, int]]:
    """Each component that the user sees, in order, with where it starts in the state."""
    starts, at = [], info.results
    for param in info.fun.results:
        starts.append(at)
        at += result_words(param.type)
    for k in (k for result in info.fun.entry.results for k in result.components):
        yield info.fun.results[k], starts[k]
