"""From the text of a `.soac` file to its syntax tree.

    parse_module     text ⟶ Module; on a fault one diagnostic
                     (E0002 halves of characters, E0101 syntax, E0102 characters, E0103 depth, E0104 literals)

`grammar.lark` is the grammar. Lark's LALR(1) parser (`tables.py`) calls `declarations.Builder` for every phrase that is
complete.
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

from lark import UnexpectedInput

from ...ir.errors import CompileError
from ..source.declarations import Dec, Module
from ..source.text import check_characters
from .declarations import Builder
from .depth import check_brackets, check_depth
from .errors import diagnose
from .tables import load_parser


def parse_module(text: str, file: str, first_id: int = 0) -> Module:
    """The module in `text`; its node ids count from `first_id`."""
    check_characters(text, file)
    check_brackets(text, file)
    decs, next_id = _parser().run(text, file, first_id)
    check_depth(decs)
    return Module(file, text, decs, next_id)


class Parser:
    """Lark with the builder that it calls. The builder holds what belongs to one text: one is parsed at a time."""

    def __init__(self) -> None:
        self.build = Builder()
        self.lark = load_parser(self.build)
        self.lock = Lock()

    def run(self, text: str, file: str, first_id: int) -> tuple[tuple[Dec, ...], int]:
        """The declarations in `text`, and the first id that none of their nodes has."""
        with self.lock:
            self.build.begin(file, first_id)
            try:
                decs: Any = self.lark.parse(text)  # what the builder gives for `start`
            except UnexpectedInput as fault:
                raise CompileError(diagnose(fault, text, file)) from None
            for error in self.build.too_large.values():
                raise error
            return decs, self.build.fresh()


@cache
def _parser() -> Parser:
    return Parser()
