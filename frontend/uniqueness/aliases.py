"""What a value may share its data with: a tree along its type, with sets of places at its ends.

A place is a variable and a path of fields in it, so that the components of a tuple are kept apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from ...ir.records import dataclass
from ..source.types import Paths, TArray, TFun, TOpaque, TPrim, TRecord, TSum, TVar, Ty

Place = tuple[int, tuple[str, ...]]
Places = frozenset[Place]
Change = Callable[[Places], Places]
GLOBAL = -1  # in place of a variable: a definition of the program, whose name is the path
LENT = -2  # the same for one whose arrays an abstract type hides, and for what a function gives of it


@dataclass(frozen=True, slots=True)
class Gives:
    """A function's result: the parts that share data with nothing else, whether no two parts share any, and the
    definitions of the program that it may be."""

    fresh: Paths
    apart: bool
    lends: frozenset[Place] = frozenset()


UNKNOWN = Gives((), apart=True)


@dataclass(frozen=True, slots=True)
class Shared:
    """An array, a sum or a value of unknown type, sharing data with `places`."""

    places: frozenset[Place]


@dataclass(frozen=True, slots=True)
class Parts:
    """A record."""

    fields: tuple[tuple[str, Alias], ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function that holds on to `places`. `gives`: what its result is when it has `arity` more arguments; with arity
    0 only its type says so. `once`: for one that holds on to what it has consumed, the places that its call
    consumes, so that there is no second call."""

    places: frozenset[Place]
    arity: int = 0
    gives: Gives = UNKNOWN
    once: frozenset[Place] | None = None


Alias = Shared | Parts | Function

NOTHING = Shared(frozenset())


def spread(ty: Ty, places: frozenset[Place]) -> Alias:
    """A value of type `ty` all of which may share data with `places`; scalars share nothing."""
    match ty:
        case TPrim():
            return NOTHING
        case TSum() if is_plain(ty):
            return NOTHING
        case TRecord(fields):
            return Parts(tuple([(name, spread(t, places)) for name, t in fields]))
        case TFun():
            return Function(places)
        case TArray() | TSum() | TVar() | TOpaque():
            return Shared(places)


def is_plain(ty: Ty) -> bool:
    """A value without arrays: a scalar, a record of such values, or a sum with such payloads."""
    match ty:
        case TPrim():
            return True
        case TRecord(fields):
            return all(is_plain(t) for _, t in fields)
        case TSum(constructors):
            return all(is_plain(t) for _, ts in constructors for t in ts)
        case _:
            return False


def has_data(ty: Ty) -> bool:
    """Whether there is an array, or what may be one, in values of a type; an abstract type is taken to have none."""
    match ty:
        case TPrim() | TFun() | TOpaque():
            return False
        case TRecord(fields):
            return any(has_data(t) for _, t in fields)
        case TSum():
            return not is_plain(ty)
        case TArray() | TVar():
            return True


def lends(ty: Ty) -> bool:
    """Whether a function, given all its arguments, may give out data of the program's own."""
    while isinstance(ty, TFun):
        if ty.lends:
            return True
        ty = ty.cod
    return False


def own(ty: Ty, variable: int, path: tuple[str, ...], alias: Alias) -> Alias:
    """The value of a variable: what it was bound to, and its own places besides."""
    match ty, alias:
        case TPrim(), _:
            return NOTHING
        case TSum(), _ if is_plain(ty):
            return NOTHING
        case TRecord(fields), Parts(parts):
            inner = dict(parts)
            return Parts(tuple([(n, own(t, variable, (*path, n), inner.get(n, NOTHING))) for n, t in fields]))
        case TRecord(fields), _:
            return own(ty, variable, path, spread(ty, places_of(alias)))
        case _, Function(places, arity, gives, once):
            me = frozenset({(variable, path)})
            return Function(places | me, arity, gives, None if once is None else once | me)
        case TFun(), _:
            return Function(places_of(alias) | {(variable, path)})
        case _:
            return Shared(places_of(alias) | {(variable, path)})


