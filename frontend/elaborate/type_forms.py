"""Values in the form of types: a placeholder for each size, the same for the same size."""

from __future__ import annotations

from ...ir.errors import IRError
from ...ir.types import Atom, Name, Prim, Var, i64
from ..source.types import Size, SizeConst, SizeExp, SizeVar, TArray, TFun, TOpaque, TPrim, TRecord, TSum, TVar, Ty
from ..typing.sizes import ANY_SIZE
from .shapes import resolve_type
from .values import Arr, Component, Env, Rec, Sum, Value


def unrolled(type: Ty, most: int | None = None) -> tuple[list[TFun], Ty]:
    """The arrows of a function type, no more than `most`, and what it gives behind them."""
    arrows: list[TFun] = []
    while isinstance(type, TFun) and len(arrows) != most:
        arrows.append(type)
        type = type.cod
    return arrows, type


class TypeForms:
    """The forms of some types, and the placeholders so far."""

    def __init__(self) -> None:
        self.sizes: dict[SizeVar, Var] = {}
        self.next = -1

    def parameter(self, arrow: TFun, env: Env) -> Value:
        """The form of a parameter. A number that sizes speak of is their placeholder."""
        if arrow.dom == TPrim(Prim.I64) and arrow.name is not None:
            return Component(self.size(SizeVar(arrow.name, arrow.param_id)), Prim.I64)
        return self.value(arrow.dom, env)

    def value(self, type: Ty, env: Env) -> Value:
        """The form of a type; a function is nothing in it."""
        match type:
            case TPrim(prim):
                return Component(i64(0), prim)
            case TRecord(fields):
                return Rec(tuple([(name, self.value(field, env)) for name, field in fields]))
            case TArray(size, elem):
                return Arr(self.size(size), self.value(elem, env))
            case TSum(constructors):
                cases = [(name, tuple([self.value(arg, env) for arg in args])) for name, args in constructors]
                return Sum(Component(i64(0), Prim.I8), tuple(cases))
            case TFun():
                return Rec(())
            case TVar():
                known, home = resolve_type(type, env)
                return Rec(()) if isinstance(known, TVar) else self.value(known, home)
            case TOpaque():
                raise IRError("elaborate: an abstract type is left")

    def size(self, size: Size) -> Atom:
        match size:
            case SizeConst(value):
                return i64(value)
            case SizeVar() if size == ANY_SIZE:
                return self.fresh("n")
            case SizeVar(name):
                if size not in self.sizes:
                    self.sizes[size] = self.fresh(name)
                return self.sizes[size]
            case SizeExp():
                return self.fresh("n")

    def fresh(self, base: str) -> Var:
        """A placeholder: `parameters` puts a parameter in its place."""
        self.next -= 1
        return Var(Name(base if base.isidentifier() else "n", self.next))
