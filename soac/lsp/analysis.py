"""What is known of the text of one file: types of its expressions, and where its names are bound."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

from ..frontend.compile import inspect_source
from ..frontend.elaborate.program import elaborate
from ..frontend.library import PRELUDE
from ..frontend.modules.program import Inferred
from ..frontend.parsing.kernels import PREFIX
from ..frontend.source import syntax as s
from ..frontend.source.atoms import Ident, PVar
from ..frontend.source.declarations import Module, ValDec
from ..frontend.source.text import Reach
from ..frontend.source.types import TArray, TRecord, TSum, Ty
from ..ir.core import Prog
from ..ir.errors import CompileError, Diagnostic, Loc
from ..ir.machine import CPU, Mode
from ..ir.version_tree import sites
from ..pipeline import compile_core
from ..versions import named_versions

TOKEN = re.compile(
    r"""--[^\n]* | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)' | [A-Za-z_][A-Za-z0-9_']*
    | [-+*/%=!><|&^][-+*/%=!><|&^.]* | [0-9][A-Za-z0-9_]* | \S""",
    re.VERBOSE,
)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_']*")


@dataclass(frozen=True, slots=True)
class Word:
    """A token: its text, line and columns, which count from 1."""

    text: str
    line: int
    col: int

    @property
    def end(self) -> int:
        return self.col + len(self.text)


@dataclass(frozen=True)
class Analysis:
    """A file that parses. `prog`: its core, if it is right."""

    text: str
    modules: tuple[Module, ...]
    found: Inferred
    prog: Prog | None

    @cached_property
    def module(self) -> Module:
        """The file itself as it is written; the others are the prelude and what it imports."""
        own = self.modules[-1]
        decs = tuple(dec for dec in own.decs if not (isinstance(dec, ValDec) and dec.name.startswith(PREFIX)))
        return replace(own, decs=decs)

    @cached_property
    def words(self) -> dict[str, tuple[Word, ...]]:
        """The tokens of each file but for comments."""
        return {module.file: tuple(words_of(module.text)) for module in self.modules}

    @cached_property
    def typed_nodes(self) -> tuple[tuple[Loc, Ty], ...]:
        """The expressions and variables of the file with their types."""
        types, schemes = self.found.typed.types, self.found.typed.schemes
        nodes = [node for node, _ in nodes_of(self.module.decs) if not _is_intrinsic(node)]
        known = [(node.loc, types[node.id]) for node in nodes if getattr(node, "id", None) in types]
        known += [(n.name_loc, schemes[n.id].type) for n in nodes if isinstance(n, ValDec) and n.id in schemes]
        return tuple([(loc, ty) for loc, ty in known if loc.file == self.module.file])

    @cached_property
    def versions(self) -> dict[str, list[str]]:
        """By entry point, the versions of its nests: what `soac explain` shows."""
        found: dict[str, list[str]] = {}
        if self.prog is not None:
            for site in sites(compile_core(self.prog, Mode.INCREMENTAL, CPU).flat):
                found.setdefault(site.entry, []).append(f"{site.name}: {', '.join(named_versions(site))}")
        return found


def analyse(text: str, file: str, texts: Mapping[Path, str] | None = None) -> tuple[list[Diagnostic], Analysis | None]:
    """Errors and warnings of a program, and what is known of it if it parses. `texts`: what files have that it imports,
    if not what is on the disk."""
    try:
        modules, found = inspect_source(text, file, Reach.PROJECT, texts)
    except CompileError as error:
        return list(error.diagnostics), None
    diagnostics, prog = [*found.errors, *found.work.warnings], None
    if not found.errors:
        try:
            prog = elaborate(modules, found.typed)
        except CompileError as error:
            diagnostics += error.diagnostics
    return diagnostics, Analysis(text, modules, found, prog)


def _is_intrinsic(node: object) -> bool:
    """Whether a node stands for a word of a kernel by hand, such as `par`."""
    return isinstance(node, Ident) and node.name[-1].startswith(PREFIX)


def words_of(text: str) -> Iterator[Word]:
    for number, line in enumerate(text.split("\n"), start=1):
        for match in TOKEN.finditer(line):
            if not match[0].startswith("--"):
                yield Word(match[0], number, match.start() + 1)


def nodes_of(part: Any, is_written: bool = False) -> Iterator[tuple[Any, bool]]:
    """All nodes of a tree; of a pattern, whether the program writes its type."""
    todo = [(part, is_written)]
    while todo:
        node, is_written = todo.pop()
        if isinstance(node, tuple):
            todo += [(child, is_written) for child in reversed(node)]
        elif is_dataclass(node) and not isinstance(node, Loc):
            yield node, is_written
            inside = isinstance(node, s.PAscript) or (is_written and not isinstance(node, s.Lambda | s.Let | s.Loop))
            todo += [(getattr(node, field.name), inside) for field in reversed(fields(node))]


def covers(loc: Loc, line: int, col: int) -> bool:
    """Whether a place is inside of a range, or just behind it."""
    return (loc.line, loc.col) <= (line, col) <= (loc.end_line, loc.end_col)


# ---- hover, hints ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hover:
    """The smallest expression at a place, its type, and what is said of the definition that it names."""

    loc: Loc
    type: str
    text: str


def hover_at(analysis: Analysis, line: int, col: int) -> Hover | None:
    at = [(loc, ty) for loc, ty in analysis.typed_nodes if covers(loc, line, col)]
    if not at:
        return None
    loc, ty = min(at, key=lambda found: (found[0].end_line - found[0].line, found[0].end_col - found[0].col))
    place = definition_of(analysis, loc) or loc
    about = [_comment_above(_text_of(analysis, place.file), place.line)]
    for dec in analysis.module.decs:
        if isinstance(dec, ValDec) and dec.name_loc == loc and dec.name in analysis.versions:
            about += ["Versions:", *(f"- {site}" for site in analysis.versions[dec.name])]
    return Hover(loc, analysis.found.work.show(ty), "\n".join(filter(None, about)))


def _comment_above(text: str, line: int) -> str:
    """The comment right above a definition; no test block."""
    lines, found = text.split("\n"), list[str]()
    for above in reversed(lines[: line - 1]):
        if above.startswith("#[") and not found:
            continue
        if not above.startswith("--") or above.startswith("-- ----"):
            break
        found.append(above[2:].removeprefix(" |").strip())
    return "" if "==" in found else "\n".join(reversed(found))


def _text_of(analysis: Analysis, file: str) -> str:
    return next((module.text for module in analysis.modules if module.file == file), "")


@dataclass(frozen=True, slots=True)
class Hint:
    """A type to be shown behind a variable."""

    line: int
    col: int
    text: str


def hints_of(analysis: Analysis) -> list[Hint]:
    """The types of variables that hold arrays, with their sizes, where the program does not write them."""
    types, show = analysis.found.typed.types, analysis.found.work.show
    return [
        Hint(node.loc.end_line, node.loc.end_col, f": {show(types[node.id])}")
        for dec in analysis.module.decs
        if isinstance(dec, ValDec)
        for node, is_written in nodes_of((dec.params, dec.body))
        if isinstance(node, PVar) and not is_written and node.id in types and _has_array(types[node.id])
    ]


def _has_array(ty: Ty) -> bool:
    match ty:
        case TArray():
            return True
        case TRecord(fields):
            return any(_has_array(part) for _, part in fields)
        case TSum(constructors):
            return any(_has_array(part) for _, payload in constructors for part in payload)
        case _:
            return False


# ---- definitions ----------------------------------------------------------------------------------------------------


def definition_of(analysis: Analysis, use: Loc) -> Loc | None:
    """Where the name at a place is bound; None for what the language itself has."""
    found = analysis.found.work.uses.get(use)
    return found if found is not None and found.file else None


def definition_at(analysis: Analysis, line: int, col: int) -> Loc | None:
    """The place of the definition of the name at a place, or of the file that an import there names."""
    for use in analysis.found.work.uses:
        if use.file == analysis.module.file and covers(use, line, col) and use.line == use.end_line:
            found = definition_of(analysis, use)
            if found is not None:
                word = binder(analysis, found, use)
                return found if word is None else Loc(found.file, word.line, word.col, word.line, word.end)
    for word in analysis.words[analysis.module.file]:
        if word.line == line and word.col <= col <= word.end and word.text[0] == '"':
            file = dict(analysis.module.imports).get(word.text[1:-1])
            return None if file is None else Loc(file, 1, 1, 1, 1)
    return None


def binder(analysis: Analysis, place: Loc, use: Loc) -> Word | None:
    """The token that binds a name, in the range that inference gives for it: a whole `let` or `loop`, perhaps."""
    names = [word.text for word in words_in(analysis, use) if NAME.fullmatch(word.text)]
    inside = words_in(analysis, place)
    if inside and inside[0].text == "loop":  # its counter; what the pattern binds has places of its own
        inside = [word for word, before in zip(inside[1:], inside) if before.text == "for"]
    return next((word for name in names for word in inside if word.text == name), None)


def words_in(analysis: Analysis, loc: Loc) -> list[Word]:
    """The tokens in a range of a file."""
    words = analysis.words.get(loc.file, ())
    first = bisect_left(words, (loc.line, loc.col), key=lambda word: (word.line, word.col))
    rest = takewhile(lambda word: (word.line, word.end) <= (loc.end_line, loc.end_col), words[first:])
    return list(rest)


def path_of(file: str) -> Path:
    """The file that a place names; the library's is called `prelude.soac`."""
    return PRELUDE if file == "prelude.soac" else Path(file).resolve()
