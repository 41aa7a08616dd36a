"""`if`, `match`, `&&`, `||` and `assert`: the parts of a program that may not be executed."""

from __future__ import annotations

from collections.abc import Callable

from ...ir.core import Convert, Copied, If, Param, PrimOp, Stm
from ...ir.errors import IRError, Loc
from ...ir.ops import Op, can_fail
from ...ir.types import I64, Atom, Const, Name, Prim, Type, Var
from ..source import syntax as s
from ..source.atoms import Ident, PLit, PVar, PWild
from .assertions import emit_assert, note_sizes
from .scalars import TRUE, conjunction
from .shapes import bind_pattern
from .state import (
    Builder,
    Certs,
    Stage,
    adopt,
    alias,
    body_of,
    constant,
    emit,
    emit_pattern,
    prim_op,
    union,
    with_names,
)
from .values import (
    Closure,
    Component,
    Env,
    Native,
    Partial,
    Rec,
    Sum,
    Value,
    arity_of,
    components,
    field_of,
    is_data,
    sizes_of,
    with_atoms,
    with_sizes,
)

Branch = Callable[[], Value]
MAX_SPECULATED = 16  # scalar operations worth doing to avoid a branch


def branch(st: Stage, cond: Atom, then: Branch, orelse: Branch, loc: Loc, hint: str) -> Value:
    """`if cond then .. else ..`; sizes in which the two values differ become results of the branch."""
    if isinstance(cond, Const):
        return then() if cond.value else orelse()
    with st.nested() as yes:
        left = then()
    with st.nested() as no:
        right = orelse()
    if not is_data(left):
        raise IRError(f"elaborate: a branch gives a function at {loc}")
    return _join(st, cond, (yes, left), (no, right), loc, hint)


def _join(st: Stage, cond: Atom, yes: tuple[Builder, Value], no: tuple[Builder, Value], loc: Loc, hint: str) -> Value:
    (then, left), (orelse, right) = yes, no
    sizes, chosen = _joined_sizes(st, then, sizes_of(left), sizes_of(right))
    pat = [Param(size.name, I64) for size, _, _ in chosen]
    values, result = with_names(st, hint or "if", with_sizes(left, sizes))
    bodies = [
        body_of(builder, [pair[side] for pair in chosen] + [atom for atom, _ in components(value)])
        for side, builder, value in ((1, then, left), (2, orelse, right))
    ]
    emit_pattern(st, (*pat, *values), If(cond, bodies[0], bodies[1]), loc)
    note_sizes(st, [size for size, _, _ in chosen])
    return result


def _joined_sizes(
    st: Stage, inner: Builder, left: list[Atom], right: list[Atom]
) -> tuple[list[Atom], list[tuple[Var, Atom, Atom]]]:
    """The sizes after the branches, and those that the branches choose: (new size, size left, size right)."""
    chosen: dict[tuple[Atom, Atom], Var] = {}
    sizes: list[Atom] = []
    for have, other in zip(left, right, strict=True):
        if have == other and not st.is_local(have, inner):
            sizes.append(have)
            continue
        if (have, other) not in chosen:
            chosen[have, other] = Var(st.param("n", I64).name)
        sizes.append(chosen[have, other])
    return sizes, [(new, have, other) for (have, other), new in chosen.items()]


# ---- short circuits -----------------------------------------------------------------------------------------------


def short_circuit(st: Stage, name: str, left: Value, right: Branch, loc: Loc, hint: str) -> Value:
    """`left && right`, `left || right`: where `right` is cheap and cannot fail there is no branch."""
    assert isinstance(left, Component)
    decided = Const(Prim.BOOL, name == "||")
    if left.atom == decided:
        return left
    with st.nested() as inner:
        value = right()
    assert isinstance(value, Component)
    if len(inner.stms) <= MAX_SPECULATED and all(_is_total(stm) for stm in inner.stms):
        adopt(st, inner.stms)
        op = Op.OR if name == "||" else Op.AND
        return Component(prim_op(st, op, Prim.BOOL, (left.atom, value.atom), loc, hint), Prim.BOOL)
    computed, fixed = body_of(inner, [value.atom]), body_of(Builder(st.builder), [decided])
    exp = If(left.atom, computed, fixed) if name == "&&" else If(left.atom, fixed, computed)
    return Component(emit(st, hint or "cond", exp, Type(Prim.BOOL, ()), loc), Prim.BOOL)


def _is_total(stm: Stm) -> bool:
    """A scalar operation that cannot fail."""
    match stm.exp:
        case PrimOp(op, prim):
            return not stm.certs and not can_fail(op, prim)
        case Convert() | Copied():
            return not stm.certs
        case _:
            return False


# ---- match --------------------------------------------------------------------------------------------------------


def match_cases(
    st: Stage, value: Value, cases: tuple[tuple[s.Pat, s.Exp], ...], env: Env, loc: Loc, hint: str
) -> Value:
    """The first case that matches; that one does is known from type checking, so the last is not tested."""
    pat, body = cases[0]
    cond = TRUE if len(cases) == 1 else matches(st, pat, value, loc)

    def taken() -> Value:
        inner = env.child()
        bind_pattern(st, pat, value, inner)
        return st.evaluate(body, inner, hint)

    return branch(st, cond, taken, lambda: match_cases(st, value, cases[1:], env, loc, hint), loc, hint)


