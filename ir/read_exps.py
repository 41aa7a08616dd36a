"""The text of the IR: bodies, statements and expressions, these by the forms of `syntax.py`.

Statements are read in a loop, so only nesting costs stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .core import (
    Apply,
    ArrayLit,
    Attr,
    Body,
    Convert,
    Copied,
    DimIndex,
    Exp,
    Fix,
    ForLoop,
    Index,
    Iota,
    Lambda,
    Level,
    Param,
    PrimOp,
    Reduction,
    Screma,
    SegSpace,
    Slice,
    Stm,
    Update,
    WhileLoop,
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
    tokens,
)
from .scanner import Scanner
from .syntax import BY_NODE, SYNTAX, WORDS, Form
from .types import Atom, Const, Name, Prim, Var


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
_SCREMAS = ("map", "redomap", "scanomap")
_FOLDS = ("reduce", "reduce_comm", "scan", "scan_comm")


def read_exp(source: Scanner) -> Exp:
    """The right side of a statement."""
    token = source.peek()
    if is_name(token):
        return _read(source, BY_NODE[_AFTER_NAME.get(source.after(), Copied)])
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
    return _read(source, _FORMS.get(token, BY_NODE[Copied]))


_AFTER_NAME: Mapping[str, type] = {"(": Apply, "[": Index, "!": Index, "with": Update}
"""What it is that begins with a name, by the token behind that."""


def _read(source: Scanner, form: Form) -> Exp:
    found: dict[str, Any] = {}
    for part in form.parts:
        if isinstance(part, str):
            source.take(*tokens(part))
        elif part.kind == "carried":
            carried = source.several(_carried)
            found["params"], found["inits"] = tuple(p for p, _ in carried), tuple(init for _, init in carried)
        else:
            found[part.field] = _READERS[part.kind](source)
    return form.node(**found)


def _iota(source: Scanner) -> Exp:
    prim = _IOTAS[source.next()]
    count = read_atom(source)
    source.take("from")
    start = read_atom(source)
    source.take("by")
    return Iota(count, start, read_atom(source), prim)


# ---- fields ------------------------------------------------------------------------------------------------------


def _dim(source: Scanner) -> DimIndex:
    start = read_atom(source)
    if not source.took(":+"):
        return Fix(start)
    count = read_atom(source)
    source.take("*")
    return Slice(start, count, read_atom(source))


def _said(source: Scanner) -> str | Atom:
    return source.string() if source.peek().startswith('"') else read_atom(source)


def _side(source: Scanner) -> tuple[str, bool]:
    name = source.string()
    if source.peek() not in ("true", "false"):
        source.wrong("`true` or `false`")
    return name, source.next() == "true"


def _form(source: Scanner) -> ForLoop | WhileLoop:
    if source.took("while"):
        return WhileLoop(read_name(source))
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


def _level(source: Scanner) -> Level:
    return source.read(Level, "a level")


def _space_dim(source: Scanner) -> tuple[Name, Atom]:
    index = read_name(source)
    source.take("<")
    return index, read_atom(source)


# ---- SOACs and operators -----------------------------------------------------------------------------------------


def _screma(source: Scanner) -> Exp:
    source.next()
    width, arrays, f = read_atom(source), read_names(source), read_lambda(source)
    scans, reds = _reductions(source, "scans"), _reductions(source, "reductions")
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


def _reductions(source: Scanner, kind: str) -> tuple[Reduction, ...]:
    """As many as follow, each with its word, `_comm` behind it or not."""
    reds: list[Reduction] = []
    while source.peek() in (WORDS[kind], f"{WORDS[kind]}_comm"):
        reds.append(_reduction(source, kind))
    return tuple(reds)


def _reduction(source: Scanner, kind: str = "reductions") -> Reduction:
    if source.took(f"{WORDS[kind]}_comm"):
        return _operator(source, True)
    source.take(WORDS[kind])
    return _operator(source, False)


def _operator(source: Scanner, comm: bool) -> Reduction:
    neutral = read_atoms(source)
    return Reduction(read_lambda(source), neutral, comm)


_READERS: Mapping[str, Callable[[Scanner], Any]] = {
    "operand": read_atom,
    "operands": read_atoms,
    "elements": lambda source: source.several(read_atom, "[", "]"),
    "name": read_name,
    "function": read_name,
    "names": read_names,
    "shape": read_shape,
    "type": read_type,
    "types": read_types,
    "int": Scanner.integer,
    "ints": lambda source: source.several(Scanner.integer),
    "string": Scanner.string,
    "body": read_body,
    "lambda": read_lambda,
    "reduction": _reduction,
    "reductions": lambda source: _reductions(source, "reductions"),
    "scans": lambda source: _reductions(source, "scans"),
    "optional": lambda source: next(iter(_reductions(source, "reductions")), None),
    "level": _level,
    "space": lambda source: SegSpace(source.several(_space_dim)),
    "form": _form,
    "dims": lambda source: source.several(_dim, "[", "]"),
    "said": lambda source: source.several(_said),
    "path": lambda source: source.several(_side) if source.peek() == "(" else (),
    "bang": lambda source: source.took("!"),
    "flag": lambda source: source.took("safe"),
    "rows": lambda source: read_name(source) if source.took("rows") else None,
    "where": lambda source: read_atom(source) if source.took("where") else Const(Prim.BOOL, True),
}
_FORMS: Mapping[str, Form] = {tokens(form.parts[0])[0]: form for form in SYNTAX if isinstance(form.parts[0], str)} | {
    "[": BY_NODE[ArrayLit]
}
"""By the token that they begin with."""
