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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..api import Program
from ..arguments import Argument, checked, parameter_types
from ..data.files import read_file
from ..data.read_write import ValueType, default_limit, read_values
from ..frontend.source.diagnostics import did_you_mean
from ..ir.core import FunDef
from ..ir.errors import CompileError, Diagnostic, Label, Loc
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
    value = _value(script, _Reader(script, text).script(), {})
    fun = program.function(entry)
    return checked(fun, _arguments(script, fun, _spread(fun, (value,))))


# ---- reading ------------------------------------------------------------------------------------------------------

_SPACE = re.compile(r"(?:\s|--[^\n]*)*")
_NAME = re.compile(r"\$?[A-Za-z_][A-Za-z0-9_']*")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_NUMBER = re.compile(r"[-+]?(?:f(?:16|32|64)\.(?:nan|inf)|\.?[0-9](?:[eEpP][-+]|[A-Za-z0-9_.])*)")
_WORD = re.compile(r"true\b|false\b|empty\s*\([^)]*\)")
_KEYWORDS = ("let", "in")


class _Reader:
    """A position in the text of a script."""

    def __init__(self, script: Script, text: str) -> None:
        self.owner = script
        self.text = text
        self.pos = 0
        self.depth = 0
        self._skip()

    def script(self) -> Exp:
        exp = self._exp() if self.text[self.pos :] else Tuple(())
        if self.pos < len(self.text):
            raise self._unexpected()
        return exp

    def _skip(self) -> None:
        self.pos = _SPACE.match(self.text, self.pos).end()  # type: ignore[union-attr]

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.pos)
        if found is None:
            return None
        self.pos = found.end()
        self._skip()
        return found[0]

    def _sign(self, sign: str) -> bool:
        if not self.text.startswith(sign, self.pos):
            return False
        self.pos += len(sign)
        self._skip()
        return True

    def _expect(self, sign: str) -> None:
        if not self._sign(sign):
            raise self._unexpected(f"`{sign}`")

    def _unexpected(self, wanted: str = "a value or a call") -> CompileError:
        rest = self.text[self.pos :].split(None, 1)
        found = f"`{rest[0][:40]}`" if rest else "the end"
        return self.owner.fault(f"expected {wanted}, found {found}")

    def _name(self) -> str:
        name = self._take(_NAME)
        if name is None or name in _KEYWORDS:
            raise self._unexpected("a name")
        return name

    def _exp(self) -> Exp:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.owner.fault(f"nested deeper than {MAX_DEPTH} levels")
        head = self._let() if self._peek() == "let" else self._application()
        self.depth -= 1
        return head

    def _peek(self) -> str:
        found = _NAME.match(self.text, self.pos)
        return found[0] if found else ""

    def _let(self) -> Exp:
        self._key("let")
        apart = self._sign("(")
        names = [self._name()]
        while apart and self._sign(","):
            names.append(self._name())
        if apart:
            self._expect(")")
        self._expect("=")
        bound = self._exp()
        self._key("in")
        return Let(tuple(names), apart, bound, self._exp())

    def _key(self, key: str) -> None:
        if self._peek() != key:
            raise self._unexpected(f"`{key}`")
        self._take(_NAME)

    def _application(self) -> Exp:
        head = self._atom()
        if head is None:
            raise self._unexpected()
        args: list[Exp] = []
        while isinstance(head, Name) and (arg := self._atom()) is not None:
            args.append(arg)
        return Call(head.name, tuple(args)) if isinstance(head, Name) and args else head

    def _atom(self) -> Exp | None:
        if self._sign("("):
            return self._parenthesis()
        if self.text.startswith("[", self.pos):
            return Literal(self._array())
        literal = self._take(_WORD) or self._take(_NUMBER) or self._take(_STRING)
        if literal is not None:
            return Literal(literal)
        if self._peek() in ("", *_KEYWORDS):
            return None
        return Name(self._name())

    def _parenthesis(self) -> Exp:
        if self._sign(")"):
            return Tuple(())
        items = [self._exp()]
        while self._sign(","):
            items.append(self._exp())
        self._expect(")")
        return items[0] if len(items) == 1 else Tuple(tuple(items))

    def _array(self) -> str:
        """The text up to the bracket that closes this one; what is between is data."""
        start, depth = self.pos, 0
        for found in re.finditer(r"[\[\]]", self.text[start:]):
            depth += 1 if found[0] == "[" else -1
            if depth == 0:
                self.pos = start + found.end()
                self._skip()
                return self.text[start : start + found.end()]
        raise self.owner.fault("this `[` is not closed")


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
