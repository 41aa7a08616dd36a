"""The source, and the fused and the flat program line by line, each with the places of the source it comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..frontend.compile import PRELUDE
from ..ir.core import Prog
from ..ir.show import show_located
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
    """The lines of a program, with the places of the innermost statement that each belongs to."""
    lines = show_located(prog).splitlines()
    places = [_places(line, files) for line in lines]
    texts = [PLACE.sub("", line) for line in lines]
    found: list[list[Place]] = [[] for _ in lines]
    for number, text in enumerate(texts):
        if _is_statement(text):
            end = _end(texts, number)
            for inside in range(number, end + 1):
                found[inside] = places[end] or found[inside]
    return iter(list(zip(texts, found, strict=True)))


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


def _places(line: str, files: Sequence[str]) -> list[Place]:
    """The places at the end of a line, as far as they are in files that are shown: the innermost, then where it was
    called."""
    match = PLACES_AT_END.search(line)
    found: list[Place] = []
    for file, *numbers in PLACE.findall(match[0]) if match else ():
        name = json.loads(file)
        if name in files:
            row, col, end_row, end_col = map(int, numbers)
            found.append((files.index(name), row, col, end_row, end_col))
    return found
