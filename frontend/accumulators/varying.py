"""Streams whose rows write a varying number of times: each row is run through in order and keeps what it writes in an
array of its own, as long as its class of rows needs.

    counts = map (how often the row writes) xs
    for each class c of rows, 2^(c-1) < counts <= 2^c:
      let (is, vs) = map (\\x -> an array of 2^c indices and values, the index -1 behind the last) (the rows of c)
      in hist op dests is vs

All classes together take no more than twice the memory of what is written. What a row writes outside of its loops and
branches takes part in that only by going out of the rows of each class as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...ir.core import (
    Accumulate,
    Body,
    Copied,
    ForLoop,
    If,
    Lambda,
    Loop,
    Reduction,
    Scratch,
    Screma,
    Stm,
    WithAcc,
)
from ...ir.ops import Op
from ...ir.traverse import all_exps
from ...ir.types import I64, Atom, Name, Prim, Type, Var, i64
from ..building.code import Code
from .sizes import Sizes
from .trace import Roots, trace
from .writes import Current, Writes, as_now, write, write_one

Group = tuple[tuple[Name, ...], int]
"""Accumulators that are written together, and at how many indices."""


def by_classes(code: Code, stm: Stm, exp: WithAcc) -> list[Stm]:
    """Statements for the stream `stm`, to be freed of other accumulators."""
    code.loc = stm.loc
    count = len(exp.dests)
    counts = _counts(code, exp)
    classes = code.map(exp.width, (counts,), lambda inner, xs: [_class(inner, xs[0])])[0]
    most = code.screma(code.reduction(exp.width, (classes,), code.monoid(Op.MAX, i64(-1))))
    mapped = [p.type for p in stm.pat[count:]]
    outs = [code.let("rows", Scratch(type), type) for type in mapped]
    params = [code.like(p, "") for p in stm.pat]
    index = code.param("c", I64)
    inner = code.inside()
    nexts = _one_class(inner, exp, classes, Var(index.name), [Var(p.name) for p in params])
    bound = code.op(Op.ADD, most[0], i64(1))
    inits = (*[Var(dest) for dest in exp.dests], *outs)
    loop = Loop(tuple(params), inits, ForLoop(index.name, bound, Prim.I64), inner.body(nexts))
    code.stms.append(replace(stm, exp=loop))
    return code.stms


def _class(code: Code, count: Var) -> Atom:
    """The least c such that count <= 2^c."""
    before = code.op(Op.SUB, code.op(Op.MAX, count, i64(1)), i64(1))
    return code.op(Op.SUB, i64(64), code.convert(Prim.I64, code.op(Op.CLZ, before)))


def _counts(code: Code, exp: WithAcc) -> Var:
    """How often each row writes."""
    rows = _Rows(code, exp)
    rows.start(lambda group: [])
    rows.run(rows.code, rows.function.body.stms)
    total: Atom = i64(0)
    for pos, *_ in rows.state.values():
        total = rows.code.op(Op.ADD, total, pos)
    f = Lambda(rows.params, rows.code.body([total]), (I64,))
    return code.screma(Screma(exp.width, exp.arrays, f, (), ()), "counts")[0]


def _one_class(code: Code, exp: WithAcc, classes: Var, which: Atom, given: Sequence[Var]) -> list[Atom]:
    """The next destinations and mapped arrays after the rows of one class."""
    count = len(exp.dests)
    members, number = _members(code, exp.width, classes, which)
    size = code.op(Op.SHL, i64(1), which, base="size")
    rows = _Rows(code, exp)
    place = code.param("r", I64)
    for param, array in zip(rows.params, exp.arrays, strict=True):
        rows.code.emit((param,), Copied(rows.code.at(Var(array), Var(place.name))))
    rows.start(lambda group: rows.buffers(group, size))
    rows.run(rows.code, rows.function.body.stms)
    mapped = rows.function.body.result[count:]
    kept = [array for _, *arrays in rows.state.values() for array in arrays]
    result = [*mapped, *kept, *[atom for _, each in rows.once for atom in (*each.index, *each.values)]]
    f = Lambda((place,), rows.code.body(result), tuple([rows.code.type_of(a) for a in result]))
    found = code.screma(Screma(number, (members.name,), f, (), ()), "kept")
    current: Current = dict(zip(rows.accs, given, strict=False))
    sizes = Sizes(rows.code.stms, rows.params)
    at = len(mapped)
    for group, op in rows.groups.items():
        accs, rank = group
        arrays = found[at : at + rank + len(accs)]
        at += len(arrays)
        write(code, current, Writes(accs, (number, size), arrays[:rank], arrays[rank:], _outside(code, sizes, op)))
    for accs, each in rows.once:
        rank, start = len(each.index), at
        at += rank + len(accs)
        op = _outside(code, sizes, each.op)
        write(code, current, Writes(accs, (number,), found[start : start + rank], found[start + rank : at], op))
    outs: list[Atom] = []
    for out, part in zip(given[count:], found, strict=False):
        outs.append(code.let("rows", code.scatter(number, (members,), part, out), code.types[out.name]))
    return [*[current[acc] for acc in rows.accs], *outs]


def _outside(code: Code, sizes: Sizes, op: Reduction | None) -> Reduction | None:
    """`op` with neutral elements that are known at the end of `code`."""
    if op is None:
        return None
    neutral = sizes.lifted(code, op.neutral)
    assert neutral is not None, "neutral elements are the same in all rows"
    return replace(op, neutral=neutral)


def _members(code: Code, width: Atom, classes: Var, which: Atom) -> tuple[Var, Atom]:
    """The rows of class `which`, and how many they are; there are rows."""

    def chosen(inner: Code, xs: Sequence[Var]) -> Sequence[Atom]:
        return [inner.op(Op.SELECT, inner.op(Op.EQ, xs[0], which), i64(1), i64(0))]

    def target(inner: Code, xs: Sequence[Var]) -> Sequence[Atom]:
        place = inner.op(Op.SUB, xs[1], i64(1))
        return [inner.op(Op.SELECT, inner.op(Op.EQ, xs[0], i64(1)), place, i64(-1))]

    (flags,) = code.map(width, (classes,), chosen)
    (ends,) = code.screma(code.scan(width, (flags,), code.monoid(Op.ADD, i64(0))), "ends")
    number = code.at(ends, code.op(Op.SUB, width, i64(1)))
    (places,) = code.map(width, (flags, ends), target)
    type = I64.array_of(number)
    empty = code.let("members", Scratch(type), type)
    return code.let("members", code.scatter(width, (places,), code.iota(width), empty), type), number


class _Rows:
    """A copy of the function of a stream, run in order. `state`: for each group how often it was written, and what to
    keep of it, one array for each index and value. `once`: what each row combines into accumulators once."""

    __slots__ = ("accs", "code", "function", "groups", "mine", "once", "params", "roots", "state")

    def __init__(self, code: Code, exp: WithAcc) -> None:
        count = len(exp.dests)
        self.function = code.fresh_lambda(exp.map)
        self.accs = [p.name for p in self.function.params[:count]]
        self.params = self.function.params[count:]
        self.mine = set(self.accs)
        self.roots: Roots = {name: name for name in self.accs}
        trace(self.function.body, self.roots)
        self.code = code.inside()
        self.state: dict[Group, list[Atom]] = {}
        self.groups: dict[Group, Reduction | None] = {}
        self.once: list[tuple[tuple[Name, ...], Accumulate]] = []
        single = [stm.exp for stm in self.function.body.stms]
        for each in all_exps(self.function.body):
            if isinstance(each, Accumulate) and each.accs[0] in self.roots and (each.op is None or each not in single):
                self.groups.setdefault(self._group(each), each.op)

    def _group(self, exp: Accumulate) -> Group:
        return tuple([self.roots[acc] for acc in exp.accs]), len(exp.index)

    def start(self, arrays: Callable[[Group], Sequence[Atom]]) -> None:
        self.state = {group: [i64(0), *arrays(group)] for group in self.groups}

    def buffers(self, group: Group, size: Atom) -> list[Atom]:
        """Arrays of `size` indices, all out of range, and values."""
        accs, rank = group
        types = [self.code.types[acc] for acc in accs]
        values = [self.code.zeros(Type(t.prim, (size, *t.shape[rank:]))) for t in types]
        return [*[self.code.replicate((size,), i64(-1)) for _ in range(rank)], *values]

    def run(self, code: Code, stms: Sequence[Stm]) -> None:
        """Emits the statements in order, with the state in place of the accumulators."""
        for stm in stms:
            code.loc = stm.loc
            self._statement(code, stm)

    def _statement(self, code: Code, stm: Stm) -> None:
        dropped = [p.name for p in stm.pat if p.name in self.roots]
        match stm.exp:
            case WithAcc(dests=dests) as exp if any(d in self.roots for d in dests):
                self._statement(code, replace(stm, exp=_in_order(code, exp)))
            case Accumulate(accs, op=op) as exp if dropped and op is not None and code is self.code:
                values = tuple([as_now(code, value) for value in exp.values])
                self.once.append((tuple([self.roots[acc] for acc in accs]), replace(exp, values=values)))
            case Accumulate() as exp if dropped:
                self._keep(code, exp)
            case Accumulate(accs, index, values, op):
                current: Current = {acc: Var(acc) for acc in accs}
                write_one(code, current, Writes(accs, (), index, values, op))
                for param, acc in zip(stm.pat, accs, strict=True):
                    code.emit((param,), Copied(current[acc]))
            case If(cond, then, orelse) if dropped:
                self._branch(code, stm, cond, (then, orelse))
            case Loop() as exp if dropped:
                self._loop(code, stm, exp)
            case _ if not dropped:
                code.stms.append(stm)
            case _:
                pass  # another name for an accumulator

    def _keep(self, code: Code, exp: Accumulate) -> None:
        pos, *arrays = self.state[self._group(exp)]
        given = (*exp.index, *exp.values)
        kept = [code.put(xs, (pos,), x) for xs, x in zip(arrays, given, strict=False) if isinstance(xs, Var)]
        self.state[self._group(exp)] = [code.op(Op.ADD, pos, i64(1)), *kept]

    def _touched(self, names: Sequence[Name]) -> list[Group]:
        found = {self.roots[name] for name in names if name in self.roots}
        return [group for group in self.groups if found & set(group[0])]

    def _take(self, groups: Sequence[Group]) -> list[Atom]:
        return [atom for group in groups for atom in self.state[group]]

    def _put(self, groups: Sequence[Group], atoms: Sequence[Atom]) -> None:
        supply = iter(atoms)
        for group in groups:
            self.state[group] = [next(supply) for _ in self.state[group]]

    def _branch(self, code: Code, stm: Stm, cond: Atom, sides: tuple[Body, Body]) -> None:
        kept = [k for k, p in enumerate(stm.pat) if p.name not in self.roots]
        groups = self._touched([p.name for p in stm.pat])
        before = self._take(groups)
        bodies: list[Body] = []
        for side in sides:
            inner = code.inside()
            self._put(groups, before)
            self.run(inner, side.stms)
            bodies.append(inner.body([*[side.result[k] for k in kept], *self._take(groups)]))
        pat = [code.param("kept", code.type_of(atom)) for atom in before]
        exp = If(cond, bodies[0], bodies[1])
        code.stms.append(replace(stm, pat=(*[stm.pat[k] for k in kept], *pat), exp=exp))
        self._put(groups, [Var(p.name) for p in pat])

    def _loop(self, code: Code, stm: Stm, loop: Loop) -> None:
        kept = [k for k, p in enumerate(loop.params) if p.name not in self.roots]
        groups = self._touched([p.name for p in loop.params])
        before = self._take(groups)
        params = [code.param("kept", code.type_of(atom)) for atom in before]
        self._put(groups, [Var(p.name) for p in params])
        inner = code.inside()
        self.run(inner, loop.body.stms)
        body = inner.body([*[loop.body.result[k] for k in kept], *self._take(groups)])
        pat = [code.like(p, "") for p in params]
        inits = (*[loop.inits[k] for k in kept], *before)
        exp = Loop((*[loop.params[k] for k in kept], *params), inits, loop.form, body)
        code.stms.append(replace(stm, pat=(*[stm.pat[k] for k in kept], *pat), exp=exp))
        self._put(groups, [Var(p.name) for p in pat])


def _in_order(code: Code, exp: WithAcc) -> Loop:
    """A stream inside of a row as a loop."""
    count = len(exp.dests)
    f = exp.map
    index = code.param("i", I64)
    types = [type.array_of(exp.width) for type in f.ret[count:]]
    outs = [code.param("rows", type) for type in types]
    starts = [code.let("rows", Scratch(type), type) for type in types]
    inner = code.inside()
    for param, array in zip(f.params[count:], exp.arrays, strict=True):
        inner.emit((param,), Copied(inner.at(Var(array), Var(index.name))))
    inner.stms.extend(f.body.stms)
    written = [inner.put(Var(p.name), (Var(index.name),), v) for p, v in zip(outs, f.body.result[count:], strict=True)]
    inits = (*[Var(dest) for dest in exp.dests], *starts)
    params = (*f.params[:count], *outs)
    return Loop(params, inits, ForLoop(index.name, exp.width, Prim.I64), inner.body([*f.body.result[:count], *written]))
