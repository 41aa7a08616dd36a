"""Expressions: one rule for each form, chosen here."""

from __future__ import annotations

from typing import Any

from ...ir.errors import Label
from ..source import syntax as s
from ..source.atoms import Hole, Ident, Lit, StringLit
from ..source.types import BOOL, Size, Ty
from .application import (
    infer_call,
    infer_chain,
    infer_ident,
    infer_left_section,
    infer_negate,
    infer_not,
    infer_right_section,
)
from .arrays import (
    infer_array,
    infer_index,
    infer_path_section,
    infer_project,
    infer_range,
    infer_record,
    infer_string,
    infer_tuple,
    infer_with,
    project,
)
from .attributes import check_attr
from .bindings import infer_if, infer_lambda, infer_let, infer_match
from .constraints import needs_constructor
from .errors import unknown
from .literals import literal_type
from .loops import infer_loop
from .scope import outermost
from .sizes import is_unknown
from .state import Pending, Work
from .type_expressions import Anonymous, resolve_type
from .unify import Solver


def start_work(first_id: int) -> Work:
    """A fresh inference, whose own ids begin at `first_id`."""
    work = Work(Solver(first_id), outermost(), _not_ready, Pending(), [], True, 0, {}, [], _not_ready)
    work.exp = lambda exp: infer_exp(work, exp)
    return work


def _not_ready(*_: object) -> Any:
    raise AssertionError("the inference is not set up")


def infer_exp(work: Work, exp: s.Exp) -> Ty:
    """The type of `exp`, recorded by its node id."""
    match exp:
        case Ident():
            return infer_ident(work, exp, project)
        case Lit():
            return literal_type(work, exp, negative=False)
        case s.Chain():
            return infer_chain(work, exp)
        case s.Call():
            return infer_call(work, exp)
        case s.Let():
            return infer_let(work, exp)
        case s.Lambda():
            return infer_lambda(work, exp)
        case s.Tuple():
            return infer_tuple(work, exp)
        case s.Index():
            return infer_index(work, exp)
        case s.If():
            return infer_if(work, exp)
        case s.With():
            return infer_with(work, exp)
        case s.Array():
            return infer_array(work, exp)
        case s.Project():
            return infer_project(work, exp)
        case s.Loop():
            return infer_loop(work, exp)
        case s.Negate():
            return infer_negate(work, exp)
        case s.Not():
            return infer_not(work, exp)
        case s.LeftSection():
            return infer_left_section(work, exp)
        case s.RightSection():
            return infer_right_section(work, exp)
        case s.PathSection():
            return infer_path_section(work, exp)
        case s.Range():
            return infer_range(work, exp)
        case s.Record():
            return infer_record(work, exp)
        case s.Match():
            return infer_match(work, exp)
        case StringLit():
            return infer_string(work, exp)
        case s.Assert():
            return _assert(work, exp)
        case s.Attributed():
            check_attr(work, exp.attr, exp.loc)
            return work.record(exp.id, work.exp(exp.body))
        case s.Ascript():
            return _ascript(work, exp)
        case s.Coerce():
            return _coerce(work, exp)
        case s.Constr():
            return _constructor(work, exp)
        case s.OpenIn():
            return _open_in(work, exp)
        case Hole():
            return work.record(exp.id, work.solver.unknown())


def _assert(work: Work, exp: s.Assert) -> Ty:
    work.expect(BOOL, work.exp(exp.cond), exp.cond.loc, "condition of `assert`")
    return work.record(exp.id, work.exp(exp.body))


def _ascript(work: Work, exp: s.Ascript) -> Ty:
    """`e : t`."""
    found = work.exp(exp.exp)
    ty = resolve_type(work, exp.type, Anonymous.FREE)
    work.expect(ty, found, exp.exp.loc, "ascribed expression", [Label(exp.type.loc, "the type it is said to have")])
    return work.record(exp.id, ty)


def _coerce(work: Work, exp: s.Coerce) -> Ty:
    """`e :> t`: the same type but for sizes, which are compared at run time; those left out in `t` are those of `e`."""
    found = work.exp(exp.exp)
    ty = resolve_type(work, exp.type, Anonymous.FREE)

    def keep(said: Size, size: Size) -> None:
        if is_unknown(work.solver.size(said)):
            work.solver.unify_size(said, size)

    label = Label(exp.type.loc, "the type it is to have")
    work.expect_with(ty, found, keep, exp.exp.loc, "coerced expression", [label])
    return work.record(exp.id, ty)


def _constructor(work: Work, exp: s.Constr) -> Ty:
    """`#some e`: a sum type that has at least this constructor."""
    args = tuple(work.exp(e) for e in exp.args)
    return work.record(exp.id, work.solver.unknown_with(needs_constructor(exp.name, args, exp.loc)))


def _open_in(work: Work, exp: s.OpenIn) -> Ty:
    """`m.(e)`."""
    module = work.scope.find_module(exp.module)
    if module is None:
        raise unknown("E0220", "module", ".".join(exp.module), exp.loc, work.scope.module_names())
    mark = work.scope.mark()
    work.scope.open(module)
    ty = work.exp(exp.body)
    work.scope.leave(mark)
    return work.record(exp.id, ty)
