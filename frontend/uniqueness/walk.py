"""The walk that checks uniqueness: variables, what is consumed, what may be consumed; how patterns bind,
and what a loop consumes."""

from __future__ import annotations

from collections.abc import Callable

from ...ir.errors import CompileError, Label, Loc
from ...ir.records import dataclass
from ..source import syntax as s
from ..source.atoms import PLit, PVar, PWild
from ..source.types import WHOLE, Paths, Ty
from ..typing.errors import fault
from ..typing.type_expressions import unique_parts
from .aliases import (
    NOTHING,
    Alias,
    Place,
    Shared,
    both,
    field_of,
    part_at,
    paths_in,
    places_of,
    put_in,
    shared_between_parts,
    spread,
    type_at,
    with_field,
    without,
)


@dataclass(frozen=True, slots=True)
class Variable:
    """A local variable; `depth` counts the lambdas and loops around its binding; `owned`: what of it may be consumed
    at all."""

    id: int
    name: str
    ty: Ty
    alias: Alias
    depth: int
    owned: Paths

    def owns(self, path: tuple[str, ...]) -> bool:
        return any(path[: len(part)] == part for part in self.owned)


@dataclass(slots=True)
class Flow:
    """The walk: variables by name and by id, what is consumed so far, the lambdas and loops around this place, and
    what the innermost loop has used."""

    types: dict[int, Ty]
    names: dict[str, Variable | None]
    variables: dict[int, Variable]
    consumed: dict[Place, Loc]
    around: list[str]
    trail: list[tuple[str, Variable | None]]
    used: dict[Place, tuple[str, Loc]]
    shown: Callable[[Ty], Ty]  # a type with nothing hidden

    # ---- names -----------------------------------------------------------------------------------------------------

    def bind(self, node: int, name: str, ty: Ty, alias: Alias, owned: Paths = WHOLE) -> None:
        variable = Variable(node, name, ty, alias, len(self.around), owned)
        self.trail.append((name, self.names.get(name)))
        self.names[name] = self.variables[node] = variable

    def own_place(self, node: int, ty: Ty, what: str) -> None:
        """A place that belongs to a call or to branches and has no name."""
        self.variables[node] = Variable(node, f"the result of {what}", ty, NOTHING, len(self.around), WHOLE)

    def leave(self, mark: int) -> None:
        while len(self.trail) > mark:
            name, old = self.trail.pop()
            self.names[name] = old

    # ---- using and consuming -----------------------------------------------------------------------------------------

    def use(self, alias: Alias, name: str, loc: Loc) -> Alias:
        """Check that nothing of a variable was consumed."""
        if self.consumed:
            for place in places_of(alias):
                if place in self.consumed:
                    raise _used(self, name, place, loc)
        if self.around:
            self.used.update(dict.fromkeys(places_of(alias), (name, loc)))
        return alias

    def hold(self, alias: Alias, loc: Loc) -> None:
        """Check that nothing of a value was consumed while it waited."""
        for place in sorted(places_of(alias)):
            if place in self.consumed:
                raise _used(self, self.name_of(place), place, loc)

    def consume(self, alias: Alias, loc: Loc) -> None:
        """Consume everything that a value shares data with."""
        for place in sorted(places_of(alias)):
            if place in self.consumed:
                raise _used(self, self.name_of(place), place, loc)
            self._check_consumable(place, loc)
            self.consumed[place] = loc

    def check_owned(self, alias: Alias, loc: Loc) -> None:
        """Check that a value could be consumed, as its type says that is unique."""
        for place in sorted(places_of(alias)):
            self._check_consumable(place, loc)

    def _check_consumable(self, place: Place, loc: Loc) -> None:
        variable = self.variables.get(place[0])
        name = self.name_of(place)
        if variable is None:
            raise fault("E0221", f"`{name}` cannot be consumed: it is a global", loc, "consumed here")
        if variable.depth < len(self.around):
            where = self.around[variable.depth]
            note = f"{where} may run more than once, so it can consume only what is bound inside"
            raise fault("E0221", f"`{name}` cannot be consumed inside {where}", loc, "consumed here", (), [note])
        if not variable.owns(place[1]):
            hint = f"declare it with `*`, or consume a copy: `copy {name}`"
            message = f"`{name}` cannot be consumed: the parameter is not unique"
            raise fault("E0221", message, loc, "consumed here", hint=hint)

    def name_of(self, place: Place) -> str:
        variable = self.variables.get(place[0])
        if variable is None:
            return place[1][0] if place[1] else "a global"
        return variable.name if " " in variable.name else ".".join([variable.name, *place[1]])


