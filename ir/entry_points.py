"""How the outside calls a function: its parameters and results as the user sees them."""

from __future__ import annotations

from .records import dataclass


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
