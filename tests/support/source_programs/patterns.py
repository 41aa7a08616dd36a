"""Patterns and paths, and types, which are looked at only for the sizes they name."""

from __future__ import annotations

from typing import Any

from soac.frontend.source import atoms as a
from soac.frontend.source import syntax as s
from tests.support.source_programs import scalars
from tests.support.source_programs.scalars import Failure, Scalar
from tests.support.source_programs.state import Constant, Env, State, Wrong
from tests.support.source_programs.values import Value, Vec, first, same, size


def literal(st: State, node: a.Lit) -> Scalar:
    """The value of a literal."""
    found = st.lits.get(node.id)
    if found is None:
        if isinstance(node.value, bool):
            prim = "bool"
        else:
            place = (node.loc.line, node.loc.col)
            prim = node.prim.value if node.prim else st.literals.get(place, "i64")
        found = st.lits[node.id] = scalars.literal(prim, node.value)
    return found


# ---- patterns and types ---------------------------------------------------------------------------------------------


def bind(st: State, pat: s.Pat, value: Value, env: Env, unbound: set[str]) -> bool:
    """Names of a pattern, and sizes that its types name; False where it does not match."""
    match pat:
        case a.PVar(_, name):
            env.values[name] = value
            return True
        case a.PWild():
            return True
        case a.PLit(lit):
            wanted = literal(st, lit)
            return same(wanted, value)
        case s.PTuple(elems):
            return all(bind(st, elem, part, env, unbound) for elem, part in zip(elems, value, strict=True))
        case s.PRecord(fields):
            return all(bind(st, elem, value[name], env, unbound) for name, elem in fields)
        case s.PConstr(_, name, args):
            return value.name == name and all(
                bind(st, arg, x, env, unbound) for arg, x in zip(args, value.args, strict=True)
            )
        case s.PAscript(inner, type):
            refine(st, type, value, env, unbound)
            return bind(st, inner, value, env, unbound)
        case s.PAttr(_, inner):
            return bind(st, inner, value, env, unbound)


def refine(st: State, type: Any, value: Value, env: Env, unbound: set[str]) -> None:
    """Binds the sizes that a type names, checks the others, and tells empty arrays what their rows would be.
    Of a row that there is not an element may be unknown."""
    match type:
        case s.TEArray() if value is None:
            pass
        case s.TEArray(wanted, elem):
            _refine_size(st, wanted, value, env, unbound)
            if value:
                refine(st, elem, value[0], env, unbound)
            elif isinstance(value, Vec):
                if value.row is None:
                    value.row = sample(st, elem, env)
                if value.row is not None:
                    refine(st, elem, value.row, env, unbound)
        case s.TETuple(elems) if isinstance(value, tuple):
            for elem, part in zip(elems, value, strict=True):
                refine(st, elem, part, env, unbound)
        case s.TERecord(fields) if isinstance(value, dict):
            for name, elem in fields:
                refine(st, elem, value[name], env, unbound)
        case s.TEUnique(elem):
            refine(st, elem, value, env, unbound)
        case s.TEExists(sizes, inner):
            refine(st, inner, value, Env(env), unbound | set(sizes))
        case a.TEName() | s.TEApply():
            given = _abbreviation(st, type, env, unbound)
            if given is not None:
                refine(st, given[0], value, given[1], set())
        case _:
            pass


def _refine_size(st: State, wanted: s.Exp | None, value: Vec, env: Env, unbound: set[str]) -> None:
    match wanted:
        case None:
            return
        case a.Ident(_, (name,)) if name in unbound:
            unbound.discard(name)
            env.values[name] = size(len(value))
        case _:
            if st.evaluate(st, wanted, env) != len(value):
                raise Failure("R0105")


def _abbreviation(st: State, type: Any, env: Env, unbound: set[str]) -> tuple[Any, Env] | None:
    """The right-hand side that an abbreviation has, and where its names mean something."""
    name = type.name
    found = env
    for part in name[:-1]:
        found = found.module(part)
        if found is None:
            return None
    entry = found.type(name[-1])
    if entry is None:
        return None
    params, right, home = entry
    inner = Env(home)
    given = type.args if isinstance(type, s.TEApply) else ()
    for param, arg in zip(params, given, strict=False):
        if isinstance(arg, s.TESize):
            if arg.size is None:
                continue
            match arg.size:
                case a.Ident(_, (size_name,)) if size_name in unbound:
                    return None
                case exp:
                    inner.values[param.name] = st.evaluate(st, exp, env)
        else:
            inner.types[param.name] = ((), arg, env)
    return right, inner


