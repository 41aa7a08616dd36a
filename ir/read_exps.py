"""The text of the IR: bodies, statements and expressions, one function for each construct.

Statements are read in a loop, so only nesting costs stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .core import (
    Accumulate,
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
    Exp,
    Fix,
    ForLoop,
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
    WithAcc,
)
from .errors import NOWHERE, Loc
from .ops import Op, arity
from .read_atoms import (
    is_name,
    read_atom,
    read_atoms,
    read_name,
    read_names,
    read_param,
    read_params,
    read_prim,
    read_shape,
    read_type,
    read_types,
)
from .scanner import Scanner
from .types import Atom, Name, Prim, Type, Var


def read_body(source: Scanner) -> Body:
    """`{ let .. in (x_1) }`."""
    source.take("{")
    stms: list[Stm] = []
    while not source.took("in"):
        stms.append(read_stm(source))
    result = read_atoms(source)
    source.take("}")
    return Body(tuple(stms), result)


def read_stm(source: Scanner) -> Stm:
    """`#[attr] #{cert_1} let (x_2: f32) = ..`, with its place if that is given."""
    attrs = read_attrs(source)
    certs = source.several(read_name, "#{", "}") if source.peek() == "#{" else ()
    source.take("let")
    pat = read_params(source)
    source.take("=")
    return Stm(pat, read_exp(source), certs, attrs, read_loc(source))


def read_attrs(source: Scanner) -> tuple[Attr, ...]:
    """`#[a] #[b(c)]`, as many as there are."""
    attrs: list[Attr] = []
    while source.took("#["):
        attrs.append(_attr(source))
        source.take("]")
    return tuple(attrs)


def _attr(source: Scanner) -> Attr:
    if source.peek().startswith('"'):
        name = source.string()
    elif re.fullmatch(r"[\w']+", source.peek()):
        name = source.next()
    else:
        source.wrong("an attribute")
    return Attr(name, source.several(_attr) if source.peek() == "(" else ())


def read_loc(source: Scanner) -> Loc:
    """`@"file":line:col-line:col`, followed by the calls that it is inlined at; or nothing."""
    places: list[Loc] = []
    while source.took("@"):
        places.append(_read_place(source))
    return places[0].called(tuple(places[1:])) if places else NOWHERE


def _read_place(source: Scanner) -> Loc:
    file = source.string()
    source.take(":")
    line = source.integer()
    source.take(":")
    col = source.integer()
    end_line = -source.integer()
    source.take(":")
    return Loc(file, line, col, end_line, source.integer())


def read_lambda(source: Scanner) -> Lambda:
    r"""`\(x_1: f32) : (f32) -> { .. }`."""
    source.take("\\")
    params = read_params(source)
    source.take(":")
    ret = read_types(source)
    source.take("->")
    return Lambda(params, read_body(source), ret)


# ---- expressions -------------------------------------------------------------------------------------------------

_OPS = {f"{op.value}_{prim.value}": (op, prim) for op in Op for prim in Prim}
_CONVERSIONS = {f"{a.value}_to_{b.value}": (a, b) for a in Prim for b in Prim}
_IOTAS = {f"iota_{prim.value}": prim for prim in Prim if prim.is_int}
_SCREMAS = ("map", "redomap", "scanomap", "screma")
_FOLDS = ("reduce", "reduce_comm", "scan", "scan_comm")


def read_exp(source: Scanner) -> Exp:
    """The right side of a statement."""
    token = source.peek()
    if is_name(token):
        return _named(source)
    if token in _OPS:
        op, prim = _OPS[source.next()]
        return PrimOp(op, prim, tuple(read_atom(source) for _ in range(arity(op))))
    if token in _CONVERSIONS:
        return Convert(*_CONVERSIONS[source.next()], read_atom(source))
    if token in _IOTAS:
        return _iota(source)
    if token in _SCREMAS:
        return _screma(source)
    if token in _FOLDS:
        return _fold(source)
    if token in _SEGOPS:
        read, level = _SEGOPS[source.next()]
        return read(source, level)
    if token in _FORMS:
        source.next()
        return _FORMS[token](source)
    if token == "[":
        return _array_lit(source)
    return Copied(read_atom(source))


def _named(source: Scanner) -> Exp:
    """What begins with a name: a copy, an index, an update or a call."""
    name = read_name(source)
    match source.peek():
        case "(":
            return Apply(name, read_atoms(source))
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
            return Update(name, dims, read_atom(source), safe)
        case _:
            return Copied(Var(name))


def _dims(source: Scanner) -> tuple[DimIndex, ...]:
    return source.several(_dim, "[", "]")


def _dim(source: Scanner) -> DimIndex:
    start = read_atom(source)
    if not source.took(":+"):
        return Fix(start)
    count = read_atom(source)
    source.take("*")
    return Slice(start, count, read_atom(source))


def _iota(source: Scanner) -> Exp:
    prim = _IOTAS[source.next()]
    count = read_atom(source)
    source.take("from")
    start = read_atom(source)
    source.take("by")
    return Iota(count, start, read_atom(source), prim)


def _replicate(source: Scanner) -> Exp:
    return Replicate(read_shape(source), read_atom(source))


def _scratch(source: Scanner) -> Exp:
    return Scratch(read_type(source))


def _array_lit(source: Scanner) -> Exp:
    elems = source.several(read_atom, "[", "]")
    source.take(":")
    return ArrayLit(elems, read_type(source))


def _rearrange(source: Scanner) -> Exp:
    return Rearrange(source.several(Scanner.integer), read_name(source))


def _reshape(source: Scanner) -> Exp:
    return Reshape(read_shape(source), read_name(source))


def _concat(source: Scanner) -> Exp:
    width = read_atom(source)
    return Concat(read_names(source), width)


def _copy(source: Scanner) -> Exp:
    return Copy(read_name(source))


def _assert(source: Scanner) -> Exp:
    cond = read_atom(source)
    return Assert(cond, source.string(), source.several(_said))


def _said(source: Scanner) -> str | Atom:
    return source.string() if source.peek().startswith('"') else read_atom(source)


def _guard(source: Scanner) -> Exp:
    threshold = source.string()
    source.take("<=")
    par = read_atom(source)
    path = source.several(_side) if source.peek() == "(" else ()
    return GuardCmp(threshold, par, path, read_atom(source)) if source.took("where") else GuardCmp(threshold, par, path)


def _size_param(source: Scanner) -> Exp:
    name = source.string()
    source.take("default")
    return SizeParam(name, source.integer())


def _side(source: Scanner) -> tuple[str, bool]:
    name = source.string()
    if source.peek() not in ("true", "false"):
        source.wrong("`true` or `false`")
    return name, source.next() == "true"


def _if(source: Scanner) -> Exp:
    cond = read_atom(source)
    source.take("then")
    then = read_body(source)
    source.take("else")
    return If(cond, then, read_body(source))


def _loop(source: Scanner) -> Exp:
    carried = source.several(_carried)
    params, inits = tuple(p for p, _ in carried), tuple(init for _, init in carried)
    if source.took("while"):
        form: ForLoop | WhileLoop = WhileLoop(read_name(source))
    else:
        form = _for(source)
    source.take("do")
    return Loop(params, inits, form, read_body(source))


def _for(source: Scanner) -> ForLoop:
    source.take("for")
    index = read_name(source)
    source.take(":")
    prim = read_prim(source)
    source.take("<")
    return ForLoop(index, read_atom(source), prim)


def _carried(source: Scanner) -> tuple[Param, Atom]:
    param = read_param(source)
    source.take("=")
    return param, read_atom(source)


# ---- SOACs and segops --------------------------------------------------------------------------------------------


def _screma(source: Scanner) -> Exp:
    source.next()
    width, arrays, f = read_atom(source), read_names(source), read_lambda(source)
    scans, reds = _reductions(source, "scan"), _reductions(source, "reduce")
    return Screma(width, arrays, f, scans, reds)


def _fold(source: Scanner) -> Exp:
    r"""`reduce n (x: t <- xs) (ne) \...`: the map is the identity on the elements."""
    word = source.next()
    width = read_atom(source)
    elements = source.several(_element)
    op = _operator(source, word.endswith("_comm"))
    params = tuple(p for p, _ in elements)
    f = Lambda(params, Body((), tuple(Var(p.name) for p in params)), tuple(p.type for p in params))
    scans, reds = ((op,), ()) if word.startswith("scan") else ((), (op,))
    return Screma(width, tuple(xs for _, xs in elements), f, scans, reds)


def _element(source: Scanner) -> tuple[Param, Name]:
    param = read_param(source)
    source.take("<-")
    return param, read_name(source)


def _reductions(source: Scanner, word: str) -> tuple[Reduction, ...]:
    """As many as follow, each `word` or `word_comm`."""
    reds: list[Reduction] = []
    while source.peek() in (word, f"{word}_comm"):
        reds.append(_reduction(source, word))
    return tuple(reds)


def _reduction(source: Scanner, word: str) -> Reduction:
    if source.took(f"{word}_comm"):
        return _operator(source, True)
    source.take(word)
    return _operator(source, False)


def _operator(source: Scanner, comm: bool) -> Reduction:
    neutral = read_atoms(source)
    return Reduction(read_lambda(source), neutral, comm)


def _ranked(source: Scanner) -> tuple[int, tuple[Name, ...]]:
    source.take("rank")
    rank = source.integer()
    source.take("dests")
    return rank, read_names(source)


def _hist(source: Scanner) -> Exp:
    width, arrays = read_atom(source), read_names(source)
    rank, dests = _ranked(source)
    f = read_lambda(source)
    return Hist(width, arrays, f, _reduction(source, "reduce"), dests, rank)


def _scatter(source: Scanner) -> Exp:
    width, arrays = read_atom(source), read_names(source)
    rank, dests = _ranked(source)
    return Scatter(width, arrays, read_lambda(source), dests, rank)


def _with_acc(source: Scanner) -> Exp:
    width, arrays = read_atom(source), read_names(source)
    source.take("dests")
    dests = read_names(source)
    return WithAcc(width, arrays, read_lambda(source), dests)


def _accumulate(source: Scanner) -> Exp:
    accs = read_names(source)
    source.take("at")
    index = read_atoms(source)
    source.take("values")
    values = read_atoms(source)
    ops = _reductions(source, "reduce")
    return Accumulate(accs, index, values, ops[0] if ops else None)


def _space(source: Scanner) -> SegSpace:
    return SegSpace(source.several(_space_dim))


def _space_dim(source: Scanner) -> tuple[Name, Atom]:
    index = read_name(source)
    source.take("<")
    return index, read_atom(source)


def _ret(source: Scanner) -> tuple[Type, ...]:
    source.take(":")
    return read_types(source)


def _segmap(source: Scanner, level: Level) -> Exp:
    space, ret = _space(source), _ret(source)
    return SegMap(level, space, read_body(source), ret)


def _segred(source: Scanner, level: Level) -> Exp:
    space, ends = _space(source), _rows(source)
    reds, ret = _reductions(source, "reduce"), _ret(source)
    return SegRed(level, space, reds, read_body(source), ret, ends)


def _rows(source: Scanner) -> Name | None:
    return read_name(source) if source.took("rows") else None


def _segscan(source: Scanner, level: Level) -> Exp:
    space, scans, ret = _space(source), _reductions(source, "scan"), _ret(source)
    return SegScan(level, space, scans, read_body(source), ret)


def _segscatter(source: Scanner, level: Level) -> Exp:
    space, (rank, dests), safe = _space(source), _ranked(source), source.took("safe")
    return SegScatter(level, space, dests, rank, read_body(source), safe)


def _seghist(source: Scanner, level: Level) -> Exp:
    space, (rank, dests), op = _space(source), _ranked(source), _reduction(source, "reduce")
    return SegHist(level, space, op, dests, rank, read_body(source))


_SEGOPS = {
    f"{word}^{level.value}": (read, level)
    for word, read in {
        "segmap": _segmap,
        "segred": _segred,
        "segscan": _segscan,
        "segscatter": _segscatter,
        "seghist": _seghist,
    }.items()
    for level in Level
}
_FORMS: dict[str, Callable[[Scanner], Exp]] = {
    "replicate": _replicate, "scratch": _scratch, "rearrange": _rearrange, "reshape": _reshape, "concat": _concat,
    "copy": _copy, "assert": _assert, "guard": _guard, "param": _size_param, "if": _if, "loop": _loop, "hist": _hist,
    "scatter": _scatter,
    "with_acc": _with_acc,
    "accumulate": _accumulate,
}  # fmt: skip