def matches(st: Stage, pat: s.Pat, value: Value, loc: Loc) -> Atom:
    """Whether `pat` matches `value`, a truth value."""
    match pat:
        case PVar() | PWild():
            return TRUE
        case s.PAscript(inner) | s.PAttr(_, inner):
            return matches(st, inner, value, loc)
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            return conjunction(st, [matches(st, elem, field_of(value, name), loc) for name, elem in fields], loc)
        case PLit(literal):
            assert isinstance(value, Component)
            return prim_op(st, Op.EQ, value.prim, (value.atom, constant(value.prim, literal.value)), loc)
        case s.PConstr(_, name, args):
            return _matches_constructor(st, name, args, value, loc)


def _matches_constructor(st: Stage, name: str, args: tuple[s.Pat, ...], value: Value, loc: Loc) -> Atom:
    assert isinstance(value, Sum)
    position = [case for case, _ in value.cases].index(name)
    same = prim_op(st, Op.EQ, Prim.I8, (value.tag.atom, Const(Prim.I8, position)), loc)
    payload = value.cases[position][1]
    return conjunction(st, [same, *[matches(st, a, v, loc) for a, v in zip(args, payload, strict=True)]], loc)


# ---- assert -------------------------------------------------------------------------------------------------------


def assert_then(st: Stage, exp: s.Assert, env: Env, hint: str) -> Value:
    """`assert c e`: everything of `e` relies on `c`, which `#[unsafe]` takes on trust."""
    if st.unsafe:
        return st.evaluate(exp.body, env, hint)
    cond = st.evaluate(exp.cond, env, "")
    assert isinstance(cond, Component)
    certs = emit_assert(st, cond.atom, "R0103", _assert_parts(st, exp.cond, env), exp.loc)
    return relying_on(st, certs, lambda: st.evaluate(exp.body, env, hint), exp.loc)


def relying_on(st: Stage, certs: Certs, body: Branch, loc: Loc) -> Value:
    """The value of `body`, every statement of which relies on `certs`; so does the result itself."""
    builder = st.builder
    outer, start = builder.certs, len(builder.stms)
    builder.certs = union(outer, certs)
    value = body()
    if certs:
        relying = (stm for stm in builder.stms[start:] if set(certs) <= set(stm.certs))
        value = _relying(st, value, {param.name for stm in relying for param in stm.pat}, certs, loc)
    builder.certs = outer
    return value


def _relying(st: Stage, value: Value, fresh: set[Name], certs: Certs, loc: Loc) -> Value:
    """`value` that relies on `certs`, as the names `fresh` do already; of a function, what it gives."""
    if is_data(value):
        atoms = [
            atom if isinstance(atom, Var) and atom.name in fresh else alias(st, atom, type, certs, loc)
            for atom, type in components(value)
        ]
        return with_atoms(value, atoms)
    match value:
        case Rec(fields):
            return Rec(tuple([(name, _relying(st, field, fresh, certs, loc)) for name, field in fields]))
        case Sum(tag, cases):
            relying = [(n, tuple([_relying(st, arg, fresh, certs, loc) for arg in args])) for n, args in cases]
            return Sum(tag, tuple(relying))
        case Closure() | Native() | Partial():
            return Native(
                "relying",
                arity_of(value),
                lambda st, args, place, hint: relying_on(st, certs, lambda: st.apply(value, args, place, hint), loc),
            )
        case _:
            return value


def _assert_parts(st: Stage, cond: s.Exp, env: Env) -> tuple[str | Atom, ...]:
    """The condition as written, and the values of the scalars in it."""
    parts: list[str | Atom] = [f"assertion is false: {source_text(st, cond.loc)}"]
    for name, part in _scalars_in(cond, env):
        parts += [f"{', where' if len(parts) == 1 else ','} {name} = ", part.atom]
    return tuple(parts)


def source_text(st: Stage, loc: Loc) -> str:
    """The source at `loc`, on one line."""
    lines = st.texts.get(loc.file, "").splitlines()[loc.line - 1 : loc.end_line]
    if not lines:
        return ""
    lines[-1] = lines[-1][: loc.end_col - 1]
    lines[0] = lines[0][loc.col - 1 :]
    return " ".join(" ".join(lines).split())


def _scalars_in(exp: s.Exp, env: Env) -> list[tuple[str, Component]]:
    """The scalar variables of a condition of operators."""
    found: dict[str, Component] = {}
    waiting = [exp]
    while waiting:
        match waiting.pop(0):
            case Ident(_, (name,)):
                value = env.lookup(name)
                if isinstance(value, Component) and isinstance(value.atom, Var):
                    found[name] = value
            case s.Chain(_, first, rest):
                waiting += [first, *[operand for _, operand in rest]]
            case s.Not(_, arg) | s.Negate(_, arg):
                waiting.append(arg)
            case s.Call(_, _, args):
                waiting += args
            case s.Index(_, _, indices):
                waiting += [index.index for index in indices if isinstance(index, s.Point)]
            case _:
                pass
    return list(found.items())
