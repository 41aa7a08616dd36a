"""How the outside calls a function: its parameters and results as the user sees them."""

from __future__ import annotations

from collections.abc import Sequence

from .records import dataclass
from .types import Prim


@dataclass(frozen=True, slots=True)
class EntryParam:
    """A parameter as the user sees it: source name, type text, and how many core parameters carry it."""

    name: str
    text: str
    components: int
    unique: bool


@dataclass(frozen=True, slots=True)
class EntryResult:
    """A result as the user sees it: type text and the positions among the function's results that carry it."""

    text: str
    components: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """How the outside calls a function. The function's first `sizes` parameters are i64 sizes, bound from the shapes
    of the arrays that follow; the other parameters follow `params` in order."""

    name: str
    sizes: int
    params: tuple[EntryParam, ...]
    results: tuple[EntryResult, ...]


def plain_entry(name: str, sizes: int, params: Sequence[tuple[str, Prim]], results: Sequence[Prim]) -> Entry:
    """An entry that has an argument for each parameter but its sizes, and a value for each result."""
    taken = tuple(EntryParam(base, prim.value, 1, False) for base, prim in params)
    return Entry(name, sizes, taken, tuple(EntryResult(prim.value, (k,)) for k, prim in enumerate(results)))
