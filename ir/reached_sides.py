"""Which sides of guards a call may take, as far as its sizes tell: found on the scalars of the host, before it runs.

Walks the body of an entry with the values of its sizes and scalar arguments. What follows from them is computed; what
does not (elements of arrays, parameters of loops) is unknown, and a guard of something unknown may take both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .core import Apply, Body, Convert, Copied, FunDef, GuardCmp, If, Loop, PrimOp, Prog, SizeParam
from .reachable import reachable
from .records import dataclass
from .scalar import ScalarFailure, Value, apply, convert
from .traverse import all_stms
from .types import Atom, Const, Name
from .version_tree import comparisons

Side = tuple[str, bool]
"""The first threshold of a guard, and whether it is taken."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The versions of an entry that are to be made: those that these sides of guards lead to; None: all of them."""

    entry: str
    sides: frozenset[Side] | None


Decide = Callable[[str, int, bool], bool]
"""From a threshold, the parallelism and whether the version pays: is it taken."""


@dataclass(frozen=True, slots=True)
class Way:
    """What is known of a call: the values of the parameters of its entry, None for arrays; how it decides at guards,
    and what it sets size parameters to."""

    values: tuple[Value | None, ...]
    decide: Decide
    sizes: Mapping[str, int]


def reached_sides(prog: Prog, fun: FunDef, way: Way) -> frozenset[Side]:
    """The sides of guards that a call of the entry `fun` of a flat program may come to."""
    walk = _Walk(way.decide, way.sizes, set())
    known: Known = {}
    walk.statements(Body(prog.consts, ()), known)
    known |= {p.name: v for p, v in zip(fun.params, way.values, strict=True) if v is not None}
    walk.statements(fun.body, known)
    by_name = {f.name: f for f in prog.functions}
    first = _calls(Body((*prog.consts, *fun.body.stms), ()))
    for name in reachable(first, lambda name: _calls(by_name[name].body)):
        walk.statements(by_name[name].body, {})
    return frozenset(walk.sides)


Known = dict[Name, Value]


def _calls(body: Body) -> list[Name]:
    return [stm.exp.function for stm in all_stms(body) if isinstance(stm.exp, Apply)]


@dataclass(frozen=True, slots=True)
class _Walk:
    """`sides`: those found so far."""

    decide: Decide
    sizes: Mapping[str, int]
    sides: set[Side]

    def statements(self, body: Body, known: Known) -> None:
        """Adds the values that statements bind to `known`, as far as they follow, and the sides that they may take."""
        guards = comparisons(body)
        for stm in body.stms:
            match stm.exp:
                case If(cond, then, orelse):
                    value = _value(cond, known)
                    guard = guards.get(cond.name) if not isinstance(cond, Const) else None
                    for inner, taken in ((then, True), (orelse, False)):
                        if value is None or bool(value) == taken:
                            if guard is not None:
                                self.sides.add((guard[0], taken))
                            self.statements(inner, known)
                    if value is not None:
                        taken = then if value else orelse
                        for param, atom in zip(stm.pat, taken.result, strict=True):
                            _note(param.name, _value(atom, known), known)
                case Loop(_, _, _, inner):
                    self.statements(inner, known)
                case exp if len(stm.pat) == 1 and not stm.pat[0].type.shape:
                    _note(stm.pat[0].name, self.scalar(exp, known), known)
                case _:
                    pass

    def scalar(self, exp: object, known: Known) -> Value | None:
        """The value of an expression that gives a scalar; None where it does not follow from `known`."""
        match exp:
            case PrimOp(op, prim, args):
                values = [_value(arg, known) for arg in args]
                if any(value is None for value in values):
                    return None
                try:
                    return apply(op, prim, tuple(value for value in values if value is not None))
                except ScalarFailure:
                    return None
            case Convert(source, target, arg):
                value = _value(arg, known)
                return None if value is None else convert(source, target, value)
            case Copied(arg):
                return _value(arg, known)
            case SizeParam(name, default):
                return self.sizes.get(name, 0) or default
            case GuardCmp(threshold, par, _, pays):
                size, gain = _value(par, known), _value(pays, known)
                return None if size is None or gain is None else self.decide(threshold, int(size), bool(gain))
            case _:
                return None


def _value(atom: Atom, known: Known) -> Value | None:
    return atom.value if isinstance(atom, Const) else known.get(atom.name)


def _note(name: Name, value: Value | None, known: Known) -> None:
    if value is not None:
        known[name] = value
