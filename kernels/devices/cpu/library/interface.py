"""What callers see of a library: entries, their parameters and results as values of C, and settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from .....ir.core import Param
from .....ir.records import dataclass
from .....ir.types import Prim
from ..host.layout import NativeFun, argument_places, result_places

_RESERVED = """
alignas alignof and asm auto bitand bitor bool break case catch char class compl concept const constexpr context
continue decltype default delete do double else enum explicit export extern false float for friend goto if inline int
long mutable namespace new noexcept not nullptr operator or private protected public register requires restrict return
short signed sizeof static struct switch template this throw true try typedef typeid typename typeof union unsigned
using virtual void volatile while xor
"""
KEYWORDS = frozenset(_RESERVED.split())
"""What C and C++ keep for themselves, and the name of every entry's first parameter."""


@dataclass(frozen=True, slots=True)
class Value:
    """A component of a parameter or a result: scalar or array. `word`: where it is in the state of its entry."""

    name: str
    prim: Prim
    rank: int
    word: int


@dataclass(frozen=True, slots=True)
class Entry:
    """`signature`: as the source has it; `symbol`: its name in C."""

    name: str
    symbol: str
    signature: str
    params: tuple[Value, ...]
    results: tuple[Value, ...]


OF_THREADS = -1
"""The default of a setting that is the number of threads."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Something to be set. `preset`: what the library was built with, None where that is the default."""

    name: str
    default: int
    preset: int | None


@dataclass(frozen=True, slots=True)
class Interface:
    """A library called `name`, which begins all of its symbols in C."""

    name: str
    entries: tuple[Entry, ...]
    settings: tuple[Setting, ...]


def interface_of(
    name: str,
    natives: Sequence[NativeFun],
    default: Callable[[str], int],
    presets: Mapping[str, int],
    threads: bool = True,
) -> Interface:
    """`default`: of a threshold; `threads`: each entry has a number of threads."""
    defaults = {s.name: default(s.name) if s.size is None else s.size for info in natives for s in info.settings}
    defaults |= {f"{info.fun.entry.name}.threads": 0 for info in natives if threads}
    settings = tuple(Setting(key, value, presets.get(key)) for key, value in defaults.items())
    symbols = distinct(identifier(info.fun.entry.name) for info in natives)
    entries = (entry_of(info, f"{name}_entry_{symbol}") for info, symbol in zip(natives, symbols, strict=True))
    return Interface(name, tuple(entries), settings)


def entry_of(info: NativeFun, symbol: str) -> Entry:
    """An entry with its values by distinct names."""
    entry = info.fun.entry
    given, got = tuple(argument_places(info.fun)), tuple(result_places(info))
    several = len(got) > 1
    results = (f"result{k}" if several else "result" for k in range(len(got)))
    names = distinct((*component_names(info), *results))
    params = tuple(value_of(n, *one) for n, one in zip(names, given))
    shown = (f"({p.name}: {p.text})" for p in entry.params)
    signature = f"{' '.join((entry.name, *shown))} : {', '.join(r.text for r in entry.results)}"
    return Entry(
        entry.name, symbol, signature, params, tuple(value_of(n, *one) for n, one in zip(names[len(given) :], got))
    )


def value_of(name: str, param: Param, word: int) -> Value:
    """A core parameter as a value."""
    return Value(name, param.type.prim, param.type.rank, word)


def component_names(info: NativeFun) -> Iterator[str]:
    """What each component of the parameters is called: those of one parameter are numbered."""
    for param in info.fun.entry.params:
        own = identifier(param.name)
        yield from (own,) if param.components == 1 else (f"{own}_{k}" for k in range(param.components))


def identifier(name: str) -> str:
    """A name of the source as one of C."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"{plain}_" if plain in KEYWORDS or plain[:1].isdigit() or not plain.strip("_") else plain


def distinct(names: Iterator[str] | Sequence[str]) -> tuple[str, ...]:
    """The names, later ones with underscores behind them where there was such a name before."""
    seen: dict[str, None] = {}
    for name in names:
        while name in seen:
            name += "_"
        seen[name] = None
    return tuple(seen)
