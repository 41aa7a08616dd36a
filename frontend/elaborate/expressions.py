"""The evaluator: what each expression of the source stands for, and the core statements it takes."""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import NO_DEFAULT, ArrayLit
from ...ir.depth import too_deep
from ...ir.errors import IRError, Loc
from ...ir.ops import Op
from ...ir.types import Atom, Const, Prim, Type, i64, scalar
from ..source import syntax as s
from ..source.atoms import FieldStep, Hole, Ident, Lit, Operator, Qual, StringLit
from ..source.declarations import ValDec
from ..source.types import Instance, TFun, TPrim, TSum, Ty, field_key
from .assertions import emit_assert
from .branches import assert_then, branch, match_cases, relying_on, short_circuit
from .calls import apply
from .indexing import index_value, range_value, update_value
from .inline import instantiated
from .intrinsics import intrinsic
from .loops import loop_value
from .scalars import FALSE, complement, find_module, negate
from .shapes import (
    bind_pattern,
    blank,
    blank_function,
    check_type,
    coerce_like,
    filled,
    keep_needed,
    name_of_pattern,
    names_of_pattern,
    note_result,
    resolve_type,
    settle,
    tells_sizes,
)
from .state import Stage, attach_attr, constant, convert, emit, prim_op, size_param
from .values import (
    Arr,
    Closure,
    Component,
    Definition,
    Env,
    Native,
    Open,
    Rec,
    Sum,
    Use,
    Value,
    atom_of,
    atoms_of,
    components,
    field_of,
    is_data,
    tuple_of,
    with_atoms,
)

MOST_EVALUATIONS = 1500
"""Expressions that are evaluated one inside another, through calls."""


def evaluate(st: Stage, exp: s.Exp, env: Env, hint: str) -> Value:
    """The value of `exp`; `hint` is a name for its result, or empty."""
    st.evaluations += 1
    if st.evaluations > MOST_EVALUATIONS:
        raise too_deep("calls and expressions are", st.at(exp.loc), MOST_EVALUATIONS)
    st.here = exp.loc
    value = _value(st, exp, env, hint)
    st.evaluations -= 1
    return value


def _value(st: Stage, exp: s.Exp, env: Env, hint: str) -> Value:
    match exp:
        case Lit():
            return _literal(st, exp)
        case Ident():
            return _ident(st, exp, env)
        case s.Call(_, function, args, loc):
            callee = evaluate(st, function, env, "")
            value = apply(st, callee, tuple([evaluate(st, arg, env, "") for arg in args]), loc, hint)
            note_result(st, st.typed.types.get(exp.id), value, env)
            return value
        case s.Chain():
            return _chain(st, exp, env, hint)
        case s.Let():
            return _let(st, exp, env, hint)
        case s.Lambda():
            return Closure(exp, env, None)
        case s.If(_, cond, then, orelse, loc):
            return branch(
                st,
                _atom(st, cond, env),
                lambda: evaluate(st, then, env, hint),
                lambda: evaluate(st, orelse, env, hint),
                loc,
                hint,
            )
        case s.Index(_, array, indices, loc):
            return index_value(st, evaluate(st, array, env, ""), indices, env, loc, hint)
        case s.Tuple(_, elems):
            return tuple_of(*[evaluate(st, elem, env, hint) for elem in elems])
        case s.Record(_, fields):
            return _record([(name, evaluate(st, field, env, hint or name)) for name, field in fields])
        case s.Project(_, record, field):
            return field_of(evaluate(st, record, env, ""), field)
        case s.Loop():
            return loop_value(st, exp, env, hint)
        case _:
            return _rarer(st, exp, env, hint)


