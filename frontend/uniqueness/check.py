"""Uniqueness: nothing is used after it was consumed (E0209), and only what may be consumed is (E0221).

A walk along the order of evaluation. Every value comes with its alias (`aliases.py`), the places it may share data
with; to consume it is to consume all of them, and to use a variable none of its places may have been consumed. Inside a
lambda or a loop, which may run many times, nothing from outside can be consumed; a loop parameter that its body
consumes consumes its initial value. A function whose result is not declared returns a fresh one when it shares nothing
with the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...ir.errors import Label
from ..source import syntax as s
from ..source.atoms import FieldStep, Hole, Ident, Lit, Operator, StringLit
from ..source.declarations import ValDec
from ..source.types import WHOLE, TArray, TFun, TPrim, TRecord, Ty
from ..typing.errors import fault
from ..typing.type_expressions import unique_parts
from .aliases import (
    GLOBAL,
    LENT,
    NOTHING,
    Alias,
    Function,
    Gives,
    Parts,
    both,
    field_of,
    has_data,
    is_once,
    lends,
    moved,
    own,
    part_at,
    paths_in,
    places_of,
    shared_between_parts,
    spread,
    type_at,
    with_field,
)
from .calls import apply_alias
from .functions import check_function, check_sizes, check_written, types_in
from .walk import Flow, after_loop, bind_loop, bind_param, bind_pattern

PIPES = {("|>",), ("<|",)}


# ---- definitions ----------------------------------------------------------------------------------------------------


def check_unique(types: dict[int, Ty], dec: ValDec, shown: Callable[[Ty], Ty]) -> Gives:
    """Check a top-level definition; says what its result shares data with. `shown`: what abstract types stand for."""
    flow = Flow(types, {}, {}, {}, [], [], {}, shown)
    return _function(flow, dec.params, dec.ret, dec.body, f"`{dec.name}`")


def _function(flow: Flow, params: tuple[s.Pat, ...], ret: s.TypeExp | None, body: s.Exp, name: str) -> Gives:
    """Walk through a function; says what is fresh in its result: what is declared so, which is the caller's alone
    (E0222), else all that is."""
    mark, start = len(flow.trail), set(flow.variables)
    for param in params:
        bind_param(flow, param, ())
        for te in types_in(param):
            check_sizes(flow, te, _walk)
    if ret is not None:
        check_sizes(flow, ret, _walk)
    result = _walk(flow, body)
    mine = {i: v for i, v in flow.variables.items() if i not in start}
    borrowed = {p for p in places_of(result) if p[0] not in mine or not mine[p[0]].owns(p[1])}
    flow.leave(mark)
    parts, shared = list(paths_in(result)), shared_between_parts(result)
    lent = frozenset([place for place in places_of(result) if place[0] in (GLOBAL, LENT)])
    if params:
        _check_global(flow, body, result, name)
    if is_once(result) and not any(unique_parts(te) for param in params for te in types_in(param)):
        message = f"a function that has consumed an array cannot be the result of {name}"
        note = "it is not known to be called only once"
        raise fault("E0221", message, body.loc, "the result", (), [note], "let it take all its parameters")
    if ret is not None:
        check_written(ret, flow.types[body.id], result, body.loc)
        declared = unique_parts(ret)
        for path in declared:
            part, here = places_of(part_at(result, path)), [Label(ret.loc, "declared here")]
            if found := part & borrowed:
                owner = flow.name_of(min(found))
                message = f"the result of {name} is declared unique, but may share data with `{owner}`"
                raise fault("E0222", message, body.loc, "the result", here, hint="return a `copy`")
            if part & shared:
                message = f"the parts of the unique result of {name} share data with each other"
                raise fault("E0222", message, body.loc, "the result", here)
        return Gives(declared, not shared, lent)
    fresh = tuple([path for path, places in parts if places.isdisjoint(borrowed | shared)])
    return Gives(WHOLE if len(fresh) == len(parts) else fresh, not shared, lent)


def _check_global(flow: Flow, body: s.Exp, result: Alias, name: str) -> None:
    """E0222: the data that a function gives is not the program's own."""
    for path, places in paths_in(result):
        found = [place for place in places if place[0] == GLOBAL]
        if found and not isinstance(type_at(flow.types[body.id], path), TFun):
            owner = flow.name_of(min(found))
            message = f"the result of {name} may share data with `{owner}`, a definition of the program"
            raise fault("E0222", message, body.loc, "the result", hint="return a `copy`")


