"""The pass: streams whose rows all write equally often become maps, and histograms of what the maps give.

    with_acc n xs dests (\\acc x -> .. accumulate acc at i values v op ..)
    ⟶   let (is, vs) = map (\\x -> .. (i, v)) xs
         hist op dests is vs

What is written inside of loops and further streams is kept in arrays over these, what a branch does not write goes out
of range. Everything that goes to one place is reduced where the place is known. Rows that write a varying number of
times are in `varying.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.core import (
    Accumulate,
    Body,
    Copied,
    ForLoop,
    If,
    Lambda,
    Loop,
    Param,
    Prog,
    Scratch,
    Screma,
    Stm,
    WithAcc,
)
from ...ir.errors import NOWHERE
from ...ir.records import dataclass
from ...ir.traverse import all_exps, map_bodies, types_in
from ...ir.types import I64, Atom, Names, Prim, Type, Var, i64, scalar
from ..building.code import Carried, Code
from .sizes import Sizes
from .trace import Roots, trace
from .varying import by_classes
from .writes import Current, Writes, as_now, combined, element_types, is_one_place, write


class Varying(Exception):
    """How often something writes is not known outside of it."""


def lower_accumulators(prog: Prog) -> Prog:
    """`prog` without accumulators."""
    if not any(map(has_accumulators, prog.bodies)):
        return prog
    code = Code(Names(prog.next_name), types_in(prog), NOWHERE)
    consts = without_accumulators(code, Body(prog.consts, ())).stms
    functions = [replace(fun, body=without_accumulators(code, fun.body)) for fun in prog.functions]
    return Prog(consts, tuple(functions), code.names.next)


def has_accumulators(body: Body) -> bool:
    return any(isinstance(exp, WithAcc) for exp in all_exps(body))


def without_accumulators(code: Code, body: Body) -> Body:
    """`body` without streams; new names and their types go to `code`."""
    if not has_accumulators(body):
        return body
    inner = code.inside()
    left = _statements(inner, {}, body.stms)
    assert not left, "a body that is given no accumulators writes to none"
    return inner.body(body.result)


def _statements(code: Code, roots: Roots, stms: Sequence[Stm]) -> list[Writes]:
    """Emits the statements without what they accumulate, and gives that."""
    found: list[Writes] = []
    for stm in stms:
        code.loc = stm.loc
        found += _statement(code, roots, stm)
    return found


def _statement(code: Code, roots: Roots, stm: Stm) -> list[Writes]:
    is_passed_on = any(p.name in roots for p in stm.pat)
    match stm.exp:
        case WithAcc() as exp:
            return _with_acc(code, roots, stm, exp)
        case Accumulate(accs, index, values, op) if is_passed_on:
            kept = tuple([as_now(code, value) for value in values])
            return [Writes(tuple([roots[acc] for acc in accs]), (), index, kept, op)]
        case If() as exp if is_passed_on:
            return _branch(code, roots, stm, exp)
        case Loop() as exp if is_passed_on:
            return _loop(code, roots, stm, exp)
        case exp:
            if not is_passed_on:
                code.stms.append(replace(stm, exp=map_bodies(lambda body: without_accumulators(code, body), exp)))
            return []


# ---- streams ------------------------------------------------------------------------------------------------------


def _with_acc(code: Code, roots: Roots, stm: Stm, exp: WithAcc) -> list[Writes]:
    count = len(exp.dests)
    own: list[tuple[Param, Param, Var]] = []
    for param, result, dest in zip(exp.map.params, stm.pat, exp.dests, strict=False):
        if dest not in roots:
            own.append((param, result, Var(dest)))
        roots[param.name] = roots.get(dest, param.name)
    trace(exp.map.body, roots)
    try:
        writes = _rows(code, roots, stm, exp)
    except Varying:
        if len(own) < count:
            raise
        return _statements(code, roots, by_classes(code.inside(), stm, exp))
    current: Current = {param.name: dest for param, _, dest in own}
    left: list[Writes] = []
    for each in writes:
        if each.accs[0] in current:
            write(code, current, each)
        else:
            left.append(each)
    for param, result, _ in own:
        code.emit((result,), Copied(current[param.name]))
    return left


def _rows(code: Code, roots: Roots, stm: Stm, exp: WithAcc) -> list[Writes]:
    """Emits the map, and gives what its rows write."""
    count = len(exp.dests)
    params = exp.map.params[count:]
    rows = code.inside()
    inner = _statements(rows, roots, exp.map.body.stms)
    sizes = Sizes(rows.stms, params)
    outer = [_regular(code, sizes, each) for each in inner]
    result = list(exp.map.body.result[count:])
    ret = list(exp.map.ret[count:])
    pat = list(stm.pat[count:])
    found: list[Writes] = []
    for each, known in zip(inner, outer, strict=True):
        outside: list[Atom] = []
        for atom, type in zip((*each.index, *each.values), element_types(code, each), strict=True):
            if len(outside) < len(each.index) and _is_scalar_outside(rows, sizes, atom):
                outside.append(atom)
                continue
            full = type.array_of(*known.nest)
            wide = atom if rows.type_of(atom).rank == full.rank else rows.replicate(each.nest, atom)
            result.append(rows.sized(wide, full))
            ret.append(full)
            pat.append(code.param("acc", full.array_of(exp.width)))
            outside.append(Var(pat[-1].name))
        rank = len(each.index)
        nest = (exp.width, *known.nest)
        found.append(replace(known, nest=nest, index=tuple(outside[:rank]), values=tuple(outside[rank:])))
    if result:
        f = Lambda(params, rows.body(result), tuple(ret))
        code.stms.append(replace(stm, pat=tuple(pat), exp=Screma(exp.width, exp.arrays, f, (), ())))
    return [_reduced(code, each) for each in found]


def _is_scalar_outside(rows: Code, sizes: Sizes, atom: Atom) -> bool:
    return not rows.type_of(atom).shape and not sizes.is_bound(atom)


def _reduced(code: Code, writes: Writes) -> Writes:
    return replace(writes, nest=(), values=combined(code, writes)) if is_one_place(code, writes) else writes


def _regular(code: Code, sizes: Sizes, writes: Writes) -> Writes:
    """`writes` with its nest and neutral elements in terms of what is known at the end of `code`."""
    neutral = () if writes.op is None else writes.op.neutral
    found = sizes.lifted(code, (*writes.nest, *neutral))
    if found is None:
        raise Varying
    rank = len(writes.nest)
    op = writes.op and replace(writes.op, neutral=found[rank:])
    return replace(writes, nest=found[:rank], op=op)


# ---- loops --------------------------------------------------------------------------------------------------------


def _loop(code: Code, roots: Roots, stm: Stm, exp: Loop) -> list[Writes]:
    if not isinstance(exp.form, ForLoop):
        raise Varying
    kept = [k for k, p in enumerate(exp.params) if p.name not in roots]
    if not kept:
        return _with_acc(code, roots, stm, _as_stream(code, exp, exp.form))
    count = code.iterations(exp.form)
    inner = code.inside()
    writes = _statements(inner, roots, exp.body.stms)
    own = [exp.params[k] for k in kept]
    sizes = Sizes(inner.stms, [*own, Param(exp.form.index, scalar(exp.form.prim))])
    outer = [_regular(code, sizes, each) for each in writes]
    carried = _Kept(code, inner, count, inner.convert(Prim.I64, Var(exp.form.index)))
    moved = [carried.keep(sizes, each, known) for each, known in zip(writes, outer, strict=True)]
    params = (*own, *carried.params)
    inits = (*[exp.inits[k] for k in kept], *carried.inits)
    body = inner.body([*[exp.body.result[k] for k in kept], *carried.nexts])
    pat = (*[stm.pat[k] for k in kept], *carried.results)
    code.stms.append(replace(stm, pat=pat, exp=Loop(params, inits, exp.form, body)))
    return moved


def _as_stream(code: Code, loop: Loop, form: ForLoop) -> WithAcc:
    """A loop that carries accumulators alone."""
    count = code.iterations(form)
    index = code.param("i", I64)
    inner = code.inside()
    as_prim = inner.convert(form.prim, Var(index.name))
    inner.emit((Param(form.index, scalar(form.prim)),), Copied(as_prim))
    body = Body((*inner.stms, *loop.body.stms), loop.body.result)
    types = tuple([p.type for p in loop.params])
    dests = tuple([init.name for init in loop.inits if isinstance(init, Var)])
    return WithAcc(count, (code.iota(count).name,), Lambda((*loop.params, index), body, types), dests)


class _Kept(Carried):
    """Further parameters of a loop, which keep what its iterations write."""

    __slots__ = ("at", "count", "inner", "results")

    def __init__(self, code: Code, inner: Code, count: Atom, at: Atom) -> None:
        super().__init__(code)
        self.inner, self.count, self.at = inner, count, at
        self.results: list[Param] = []

    def keep(self, sizes: Sizes, writes: Writes, known: Writes) -> Writes:
        """The writes of all iterations. `known`: those of one as `_regular` gives them."""
        rank = len(writes.index)
        types = element_types(self.code, writes)
        fixed = [_is_scalar_outside(self.inner, sizes, index) for index in writes.index]
        if known.op is not None and all(fixed):
            sums = [self._param("sum", t, ne) for t, ne in zip(types[rank:], known.op.neutral, strict=True)]
            self.nexts += self.inner.inline(known.op.op, [*sums, *writes.values])
            return replace(known, values=tuple([Var(p.name) for p in self.results[-len(sums) :]]))
        found: list[Atom] = []
        for k, (atom, type) in enumerate(zip((*writes.index, *writes.values), types, strict=True)):
            found.append(atom if k < rank and fixed[k] else self._array(writes, known.nest, atom, type))
        return replace(known, nest=(self.count, *known.nest), index=tuple(found[:rank]), values=tuple(found[rank:]))

    def _array(self, writes: Writes, nest: tuple[Atom, ...], atom: Atom, type: Type) -> Var:
        full = type.array_of(self.count, *nest)
        array = self._param("kept", full, self.code.let("kept", Scratch(full), full))
        wide = atom if self.inner.type_of(atom).rank == full.rank - 1 else self.inner.replicate(writes.nest, atom)
        self.nexts.append(self.inner.put(array, (self.at,), self.inner.sized(wide, full.row())))
        return Var(self.results[-1].name)

    def _param(self, base: str, type: Type, init: Atom) -> Var:
        self.results.append(self.code.param(base, type))
        return self.enter(base, init, type)


# ---- branches -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a branch: its body in hand, its sizes, and what it writes as `_regular` gives it."""

    code: Code
    sizes: Sizes
    writes: list[Writes]