def _rarer(st: Stage, exp: s.Exp, env: Env, hint: str) -> Value:
    """The less frequent expressions."""
    match exp:
        case s.Negate(_, arg, loc):
            return negate(st, evaluate(st, arg, env, ""), loc, hint)
        case s.Not(_, arg, loc):
            return complement(st, evaluate(st, arg, env, ""), loc, hint)
        case s.Array():
            return _array_literal(st, exp, env, hint)
        case StringLit(_, text, loc):
            return _scalars([Const(Prim.U8, byte) for byte in text.encode()], Prim.U8, st, loc, hint)
        case s.LeftSection(_, arg, op, loc):
            return apply(st, _operator(st, op, env), (evaluate(st, arg, env, ""),), loc, "")
        case s.RightSection(_, op, arg):
            return _right_section(_operator(st, op, env), evaluate(st, arg, env, ""))
        case s.PathSection(_, path, loc):
            return Native("path", 1, lambda st, args, _, name: _follow(st, args[0], path, env, loc, name))
        case s.Match(_, scrutinee, cases, loc):
            return match_cases(st, evaluate(st, scrutinee, env, ""), cases, env, loc, hint)
        case s.Assert():
            return assert_then(st, exp, env, hint)
        case s.Attributed():
            return _attributed(st, exp, env, hint)
        case s.Range():
            return range_value(st, exp, env, hint)
        case s.With():
            return _updated(st, exp, env, hint)
        case s.Ascript(_, inner, type, loc) | s.Coerce(_, inner, type, loc):
            return check_type(st, evaluate(st, inner, env, hint), type, env, "the array", loc)
        case s.Constr():
            return _constructor(st, exp, env)
        case s.OpenIn(_, module, body):
            return evaluate(st, body, env.opened(find_module(env, module)), hint)
        case Hole(_, loc):
            return _hole(st, st.typed.types[exp.id], env, loc)
        case _:
            raise IRError(f"elaborate: unknown expression {exp.__class__.__name__}")


def _atom(st: Stage, exp: s.Exp, env: Env) -> Atom:
    """The atom of a scalar expression."""
    return atom_of(evaluate(st, exp, env, ""))


# ---- names and literals -------------------------------------------------------------------------------------------


def _literal(st: Stage, lit: Lit) -> Component:
    prim = lit.prim
    if prim is None:
        type = st.typed.types[lit.id]
        assert isinstance(type, TPrim)
        prim = type.prim
    return Component(constant(prim, lit.value), prim)


def _ident(st: Stage, exp: Ident, env: Env) -> Value:
    """A name, perhaps of a module, then projections."""
    taken = st.typed.resolved.get(exp.id, 1) if len(exp.name) > 1 else 1
    if exp.id in st.typed.recursive:
        return _recursive(st, exp.id, env)
    value = _use(st, _named(env, exp.name[:taken], exp.loc), exp.id, env, exp.loc)
    for field in exp.name[taken:]:
        value = field_of(value, field)
    return value


def _recursive(st: Stage, node: int, env: Env) -> Value:
    """A function inside of its own definition, whose type parameters are what they are there."""
    found = env.lookup(st.typed.recursive[node])
    assert isinstance(found, Definition)
    types: dict[str, Ty] = {var.name: var for var in st.typed.schemes[found.dec.id].types}
    instance = st.typed.instances.get(node)
    sizes = {} if instance is None else instance.sizes
    return _definition(st, found, Use(Instance(types, sizes), env))


def _named(env: Env, name: Qual, loc: Loc) -> Value:
    path, last = name[:-1], name[-1]
    found = find_module(env, path).values.get(last) if path else env.lookup(last)
    if found is None:
        raise IRError(f"elaborate: `{'.'.join(name)}` is not in scope at {loc}")
    return found


def _use(st: Stage, value: Value, node: int, env: Env, loc: Loc) -> Value:
    """`value` where it is mentioned: a definition becomes what it defines, for the instance of this use."""
    match value:
        case Definition():
            return _definition(st, value, _use_at(st, node, env))
        case Closure(fun) if isinstance(fun, s.LetFun) and value.use is None:
            use = _use_at(st, node, env)
            return value if use is None else replace(value, use=use)
        case Open():
            return settle(st, value, loc)
        case _:
            return value


def _use_at(st: Stage, node: int, env: Env) -> Use | None:
    instance = st.typed.instances.get(node)
    return None if instance is None else Use(instance, env)


def _definition(st: Stage, definition: Definition, use: Use | None) -> Value:
    dec = definition.dec
    if any(attr.name == "intrinsic" for attr in dec.attrs):
        return intrinsic(dec.name, len(dec.params), dec.loc)
    closure = Closure(dec, definition.env, use)
    if dec.params:
        return closure
    if dec.tparams or use is not None:
        return constant_of(st, closure)
    key = ("constant", dec.id)
    if key not in st.memo:
        with st.apart(st.globals):
            st.memo[key] = constant_of(st, closure)
    return st.memo[key]  # type: ignore[return-value]


