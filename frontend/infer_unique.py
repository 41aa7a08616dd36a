"""Uniqueness: nothing is used after it was consumed (E0209), and only what may be consumed is (E0221).

A walk along the order of evaluation. Every value comes with its alias (`infer_alias`), the places it may share data
with; to consume it is to consume all of them, and to use a variable none of its places may have been consumed. Inside a
lambda or a loop, which may run many times, nothing from outside can be consumed; a loop parameter that its body
consumes consumes its initial value. A function whose result is not declared returns a fresh one when it shares nothing
with the parameters.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.errors import Label, Loc
from . import syntax as s
from .infer_alias import (
    GLOBAL,
    NOTHING,
    UNKNOWN,
    Alias,
    Function,
    Gives,
    Parts,
    Place,
    Shared,
    both,
    field_of,
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
from .infer_fault import fault
from .infer_flow import Flow, after_loop, bind_param, bind_pattern
from .infer_names import names_in
from .infer_texp import unique_parts
from .types import WHOLE, TArray, TFun, TPrim, TRecord, Ty

PIPES = {("|>",), ("<|",)}


# ---- definitions ----------------------------------------------------------------------------------------------------


def check_unique(types: dict[int, Ty], dec: s.ValDec) -> Gives:
    """Check a top-level definition; says what its result shares data with."""
    flow = Flow(types, {}, {}, {}, [], [], {})
    return _function(flow, dec.params, dec.ret, dec.body, dec.name)


def _function(flow: Flow, params: Iterable[s.Pat], ret: s.TypeExp | None, body: s.Exp, name: str) -> Gives:
    """Walk through a function; says what is fresh in its result: what is declared so, else all that is."""
    mark, start = len(flow.trail), set(flow.variables)
    for param in params:
        bind_param(flow, param, ())
    result = _walk(flow, body)
    mine = {i: v for i, v in flow.variables.items() if i not in start}
    borrowed = {p for p in places_of(result) if p[0] not in mine or not mine[p[0]].owns(p[1])}
    flow.leave(mark)
    if not flow.around and params:
        _check_no_global(flow, body, result, name)
    parts, shared = list(paths_in(result)), shared_between_parts(result)
    if ret is not None:
        declared = unique_parts(ret)
        for path in declared:
            _check_result(flow, ret, body, places_of(part_at(result, path)), borrowed, shared, name)
        return Gives(declared, apart=not shared)
    fresh = tuple([path for path, places in parts if places.isdisjoint(borrowed | shared)])
    return Gives(WHOLE if len(fresh) == len(parts) else fresh, apart=not shared)


def _check_no_global(flow: Flow, body: s.Exp, result: Alias, name: str) -> None:
    """E0222: the caller of a function could consume what it is given, so that is no array of the program's own."""
    found = [places for _, places in paths_in(result) if any(place[0] == GLOBAL for place in places)]
    if found and not isinstance(result, Function):
        owner = flow.name_of(min(place for place in found[0] if place[0] == GLOBAL))
        message = f"the result of `{name}` shares data with the global `{owner}`"
        raise fault("E0222", message, body.loc, "the result", hint="return a `copy`")


def _check_result(
    flow: Flow,
    ret: s.TypeExp,
    body: s.Exp,
    part: frozenset[Place],
    borrowed: set[Place],
    shared: set[Place],
    name: str,
) -> None:
    """E0222: a result, or a part of it, that is declared `*` is the caller's alone."""
    declared = [Label(ret.loc, "declared here")]
    if found := part & borrowed:
        owner = flow.name_of(min(found))
        message = f"the result of `{name}` is declared unique, but may share data with `{owner}`"
        raise fault("E0222", message, body.loc, "the result", declared, hint="return a `copy`")
    if part & shared:
        message = f"the parts of the unique result of `{name}` share data with each other"
        raise fault("E0222", message, body.loc, "the result", declared)


# ---- expressions ----------------------------------------------------------------------------------------------------