# ---- expressions ----------------------------------------------------------------------------------------------------


def _walk(flow: Flow, exp: s.Exp) -> Alias:
    """Follow the evaluation of `exp`; gives the alias of its value."""
    match exp:
        case Ident():
            return _ident(flow, exp)
        case Lit() | StringLit() | Hole():
            return NOTHING
        case s.Chain():
            return _chain(flow, exp)
        case s.Call():
            return _call(flow, exp)
        case s.Let():
            return _let(flow, exp)
        case s.Lambda(params=params, ret=ret, body=body):
            return _closure(flow, params, ret, body, "a lambda")
        case s.Tuple(elems=elems):
            return Parts(tuple([(str(i), part) for i, part in enumerate(_each(flow, elems))]))
        case s.Record(fields=fields):
            parts = dict(zip([name for name, _ in fields], _each(flow, [e for _, e in fields])))
            order = flow.types[exp.id]
            return Parts(tuple((n, parts[n]) for n, _ in order.fields)) if isinstance(order, TRecord) else NOTHING
        case s.Index(array=array, indices=indices):
            _indices(flow, indices)
            return spread(flow.types[exp.id], places_of(_walk(flow, array)))
        case s.Project(record=inner, field=field):
            return field_of(_walk(flow, inner), field)
        case s.If(cond=cond, then=then, orelse=orelse):
            _walk(flow, cond)
            return _branches(flow, exp, [(None, then), (None, orelse)], NOTHING)
        case s.Match(scrutinee=scrutinee, cases=cases):
            return _branches(flow, exp, cases, _walk(flow, scrutinee))
        case s.With():
            return _with(flow, exp)
        case s.Loop():
            return _loop(flow, exp)
        case s.Array(elems=parts) | s.Constr(args=parts):
            found = _each(flow, parts)
            shared = frozenset().union(*map(places_of, found)) if isinstance(exp, s.Constr) else frozenset()
            return spread(flow.types[exp.id], shared)
        case s.Negate(arg=inner) | s.Not(arg=inner):
            _walk(flow, inner)
            return NOTHING
        case s.Range(start=start, second=second, end=end):
            for part in (start, second, end):
                if part is not None:
                    _walk(flow, part)
            return NOTHING
        case s.Assert(cond=cond, body=inner):
            _walk(flow, cond)
            return _walk(flow, inner)
        case s.Ascript(exp=inner, type=te) | s.Coerce(exp=inner, type=te):
            alias = _walk(flow, inner)
            check_sizes(flow, te, _walk)
            check_written(te, flow.types[inner.id], alias, inner.loc)
            return alias
        case s.Attributed(body=inner) | s.OpenIn(body=inner):
            return _walk(flow, inner)
        case s.LeftSection(op=op, arg=arg) | s.RightSection(op=op, arg=arg):
            places = places_of(_operator(flow, op)) | places_of(_walk(flow, arg))
            return Function(places)
        case s.PathSection():
            return Function(frozenset())


def _each(flow: Flow, exps: Sequence[s.Exp]) -> list[Alias]:
    """Several values, one after the other; none of them may be consumed while it waits for the others."""
    found = [_walk(flow, exp) for exp in exps]
    for exp, alias in zip(exps, found):
        flow.hold(alias, exp.loc)
    return found


def _ident(flow: Flow, exp: Ident) -> Alias:
    variable = flow.names.get(exp.name[0])
    if variable is None:
        return _global(flow, flow.types[exp.id], ".".join(exp.name))
    alias = own(variable.ty, variable.id, (), variable.alias)
    for field in exp.name[1:]:
        alias = field_of(alias, field)
    return flow.use(alias, ".".join(exp.name), exp.loc)


