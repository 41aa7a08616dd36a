"""What an expression of the parsed syntax means, by direct evaluation.

Everything is evaluated as written, from left to right, strictly. Types are looked at only for the sizes they name. The
type of a literal without a suffix is given by who wrote the program, by its place in the text; it is i64, the type of
sizes, where nothing is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from soac.frontend.source import atoms as a
from soac.frontend.source import syntax as s
from tests.support.source_programs import scalars
from tests.support.source_programs.patterns import bind, indexed, literal, of_type, project, replaced
from tests.support.source_programs.scalars import OPERATIONS, Failure
from tests.support.source_programs.state import Constant, Env, State, TooLong, Wrong
from tests.support.source_programs.values import Fun, Sum, Value, Vec, apply, first, same


def evaluate(st: State, node: s.Exp, env: Env) -> Value:
    """The value of an expression."""
    st.steps += 1
    if st.steps > st.most:
        raise TooLong
    return MEANINGS[type(node)](st, node, env)


# ---- names and literals -----------------------------------------------------------------------------------------


def _lit(st: State, node: a.Lit, env: Env) -> Value:
    return literal(st, node)


def _string(st: State, node: a.StringLit, env: Env) -> Value:
    return Vec([np.uint8(byte) for byte in node.value.encode()], np.uint8(0))


def _name(st: State, node: a.Ident, env: Env) -> Value:
    return lookup(st, node.name, env)


def lookup(st: State, name: Sequence[str], env: Env) -> Value:
    """The value of a name; a dotted one is a member of a module, or a field, or both."""
    at, found = 0, None
    module = env.module(name[0]) if len(name) > 1 else None
    while module is not None and found is None:
        at += 1
        found = module.value(name[at])
        module = module.module(name[at])
    if found is None:
        at, found = 0, env.value(name[0])
    if found is None:
        operator = operator_function(name[-1])
        if operator is None:
            raise Wrong(f"{'.'.join(name)} is not in scope")
        return operator
    for part in name[at + 1 :]:
        found = project(found, part)
    return found() if isinstance(found, Constant) else found


# ---- operators -----------------------------------------------------------------------------------------------------


def binary(op: str, x: Value, y: Value) -> Value:
    """An operator of the language on two values."""
    kind = scalars.NAMES.get(type(x))
    if kind is not None:
        f = OPERATIONS[kind].get(op)
        if f is not None:
            return f(x, y)
    match op:
        case "==":
            return same(x, y)
        case "!=":
            return not same(x, y)
        case "++":
            return Vec([*x, *y], first(x) if x or x.row is not None else first(y))
        case _:
            raise Wrong(f"{op} of {x!r:.60} and {y!r:.60}")


def operator_function(op: str) -> Fun | None:
    """An operator of the language as a function."""
    match op:
        case "|>":
            return Fun(2, lambda x, f: apply(f, x))
        case "<|":
            return Fun(2, apply)
        case ">->":
            return Fun(3, lambda f, g, x: apply(g, apply(f, x)))
        case "<-<":
            return Fun(3, lambda g, f, x: apply(g, apply(f, x)))
        case _:
            return None if op[0].isalpha() or op[0] == "_" else Fun(2, lambda x, y: binary(op, x, y))


def _operate(st: State, op: a.Operator, x: Value, y: Value, env: Env) -> Value:
    if len(op.name) == 1 and not op.backtick and op.name[0] not in st.operators:
        return apply(y, x) if op.name[0] == "|>" else apply(x, y) if op.name[0] == "<|" else _other(op.name[0], x, y)
    return apply(lookup(st, op.name, env), x, y)


def _other(op: str, x: Value, y: Value) -> Value:
    if op in (">->", "<-<"):
        composed = operator_function(op)
        assert composed is not None
        return apply(composed, x, y)
    return binary(op, x, y)


def _chain(st: State, node: s.Chain, env: Env) -> Value:
    value = evaluate(st, node.first, env)
    for op, exp in node.rest:
        name = op.name[0]
        if name == "&&" and op.name[0] not in st.operators and len(op.name) == 1:
            value = value and evaluate(st, exp, env)
        elif name == "||" and op.name[0] not in st.operators and len(op.name) == 1:
            value = value or evaluate(st, exp, env)
        else:
            value = _operate(st, op, value, evaluate(st, exp, env), env)
    return value


def _negate(st: State, node: s.Negate, env: Env) -> Value:
    x = evaluate(st, node.arg, env)
    return OPERATIONS[scalars.name_of(x)]["neg"](x)


def _not(st: State, node: s.Not, env: Env) -> Value:
    x = evaluate(st, node.arg, env)
    return OPERATIONS[scalars.name_of(x)]["!"](x)


def _left_section(st: State, node: s.LeftSection, env: Env) -> Value:
    x = evaluate(st, node.arg, env)
    return Fun(1, lambda y: _operate(st, node.op, x, y, env))


def _right_section(st: State, node: s.RightSection, env: Env) -> Value:
    y = evaluate(st, node.arg, env)
    return Fun(1, lambda x: _operate(st, node.op, x, y, env))


def _path_section(st: State, node: s.PathSection, env: Env) -> Value:
    def follow(value: Value) -> Value:
        for step in node.path:
            value = (
                project(value, step.field) if isinstance(step, a.FieldStep) else indexed(st, value, step.indices, env)
            )
        return value

    return Fun(1, follow)


# ---- functions -----------------------------------------------------------------------------------------------------


def function(
    st: State, params: tuple[s.Pat, ...], body: s.Exp, env: Env, sizes: tuple[str, ...], ret: s.TypeExp | None
) -> Fun:
    """A function by its patterns; `sizes` are its size parameters."""

    def run(*args: Value) -> Value:
        inner = Env(env)
        unbound = set(sizes)
        for pat, arg in zip(params, args, strict=True):
            bind(st, pat, arg, inner, unbound)
        return of_type(st, body, ret, inner) if ret is not None else evaluate(st, body, inner)

    return Fun(len(params), run)


def _lambda(st: State, node: s.Lambda, env: Env) -> Value:
    return function(st, node.params, node.body, env, (), node.ret)


def _call(st: State, node: s.Call, env: Env) -> Value:
    match node.function:
        case a.Ident(_, ("rearrange",)):
            assert isinstance(node.args[0], s.Tuple)
            order = [int(elem.value) for elem in node.args[0].elems if isinstance(elem, a.Lit)]
            return env.value("rearrange")(order, evaluate(st, node.args[1], env))
        case a.Ident(_, (("map" | "redomap" | "scanomap") as name,)) if len(node.args) > (2 if name == "map" else 4):
            return env.value(f"{name} of many")(*[evaluate(st, arg, env) for arg in node.args])
        case _:
            f = evaluate(st, node.function, env)
            return apply(f, *[evaluate(st, arg, env) for arg in node.args])


# ---- control -------------------------------------------------------------------------------------------------------


def _let(st: State, node: s.Let, env: Env) -> Value:
    for binding in node.bindings:
        inner = Env(env)
        match binding:
            case s.LetFun(_, name, tparams, params, ret, body):
                sizes = tuple([p.name for p in tparams if p.kind is a.TypeParamKind.SIZE])
                inner.values[name] = function(st, params, body, env, sizes, ret)
            case s.LetPat(sizes, pat, rhs):
                value = (
                    of_type(st, rhs, pat.type, env)
                    if isinstance(pat, s.PAscript) and not sizes
                    else evaluate(st, rhs, env)
                )
                bind(st, pat, value, inner, set(sizes))
        env = inner
    return evaluate(st, node.body, env)


def _if(st: State, node: s.If, env: Env) -> Value:
    return evaluate(st, node.then if evaluate(st, node.cond, env) else node.orelse, env)


def _match(st: State, node: s.Match, env: Env) -> Value:
    value = evaluate(st, node.scrutinee, env)
    for pat, body in node.cases:
        inner = Env(env)
        if bind(st, pat, value, inner, set()):
            return evaluate(st, body, inner)
    raise Wrong("no case matches")


def _loop(st: State, node: s.Loop, env: Env) -> Value:
    value = evaluate(st, node.init, env)

    def inner() -> Env:
        scope = Env(env)
        bind(st, node.pat, value, scope, set(node.sizes))
        return scope

    match node.form:
        case s.ForLess(_, name, bound):
            most = evaluate(st, bound, env)
            for k in range(int(most)):
                scope = inner()
                scope.values[name] = type(most)(k)
                value = evaluate(st, node.body, scope)
        case s.ForIn(pat, array):
            for x in evaluate(st, array, env):
                scope = inner()
                bind(st, pat, x, scope, set())
                value = evaluate(st, node.body, scope)
        case s.While(cond):
            scope = inner()
            while evaluate(st, cond, scope):
                value = evaluate(st, node.body, scope)
                scope = inner()
    return value


def _assert(st: State, node: s.Assert, env: Env) -> Value:
    if not evaluate(st, node.cond, env):
        raise Failure("R0103")
    return evaluate(st, node.body, env)


def _body(st: State, node: s.Attributed, env: Env) -> Value:
    return evaluate(st, node.body, env)


# ---- data ----------------------------------------------------------------------------------------------------------


def _array(st: State, node: s.Array, env: Env) -> Value:
    items = [evaluate(st, elem, env) for elem in node.elems]
    return Vec(items, items[0] if items else None)


def _range(st: State, node: s.Range, env: Env) -> Value:
    start = evaluate(st, node.start, env)
    second = None if node.second is None else evaluate(st, node.second, env)
    end = evaluate(st, node.end, env)
    kind = type(start)
    low, high = int(start), int(end)
    step = int(second) - low if second is not None else -1 if node.kind is a.RangeEnd.DOWN_TO else 1
    down = step < 0
    is_wrong = step == 0 or (low < high if down else low > high)
    is_wrong |= (node.kind is a.RangeEnd.UP_TO and down) or (node.kind is a.RangeEnd.DOWN_TO and not down)
    if is_wrong:
        raise Failure("R0104")
    closed = 1 if node.kind is a.RangeEnd.THROUGH else 0
    values = range(low, high + (-closed if down else closed), step)
    return Vec([kind(x) for x in values], kind(0))


def _index(st: State, node: s.Index, env: Env) -> Value:
    return indexed(st, evaluate(st, node.array, env), node.indices, env)


def _with(st: State, node: s.With, env: Env) -> Value:
    target = evaluate(st, node.target, env)
    value = evaluate(st, node.value, env)
    return replaced(st, target, node.path, value, env)


def _tuple(st: State, node: s.Tuple, env: Env) -> Value:
    return tuple([evaluate(st, elem, env) for elem in node.elems])


def _record(st: State, node: s.Record, env: Env) -> Value:
    return {name: evaluate(st, elem, env) for name, elem in node.fields}


def _constructor(st: State, node: s.Constr, env: Env) -> Value:
    return Sum(node.name, tuple([evaluate(st, arg, env) for arg in node.args]))


def _project(st: State, node: s.Project, env: Env) -> Value:
    return project(evaluate(st, node.record, env), node.field)


def _ascript(st: State, node: s.Ascript | s.Coerce, env: Env) -> Value:
    return of_type(st, node.exp, node.type, env)


def _open_in(st: State, node: s.OpenIn, env: Env) -> Value:
    module = env
    for part in node.module:
        module = module.module(part)
    inner = Env(env)
    for name, value in members(module).items():
        inner.values[name] = value
    return evaluate(st, node.body, inner)


def members(module: Env) -> dict[str, Value]:
    """The values of a module."""
    return dict(module.values)


MEANINGS: dict[type, Callable[[State, Any, Env], Value]] = {
    a.Lit: _lit, a.StringLit: _string, a.Ident: _name, s.Tuple: _tuple, s.Record: _record, s.Array: _array,
    s.Call: _call, s.Chain: _chain, s.Negate: _negate, s.Not: _not, s.Lambda: _lambda, s.LeftSection: _left_section,
    s.RightSection: _right_section, s.PathSection: _path_section, s.If: _if, s.Let: _let, s.Loop: _loop,
    s.Match: _match, s.Assert: _assert, s.Attributed: _body, s.Range: _range, s.Index: _index, s.Project: _project,
    s.With: _with, s.Ascript: _ascript, s.Coerce: _ascript, s.Constr: _constructor, s.OpenIn: _open_in,
}  # fmt: skip
