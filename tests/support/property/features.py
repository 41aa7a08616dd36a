"""What a random program has: the features that every run must have in plenty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

from soac.ir.core import (
    Body,
    Exp,
    ForLoop,
    Hist,
    If,
    Lambda,
    Loop,
    PrimOp,
    Reduction,
    Scatter,
    Screma,
    Soac,
    Stm,
    Update,
)
from soac.ir.ops import COMMUTATIVE
from soac.ir.traverse import bodies, free_in_lambda, lambdas, reductions
from soac.ir.types import Const, Name, Var
from tests.support.property.generate import Case


class Feature(Enum):
    DEEP = "nest of depth 3 or more"
    DEEPEST = "nest of depth 4 or more"
    EMPTY = "empty array"
    SINGLE = "array of size 1"
    IRREGULAR = "width that varies over a nest"
    ORDERED = "operator that does not commute"
    ROWS = "operator on arrays"
    CAPTURED = "variable captured by a nest"
    TUPLE = "several results"
    LOOP = "loop between maps"
    BRANCH = "branch between maps"
    WRITE = "scatter or hist in a nest"
    TURNS = "loop in a nest whose trip count varies over it"
    CHOICE = "branch in a nest whose condition varies over it"
    UPDATE = "update in place in a loop"


def features(case: Case) -> frozenset[Feature]:
    """The features of a program with its arguments."""
    fun = case.prog.functions[-1]
    sizes = {size for arg in case.args for size in getattr(arg, "shape", ())}
    parts = tuple(parts_of(fun.body, ()))
    given = frozenset(p.name for p in fun.params[:2])
    products = products_of(given, fun.body)
    fixed = bound_outside(fun.body) | {p.name for p in fun.params}
    tests: dict[Feature, Callable[[], bool]] = {
        Feature.DEEP: lambda: any(isinstance(exp, Soac) and sum(map(_is_soac, outer)) >= 2 for exp, outer in parts),
        Feature.DEEPEST: lambda: any(isinstance(exp, Soac) and sum(map(_is_soac, outer)) >= 3 for exp, outer in parts),
        Feature.EMPTY: lambda: 0 in sizes,
        Feature.SINGLE: lambda: any(arg.shape[:1] == (1,) for arg in case.args),
        Feature.IRREGULAR: lambda: any(_is_irregular(exp, outer, products) for exp, outer in parts),
        Feature.ORDERED: lambda: any(not commutes(op) for exp, _ in parts for op in _operators(exp)),
        Feature.ROWS: lambda: any(p.type.shape for exp, _ in parts for op in _operators(exp) for p in op.op.params),
        Feature.CAPTURED: lambda: any(_captures(exp, given) for exp, _ in parts),
        Feature.TUPLE: lambda: any(_results(exp) > 1 for exp, _ in parts),
        Feature.LOOP: lambda: any(_is_soac(exp) and _is_between(outer, Loop) for exp, outer in parts),
        Feature.BRANCH: lambda: any(_is_soac(exp) and _is_between(outer, If) for exp, outer in parts),
        Feature.WRITE: lambda: any(
            isinstance(exp, Hist | Scatter) and any(map(_is_soac, outer)) for exp, outer in parts
        ),
        Feature.TURNS: lambda: any(_turns_vary(exp, products) and any(map(_is_soac, outer)) for exp, outer in parts),
        Feature.CHOICE: lambda: any(_choice_varies(exp, fixed) and any(map(_is_soac, outer)) for exp, outer in parts),
        Feature.UPDATE: lambda: any(_updates(exp) for exp, _ in parts),
    }
    return frozenset(feature for feature, holds in tests.items() if holds())


def parts_of(body: Body, outer: tuple[Exp, ...]) -> Iterator[tuple[Exp, tuple[Exp, ...]]]:
    """Every compound expression, with those around it, outermost first."""
    for stm in body.stms:
        if isinstance(stm.exp, Soac | Loop | If):
            yield stm.exp, outer
            for inner in bodies(stm.exp):
                yield from parts_of(inner, (*outer, stm.exp))


def _is_soac(exp: Exp) -> bool:
    return isinstance(exp, Soac)


def _is_between(outer: tuple[Exp, ...], kind: type[Loop] | type[If]) -> bool:
    """Whether there is such a thing inside a SOAC."""
    soacs = [k for k, exp in enumerate(outer) if _is_soac(exp)]
    return any(isinstance(exp, kind) for exp in outer[soacs[0] + 1 :]) if soacs else False


def _operators(exp: Exp) -> tuple[Reduction, ...]:
    return reductions(exp) if isinstance(exp, Soac) else ()


def commutes(op: Reduction) -> bool:
    """Whether an operator is one commutative operation, on scalars or on rows."""
    match op.op.body.stms:
        case (Stm(exp=PrimOp(primitive)),):
            return primitive in COMMUTATIVE
        case (
            Stm(
                exp=Screma(map=Lambda(body=Body(stms=(Stm(exp=PrimOp(primitive)),)))),
            ),
        ):
            return primitive in COMMUTATIVE
        case _:
            return False


def _is_irregular(exp: Exp, outer: tuple[Exp, ...], products: frozenset[Name]) -> bool:
    """A width that is neither constant nor a product of the program's sizes, inside of a SOAC."""
    if not isinstance(exp, Screma | Hist | Scatter) or not any(map(_is_soac, outer)):
        return False
    return isinstance(exp.width, Var) and exp.width.name not in products


def bound_outside(body: Body) -> frozenset[Name]:
    """The names bound outside of all SOACs."""
    found: set[Name] = set()
    for stm in body.stms:
        found.update(p.name for p in stm.pat)
        if not isinstance(stm.exp, Soac):
            found.update(*map(bound_outside, bodies(stm.exp)))
    return frozenset(found)


def _turns_vary(exp: Exp, products: frozenset[Name]) -> bool:
    """A trip count that is neither constant nor a product of the program's sizes."""
    match exp:
        case Loop(form=ForLoop(_, Var(name))):
            return name not in products
        case _:
            return False


def _choice_varies(exp: Exp, fixed: frozenset[Name]) -> bool:
    return isinstance(exp, If) and isinstance(exp.cond, Var) and exp.cond.name not in fixed


def _updates(exp: Exp) -> bool:
    return isinstance(exp, Loop) and any(isinstance(stm.exp, Update) for stm in exp.body.stms)


def products_of(given: frozenset[Name], body: Body) -> frozenset[Name]:
    """The sizes given, and what is multiplied of them in a body and those inside of it."""
    found = set(given)
    for stm in body.stms:
        match stm.exp:
            case PrimOp(_, _, args) if all(isinstance(a, Const) or a.name in found for a in args):
                found.add(stm.pat[0].name)
            case exp:
                for inner in bodies(exp):
                    found |= products_of(frozenset(found), inner)
    return frozenset(found)


def _captures(exp: Exp, given: frozenset[Name]) -> bool:
    """A lambda that uses more than its parameters and the program's sizes."""
    return isinstance(exp, Soac) and any(set(free_in_lambda(f)) - given for f in lambdas(exp))


def _results(exp: Exp) -> int:
    match exp:
        case Screma(map=f):
            return len(f.ret)
        case Loop(params=params):
            return len(params)
        case If(then=then):
            return len(then.result)
        case _:
            return 1
