"""Diagnostics as text: the place in the source, underlined, with what is to be said of it.

    error[E0101]: expected `)`, found end of file
     --> f.soac:3:14
      |
    3 | def f x = (x +
      |           -   ^
      |           |
      |           this `(` is not closed

Tabs stop at every fourth column, wide characters take two, and what a terminal would obey is shown, not sent.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Iterable

from ...ir.errors import Diagnostic, Label
from ...ir.records import dataclass

TAB = 4
MAX_WIDTH = 160  # columns of a source line that are shown
MAX_MESSAGE = 2000  # characters of a line of text about it

SourceOf = Callable[[str], str | None]

_RESET, _BOLD, _RED, _YELLOW, _BLUE, _CYAN = (
    "\x1b[0m",
    "\x1b[1m",
    "\x1b[1;31m",
    "\x1b[1;33m",
    "\x1b[1;34m",
    "\x1b[1;36m",
)


@dataclass(frozen=True, slots=True)
class _Mark:
    """An underline on one line of the source, in columns of the screen."""

    start: int
    end: int
    text: str
    is_primary: bool


@dataclass(frozen=True, slots=True)
class _Paint:
    """Colours, or nothing."""

    on: bool

    def __call__(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self.on and text else text


def render(diag: Diagnostic, source_of: SourceOf, color: bool = False) -> str:
    """The text of a diagnostic, ending in a newline; `source_of` gives the text of a file if it can be had."""
    paint = _Paint(color)
    style = _YELLOW if diag.is_warning else _RED
    kind = "warning" if diag.is_warning else "error"
    lines = [paint(style, f"{kind}[{diag.code}]") + paint(_BOLD, f": {_line(diag.message)}")]
    gutter = _gutter_width(diag)
    for file in _files(diag):
        lines += _file_block(diag, file, source_of(file), gutter, paint)
    rest = [("note", note) for note in (*diag.notes, diag.stack) if note] + ([("hint", diag.hint)] if diag.hint else [])
    for word, text in rest:
        first, *more = text.split("\n")
        lines.append(f"{' ' * gutter} {paint(_BLUE, '=')} {paint(_CYAN, word)}: {_line(first)}")
        lines += [" " * (gutter + len(word) + 5) + _line(line) for line in more]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def render_all(diags: Iterable[Diagnostic], source_of: SourceOf, color: bool = False) -> str:
    """Several diagnostics, an empty line between them."""
    return "\n".join(render(diag, source_of, color) for diag in diags)


# ---- one file


def _labels(diag: Diagnostic) -> list[Label]:
    return [label for label in (diag.primary, *diag.others) if label.loc.line > 0]


def _files(diag: Diagnostic) -> list[str]:
    """The files to show, that of the primary label first."""
    return list(dict.fromkeys(label.loc.file for label in _labels(diag)))


def _gutter_width(diag: Diagnostic) -> int:
    return max((len(str(label.loc.line)) for label in _labels(diag)), default=1)


def _file_block(diag: Diagnostic, file: str, source: str | None, gutter: int, paint: _Paint) -> list[str]:
    labels = [label for label in _labels(diag) if label.loc.file == file]
    is_primary = diag.primary.loc.file == file
    arrow = "-->" if is_primary else ":::"
    lines = [f"{' ' * gutter}{paint(_BLUE, arrow)} {_visible(str(labels[0].loc))}"]
    if source is None:
        return lines + [f"{' ' * gutter} {paint(_BLUE, '=')} {_visible(label.text)}" for label in labels if label.text]
    texts = source.split("\n")
    bar = f"{' ' * gutter} {paint(_BLUE, '|')}"
    lines.append(bar)
    previous = None
    for line in sorted({label.loc.line for label in labels}):
        if previous is not None and line > previous + 1:
            lines.append(paint(_BLUE, "..."))
        text = texts[line - 1].rstrip("\r") if line <= len(texts) else ""
        marks = [_mark(label, text, label is diag.primary) for label in labels if label.loc.line == line]
        shown, marks = _window(_expand(text), marks)
        lines.append(f"{paint(_BLUE, f'{line:>{gutter}} |')} {shown}")
        lines += [f"{bar} {row}" for row in _underlines(marks, diag, paint)]
        previous = line
    return lines


def _mark(label: Label, text: str, is_primary: bool) -> _Mark:
    loc = label.loc
    start = _width(text[: loc.col - 1])
    stop = loc.end_col if loc.end_line == loc.line else len(text) + 1
    end = _width(text[: max(stop, loc.col) - 1])
    start += max(0, loc.col - 1 - len(text))
    return _Mark(start, max(end, start + 1), label.text, is_primary)


def _underlines(marks: list[_Mark], diag: Diagnostic, paint: _Paint) -> list[str]:
    """The underlines of a line: in one row if they do not overlap, the rightmost with its text, other texts below."""
    primary = _YELLOW if diag.is_warning else _RED
    ordered = sorted(marks, key=lambda m: (m.start, m.end))
    if any(b.start < a.end for a, b in itertools.pairwise(ordered)):
        return [_row([m], paint, primary, m.text) for m in sorted(marks, key=lambda m: not m.is_primary)]
    rows = [_row(ordered, paint, primary, ordered[-1].text)]
    for at in range(len(ordered) - 2, -1, -1):
        if ordered[at].text:
            rows.append(_hanging(ordered[: at + 1], "|", paint, primary))
            rows.append(_hanging(ordered[: at + 1], ordered[at].text, paint, primary))
    return rows


def _row(marks: list[_Mark], paint: _Paint, primary: str, text: str) -> str:
    row, at = "", 0
    for mark in marks:
        sign, style = ("^", primary) if mark.is_primary else ("-", _BLUE)
        row += " " * (mark.start - at) + paint(style, sign * (mark.end - mark.start))
        at = mark.end
    style = primary if marks[-1].is_primary else _BLUE
    return f"{row} {paint(style, _visible(text))}" if text else row


def _hanging(marks: list[_Mark], last: str, paint: _Paint, primary: str) -> str:
    """A row under the underlines: a bar below each mark whose text is still to come, `last` below the last one."""
    row, at = "", 0
    for mark in marks[:-1]:
        if mark.text:
            row += " " * (mark.start - at) + paint(primary if mark.is_primary else _BLUE, "|")
            at = mark.start + 1
    mark = marks[-1]
    return row + " " * (mark.start - at) + paint(primary if mark.is_primary else _BLUE, _visible(last))


def _window(text: str, marks: list[_Mark]) -> tuple[str, list[_Mark]]:
    """The part of a very long line around its first mark."""
    if len(text) <= MAX_WIDTH:
        return text, marks
    left = max(0, min(m.start for m in marks) - MAX_WIDTH // 2)
    right = left + MAX_WIDTH
    ahead = "..." if left else ""
    shift = len(ahead) - left
    kept = [
        _Mark(m.start + shift, max(min(m.end, right), m.start + 1) + shift, m.text, m.is_primary)
        for m in marks
        if m.start < right
    ]
    return ahead + text[left:right] + ("..." if right < len(text) else ""), kept


# ---- characters on the screen


def _char_width(char: str) -> int:
    if char in "\u200b\ufeff" or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _width(text: str) -> int:
    """How many columns `text` takes from the start of a line."""
    if text.isascii() and "\t" not in text:
        return len(text)
    at = 0
    for char in text:
        at += TAB - at % TAB if char == "\t" else _char_width(char)
    return at


def _expand(text: str) -> str:
    """The line with tabs as blanks and control characters made visible."""
    if text.isascii() and text.isprintable():
        return text
    parts, at = [], 0
    for char in text:
        step = TAB - at % TAB if char == "\t" else _char_width(char)
        parts.append(" " * step if char == "\t" else _visible(char))
        at += step
    return "".join(parts)


def _line(text: str) -> str:
    """A line of a message; the middle is left out where it is very long, as with names of a megabyte."""
    half = MAX_MESSAGE // 2
    return _visible(text if len(text) <= MAX_MESSAGE else f"{text[:half]} ... {text[-half:]}")


def _visible(text: str) -> str:
    """Control characters and direction marks replaced, so that no text can steer the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == " " else _picture(c) for c in text)


def _picture(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return " " if unicodedata.category(char) == "Zs" else "" if _char_width(char) == 0 else "\ufffd"


# ---- suggestions


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate nearest to `name`, if one is near: a third of its letters may differ, up to three."""
    limit = max(1, min(3, len(name) // 3))
    best: tuple[int, str] | None = None
    for candidate in candidates:
        distance = edit_distance(name.lower(), candidate.lower(), limit)
        if candidate != name and distance <= limit and (best is None or distance < best[0]):
            best = (distance, candidate)
    return best[1] if best else None


def edit_distance(a: str, b: str, limit: int) -> int:
    """How many insertions, deletions, replacements and swaps of neighbours turn `a` into `b`; inexact above `limit`."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    above: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, above, row = above, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y))
            if before and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]
