"""Operators of collectives in CUDA C: one operation of one component as an expression, any other as a lambda."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Prim
from ..kernel_ir.execution import Who
from ..kernel_ir.fma import contracted_step
from ..kernel_ir.nodes import BlockReduce, BlockScan, KLambda, KLet, KOp, KStm, KVar, Operand, TeamReduce
from ..kernel_ir.traverse import names_in, statements
from .inline_expressions import right_hand_side
from .names import with_names
from .ops import c_type, operand
from .text import Printer, apart_if, declare_shared, statements_text, words_in

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator: the types of its components; the text of `x op y` where that is one expression, else the name of a
    lambda `op(x.., y.., out..)`."""

    name: str
    types: Names
    text: Callable[[str, str], str] | None


def operator(p: Printer, op: KLambda) -> Operator:
    """Ready for use; `auto op = [&](T x, T y, T &out) { .. };` where it needs statements."""
    types, text = tuple(c_type(v.prim) for v in op.left), expression_of(op)
    if text is not None:
        return Operator("", types, text)
    name, outs = p.fresh("op"), tuple(p.fresh("out") for _ in types)
    params = [f"{c_type(v.prim)} {v.name}" for v in (*op.left, *op.right)]
    params += [f"{t} &{out}" for t, out in zip(types, outs, strict=True)]
    with lambda_block(p, f"auto {name} = [&]({', '.join(params)})"):
        p.run(p, op.body, Who.EACH)
        for out, result in zip(outs, op.results, strict=True):
            p.line(f"{out} = {operand(result)};")
    return Operator(name, types, None)


def expression_of(op: KLambda) -> Callable[[str, str], str] | None:
    """The text of an operator that is one operation in which each operand stands once, and is evaluated in any case:
    an operand may be a shuffle, which all threads of a warp must come to, and `&&` would leave some of them behind."""
    match op:
        case KLambda((x,), (y,), (KLet(var, KOp() as rhs),), (result,)) if result == var:
            used = list(names_in(rhs))
            if rhs.prim is Prim.BOOL and rhs.op in (Op.AND, Op.OR):
                return None
            if used.count(x.name) > 1 or used.count(y.name) > 1:
                return None
            same = {name: name for name in used}
            return lambda left, right: right_hand_side(with_names(rhs, same | {x.name: left, y.name: right}))
        case _:
            return None


@contextmanager
def lambda_block(p: Printer, head: str) -> Iterator[None]:
    """`head { .. };`: the body of a lambda, with its semicolon."""
    with p.block(head):
        yield
    p.lines[-1] += ";"


def declared(p: Printer, types: Names, base: str, values: tuple[Operand, ...] | None = None) -> Names:
    """Variables, one for each component."""
    names = tuple(p.fresh(base) for _ in types)
    inits = [f" = {operand(v)}" for v in values] if values is not None else [""] * len(types)
    for t, name, init in zip(types, names, inits, strict=True):
        p.line(f"{t} {name}{init};")
    return names


def constants(p: Printer, types: Names, base: str, values: Names) -> Names:
    """Variables that do not change."""
    names = tuple(p.fresh(base) for _ in types)
    for t, name, value in zip(types, names, values, strict=True):
        p.line(f"const {t} {name} = {value};")
    return names


def shared(p: Printer, types: Names, base: str, size: int | None = None) -> Names:
    """Variables in shared memory, or arrays of `size` elements, one for each component."""
    names = tuple(p.fresh(base) for _ in types)
    for t, name in zip(types, names, strict=True):
        declare_shared(p, t, name, size)
    return names


@contextmanager
def results(p: Printer, outs: tuple[KVar, ...]) -> Iterator[None]:
    """Variables, to which a block of their own gives values."""
    for out in outs:
        p.line(f"{c_type(out.prim)} {out.name};")
    with p.block(""):
        yield


def define(p: Printer, variables: tuple[KVar, ...], values: Names) -> None:
    """Variables of the kernel that do not change."""
    for var, value in zip(variables, values, strict=True):
        p.line(f"const {c_type(var.prim)} {var.name} = {value};")


def assign(p: Printer, names: Names, values: Names) -> None:
    """`name = value;` for each component, one after the other."""
    for name, value in zip(names, values, strict=True):
        p.line(f"{name} = {value};")


def texts(values: tuple[Operand, ...]) -> Names:
    """Operands as C, one for each component."""
    return tuple(operand(v) for v in values)


def step(p: Printer, op: Operator, target: Names, left: Names, right: Names) -> None:
    """`target = left op right`; it may be one of them."""
    if op.text is not None:
        p.line(f"{target[0]} = {op.text(left[0], right[0])};")
        return
    outs = declared(p, op.types, "both")
    p.line(f"{op.name}({', '.join((*left, *right, *outs))});")
    assign(p, target, outs)


def take_in(p: Printer, op: KLambda, acc: Names, body: tuple[KStm, ...], values: tuple[Operand, ...]) -> None:
    """`body; acc = acc op values`, a product that feeds a sum added unrounded (`kernel_ir/fma.py`)."""
    fold = contracted_step(op, body, values, halves=True)
    match fold:
        case KLambda((x,), (y,), (KLet(var, KOp() as rhs),), (result,)) if result == var:
            used = set(names_in(rhs))
            p.run(p, body if y.name in used else tuple(s for s in body if not _only_feeds(s, body, values)), Who.EACH)
            same = {name: name for name in used} | {x.name: acc[0], y.name: operand(values[0])}
            p.line(f"{acc[0]} = {right_hand_side(with_names(rhs, same))};")
        case _:
            p.run(p, body, Who.EACH)
            define(p, (*fold.left, *fold.right), (*acc, *texts(values)))
            p.run(p, fold.body, Who.EACH)
            assign(p, acc, texts(fold.results))


def own_value(p: Printer, op: Operator, stm: BlockReduce | BlockScan | TeamReduce, inside: str) -> Names:
    """The element of a thread where it is `inside`, else the neutral one."""
    value = declared(p, op.types, "value", stm.neutral)
    with apart_if(p, inside, stm.body):
        statements_text(p, stm.body, Who.EACH)
        assign(p, value, texts(stm.values))
    return value


def _only_feeds(stm: KStm, body: tuple[KStm, ...], values: tuple[Operand, ...]) -> bool:
    """A product that is nothing but the value."""
    if not isinstance(stm, KLet) or stm.var not in values:
        return False
    others = (s for s in statements(body) if s is not stm)
    return not any(stm.var.name in words_in(other) for other in others)