def constant_of(st: Stage, closure: Closure) -> Value:
    """The value of a definition without parameters, computed here."""
    dec = closure.fun
    assert isinstance(dec, ValDec)
    env = instantiated(st, closure)
    value = evaluate(st, dec.body, env, dec.name)
    return value if dec.ret is None else check_type(st, value, dec.ret, env, "the constant", dec.loc)


# ---- operators ----------------------------------------------------------------------------------------------------


def _operator(st: Stage, op: Operator, env: Env) -> Value:
    return _use(st, _named(env, op.name, op.loc), op.id, env, op.loc)


def _chain(st: Stage, exp: s.Chain, env: Env, hint: str) -> Value:
    """`a + b - c`, from left to right."""
    value = evaluate(st, exp.first, env, "")
    last = len(exp.rest) - 1
    for i, (op, operand) in enumerate(exp.rest):
        name = hint if i == last else ""
        function = _operator(st, op, env)
        if isinstance(function, Native) and function.name in {"&&", "||"}:
            right = operand
            value = short_circuit(st, function.name, value, lambda e=right: evaluate(st, e, env, ""), op.loc, name)
        else:
            value = apply(st, function, (value, evaluate(st, operand, env, "")), _infix_loc(exp, op, i), name)
            note_result(st, st.typed.results.get(op.id), value, env)
    return value


def _infix_loc(exp: s.Chain, op: Operator, i: int) -> Loc:
    """The whole of a single operation, the operator within a longer chain."""
    return exp.loc if i == 0 and len(exp.rest) == 1 else op.loc


def _right_section(function: Value, right: Value) -> Native:
    return Native("section", 1, lambda st, args, loc, hint: apply(st, function, (args[0], right), loc, hint))


def _follow(st: Stage, value: Value, path: tuple[s.Step, ...], env: Env, loc: Loc, hint: str) -> Value:
    """`value.x[i]...`."""
    for step in path:
        match step:
            case FieldStep(field):
                value = field_of(value, field)
            case s.IndexStep(indices):
                value = index_value(st, value, indices, env, loc, hint)
    return value


def _updated(st: Stage, exp: s.With, env: Env, hint: str) -> Value:
    """`a with p = x with q = y`: one update after the other."""
    updates = [exp]
    while isinstance(updates[-1].target, s.With):
        updates.append(updates[-1].target)
    value = evaluate(st, updates[-1].target, env, "")
    for update in reversed(updates):
        new = evaluate(st, update.value, env, "")
        value = update_value(st, value, update.path, new, env, update.loc, hint if update is exp else "")
    return value


# ---- let ----------------------------------------------------------------------------------------------------------


def _let(st: Stage, exp: s.Let, env: Env, hint: str) -> Value:
    """A chain of bindings. They share a frame as long as no name hides another."""
    frame = env.child()
    for binding in exp.bindings:
        match binding:
            case s.LetPat(sizes, pat, rhs):
                value = evaluate(st, rhs, frame, name_of_pattern(pat))
                frame = _frame_for(frame, [*names_of_pattern(pat), *sizes])
                for size in sizes:
                    frame.values[size] = Open(size, frame, None)
                bind_pattern(st, pat, value, frame)
            case s.LetFun(_, name):
                closure = Closure(binding, frame, None)
                frame = frame.child() if frame.lookup(name) is not None else frame
                frame.values[name] = closure
    value = evaluate(st, exp.body, frame, hint)
    keep_needed(st, frame, env)
    note_result(st, st.typed.types.get(exp.id), value, env)
    return value


def _frame_for(frame: Env, names: list[str]) -> Env:
    return frame.child() if any(frame.lookup(name) is not None for name in names) else frame


# ---- data ---------------------------------------------------------------------------------------------------------


def _record(fields: list[tuple[str, Value]]) -> Rec:
    """Fields are kept sorted, numbers by value, as in types."""
    return Rec(tuple(sorted(fields, key=lambda field: field_key(field[0]))))


def _array_literal(st: Stage, exp: s.Array, env: Env, hint: str) -> Value:
    """`[a, b, c]`: the elements have the shape of the first."""
    if not exp.elems:
        return blank(st, st.typed.types[exp.id], env, exp.loc)
    elems = [evaluate(st, elem, env, "") for elem in exp.elems]
    first = elems[0]
    rest = [coerce_like(st, e, first, "a row", x.loc) for e, x in zip(elems[1:], exp.elems[1:], strict=True)]
    columns = zip(*[atoms_of(elem) for elem in (first, *rest)], strict=True)
    count = i64(len(elems))
    atoms = [
        emit(st, hint or "lit", ArrayLit(tuple(column), type), type.array_of(count), exp.loc)
        for column, (_, type) in zip(columns, components(first), strict=True)
    ]
    return Arr(count, with_atoms(first, atoms))