def _global(flow: Flow, ty: Ty, name: str) -> Alias:
    """A top-level value: its place belongs to no variable, so that it cannot be consumed, nor what a function lends.
    One of an abstract type has a place where there are arrays in it; where that is not known yet, it will be when the
    functor is applied."""
    has_place = lends(ty) if isinstance(ty, TFun) else has_data(flow.shown(ty))
    return spread(ty, frozenset({(GLOBAL if has_data(ty) else LENT, (name,))} if has_place else ()))


def _operator(flow: Flow, op: Operator) -> Alias:
    variable = flow.names.get(op.name[0]) if len(op.name) == 1 else None
    if variable is None:
        return Function(frozenset())
    return flow.use(own(variable.ty, variable.id, (), variable.alias), op.name[0], op.loc)


def _indices(flow: Flow, indices: tuple[s.DimIndex, ...]) -> None:
    for index in indices:
        match index:
            case s.Point(index=point):
                _walk(flow, point)
            case s.SliceIndex(start=start, end=end, stride=stride):
                for part in (start, end, stride):
                    if part is not None:
                        _walk(flow, part)


# ---- application ----------------------------------------------------------------------------------------------------


def _call(flow: Flow, exp: s.Call) -> Alias:
    """Arguments are evaluated from the last to the first, then consumed."""
    function, *args = _each(flow, (*exp.args[::-1], exp.function))[::-1]
    _check_callbacks(flow, exp, args)
    locs = [arg.loc for arg in exp.args]
    return apply_alias(flow, function, flow.types[exp.function.id], args, locs, (exp.id, flow.types[exp.id], exp.loc))


def _check_callbacks(flow: Flow, exp: s.Call, args: list[Alias]) -> None:
    """A function that is passed on does no more than is expected of it."""
    ty = flow.types[exp.function.id]
    for arg, alias in zip(exp.args, args):
        if not isinstance(ty, TFun):
            return
        check_function(ty.dom, flow.types[arg.id], alias, arg.loc)
        ty = ty.cod


def _chain(flow: Flow, exp: s.Chain) -> Alias:
    left, left_loc = _walk(flow, exp.first), exp.first.loc
    left_type = flow.types[exp.first.id]
    for op, right_exp in exp.rest:
        right = _walk(flow, right_exp)
        ty = flow.types[op.id]
        result = _result_type(ty)
        if op.name in PIPES:
            forward = op.name == ("|>",)
            function, fun_type = (right, flow.types[right_exp.id]) if forward else (left, left_type)
            arg, loc = (left, left_loc) if forward else (right, right_exp.loc)
            left = apply_alias(flow, function, fun_type, [arg], [loc], (op.id, result, op.loc))
        elif not isinstance(result, TPrim) or (isinstance(ty, TFun) and ty.consumes):
            locs = [left_loc, right_exp.loc]
            left = apply_alias(flow, _operator(flow, op), ty, [left, right], locs, (op.id, result, op.loc))
        else:
            left = NOTHING
        left_loc, left_type = right_exp.loc, result
    return left


def _result_type(ty: Ty) -> Ty:
    """The result of an operator's type."""
    for _ in range(2):
        ty = ty.cod if isinstance(ty, TFun) else ty
    return ty


def _closure(flow: Flow, params: tuple[s.Pat, ...], ret: s.TypeExp | None, body: s.Exp, what: str) -> Function:
    """A function value holds on to the variables of its surroundings that it uses."""
    before, known = dict(flow.consumed), set(flow.variables)
    outer, flow.used = flow.used, {}
    flow.around.append(what)
    gives = _function(flow, params, ret, body, what)
    flow.around.pop()
    flow.consumed = before
    captured = frozenset([place for place in flow.used if place[0] in known])
    flow.used = outer | flow.used
    return Function(captured | gives.lends, len(params), gives)


# ---- binding forms --------------------------------------------------------------------------------------------------


def _let(flow: Flow, exp: s.Let) -> Alias:
    mark = len(flow.trail)
    for binding in exp.bindings:
        match binding:
            case s.LetPat(pat=pat, rhs=rhs):
                consumed = len(flow.consumed)
                value = _walk(flow, rhs)
                if len(flow.consumed) > consumed and is_once(value):
                    _refuse_name(flow, rhs)
                bind_pattern(flow, pat, value)
            case s.LetFun(id=node, name=name, params=params, ret=ret, body=body):
                closure = _closure(flow, params, ret, body, f"`{name}`")
                flow.bind(node, name, flow.types[node], closure)
    result = _walk(flow, exp.body)
    flow.leave(mark)
    return result


