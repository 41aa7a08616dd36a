"""The tables of the parser: `frontend/parsing/grammar.json`, made of `grammar.lark` by Lark's own tools.

    python scripts/parse_tables.py     writes the tables anew

A test compares the file with what this script gives, so that it follows the grammar and the version of Lark.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from lark import Lark
from lark.tools.serialize import serialize

GRAMMAR = Path(__file__).resolve().parent.parent / "frontend" / "parsing" / "grammar.lark"
TABLES = GRAMMAR.with_suffix(".json")
OPTIONS: dict[str, Any] = {
    "parser": "lalr",
    "lexer": "basic",
    "keep_all_tokens": True,  # source ranges begin and end with tokens
    "maybe_placeholders": True,
    "start": ["start"],
}


def analyse(grammar: str, debug: bool = False) -> Lark:
    """The grammar as Lark sees it. With `debug`, it logs conflicts."""
    return Lark(grammar, debug=debug, **OPTIONS)


def tables(grammar: str) -> str:
    """What Lark serialises, as JSON: with the options above only, with states in a fixed order, and shorter:
    `parsing/tables.py` says how rules and actions are written."""
    text = io.StringIO()
    serialize(analyse(grammar), text)
    whole = json.loads(text.getvalue())
    data, memo = whole["data"], list(whole["memo"].values())
    data["options"] = OPTIONS
    data["parser"]["parser"] = in_fixed_order(data["parser"]["parser"])
    terminals = [each for each in memo if each["__type__"] == "TerminalDef"]
    assert memo[: len(terminals)] == terminals
    options: list[dict[str, Any]] = []
    rules = [in_short(each, options) for each in memo[len(terminals) :]]
    short = {"data": data, "terminals": terminals, "rules": rules, "options": options}
    return json.dumps(short, separators=(",", ":")).replace('},"', '},\n"').replace('],["', '],\n["') + "\n"


def in_short(rule: dict[str, Any], options: list[dict[str, Any]]) -> list[Any]:
    """A rule as a list; its options are in `options`, and added where they are new."""
    own = {name: value for name, value in rule["options"].items() if name != "__type__"}
    if own not in options:
        options.append(own)
    assert not any(symbol.get("filter_out") for symbol in rule["expansion"])
    assert all((symbol["__type__"] == "Terminal") == symbol["name"].isupper() for symbol in rule["expansion"])
    symbols = [symbol["name"] for symbol in rule["expansion"]]
    return [rule["origin"]["name"], symbols, rule["order"], rule["alias"], options.index(own)]


def in_fixed_order(table: dict[str, Any]) -> dict[str, Any]:
    """The table with terminals by name and states as they are reached from the first: Lark's order differs from run to
    run. An action is `(0, state)`, which shifts, or `(1, rule)`."""
    name = table["tokens"]
    tokens = sorted(name.values())
    number = {token: k for k, token in enumerate(tokens)}
    order = list(table["start_states"].values())
    at = {state: k for k, state in enumerate(order)}
    states: list[str] = []
    for state in order:  # grows
        actions = sorted((number[name[token]], action) for token, action in table["states"][str(state)].items())
        for _, (reduces, target) in actions:
            if not reduces and target not in at:
                at[target] = len(order)
                order.append(target)
        said = (f"{token} -{target['@']}" if kind else f"{token} +{at[target]}" for token, (kind, target) in actions)
        states.append(" ".join(said))
    ends = {start: at[state] for start, state in table["end_states"].items()}
    starts = {start: at[state] for start, state in table["start_states"].items()}
    return {"tokens": tokens, "states": states, "start_states": starts, "end_states": ends}


if __name__ == "__main__":
    TABLES.write_text(tables(GRAMMAR.read_text(encoding="utf-8")), encoding="utf-8")