def _scalars(elems: list[Const], prim: Prim, st: Stage, loc: Loc, hint: str) -> Value:
    count = i64(len(elems))
    array = emit(st, hint or "text", ArrayLit(tuple(elems), scalar(prim)), Type(prim, (count,)), loc)
    return Arr(count, Component(array, prim))


def _constructor(st: Stage, exp: s.Constr, env: Env) -> Value:
    """`#c x`: the payload of `c`, and blanks for the other constructors."""
    type, home = resolve_type(st.typed.types[exp.id], env)
    assert isinstance(type, TSum)
    args = tuple([evaluate(st, arg, env, "") for arg in exp.args])
    cases = []
    for name, payload in type.constructors:
        cases.append((name, args if name == exp.name else tuple([blank(st, t, home, exp.loc) for t in payload])))
    position = [name for name, _ in type.constructors].index(exp.name)
    return Sum(Component(Const(Prim.I8, position), Prim.I8), tuple(cases))


def _hole(st: Stage, type: Ty, env: Env, loc: Loc) -> Value:
    """`???` compiles and fails when it is reached; a function, when it is called."""
    found, home = resolve_type(type, env)
    if isinstance(found, TFun):
        return blank_function(found, home, lambda result, inner: _hole(st, result, inner, loc))
    certs = emit_assert(st, FALSE, "R0103", ("a hole `???` was reached",), loc)
    return relying_on(st, certs, lambda: blank(st, found, home, loc), loc)


# ---- attributes ---------------------------------------------------------------------------------------------------


def _attributed(st: Stage, exp: s.Attributed, env: Env, hint: str) -> Value:
    """`#[attr] e`: the attribute goes to the statements that bind the value of `e`, `warn` to all that `e` needs."""
    if exp.attr.name == "unsafe":
        outer, st.unsafe = st.unsafe, st.unsafe or st.distrusted is None or exp.id < st.distrusted
        value = evaluate(st, exp.body, env, hint)
        st.unsafe = outer
        return value
    if exp.attr.name in ("blank", "scratch"):
        return _blank_like(st, exp.body, env, exp.loc)
    start = len(st.builder.stms)
    value = evaluate(st, exp.body, env, hint)
    if exp.attr.name == "param" and len(exp.attr.args) == 1:
        return _parameter(st, exp.attr.args[0].name, value, exp.loc)
    if exp.attr.name == "warn":
        attach_attr(st, exp.attr, start, {param.name for stm in st.builder.stms[start:] for param in stm.pat})
    elif is_data(value):
        attach_attr(st, exp.attr, start, {atom.name for atom in atoms_of(value) if not isinstance(atom, Const)})
    return value


def _parameter(st: Stage, name: str, value: Value, loc: Loc) -> Value:
    """`#[param(NAME)] e`: a positive integer that is known now becomes the default of a tuning parameter; another
    integer is what it is unless the parameter is set; anything else stays what it is."""
    match value:
        case Component(Const(prim, int(default)), _) if prim.is_int and default >= 1:
            return Component(convert(st, prim, Prim.I64, size_param(st, name, default, loc), loc), prim)
        case Component(atom, prim) if prim.is_int:
            given = size_param(st, name, NO_DEFAULT, loc)
            is_set = prim_op(st, Op.LT, Prim.I64, (given, i64(NO_DEFAULT)), loc)
            given = convert(st, prim, Prim.I64, given, loc)
            return Component(prim_op(st, Op.SELECT, prim, (is_set, given, atom), loc, name), prim)
        case _:
            return value


def _blank_like(st: Stage, exp: s.Exp, env: Env, loc: Loc) -> Value:
    """`#[blank] e`: some value of the type of `e`, which is evaluated only where its type does not tell its sizes."""
    type = st.typed.types.get(exp.id)
    if type is not None and tells_sizes(type, env):
        return blank(st, type, env, loc)
    value = evaluate(st, exp, env, "")
    return with_atoms(value, [filled(st, type, loc) for _, type in components(value)]) if is_data(value) else value