def _walk(flow: Flow, exp: s.Exp) -> Alias:
    """Follow the evaluation of `exp`; gives the alias of its value."""
    match exp:
        case s.Ident():
            return _ident(flow, exp)
        case s.Lit() | s.StringLit() | s.Hole():
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
            return Parts(tuple([(str(i), _walk(flow, e)) for i, e in enumerate(elems)]))
        case s.Record(fields=fields):
            parts = {name: _walk(flow, e) for name, e in fields}
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
            found = [_walk(flow, e) for e in parts]
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
        case s.Attributed(body=inner) | s.Ascript(exp=inner) | s.Coerce(exp=inner) | s.OpenIn(body=inner):
            return _walk(flow, inner)
        case s.LeftSection(op=op, arg=arg) | s.RightSection(op=op, arg=arg):
            places = places_of(_operator(flow, op)) | places_of(_walk(flow, arg))
            return Function(places)
        case s.PathSection():
            return Function(frozenset())


def _ident(flow: Flow, exp: s.Ident) -> Alias:
    variable = flow.names.get(exp.name[0])
    if variable is None:
        return _global(flow.types[exp.id], ".".join(exp.name))
    alias = own(variable.ty, variable.id, (), variable.alias)
    for field in exp.name[1:]:
        alias = field_of(alias, field)
    return flow.use(alias, ".".join(exp.name), exp.loc)


def _global(ty: Ty, name: str) -> Alias:
    """A top-level value: its place belongs to no variable, so that it cannot be consumed."""
    return spread(ty, frozenset()) if isinstance(ty, TFun) else spread(ty, frozenset({(GLOBAL, (name,))}))


def _operator(flow: Flow, op: s.Operator) -> Alias:
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
    args = [_walk(flow, arg) for arg in reversed(exp.args)][::-1]
    function = _walk(flow, exp.function)
    _check_callbacks(flow, exp, args)
    locs = [arg.loc for arg in exp.args]
    return _apply(flow, function, flow.types[exp.function.id], args, locs, (exp.id, flow.types[exp.id], exp.loc))


def _check_callbacks(flow: Flow, exp: s.Call, args: list[Alias]) -> None:
    """A function that consumes cannot stand where one that does not is expected."""
    ty = flow.types[exp.function.id]
    for arg, alias in zip(exp.args, args):
        if not isinstance(ty, TFun):
            return
        expected, found = ty.dom, flow.types[arg.id]
        only_once = isinstance(alias, Function) and alias.once is not None
        while isinstance(expected, TFun) and isinstance(found, TFun):
            eats = found.consumes and not expected.consumes
            if only_once or (eats and places_of(spread(found.dom, frozenset({(GLOBAL, ())})))):
                what = "a function that has consumed an array" if only_once else "a function that consumes its argument"
                note = "what is passed to it is not known to be used only once"
                if only_once:
                    note = "it is not known to be called only once"
                raise fault("E0221", f"{what} cannot be passed here", arg.loc, "", (), [note])
            expected, found = expected.cod, found.cod
        ty = ty.cod


def _apply(flow: Flow, function: Alias, ty: Ty, args: list[Alias], locs: list[Loc], exp: tuple[int, Ty, Loc]) -> Alias:
    """A call, of which `exp` is the node, the type of the result, and the place."""
    node, result, loc = exp
    kept, gives, eaten = places_of(function), UNKNOWN, False
    if isinstance(function, Function) and function.once is not None:
        flow.consume(Shared(function.once), loc)
        kept = kept - function.once
    for at, (arg, arg_loc) in enumerate(zip(args, locs)):
        if not isinstance(ty, TFun):
            break
        for path in ty.consumes_at if ty.consumes else ():
            eaten = True
            part = part_at(arg, path)
            rest = with_field(arg, path, NOTHING) if path else NOTHING
            _check_apart(flow, part, [rest, *(a for i, a in enumerate(args) if i != at)], arg_loc)
            flow.consume(part, arg_loc)
            arg = rest
        kept |= places_of(arg)
        gives, ty = Gives(ty.fresh_at if ty.fresh else (), ty.apart), ty.cod
    if isinstance(function, Function) and function.arity == len(args):
        gives = function.gives
    if isinstance(result, TFun):
        arity = max(function.arity - len(args), 0) if isinstance(function, Function) else 0
        once = frozenset[Place]() if eaten or (isinstance(function, Function) and function.once is not None) else None
        return Function(kept, arity, function.gives if isinstance(function, Function) and arity else UNKNOWN, once)
    return _given(flow, gives, kept, node, result)


