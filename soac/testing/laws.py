"""The laws that operators owe, tried on random values by the interpreter: `soac test --laws`.

    reduce op ne xs, scan op ne xs         op x (op y z) = op (op x y) z,   op ne x = x = op x ne
    reduce_comm, reduce_by_index           op x y = op y x as well

Versions of a program rely on these: they cut arrays into parts, and begin every part with the neutral element. Numbers
are small, and floats are multiples of a half, so that sums and products are exact; other floats may differ by
`TOLERANCE`. In every second trial integers of 8 and 16 bits are those at the ends of their range (which saturation
shows), and neutrality alone is tried on larger numbers of other types (which shows that 100 is not that of a minimum).
Elements are made as the program makes them, where that is seen: those of an `iota` are indices, those of a
`map` its results. Values of sum types are drawn as their components. What an operator takes from its surroundings is
computed first; one that depends on what only a run knows is not tried, nor is one under `#[lawful]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arguments import Argument
from ..data.read_write import compare_values
from ..data.text import write_text
from ..ir.attributes import has_attr
from ..ir.core import Body, Copied, FunDef, Hist, Iota, Lambda, Param, Prog, Reduction, Screma, Stm
from ..ir.errors import NOWHERE, Loc, RunError
from ..ir.interpret import Prepared, Thresholds, prepare
from ..ir.scalar import elements_as
from ..ir.traverse import bodies, free_in_lambda, free_in_stm
from ..ir.types import Atom, Const, Name, Names, Prim, Type, Var

TRIALS = 100
SEED = 2026
TOLERANCE = 1e-3
LARGEST = 8  # of the integers, and of the floats, that are drawn
FAR, FAR_OF_HALVES = 21, 11  # bits of the numbers on which neutrality alone is tried

Values = Sequence[Argument]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator with its neutral element. `around`: what both need of their surroundings, in order; None if only a
    run knows. `elements` makes an element of the array from random values; `indices` are its parameters that count."""

    loc: Loc
    what: str
    reduction: Reduction
    commutes: bool
    around: tuple[Stm, ...] | None
    elements: Lambda
    indices: frozenset[Name]
    trusted: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of the laws of an operator: `broken` in words, or why they were not tried."""

    loc: Loc
    what: str
    broken: str | None
    untried: str | None


def verdicts(prog: Prog) -> tuple[Verdict, ...]:
    """On all operators of a program, one for each place of the source, in the order of the program."""
    names = Names(prog.next_name)
    found: dict[tuple[Loc, str], Operator] = {}
    for one in _operators(prog, names):
        if (before := found.get((one.loc, one.what))) is None or before.around is None:
            found[one.loc, one.what] = one
    functions = [_functions(one, names) for one in found.values()]
    added = tuple([fun for group in functions for fun in group])
    run = prepare(replace(prog, functions=prog.functions + added, next_name=names.next))
    return tuple([_verdict(one, group, run) for one, group in zip(found.values(), functions, strict=True)])


# ---- where operators are -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scope:
    """The statements that a place sees, by what they bind, and the constants of the program."""

    stms: Mapping[Name, Stm]
    consts: frozenset[Name]

    def around(self, names: Iterable[Name]) -> tuple[Stm, ...] | None:
        """The statements that `names` need, in order. None if one of them needs a parameter."""
        needed: dict[int, Stm] = {}
        waiting = [*names]
        while waiting:
            name = waiting.pop()
            if name in self.consts:
                continue
            if name not in self.stms:
                return None
            stm = self.stms[name]
            if id(stm) not in needed:
                needed[id(stm)] = stm
                waiting += free_in_stm(stm)
        places = {id(stm): place for place, stm in enumerate(self.stms.values())}
        return tuple(sorted(needed.values(), key=lambda stm: places[id(stm)]))


def _operators(prog: Prog, names: Names) -> Iterator[Operator]:
    consts = frozenset([param.name for stm in prog.consts for param in stm.pat])
    waiting: list[tuple[Body, Mapping[Name, Stm]]] = [(Body(prog.consts, ()), {})]
    waiting += [(fun.body, {}) for fun in prog.functions]
    while waiting:
        body, outer = waiting.pop(0)
        stms = {**outer, **{param.name: stm for stm in body.stms for param in stm.pat}}
        for stm in body.stms:
            yield from _of_statement(stm, _Scope(stms, consts), names)
            waiting += [(inner, stms) for inner in bodies(stm.exp)]


def _of_statement(stm: Stm, scope: _Scope, names: Names) -> Iterator[Operator]:
    match stm.exp:
        case Screma(_, arrays, f, scans, reds):
            parts = [("scan", one, one.comm) for one in scans] + [("reduce", one, one.comm) for one in reds]
            start = 0
        case Hist(_, arrays, f, op, _, rank):
            parts, start = [("reduce_by_index", op, True)], rank
        case _:
            return
    for what, reduction, commutes in parts:
        here = slice(start, start + len(reduction.neutral))
        start = here.stop
        needed = [*free_in_lambda(reduction.op), *(a.name for a in reduction.neutral if isinstance(a, Var))]
        types = tuple([param.type for param in reduction.op.params[: len(reduction.neutral)]])
        made = _Elements(scope, names, [], set(), [], {})
        results = made.results(f, arrays)[here]
        elements = Lambda(tuple(made.params), Body(tuple(made.stms), results), types)
        yield Operator(
            stm.loc.here, what, reduction, commutes, scope.around(needed), elements, frozenset(made.indices),
            has_attr(stm.attrs, "lawful"),
        )  # fmt: skip


@dataclass(slots=True)
class _Elements:
    """Statements that make an element of each array, from parameters that are drawn."""

    scope: _Scope
    names: Names
    params: list[Param]
    indices: set[Name]
    stms: list[Stm]
    known: dict[Name, Atom]

    def results(self, f: Lambda, arrays: Sequence[Name]) -> tuple[Atom, ...]:
        """What `f` gives for an element of each of `arrays`; drawn where its surroundings are not known."""
        around = self.scope.around(free_in_lambda(f))
        if around is None:
            return tuple([self._drawn(type) for type in f.ret])
        for array, param in zip(arrays, f.params, strict=True):
            atom = self._element(array, param.type)
            self.stms.append(Stm((param,), Copied(atom), (), (), NOWHERE))
        self.stms += [stm for stm in (*around, *f.body.stms) if stm not in self.stms]
        return f.body.result

    def _element(self, array: Name, type: Type) -> Atom:
        if array not in self.known:
            stm = self.scope.stms.get(array)
            match stm.exp if stm is not None else None:
                case Screma(_, arrays, f, (), ()):
                    assert stm is not None
                    self.known.update(zip([p.name for p in stm.pat], self.results(f, arrays), strict=True))
                case Iota():
                    self.known[array] = self._drawn(type)
                    self.indices.add(self.params[-1].name)
                case _:
                    self.known[array] = self._drawn(type)
        return self.known[array]

    def _drawn(self, type: Type) -> Var:
        self.params.append(Param(self.names.fresh("drawn"), type))
        return Var(self.params[-1].name)


# ---- laws of one operator ------------------------------------------------------------------------------------------


def _functions(one: Operator, names: Names) -> tuple[FunDef, ...]:
    """The neutral element, the operator, and what makes elements, as functions; none if they cannot be called."""
    types = [param.type for param in (*one.reduction.op.params, *one.elements.params)]
    if one.around is None or not all(isinstance(size, Const) for type in types for size in type.shape):
        return ()
    op = one.reduction.op
    neutral = Lambda((), Body(one.around, one.reduction.neutral), one.elements.ret)
    whole = Lambda(op.params, Body(one.around + op.body.stms, op.body.result), op.ret)
    return tuple([_function(f, names) for f in (neutral, whole, one.elements)])


def _function(f: Lambda, names: Names) -> FunDef:
    results = tuple([Param(names.fresh("result"), type) for type in f.ret])
    return FunDef(names.fresh("law"), f.params, (), results, f.body, None, (), NOWHERE)


def _verdict(one: Operator, functions: tuple[FunDef, ...], run: Prepared) -> Verdict:
    if one.trusted:
        return Verdict(one.loc, one.what, None, "it is `#[lawful]`")
    if not functions:
        return Verdict(one.loc, one.what, None, "it depends on what only a run knows")
    neutral, op, element = (_Call(run, str(fun.name)) for fun in functions)
    try:
        ne = neutral()
    except RunError as error:
        return Verdict(one.loc, one.what, None, f"its neutral element fails: {error.diagnostics[0].message}")
    source = np.random.Generator(np.random.PCG64(SEED))
    tried = 0
    params = [(p.type, p.name in one.indices) for p in one.elements.params]
    narrow = all(_is_narrow(type.prim) for type, _ in params)
    for trial in range(TRIALS):
        draw = _far if trial % 2 else _drawn
        drawn = [[draw(source, type, is_index) for type, is_index in params] for _ in range(3)]
        try:
            broken = _broken(op, ne, [element(values) for values in drawn], one.commutes, trial % 2 == 0 or narrow)
        except RunError:
            continue
        tried += 1
        if broken is not None:
            return Verdict(one.loc, one.what, broken, None)
    return Verdict(one.loc, one.what, None, None if tried else "it fails on all random values")


@dataclass(frozen=True, slots=True)
class _Call:
    run: Prepared
    name: str

    def __call__(self, *args: Values) -> Values:
        return self.run.run(self.name, [value for arg in args for value in arg], Thresholds())[0]


def _broken(op: _Call, ne: Values, drawn: Sequence[Values], commutes: bool, all_laws: bool) -> str | None:
    """The first law that does not hold of `op` on three values; but for neutrality, if all are tried."""
    x, y, z = drawn
    for args in ((ne, x), (x, ne)):
        if not _equal(got := op(*args), x) and _finite(x) <= _finite(got):
            return f"{_shown(ne)} is not neutral: op {_shown(args[0])} {_shown(args[1])} = {_shown(got)}"
    if not all_laws:
        return None
    left, right = op(op(x, y), z), op(x, op(y, z))
    if not _equal(left, right):
        values = f"x = {_shown(x)}, y = {_shown(y)}, z = {_shown(z)}"
        return f"not associative: op (op x y) z = {_shown(left)}, op x (op y z) = {_shown(right)} for {values}"
    if commutes and not _equal(left := op(x, y), right := op(y, x)):
        values = f"x = {_shown(x)}, y = {_shown(y)}"
        return f"not commutative: op x y = {_shown(left)}, op y x = {_shown(right)} for {values}"
    return None


def _finite(values: Values) -> bool:
    """Whether no float of these has left its range."""
    return all(not np.issubdtype(value.dtype, np.inexact) or bool(np.isfinite(value).all()) for value in values)


def _equal(left: Values, right: Values) -> bool:
    return all(compare_values(a, b, TOLERANCE) is None for a, b in zip(left, right, strict=True))


def _drawn(source: np.random.Generator, type: Type, is_index: bool) -> Argument:
    """A random value of a type whose sizes are numbers."""
    shape = [int(size.value) for size in type.shape if isinstance(size, Const)]
    least = 0 if is_index or type.prim is Prim.BOOL or type.prim.is_unsigned else -LARGEST
    most = 1 if type.prim is Prim.BOOL else LARGEST
    drawn = source.integers(least * 2, most * 2, shape, endpoint=True)
    value = elements_as(drawn / 2 if type.prim.is_float else drawn // 2, type.prim)
    return value if type.shape else value[()]


def _is_narrow(prim: Prim) -> bool:
    return prim is Prim.BOOL or (prim.is_int and prim.bits <= 16)


def _far(source: np.random.Generator, type: Type, is_index: bool) -> Argument:
    """As `_drawn`, of the ends of a narrow type, and of larger numbers."""
    if is_index or type.prim is Prim.BOOL:
        return _drawn(source, type, is_index)
    shape = [int(size.value) for size in type.shape if isinstance(size, Const)]
    bits = type.prim.bits if _is_narrow(type.prim) else FAR if type.prim.bytes > 2 else FAR_OF_HALVES
    most = (1 << bits) - 1 if type.prim.is_unsigned else (1 << (bits - 1)) - 1
    least = 0 if type.prim.is_unsigned else -most - 1
    value = elements_as(source.choice([least, least + 1, 1, most - 1, most], shape), type.prim)
    return value if type.shape else value[()]


def _shown(values: Values) -> str:
    texts = [write_text(value) for value in values]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
