"""E0102: characters that begin no token, shown by name, with what was probably meant."""

from __future__ import annotations

import re
import unicodedata

from ...ir.errors import Diagnostic, Label, Loc

_MEANT = {
    **dict.fromkeys("\u2018\u2019\u201a\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2212\u2010\u2011\u2013\u2014", "-"),
    **dict.fromkeys("\u00d7\u22c5\u00b7", "*"),
    **dict.fromkeys("\u2192\u21a6", "->"),
    "\u03bb": "\\",
    "\u2190": "=",
    "\u2264": "<=",
    "\u2265": ">=",
    "\u2260": "!=",
    "\u2261": "==",
    "\u00f7": "/",
    "\u2227": "&&",
    "\u2228": "||",
    "\u00ac": "!",
    "\u2026": "...",
    "\u221e": "f64.inf",
    "\u03c0": "f64.pi",
}

_HINTS = {
    ";": "nothing stands between declarations or after a binding",
    "@": "there is no `@` operator",
    "$": "there is no `$` operator; write `f <| x`",
    "#": "a comment begins with `--`, an attribute is `#[name]`, a constructor `#name`",
    "\ufeff": "a byte-order mark may stand only at the very beginning",
}

_NUMBER = re.compile(r"[0-9][A-Za-z0-9_']*")


def bad_character(text: str, offset: int, file: str, line: int, col: int) -> Diagnostic:
    """What to say of `text[offset]`, where no token begins."""
    word = _NUMBER.match(text, offset)
    length = len(word[0]) if word else 1
    label = Label(Loc(file, line, col, line, col + length), "")
    if word:
        return _bad_number(word[0], label)
    char = text[offset]
    if char == '"':
        return Diagnostic("E0102", "this string does not end on its line", Label(label.loc, "begins here"))
    return Diagnostic("E0102", f"no token begins with {_shown(char)}", label, hint=_suggestion(char))


def _shown(char: str) -> str:
    """A character as people know it: itself if it can be seen, number and name if it is not ASCII."""
    itself = f"`{char}`" if char.isprintable() and not char.isspace() else ""
    if char.isascii() and itself:
        return itself
    return " ".join(part for part in (itself, f"U+{ord(char):04X}", unicodedata.name(char, "")) if part)


def _suggestion(char: str) -> str | None:
    if char in _HINTS:
        return _HINTS[char]
    plain = _MEANT.get(char) or unicodedata.normalize("NFKC", char)
    if plain == " ":
        return "did you mean a plain blank?"
    if plain != char and plain.isascii() and plain.isprintable():
        return f"did you mean `{plain}`?"
    if unicodedata.category(char) == "Cf":
        return "it cannot be seen: delete it"
    return "names are made of ASCII letters, digits, `_` and `'`" if char.isalpha() else None


def _bad_number(word: str, label: Label) -> Diagnostic:
    """`2x`, `0b12`, `1i7`."""
    digits = word[: len(word) - len(word.lstrip("0123456789_"))]
    rest = word[len(digits) :]
    if re.fullmatch(r"(?:[iuf]|bf)[0-9]+|[fFdDlLuU]+", rest):
        hint = "the suffixes are i8 i16 i32 i64, u8 u16 u32 u64, f16 bf16 f32 f64"
        return Diagnostic("E0102", f"`{word}` has no valid suffix", label, hint=hint)
    if word[0] == "0" and rest[:1] in ("x", "X", "b", "B", "r", "R"):
        hint = "`0x` is for hexadecimal digits, `0b` for binary ones, `0r` for Roman ones"
        return Diagnostic("E0102", f"`{word}` is not a number", label, hint=hint)
    name = rest.lstrip("'0123456789") or "x"
    message = f"`{word}` is neither a number nor a name: a name cannot begin with a digit"
    return Diagnostic("E0102", message, label, hint=f"did you mean `{name}{digits}`?")
