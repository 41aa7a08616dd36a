"""Reads the text of kernel IR (`show.py`) back into an equal kernel.

Recursive descent over the tokens (`ir/scanner.py`), a function for each construct. Variables and arrays are known by
their names from where they are made.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ...ir.core import Level
from ...ir.depth import allow_depth
from ...ir.errors import Loc
from ...ir.ops import Op, arity
from ...ir.read_atoms import read_const, scanner
from ...ir.scanner import Scanner
from ...ir.types import Const, Prim
from . import nodes as kir
from .nodes import FailureSite, KArray, Kernel, KLambda, KStm, KVar, LaneShape, Operand, Rhs, Space

_TOKEN = re.compile(
    r"""
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<special>-?f(?:16|32|64)\.(?:inf|nan(?:<[0-9a-f]{16}>)?))
    | (?P<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:i8|i16|i32|i64|u8|u16|u32|u64|f16|f32|f64)?(?!\w|\.\d))
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
    variables: dict[str, KVar] = field(default_factory=dict)
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

    def number_after(self, word: str, default: int) -> int:
        return self.source.integer() if self.took(word) else default

    def listed(self, read: Callable[[_Reader], T], closing: str = ")") -> tuple[T, ...]:
        """What stands between commas, up to `closing`."""
        found: list[T] = []
        while not self.took(closing):
            if found:
                self.take(",")
            found.append(read(self))
        return tuple(found)

    def several(self, read: Callable[[_Reader], T]) -> tuple[T, ...]:
        self.take("(")
        return self.listed(read)


# ---- kernels -----------------------------------------------------------------------------------------------------


def _kernel(r: _Reader) -> Kernel:
    r.take("kernel")
    word = r.word("a name")
    is_level = r.source.peek() != "("
    level, name = (Level(word), r.word("a name")) if is_level else (Level.BLOCK, word)
    r.take("(")
    block = _made(r, r.word("the block"), Prim.I64)
    r.take(";")
    arrays = r.listed(_array_parameter, ";")
    scalars = r.listed(_var)
    lanes = _lanes(r) if r.took("lanes") else None
    streams = r.several(_array) if r.took("streams") else ()
    body = _block(r)
    sites: list[FailureSite] = []
    if r.took("sites", "{"):
        while r.took("#"):
            r.source.integer()
            sites.append(_site(r))
        r.take("}")
    return Kernel(name, block, arrays, scalars, body, tuple(sites), level, lanes, streams)


def _array_parameter(r: _Reader) -> KArray:
    name = r.word("an array")
    r.take(":", "[")
    array = KArray(name, _prim(r), Space.GLOBAL)
    r.take("]")
    r.arrays[name] = array
    return array


def _lanes(r: _Reader) -> LaneShape:
    width = r.source.integer()
    r.take("x")
    return LaneShape(width, r.source.integer(), r.took("peeled"), r.took("singles"))


def _site(r: _Reader) -> FailureSite:
    code, loc = r.word("a code"), _loc(r, r.source.string())
    parts: list[str | Prim] = []
    while r.source.peek() not in ("#", "}"):
        parts.append(r.source.string() if r.source.peek().startswith('"') else _prim(r))
    return FailureSite(code, loc, tuple(parts))


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


def _range(r: _Reader) -> tuple[KVar, Operand, Operand]:
    """`index in lo..hi`: the bounds do not see the index."""
    index = _index(r)
    r.take("in")
    lo = _operand(r)
    r.take("..")
    return index, lo, _operand(r)


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


def _stms(r: _Reader, *ends: str) -> tuple[KStm, ...]:
    """Statements up to one of these words."""
    found: list[KStm] = []
    while r.source.peek() not in ends:
        found.append(_stm(r))
    return tuple(found)


def _stm(r: _Reader) -> KStm:
    token = r.source.peek()
    if token in r.variables:
        var = _known(r)
        r.take(":=")
        return kir.Assign(var, _operand(r))
    if r.source.after() == "=":
        return _made_array(r)
    if token in r.arrays:
        return _written(r)
    if token not in _FORMS:
        r.source.wrong("a statement")
    r.source.next()
    return _FORMS[token](r)


def _made_array(r: _Reader) -> KStm:
    name = r.word("an array")
    r.take("=", "new")
    space = Space(r.word("a space"))
    r.arrays[name] = array = KArray(name, _prim(r), space)
    r.take("[")
    count = _operand(r)
    r.take("]")
    if r.took("["):
        assert isinstance(count, Const)
        each = r.source.integer()
        r.take("]")
        return kir.Distribute(array, int(count.value), each)
    return kir.Alloc(array, count, r.number_after("align", 1))


