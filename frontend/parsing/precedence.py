"""Precedence: from a flat chain `x op y op z` to nodes, by the order of the language's operators.

Loosest first: ranges, backticks, `with`, `|>`, `<|` (right), `||`, `&&`, comparisons, `& ^ |`, shifts, `+ -`, `* / %`,
`**`. They are left-associative, but for `<|`.
An operator of the user has the level of its longest built-in prefix (`>>=` that of `>>`).

One pass with a stack of open groups, one for each level seen and ever tighter; a group collects the operands of its
level flat, so that a chain of 10,000 terms is one node.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from lark import Token

from ...ir import depth as levels
from ...ir.depth import MOST_LEVELS
from ...ir.errors import Loc
from ...ir.records import dataclass
from ..source import syntax as s
from ..source.atoms import Operator, RangeEnd
from .depth import too_deep
from .spans import syntax_error

if TYPE_CHECKING:
    from .spans import SpanBuilder


MOST_UPDATES = 1000
"""`with` after `with`: each is a node around the one before."""


class Level(IntEnum):
    """How tight an operator binds."""

    RANGE = 0
    BACKTICK = 1
    WITH = 2
    PIPE_RIGHT = 3
    PIPE_LEFT = 4
    OR = 5
    AND = 6
    COMPARE = 7
    BITS = 8
    SHIFT = 9
    ADD = 10
    MULTIPLY = 11
    POWER = 12


_LEVELS = {
    op: level
    for level, ops in {
        Level.PIPE_RIGHT: "|>",
        Level.PIPE_LEFT: "<|",
        Level.OR: "||",
        Level.AND: "&&",
        Level.COMPARE: "== != < <= > >= ! =",
        Level.BITS: "& ^ |",
        Level.SHIFT: "<< >>",
        Level.ADD: "+ -",
        Level.MULTIPLY: "* / % // %%",
        Level.POWER: "**",
    }.items()
    for op in ops.split()
}


@dataclass(frozen=True, slots=True)
class WithOp:
    """`with path =`, standing between two operands like an operator."""

    path: tuple[s.Step, ...]
    loc: Loc


ChainOp = Operator | WithOp | Token  # a token is one of the range signs


@dataclass(slots=True)
class _Group:
    """Operands of one level that are known to belong together; `pending` waits for its right operand."""

    level: Level
    first: s.Exp
    rest: list[tuple[ChainOp, s.Exp]]
    pending: ChainOp


LONGEST = max(map(len, _LEVELS))


@lru_cache(maxsize=1024)
def symbol_level(symbol: str) -> Level:
    """The level of the longest built-in operator that `symbol` starts with."""
    starts = (symbol[:length] for length in range(LONGEST, 0, -1))
    return next(_LEVELS[start] for start in starts if start in _LEVELS)


def _level(op: ChainOp) -> Level:
    match op:
        case Operator(name=name, backtick=backtick):
            return Level.BACKTICK if backtick else symbol_level(name[-1])
        case WithOp():
            return Level.WITH
        case _:
            return Level.RANGE


def resolve(build: SpanBuilder, operands: list[s.Exp], ops: list[ChainOp]) -> s.Exp:
    """The expression that `operands` with `ops` between them stand for."""
    groups: list[_Group] = []
    current = operands[0]
    for op, operand in zip(ops, operands[1:], strict=True):
        level = _level(op)
        while groups and groups[-1].level > level:
            current = _close(build, groups.pop(), current)
        if groups and groups[-1].level == level and level is not Level.PIPE_LEFT:
            groups[-1].rest.append((groups[-1].pending, current))
            groups[-1].pending = op
        else:
            groups.append(_Group(level, current, [], op))
            if len(groups) > MOST_LEVELS + len(Level):  # only `<|` stacks up
                raise too_deep(operand.loc)
        current = operand
    while groups:
        current = _close(build, groups.pop(), current)
    return current


def _close(build: SpanBuilder, group: _Group, last: s.Exp) -> s.Exp:
    group.rest.append((group.pending, last))
    match group.level:
        case Level.RANGE:
            return _range(build, group)
        case Level.WITH:
            return _with(build, group)
        case _:
            loc = build.between(group.first, last)
            return s.Chain(build.fresh(), group.first, tuple(group.rest), loc)  # type: ignore[arg-type]


def _with(build: SpanBuilder, group: _Group) -> s.Exp:
    """`a with p = x with q = y` is `(a with p = x) with q = y`."""
    if len(group.rest) > MOST_UPDATES:
        op, _ = group.rest[MOST_UPDATES]
        assert isinstance(op, WithOp)
        raise levels.too_deep("updates are", op.loc, MOST_UPDATES, "name the value so far with `let`")
    target = group.first
    for op, value in group.rest:
        assert isinstance(op, WithOp)
        target = s.With(build.fresh(), target, op.path, value, build.between(group.first, value))
    return target


def _range(build: SpanBuilder, group: _Group) -> s.Exp:
    """`a..b...c` or `a...c`: the last sign closes the range, and only a `..` may stand before it."""
    signs = [op for op, _ in group.rest if isinstance(op, Token)]
    if len(signs) > 2 or (len(signs) == 2 and signs[0] != ".."):
        raise syntax_error("E0101", "ranges do not nest", build.token_loc(signs[-1]), "a second range begins here")
    if signs[-1] == "..":
        loc = build.token_loc(signs[-1])
        raise syntax_error("E0101", "`..` gives a step; the range needs an end, with `...`, `..<` or `..>`", loc)
    end = group.rest[-1][1]
    second = group.rest[0][1] if len(signs) == 2 else None
    kind = RangeEnd(str(signs[-1]))
    return s.Range(build.fresh(), group.first, second, kind, end, build.between(group.first, end))