def _given(flow: Flow, gives: Gives, kept: frozenset[Place], node: int, result: Ty) -> Alias:
    """The result of a call. Parts that may share data with each other share it through a place of the call's own."""
    if not gives.apart and gives.fresh != WHOLE:
        flow.own_place(node, result, "a call")
        kept = kept | {(node, ())}
    value = spread(result, kept)
    for path in gives.fresh:
        value = with_field(value, path, spread(type_at(result, path), frozenset()))
    return value


def _check_apart(flow: Flow, arg: Alias, others: list[Alias], loc: Loc) -> None:
    """A consumed argument shares nothing with the other arguments, and no two parts of it share data."""
    if twice := shared_between_parts(arg):
        name = flow.name_of(min(twice))
        message = f"`{name}` is consumed twice: it is several parts of one argument"
        raise fault("E0209", message, loc, "consumed here", hint="use a `copy`")
    mine = places_of(arg)
    for other in others:
        common = mine & places_of(other)
        if common:
            name = flow.name_of(min(common))
            raise fault(
                "E0209", f"`{name}` is consumed and used by one call", loc, "consumed here", hint="use a `copy`"
            )


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
            left = _apply(flow, function, fun_type, [arg], [loc], (op.id, result, op.loc))
        elif not isinstance(result, TPrim) or (isinstance(ty, TFun) and ty.consumes):
            locs = [left_loc, right_exp.loc]
            left = _apply(flow, _operator(flow, op), ty, [left, right], locs, (op.id, result, op.loc))
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
    before = dict(flow.consumed)
    flow.around.append(what)
    gives = _function(flow, params, ret, body, what)
    flow.around.pop()
    flow.consumed = before
    return Function(_captured(flow, body), len(params), gives)


def _captured(flow: Flow, body: s.Exp) -> frozenset[Place]:
    """The places of outer variables whose names occur in `body`."""
    found: set[Place] = set()
    for name in {name[0] for name in names_in(body)}:
        variable = flow.names.get(name)
        if variable is not None:
            found |= places_of(own(variable.ty, variable.id, (), variable.alias))
    return frozenset(found)


# ---- binding forms --------------------------------------------------------------------------------------------------


def _let(flow: Flow, exp: s.Let) -> Alias:
    mark = len(flow.trail)
    for binding in exp.bindings:
        match binding:
            case s.LetPat(pat=pat, rhs=rhs):
                bind_pattern(flow, pat, _walk(flow, rhs))
            case s.LetFun(id=node, name=name, params=params, ret=ret, body=body):
                closure = _closure(flow, params, ret, body, f"`{name}`")
                flow.bind(node, name, flow.types[node], closure)
    result = _walk(flow, exp.body)
    flow.leave(mark)
    return result


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
    # Where one branch hands on what another consumes, the result takes its place: nobody else can use it any more.
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
        if not isinstance(step, s.FieldStep):
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
    bind_pattern(flow, exp.pat, NOTHING)
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
    eaten = {place for place in flow.consumed if place[0] in params and place not in before}
    flow.consumed = {place: loc for place, loc in flow.consumed.items() if place in before}
    result = after_loop(flow, exp, init, body, eaten, known)
    flow.used = outer | flow.used
    return result