def _refuse_name(flow: Flow, rhs: s.Exp) -> None:
    """E0221: a function whose making consumes gets no name, since it could be called twice."""
    place, loc = list(flow.consumed.items())[-1]
    where = Label(loc, f"`{flow.name_of(place)}` is consumed here")
    hint = "give it all its arguments at once, or a `copy` of the array"
    message = "a function that has consumed an array gets no name: it could be called twice"
    raise fault("E0221", message, rhs.loc, "bound here", [where], hint=hint)


def _branches(flow: Flow, exp: s.If | s.Match, cases: Iterable[tuple[s.Pat | None, s.Exp]], scrutinee: Alias) -> Alias:
    """One of several: what any of them consumes is consumed."""
    before, after = dict(flow.consumed), dict(flow.consumed)
    result: Alias | None = None
    for pat, body in cases:
        flow.consumed = dict(before)
        mark = len(flow.trail)
        if pat is not None:
            bind_pattern(flow, pat, scrutinee)
        alias = _walk(flow, body)
        flow.leave(mark)
        result = alias if result is None else both(result, alias)
        after |= flow.consumed
    flow.consumed = after
    assert result is not None, "there is a branch"
    # Where one branch hands on what another consumes, the result takes its place: nothing else can use it any more.
    gone = [place for place in places_of(result) if place in after and place not in before]
    if not gone:
        return result
    flow.own_place(exp.id, flow.types[exp.id], "a branch")
    return moved(result, {place: (exp.id, (str(place[0]), *place[1])) for place in gone})


def _with(flow: Flow, exp: s.With) -> Alias:
    """An update consumes the array at the end of the fields that lead to it; a field alone is replaced."""
    target = _walk(flow, exp.target)
    for step in exp.path:
        if isinstance(step, s.IndexStep):
            _indices(flow, step.indices)
    value = _walk(flow, exp.value)
    fields: list[str] = []
    for step in exp.path:
        if not isinstance(step, FieldStep):
            break
        fields.append(step.field)
    path = tuple(fields)
    if len(path) == len(exp.path):
        return with_field(target, path, value)
    place = target
    for name in path:
        place = field_of(place, name)
    common = places_of(place) & places_of(value)
    if common:
        message = f"the new value shares data with `{flow.name_of(min(common))}`, which the update consumes"
        raise fault("E0209", message, exp.value.loc, "shared", hint="use a `copy` of the value")
    flow.consume(place, exp.loc)
    return with_field(target, path, NOTHING)


def _loop(flow: Flow, exp: s.Loop) -> Alias:
    init = _walk(flow, exp.init)
    mark, before, known = len(flow.trail), dict(flow.consumed), set(flow.variables)
    over = NOTHING
    match exp.form:
        case s.ForLess(bound=limit):
            _walk(flow, limit)
        case s.ForIn(array=array):
            over = _walk(flow, array)
        case s.While():
            pass
    flow.around.append("a loop")
    outer, flow.used = flow.used, {}
    bind_loop(flow, exp.pat)
    params = {i for i in flow.variables if i not in known}
    match exp.form:
        case s.ForIn(pat=pat, array=array):
            elem = flow.types[array.id]
            assert isinstance(elem, TArray), "a loop runs over an array"
            bind_pattern(flow, pat, spread(elem.elem, places_of(over)))
        case s.While(cond=cond):
            _walk(flow, cond)
        case s.ForLess(name=name):
            flow.trail.append((name, flow.names.get(name)))
            flow.names[name] = None
    body = _walk(flow, exp.body)
    flow.leave(mark)
    flow.around.pop()
    consumed = {place for place in flow.consumed if place[0] in params and place not in before}
    flow.consumed = {place: loc for place, loc in flow.consumed.items() if place in before}
    result = after_loop(flow, exp, init, body, consumed, known)
    flow.used = outer | flow.used
    return result