def _written(r: _Reader) -> KStm:
    array = _array(r)
    r.take("[")
    index = _operand(r)
    if r.took("..", "]", ":="):
        return kir.StoreRow(array, index, r.several(_operand))
    r.take("]", ":=")
    if r.took("later"):
        source, start = _element(r)
        return kir.AsyncCopy(array, index, source, start, r.number_after("of", 1))
    return kir.Store(array, index, _operand(r), r.took("repeats"))


def _let(r: _Reader) -> KStm:
    if r.took("("):
        row = r.listed(_var)
        r.take("=")
        array = _array(r)
        r.take("[")
        index = _operand(r)
        r.take("..", "]")
        return kir.LoadRow(row, array, index)
    var = _var(r)
    r.take("=")
    if r.took("atomic"):
        return _update(r, var)
    if r.took("wait"):
        array, index = _element(r)
        r.take(">=")
        return kir.WaitFor(var, array, index, _operand(r))
    return kir.KLet(var, _rhs(r, var.prim))


def _update(r: _Reader, out: KVar | None = None) -> KStm:
    op, prim = _operation(r)
    array, index = _element(r)
    value = _operand(r)
    order = next((order for order in kir.Order if r.took(order.name.lower())), kir.Order.RELAXED)
    return kir.Atomic(op, prim, array, index, value, out, order)


def _declare(r: _Reader) -> KStm:
    var = _var(r)
    r.take("=")
    return kir.Declare(var, _operand(r))


def _check(r: _Reader) -> KStm:
    if r.took("0", "<="):
        index = _operand(r)
        r.take("<")
        size = _operand(r)
        return kir.BoundsCheck(index, size, *_failing(r))
    return kir.Check(_operand(r), *_failing(r))


def _failing(r: _Reader) -> tuple[int, tuple[Operand, ...]]:
    r.take("else", "#")
    return r.source.integer(), r.several(_operand)


def _if(r: _Reader) -> KStm:
    cond, then = _operand(r), _block(r)
    return kir.KIf(cond, then, _block(r) if r.took("else") else ())


def _for(r: _Reader) -> KStm:
    index = _index(r)
    r.take("<")
    bound, unroll = _operand(r), r.number_after("unroll", 1)
    return kir.For(index, bound, _block(r), unroll)


def _while(r: _Reader) -> KStm:
    before, cond = _block(r), _operand(r)
    return kir.KWhile(before, cond, _block(r))


def _threads(r: _Reader) -> KStm:
    index, lo, hi = _range(r)
    row = r.number_after("by", 1)
    return kir.Threads(index, lo, hi, _block(r), row)


# ---- collectives -------------------------------------------------------------------------------------------------


def _lambda(r: _Reader) -> KLambda:
    """An operator, after its word."""
    left, right = r.several(_var), r.several(_var)
    r.take("{")
    body: list[KStm] = []
    while r.source.peek() != "}" and r.source.after() not in (",", "}"):
        body.append(_stm(r))
    return KLambda(left, right, tuple(body), r.listed(_operand, "}"))


def _values(r: _Reader) -> tuple[tuple[KStm, ...], tuple[Operand, ...], KLambda]:
    """`{ body; values ..; op ..`"""
    r.take("{")
    body = _stms(r, "values")
    r.take("values")
    values = r.listed(_operand, "op")
    return body, values, _lambda(r)


def _after(r: _Reader) -> tuple[KStm, ...]:
    r.take("after")
    stms = _stms(r, "}")
    r.take("}")
    return stms


def _commutative(r: _Reader) -> bool:
    if r.took("commutative"):
        return True
    r.take("ordered")
    return False


def _reduce(r: _Reader) -> KStm:
    commutative, is_long, full = _commutative(r), r.took("long"), r.took("full")
    outs = r.several(_var)
    r.take("from")
    neutral = r.several(_operand)
    r.take("over")
    index, lo, hi = _range(r)
    body, values, op = _values(r)
    step = _lambda(r) if r.took("step") else None
    r.take("}")
    return kir.BlockReduce(outs, index, lo, hi, body, values, op, neutral, commutative, is_long, step, full)


