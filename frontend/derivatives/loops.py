"""The adjoint of a loop: the states of all iterations are kept, a loop runs through them from the last.

Of an array that is updated in place what is overwritten is kept; the updates are undone one by one.

A `while` loop is counted first, and is then a `for` loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.basic import whole
from ...ir.core import Copied, Fix, ForLoop, Index, Loop, Param, Stm, Update, WhileLoop
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import substitute_exp
from ...ir.traverse import free_in_body, index_atoms, names_in_types
from ...ir.types import I64, Atom, Name, Prim, Type, Var, i64, one, scalar
from ..building.code import Carried, Code, differentiable
from .adjoints import Sweep, no_derivative, wanted
from .once import keeps_what_it_reads, writes_apart
from .overwritten import Kept, Overwritten, computed, updates_of


@dataclass(frozen=True, slots=True)
class LoopTape:
    """A `for` loop, how often it runs (i64, not negative), and how its parameters are found at each iteration: by their
    `states`, or by what was overwritten, from `lasts`, what they are after the loop; None: these have all that is
    read."""

    loop: Loop
    form: ForLoop
    count: Atom
    states: tuple[Var | Overwritten | None, ...]
    lasts: tuple[Var, ...]


def keep_loop(sweep: Sweep, stm: Stm, loop: Loop) -> LoopTape:
    """Emits the loop so that it keeps its states."""
    code = sweep.code
    own = {p.name for p in loop.params}
    if any(name in own for name in names_in_types(p.type for p in loop.params)):
        raise no_derivative("a loop whose arrays change their size", stm.loc, "use `jvp`, or arrays of one size")
    if isinstance(loop.form, WhileLoop):
        loop = counted(code, loop)
    assert isinstance(loop.form, ForLoop)
    form = loop.form
    count = code.iterations(form)
    inner = code.inside()
    at = inner.convert(Prim.I64, Var(form.index))
    logs = [updates_of(loop, k) for k in range(len(loop.params))]
    stays = [u is not None and keeps_what_it_reads(loop, k, u) for k, u in enumerate(logs)]
    logs = [None if stay else updates for stay, updates in zip(stays, logs, strict=True)]
    kept = Kept(code, inner, count, at)
    for param, updates, stay in zip(loop.params, logs, stays, strict=True):
        if updates is None and not stay:
            kept.keep(Var(param.name))
    for each in loop.body.stms:
        for updates in logs:
            if updates is not None and each in updates:
                kept.overwritten(each)
        inner.keep(each)
    for updates in logs:
        for each in updates or ():
            kept.places(loop, each)
    body = inner.body([*loop.body.result, *kept.nexts])
    results = [code.like(p, "") for p in kept.params]
    exp = Loop((*loop.params, *kept.params), (*loop.inits, *kept.inits), form, body)
    code.keep(replace(stm, pat=(*stm.pat, *results), exp=exp))
    arrays = kept.arrays(results)
    states = [
        None if stay else arrays[Var(p.name)] if updates is None else Overwritten(loop, tuple(updates), arrays)
        for p, updates, stay in zip(loop.params, logs, stays, strict=True)
    ]
    return LoopTape(loop, form, count, tuple(states), tuple([Var(p.name) for p in stm.pat]))


def counted(code: Code, loop: Loop) -> Loop:
    """A `while` loop as a `for` loop of as many iterations."""
    copy = code.fresh_loop(loop)
    counter = code.param("n", I64)
    inner = code.inside()
    for each in copy.body.stms:
        inner.keep(each)
    more = inner.op(Op.ADD, Var(counter.name), i64(1))
    body = inner.body([*copy.body.result, more])
    results = code.loop([*copy.params, counter], [*copy.inits, i64(0)], copy.form, body)
    return replace(loop, form=ForLoop(code.param("i", I64).name, results[-1], Prim.I64))


def loop_adjoints(sweep: Sweep, tape: LoopTape, seeds: Sequence[Atom | None]) -> None:
    """Adds the adjoints of the initial values and of what the body uses from outside."""
    entered: list[Name] = []

    def enter(name: Name) -> Var:
        entered.append(name)
        return state.enter_adjoint(sweep.code.types[name], sweep.acc(name))

    back = sweep.inside(enter)
    state = _State(sweep, back)
    loop = sweep.code.fresh_loop(tape.loop)
    index = _enter(back, loop, tape, state)
    arrays = len(state.nexts)
    with_integers = any(seed is not None and sweep.code.type_of(seed).prim.is_int for seed in seeds)

    def counts(type: Type) -> bool:
        return differentiable(type) and (with_integers or type.prim.is_float)

    carried = [k for k, p in enumerate(loop.params) if counts(p.type)]
    sweep.active.update(loop.params[k].name for k in carried)
    own = {p.name for p in loop.params}
    free = [n for n in wanted(sweep.code, list(free_in_body(loop.body)), sweep.active) if n not in own]
    free = [n for n in free if counts(sweep.code.types[n])]
    sweep.settle(free)
    row_seeds: list[Atom | None] = [None] * len(loop.params)
    for k in carried:
        row_seeds[k] = state.enter_adjoint(loop.params[k].type, seeds[k])
    types = sweep.code.types
    through = {n: state.enter_adjoint(types[n], sweep.dense.get(n)) for n in free if n not in sweep.far}
    back.dense.update(through)
    back.run(loop.body, row_seeds)
    for k in carried:
        state.leave(back.take(loop.params[k].name))
    if not arrays and all(Var(p.name) == after for p, after in zip(state.params, state.nexts, strict=False)):
        _forward(back.code, loop, index)
    for name in through:
        if name not in sweep.dense:
            back.write_alone(name, through[name], lambda dims: writes_apart(loop, dims))
    back.settle(through)
    for name in through:
        state.leave(back.dense[name])
    for name in entered:
        state.leave(back.accs[name])
    far = [n for n in free if n in sweep.far and n in back.dense]
    for name in far:
        acc = state.enter_adjoint(types[name], sweep.dense.get(name))
        state.leave(back.code.sum(acc, back.dense[name]))
    out = iter(state.emit(index)[arrays:])
    starts = [(loop.inits[k], next(out)) for k in carried]
    for name, var in through.items():
        result = next(out)
        if back.dense[name] != var:
            sweep.dense[name] = result
    for name in entered:
        sweep.accs[name] = next(out)
    for name in far:
        sweep.dense[name] = next(out)
    for init, adjoint in starts:
        sweep.add(init, adjoint)


def _enter(back: Sweep, loop: Loop, tape: LoopTape, state: _State) -> ForLoop:
    """The parameters of the loop as they were at an iteration, in the loop that goes backward; that
    loop's form."""
    code, form = back.code, loop.form
    assert isinstance(form, ForLoop)
    index = code.param("i", scalar(form.prim))
    last = code.op(Op.SUB, form.bound, one(form.prim))
    code.emit((Param(form.index, scalar(form.prim)),), Copied(code.op(Op.SUB, last, Var(index.name))))
    at = code.convert(Prim.I64, Var(form.index))
    for k, (param, kept, after) in enumerate(zip(loop.params, tape.states, tape.lasts, strict=True)):
        if isinstance(kept, Var):
            code.emit((param,), Index(kept.name, (Fix(at), *whole(param.type.shape)), True))
            continue
        if kept is None:
            code.emit((param,), Copied(after))
            _note_written(back, loop, after, updates_of(loop, k) or ())
            continue
        before, old = kept.restored(
            code, state.enter_adjoint(param.type, after), at, {tape.form.index: Var(form.index)}
        )
        state.leave(before)
        code.emit((param,), Copied(before))
        for update in (updates_of(loop, k) or ())[:1]:
            assert isinstance(update.exp, Update)
            back.known[param.name, update.exp.dims] = old
    return ForLoop(index.name, form.bound, form.prim)