def field_of(alias: Alias, name: str) -> Alias:
    """The alias of a field."""
    match alias:
        case Parts(fields):
            return dict(fields).get(name, NOTHING)
        case _:
            return alias


def with_field(alias: Alias, path: tuple[str, ...], value: Alias) -> Alias:
    """`alias` with another value at the end of a path of fields."""
    if not path or not isinstance(alias, Parts):
        return value if not path else alias
    return Parts(tuple((n, with_field(a, path[1:], value) if n == path[0] else a) for n, a in alias.fields))


def place_sets(alias: Alias) -> Iterator[frozenset[Place]]:
    """The sets of places of a value, component by component."""
    todo = [alias]
    while todo:
        match todo.pop():
            case Shared(places) | Function(places):
                yield places
            case Parts(fields):
                todo.extend(part for _, part in reversed(fields))


def is_once(alias: Alias) -> bool:
    """Whether a value is or has a function that holds on to what it has consumed."""
    match alias:
        case Parts(fields):
            return any(is_once(part) for _, part in fields)
        case Function(once=once):
            return once is not None
        case Shared():
            return False


def places_of(alias: Alias) -> frozenset[Place]:
    """All that a value shares data with."""
    if isinstance(alias, Parts):
        return frozenset().union(*place_sets(alias))
    return alias.places


def both(a: Alias, b: Alias) -> Alias:
    """One of two values."""
    match a, b:
        case Parts(xs), Parts(ys) if len(xs) == len(ys):
            return Parts(tuple([(name, both(x, y)) for (name, x), (_, y) in zip(xs, ys)]))
        case Function(p, n, f, once), Function(q, m, g, again):
            known = n == m and f == g
            only = None if once is None and again is None else (once or frozenset()) | (again or frozenset())
            return Function(p | q, n if known else 0, f if known else UNKNOWN, only)
        case _:
            return Shared(places_of(a) | places_of(b))


def without(alias: Alias, drop: Callable[[Place], bool]) -> Alias:
    """`alias` without some places: those of variables that go out of scope."""

    def kept(places: Places) -> Places:
        return frozenset([p for p in places if not drop(p)])

    return _with_places(alias, kept, kept)


def moved(alias: Alias, to: dict[Place, Place]) -> Alias:
    """`alias` with some places replaced by others."""

    def replaced(places: Places) -> Places:
        return frozenset([to.get(p, p) for p in places])

    return _with_places(alias, replaced, replaced)


def put_in(alias: Alias, to: dict[Place, frozenset[Place]]) -> Alias:
    """`alias` with further places beside some that it has."""
    return _with_places(alias, lambda places: places.union(*[to.get(p, frozenset()) for p in places]), lambda p: p)


def _with_places(alias: Alias, change: Change, change_once: Change) -> Alias:
    """`alias` with other places; `change_once`: of those that a function may be applied to once."""
    match alias:
        case Parts(fields):
            return Parts(tuple([(name, _with_places(part, change, change_once)) for name, part in fields]))
        case Function(places, arity, gives, once):
            return Function(change(places), arity, gives, None if once is None else change_once(once))
        case Shared(places):
            return Shared(change(places)) if places else alias


def type_at(ty: Ty, path: tuple[str, ...]) -> Ty:
    """The type of a part."""
    for name in path:
        ty = dict(ty.fields)[name] if isinstance(ty, TRecord) else ty
    return ty


def part_at(alias: Alias, path: tuple[str, ...]) -> Alias:
    for name in path:
        alias = field_of(alias, name)
    return alias


def paths_in(alias: Alias, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], frozenset[Place]]]:
    """The parts of a value that are no records: where each stands, and what it shares data with."""
    if isinstance(alias, Parts):
        for name, part in alias.fields:
            yield from paths_in(part, (*path, name))
    else:
        yield path, alias.places


def shared_between_parts(alias: Alias) -> set[Place]:
    """The places that several parts of a value share."""
    if not isinstance(alias, Parts):
        return set()
    several = Counter(place for _, places in paths_in(alias) for place in places)
    return {place for place, count in several.items() if count > 1}
