"""What every part of the tree builder needs: fresh ids and source ranges.

Lark calls the builder bottom-up while it parses, one method for each rule, with all the tokens of the phrase. Nesting
therefore costs no Python stack. A source range runs from the first to the last piece of the phrase.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from lark import Token

from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ...ir.records import dataclass


@dataclass(frozen=True, slots=True)
class Qualified:
    """`a.b.c` before it is known whether it names a type, a module or an operator in backticks."""

    name: tuple[str, ...]
    loc: Loc


def syntax_error(code: str, message: str, loc: Loc, text: str = "", hint: str | None = None) -> CompileError:
    return CompileError(Diagnostic(code, message, Label(loc, text), hint=hint))


def token_loc(file: str, token: Token) -> Loc:
    """The range of a token; none is longer than its line. Lark's type allows tokens without a place."""
    return Loc(file, token.line, token.column, token.line, token.end_column)  # type: ignore[arg-type]


class SpanBuilder:
    """Ids and ranges in one file.

    `groups` holds the range of a parenthesised expression, parentheses included, by the id of its node: the node
    itself knows nothing of them, but a phrase that begins or ends with them covers them.
    """

    def __init__(self) -> None:
        self.begin("", 0)

    def begin(self, file: str, first_id: int) -> None:
        """Starts on the text of a file; the ids of its nodes count from `first_id`."""
        self.file = file
        self.fresh = count(first_id).__next__
        self.groups: dict[int, Loc] = {}
        self.too_large: dict[int, CompileError] = {}

    def token_loc(self, token: Token) -> Loc:
        return token_loc(self.file, token)

    def span(self, kids: Sequence[Any]) -> Loc:
        """From the first to the last of the pieces (tokens or nodes)."""
        return self.between(kids[0], kids[-1])

    def between(self, first: Any, last: Any) -> Loc:
        if first.__class__ is Token:
            line, col = first.line, first.column
        else:
            start = self._outer(first)
            line, col = start.line, start.col
        if last.__class__ is Token:
            return Loc(self.file, line, col, last.line, last.end_column)
        end = self._outer(last)
        return Loc(self.file, line, col, end.end_line, end.end_col)

    def _outer(self, node: Any) -> Loc:
        """The range of a node, with its parentheses if it stands in some."""
        group = self.groups.get(getattr(node, "id", -1))
        return node.loc if group is None else group

    # ---- pieces that several kinds of phrase share

    def opt(self, kids: list[Any]) -> Any:
        """`opt{":", type}`: what follows the sign, or None."""
        return kids[1] if kids else None

    def paren(self, kids: list[Any]) -> Any:
        return kids[1]

    def one_tuple(self, kids: list[Any]) -> Any:
        raise syntax_error("E0101", "a tuple has two elements or more, or none", self.span(kids), "only one element")

    def qualname(self, kids: list[Any]) -> Qualified:
        return Qualified(tuple(str(k) for k in kids[::2]), self.span(kids))


def nodes(kids: Sequence[Any]) -> tuple[Any, ...]:
    """The pieces that are not tokens."""
    return tuple([k for k in kids if k.__class__ is not Token])


def names(kids: Sequence[Any]) -> tuple[str, ...]:
    """The names among the tokens, as in `[n][m]`."""
    return tuple([str(k) for k in kids if k.__class__ is Token and k.type == "ID"])
