"""The text of the IR, its smallest pieces: tokens, names, constants, types and parameters."""

from __future__ import annotations

import json
import re
import struct
from functools import cache

from . import scalar
from .core import Param
from .depth import MOST_LEVELS
from .errors import IRError
from .scanner import Scanner, place
from .types import Atom, Const, Name, Prim, Type, Var

_TOKEN = re.compile(
    r"""
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<quoted>`(?:[^`\\]|\\.)*`_\d+)
    | (?P<special>-?b?f(?:16|32|64)\.(?:inf|nan(?:<[0-9a-f]{16}>)?))
    | (?P<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:i8|i16|i32|i64|u8|u16|u32|u64|b?f16|f32|f64)?(?![\w.]))
    | (?P<word>[^\W\d][\w']*|\d[\w']*)
    | (?P<mark>:\+|->|<-|<=|\#\[|\#\{|[()\[\]{}:,=<*!@^\\-])
    """,
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|[(\[{]|[)\]}]')
MOST_BRACKETS = 4 * MOST_LEVELS
"""A body within a body takes up to four: the readers recur over them."""
_NAME = re.compile(r"(.*)_(\d+)\Z", re.DOTALL)
_LITERAL = re.compile(r"(-?\d.*?)(i8|i16|i32|i64|u8|u16|u32|u64|b?f16|f32|f64)?\Z")
_SPECIAL = re.compile(r"(-?)(b?f\d\d)\.(inf|nan)(?:<(.*)>)?\Z")


def scanner(text: str, token: re.Pattern[str] = _TOKEN) -> Scanner:
    """Reads the text of an IR; a fault is an `IRError` with line and column."""

    def fault(message: str, offset: int) -> IRError:
        line, col = place(text, offset)
        return IRError(f"{line}:{col}: {message}")

    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += (found[0] in "([{") - (found[0] in ")]}")
        if depth > MOST_BRACKETS:
            raise fault(f"nested deeper than {MOST_BRACKETS} brackets", found.start())
    return Scanner(text, token, _SPACE, fault)


@cache
def tokens(text: str) -> tuple[str, ...]:
    """The tokens of a text that is right."""
    return tuple(found[0] for found in _TOKEN.finditer(text))


def is_name(token: str) -> bool:
    """`x_1`, or in backticks `` `+`_1 ``; not a string."""
    return token[:1] != '"' and _NAME.match(token) is not None


def read_name(source: Scanner) -> Name:
    """`x_1`."""
    match = _NAME.match(source.peek())
    if match is None or source.peek().startswith('"'):
        source.wrong("a name")
    source.next()
    base = match.group(1)
    return Name(json.loads(f'"{base[1:-1]}"') if base.startswith("`") else base, int(match.group(2)))


def read_names(source: Scanner) -> tuple[Name, ...]:
    """`(x_1, y_2)`."""
    return source.several(read_name)


def read_atom(source: Scanner) -> Atom:
    """A name or a constant."""
    token = source.peek()
    if token in ("true", "false"):
        return Const(Prim.BOOL, source.next() == "true")
    if is_name(token):
        return Var(read_name(source))
    return read_const(source)


def read_atoms(source: Scanner) -> tuple[Atom, ...]:
    """`(x_1, 2i32)`."""
    return source.several(read_atom)


def read_const(source: Scanner) -> Const:
    """A constant with its type, as `2i32`, `1.5f32`, `-f64.inf`."""
    if special := _SPECIAL.match(source.peek()):
        source.next()
        return _special(*special.groups())
    literal = _LITERAL.match(source.peek())
    if literal is None or literal.group(2) is None:
        source.wrong("a name or a constant")
    return _number(source, literal.group(1), Prim(literal.group(2)))


def _number(source: Scanner, digits: str, prim: Prim) -> Const:
    wanted = f"a constant of {prim.value}"
    if prim.is_float:
        return Const(prim, source.read(lambda _: scalar.rounding(prim)(float(digits)), wanted))
    lowest, highest = scalar.int_range(prim)
    if not re.fullmatch(r"-?\d{1,20}", digits) or not lowest <= int(digits) <= highest:
        source.wrong(wanted)
    source.next()
    return Const(prim, int(digits))


def _special(sign: str, prim: str, kind: str, bits: str | None) -> Const:
    if bits:
        return Const(Prim(prim), struct.unpack(">d", bytes.fromhex(bits))[0])
    return Const(Prim(prim), float(f"{sign}{kind}"))


def read_size(source: Scanner) -> Atom:
    """A bare number is an i64."""
    if re.fullmatch(r"-?\d+", source.peek()):
        return _number(source, source.peek(), Prim.I64)
    return read_atom(source)


def read_shape(source: Scanner) -> tuple[Atom, ...]:
    """`[n_1][4]`, as many sizes as there are."""
    sizes: list[Atom] = []
    while source.took("["):
        sizes.append(read_size(source))
        source.take("]")
    return tuple(sizes)


def read_type(source: Scanner) -> Type:
    """`[n_1]f32`."""
    shape = read_shape(source)
    return Type(read_prim(source), shape)


def read_types(source: Scanner) -> tuple[Type, ...]:
    """`(i32, [n_1]f32)`."""
    return source.several(read_type)


_PRIMS = {prim.value: prim for prim in Prim}


def read_prim(source: Scanner) -> Prim:
    """`f32`."""
    if source.peek() not in _PRIMS:
        source.wrong("a type")
    return _PRIMS[source.next()]


def read_param(source: Scanner) -> Param:
    """`x_1: [n_2]f32`."""
    name = read_name(source)
    source.take(":")
    return Param(name, read_type(source))


def read_params(source: Scanner) -> tuple[Param, ...]:
    """`(x_1: f32, y_2: i32)`."""
    return source.several(read_param)
