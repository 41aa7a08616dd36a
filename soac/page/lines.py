"""The source, and the fused and the flat program line by line, each with the places of the source it comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from ..frontend.library import PRELUDE
from ..ir.core import Body, Prog
from ..ir.show import show_loc, show_located
from ..ir.traverse import bodies
from ..pipeline import Compiled

PLACE = re.compile(r' @("(?:[^"\\]|\\.)*"):(\d+):(\d+)-(\d+):(\d+)')
PLACES_AT_END = re.compile(rf"(?:{PLACE.pattern})+$")

Place = tuple[int, int, int, int, int]
"""File by its number, line and column, those of the end."""


def sources_of(compiled: Compiled, file: str) -> Mapping[str, str]:
    """The files of a program without the library of the language, its own first."""
    others = {name: text for name, text in compiled.texts.items() if name not in (file, PRELUDE.name)}
    return {file: compiled.texts[file], **others}


def stages_of(compiled: Compiled, entries: Sequence[str], files: Sequence[str]) -> list[dict[str, Any]]:
    """The fused and the flat program, entry points that are not asked for left out."""
    return [
        {"name": name, "lines": list(located(_only(prog, entries), files))}
        for name, prog in (("fused", compiled.fused), ("flat", compiled.flat))
    ]


def _only(prog: Prog, entries: Sequence[str]) -> Prog:
    wanted = tuple(fun for fun in prog.functions if fun.entry is None or fun.entry.name in entries)
    return replace(prog, functions=wanted)


def located(prog: Prog, files: Sequence[str]) -> Iterator[tuple[str, list[Place]]]:
    """The lines of a program, with the places of the innermost statement that each belongs to, then those of statements
    that are wholly in the line."""
    lines = show_located(prog).splitlines()
    ends = [PLACES_AT_END.search(line) for line in lines]
    places = [_places(end[0], files) if end else [] for end in ends]
    texts = [PLACE.sub("", line) for line in lines]
    found: list[list[Place]] = [[] for _ in lines]
    for number, text in enumerate(texts):
        if _is_statement(text):
            end = _end(texts, number)
            for inside in range(number, end + 1):
                found[inside] = places[end] or found[inside]
    for line, end, here in zip(lines, ends, found, strict=True):
        own = _places(line[: end.start()] if end else line, files)
        here += [place for place in dict.fromkeys(own) if place not in here]
    return iter(list(zip(texts, found, strict=True)))


def fused_away(prog: Prog, files: Sequence[str], left: Set[Place]) -> list[tuple[Place, list[Place]]]:
    """Places of a program before any pass that are not `left` in a later stage, such as that of a map which is now part
    of another one, each with the places of what stood inside of it that are left."""
    found: dict[Place, dict[Place, None]] = {}
    waiting = [(stm, ()) for body in (Body(prog.consts, ()), *(f.body for f in prog.functions)) for stm in body.stms]
    while waiting:
        stm, around = waiting.pop()
        places = _places(show_loc(stm.loc), files)
        for place in (p for p in places if p in left):
            for outer in around:
                found.setdefault(outer, {})[place] = None
        here = (*around, *[p for p in places if p not in left])
        waiting += [(inner, here) for body in bodies(stm.exp) for inner in body.stms]
    return [(place, list(inside)) for place, inside in found.items()]


def _is_statement(text: str) -> bool:
    return text.lstrip().startswith(("let ", "#{", "#["))


def _end(texts: Sequence[str], start: int) -> int:
    """The last line of the statement that begins here: those further to the right belong to it, and what closes it."""
    indent = _indent(texts[start])
    end = start
    while end + 1 < len(texts) and (
        _indent(texts[end + 1]) > indent or texts[end + 1].startswith((" " * indent + "}", " " * indent + ")"))
    ):
        end += 1
    return end


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _places(text: str, files: Sequence[str]) -> list[Place]:
    """The places in a text, as far as they are in files that are shown: the innermost, then where it was called."""
    found: list[Place] = []
    for file, *numbers in PLACE.findall(text):
        name = json.loads(file)
        if name in files:
            row, col, end_row, end_col = map(int, numbers)
            found.append((files.index(name), row, col, end_row, end_col))
    return found