def _used(flow: Flow, name: str, place: Place, loc: Loc) -> CompileError:
    """E0209 with both places."""
    owner = flow.name_of(place)
    message = f"`{name}` is used after it was consumed"
    notes = [] if owner == name else [f"`{name}` may share data with `{owner}`"]
    where = Label(flow.consumed[place], f"`{owner}` is consumed here")
    return fault("E0209", message, loc, "used here", [where], notes, "use a `copy` of it, or use it before")


def bind_param(flow: Flow, pat: s.Pat, owned: Paths) -> None:
    """A parameter, of which the parts `owned` may be consumed."""
    match pat:
        case PVar(id=node, name=name):
            flow.bind(node, name, flow.types[node], NOTHING, owned)
        case s.PAscript(pat=inner, type=te):
            bind_param(flow, inner, owned + unique_parts(te))
        case s.PAttr(pat=inner):
            bind_param(flow, inner, owned)
        case s.PConstr(args=elems):
            for part in elems:
                bind_param(flow, part, WHOLE if () in owned else ())
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            for name, part in fields:
                bind_param(flow, part, _below(owned, name))
        case PWild() | PLit():
            pass


def _below(paths: Paths, field: str) -> Paths:
    """The parts of a field, given those of the record."""
    return tuple([path[1:] for path in paths if path[:1] in ((), (field,))])


def bind_loop(flow: Flow, pat: s.Pat, owned: Paths = WHOLE) -> None:
    """The parameters of a loop: one whose type is written may be consumed where that says `*`."""
    match pat:
        case PVar(id=node, name=name):
            flow.bind(node, name, flow.types[node], NOTHING, owned)
        case s.PAscript(pat=inner, type=te):
            bind_loop(flow, inner, unique_parts(te))
        case s.PAttr(pat=inner):
            bind_loop(flow, inner, owned)
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            for name, part in fields:
                bind_loop(flow, part, _below(owned, name))
        case s.PConstr() | PWild() | PLit():
            bind_pattern(flow, pat, NOTHING)


def bind_pattern(flow: Flow, pat: s.Pat, alias: Alias) -> None:
    match pat:
        case PVar(id=node, name=name):
            flow.bind(node, name, flow.types[node], alias)
        case s.PAscript(pat=inner, type=te, loc=loc):
            for path in unique_parts(te):
                flow.check_owned(part_at(alias, path), loc)
            bind_pattern(flow, inner, alias)
        case s.PAttr(pat=inner):
            bind_pattern(flow, inner, alias)
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            for name, part in fields:
                bind_pattern(flow, part, field_of(alias, name))
        case s.PConstr(args=args):
            for part in args:
                bind_pattern(flow, part, Shared(places_of(alias)))
        case PWild() | PLit():
            pass


def after_loop(flow: Flow, exp: s.Loop, init: Alias, body: Alias, consumed: set[Place], known: set[int]) -> Alias:
    """The parameters that the body consumes consume their initial values, and what the next turn gets must be the
    loop's own. So do those that are declared unique, unless the body only reads them and gives new values."""
    result = _turned(flow, exp, init, body, known)
    own = set(_starts(exp.pat, init))
    kept = [p for p in _paths(exp.pat, (), _declared(exp.pat, ())) if _shares(part_at(body, p), known | own)]
    taken = _outermost(sorted({*_paths(exp.pat, (), consumed), *kept}))
    _check_next_values(exp, body, taken)
    for path in taken:
        first, next_value = part_at(init, path), part_at(body, path)
        outside = [p for p in places_of(next_value) if p[0] in known or p[0] < 0]
        if outside:
            message = (
                f"the loop consumes its parameter, but its next value shares data with `{flow.name_of(min(outside))}`"
            )
            raise fault("E0209", message, exp.body.loc, "the next value", hint="use a `copy`")
        common = places_of(first) & places_of(with_field(init, path, NOTHING))
        if common and path:
            message = f"the loop consumes its parameter, but `{flow.name_of(min(common))}` is another parameter as well"
            raise fault("E0209", message, exp.init.loc, "the initial value", hint="use a `copy`")
        flow.consume(first, exp.init.loc)
        _check_unused(flow, first)
        result = with_field(result, path, spread(type_at(flow.types[exp.id], path), frozenset()))
    return result


