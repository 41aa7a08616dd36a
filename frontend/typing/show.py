"""Types and size expressions as a reader writes them, for messages."""

from __future__ import annotations

from ...ir.types import Prim
from ..source import syntax as s
from ..source.atoms import Ident, Lit
from ..source.types import (
    Paths,
    Size,
    SizeConst,
    SizeExp,
    SizeVar,
    TArray,
    TFun,
    TOpaque,
    TPrim,
    TRecord,
    TSum,
    TVar,
    Ty,
)
from .constraints import FLOATS, INTS, NUMBERS, SCALARS, SIGNED
from .sizes import Shape
from .unify import Solver

MAX_DEPTH = 24  # a deeper type is cut short in messages
LETTERS = "abcdefghijklmnopqrstuvwxyz"
CLASSES = {
    NUMBERS: "number",
    INTS: "integer",
    SIGNED: "signed integer",
    FLOATS: "float",
    SCALARS: "scalar",
    INTS | {Prim.BOOL}: "integer or bool",
}
"""How a message calls a type of which only the operations on it are known."""


class Shower:
    """Prints the types of one message: unknown types get letters, the same unknown the same letter."""

    __slots__ = ("letters", "solver")

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.letters: dict[int, str] = {}

    def type(self, ty: Ty) -> str:
        return self._type(ty, 0)

    def _type(self, ty: Ty, depth: int, unique: Paths = ()) -> str:
        """`ty`, with a `*` before its parts at `unique`."""
        ty = self.solver.resolve(ty)
        if depth > MAX_DEPTH:
            return "…"
        if () in unique and not self.solver.is_scalar(ty):
            return f"*{self._atom(ty, depth)}"
        match ty:
            case TPrim(prim):
                return prim.value
            case TVar("", _):
                return self._unknown(ty)
            case TVar(name, i):
                return self._letter(i) if name == f"t{i}" else name
            case TArray(size, elem):
                return f"[{self.size(size)}]{self._atom(elem, depth + 1)}"
            case TRecord(fields):
                return self._record(fields, depth + 1, unique)
            case TFun():
                dom = self._type(ty.dom, depth + 1, ty.consumes_at if ty.consumes else ())
                if isinstance(self.solver.resolve(ty.dom), TFun | TSum) and not dom.startswith("*"):
                    dom = f"({dom})"
                if ty.name is not None:
                    dom = f"({ty.name}: {dom})"
                return f"{dom} -> {self._type(ty.cod, depth + 1, ty.fresh_at if ty.fresh else ())}"
            case TSum(constructors):
                parts = ["".join([f"#{c}", *(f" {self._atom(t, depth + 1)}" for t in ts)]) for c, ts in constructors]
                return " | ".join(parts)
            case TOpaque(name, _, types, sizes):
                given = [*(f"[{self.size(n)}]" for n in sizes), *(self._atom(t, depth + 1) for t in types)]
                return " ".join([name, *given])

    def _atom(self, ty: Ty, depth: int) -> str:
        text = self._type(ty, depth)
        found = self.solver.resolve(ty)
        applied = isinstance(found, TOpaque) and (found.types or found.sizes)
        return f"({text})" if applied or isinstance(found, TFun | TSum) else text

    def _record(self, fields: tuple[tuple[str, Ty], ...], depth: int, unique: Paths) -> str:
        parts = [(f, self._type(t, depth, tuple([path[1:] for path in unique if path[0] == f]))) for f, t in fields]
        if is_tuple(fields):
            return f"({', '.join(text for _, text in parts)})"
        return f"{{{', '.join(f'{name}: {text}' for name, text in parts)}}}"

    def _unknown(self, var: TVar) -> str:
        need = self.solver.needs.get(var.id)
        if need is not None and need.prims is not None:
            return CLASSES.get(need.prims) or " or ".join(p.value for p in Prim if p in need.prims)
        if need is not None and need.fields:
            return f"{{{', '.join(name for name, _ in need.fields)}, ..}}"
        if need is not None and need.constructors:
            return " | ".join([f"#{name}" for name, _ in need.constructors] + [".."])
        return self._letter(var.id)

    def _letter(self, var: int) -> str:
        if var not in self.letters:
            self.letters[var] = LETTERS[len(self.letters) % 26]
        return self.letters[var]

    def size(self, size: Size) -> str:
        """A size as written; empty for one that has no name."""
        size = self.solver.size(size)
        shape = self.solver.shape_of(size)
        match size:
            case SizeExp(text, _):
                return text
            case SizeConst(value):
                return str(value)
            case SizeVar(name, i):
                if shape is not None:
                    return self._made(shape)
                # An invented name carries its id, which no reader wants to see.
                return "" if name[1:] == str(i) else name

    def _made(self, shape: Shape) -> str:
        """A size made up of others, as `n + 1`; empty where they have no name."""
        parts = [self.size(part) for part in shape.parts]
        if not all(parts):
            return ""
        inner = [f"({part})" if " " in part else part for part in parts]
        match shape.op:
            case ("Call", *_):
                return " ".join([parts[0], *inner[1:]])
            case ("Negate", *_):
                return f"-{inner[0]}"
            case (".", *names):
                return ".".join([inner[0], *names])
            case (op,) if len(parts) > 1:
                left = parts[-2] if op in ("+", "-") else inner[-2]
                return f"{left} {op} {inner[-1]}"
            case _:
                return ""


def is_tuple(fields: tuple[tuple[str, object], ...]) -> bool:
    """Whether these fields are written `(a, b)`."""
    return len(fields) != 1 and all(name == str(i) for i, (name, _) in enumerate(fields))


def show_exp(exp: s.Exp) -> str:
    """The text of a size expression: names, literals, operators and applications as written, the rest by its kind."""
    match exp:
        case Lit(value=value):
            return str(value).lower() if isinstance(value, bool) else str(value)
        case Ident(name=name):
            return ".".join(name)
        case s.Chain(first=first, rest=rest):
            return " ".join([_operand(first), *(f"{'.'.join(op.name)} {_operand(arg)}" for op, arg in rest)])
        case s.Call(function=function, args=args):
            return " ".join([_operand(function), *(_operand(arg) for arg in args)])
        case s.Negate(arg=arg):
            return f"-{_operand(arg)}"
        case s.Not(arg=arg):
            return f"!{_operand(arg)}"
        case s.Project(record=record, field=field):
            return f"{_operand(record)}.{field}"
        case s.Ascript(exp=inner) | s.Coerce(exp=inner) | s.Attributed(body=inner):
            return show_exp(inner)
        case s.Tuple(elems=elems):
            return f"({', '.join(show_exp(e) for e in elems)})"
        case s.Index(array=array, indices=indices) if all(isinstance(i, s.Point) for i in indices):
            points = ", ".join(show_exp(i.index) for i in indices if isinstance(i, s.Point))
            return f"{_operand(array)}[{points}]"
        case _:
            return f"<expression {exp.loc.line}:{exp.loc.col}>"


def _operand(exp: s.Exp) -> str:
    text = show_exp(exp)
    return f"({text})" if isinstance(exp, s.Chain | s.Call | s.Negate | s.Not) else text
