"""Renaming: all places that speak of one variable, function or type of a file, and the edits that rename it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .analysis import NAME, Analysis, Word, analyse, binder, definition_of


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of a word."""

    word: Word
    text: str


class CannotRename(Exception):
    """Why a name stays: the message is for the user."""


def occurrences(analysis: Analysis, line: int, col: int) -> list[Word]:
    """The words that name what the word at a place does, its definition among them. A word may be a use and a
    definition at once, as `x` in `let x[0] = 1`: then all belong together."""
    links = _links(analysis)
    start = next(
        (w for w in analysis.words if w.line == line and w.col <= col <= w.end and NAME.fullmatch(w.text)), None
    )
    if start is None:
        return []
    todo, seen = [start], {start}
    while todo:
        word = todo.pop()
        for pair in links:
            new = set(pair) - seen if word in pair else set()
            seen |= new
            todo += new
    return sorted(seen, key=lambda word: (word.line, word.col)) if any(start in pair for pair in links) else []


def _links(analysis: Analysis) -> set[tuple[Word, Word]]:
    """Pairs of a word that uses a name and the word that binds it, both in the file."""
    file, words, found = analysis.module.file, {(w.line, w.col): w for w in analysis.words}, set[tuple[Word, Word]]()
    for use in analysis.found.work.uses:
        place = definition_of(analysis, use)
        if use.file != file or place is None or place.file != file:
            continue
        bound = binder(analysis, place, use)
        if bound is None:
            continue
        inside = [w for (line, col), w in words.items() if line == use.line and use.col <= col < use.end_col]
        found |= {(w, bound) for w in inside if w.text == bound.text}
    return found


def rename(analysis: Analysis, line: int, col: int, new: str) -> list[Edit]:
    """The edits that give the name at a place another one; raises `CannotRename` where the program would become
    another."""
    if not NAME.fullmatch(new):
        raise CannotRename(f"`{new}` is not a name")
    words = occurrences(analysis, line, col)
    if not words:
        raise CannotRename("nothing that this file defines has its name here")
    edits = [Edit(word, f"{word.text} = {new}" if _is_short(analysis, word) else new) for word in words]
    longer = [analysis.words.index(edit.word) for edit in edits if edit.text != new]  # `x = new` has two words more
    text = applied(analysis.text, edits)
    diagnostics, after = analyse(text, analysis.module.file)

    def moved(number: int) -> int:
        return number + 2 * sum(at <= number for at in longer)

    before = {d.code for d in analysis.found.errors}
    if after is None or any(not d.is_warning and d.code not in before for d in diagnostics):
        raise CannotRename(f"`{new}` is taken, or means something else here")
    if _by_number(after) != {tuple(map(moved, pair)) for pair in _by_number(analysis)}:
        raise CannotRename(f"another `{new}` would be meant in some place")
    return edits


def _by_number(analysis: Analysis) -> set[tuple[int, int]]:
    """Uses and what binds them, by the numbers of their words."""
    numbers = {word: number for number, word in enumerate(analysis.words)}
    return {(numbers[use], numbers[bound]) for use, bound in _links(analysis)}


def applied(text: str, edits: Iterable[Edit]) -> str:
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda edit: (edit.word.line, edit.word.col), reverse=True):
        line = lines[edit.word.line - 1]
        lines[edit.word.line - 1] = line[: edit.word.col - 1] + edit.text + line[edit.word.end - 1 :]
    return "\n".join(lines)


def _is_short(analysis: Analysis, word: Word) -> bool:
    """Whether a word is a field and a variable at once: `x` in `{x, y = 1}`."""
    at = analysis.words.index(word)
    before, after = analysis.words[at - 1].text, analysis.words[at + 1].text if at + 1 < len(analysis.words) else ""
    if before not in ("{", ",") or after not in ("}", ","):
        return False
    depth = 0
    for other in reversed(analysis.words[:at]):
        depth += (other.text in ")]}") - (other.text in "([{")
        if depth < 0:
            return other.text == "{"
    return False
