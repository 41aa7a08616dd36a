"""Loops. The body is elaborated under the assumption that the sizes of the loop's values stay as they are; a size that
the body changes becomes a parameter of its own, and the body is elaborated again, until the assumption holds.
"""

from __future__ import annotations

from ...ir.core import ForLoop, Loop, Param, WhileLoop
from ...ir.errors import Loc
from ...ir.records import dataclass
from ...ir.types import BOOL, I64, Atom, Name, Prim, Var, scalar
from ..source import syntax as s
from ..source.atoms import PVar
from .assertions import note_sizes
from .indexing import distinct_arrays, element
from .shapes import bind_pattern, name_of_pattern
from .state import Builder, Stage, body_of, emit_pattern
from .values import Arr, Component, Env, Open, Value, atoms_of, components, is_data, sizes_of, with_atoms, with_sizes


@dataclass(frozen=True, slots=True)
class Counter:
    """`for i < bound`, or `for pat in array` counted by a hidden index."""

    bound: Atom
    prim: Prim
    pat: s.Pat | str
    array: Arr | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One elaboration of the body: its parameters and what it gives."""

    carried: list[Param]
    params: list[Param]
    form: ForLoop | WhileLoop
    cond: tuple[Param, Atom] | None
    builder: Builder
    before: Value
    after: Value


def loop_value(st: Stage, exp: s.Loop, env: Env, hint: str) -> Value:
    """`loop pat = init for .. do body`."""
    init = st.evaluate(exp.init, env, "")
    frame = _frame(exp, env)
    bind_pattern(st, exp.pat, init, frame)  # checks the sizes of the initial value
    init = distinct_arrays(st, value_of_pattern(exp.pat, init, frame), exp.loc)
    if not is_data(init):
        raise AssertionError("functions are not carried by loops")
    counter = _counter(st, exp, env)
    start = None if counter is not None else _condition(st, exp, init, env)
    attempt = _settled_attempt(st, exp, init, counter, env)
    return _emit_loop(st, exp, init, start, attempt, hint)


def _frame(exp: s.Loop, env: Env) -> Env:
    frame = env.child()
    for size in exp.sizes:
        frame.values[size] = Open(size, frame, None)
    return frame


def value_of_pattern(pat: s.Pat, value: Value, frame: Env) -> Value:
    """`value` after the ascriptions in `pat` have had their say: read back from the names that were bound."""
    match pat:
        case PVar(_, name):
            found = frame.values[name]
            return value if isinstance(found, Open) else found
        case s.PAscript(inner) | s.PAttr(_, inner):
            return value_of_pattern(inner, value, frame)
        case s.PTuple(fields=written) | s.PRecord(fields=written):
            fields = dict(_fields(value))
            return _record(value, {name: value_of_pattern(p, fields[name], frame) for name, p in written})
        case _:
            return value


def _fields(value: Value) -> tuple[tuple[str, Value], ...]:
    return value.fields  # type: ignore[union-attr]


def _record(value: Value, changed: dict[str, Value]) -> Value:
    return type(value)(tuple([(name, changed.get(name, old)) for name, old in _fields(value)]))  # type: ignore[call-arg]


def _counter(st: Stage, exp: s.Loop, env: Env) -> Counter | None:
    match exp.form:
        case s.ForLess(_, name, bound):
            part = st.evaluate(bound, env, "")
            assert isinstance(part, Component)
            return Counter(part.atom, part.prim, name, None)
        case s.ForIn(pat, array):
            xs = st.evaluate(array, env, "")
            assert isinstance(xs, Arr)
            return Counter(xs.size, Prim.I64, pat, xs)
        case s.While():
            return None


def _condition(st: Stage, exp: s.Loop, value: Value, env: Env) -> Atom:
    """The condition of a `while` for the loop's value `value`."""
    assert isinstance(exp.form, s.While)
    frame = _frame(exp, env)
    bind_pattern(st, exp.pat, value, frame)
    part = st.evaluate(exp.form.cond, frame, "")
    assert isinstance(part, Component)
    return part.atom


def _settled_attempt(st: Stage, exp: s.Loop, init: Value, counter: Counter | None, env: Env) -> Attempt:
    """Elaborate the body until the sizes assumed to stay do stay."""
    changing: set[int] = set()
    while True:
        attempt = _attempt(st, exp, init, counter, env, changing)
        sizes = zip(sizes_of(attempt.before), sizes_of(attempt.after), strict=True)
        more = {i for i, (before, after) in enumerate(sizes) if before != after} - changing
        if not more:
            return attempt
        changing |= more


