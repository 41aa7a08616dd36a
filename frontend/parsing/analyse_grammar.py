"""From `grammar.lark` to the tables of the automaton, by Lark's LALR(1) analysis.

Only this file knows Lark. A grammar rule becomes a `Rule` of `tables.py`: how many values it takes off the stack,
and what becomes of them. Lark's conventions are kept: the values of a rule `_x` are put into the phrase around it, `?x`
with one value is that value, an absent `[x]` is None. All tokens are kept: source ranges begin and end with them.
"""

from __future__ import annotations

import re

from lark import Lark
from lark.grammar import Rule as LarkRule
from lark.lexer import TerminalDef

from .tables import Rule, Tables

IGNORED = ("WS", "COMMENT")


def analyse(grammar: str, debug: bool = False) -> Lark:
    """The grammar as Lark sees it. With `debug`, it logs conflicts."""
    return Lark(grammar, parser="lalr", lexer="basic", keep_all_tokens=True, maybe_placeholders=True, debug=debug)


def generate(grammar: str) -> Tables:
    """The tables of a grammar."""
    parser = analyse(grammar)
    table = parser.parser.parser._parse_table
    numbers = {rule: number for number, rule in enumerate(parser.rules)}
    states = [{} for _ in range(max(table.states) + 1)]
    for state, actions in table.states.items():
        for symbol, (_, target) in actions.items():
            states[state][symbol] = -1 - numbers[target] if isinstance(target, LarkRule) else target
    terminals, keywords = _lexer([t for t in parser.terminals if t.name not in IGNORED])
    rules = [_rule(rule) for rule in parser.rules]
    return Tables(terminals, keywords, rules, states, table.start_states["start"], table.end_states["start"])


def _lexer(terminals: list[TerminalDef]) -> tuple[list[tuple[str, str]], dict[str, dict[str, str]]]:
    """Regular expressions in the order of trial (the first that matches wins), and strings that rename their match.

    A string that a regular expression of the same priority matches in full (`if`, which is an ID) is no expression of
    its own: the longer match is taken, and renamed if it is exactly the string.
    """
    ordered = sorted(terminals, key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name))
    keywords: dict[str, dict[str, str]] = {}
    embedded = set()
    words = [t for t in ordered if t.pattern.type == "str"]
    for terminal in ordered:
        for word in words if terminal.pattern.type == "re" else ():
            matches = re.fullmatch(terminal.pattern.to_regexp(), word.pattern.value)
            if matches and word.priority == terminal.priority:
                keywords.setdefault(terminal.name, {})[word.pattern.value] = word.name
                embedded.add(word.name)
    kept = [(t.name, t.pattern.to_regexp()) for t in ordered if t.name not in embedded]
    return kept, keywords


def _rule(rule: LarkRule) -> Rule:
    """What a reduction by `rule` does. One that always passes on its only value calls nothing."""
    origin = str(rule.origin.name)
    plan = _plan(rule)
    single = bool(rule.options.expand1 and not rule.alias)
    nameless = origin[0] == "_" or (single and len(rule.expansion) == 1 and plan is None)
    name = "" if nameless else str(rule.alias or rule.options.template_source or origin)
    return Rule(origin, len(rule.expansion), name, single, plan)


def _plan(rule: LarkRule) -> list[int | None] | None:
    """How the values of a phrase are made from those on the stack; see `Rule`."""
    absent = list(rule.options.empty_indices or [False] * len(rule.expansion))
    plan: list[int | None] = []
    at = 0
    for is_absent in absent:
        if is_absent:
            plan.append(None)
            continue
        symbol = rule.expansion[at]
        is_spliced = not symbol.is_term and symbol.name[0] == "_"
        plan.append(-1 - at if is_spliced else at)
        at += 1
    return None if plan == list(range(len(rule.expansion))) else plan
