r"""Kernel IR as text that `parse.py` reads back (`soac dev --emit=kernels`, `--after`, goldens).

    kernel sums_0(block; out: [f32], xs_1: [f32]; n_2: i64) lanes 16 x 4 peeled {
      let lo_3: i64 = mul_i64! block 256i64
      threads i_4 in lo_3..n_2 { .. }
    }

Types stand where variables are made; an index without one is i64, as is a bare number. `add_i64!` does not overflow
(`KOp.exact`); `let x: T = y` is a copy. What is left out has its default value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from ...ir.core import Level
from ...ir.errors import Loc
from ...ir.show import show_const
from ...ir.syntax import Hole, Line
from ...ir.types import Const, Prim
from . import nodes as kir
from .nodes import FailureSite, Kernel, KLambda, KStm, KVar, Operand, Rhs
from .syntax import BY_NODE, HINTS

Lines = list[str]


def show_kernel(kernel: Kernel) -> str:
    """A kernel: its arrays and scalars, its body, the places where it can fail."""
    lengths = {a: f"{n} " for a, n in kernel.lengths}
    arrays = ", ".join(f"{a.name}: [{lengths.get(a, '')}{a.prim.value}]" for a in kernel.arrays)
    unit = "" if kernel.collective is Level.BLOCK else f"{kernel.collective.value} "
    head = f"kernel {unit}{kernel.name}({kernel.block.name}; {arrays}; {_vars(kernel.scalars)}){_shape(kernel)}"
    sites = ["sites {", *(f"  #{k} {_site(site)}" for k, site in enumerate(kernel.sites)), "}"] if kernel.sites else []
    return "\n".join([head + " {", *_stms(kernel.body), "}", *sites])


def show_stm(stm: KStm) -> str:
    """The first line of a statement."""
    return next(_texts(stm))


def _shape(kernel: Kernel) -> str:
    """What passes have chosen for the printer of lanes."""
    text, lanes = "", kernel.lanes
    if lanes is not None:
        text = f" lanes {lanes.width} x {lanes.unroll}" + _flags(peeled=lanes.peeled)
    text += f" streams ({', '.join(a.name for a in kernel.streams)})" if kernel.streams else ""
    return text + (f" over ({', '.join(f'{r.name} {x.name}' for r, x in kernel.over)})" if kernel.over else "")


def _site(site: FailureSite) -> str:
    parts = (part.value if isinstance(part, Prim) else json.dumps(part) for part in site.parts)
    return " ".join([site.code, _loc(site.loc), *(f"from {_loc(call)}" for call in site.loc.calls), *parts])


def _loc(loc: Loc) -> str:
    return f"{json.dumps(loc.file)} {loc.line}:{loc.col}..{loc.end_line}:{loc.end_col}"


def _flags(**flags: bool) -> str:
    return "".join(f" {name}" for name, holds in flags.items() if holds)


# ---- operands and right-hand sides -------------------------------------------------------------------------------


def operand(o: Operand) -> str:
    """The name of a variable, or a constant; its type is shown if it is not i64."""
    match o:
        case KVar(name, _):
            return name
        case Const(Prim.I64, value):
            return str(value)
        case _:
            return show_const(o)


def _operands(os: tuple[Operand, ...]) -> str:
    return ", ".join(map(operand, os))


def _vars(vs: tuple[KVar, ...]) -> str:
    return ", ".join(f"{v.name}: {v.prim.value}" for v in vs)


def _rhs(rhs: Rhs) -> str:
    match rhs:
        case kir.KOp(op, prim, args, exact):
            return " ".join([f"{op.value}_{prim.value}{'!' if exact else ''}", *map(operand, args)])
        case kir.KConvert(source, target, arg):
            return operand(arg) if source is target else f"{source.value}_to_{target.value} {operand(arg)}"
        case kir.KLoad(array, index):
            return f"{array.name}[{operand(index)}]"
        case kir.KAligned(array, index, count):
            return f"aligned {count} {array.name}[{operand(index)}]"


# ---- statements --------------------------------------------------------------------------------------------------


def _stms(stms: tuple[KStm, ...]) -> Lines:
    """The lines of a list, one step further in."""
    return [f"  {line}" for stm in stms for line in _stm(stm)]


def _stm(stm: KStm) -> Lines:
    return list(_texts(stm))


def _texts(stm: KStm) -> Iterator[str]:
    """The lines of a statement, by its form (`syntax.py`)."""
    form = next(form for form in BY_NODE[type(stm)] if all(_is_there(stm, part) for part in form.parts))
    return (text for line in form.lines for text in _line(stm, line))


def _is_there(stm: KStm, part: str | Hole) -> bool:
    return isinstance(part, str) or part.kind != "made" or getattr(stm, part.field) is not None


def _line(stm: KStm, line: Line) -> Lines:
    """The lines that a line of a form becomes: none where it is a list without statements."""
    lines = [""]
    for part in line.parts:
        first, *rest = [part] if isinstance(part, str) else _field(stm, part) or [None]
        if first is None:
            return []
        lines = [*lines[:-1], lines[-1] + first, *rest]
    return [line.indent + text for text in lines]


def _field(stm: KStm, hole: Hole) -> Lines:
    value = getattr(stm, hole.field)
    match hole.kind:
        case "stms":
            return [text for inner in value for text in _stm(inner)]
        case "else":
            return [" else {", *_stms(value), "}"] if value else [""]
        case "lambda":
            return _lambda(value)
        case "step":
            head, *rest = _lambda(value) if value is not None else [""]
            return [f"step {head}", *rest] if head else []
        case "flag":
            return [f" {hole.field.removeprefix('is_')}" if value else ""]
        case "hint":
            return [f" {HINTS[hole.field]} {value}" if value > 1 else ""]
        case "operation":
            assert isinstance(stm, kir.Atomic | kir.Shuffle)
            return [f"{value.value}_{stm.prim.value}"]
        case kind:
            return [_TEXTS[kind](value)]


def _index(v: KVar) -> str:
    return v.name if v.prim is Prim.I64 else f"{v.name}: {v.prim.value}"


_TEXTS: dict[str, Callable[[Any], str]] = {
    "operand": operand,
    "variable": operand,
    "operands": lambda os: f"({_operands(os)})",
    "list": _operands,
    "made": lambda v: _vars((v,)),
    "mades": lambda vs: f"({_vars(vs)})",
    "index": _index,
    "array": lambda a: a.name,
    "arrays": lambda arrays: f"({', '.join(a.name for a in arrays)})",
    "new": lambda a: f"{a.name} = new {a.space.value} {a.prim.value}",
    "int": str,
    "rhs": _rhs,
    "what": lambda what: json.dumps(what) if isinstance(what, str) else _loc(what),
    "order": lambda order: "" if order is kir.Order.RELAXED else f" {order.name.lower()}",
    "unit": lambda unit: "" if unit is Level.THREAD else f" of {unit.value}s",
    "role": lambda role: "" if role is None else f" as {role.value}",
    "length": lambda length: "" if length is None else f" for {operand(length)}",
    "free": lambda place: "" if place is None else f" free to {operand(place)}",
    "how": lambda commutative: "commutative" if commutative else "ordered",
}


def _lambda(op: KLambda) -> Lines:
    return [f"({_vars(op.left)}) ({_vars(op.right)}) {{", *_stms(op.body), f"  {_operands(op.results)}", "}"]
