"""The layout of a program, from its tokens and the phrases that they make up.

Where lines end is the author's choice, but for those that are too long (`breaking.py`). A token at the beginning of a
line is indented by the smallest phrase around it that has begun before: the rules are in `_indentation`. Comments keep
their text and their place among the tokens.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import field
from functools import cache
from threading import Lock

from lark import Lark, Token, Tree

from ...ir.depth import allow_depth
from ...ir.errors import IRError
from ...ir.records import dataclass
from ..parsing.parse import parse_module
from ..parsing.tables import load_parser
from .breaking import WIDTH, Gap, breaks, level_of, way_at
from .same_syntax import same_syntax
from .spaces import CLOSING, OPENING, is_blank_between, is_tight_chain

STEP = 2

_ALIGNED = frozenset((
    "start", "chain", "letexp", "match", "attributed", "attr_dec", "attr_spec", "pattr", "local_dec", "conditional",
    "tarrow", "tarrow_named", "tsum", "sigarrow", "pathsection",
))  # fmt: skip
"""Phrases whose later lines begin where the phrase does, but for the parts of them in `_INSIDE`."""

_INSIDE = {
    "letexp": lambda left: left == "in",
    "match": lambda left: left == "match",
    "conditional": lambda left: left in ("if", "then", "else"),
    "chain": lambda left: left == "=",  # after `with [i] =`
}
_LOOP = ("for", "while", "do")
_HEADS = ("valbind", "letfun", "infixbind")
_BLANKS = re.compile(r"--[^\n]*|\n")


def format_text(text: str, file: str) -> str:
    """The program `text` in canonical layout; raises `CompileError` if it does not parse."""
    allow_depth()
    before = parse_module(text, file)
    layout = _laid_out(text.replace("\r\n", "\n"))
    while starts := layout.breaks():
        pieces = itertools.pairwise([0, *starts, len(layout.text)])
        layout = _laid_out("\n".join(layout.text[start:end] for start, end in pieces))
    after = layout.finished()
    if not same_syntax(parse_module(after, file).decs, before.decs):
        raise IRError(f"{file}: formatting would change the meaning")
    return after


def _laid_out(text: str) -> _Layout:
    layout = _Layout(text)
    with _LOCK:
        tree = _parser().parse(text)
    layout.phrase(tree, "")
    return layout


_LOCK = Lock()


@cache
def _parser() -> Lark:
    """The parser with a plain tree for what it gives, which has all tokens."""
    return load_parser(object())


@dataclass(slots=True)
class _Bracket:
    """An open bracket: where it stands, where its line begins, and where its first element stands, if beside it."""

    column: int
    indent: int
    line: int
    first: int | None = None


@dataclass(slots=True)
class _Phrase:
    """A phrase that is being written. `column`: of its first token, None before it. `second`: of its second part, if
    that is on its first line. `base`: where its later lines begin, the column but for `else if`."""

    rule: str
    number: int
    is_tight: bool
    column: int | None = None
    base: int = 0
    line: int = 0
    second: int | None = None
    after_sizes: bool = False
    bracket: _Bracket | None = None


@dataclass(slots=True)
class _Layout:
    """The lines so far."""

    text: str
    lines: list[str] = field(default_factory=lambda: [""])
    comments: dict[int, str] = field(default_factory=dict)  # by line: what stands behind the code
    phrases: list[_Phrase] = field(default_factory=list)
    at: int = 0  # how much of the text is done
    left: Token | None = None
    indent: int = 0  # of the line
    count: int = 0  # of the phrases
    gaps: dict[int, list[Gap]] = field(default_factory=dict)  # by line: where it may be broken
    ends: dict[int, int] = field(default_factory=dict)  # by line: where its code ends

    def phrase(self, tree: Tree[Token], parent: str) -> None:
        """Writes a phrase with all that is in it."""
        rule = str(tree.data)
        if rule == "opt":  # `: t` and `= e` belong to what is around them
            for child in tree.children:
                self.part(child, parent)
            return
        self.count += 1
        self.phrases.append(_Phrase(rule, self.count, rule == "chain" and is_tight_chain(tree, parent)))
        for child in tree.children:
            self.part(child, rule)
        self.phrases.pop()

    def part(self, child: Tree[Token] | Token | None, rule: str) -> None:
        if isinstance(child, Tree):
            self.phrase(child, rule)
        elif child is not None:
            self.token(child)

    def token(self, token: Token) -> None:
        assert token.start_pos is not None
        around = next((p for p in reversed(self.phrases) if p.column is not None), self.phrases[0])
        indent = _indentation(around, self.left, token)
        starts_line = self.gap(token.start_pos, indent)
        if (
            not starts_line
            and self.left is not None
            and is_blank_between(around.rule, around.is_tight, self.left, token)
        ):
            self.lines[-1] += " "
            self.note_gap(around, self.left, token, indent)
        self.note(around, token)
        self.lines[-1] += token
        self.ends[len(self.lines) - 1] = len(self.lines[-1])
        self.left, self.at = token, token.start_pos + len(token)

    def gap(self, end: int, indent: int) -> bool:
        """Writes the comments before the next token, and whether that begins a line; then the line is begun."""
        newlines = 0
        is_first = self.left is None
        for piece in _BLANKS.findall(self.text, self.at, end):
            if piece == "\n":
                newlines += 1
                continue
            if newlines == 0 and not is_first:
                self.comments[len(self.lines) - 1] = piece.rstrip()
            else:
                self.begin(newlines, indent)
                self.lines[-1] += piece.rstrip()
            newlines, is_first = 0, False
        if newlines and not is_first:
            self.begin(newlines, indent)
        return newlines > 0 or self.left is None

    def begin(self, newlines: int, indent: int) -> None:
        """A new line, behind an empty one if there were some."""
        if self.lines != [""]:
            is_open = self.left is not None and self.left in OPENING
            self.lines += [""] * (newlines > 1 and not is_open) + [""]
        self.lines[-1], self.indent = " " * indent, indent

    def note_gap(self, around: _Phrase, left: Token, right: Token, indent: int) -> None:
        """A place where the line might be broken."""
        way = way_at(around.rule, left, right)
        if way is not None:
            assert right.start_pos is not None
            level, is_definition = level_of(around.rule, right), around.rule in ("valbind", "infixbind")
            gap = Gap(around.number, way, right.start_pos, len(self.lines[-1]), indent, level, is_definition)
            self.gaps.setdefault(len(self.lines) - 1, []).append(gap)

    def breaks(self) -> list[int]:
        """Where lines are to begin, since they are too long."""
        long = [line for line, end in self.ends.items() if end > WIDTH]
        return sorted(start for line in long for start in breaks(self.gaps.get(line, []), self.ends[line]))

    def note(self, around: _Phrase, token: Token) -> None:
        """What later tokens ask of this one."""
        column, line = len(self.lines[-1]), len(self.lines)
        if around.column is not None and around.line == line and self.is_second(around, token):
            around.second = column
        bracket = around.bracket
        if bracket is not None and bracket.first is None and bracket.line == line and token not in CLOSING:
            bracket.first = column
        chained = around.rule == "conditional" and self.left == "else" and self.lines[-1].strip() != ""
        for phrase in reversed(self.phrases):
            if phrase.column is not None:
                break
            phrase.column, phrase.line = column, line
            phrase.base = around.base if chained and phrase.rule == "conditional" else column
        if token in OPENING:
            owner = self.phrases[-1]
            owner.bracket = _Bracket(column, self.indent, line)

    def is_second(self, around: _Phrase, token: Token) -> bool:
        """Whether later parameters or arguments may stand under `token`: in a definition not under its name, and rather
        under a parameter than a size."""
        if around.rule not in _HEADS:
            return around.second is None
        is_size = self.left == "]" and not around.after_sizes
        around.after_sizes |= self.left == "]" and token != "["
        return (around.second is None or (is_size and token != "[")) and self.left not in ("def", "let", "entry")

    def finished(self) -> str:
        """The text, with comments behind code aligned from line to line."""
        self.gap(len(self.text), 0)
        for run in _runs(sorted(self.comments)):
            column = max(len(self.lines[at].rstrip()) for at in run) + 2
            for at in run:
                self.lines[at] = f"{self.lines[at].rstrip():<{column}}{self.comments[at]}"
        return "\n".join([*(line.rstrip() for line in self.lines), ""]).strip("\n") + "\n" * (self.lines != [""])


def _runs(numbers: list[int]) -> Iterator[list[int]]:
    """Numbers that follow each other, together."""
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _indentation(around: _Phrase, left: Token | None, token: Token) -> int:
    """Where a line begins whose first token is the next of `around`.

    In brackets: under the first element, or two to the right of the line with the bracket if that ends with it; commas
    and closing brackets under the bracket, or its line. Arguments and parameters: under the first. `then`, `else`,
    `in`, `case`, `for`, `do`, operators: under the beginning of the phrase. Everything else: two to the right of it."""
    bracket = around.bracket
    if bracket is not None and around.rule != "start" and _is_inside(around, left):
        if token in CLOSING:
            return bracket.indent if bracket.first is None else bracket.column
        if token == "," and bracket.first is not None:
            return bracket.column
        return bracket.indent + STEP if bracket.first is None else bracket.first
    if around.rule in _ALIGNED:
        inside = _INSIDE.get(around.rule)
        return around.base + STEP * (inside is not None and inside(left))
    if around.rule == "loop" and token in _LOOP:
        return around.base
    if around.second is not None and (around.rule == "apply" or (around.rule in _HEADS and left != "=")):
        return around.second
    return around.base + STEP


def _is_inside(around: _Phrase, left: Token | None) -> bool:
    """Whether the bracket of a phrase is still open: a definition goes on behind `[n]`, `?[k]` behind its names."""
    return left is not None and not (left in CLOSING and around.rule in ("loop", "letpat", "texists", "tarrow_named"))
