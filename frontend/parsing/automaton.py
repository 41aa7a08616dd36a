"""The automaton at work: text to tokens, tokens to calls of the builder.

It stops at the first fault with `Stopped`, which holds all that a message needs. Nesting costs no Python stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .tables import Rule, Tables

MAX_STACK = 1 << 13  # far above what a tree of the permitted depth needs

_SKIP = re.compile(r"(?:[ \t\r\n\f\v]+|--[^\n]*)*")


class Token(str):
    """A token: its text, with kind and place (line and columns from 1, `start` the offset)."""

    __slots__ = ("column", "end_column", "line", "start", "type")

    type: str
    line: int
    column: int
    end_column: int
    start: int


END = "$END"


class Stopped(Exception):
    """The automaton cannot go on: at `token` (of type END at the end) or, if that is None, where no token begins."""

    def __init__(self, stack: _Stack, token: Token | None, offset: int, line: int, column: int) -> None:
        super().__init__()
        self.stack = stack
        self.token = token
        self.offset, self.line, self.column = offset, line, column

    @property
    def values(self) -> list[Any]:
        """Tokens and finished phrases before the fault."""
        return self.stack.values

    def accepts(self) -> set[str]:
        """The terminals that could stand here."""
        return {symbol for symbol in self.stack.table[self.stack.states[-1]] if self.stack.can_shift(symbol)}


class TooDeep(Stopped):
    """The stack has grown beyond what any permitted nesting needs."""


class Automaton:
    """Tables, ready to run: the lexer compiled, nothing else changed."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.match = re.compile("|".join(f"(?P<{name}>{regex})" for name, regex in tables.terminals)).match

    def run(self, text: str, builder: object) -> Any:
        """What the builder makes of `text`."""
        actions = [(rule, getattr(builder, rule.name) if rule.name else _itself) for rule in self.tables.rules]
        stack = _Stack(self.tables, actions)
        keywords = self.tables.keywords
        skip, match = _SKIP.match, self.match
        pos, line, line_start = 0, 1, 0
        while True:
            start = skip(text, pos).end()  # type: ignore[union-attr]
            newlines = text.count("\n", pos, start)
            if newlines:
                line += newlines
                line_start = text.rfind("\n", pos, start) + 1
            found = match(text, start)
            if found is None:
                break
            pos = found.end()
            kind: str = found.lastgroup  # type: ignore[assignment]
            token = Token(found[0])
            renamed = keywords.get(kind)
            token.type = renamed.get(token, kind) if renamed else kind
            token.line = line
            token.column = start - line_start + 1
            token.end_column = pos - line_start + 1
            token.start = start
            stack.feed(token)
        if start < len(text):
            raise Stopped(stack, None, start, line, start - line_start + 1)
        token = Token("")
        token.type, token.line, token.column, token.start = END, line, start - line_start + 1, start
        token.end_column = token.column
        return stack.finish(token)


class _Stack:
    """States and values, and what the tables do to them."""

    __slots__ = ("actions", "end", "states", "table", "values")

    def __init__(self, tables: Tables, actions: list[tuple[Rule, Callable[[list], Any]]]) -> None:
        self.table = tables.states
        self.actions = actions
        self.end = tables.end
        self.states = [tables.start]
        self.values: list[Any] = []

    def feed(self, token: Token) -> None:
        """Reduce as long as the tables say so, then shift the token."""
        table, states, kind = self.table, self.states, token.type
        action = table[states[-1]].get(kind)
        while action is not None and action < 0:
            self._reduce(-1 - action)
            action = table[states[-1]].get(kind)
        if action is None:
            raise Stopped(self, token, token.start, token.line, token.column)
        states.append(action)
        self.values.append(token)
        if len(states) > MAX_STACK:
            raise TooDeep(self, token, token.start, token.line, token.column)

    def finish(self, end: Token) -> Any:
        """Reduce to the start symbol."""
        while self.states[-1] != self.end:
            action = self.table[self.states[-1]].get(END)
            if action is None or action >= 0:
                raise Stopped(self, end, end.start, end.line, end.column)
            self._reduce(-1 - action)
        return self.values[-1]

    def can_shift(self, symbol: str) -> bool:
        """Whether the terminal could come next: follow the reductions it causes, on a copy of the states."""
        if not symbol[0].isupper():
            return False
        states = self.states.copy()
        while (action := self.table[states[-1]].get(symbol)) is not None and action < 0:
            rule = self.actions[-1 - action][0]
            if rule.size:
                del states[-rule.size :]
            states.append(self.table[states[-1]][rule.origin])
        return action is not None

    def _reduce(self, number: int) -> None:
        rule, build = self.actions[number]
        states, values, size = self.states, self.values, rule.size
        if size:
            kids = values[-size:]
            del values[-size:]
            del states[-size:]
        else:
            kids = []
        if rule.plan is not None:
            kids = _arranged(kids, rule.plan)
        values.append(kids[0] if rule.single and len(kids) == 1 else build(kids))
        states.append(self.table[states[-1]][rule.origin])


def _itself(kids: list[Any]) -> list[Any]:
    return kids


def _arranged(kids: list[Any], plan: list[int | None]) -> list[Any]:
    """The values in the order of the plan. A list in front is extended in place: nobody else holds it."""
    first = plan[0] if plan else None
    arranged = kids[-1 - first] if first is not None and first < 0 else []
    for index in plan[1:] if first is not None and first < 0 else plan:
        if index is None:
            arranged.append(None)
        elif index < 0:
            arranged += kids[-1 - index]
        else:
            arranged.append(kids[index])
    return arranged
