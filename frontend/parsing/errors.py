"""What to say when the parser stops: E0101 for a token that does not fit, E0102 for a character that begins none."""

from __future__ import annotations

from typing import Any

from lark import Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ...ir.errors import Diagnostic, Label, Loc
from ...ir.scanner import place
from .bad_characters import bad_character
from .spans import token_loc

END = "$END"
_EXP = {"IF", "LPAR", "INT", "BACKSLASH"}
_ATOM = {"LPAR", "INT", "STRING"}
_TYPE = {"ID", "LPAR", "LSQB", "LBRACE", "STAR"}
_PATTERN = {"ID", "LPAR", "UNDERSCORE"}
_OPERATOR = {"OP", "MINUS", "STAR"}
_DEC = {"DEF", "ENTRY"}
_OPENERS = {"LPAR": ")", "LSQB": "]", "LIDX": "]", "LBRACE": "}", "ATTR": "]"}
_CLOSERS = {"RPAR": ")", "RSQB": "]", "RBRACE": "}"}
_WORDS = {
    "RPAR": "`)`",
    "RSQB": "`]`",
    "RBRACE": "`}`",
    "LPAR": "`(`",
    "LBRACE": "`{`",
    "LSQB": "`[`",
    "COMMA": "`,`",
    "EQUAL": "`=`",
    "COLON": "`:`",
    "ARROW": "`->`",
    "LESS": "`<`",
    "DOT": "`.`",
    "BACKQUOTE": "a backtick",
    "THEN": "`then`",
    "ELSE": "`else`",
    "IN": "`in`",
    "DO": "`do`",
    "FOR": "`for`",
    "WHILE": "`while`",
    "CASE": "`case`",
    "ID": "a name",
    "STRING": "a file name",
    "INT": "a number",
    "NAT": "a field",
}
# Words and brackets that only continue something, and what.
_LONELY = {
    "THEN": "`if`",
    "ELSE": "`if`",
    "IN": "`let`",
    "DO": "`loop`",
    "CASE": "`match`",
    "RPAR": "`(`",
    "RSQB": "`[`",
    "RBRACE": "`{`",
    "COMMA": "bracket",
}
# Words that wait for a partner.
_PARTNERS = {"LET": ("IN",), "IF": ("THEN", "ELSE"), "LOOP": ("DO",), "MATCH": ("CASE",)}
# What other languages write, and what is written here: where an expression begins, and elsewhere.
_FOREIGN_EXP = {
    "case": "write `match x case ..`",
    "'": 'a text is written in `"`',
    "for": "a loop gives a value: `loop y = 0 for x in xs do y + x`",
    "while": "a loop gives a value: `loop y = 1 while y < x do y * 2`",
}
_FOREIGN = {
    "=>": "write `->`",
    ";": "nothing stands between declarations or after a binding",
    "//": "a comment begins with `--`",
    "|": "what depends on a condition is `if .. then .. else ..`",
    "?": "write `if .. then .. else ..`",
    "if": "write `if .. then .. else ..`",
}
# Shown first, in this order, when a phrase is complete and something must follow.
_FOLLOWERS = ("THEN", "ELSE", "IN", "DO", "ARROW", "EQUAL", "CASE", "FOR", "WHILE", "RPAR", "RSQB", "RBRACE", "COMMA")


def diagnose(fault: UnexpectedInput, text: str, file: str) -> Diagnostic:
    """The diagnostic for what Lark raises at a token or character."""
    if isinstance(fault, UnexpectedCharacters):
        return bad_character(text, fault.pos_in_stream, file, fault.line, fault.column)
    assert isinstance(fault, UnexpectedToken)
    token, accepts = fault.token, fault.accepts - {END}
    at_end = token.type == END
    loc = _end_of(text, file) if at_end else token_loc(file, token)
    found = "end of file" if at_end else f"`{_short(token)}`"
    others = _other_labels(file, token, accepts, fault.interactive_parser.parser_state.value_stack)
    message = f"expected {_expected(accepts)}, found {found}"
    hint = _token_hint(token, accepts, not text[: token.start_pos].strip())
    return Diagnostic("E0101", message, Label(loc, ""), others, hint=hint)


