"""Lark's parser for the grammar, from tables made beforehand: analysing the grammar anew would take 0.3 s.

`grammar.json` is what `lark.tools.serialize` gives for `grammar.lark`, written shorter; `scripts/parse_tables.py`
writes it. A program comes by few of the 700 states: the actions of a state are read when a parser first comes there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark
from lark.grammar import NonTerminal, Rule, RuleOptions, Terminal
from lark.parsers.lalr_analysis import Reduce, Shift
from lark.parsers.lalr_parser import LALR_Parser

from .lexer import FastLexer

TABLES = Path(__file__).with_name("grammar.json")


def load_parser(builder: object) -> Lark:
    """The parser; for each phrase it calls the method of `builder` that is named like the rule."""
    tables = json.loads(TABLES.read_text(encoding="utf-8"))
    data = tables["data"]
    data["options"] |= {"lexer": FastLexer, "transformer": builder, "_plugins": {"LALR_Parser": _Parser}}
    data["parser"]["lexer_conf"]["lexer_type"] = FastLexer
    memo = enumerate((*tables["terminals"], *_rules(tables["rules"], tables["options"])))
    return Lark.load({"data": data, "memo": dict(memo)})


def _rules(rules: Sequence[Sequence[Any]], options: Sequence[Mapping[str, Any]]) -> list[Rule]:
    """The rules, each from its name, its symbols (terminals in capitals), its number, its alias, its options."""
    terminal, other = cache(Terminal), cache(NonTerminal)
    kinds = [RuleOptions(**each) for each in options]
    return [
        Rule(
            other(name),
            [(terminal if symbol.isupper() else other)(symbol) for symbol in symbols],
            order,
            alias,
            kinds[k],
        )
        for name, symbols, order, alias, k in rules
    ]


class _Parser(LALR_Parser):
    @classmethod
    def deserialize(cls, data: Any, memo: Any, callbacks: Any, debug: bool = False) -> Any:
        made = super().deserialize(data | {"states": {}}, memo, callbacks, debug)
        table: Any = made._parse_table
        table.states = _Actions(data["states"], data["tokens"], memo)
        return made


class _Actions(dict[int, dict[str, tuple[Any, Any]]]):
    """For each state the action at each token, from texts such as `3 +7 5 -2`: at token 3 shift and go to state 7, at
    token 5 reduce by what `memo` has as 2."""

    def __init__(self, texts: Sequence[str], tokens: Sequence[str], memo: Mapping[int, Rule]) -> None:
        self.texts, self.tokens, self.memo = texts, tokens, memo

    def __missing__(self, state: int) -> dict[str, tuple[Any, Any]]:
        parts = self.texts[state].split()
        self[state] = {
            self.tokens[int(token)]: (Shift, int(to)) if to[0] == "+" else (Reduce, self.memo[-int(to)])
            for token, to in zip(parts[::2], parts[1::2], strict=True)
        }
        return self[state]
