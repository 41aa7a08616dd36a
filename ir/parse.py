r"""Reads the textual form of the IR (`ir/show.py`) back into an equal tree.

Recursive descent over the tokens (`ir/tokens.py`): one function for each construct, in the order of
`ir/show.py`. White space and line breaks mean nothing; locations may be there or not. Statements are
read in a loop, so only nesting costs stack.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from typing import TypeVar

from . import scalar
from .core import (
    Apply,
    ArrayLit,
    Assert,
    Attr,
    Body,
    Concat,
    Convert,
    Copied,
    Copy,
    DimIndex,
    Entry,
    EntryParam,
    EntryResult,
    Exp,
    Fix,
    ForLoop,
    FunDef,
    GuardCmp,
    Hist,
    If,
    Index,
    Iota,
    Lambda,
    Level,
    Loop,
    Param,
    PrimOp,
    Prog,
    Rearrange,
    Reduction,
    Replicate,
    Reshape,
    Scatter,
    Scratch,
    Screma,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegScatter,
    SegSpace,
    SizeParam,
    Slice,
    Stm,
    Update,
    WhileLoop,
)
from .depth import allow_depth
from .errors import NOWHERE, Loc
from .ops import Op, arity
from .tokens import Source
from .types import Atom, Const, Name, Prim, Type, Var

T = TypeVar("T")


def parse_prog(text: str) -> Prog:
    """A program; raises `IRError` with line and column."""
    allow_depth()
    source = Source.of(text)
    source.take("next_name")
    next_name = source.integer()
    consts: list[Stm] = []
    if source.took("consts"):
        source.take("{")
        while not source.took("}"):
            consts.append(_stm(source))
    functions: list[FunDef] = []
    while source.peek():
        functions.append(_fun(source))
    return Prog(tuple(consts), tuple(functions), next_name)


def parse_body(text: str) -> Body:
    return _whole(text, _body)


def parse_stm(text: str) -> Stm:
    return _whole(text, _stm)


def parse_exp(text: str) -> Exp:
    return _whole(text, _exp)


def parse_lambda(text: str) -> Lambda:
    return _whole(text, _lambda)


def _whole(text: str, read: Callable[[Source], T]) -> T:
    source = Source.of(text)
    found = read(source)
    if source.peek():
        source.wrong("the end")
    return found


def _list(source: Source, read: Callable[[Source], T], opening: str = "(", closing: str = ")") -> tuple[T, ...]:
    source.take(opening)
    found: list[T] = []
    while not source.took(closing):
        if found:
            source.take(",")
        found.append(read(source))
    return tuple(found)


# ---- names, atoms, types -----------------------------------------------------------------------------------------

_NAME = re.compile(r"(.*)_(\d+)\Z", re.DOTALL)
_LITERAL = re.compile(r"(-?\d.*?)(i8|i16|i32|i64|u8|u16|u32|u64|f16|f32|f64)?\Z")
_SPECIAL = re.compile(r"(-?)(f\d\d)\.(inf|nan)(?:<(.*)>)?\Z")


def _is_name(token: str) -> bool:
    return token[:1] != '"' and _NAME.match(token) is not None


def _name(source: Source) -> Name:
    match = _NAME.match(source.peek())
    if match is None or source.peek().startswith('"'):
        source.wrong("a name")
    source.next()
    base = match.group(1)
    return Name(json.loads(f'"{base[1:-1]}"') if base.startswith("`") else base, int(match.group(2)))


def _names(source: Source) -> tuple[Name, ...]:
    return _list(source, _name)


def _atom(source: Source) -> Atom:
    token = source.peek()
    if token in ("true", "false"):
        return Const(Prim.BOOL, source.next() == "true")
    if _is_name(token):
        return Var(_name(source))
    return read_const(source)


def _atoms(source: Source) -> tuple[Atom, ...]:
    return _list(source, _atom)


def read_const(source: Source) -> Const:
    """A constant with its type."""
    if special := _SPECIAL.match(source.peek()):
        source.next()
        return _special(*special.groups())
    literal = _LITERAL.match(source.peek())
    if literal is None or literal.group(2) is None:
        source.wrong("a name or a constant")
    return _number(source, literal.group(1), Prim(literal.group(2)))


def _number(source: Source, digits: str, prim: Prim) -> Const:
    if prim.is_float:
        source.next()
        return Const(prim, scalar.rounding(prim)(float(digits)))
    lowest, highest = scalar.int_range(prim)
    if not re.fullmatch(r"-?\d+", digits) or not lowest <= int(digits) <= highest:
        source.wrong(f"a constant of {prim.value}")
    source.next()
    return Const(prim, int(digits))


def _special(sign: str, prim: str, kind: str, bits: str | None) -> Const:
    if bits:
        return Const(Prim(prim), struct.unpack(">d", bytes.fromhex(bits))[0])
    return Const(Prim(prim), float(f"{sign}{kind}"))


def _size(source: Source) -> Atom:
    """A bare number is an i64."""
    if re.fullmatch(r"-?\d+", source.peek()):
        return _number(source, source.peek(), Prim.I64)
    return _atom(source)


def _shape(source: Source) -> tuple[Atom, ...]:
    sizes: list[Atom] = []
    while source.took("["):
        sizes.append(_size(source))
        source.take("]")
    return tuple(sizes)


def _type(source: Source) -> Type:
    shape = _shape(source)
    return Type(_prim(source), shape)


def _types(source: Source) -> tuple[Type, ...]:
    return _list(source, _type)


_PRIMS = {prim.value: prim for prim in Prim}


def _prim(source: Source) -> Prim:
    if source.peek() not in _PRIMS:
        source.wrong("a type")
    return _PRIMS[source.next()]


def _param(source: Source) -> Param:
    name = _name(source)
    source.take(":")
    return Param(name, _type(source))


def _params(source: Source) -> tuple[Param, ...]:
    return _list(source, _param)


# ---- bodies ------------------------------------------------------------------------------------------------------


def _body(source: Source) -> Body:
    source.take("{")
    stms: list[Stm] = []
    while not source.took("in"):
        stms.append(_stm(source))
    result = _atoms(source)
    source.take("}")
    return Body(tuple(stms), result)


def _stm(source: Source) -> Stm:
    attrs = _attrs(source)
    certs = _list(source, _name, "#{", "}") if source.peek() == "#{" else ()
    source.take("let")
    pat = _params(source)
    source.take("=")
    return Stm(pat, _exp(source), certs, attrs, _loc(source))


def _attrs(source: Source) -> tuple[Attr, ...]:
    attrs: list[Attr] = []
    while source.took("#["):
        attrs.append(_attr(source))
        source.take("]")
    return tuple(attrs)


def _attr(source: Source) -> Attr:
    if source.peek().startswith('"'):
        name = source.string()
    elif re.fullmatch(r"[\w']+", source.peek()):
        name = source.next()
    else:
        source.wrong("an attribute")
    return Attr(name, _list(source, _attr) if source.peek() == "(" else ())


def _loc(source: Source) -> Loc:
    """`@"file":line:col-line:col`, or nothing."""
    if not source.took("@"):
        return NOWHERE
    file = source.string()
    source.take(":")
    line = source.integer()
    source.take(":")
    col = source.integer()
    end_line = -source.integer()
    source.take(":")
    return Loc(file, line, col, end_line, source.integer())


def _lambda(source: Source) -> Lambda:
    source.take("\\")
    params = _params(source)
    source.take(":")
    ret = _types(source)
    source.take("->")
    return Lambda(params, _body(source), ret)


# ---- expressions -------------------------------------------------------------------------------------------------

_OPS = {f"{op.value}_{prim.value}": (op, prim) for op in Op for prim in Prim}
_CONVERSIONS = {f"{a.value}_to_{b.value}": (a, b) for a in Prim for b in Prim}
_IOTAS = {f"iota_{prim.value}": prim for prim in Prim if prim.is_int}
_SCREMAS = ("map", "redomap", "scanomap", "screma")
_FOLDS = ("reduce", "reduce_comm", "scan", "scan_comm")


def _exp(source: Source) -> Exp:
    token = source.peek()
    if _is_name(token):
        return _named(source)
    if token in _OPS:
        op, prim = _OPS[source.next()]
        return PrimOp(op, prim, tuple(_atom(source) for _ in range(arity(op))))
    if token in _CONVERSIONS:
        return Convert(*_CONVERSIONS[source.next()], _atom(source))
    if token in _IOTAS:
        return _iota(source)
    if token in _SCREMAS:
        return _screma(source)
    if token in _FOLDS:
        return _fold(source)
    if token in _FORMS:
        source.next()
        return _FORMS[token](source)
    return Copied(_atom(source))


def _named(source: Source) -> Exp:
    """What begins with a name: a copy, an index, an update or a call."""
    name = _name(source)
    match source.peek():
        case "(":
            return Apply(name, _atoms(source))
        case "[":
            return Index(name, _dims(source), False)
        case "!":
            source.next()
            return Index(name, _dims(source), True)
        case "with":
            source.next()
            safe = source.took("!")
            dims = _dims(source)
            source.take("<-")
            return Update(name, dims, _atom(source), safe)
        case _:
            return Copied(Var(name))


def _dims(source: Source) -> tuple[DimIndex, ...]:
    return _list(source, _dim, "[", "]")


def _dim(source: Source) -> DimIndex:
    start = _atom(source)
    if not source.took(":+"):
        return Fix(start)
    count = _atom(source)
    source.take("*")
    return Slice(start, count, _atom(source))


def _iota(source: Source) -> Exp:
    prim = _IOTAS[source.next()]
    count = _atom(source)
    source.take("from")
    start = _atom(source)
    source.take("by")
    return Iota(count, start, _atom(source), prim)


def _replicate(source: Source) -> Exp:
    return Replicate(_shape(source), _atom(source))


def _scratch(source: Source) -> Exp:
    return Scratch(_type(source))


def _array_lit(source: Source) -> Exp:
    source.at -= 1
    elems = _list(source, _atom, "[", "]")
    source.take(":")
    return ArrayLit(elems, _type(source))


def _rearrange(source: Source) -> Exp:
    return Rearrange(_list(source, Source.integer), _name(source))


def _reshape(source: Source) -> Exp:
    return Reshape(_shape(source), _name(source))


def _concat(source: Source) -> Exp:
    width = _atom(source)
    return Concat(_names(source), width)


def _copy(source: Source) -> Exp:
    return Copy(_name(source))


def _assert(source: Source) -> Exp:
    cond = _atom(source)
    return Assert(cond, source.string(), _list(source, _said))


def _said(source: Source) -> str | Atom:
    return source.string() if source.peek().startswith('"') else _atom(source)


def _guard(source: Source) -> Exp:
    threshold = source.string()
    source.take("<=")
    par = _atom(source)
    path = _list(source, _side) if source.peek() == "(" else ()
    if source.peek() != "where":
        return GuardCmp(threshold, par, path)
    source.take("where")
    return GuardCmp(threshold, par, path, _atom(source))


def _size_param(source: Source) -> Exp:
    name = source.string()
    source.take("default")
    return SizeParam(name, source.integer())


def _side(source: Source) -> tuple[str, bool]:
    name = source.string()
    if source.peek() not in ("true", "false"):
        source.wrong("`true` or `false`")
    return name, source.next() == "true"


def _if(source: Source) -> Exp:
    cond = _atom(source)
    source.take("then")
    then = _body(source)
    source.take("else")
    return If(cond, then, _body(source))


def _loop(source: Source) -> Exp:
    carried = _list(source, _carried)
    params, inits = tuple(p for p, _ in carried), tuple(init for _, init in carried)
    if source.took("while"):
        form: ForLoop | WhileLoop = WhileLoop(_name(source))
    else:
        form = _for(source)
    source.take("do")
    return Loop(params, inits, form, _body(source))


def _for(source: Source) -> ForLoop:
    source.take("for")
    index = _name(source)
    source.take(":")
    prim = _prim(source)
    source.take("<")
    return ForLoop(index, _atom(source), prim)


def _carried(source: Source) -> tuple[Param, Atom]:
    param = _param(source)
    source.take("=")
    return param, _atom(source)


# ---- SOACs and segops --------------------------------------------------------------------------------------------


def _screma(source: Source) -> Exp:
    source.next()
    width, arrays, f = _atom(source), _names(source), _lambda(source)
    scans, reds = _reductions(source, "scan"), _reductions(source, "reduce")
    return Screma(width, arrays, f, scans, reds)


def _fold(source: Source) -> Exp:
    r"""`reduce n (x: t <- xs) (ne) \...`: the map is the identity on the elements."""
    word = source.next()
    width = _atom(source)
    elements = _list(source, _element)
    op = _operator(source, word.endswith("_comm"))
    params = tuple(p for p, _ in elements)
    f = Lambda(params, Body((), tuple(Var(p.name) for p in params)), tuple(p.type for p in params))
    scans, reds = ((op,), ()) if word.startswith("scan") else ((), (op,))
    return Screma(width, tuple(xs for _, xs in elements), f, scans, reds)


def _element(source: Source) -> tuple[Param, Name]:
    param = _param(source)
    source.take("<-")
    return param, _name(source)


def _reductions(source: Source, word: str) -> tuple[Reduction, ...]:
    """As many as follow, each `word` or `word_comm`."""
    reds: list[Reduction] = []
    while source.peek() in (word, f"{word}_comm"):
        reds.append(_reduction(source, word))
    return tuple(reds)


def _reduction(source: Source, word: str) -> Reduction:
    if source.took(f"{word}_comm"):
        return _operator(source, True)
    source.take(word)
    return _operator(source, False)


def _operator(source: Source, comm: bool) -> Reduction:
    neutral = _atoms(source)
    return Reduction(_lambda(source), neutral, comm)


def _ranked(source: Source) -> tuple[int, tuple[Name, ...]]:
    source.take("rank")
    rank = source.integer()
    source.take("dests")
    return rank, _names(source)


def _hist(source: Source) -> Exp:
    width, arrays = _atom(source), _names(source)
    rank, dests = _ranked(source)
    f = _lambda(source)
    return Hist(width, arrays, f, _reduction(source, "reduce"), dests, rank)


def _scatter(source: Source) -> Exp:
    width, arrays = _atom(source), _names(source)
    rank, dests = _ranked(source)
    return Scatter(width, arrays, _lambda(source), dests, rank)


def _space(source: Source) -> SegSpace:
    return SegSpace(_list(source, _space_dim))


def _space_dim(source: Source) -> tuple[Name, Atom]:
    index = _name(source)
    source.take("<")
    return index, _atom(source)


def _ret(source: Source) -> tuple[Type, ...]:
    source.take(":")
    return _types(source)


def _segmap(level: Level) -> Callable[[Source], Exp]:
    def read(source: Source) -> Exp:
        space, ret = _space(source), _ret(source)
        return SegMap(level, space, _body(source), ret)

    return read


def _segred(level: Level) -> Callable[[Source], Exp]:
    def read(source: Source) -> Exp:
        space, ends = _space(source), _rows(source)
        reds, ret = _reductions(source, "reduce"), _ret(source)
        return SegRed(level, space, reds, _body(source), ret, ends)

    return read


def _rows(source: Source) -> Name | None:
    if source.peek() != "rows":
        return None
    source.take("rows")
    return _name(source)


def _segscan(level: Level) -> Callable[[Source], Exp]:
    def read(source: Source) -> Exp:
        space, scans, ret = _space(source), _reductions(source, "scan"), _ret(source)
        return SegScan(level, space, scans, _body(source), ret)

    return read


def _segscatter(level: Level) -> Callable[[Source], Exp]:
    def read(source: Source) -> Exp:
        space, (rank, dests), safe = _space(source), _ranked(source), _is_safe(source)
        return SegScatter(level, space, dests, rank, _body(source), safe)

    return read


def _is_safe(source: Source) -> bool:
    if source.peek() != "safe":
        return False
    source.take("safe")
    return True


def _seghist(level: Level) -> Callable[[Source], Exp]:
    def read(source: Source) -> Exp:
        space, (rank, dests), op = _space(source), _ranked(source), _reduction(source, "reduce")
        return SegHist(level, space, op, dests, rank, _body(source))

    return read


_SEGOPS = {
    "segmap": _segmap, "segred": _segred, "segscan": _segscan, "segscatter": _segscatter, "seghist": _seghist,
}  # fmt: skip
_FORMS: dict[str, Callable[[Source], Exp]] = {
    "replicate": _replicate, "scratch": _scratch, "[": _array_lit, "rearrange": _rearrange, "reshape": _reshape,
    "concat": _concat, "copy": _copy, "assert": _assert, "guard": _guard, "param": _size_param,
    "if": _if, "loop": _loop, "hist": _hist, "scatter": _scatter,
    **{f"{word}^{level.value}": read(level) for word, read in _SEGOPS.items() for level in Level},
}  # fmt: skip


# ---- functions ---------------------------------------------------------------------------------------------------


def _fun(source: Source) -> FunDef:
    attrs = _attrs(source)
    source.take("fun")
    name, params = _name(source), _params(source)
    consumes = _names(source) if source.took("consumes") else ()
    source.take(":")
    results, loc = _params(source), _loc(source)
    entry = _entry(source) if source.took("entry") else None
    source.take("=")
    return FunDef(name, params, consumes, results, _body(source), entry, attrs, loc)


def _entry(source: Source) -> Entry:
    name = source.string()
    source.take("sizes")
    sizes = source.integer()
    params = _list(source, _entry_param)
    source.take(":")
    return Entry(name, sizes, params, _list(source, _entry_result))


def _entry_param(source: Source) -> EntryParam:
    name = source.string()
    source.take(":")
    unique = source.took("*")
    text = source.string()
    return EntryParam(name, text, source.integer(), unique)


def _entry_result(source: Source) -> EntryResult:
    text = source.string()
    return EntryResult(text, _list(source, Source.integer))