def _shares(value: Alias, variables: set[int]) -> bool:
    """Whether a value shares data with one of these variables, or a definition of the program."""
    return any(node in variables or node < 0 for node, _ in places_of(value))


def _outermost(paths: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The paths that are not inside another one."""
    return [path for path in paths if not any(path[:k] in paths for k in range(len(path)))]


def _turned(flow: Flow, exp: s.Loop, init: Alias, body: Alias, known: set[int]) -> Alias:
    """What the result may share data with: the initial value or a next one, in which parameters stand for the initial
    values that get there in any number of turns. What several next values share is the loop's own."""
    starts = _starts(exp.pat, init)
    nexts = _starts(exp.pat, body)

    def behind(place: Place) -> frozenset[Place]:
        found, seen, waiting = frozenset[Place](), {place}, [place]
        while waiting:
            node, path = waiting.pop()
            found |= places_of(part_at(starts[node], path))
            new = {p for p in places_of(part_at(nexts[node], path)) if p[0] in nexts} - seen
            seen |= new
            waiting += new
        return found

    shared = [p for p in shared_between_parts(body) if p[0] >= 0 and p[0] not in known]
    if shared:
        flow.own_place(exp.id, flow.types[exp.id], "a loop")
    to = {p: frozenset({(exp.id, ())}) for p in shared}
    to = {p: to.get(p, frozenset()) | (behind(p) if p[0] in nexts else frozenset()) for p in places_of(body)}
    return both(_outer(init, known), _outer(put_in(body, to), known | {exp.id}))


def _starts(pat: s.Pat, value: Alias) -> dict[int, Alias]:
    """The parameters of a loop, with what each is bound to."""
    match pat:
        case PVar(id=node):
            return {node: value}
        case s.PAscript(pat=inner) | s.PAttr(pat=inner):
            return _starts(inner, value)
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            return {n: a for name, part in fields for n, a in _starts(part, field_of(value, name)).items()}
        case s.PConstr(args=args):
            return {n: a for part in args for n, a in _starts(part, Shared(places_of(value))).items()}
        case PWild() | PLit():
            return {}


def _check_next_values(exp: s.Loop, body: Alias, taken: list[tuple[str, ...]]) -> None:
    """The next value of a consumed parameter shares nothing with the other next values."""
    parts = list(paths_in(body))
    for path in taken:
        mine = places_of(part_at(body, path))
        for other, places in parts:
            if other[: len(path)] != path and mine & places:
                message = "the loop consumes its parameter, but its next value shares data with another's"
                raise fault("E0209", message, exp.body.loc, "the next values", hint="use a `copy`")


def _check_unused(flow: Flow, first: Alias) -> None:
    """An initial value that the loop consumes is gone for the loop itself too."""
    for place in sorted(places_of(first)):
        if place in flow.used:
            name, loc = flow.used[place]
            raise _used(flow, name, place, loc)


def _declared(pat: s.Pat, owned: Paths) -> set[Place]:
    """What a loop's pattern declares to be unique."""
    match pat:
        case PVar(id=node):
            return {(node, path) for path in owned}
        case s.PAscript(pat=inner, type=te):
            return _declared(inner, owned + unique_parts(te))
        case s.PAttr(pat=inner):
            return _declared(inner, owned)
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            return {place for name, part in fields for place in _declared(part, _below(owned, name))}
        case s.PConstr() | PWild() | PLit():
            return set()


def _outer(alias: Alias, known: set[int]) -> Alias:
    """The alias of a value outside the loop: places inside it are gone."""
    return without(alias, lambda place: place[0] >= 0 and place[0] not in known)


def _paths(pat: s.Pat, path: tuple[str, ...], consumed: set[Place]) -> list[tuple[str, ...]]:
    """Where in the loop's value the consumed parameters stand."""
    match pat:
        case PVar(id=node):
            return [path + inner for i, inner in sorted(consumed) if i == node]
        case s.PAscript(pat=inner) | s.PAttr(pat=inner):
            return _paths(inner, path, consumed)
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            return [p for name, part in fields for p in _paths(part, (*path, name), consumed)]
        case PWild() | PLit() | s.PConstr():
            return []
