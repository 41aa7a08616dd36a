"""`script input { f 10 (g xs) }`: inputs that the program computes itself, before it is tested on them.

    exp   ::= "let" pat "=" exp "in" exp | name atom+ | atom
    atom  ::= name | literal | "()" | "(" exp ")" | "(" exp "," .. ")"
            | "$loaddata" string                       the values of a file beside the program
            | "$loadbytes" string                      its bytes, an array of u8
    pat   ::= name | "(" name "," .. ")"

Names are entry points or bound by `let`. A number without a suffix takes the type that is asked for where it is used.
A script runs the program, on its default version; nothing else can be run from one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..api import Program
from ..arguments import Argument, checked, parameter_types
from ..data.files import read_file
from ..data.read_write import ValueType, default_limit, read_values
from ..frontend.source.diagnostics import did_you_mean
from ..ir.core import FunDef
from ..ir.depth import allow_depth
from ..ir.errors import CompileError, Diagnostic, Label, Loc
from ..ir.scanner import Scanner
from ..ir.types import Type

MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Literal:
    """`10`, `[1, 2]`, `"abc"`: read when a type is asked for."""

    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """`f` or `x`."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """`f x y`."""

    function: str
    args: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class Tuple:
    """`(x, y)`, or `()`."""

    items: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class Let:
    """`let (x, y) = f 1 in x`; `apart` if the names stand in parentheses."""

    names: tuple[str, ...]
    apart: bool
    bound: Exp
    body: Exp


Exp = Literal | Name | Call | Tuple | Let
Value = Literal | Argument | tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Script:
    """What a script may use: the program, and the place of its test block."""

    program: Program
    path: Path
    loc: Loc

    def fault(self, message: str, hint: str | None = None) -> CompileError:
        return CompileError(Diagnostic("E0301", f"test block: script: {message}", Label(self.loc, ""), hint=hint))


def run_script(text: str, loc: Loc, program: Program, path: Path, entry: str) -> list[Argument]:
    """The arguments for `entry` that the script computes. Raises E0301, and what the entry points raise."""
    script = Script(program, path, loc)
    value = _value(script, read_script(text, script.fault), {})
    fun = program.function(entry)
    return checked(fun, _arguments(script, fun, _spread(fun, (value,))))


# ---- reading ------------------------------------------------------------------------------------------------------

_SPACE = re.compile(r"(?:\s|--[^\n]*)*")
_NAME = re.compile(r"\$?[A-Za-z_][A-Za-z0-9_']*")
_LITERAL = re.compile(
    r"""
      true\b | false\b | empty\s*\([^)]*\)
    | [-+]?(?:b?f(?:16|32|64)\.(?:nan|inf) | \.?[0-9](?:[eEpP][-+]|[A-Za-z0-9_.])*)
    | "(?:[^"\\\n]|\\.)*"
    """,
    re.VERBOSE,
)
_TOKEN = re.compile(rf"{_LITERAL.pattern} | {_NAME.pattern} | [()\[\],=]", re.VERBOSE)
_KEYWORDS = ("let", "in")
_A_VALUE = "a value or a call"


def read_script(text: str, fault: Callable[[str], CompileError]) -> Exp:
    """The expression that a script is; nothing is `()`."""
    allow_depth()  # a program that is found in the cache has not done so
    source = Scanner(text, _TOKEN, _SPACE, lambda message, _: fault(message))
    exp = Tuple(()) if source.ended else _exp(source, 0)
    if not source.ended:
        source.wrong(_A_VALUE)
    return exp


def _exp(source: Scanner, depth: int) -> Exp:
    if depth > MAX_DEPTH:
        raise source.fault(f"nested deeper than {MAX_DEPTH} levels", source.pos)
    return _let(source, depth + 1) if source.took("let") else _application(source, depth + 1)


def _let(source: Scanner, depth: int) -> Exp:
    apart = source.took("(")
    names = [_name(source)]
    while apart and source.took(","):
        names.append(_name(source))
    source.take(*([")", "="] if apart else ["="]))
    bound = _exp(source, depth)
    source.take("in")
    return Let(tuple(names), apart, bound, _exp(source, depth))


def _name(source: Scanner) -> str:
    if not _NAME.fullmatch(source.peek()) or source.peek() in _KEYWORDS:
        source.wrong("a name")
    return source.next()


def _application(source: Scanner, depth: int) -> Exp:
    head = _atom(source, depth)
    if head is None:
        source.wrong(_A_VALUE)
    args: list[Exp] = []
    while isinstance(head, Name) and (arg := _atom(source, depth)) is not None:
        args.append(arg)
    return Call(head.name, tuple(args)) if isinstance(head, Name) and args else head


def _atom(source: Scanner, depth: int) -> Exp | None:
    token = source.peek()
    if token == "(":
        items = source.several(lambda inner: _exp(inner, depth))
        return items[0] if len(items) == 1 else Tuple(items)
    if token == "[":
        return Literal(_array(source))
    if _LITERAL.fullmatch(token):
        return Literal(source.next())
    return Name(_name(source)) if _NAME.fullmatch(token) and token not in _KEYWORDS else None


def _array(source: Scanner) -> str:
    """The text up to the bracket that closes this one; what is between is data."""
    start, depth = source.pos, 0
    for found in re.finditer(r"[\[\]]", source.text[start:]):
        depth += 1 if found[0] == "[" else -1
        if depth == 0:
            source.move(start + found.end())
            return source.text[start : start + found.end()]
    raise source.fault("this `[` is not closed", start)


# ---- running ------------------------------------------------------------------------------------------------------


def _value(script: Script, exp: Exp, known: Mapping[str, Value]) -> Value:
    match exp:
        case Literal():
            return exp
        case Name(name):
            return known[name] if name in known else _call(script, name, ())
        case Call("$loaddata", (Literal(text),)):
            return _load(script, text)
        case Call("$loadbytes", (Literal(text),)):
            return np.frombuffer(_bytes_of(script, text), np.uint8).copy()
        case Call(name, args):
            if name in known:
                raise script.fault(f"`{name}` is a value, not an entry point")
            return _call(script, name, tuple(_value(script, arg, known) for arg in args))
        case Tuple(items):
            return tuple(_value(script, item, known) for item in items)
        case Let(names, apart, bound, body):
            value = _value(script, bound, known)
            return _value(script, body, {**known, **_bind(script, names, apart, value)})


def _bind(script: Script, names: Sequence[str], apart: bool, value: Value) -> dict[str, Value]:
    if not apart:
        return {names[0]: value}
    if not isinstance(value, tuple) or len(value) != len(names):
        has = f"a tuple of {len(value)}" if isinstance(value, tuple) else "one value"
        raise script.fault(f"`({', '.join(names)})` needs a tuple of {len(names)}, this is {has}")
    return dict(zip(names, value))


def _call(script: Script, name: str, args: Sequence[Value]) -> Value:
    """The results of an entry point: one value, or a tuple of them; parts of a record or a sum go together."""
    if name not in script.program.entries:
        near = did_you_mean(name, script.program.entries)
        raise script.fault(f"no entry point `{name}`", f"did you mean `{near}`?" if near else None)
    fun = script.program.function(name)
    assert fun.entry is not None
    results: Sequence[Argument] = script.program.trace(name, _arguments(script, fun, _spread(fun, args)))[0]
    groups: list[Value] = []
    for result in fun.entry.results:
        group, results = tuple(results[: len(result.components)]), results[len(result.components) :]
        groups.append(group[0] if len(group) == 1 else group)
    return groups[0] if len(groups) == 1 else tuple(groups)


def _spread(fun: FunDef, args: Sequence[Value]) -> Sequence[Value]:
    """One tuple may stand for all arguments."""
    assert fun.entry is not None
    if len(args) == 1 and isinstance(args[0], tuple) and len(fun.entry.params) != 1:
        return args[0]
    return args


def _arguments(script: Script, fun: FunDef, args: Sequence[Value]) -> list[Argument]:
    """The components of all arguments, literals at the types that `fun` asks for."""
    assert fun.entry is not None
    if len(args) != len(fun.entry.params):
        takes = f"{len(fun.entry.params)} argument" + ("s" if len(fun.entry.params) != 1 else "")
        raise script.fault(f"`{fun.entry.name}` takes {takes}, {len(args)} given")
    found: list[Argument] = []
    types = parameter_types(fun)
    for param, arg in zip(fun.entry.params, args):
        found += _components(script, arg, types[len(found) : len(found) + param.components])
    return found


def _components(script: Script, value: Value, types: Sequence[Type]) -> list[Argument]:
    match value:
        case Literal(text):
            wanted = [ValueType(t.prim, t.rank) for t in types] or None
            return read_values(text.encode(), str(script.path), wanted)
        case tuple():
            exact = len(value) == len(types)
            return [c for k, v in enumerate(value) for c in _components(script, v, types[k : k + 1] if exact else ())]
        case _:
            return [value]


def _load(script: Script, text: str) -> Value:
    """The values of a file; several are a tuple."""
    values = read_values(_bytes_of(script, text), str(script.path.parent / text.strip('"')))
    return values[0] if len(values) == 1 else tuple(values)


def _bytes_of(script: Script, text: str) -> bytes:
    file = script.path.parent / text.strip('"')
    try:
        return read_file(file, default_limit())
    except OSError as fault:
        raise script.fault(f"cannot read `{file}`: {fault.strerror}") from None
