"""Whether a blank stands between two tokens of a line, by the smallest phrase that has both."""

from __future__ import annotations

from lark import Token, Tree

OPENING, CLOSING = ("(", "[", "{", "#["), (")", "]", "}")
BLOCKS = ("moddecs", "sigspecs", "kernel_block")  # braces around declarations or statements, with blanks inside
_OPERATORS = frozenset("-+*/%=!><|&^")

_TIGHT = frozenset((
    "index", "indexstep", "fieldstep", "slice", "path", "pathsection", "project", "openin", "qualname", "backtick",
    "sizeparam", "typeparam", "attrarg", "tarray", "texists",
))  # fmt: skip
"""Phrases without blanks inside, but for those after commas."""

_PREFIXED = frozenset(("negate", "complement", "pneg", "tunique"))
_LISTS_OF_SIZES = frozenset(
    ("valbind", "letfun", "letpat", "loop", "typebind", "typespec", "valspec", "sigwith", "tapply", "tcon")
)
_TIGHT_OPERATORS = {"point": ("+", "-"), "slice": ("+", "-", "*"), "tsize": ("+", "-", "*", "/", "**")}
_RANGES = frozenset(("..", "...", "..<", "..>"))


def is_blank_between(phrase: str, is_tight: bool, left: Token, right: Token) -> bool:
    """Whether `left` and `right` are kept apart, which are neighbours inside of `phrase`, but in none of its parts.

    `is_tight`: what `is_tight_chain` says of the phrase."""
    if left in OPENING or right in CLOSING:
        return phrase in BLOCKS and left != "{}"[0] + right and not (left in OPENING and right in CLOSING)
    if right in (",", ";"):
        return False
    if left == ",":
        return True
    if phrase in _TIGHT or is_tight:
        return False
    if phrase in _PREFIXED:
        return right[0] in _OPERATORS  # `- -x`: two operators side by side would be one, or a comment
    if right == ":":
        return phrase == "ascription"
    if left == "\\" or (left == "type" and right in ("~", "^")):
        return False
    if right == "[":
        return not (phrase in ("letwith", "kernel_store", "kernel_move") or (left == "]" and phrase in _LISTS_OF_SIZES))
    return not (right == "." and phrase == "letwith")


def is_tight_chain(chain: Tree[Token], parent: str) -> bool:
    """Whether the operators of a chain stand without blanks: sums of names, elements and numbers in an index,
    arithmetic in a size (`xs[i+1]`, `[n*m]t`), and ranges of these (`0..<n`)."""
    operands, operators = chain.children[::2], chain.children[1::2]
    if not all(map(_is_simple, operands)):
        return False
    signs = [_sign(operator) for operator in operators]
    if any(sign in _RANGES for sign in signs):
        return all(sign in _RANGES for sign in signs)
    return all(sign in _TIGHT_OPERATORS.get(parent, ()) for sign in signs)


def _is_simple(operand: Tree[Token] | Token) -> bool:
    return isinstance(operand, Tree) and operand.data in ("var", "integer", "index")


def _sign(operator: Tree[Token] | Token) -> str:
    """The operator's token; "" for `with` and backticks."""
    if isinstance(operator, Token):
        return str(operator)
    first = operator.children[0]
    return str(first) if operator.data == "binop" and isinstance(first, Token) else ""