def sample(st: State, type: Any, env: Env) -> Value:
    """An element of a type, None where it cannot be known."""
    match type:
        case a.TEName((name,)) if name in scalars.TYPES and env.type(name) is None:
            return scalars.zero(name)
        case s.TEArray(a.Ident(_, (name,)), elem) if env.value(name) is None:
            return None
        case s.TEArray(None, elem):
            return None
        case s.TEArray(wanted, elem):
            row = sample(st, elem, env)
            return Vec([row] * int(st.evaluate(st, wanted, env)), row)
        case s.TETuple(elems):
            return tuple([sample(st, elem, env) for elem in elems])
        case s.TERecord(fields):
            return {name: sample(st, elem, env) for name, elem in fields}
        case a.TEName() | s.TEApply():
            given = _abbreviation(st, type, env, set())
            return None if given is None else sample(st, *given)
        case _:
            return None


def of_type(st: State, node: s.Exp, type: Any, env: Env) -> Value:
    """The value of an expression that is said to be of a type; where its sizes come from the type alone, from there."""
    match node, type:
        case s.Call(function=a.Ident(name=("unflatten",)), args=(exp,)), s.TEArray(n, s.TEArray(m, _)) if n and m:
            flat, rows, columns = st.evaluate(st, exp, env), st.evaluate(st, n, env), st.evaluate(st, m, env)
            value = unflattened(flat, int(rows), int(columns))
        case s.Call(function=a.Ident(name=("rep",)), args=(exp,)), s.TEArray(n, _) if n:
            value = Vec([st.evaluate(st, exp, env)] * int(st.evaluate(st, n, env)), st.evaluate(st, exp, env))
        case s.Call(function=a.Ident(name=("split",)), args=(exp,)), s.TETuple((s.TEArray(n, _), _)) if n:
            xs, at = st.evaluate(st, exp, env), int(st.evaluate(st, n, env))
            value = (Vec(xs[:at], first(xs)), Vec(xs[at:], first(xs)))
        case _:
            value = st.evaluate(st, node, env)
    refine(st, type, value, env, set())
    return value


def unflattened(flat: Vec, rows: int, columns: int) -> Vec:
    """Rows of an array."""
    if rows * columns != len(flat) or rows < 0 or columns < 0:
        raise Failure("R0105")
    row = Vec([first(flat)] * columns, first(flat))
    return Vec([Vec(flat[k * columns : (k + 1) * columns], first(flat)) for k in range(rows)], row)


# ---- paths -----------------------------------------------------------------------------------------------------------


def project(value: Value, name: str) -> Value:
    """A field."""
    value = value() if isinstance(value, Constant) else value
    return value[int(name)] if isinstance(value, tuple) else value[name]


def indexed(st: State, xs: Value, indices: tuple[s.DimIndex, ...], env: Env) -> Value:
    """What `xs[..]` holds."""
    if not indices:
        return xs
    match indices[0]:
        case s.Point(index):
            k = int(st.evaluate(st, index, env))
            if not 0 <= k < len(xs):
                raise Failure("R0101")
            return indexed(st, xs[k], indices[1:], env)
        case s.SliceIndex():
            places = _places(st, indices[0], len(xs), env)
            others = indices[1:]
            row = first(xs)
            row = row if row is None or not others else indexed(st, row, others, env)
            return Vec([indexed(st, xs[k], others, env) for k in places], row)


def _places(st: State, part: s.SliceIndex, count: int, env: Env) -> range:
    step = 1 if part.stride is None else int(st.evaluate(st, part.stride, env))
    start = int(st.evaluate(st, part.start, env)) if part.start else (0 if step > 0 else count - 1)
    end = int(st.evaluate(st, part.end, env)) if part.end else (count if step > 0 else -1)
    fits = 0 <= start <= end <= count if step > 0 else -1 <= end <= start < count
    if step == 0 or not fits:
        raise Failure("R0101")
    return range(start, end, step)


def replaced(st: State, target: Value, path: tuple[s.Step, ...], value: Value, env: Env) -> Value:
    """A copy with what stands at the end of a path replaced."""
    match path:
        case ():
            return value
        case (a.FieldStep(name), *rest):
            new = replaced(st, project(target, name), tuple(rest), value, env)
            if isinstance(target, tuple):
                return (*target[: int(name)], new, *target[int(name) + 1 :])
            return {**target, name: new}
        case (s.IndexStep(indices), *rest):
            return _stored(st, target, indices, tuple(rest), value, env)
        case _:
            raise Wrong("a path")


def _stored(
    st: State, xs: Vec, indices: tuple[s.DimIndex, ...], rest: tuple[s.Step, ...], value: Value, env: Env
) -> Value:
    if not indices:
        return replaced(st, xs, rest, value, env)
    copy = Vec(xs, xs.row)
    match indices[0]:
        case s.Point(index):
            k = int(st.evaluate(st, index, env))
            if not 0 <= k < len(xs):
                raise Failure("R0101")
            copy[k] = _stored(st, xs[k], indices[1:], rest, value, env)
        case s.SliceIndex():
            places = _places(st, indices[0], len(xs), env)
            if len(places) != len(value):
                raise Failure("R0105")
            for k, x in zip(places, value, strict=True):
                copy[k] = _stored(st, xs[k], indices[1:], rest, x, env)
    return copy