def _short(token: str) -> str:
    return token if len(token) <= 40 else f"{token[:37]}..."


def _expected(accepts: set[str]) -> str:
    """The accepted terminals in a few words."""
    if accepts >= _EXP:
        return _listed(["an expression", *_words(accepts, ("RPAR", "RSQB", "RBRACE"))])
    if accepts >= _OPERATOR:
        return _listed([*_words(accepts, _FOLLOWERS)] or ["an operator or a declaration"])
    if accepts >= _DEC:
        return _listed(["a declaration", *_words(accepts, ("RBRACE",))])
    if accepts >= _TYPE and "INT" not in accepts:
        return _listed(["a type", *_words(accepts, ("RPAR", "RBRACE"))])
    if accepts >= _PATTERN:
        return _listed(["a parameter or pattern", *_words(accepts, ("EQUAL", "ARROW", "RPAR", "RBRACE"))])
    if "NAT" in accepts:
        return "a field"
    if accepts >= _ATOM:
        return "a name, a literal or an expression in parentheses"
    return _listed(_words(accepts, tuple(_WORDS)) or sorted(accepts))


def _words(accepts: set[str], order: tuple[str, ...]) -> list[str]:
    return [_WORDS[name] for name in order if name in accepts]


def _listed(words: list[str]) -> str:
    words = words[:4]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _other_labels(file: str, token: Token, accepts: set[str], values: list[Any]) -> tuple[Label, ...]:
    """The opener, if the file ends inside it or another bracket closes it; else a keyword without its partner."""
    tokens = [t for value in reversed(values) for t in _tokens(value)]
    opener = next((t for t in tokens if t.type in _OPENERS), None)
    keyword = next((t for t in tokens if t.type in _PARTNERS), None)
    ends = token.type in (END, "DEF", "ENTRY", *_CLOSERS)
    if opener is not None and ends and str(token) != _OPENERS[opener.type]:
        return (Label(token_loc(file, opener), f"this `{opener}` is not closed"),)
    partner = next((p for p in _PARTNERS[keyword.type] if p in accepts), None) if keyword is not None else None
    if keyword is not None and partner is not None:
        return (Label(token_loc(file, keyword), f"this `{keyword}` has no `{partner.lower()}`"),)
    return ()


def _tokens(value: object) -> list[Token]:
    """The token itself, or a bracket that the rule `_lsq` has wrapped in a `Tree`."""
    first = value.children[:1] if isinstance(value, Tree) else [value]
    return [token for token in first if isinstance(token, Token)]


def _token_hint(token: Token, accepts: set[str], first: bool) -> str | None:
    """Advice for common slips; `first` if nothing stands before the token."""
    kind, longest = token.type, token.type in ("OP", "QUALOP") and len(token) > 1
    if longest and token.endswith("-"):
        return f"operators are read as long as possible: `{token}` is one; put a blank before the `-`"
    if kind == "RANGE":
        return "a range is `a..<b`, `a...b` or `a..b...c`"
    if token == "<" and accepts >= {"IN", "COLON"}:
        return "the index of a loop has a name: `for _i < n`"
    if kind == "EQUAL" and accepts >= _OPERATOR:
        return "comparison is `==`; a definition inside of another is `let x = .. in ..`, before its use"
    foreign = _FOREIGN_EXP.get(str(token)) if accepts >= _EXP else _FOREIGN.get(str(token))
    if foreign is not None:
        return foreign
    if token.isalpha() and kind != "ID" and "ID" in accepts and not accepts >= _EXP:
        return f"`{token}` is a reserved word"
    if not accepts >= _DEC or accepts >= _OPERATOR:
        return None
    if kind in _LONELY:
        return f"no {_LONELY[kind]} is open here"
    return "definitions begin with `def`, entry points with `entry`" if first else None


def _end_of(text: str, file: str) -> Loc:
    """Just after the last character that is not blank."""
    line, col = place(text, len(text.rstrip()))
    return Loc(file, line, col, line, col + 1)
