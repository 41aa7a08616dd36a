"""Where a line that is too long is broken: outside before inside, so that what belongs together stays together.

The parts of a `let .. in`, a branch or a `match` get a line each. What is behind `=`, `->` or `do` goes to the next
line if it fits there. Arguments, elements and operands fill lines; an operator begins one. A phrase with a part that is
too long for a line stays, and that part is broken. A comment, a string or a name is never broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from lark import Token

from ...ir.records import dataclass
from ..parsing.precedence import Level, symbol_level
from .spaces import CLOSING, OPENING

WIDTH = 120
LEAST_GAIN = 8  # columns that a break must give, where no phrase fits

_DEFINITIONS = ("valbind", "infixbind")
_BINDINGS = (*_DEFINITIONS, "letfun", "letpat", "letwith", "typebind", "module", "modtypebind")
_PARTS = {"letexp": ("let", "in"), "conditional": ("then", "else"), "match": ("case",), "loop": ("for", "while")}
_OPERATORS = ("OP", "QUALOP", "STAR", "LESS", "BAR", "CARET", "MINUS", "RANGE")


class Way(Enum):
    """How the lines of a phrase are broken: at all gaps of the kind, at the last one, or where a line is full."""

    ALL = auto()
    TAIL = auto()
    FILL = auto()


@dataclass(frozen=True, slots=True)
class Gap:
    """A blank that a line may end at. `phrase`: the number of the smallest phrase around it, less than those inside of
    that; `start`: where the token behind it is in the text; `column`: where it is in its line, and `indent` where it
    would be as the first one; `level`: of the operator, if it is one; `is_definition`: it is behind the `=` of one."""

    phrase: int
    way: Way
    start: int
    column: int
    indent: int
    level: int
    is_definition: bool


def way_at(rule: str, left: Token, right: Token) -> Way | None:
    """How a line may end between two neighbours that are kept apart in a phrase, if it may."""
    if rule in _PARTS and right in _PARTS[rule]:
        return Way.FILL if rule == "loop" else Way.ALL
    if rule in ("moddecs", "sigspecs"):
        return None if left in OPENING or right in CLOSING else Way.ALL
    if (rule in _BINDINGS and left == "=") or (rule in ("function", "case") and left == "->"):
        return Way.TAIL
    if (rule == "loop" and left == "do") or (rule in ("attributed", "attr_dec") and left == "]"):
        return Way.TAIL
    fills = (
        left == ","
        or rule in ("apply", "assertion")
        or (rule == "chain" and _is_operator(right) and not _is_operator(left))
        or (rule in ("tarrow", "tsum", "coercion") and right in ("->", "|", ":>"))
        or (rule in (*_DEFINITIONS, "letfun") and right not in ("=", ":") and left not in (":", "def", "let", "entry"))
    )
    return Way.FILL if fills else None


def level_of(rule: str, token: Token) -> int:
    """How tight the operator binds that begins a part of a chain; 0 elsewhere."""
    if rule != "chain":
        return 0
    match token:
        case "with":
            return Level.WITH
        case "`":
            return Level.BACKTICK
        case _:
            return Level.RANGE if token.type == "RANGE" else symbol_level(token.rpartition(".")[2] or token)


def _is_operator(token: Token) -> bool:
    return token.type in _OPERATORS or token in ("with", "`")


def breaks(gaps: Sequence[Gap], end: int) -> list[int]:
    """Where lines are to begin that are one line of `end` columns now: starts of tokens; none where nothing helps."""
    phrases: dict[int, list[Gap]] = {}
    for gap in gaps:
        phrases.setdefault(gap.phrase, []).append(gap)
    ordered = [phrases[number] for number in sorted(phrases)]
    return next(filter(None, (_fitting(phrase, end) for phrase in ordered)), []) or next(
        filter(None, (_forced(phrase, end) for phrase in ordered)), []
    )


def _fitting(gaps: Sequence[Gap], end: int) -> list[int]:
    """The breaks of one phrase that leave no part of it too long."""
    everywhere = [gap.start for gap in gaps if gap.way is Way.ALL]
    if everywhere:
        return everywhere
    tail = next((gap for gap in reversed(gaps) if gap.way is Way.TAIL), None)
    if tail is not None and tail.column <= WIDTH + 1 and (tail.is_definition or _length(tail, end) <= WIDTH):
        return [tail.start]
    loosest = _loosest(gaps)
    ends = [gap.column - 1 for gap in loosest[1:]] + [end]
    fits = bool(loosest) and loosest[0].column <= WIDTH + 1
    return _filled(loosest, end) if fits and all(_length(g, e) <= WIDTH for g, e in zip(loosest, ends)) else []


def _forced(gaps: Sequence[Gap], end: int) -> list[int]:
    return _filled([gap for gap in _loosest(gaps) if gap.column - gap.indent >= LEAST_GAIN], end)


def _loosest(gaps: Sequence[Gap]) -> list[Gap]:
    level = min(gap.level for gap in gaps)
    return [gap for gap in gaps if gap.level == level]


def _length(gap: Gap, end: int) -> int:
    """The length of a line that begins behind the gap and ends at a column of the line as it is."""
    return gap.indent + end - gap.column


def _filled(gaps: Sequence[Gap], end: int) -> list[int]:
    """Breaks where the next part would not fit any more."""
    found, shift = list[int](), 0
    ends = [gap.column - 1 for gap in gaps[1:]] + [end]
    for gap, stop in zip(gaps, ends):
        if stop - shift > WIDTH:
            found.append(gap.start)
            shift = gap.column - gap.indent
    return found
