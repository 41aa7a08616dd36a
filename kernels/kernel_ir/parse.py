"""Reads the text of kernel IR (`show.py`) back into an equal kernel.

Recursive descent over the tokens (`ir/scanner.py`), by the forms of `syntax.py`. Variables and arrays are known by
their names from where they are made.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from typing import Any, TypeVar

from ...ir.core import Level
from ...ir.depth import allow_depth
from ...ir.errors import IRError, Loc
from ...ir.ops import Op, arity
from ...ir.read_atoms import read_const, scanner
from ...ir.records import dataclass
from ...ir.scanner import Scanner
from ...ir.syntax import Form, Hole
from ...ir.types import Const, Prim
from . import nodes as kir
from .fragments import Role
from .nodes import FailureSite, KArray, Kernel, KLambda, KStm, KVar, LaneShape, Operand, Rhs, Space
from .syntax import HINTS, SYNTAX

_TOKEN = re.compile(
    r"""
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<special>-?b?f(?:16|32|64)\.(?:inf|nan(?:<[0-9a-f]{16}>)?))
    | (?P<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:i8|i16|i32|i64|u8|u16|u32|u64|b?f16|f32|f64)?(?!\w|\.\d))
    | (?P<word>[^\W\d][\w']*(?:\.\w+)*)
    | (?P<mark>:=|\.\.|<=|>=|[()\[\]{}:;,=<\#!+*])
    """,
    re.VERBOSE,
)
T = TypeVar("T")


def parse_kernel(text: str) -> Kernel:
    """A kernel; raises `IRError` with line and column."""
    allow_depth()
    r = _Reader(scanner(text, _TOKEN))
    kernel = _kernel(r)
    r.source.end()
    return kernel


@dataclass(slots=True)
class _Reader:
    """The tokens, and the variables and arrays by name."""

    source: Scanner
    variables: dict[str, KVar] = field(default_factory=lambda: {kir.GROUP.name: kir.GROUP})
    arrays: dict[str, KArray] = field(default_factory=dict)

    def took(self, *tokens: str) -> bool:
        """Reads these tokens if they come next."""
        return self.source.took(*tokens)

    def take(self, *tokens: str) -> None:
        self.source.take(*tokens)

    def word(self, what: str) -> str:
        if not re.match(r"[^\W\d]", self.source.peek()):
            self.source.wrong(what)
        return self.source.next()

    def listed(self, read: Callable[[_Reader], T], closing: str = ")", taken: bool = True) -> tuple[T, ...]:
        """What stands between commas, up to `closing`, which is read too if it is to be `taken`."""
        found: list[T] = []
        while self.source.peek() != closing:
            if found:
                self.take(",")
            found.append(read(self))
        if taken:
            self.take(closing)
        return tuple(found)

    def several(self, read: Callable[[_Reader], T]) -> tuple[T, ...]:
        self.take("(")
        return self.listed(read)


# ---- kernels -----------------------------------------------------------------------------------------------------


def _kernel(r: _Reader) -> Kernel:
    r.take("kernel")
    word = r.word("a name")
    is_level = r.source.peek() != "("
    if is_level and word not in {level.value for level in Level}:
        r.source.wrong("a level before the name")
    level, name = (Level(word), r.word("a name")) if is_level else (Level.BLOCK, word)
    r.take("(")
    block = _made(r, r.word("the block"), Prim.I64)
    r.take(";")
    listed = r.listed(_array_parameter, ";")
    arrays = tuple(array for array, _ in listed)
    scalars = r.listed(_var)
    lanes = _lanes(r) if r.took("lanes") else None
    streams = r.several(_array) if r.took("streams") else ()
    over = r.several(lambda r: (_array(r), _array(r))) if r.took("over") else ()
    body = _block(r)
    sites: list[FailureSite] = []
    if r.took("sites", "{"):
        while r.took("#"):
            r.source.integer()
            sites.append(_site(r))
        r.take("}")
    lengths = tuple((array, length) for array, length in listed if length is not None)
    return Kernel(name, block, arrays, scalars, body, tuple(sites), level, lanes, streams, over, lengths)


def _array_parameter(r: _Reader) -> tuple[KArray, int | None]:
    name = r.word("an array")
    r.take(":", "[")
    length = r.source.integer() if r.source.peek().isdigit() else None
    array = KArray(name, _prim(r), Space.GLOBAL)
    r.take("]")
    r.arrays[name] = array
    return array, length


def _lanes(r: _Reader) -> LaneShape:
    width = r.source.integer()
    r.take("x")
    return LaneShape(width, r.source.integer(), r.took("peeled"))


def _site(r: _Reader) -> FailureSite:
    code, loc = r.word("a code"), _loc(r, r.source.string())
    calls: list[Loc] = []
    while r.took("from"):
        calls.append(_loc(r, r.source.string()))
    parts: list[str | Prim] = []
    while r.source.peek() not in ("#", "}"):
        parts.append(r.source.string() if r.source.peek().startswith('"') else _prim(r))
    return FailureSite(code, loc.called(tuple(calls)), tuple(parts))


def _loc(r: _Reader, file: str) -> Loc:
    line = r.source.integer()
    r.take(":")
    col = r.source.integer()
    r.take("..")
    end_line = r.source.integer()
    r.take(":")
    return Loc(file, line, col, end_line, r.source.integer())


# ---- operands, variables, arrays ---------------------------------------------------------------------------------


def _prim(r: _Reader) -> Prim:
    if r.source.peek() not in _PRIMS:
        r.source.wrong("a type")
    return Prim(r.source.next())


_PRIMS = frozenset(prim.value for prim in Prim)


def _operand(r: _Reader) -> Operand:
    token = r.source.peek()
    if token in r.variables:
        r.source.next()
        return r.variables[token]
    if token in ("true", "false"):
        return Const(Prim.BOOL, r.source.next() == "true")
    if re.fullmatch(r"-?\d+", token):
        return Const(Prim.I64, r.source.integer())
    return read_const(r.source)


def _known(r: _Reader) -> KVar:
    if r.source.peek() not in r.variables:
        r.source.wrong("a variable")
    return r.variables[r.source.next()]


def _array(r: _Reader) -> KArray:
    if r.source.peek() not in r.arrays:
        r.source.wrong("an array")
    return r.arrays[r.source.next()]


def _element(r: _Reader) -> tuple[KArray, Operand]:
    """`array[index]`"""
    array = _array(r)
    r.take("[")
    index = _operand(r)
    r.take("]")
    return array, index


def _made(r: _Reader, name: str, prim: Prim) -> KVar:
    r.variables[name] = KVar(name, prim)
    return r.variables[name]


def _var(r: _Reader) -> KVar:
    name = r.word("a variable")
    r.take(":")
    return _made(r, name, _prim(r))


def _index(r: _Reader) -> KVar:
    name = r.word("a variable")
    return _made(r, name, _prim(r) if r.took(":") else Prim.I64)


# ---- right-hand sides --------------------------------------------------------------------------------------------

_OPERATION = re.compile(rf"({'|'.join(op.value for op in Op)})_({'|'.join(_PRIMS)})\Z")
_CONVERSION = re.compile(rf"({'|'.join(_PRIMS)})_to_({'|'.join(_PRIMS)})\Z")


def _rhs(r: _Reader, target: Prim) -> Rhs:
    token = r.source.peek()
    if token in r.variables:
        return kir.KConvert(target, target, _operand(r))
    if token in r.arrays:
        return kir.KLoad(*_element(r))
    if r.took("aligned"):
        count = r.source.integer()
        return kir.KAligned(*_element(r), count)
    if found := _CONVERSION.match(token):
        r.source.next()
        return kir.KConvert(Prim(found[1]), Prim(found[2]), _operand(r))
    if _OPERATION.match(token):
        op, prim = _operation(r)
        exact = r.took("!")
        return kir.KOp(op, prim, tuple(_operand(r) for _ in range(arity(op))), exact)
    return kir.KConvert(target, target, _operand(r))


def _operation(r: _Reader) -> tuple[Op, Prim]:
    found = _OPERATION.match(r.source.peek())
    if found is None:
        r.source.wrong("an operation")
    r.source.next()
    return Op(found[1]), Prim(found[2])


# ---- statements --------------------------------------------------------------------------------------------------


def _block(r: _Reader) -> tuple[KStm, ...]:
    r.take("{")
    stms = _stms(r, "}")
    r.take("}")
    return stms


def _stms(r: _Reader, end: str) -> tuple[KStm, ...]:
    """Statements up to this word."""
    found: list[KStm] = []
    while r.source.peek() != end:
        found.append(_stm(r))
    return tuple(found)


NAME = "a name"


def _stm(r: _Reader) -> KStm:
    """A statement in the first form that it has; the fault of the one that goes furthest."""
    token, start = r.source.peek(), r.source.pos
    known = token in r.variables or token in r.arrays or r.source.after() == "="
    forms = _FORMS.get(NAME if known else token, ())
    furthest, fault = start - 1, None
    for form in forms:
        r.source.move(start)
        try:
            return _read(r, form)
        except IRError as error:
            if r.source.pos > furthest:
                furthest, fault = r.source.pos, error
    if fault is None:
        r.source.wrong("a statement")
    raise fault


def _first(form: Form) -> str:
    """The word that a form begins with."""
    first = form.parts[0]
    return _tokens(first)[0] if isinstance(first, str) else NAME


def _tokens(text: str) -> list[str]:
    return [found[0] for found in _TOKEN.finditer(text)]


_FORMS = {word: tuple(form for form in SYNTAX if _first(form) == word) for word in map(_first, SYNTAX)}


def _read(r: _Reader, form: Form) -> KStm:
    found: dict[str, Any] = {}
    parts = form.parts
    for part, behind in zip(parts, (*parts[1:], "")):
        if isinstance(part, str):
            r.take(*_tokens(part))
        elif part.kind == "operation":
            found["op"], found["prim"] = _operation(r)
        else:
            end = next(iter(_tokens(behind)), "") if isinstance(behind, str) else ""
            found[part.field] = _field(r, part, end, found)
    return form.node(**found)


def _field(r: _Reader, hole: Hole, end: str, found: dict[str, Any]) -> Any:
    """What stands in a hole; `end`: the word behind it, `found`: the fields before it."""
    match hole.kind:
        case "stms":
            return _stms(r, end)
        case "else":
            return _block(r) if r.took("else") else ()
        case "step":
            return _lambda(r) if r.took("step") else None
        case "list":
            return r.listed(_operand, end, taken=False)
        case "flag":
            return r.took(hole.field.removeprefix("is_"))
        case "hint":
            return r.source.integer() if r.took(HINTS[hole.field]) else 1
        case "rhs":
            return _rhs(r, found["var"].prim)
        case kind:
            return _READERS[kind](r)


def _new_array(r: _Reader) -> KArray:
    name = r.word("an array")
    r.take("=", "new")
    space = r.word("a space")
    if space not in _SPACES:
        r.source.wrong("a space")
    r.arrays[name] = KArray(name, _prim(r), Space(space))
    return r.arrays[name]


_SPACES = frozenset(space.value for space in Space)


def _order(r: _Reader) -> kir.Order:
    return next((order for order in kir.Order if r.took(order.name.lower())), kir.Order.RELAXED)


def _role(r: _Reader) -> Role | None:
    return next((role for role in Role if r.took("as", role.value)), None)


def _unit(r: _Reader) -> Level:
    return next((level for level in Level if r.took("of", f"{level.value}s")), Level.THREAD)


def _commutative(r: _Reader) -> bool:
    if r.took("commutative"):
        return True
    r.take("ordered")
    return False


def _what(r: _Reader) -> Loc | str:
    text = r.source.string()
    return _loc(r, text) if re.match(r"-?\d", r.source.peek()) else text


def _lambda(r: _Reader) -> KLambda:
    left, right = r.several(_var), r.several(_var)
    r.take("{")
    body: list[KStm] = []
    while r.source.after() not in (",", "}") and r.source.peek() != "}":
        body.append(_stm(r))
    return KLambda(left, right, tuple(body), r.listed(_operand, "}"))


_READERS: dict[str, Callable[[_Reader], Any]] = {
    "operand": _operand, "variable": _known, "operands": lambda r: r.several(_operand), "made": _var,
    "mades": lambda r: r.several(_var), "index": _index, "array": _array, "arrays": lambda r: r.several(_array),
    "new": _new_array, "int": lambda r: r.source.integer(), "what": _what, "order": _order, "how": _commutative,
    "lambda": _lambda, "unit": _unit, "role": _role, "length": lambda r: _operand(r) if r.took("for") else None,
    "free": lambda r: _operand(r) if r.took("free", "to") else None,
}  # fmt: skip