def _forward(code: Code, loop: Loop, form: ForLoop) -> None:
    """Lets the loop that goes backward go forward: no iteration needs of another more than sums, and memory is read in
    the order in which it is stored."""
    assert isinstance(loop.form, ForLoop)
    for k, stm in enumerate(code.stms):
        if stm.pat[0].name == loop.form.index:
            code.stms[k] = replace(stm, exp=Copied(Var(form.index)))


def _note_written(back: Sweep, loop: Loop, after: Var, updates: Sequence[Stm]) -> None:
    """What an iteration writes stands in the array `after` the loop if no other one writes there."""
    code = back.code
    for update in updates if len(updates) == 1 else ():
        exp = update.exp
        assert isinstance(exp, Update)
        if isinstance(exp.value, Var) and writes_apart(loop, exp.dims):
            places = {i.name: computed(code, loop, i, {}) for i in index_atoms(exp.dims) if isinstance(i, Var)}
            read = substitute_exp(Index(after.name, exp.dims, True), places)
            back.values[exp.value.name] = code.let("value", read, code.type_of(exp.value))


class _State(Carried):
    """The parameters of the loop that goes backward."""

    __slots__ = ("back",)

    def __init__(self, sweep: Sweep, back: Sweep) -> None:
        super().__init__(sweep.code)
        self.back = back.code

    def enter_adjoint(self, type: Type, init: Atom | None) -> Var:
        """A parameter for an adjoint."""
        return self.enter("adj", self.code.zeros(type) if init is None else self.code.sized(init, type), type)

    def leave(self, value: Atom | None) -> None:
        """The value of the next parameter, in the order in which they entered."""
        param = self.params[len(self.nexts)]
        self.nexts.append(self.back.zeros(param.type) if value is None else value)

    def emit(self, form: ForLoop) -> tuple[Var, ...]:
        return self.code.loop(self.params, self.inits, form, self.back.body(self.nexts))