def _scan(r: _Reader) -> KStm:
    scanned = r.several(_var)
    if r.took("in", "rows", "of"):
        return _row_scan(r, scanned)
    r.take("carry")
    outs = r.several(_var)
    r.take("from")
    carry = r.several(_operand)
    r.take("neutral")
    neutral, is_long = r.several(_operand), r.took("long")
    r.take("over")
    index, lo, hi = _range(r)
    body, values, op = _values(r)
    return kir.BlockScan(scanned, outs, index, lo, hi, body, values, op, carry, neutral, _after(r), is_long)


def _row_scan(r: _Reader, scanned: tuple[KVar, ...]) -> KStm:
    width = _operand(r)
    r.take("neutral")
    neutral = r.several(_operand)
    r.take("over")
    index = _index(r)
    r.take("<")
    count = _operand(r)
    body, values, op = _values(r)
    return kir.RowScan(scanned, index, count, width, body, values, op, neutral, _after(r))


def _look_back(r: _Reader) -> KStm:
    outs = r.several(_var)
    r.take("from")
    neutral = r.several(_operand)
    r.take("along")
    flags, sums, totals = _array(r), r.several(_array), r.several(_array)
    r.take("over")
    first = _operand(r)
    r.take("..")
    tile = _operand(r)
    r.take("{", "op")
    op = _lambda(r)
    r.take("}")
    return kir.LookBack(outs, flags, sums, totals, tile, first, op, neutral)


def _teams(r: _Reader) -> KStm:
    r.take("of")
    team = _operand(r)
    segment, lo, hi = _range(r)
    r.take("reduce")
    commutative, outs = _commutative(r), r.several(_var)
    r.take("from")
    neutral = r.several(_operand)
    r.take("over")
    index = _index(r)
    r.take("<")
    width = _operand(r)
    body, values, op = _values(r)
    after = _after(r)
    return kir.TeamReduce(
        outs, team, segment, lo, hi, index, width, body, values, op, neutral, commutative, after
    )  # fmt: skip


def _warp(r: _Reader) -> KStm:
    warp = _index(r)
    r.take("threads")
    index, lo, hi = _range(r)
    r.take("{")
    body = _stms(r, "turns")
    r.take("turns", "by")
    key = _operand(r)
    turn = _stms(r, "}")
    r.take("}")
    return kir.WarpTurns(warp, index, lo, hi, body, key, turn)


# ---- flags, copies, tiles ----------------------------------------------------------------------------------------


def _publish(r: _Reader) -> KStm:
    return kir.Publish(*_element(r), _operand(r))


def _commit(r: _Reader) -> KStm:
    r.take("copies")
    return kir.CommitCopies()


def _wait(r: _Reader) -> KStm:
    r.take("for", "copies", "but")
    return kir.WaitCopies(r.source.integer())


def _note(r: _Reader) -> KStm:
    text = r.source.string()
    return kir.Note(_loc(r, text) if re.match(r"-?\d", r.source.peek()) else text)


def _tile(r: _Reader) -> tuple[KArray, Operand]:
    """`tile[0..count]`"""
    tile = _array(r)
    r.take("[", "0", "..")
    count = _operand(r)
    r.take("]")
    return tile, count


def _rows(r: _Reader) -> tuple[KArray, Operand, KVar, Operand]:
    """`array[start + row*pitch ..]`"""
    array = _array(r)
    r.take("[")
    start = _operand(r)
    r.take("+")
    row = _known(r)
    r.take("*")
    pitch = _operand(r)
    r.take("..", "]")
    return array, start, row, pitch


def _load_tile(r: _Reader) -> KStm:
    tile, count = _tile(r)
    r.take(":=")
    return kir.LoadTile(tile, *_rows(r), count)


def _store_tile(r: _Reader) -> KStm:
    array, start, row, pitch = _rows(r)
    r.take(":=")
    tile, count = _tile(r)
    return kir.StoreTile(array, start, row, pitch, count, tile)


_FORMS: dict[str, Callable[[_Reader], KStm]] = {
    "let": _let, "var": _declare, "check": _check, "if": _if, "for": _for, "while": _while, "threads": _threads,
    "reduce": _reduce, "scan": _scan, "look_back": _look_back, "teams": _teams, "warp": _warp, "atomic": _update,
    "fence": lambda r: kir.Fence(), "publish": _publish, "commit": _commit, "wait": _wait, "note": _note,
    "load": _load_tile, "store": _store_tile,
}  # fmt: skip
