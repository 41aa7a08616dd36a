"""POSIX extended regular expressions, as test blocks write them, for Python's `re`.

    [[:digit:]\\.]x$   ⟶   [0-9\\\\\\.]x\\Z        in brackets a backslash is a character, and there are classes

A newline is an ordinary character: `.` matches it, `^` and `$` are the ends of the text.
"""

from __future__ import annotations

import re

MAX_TEXT = 100_000  # characters of a message that are looked at

_CLASSES = {
    "alpha": "A-Za-z",
    "digit": "0-9",
    "alnum": "A-Za-z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "xdigit": "0-9A-Fa-f",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "print": " -~",
    "graph": "!-~",
    "cntrl": r"\x00-\x1f\x7f",
}
_BRACKET = re.compile(r"\[\^?\]?(?:\[:[a-z]+:\]|\[[.=].[.=]\]|[^\]])*\]")
_INSIDE = re.compile(r"\[:(?P<kind>[a-z]+):\]|\[[.=](?P<char>.)[.=]\]|(?P<other>.)", re.DOTALL)
_PART = re.compile(rf"(?P<escape>\\.)|(?P<bracket>{_BRACKET.pattern})|(?P<end>\$)", re.DOTALL)


def matches(regex: str, text: str) -> bool:
    """Whether `regex` matches somewhere in `text`; the empty one always does. Can take for ever."""
    return re.search(to_python(regex), text[:MAX_TEXT], re.DOTALL) is not None


def to_python(regex: str) -> str:
    """The same expression as Python writes it."""
    return _PART.sub(_part, regex)


def _part(found: re.Match[str]) -> str:
    if found["end"]:
        return r"\Z"
    return found["escape"] or _bracket(found["bracket"])


def _bracket(text: str) -> str:
    negated = text.startswith("[^")
    body = text[2 if negated else 1 : -1]
    return ("[^" if negated else "[") + "".join(map(_inside, _INSIDE.finditer(body))) + "]"


def _inside(found: re.Match[str]) -> str:
    if found["kind"]:
        return _CLASSES.get(found["kind"], "")
    char = found["char"] or found["other"]
    return "\\" + char if char in "\\[]^&~|" else char
