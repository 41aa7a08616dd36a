"""The tables of the automaton, and their place on disk.

Lark computes them from the grammar in 0.2 s; they are kept as JSON in the user's cache directory, under a hash of the
grammar and of Lark's version. A file that cannot be read or written does not matter: the tables are computed anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from dataclasses import astuple, dataclass
from importlib.metadata import version
from pathlib import Path

from platformdirs import user_cache_path

GRAMMAR = Path(__file__).with_name("grammar.lark")
_FORMAT = 2  # of the file


@dataclass(frozen=True, slots=True)
class Rule:
    """A reduction: take `size` values off the stack, arrange them by `plan`, hand them to the builder's method `name`.

    `plan` holds indices, `-1 - index` for a list that is spliced in, None for an absent part; without a plan they stay
    as they are. A rule with an empty name yields the list itself. If `single`, one value stands for itself.
    """

    origin: str
    size: int
    name: str
    single: bool
    plan: list[int | None] | None


@dataclass(frozen=True, slots=True)
class Tables:
    """An LALR(1) automaton with its lexer.

    `terminals` are tried in order; `keywords[terminal]` renames exact matches. `states[i][symbol]` is the next state,
    or `-1 - number` of the rule to reduce by.
    """

    terminals: list[tuple[str, str]]
    keywords: dict[str, dict[str, str]]
    rules: list[Rule]
    states: list[dict[str, int]]
    start: int
    end: int


def load_tables(directory: Path | None = None) -> Tables:
    """The tables of the language, from the cache if they are there."""
    grammar = GRAMMAR.read_text(encoding="utf-8")
    path = (directory or user_cache_path("soac")) / f"grammar-{_key(grammar)}.json"
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        return _decoded(path.read_text(encoding="utf-8"))
    from .analyse_grammar import generate  # Lark is loaded only when it has work to do

    tables = generate(grammar)
    _write(path, json.dumps(astuple(tables)))
    return tables


def _key(grammar: str) -> str:
    return hashlib.sha256(f"{grammar}\0{version('lark')}\0{_FORMAT}".encode()).hexdigest()[:24]


def _decoded(text: str) -> Tables:
    terminals, keywords, rules, states, start, end = json.loads(text)
    return Tables([(name, regex) for name, regex in terminals], keywords, [Rule(*r) for r in rules], states, start, end)


def _write(path: Path, text: str) -> None:
    """Write under a temporary name, then rename: a reader sees the whole file or none."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
