"""Renaming: all places that speak of one variable, function or type, in all files, and the edits that rename it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..ir.reachable import reachable
from .analysis import NAME, Analysis, Word, binder, definition_of, words_in, words_of
from .folder import Folder


@dataclass(frozen=True, slots=True)
class Spot:
    """A word of a file."""

    file: Path
    word: Word


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of a word."""

    spot: Spot
    text: str


class CannotRename(Exception):
    """Why a name stays: the message is for the user."""


Links = set[tuple[Spot, Spot]]


def occurrences(folder: Folder, file: Path, line: int, col: int) -> list[Spot]:
    """The words that name what the word at a place does, its definition among them. A word may be a use and a
    definition at once, as `x` in `let x[0] = 1`: then all belong together."""
    return _found(folder, file, line, col)[0]


def _found(folder: Folder, file: Path, line: int, col: int) -> tuple[list[Spot], list[Analysis], list[Path]]:
    """The words, the programs that have one, and files that could not be read."""
    files, spots = set[Path](), {file: list[Spot]()}
    programs, unread = list[Analysis](), list[Path]()
    while not files.issuperset(spots):
        files |= set(spots)
        programs, unread = folder.programs(files)
        found = _together(_links(programs), file, line, col)
        spots = {spot.file: found for spot in found}
    return next(iter(spots.values()), []), programs, unread


def _together(links: Links, file: Path, line: int, col: int) -> list[Spot]:
    """The words linked to the one at a place, directly or through others."""
    beside: dict[Spot, set[Spot]] = {}
    for one, other in links:
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)
    here = [s for s in beside if s.file == file and s.word.line == line and s.word.col <= col <= s.word.end][:1]
    return sorted(reachable(here, beside.__getitem__), key=lambda spot: (spot.file, spot.word.line, spot.word.col))


def _links(programs: Iterable[Analysis]) -> Links:
    """Pairs of a word that uses a name and the word that binds it, both in files of the programs themselves."""
    found: Links = set()
    for program in programs:
        files = {module.file: Path(module.file).resolve() for module in program.modules[1:]}
        for use in program.found.work.uses:
            place = definition_of(program, use)
            if place is None or use.file not in files or place.file not in files:
                continue
            bound = binder(program, place, use)
            if bound is not None:
                words = [word for word in words_in(program, use) if word.text == bound.text]
                found |= {(Spot(files[use.file], word), Spot(files[place.file], bound)) for word in words}
    return found


def rename(folder: Folder, file: Path, line: int, col: int, new: str) -> list[Edit]:
    """The edits that give the name at a place another one, in all files; raises `CannotRename` where a program would
    become another."""
    if not NAME.fullmatch(new):
        raise CannotRename(f"`{new}` is not a name")
    spots, programs, unread = _found(folder, file, line, col)
    if unread:
        raise CannotRename(f"`{unread[0].name}` is wrong: `soac check` says where")
    if not spots:
        raise CannotRename("nothing that the programs here define has its name here")
    words = {spot.file: tuple(words_of(folder.texts[spot.file])) for spot in spots}
    edits = [Edit(s, f"{s.word.text} = {new}" if _is_short(words[s.file], s.word) else new) for s in spots]
    _require_same(folder, programs, edits, new)
    return edits


def _require_same(folder: Folder, programs: Sequence[Analysis], edits: Sequence[Edit], new: str) -> None:
    """Raises `CannotRename` if the edits bring errors, or a name then means something else."""
    after = Folder({**folder.texts, **applied(folder.texts, edits)})
    later, unread = after.programs([edit.spot.file for edit in edits])
    known = {error.code for program in programs for error in program.found.errors}
    if unread or any(error.code not in known for program in later for error in program.found.errors):
        raise CannotRename(f"`{new}` is taken, or means something else here")
    longer = [edit.spot for edit in edits if edit.text != new]  # `x = new` has two words more
    if _by_number(later, ()) != _by_number(programs, longer):
        raise CannotRename(f"another `{new}` would be meant in some place")


def _by_number(programs: Iterable[Analysis], longer: Sequence[Spot]) -> set[tuple[tuple[Path, int], tuple[Path, int]]]:
    """Uses and what binds them, by the numbers of their words, where those in `longer` have two words before them."""
    numbers: dict[Spot, int] = {}
    for program in programs:
        for module in program.modules[1:]:
            file, number = Path(module.file).resolve(), 0
            for word in program.words[module.file]:
                spot = Spot(file, word)
                number += 2 if spot in longer else 0
                numbers[spot] = number
                number += 1
    return {((one.file, numbers[one]), (other.file, numbers[other])) for one, other in _links(programs)}


def applied(texts: Mapping[Path, str], edits: Iterable[Edit]) -> dict[Path, str]:
    """The texts of the files that the edits change."""
    lines = {edit.spot.file: texts[edit.spot.file].split("\n") for edit in edits}
    for edit in sorted(edits, key=lambda edit: (edit.spot.word.line, edit.spot.word.col), reverse=True):
        word, changed = edit.spot.word, lines[edit.spot.file]
        line = changed[word.line - 1]
        changed[word.line - 1] = line[: word.col - 1] + edit.text + line[word.end - 1 :]
    return {file: "\n".join(changed) for file, changed in lines.items()}


def _is_short(words: Sequence[Word], word: Word) -> bool:
    """Whether a word is a field and a variable at once: `x` in `{x, y = 1}`."""
    at = words.index(word)
    before, after = words[at - 1].text, words[at + 1].text if at + 1 < len(words) else ""
    if before not in ("{", ",") or after not in ("}", ","):
        return False
    depth = 0
    for other in reversed(words[:at]):
        depth += (other.text in ")]}") - (other.text in "([{")
        if depth < 0:
            return other.text == "{"
    return False
