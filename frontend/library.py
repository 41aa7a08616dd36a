"""The library that every program starts with, inferred once per process: at first as much of it as a program reaches.

Parsing and inferring all of it takes longer than most programs take. The first program of a process gets the
declarations whose names are in its text, or which it asks for without a name, and those that these name in turn. The
rest of the library's text is blank lines for it, so that places stay what they are. A program that needs more gets what
both need; after a few of these, or where one is wrong (a hint may name anything), it is all of it from then on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from threading import Lock

from ..ir.records import dataclass
from .modules.program import Known, infer_prelude
from .parsing.parse import parse_module

PRELUDE = Path(__file__).parent / "source" / "prelude.soac"
MOST_PARTS = 8
"""Parts that a process infers before it infers all: one takes 6 ms (mean over `programs/` and NPBench), all 200."""

FIRST_ID = 1 << 20
"""Of the nodes of programs, which are parsed before the library's part is known; its nodes and types are below."""

FILE = "prelude.soac"
"""Its name in messages."""

_HEAD = re.compile(r"^(?:#\[intrinsic\]\n)?(?:def|module type|module) (\([^)]+\)|[\w']+)", re.MULTILINE)
_COMMENT = re.compile(r"--.*")
_WORD = re.compile(r"[A-Za-z_][\w']*")


@dataclass(slots=True)
class _Held:
    """What this process has inferred: parts, the last of them with its names, and all."""

    part: Known | None = None
    names: frozenset[str] = frozenset()
    parts: int = 0
    whole: Known | None = None
    lock: Lock = field(default_factory=Lock)


_held = _Held()


@cache
def prelude_text() -> str:
    return PRELUDE.read_text(encoding="utf-8")


def known_prelude() -> Known:
    """All of the library."""
    with _held.lock:
        if _held.whole is None:
            _held.whole = _inferred(prelude_text())
        return _held.whole


def library_for(texts: Iterable[str], asked: Iterable[str] = ()) -> Known:
    """The library as far as a program of the files `texts` needs it, unless it is wrong; `asked`: names in none."""
    if _held.whole is not None:
        return _held.whole
    names = reached((*texts, " ".join(asked)))
    with _held.lock:
        if _held.part is not None and names <= _held.names:
            return _held.part
        if _held.parts < MOST_PARTS:
            _held.names |= names
            _held.part = part(_held.names)
            _held.parts += 1
            return _held.part
    return known_prelude()


def part(names: frozenset[str]) -> Known:
    """The library with the declarations `names` alone."""
    gone = [declared for name, declared in declarations().items() if name not in names]
    text, at, kept = prelude_text(), 0, []
    for start, end in gone:
        kept += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end
    return _inferred("".join([*kept, text[at:]]))


def reached(texts: Iterable[str]) -> frozenset[str]:
    """The names of the library's declarations that a program of the files `texts` may need. A word of a comment or a
    string counts as one of the program."""
    declared = declarations()
    operators = [name for name in declared if name.startswith("(")]

    def named(text: str) -> set[str]:
        words = {word for word in _WORD.findall(text) if word in declared}
        return words.union(name for name in operators if name.strip("()") in text)

    found: set[str] = set()
    todo = set[str]().union(*map(named, texts))
    while todo:
        name = todo.pop()
        found.add(name)
        start, end = declared[name]
        todo |= named(_COMMENT.sub("", prelude_text()[start:end])) - found
    return frozenset(found)


@cache
def declarations() -> dict[str, tuple[int, int]]:
    """Where each declaration of the library begins and ends in its text, by its name; operators are in brackets."""
    heads = list(_HEAD.finditer(prelude_text()))
    ends = [*(head.start() for head in heads[1:]), len(prelude_text())]
    return {head[1]: (head.start(), end) for head, end in zip(heads, ends, strict=True)}


def _inferred(text: str) -> Known:
    """The declarations in `text`; messages quote from the whole."""
    return infer_prelude(replace(parse_module(text, FILE, 0), text=prelude_text()))
