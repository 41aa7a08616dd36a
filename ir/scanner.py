"""What the hand-written readers share: a position in a text that is read token by token."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import field
from typing import NoReturn, TypeVar

from .errors import Loc
from .records import dataclass

T = TypeVar("T")
_INTEGER = re.compile(r"-?\d+")


def place(text: str | bytes, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1; columns are counted in characters."""
    if isinstance(text, str):
        return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
    start = text.rfind(b"\n", 0, offset) + 1
    return text.count(b"\n", 0, offset) + 1, len(text[start:offset].decode("utf-8", "replace")) + 1


def loc_of(text: str | bytes, file: str, start: int, end: int, first_line: int = 1) -> Loc:
    """The place of `text[start:end]`; `first_line` is the number of the text's first line in its file."""
    line, col = place(text, start)
    end_line, end_col = place(text, end)
    return Loc(file, line + first_line - 1, col, end_line + first_line - 1, end_col)


@dataclass(slots=True)
class Scanner:
    """A text and how far it has been read.

    `token` matches a token, `space` what may be between tokens. `fault` gives the exception for a message about an
    offset.
    """

    text: str
    token: re.Pattern[str]
    space: re.Pattern[str]
    fault: Callable[[str, int], Exception]
    pos: int = 0
    ahead: str = field(init=False)

    def __post_init__(self) -> None:
        self.move(self.pos)

    @property
    def ended(self) -> bool:
        return self.pos >= len(self.text)

    def peek(self) -> str:
        """The next token; empty at the end and where none begins."""
        return self.ahead

    def next(self) -> str:
        token = self.ahead
        self.move(self.pos + len(token))
        return token

    def after(self) -> str:
        """The token after the next."""
        start = self.pos
        self.next()
        token = self.ahead
        self.move(start)
        return token

    def move(self, pos: int) -> None:
        """Goes on behind the space at `pos`."""
        space = self.space.match(self.text, pos)
        self.pos = space.end() if space else pos
        found = self.token.match(self.text, self.pos)
        self.ahead = found[0] if found else ""

    def scan(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Reads what matches `pattern`, if it comes next."""
        found = pattern.match(self.text, self.pos)
        if found is not None:
            self.move(found.end())
        return found

    def took(self, *tokens: str) -> bool:
        """Reads `tokens` if they come next."""
        start = self.pos
        for token in tokens:
            if self.ahead != token:
                self.move(start)
                return False
            self.move(self.pos + len(token))
        return True

    def take(self, *tokens: str) -> None:
        for token in tokens:
            if not self.took(token):
                self.wrong(f"`{token}`")

    def wrong(self, wanted: str) -> NoReturn:
        if not self.ahead and not self.ended:
            raise self.fault(f"no token begins with {self.text[self.pos]!r}", self.pos)
        found = f"`{self.ahead}`" if self.ahead else "the end"
        raise self.fault(f"expected {wanted}, found {found}", self.pos)

    def end(self) -> None:
        """Nothing may follow."""
        if not self.ended:
            self.wrong("the end")

    def several(self, read: Callable[[Scanner], T], opening: str = "(", closing: str = ")") -> tuple[T, ...]:
        """What `read` reads, between brackets and separated by commas."""
        self.take(opening)
        found: list[T] = []
        while not self.took(closing):
            if found and not self.took(","):
                self.wrong(f"`,` or `{closing}`")
            found.append(read(self))
        return tuple(found)

    def integer(self) -> int:
        if not _INTEGER.fullmatch(self.ahead):
            self.wrong("a number")
        return self.read(int, "a number")

    def string(self) -> str:
        if not self.ahead.startswith('"'):
            self.wrong("a string")
        return self.read(json.loads, "a string")

    def read(self, convert: Callable[[str], T], wanted: str) -> T:
        """The value of the next token, if `convert` knows one."""
        try:
            value = convert(self.ahead)
        except ValueError:
            self.wrong(wanted)
        self.next()
        return value