def _attempt(st: Stage, exp: s.Loop, init: Value, counter: Counter | None, env: Env, changing: set[int]) -> Attempt:
    with st.nested() as builder:
        carried = [st.param("n", I64) for _ in sorted(changing)]
        new = dict(zip(sorted(changing), carried, strict=True))
        sizes = [Var(new[i].name) if i in new else size for i, size in enumerate(sizes_of(init))]
        note_sizes(st, [Var(param.name) for param in carried])
        before = with_sizes(init, sizes)
        bases = component_names(exp.pat, before)
        types = [type for _, type in components(before)]
        params = [st.param(base, type) for base, type in zip(bases, types, strict=True)]
        before = with_atoms(before, [Var(p.name) for p in params])
        cond = None if counter is not None else st.param("continue", BOOL)
        frame = _frame(exp, env)
        bind_pattern(st, exp.pat, before, frame)
        form = WhileLoop(cond.name) if cond is not None else _bind_counter(st, counter, frame, exp.loc)
        after = _ascribed(st, exp, st.evaluate(exp.body, frame, ""), env)
        next_cond = None if cond is None else (cond, _condition(st, exp, after, env))
    return Attempt(carried, params, form, next_cond, builder, before, after)


def _ascribed(st: Stage, exp: s.Loop, value: Value, env: Env) -> Value:
    """The next value of the loop, with the sizes that the pattern fixes."""
    frame = _frame(exp, env)
    bind_pattern(st, exp.pat, value, frame)
    return value_of_pattern(exp.pat, value, frame)


def _bind_counter(st: Stage, counter: Counter | None, frame: Env, loc: Loc) -> ForLoop:
    assert counter is not None
    base = counter.pat if isinstance(counter.pat, str) else "i"
    index: Name = st.param(base, scalar(counter.prim)).name
    if counter.array is not None and not isinstance(counter.pat, str):
        hint = name_of_pattern(counter.pat)
        bind_pattern(st, counter.pat, element(st, counter.array, Var(index), loc, hint), frame)
    else:
        frame.values[base] = Component(Var(index), counter.prim)
    return ForLoop(index, counter.bound, counter.prim)


def component_names(pat: s.Pat, value: Value) -> list[str]:
    """A name for each component of `value`: that of the pattern variable it is bound to."""
    match pat:
        case s.PAscript(inner) | s.PAttr(_, inner):
            return component_names(inner, value)
        case s.PTuple(fields=written) | s.PRecord(fields=written):
            patterns = dict(written)
            parts = [(patterns[name], field) for name, field in _fields(value)]
        case PVar(_, name):
            return [name] * len(atoms_of(value))
        case _:
            return ["x"] * len(atoms_of(value))
    return [base for elem, field in parts for base in component_names(elem, field)]


def _emit_loop(st: Stage, exp: s.Loop, init: Value, start: Atom | None, attempt: Attempt, hint: str) -> Value:
    """The loop statement; results are the carried sizes, the values, and the condition if there is one."""
    old, new = sizes_of(init), sizes_of(attempt.after)
    assumed = sizes_of(attempt.before)
    positions = [assumed.index(Var(param.name)) for param in attempt.carried]
    cond_params = [] if attempt.cond is None else [attempt.cond[0]]
    params = (*attempt.carried, *attempt.params, *cond_params)
    inits = [old[i] for i in positions] + atoms_of(init) + ([] if start is None else [start])
    nexts = [new[i] for i in positions] + atoms_of(attempt.after) + ([] if attempt.cond is None else [attempt.cond[1]])
    renamed: dict[Atom, Atom] = {Var(p.name): Var(st.param("n", I64).name) for p in attempt.carried}
    result = with_sizes(init, [renamed.get(size, size) for size in assumed])
    pat = [Param(name.name, I64) for name in renamed.values() if isinstance(name, Var)]
    values = [
        st.param(hint or p.name.base, type) for p, (_, type) in zip(attempt.params, components(result), strict=True)
    ]
    done = [] if attempt.cond is None else [st.param("done", scalar(Prim.BOOL))]
    loop = Loop(params, tuple(inits), attempt.form, body_of(attempt.builder, nexts))
    emit_pattern(st, (*pat, *values, *done), loop, exp.loc)
    note_sizes(st, list(renamed.values()))
    return with_atoms(result, [Var(p.name) for p in values])
