"""What to say when the parser stops: E0101 for a token that does not fit, E0102 for a character that begins none."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...ir.errors import Diagnostic, Label, Loc
from .automaton import END, Stopped, Token, TooDeep
from .bad_characters import bad_character
from .depth import BRANCHES, MAX_DEPTH, NAME_PARTS, too_deep
from .spans import token_loc

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
# Shown first, in this order, when a phrase is complete and something must follow.
_FOLLOWERS = ("THEN", "ELSE", "IN", "DO", "ARROW", "EQUAL", "CASE", "FOR", "WHILE", "RPAR", "RSQB", "RBRACE", "COMMA")


def diagnose(stopped: Stopped, text: str, file: str) -> Diagnostic:
    """The diagnostic for a fault at a token or character."""
    if stopped.token is None:
        return bad_character(text, stopped.offset, file, stopped.line, stopped.column)
    if isinstance(stopped, TooDeep):
        token = _nested_most(stopped) or stopped.token
        return too_deep(token_loc(file, token), BRANCHES if token.type == "IF" else NAME_PARTS).diagnostics[0]
    return _bad_token(stopped, stopped.token, text, file)


def _nested_most(stopped: Stopped) -> Token | None:
    """The first token beyond the limit, of the kind that is open most often; the stack holds far more of them."""
    tokens = [value for value in stopped.values if isinstance(value, Token)]
    kinds = Counter(token.type for token in tokens).most_common(1)
    alike = [token for token in tokens if (token.type,) == kinds[0][:1]]
    return alike[MAX_DEPTH] if len(alike) > MAX_DEPTH else None


def _bad_token(stopped: Stopped, token: Token, text: str, file: str) -> Diagnostic:
    at_end = token.type == END
    loc = _end_of(text, file) if at_end else token_loc(file, token)
    found = "end of file" if at_end else f"`{_short(token)}`"
    accepts = stopped.accepts()
    others = _other_labels(file, token, accepts, stopped.values)
    message = f"expected {_expected(accepts)}, found {found}"
    hint = _token_hint(token, accepts, not text[: token.start].strip())
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
    """The token itself, or a bracket that a rule `_lsq` has wrapped in a list."""
    if isinstance(value, list):
        return [k for k in value[:1] if isinstance(k, Token)]
    return [value] if isinstance(value, Token) else []


def _token_hint(token: Token, accepts: set[str], first: bool) -> str | None:
    """Advice for common slips; `first` if nothing stands before the token."""
    kind, longest = token.type, token.type in ("OP", "QUALOP") and len(token) > 1
    if longest and token.endswith("-"):
        return f"operators are read as long as possible: `{token}` is one; put a blank before the `-`"
    if kind == "RANGE":
        return "a range is `a..<b`, `a...b` or `a..b...c`"
    if kind == "EQUAL" and accepts >= _OPERATOR:
        return "comparison is `==`"
    if token.isalpha() and kind != "ID" and "ID" in accepts and not accepts >= _EXP:
        return f"`{token}` is a reserved word"
    if not accepts >= _DEC or accepts >= _OPERATOR:
        return None
    if kind in _LONELY:
        return f"no {_LONELY[kind]} is open here"
    return "definitions begin with `def`, entry points with `entry`" if first else None


def _end_of(text: str, file: str) -> Loc:
    """Just after the last character that is not blank."""
    kept = text.rstrip()
    line = kept.count("\n") + 1
    col = len(kept) - kept.rfind("\n")
    return Loc(file, line, col, line, col + 1)