def _branch(code: Code, roots: Roots, stm: Stm, exp: If) -> list[Writes]:
    sides = [_side(code, roots, body) for body in (exp.then, exp.orelse)]
    kept = [k for k, p in enumerate(stm.pat) if p.name not in roots]
    pat = [stm.pat[k] for k in kept]
    results = [[body.result[k] for k in kept] for body in (exp.then, exp.orelse)]
    found: list[Writes] = []
    for pair in _pairs(sides[0], sides[1]):
        some = next(each for each in pair if each is not None)
        types = element_types(code, some)
        rank = len(some.index)
        outside: list[Atom] = []
        for k, type in enumerate(types):
            atoms = [_part(sides[s], sides[1 - s], pair[s], some, k, type) for s in (0, 1)]
            if k < rank and atoms[0] == atoms[1] and not any(side.sizes.is_bound(atoms[0]) for side in sides):
                outside.append(atoms[0])
                continue
            full = [side.code.type_of(atom) for side, atom in zip(sides, atoms, strict=True)]
            wide = type.array_of(*some.nest) if any(len(t.shape) > type.rank for t in full) else type
            pat.append(code.param("acc", wide))
            outside.append(Var(pat[-1].name))
            for side, atom, result in zip(sides, atoms, results, strict=True):
                has_nest = side.code.type_of(atom).rank == wide.rank
                result.append(side.code.sized(atom if has_nest else side.code.replicate(some.nest, atom), wide))
        found.append(replace(some, index=tuple(outside[:rank]), values=tuple(outside[rank:])))
    if pat:
        bodies = [side.code.body(result) for side, result in zip(sides, results, strict=True)]
        code.stms.append(replace(stm, pat=tuple(pat), exp=If(exp.cond, bodies[0], bodies[1])))
    return found


