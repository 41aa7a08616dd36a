r"""The textual form of the IR, which `ir/parse.py` reads back, and equality of trees.

    let (ys_4: [n_1]i32) = map n_1 (xs_2) \(x_3: i32) : (i32) -> { in (x_3) }

A `Screma` is called `map`, `reduce`, `scan`, `redomap` or `scanomap` when it is just that. `xs[i]` is a checked index,
`xs![i]` one that is known to be in bounds. Sizes in types are i64 and bare: `[n_1][3]f32`.
`show` leaves locations out, `show_located` writes them; print `renumbered` programs (`ir/rename.py`) into goldens.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeGuard

from . import scalar
from .core import (
    Attr,
    Body,
    Convert,
    DimIndex,
    Exp,
    Fix,
    ForLoop,
    FunDef,
    Iota,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Prog,
    Reduction,
    Screma,
    Slice,
    Stm,
    WhileLoop,
)
from .depth import allow_depth
from .entry_points import Entry
from .errors import NOWHERE, Loc
from .syntax import BY_NODE, WORDS, Hole, Line
from .traverse import map_bodies
from .types import Atom, Const, Name, Prim, Type, Var

Lines = list[str]

WIDTH = 110
"""A statement or a body that fits in this many characters stands on one line."""


def show(prog: Prog) -> str:
    """The program without locations."""
    return show_located(without_locations(prog))


def show_located(prog: Prog) -> str:
    """The program with the locations of statements and functions."""
    allow_depth()
    parts: list[Lines] = [[f"next_name {prog.next_name}"]]
    if prog.consts:
        parts.append(["consts {", *_indent(line for stm in prog.consts for line in _stm(stm)), "}"])
    parts.extend(_fun(fun) for fun in prog.functions)
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def show_body(body: Body) -> str:
    """The lines of a body, without locations."""
    return "\n".join(_body(body))


def show_stm(stm: Stm) -> str:
    """The lines of a statement, without its location."""
    return "\n".join(_stm(stm))


def show_lambda(f: Lambda) -> str:
    """The lines of a lambda, without locations."""
    return "\n".join(_lambda(replace(f, body=_unlocated_body(f.body))))


def show_exp(exp: Exp) -> str:
    """The lines of an expression, without locations."""
    return "\n".join(_exp(map_bodies(_unlocated_body, exp)))


# ---- names, atoms, types -----------------------------------------------------------------------------------------

_PLAIN = re.compile(r"[^\W\d][\w']*\Z")


def show_name(name: Name) -> str:
    """`base_tag`; a base that is no word stands in backquotes."""
    if not name.base or _PLAIN.match(name.base):
        return str(name)
    return "`" + json.dumps(name.base)[1:-1].replace("`", "\\u0060") + f"`_{name.tag}"


def show_atom(atom: Atom) -> str:
    """A name as `show_name` prints it, or a constant with its type."""
    return show_name(atom.name) if isinstance(atom, Var) else show_const(atom)


def show_const(const: Const) -> str:
    """`1i32`, `0.1f32`, `true`, `-f64.inf`; a nan that is not the usual one with its f64 bits."""
    prim, value = const.prim, const.value
    if prim is Prim.BOOL:
        return "true" if value else "false"
    if not prim.is_float:
        return f"{value}{prim.value}"
    if math.isnan(value):
        bits = struct.pack(">d", value).hex()
        return f"{prim.value}.nan" + ("" if bits == "7ff8000000000000" else f"<{bits}>")
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}{prim.value}.inf"
    text = scalar.text_of(prim, value)
    exact = scalar.rounding(prim)(float(text)) == value
    return (text if exact else repr(value)) + prim.value


def show_size(size: Atom) -> str:
    """A constant i64 is bare."""
    if isinstance(size, Const) and size.prim is Prim.I64:
        return str(size.value)
    return show_atom(size)


def show_shape(shape: Iterable[Atom]) -> str:
    """Sizes in brackets, outermost first: `[n_1][3]`."""
    return "".join(f"[{show_size(size)}]" for size in shape)


def show_type(t: Type) -> str:
    """The shape, then the element type: `[n_1][3]f32`."""
    return show_shape(t.shape) + t.prim.value


def _listed(parts: Iterable[str]) -> str:
    return "(" + ", ".join(parts) + ")"


def _names(names: Iterable[Name]) -> str:
    return _listed(map(show_name, names))


def _atoms(atoms: Iterable[Atom]) -> str:
    return _listed(map(show_atom, atoms))


def _types(types: Iterable[Type]) -> str:
    return _listed(map(show_type, types))


def _param(param: Param) -> str:
    return f"{show_name(param.name)}: {show_type(param.type)}"


def _params(params: Iterable[Param]) -> str:
    return _listed(map(_param, params))


# ---- layout ------------------------------------------------------------------------------------------------------


def _indent(lines: Iterable[str]) -> Lines:
    return ["  " + line for line in lines]


def _joined(*blocks: Lines) -> Lines:
    """Blocks one after the other; each begins on the line on which the one before ends."""
    out = list(blocks[0])
    for block in blocks[1:]:
        out[-1] += " " + block[0]
        out.extend(block[1:])
    return out


def _below(head: str, *blocks: Lines) -> Lines:
    """On one line where everything is short, else the blocks indented below the head."""
    if all(len(block) == 1 for block in blocks):
        line = " ".join([head, *(block[0] for block in blocks)])
        if len(line) <= WIDTH:
            return [line]
    return [head, *(line for block in blocks for line in _indent(block))]


# ---- bodies ------------------------------------------------------------------------------------------------------


def _body(body: Body) -> Lines:
    stms = [_stm(stm) for stm in body.stms]
    last = "in " + _atoms(body.result)
    if len(stms) <= 1 and all(len(lines) == 1 for lines in stms):
        line = " ".join(["{", *(lines[0] for lines in stms), last, "}"])
        if len(line) <= WIDTH:
            return [line]
    return ["{", *_indent(line for lines in stms for line in lines), "  " + last, "}"]


def _stm(stm: Stm) -> Lines:
    head = f"let {_params(stm.pat)} ="
    if stm.certs:
        head = "#{" + ", ".join(map(show_name, stm.certs)) + "} " + head
    if stm.attrs:
        head = _attrs(stm.attrs) + " " + head
    lines = _below(head, _exp(stm.exp))
    lines[-1] += show_loc(stm.loc)
    return lines


def _attrs(attrs: Iterable[Attr]) -> str:
    return " ".join(f"#[{_attr(a)}]" for a in attrs)


def _attr(attr: Attr) -> str:
    name = attr.name if re.fullmatch(r"[^\W\d][\w']*|\d\w*", attr.name) else json.dumps(attr.name)
    return name + (_listed(map(_attr, attr.args)) if attr.args else "")


def show_loc(loc: Loc) -> str:
    """The places of code in the source: its own, then where it was called."""
    places = () if loc == NOWHERE else (loc, *loc.calls)
    return "".join(f" @{json.dumps(x.file)}:{x.line}:{x.col}-{x.end_line}:{x.end_col}" for x in places)


def _lambda(f: Lambda) -> Lines:
    return _joined([f"\\{_params(f.params)} : {_types(f.ret)} ->"], _body(f.body))


# ---- expressions -------------------------------------------------------------------------------------------------


def _exp(exp: Exp) -> Lines:
    match exp:
        case Screma():
            return _screma(exp)
        case PrimOp(op, prim, args):
            return [" ".join([f"{op.value}_{prim.value}", *map(show_atom, args)])]
        case Convert(source, target, arg):
            return [f"{source.value}_to_{target.value} {show_atom(arg)}"]
        case Iota(count, start, step, prim):
            return [f"iota_{prim.value} {show_atom(count)} from {show_atom(start)} by {show_atom(step)}"]
        case _:
            first, *others = BY_NODE[type(exp)].lines
            head = _line(exp, first)
            return _below(head[0], *(block for line in others for block in _blocks(exp, line))) if others else head


def _blocks(exp: Exp, line: Line) -> list[Lines]:
    """A line of a form: a block, or as many as it has operators."""
    match line.parts:
        case (Hole(field, "reductions" | "scans" as kind),):
            return [_reduction(kind, op) for op in getattr(exp, field)]
        case (Hole(field, "optional"),):
            return [] if getattr(exp, field) is None else [_reduction("reductions", getattr(exp, field))]
        case _:
            return [_line(exp, line)]


def _line(exp: Exp, line: Line) -> Lines:
    lines = [""]
    for part in line.parts:
        first, *rest = [part] if isinstance(part, str) else _field(exp, part)
        lines[-1] += first
        lines += rest
    return lines


def _field(exp: Exp, hole: Hole) -> Lines:
    value = getattr(exp, hole.field)
    match hole.kind:
        case "body":
            return _body(value)
        case "lambda":
            return _lambda(value)
        case "reduction":
            return _reduction("reductions", value)
        case "carried":
            assert isinstance(exp, Loop)
            pairs = zip(exp.params, exp.inits, strict=True)
            return [_listed(f"{_param(p)} = {show_atom(init)}" for p, init in pairs)]
        case kind:
            return [_TEXTS[kind](value)]


def _dim(dim: DimIndex) -> str:
    match dim:
        case Fix(index):
            return show_atom(index)
        case Slice(start, count, stride):
            return f"{show_atom(start)} :+ {show_atom(count)} * {show_atom(stride)}"


def _form(form: ForLoop | WhileLoop) -> str:
    match form:
        case ForLoop(index, bound, prim):
            return f"for {show_name(index)}: {prim.value} < {show_atom(bound)}"
        case WhileLoop(cond):
            return f"while {show_name(cond)}"


def _path(path: Iterable[tuple[str, bool]]) -> str:
    sides = [f"{json.dumps(name)} {'true' if taken else 'false'}" for name, taken in path]
    return f" {_listed(sides)}" if sides else ""


_TEXTS: dict[str, Callable[[Any], str]] = {
    "operand": show_atom,
    "operands": _atoms,
    "elements": lambda atoms: f"[{', '.join(map(show_atom, atoms))}]",
    "name": show_name,
    "function": show_name,
    "names": _names,
    "shape": show_shape,
    "type": show_type,
    "types": _types,
    "int": str,
    "ints": lambda numbers: _listed(map(str, numbers)),
    "string": json.dumps,
    "level": lambda level: level.value,
    "space": lambda space: _listed(f"{show_name(index)} < {show_atom(width)}" for index, width in space.dims),
    "form": _form,
    "dims": lambda dims: f"[{', '.join(map(_dim, dims))}]",
    "said": lambda parts: _listed(json.dumps(part) if isinstance(part, str) else show_atom(part) for part in parts),
    "path": _path,
    "bang": lambda safe: "!" if safe else "",
    "flag": lambda safe: " safe" if safe else "",
    "rows": lambda ends: "" if ends is None else f" rows {show_name(ends)}",
    "where": lambda pays: "" if pays == Const(Prim.BOOL, True) else f" where {show_atom(pays)}",
}


def _screma(exp: Screma) -> Lines:
    width = show_atom(exp.width)
    if len(exp.scans) + len(exp.reds) == 1 and is_identity(exp.map):
        word, op = ("scan", exp.scans[0]) if exp.scans else ("reduce", exp.reds[0])
        pairs = zip(exp.map.params, exp.arrays, strict=True)
        elements = _listed(f"{_param(p)} <- {show_name(xs)}" for p, xs in pairs)
        return _joined([f"{_commuting(word, op)} {width} {elements} {_atoms(op.neutral)}"], _lambda(op.op))
    match exp.scans, exp.reds:
        case (), ():
            word = "map"
        case (), _:
            word = "redomap"
        case _:
            word = "scanomap"
    ops = [*(_reduction("scans", s) for s in exp.scans), *(_reduction("reductions", r) for r in exp.reds)]
    if not ops:
        return _joined([f"{word} {width} {_names(exp.arrays)}"], _lambda(exp.map))
    return _below(f"{word} {width} {_names(exp.arrays)}", _lambda(exp.map), *ops)


def is_identity(f: Lambda) -> bool:
    r"""`\(x: t, y: u) : (t, u) -> { in (x, y) }`"""
    same_values = f.body.result == tuple(Var(p.name) for p in f.params)
    return not f.body.stms and same_values and f.ret == tuple(p.type for p in f.params)


def _commuting(word: str, op: Reduction) -> str:
    return f"{word}_comm" if op.comm else word


def _reduction(kind: str, op: Reduction) -> Lines:
    return _joined([f"{_commuting(WORDS[kind], op)} {_atoms(op.neutral)}"], _lambda(op.op))


# ---- functions ---------------------------------------------------------------------------------------------------


def _fun(fun: FunDef) -> Lines:
    head = [_attrs(fun.attrs)] if fun.attrs else []
    head.append(f"fun {show_name(fun.name)} {_params(fun.params)}")
    if fun.consumes:
        head.append(f"  consumes {_names(fun.consumes)}")
    head.append(f"  : {_params(fun.results)}{show_loc(fun.loc)}")
    if fun.entry:
        head.append("  " + _entry(fun.entry))
    body = _body(fun.body)
    kernels = (line for kernel in fun.kernels for line in ["by hand", *_indent(_fun(kernel))])
    return [*head[:-1], *_joined([head[-1] + " ="], body), *kernels]


def _entry(entry: Entry) -> str:
    params = _listed(
        f"{json.dumps(p.name)}: {'*' if p.unique else ''}{json.dumps(p.text)} {p.components}" for p in entry.params
    )
    results = _listed(f"{json.dumps(r.text)} {_listed(map(str, r.components))}" for r in entry.results)
    return f"entry {json.dumps(entry.name)} sizes {entry.sizes} {params} : {results}"


# ---- equality ----------------------------------------------------------------------------------------------------


def same(a: object, b: object) -> bool:
    """Whether two trees are equal: names, types and locations exactly, constants by bits. Depth does not matter."""
    pending = [(a, b)]
    while pending:
        x, y = pending.pop()
        if x is y:
            continue
        if type(x) is not type(y):
            return False
        if _is_tuple(x) and _is_tuple(y):
            if len(x) != len(y):
                return False
            pending.extend(zip(x, y))
        elif is_dataclass(x) and not isinstance(x, Const | Name):
            pending.extend((getattr(x, f.name), getattr(y, f.name)) for f in fields(x))
        elif x != y:
            return False
    return True


def _is_tuple(x: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(x, tuple)


def without_locations(prog: Prog) -> Prog:
    """`prog` with every location `NOWHERE`: equality up to locations compares these."""
    allow_depth()
    consts = tuple(map(_unlocated_stm, prog.consts))
    return Prog(consts, tuple(map(_unlocated_fun, prog.functions)), prog.next_name)


def _unlocated_fun(fun: FunDef) -> FunDef:
    kernels = tuple(map(_unlocated_fun, fun.kernels))
    return replace(fun, body=_unlocated_body(fun.body), loc=NOWHERE, kernels=kernels)


def _unlocated_body(body: Body) -> Body:
    return Body(tuple(map(_unlocated_stm, body.stms)), body.result)


def _unlocated_stm(stm: Stm) -> Stm:
    return replace(stm, exp=map_bodies(_unlocated_body, stm.exp), loc=NOWHERE)
