"""Lark's parser for the grammar, from tables made beforehand: analysing the grammar anew would take 0.3 s.

`grammar.json` is what `lark.tools.serialize` gives for `grammar.lark`; `scripts/parse_tables.py` writes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lark import Lark

from .lexer import FastLexer

TABLES = Path(__file__).with_name("grammar.json")


def load_parser(builder: object) -> Lark:
    """The parser; for each phrase it calls the method of `builder` that is named like the rule."""
    tables = json.loads(TABLES.read_text(encoding="utf-8"))
    data, memo = tables["data"], tables["memo"]
    actions = data["parser"]["parser"]
    actions["tokens"] = _by_number(actions["tokens"])
    actions["states"] = {state: _by_number(row) for state, row in _by_number(actions["states"]).items()}
    data["options"] |= {"lexer": FastLexer, "transformer": builder}
    data["parser"]["lexer_conf"]["lexer_type"] = FastLexer
    return Lark.load({"data": data, "memo": _by_number(memo)})


def _by_number(table: dict[str, Any]) -> dict[int, Any]:
    """JSON's keys are strings; Lark's are numbers."""
    return {int(key): value for key, value in table.items()}
