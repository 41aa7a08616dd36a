"""The tokens of the textual form of the IR, and a reader over them with errors that say line and column."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import NoReturn

from .errors import IRError

_TOKEN = re.compile(
    r"""
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<quoted>`(?:[^`\\]|\\.)*`_\d+)
    | (?P<special>-?f(?:16|32|64)\.(?:inf|nan(?:<[0-9a-f]{16}>)?))
    | (?P<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:i8|i16|i32|i64|u8|u16|u32|u64|f16|f32|f64)?(?![\w.]))
    | (?P<word>[^\W\d][\w']*(?:\^\w+)?|\d[\w']*)
    | (?P<mark>:\+|->|<-|<=|\#\[|\#\{|[()\[\]{}:,=<*!@\\-])
    """,
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")


@dataclass(slots=True)
class Source:
    """The tokens of a text and how far they have been read."""

    text: str
    tokens: list[str]
    starts: list[int]
    at: int

    @staticmethod
    def of(text: str, token: re.Pattern[str] = _TOKEN) -> Source:
        """The tokens of `text`, which are of another form than the IR's where `token` says so."""
        tokens, starts, position = [], [], _past_space(text, 0)
        while position < len(text):
            match = token.match(text, position)
            if match is None:
                raise IRError(f"{_place(text, position)}: no token begins with {text[position]!r}")
            tokens.append(match.group())
            starts.append(position)
            position = _past_space(text, match.end())
        return Source(text, tokens, starts, 0)

    def peek(self, ahead: int = 0) -> str:
        """A token not yet read; empty at the end."""
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def took(self, token: str) -> bool:
        """Reads `token` if it comes next."""
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def take(self, token: str) -> None:
        if not self.took(token):
            self.wrong(f"`{token}`")

    def wrong(self, wanted: str) -> NoReturn:
        start = self.starts[self.at] if self.at < len(self.starts) else len(self.text)
        found = f"`{self.peek()}`" if self.peek() else "the end"
        raise IRError(f"{_place(self.text, start)}: expected {wanted}, found {found}")

    def integer(self) -> int:
        if not re.fullmatch(r"-?\d+", self.peek()):
            self.wrong("a number")
        return int(self.next())

    def string(self) -> str:
        if not self.peek().startswith('"'):
            self.wrong("a string")
        return json.loads(self.next())


def _past_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f"{line}:{position - text.rfind(chr(10), 0, position)}"
