"""Operators that work row by row: `λā b̄ → map g ā b̄`."""

from __future__ import annotations

from ...ir.core import Lambda, Param, Reduction, Replicate, Screma, Stm
from ...ir.records import dataclass
from ...ir.traverse import free_in_lambda
from ...ir.types import Atom, Name, Var
from ..context.nest import Flow
from ..context.widths import counts


@dataclass(frozen=True, slots=True)
class RowOperator:
    """`op = λā b̄ → map g (some of ā b̄)`, its neutral element a replicate: the width, g, and the rows' elements."""

    width: Atom
    g: Lambda
    params: tuple[Param, ...]
    arrays: tuple[Name, ...]
    picked: tuple[int, ...]
    neutral: tuple[Replicate, ...]


def has_row_operator(flow: Flow, op: Reduction) -> bool:
    """Whether an operator works on rows one by one (`row_operator`)."""
    return row_operator(flow, op) is not None


def row_width(flow: Flow, op: Reduction) -> Atom | None:
    """The width of the rows that an operator works on one by one; None for other operators."""
    row = row_operator(flow, op)
    return None if row is None else row.width


def row_operator(flow: Flow, op: Reduction, any_width: bool = False) -> RowOperator | None:
    """The operator as a map over its rows, if it is one; of few elements only with `any_width`."""
    match op.op.body.stms:
        case (Stm(pat, Screma(width, arrays, g, (), ()), (), _, _),):
            pass
        case _:
            return None
    own = {p.name for p in op.op.params}
    bound = {p.name: k for k, p in enumerate(pat)}
    if not set(arrays) <= own or own & free_in_lambda(g).keys():
        return None
    if (isinstance(width, Var) and width.name in own) or not (any_width or counts(flow, width)):
        return None
    picked = tuple(bound[a.name] for a in op.op.body.result if isinstance(a, Var) and a.name in bound)
    found = (_replicate(flow, atom) for atom in op.neutral)
    neutral = tuple(replicate for replicate in found if replicate is not None)
    if len(picked) != len(op.neutral) or len(neutral) != len(op.neutral):
        return None
    return RowOperator(width, g, op.op.params, arrays, picked, neutral)


def _replicate(flow: Flow, atom: Atom) -> Replicate | None:
    """What makes a neutral row: a statement outside of the nest, or one of the nest."""
    if not isinstance(atom, Var) or atom.name in flow.known.replicates:
        return flow.known.replicates[atom.name] if isinstance(atom, Var) else None
    deferred = flow.known.deferred.get(atom.name)
    return deferred.stm.exp if deferred is not None and isinstance(deferred.stm.exp, Replicate) else None