def _side(code: Code, roots: Roots, body: Body) -> _Side:
    inner = code.inside()
    writes = _statements(inner, roots, body.stms)
    sizes = Sizes(inner.stms, ())
    return _Side(inner, sizes, [_regular(code, sizes, each) for each in writes])


def _pairs(then: _Side, orelse: _Side) -> list[tuple[Writes | None, Writes | None]]:
    """What both sides write in one form, and what one of them writes alone."""
    right = orelse.writes
    pairs: list[tuple[Writes | None, Writes | None]] = []
    for each in then.writes:
        other = next((o for o in right if _form(o) == _form(each)), None)
        right = [o for o in right if o is not other]
        pairs.append((each, other))
    return pairs + [(None, each) for each in right]


def _form(writes: Writes) -> tuple[object, ...]:
    """What two writes must have in common to be one behind the branch."""
    return writes.accs, writes.nest, len(writes.index)


def _part(side: _Side, other: _Side, own: Writes | None, some: Writes, k: int, type: Type) -> Atom:
    """Index or value k on one side of a branch; where that writes nothing, something that changes nothing."""
    rank = len(some.index)
    if own is not None:
        return own.index[k] if k < rank else own.values[k - rank]
    if some.op is not None and k >= rank:
        return side.code.replicate(some.nest, some.op.neutral[k - rank])
    if some.op is not None and _is_scalar_outside(other.code, other.sizes, some.index[k]):
        return some.index[k]
    return i64(-1) if k < rank else side.code.zeros(type.array_of(*some.nest))
