"""What stays in a thread is fused again: a chain of SOACs of one width becomes one loop.

    let ys = scan ⊕ d xs in reduce ⊗ e ys  ⟶  loop (y, r) = (d, e) for i < n do (let y' = y ⊕ xs[i] in (y', r ⊗ y'))
    let ys = scan ⊕ d xs in scan ⊗ e ys    ⟶  loop (y, z, zs) = (d, e, scratch) for i < n do
                                                (let y' = y ⊕ xs[i], z' = z ⊗ y' in (y', z', zs with [i] <- z'))

Behind a scan no SOAC can be fused in parallel; in one thread it can, and then no thread needs an array for what is
between (goldens 4.4, 4.5). What is used behind the chain is written by the loop. That pays where the arrays of a thread
are in memory; where caches keep them, and lanes take the rows of a scan, only chains that end in reductions are
rewritten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir.core import (
    Apply,
    Body,
    Copy,
    Exp,
    Fix,
    ForLoop,
    Iota,
    Lambda,
    Level,
    Loop,
    Param,
    Prog,
    Scratch,
    Screma,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegScatter,
    Stm,
    Update,
)
from ...ir.errors import Loc
from ...ir.machine import Machine
from ...ir.records import dataclass
from ...ir.rename import rename_lambda, substitute_body
from ...ir.traverse import all_exps, consumed_by, free_in_lambda, free_in_stm, map_bodies
from ...ir.types import Atom, Name, Names, Prim, Var
from ..context.segop_bodies import element_of, iota_element, single
from ..context.trace import Rule

Note = Callable[[Rule, str], None]


def sequentialise(prog: Prog, machine: Machine, note: Note) -> Prog:
    """`prog` with the bodies of its segops fused; `note` is called for each chain."""
    names = Names(prog.next_name)

    def on_host(body: Body) -> Body:
        return Body(tuple(inside(stm, on_host) for stm in body.stms), body.result)

    def inside(stm: Stm, around: Callable[[Body], Body]) -> Stm:
        match stm.exp:
            case SegMap() | SegRed() | SegScan() | SegScatter() | SegHist() as segop:
                arrays = segop.level is Level.THREAD and not machine.keeps_rows
                around = on_thread(arrays)
            case _:
                pass
        return replace(stm, exp=map_bodies(around, stm.exp))

    def on_thread(arrays: bool) -> Callable[[Body], Body]:
        def run(body: Body) -> Body:
            stms = tuple(inside(stm, run) for stm in body.stms)
            return fuse_chains(Body(stms, body.result), names, note, arrays)

        return run

    consts = on_host(Body(prog.consts, ())).stms
    functions = tuple(replace(fun, body=on_host(fun.body)) for fun in prog.functions)
    return Prog(consts, functions, names.next)


def fuse_chains(body: Body, names: Names, note: Note, arrays: bool) -> Body:
    """Every chain of a thread's body as a loop, the last one first; `arrays`: those too that give arrays."""
    position = len(body.stms) - 1
    while position >= 0:
        if ends_chain(body.stms[position].exp, arrays):
            members = chain_at(body, position, arrays)
            if len(members) > 1:
                note(Rule.SEQUENTIALISE, ", ".join(str(p.name) for p in body.stms[position].pat))
                body = _replaced(body, members, names)
                position -= len(members) - 1
        position -= 1
    return body


def ends_chain(exp: Exp, arrays: bool) -> bool:
    """Reductions, of which accumulators come out of the loop; with `arrays` of scalars, all SOACs."""
    if not isinstance(exp, Screma):
        return False
    if not exp.scans and len(exp.reds) == len(exp.map.body.result):
        return bool(exp.reds)
    return arrays and not any(t.shape for t in exp.map.ret)


# ---- which statements make a chain ---------------------------------------------------------------------------------


def chain_at(body: Body, last: int, arrays: bool) -> tuple[int, ...]:
    """Positions of the statements that can be one loop with the one at `last`, in program order; with `arrays`, such as
    give arrays of scalars that are used behind it too."""
    made_at = {p.name: k for k, stm in enumerate(body.stms[:last]) for p in stm.pat}
    members = _producers(body, last, made_at)
    if len(members) == 1 or _overwrites(body, min(members), last):
        return (last,)
    used_at = _uses(body)
    while bad := [k for k in members if k != last and not _fits(body, k, members, last, used_at, arrays)]:
        members -= set(bad)
        members &= _producers(body, last, {name: k for name, k in made_at.items() if k in members})
    return tuple(sorted(members))


def _producers(body: Body, last: int, made_at: dict[Name, int]) -> set[int]:
    """SOACs of the same width whose arrays the statement at `last` reads, directly or not."""
    exp = body.stms[last].exp
    assert isinstance(exp, Screma)
    members = {last}
    work = list(exp.arrays)
    while work:
        k = made_at.get(work.pop())
        if k is None or k in members:
            continue
        producer = body.stms[k].exp
        if isinstance(producer, Screma) and producer.width == exp.width:
            members.add(k)
            work.extend(producer.arrays)
    return members


def _overwrites(body: Body, first: int, last: int) -> bool:
    """Whether anything in between overwrites an array (which a statement moved behind it may read)."""
    return any(consumed_by(exp) or isinstance(exp, Apply) for exp in all_exps(Body(body.stms[first:last], ())))


def _uses(body: Body) -> dict[Name, list[int]]:
    """Where each name is used; the result of the body stands behind all statements."""
    used: dict[Name, list[int]] = {}
    for k, stm in enumerate(body.stms):
        for name in free_in_stm(stm):
            used.setdefault(name, []).append(k)
    for atom in body.result:
        if isinstance(atom, Var):
            used.setdefault(atom.name, []).append(len(body.stms))
    return used


def _fits(body: Body, k: int, members: set[int], last: int, used_at: dict[Name, list[int]], arrays: bool) -> bool:
    """Whether the arrays of the statement at `k` are read element by element by the chain, and else only behind it,
    as its reductions are: with `arrays`, if they have scalars."""
    exp = body.stms[k].exp
    assert isinstance(exp, Screma)
    for place, param in enumerate(body.stms[k].pat):
        is_reduced = place < exp.num_reds
        behind = is_reduced or (arrays and param.type.rank == 1)
        for user in used_at.get(param.name, []):
            in_chain = not is_reduced and user in members and _reads_by_element(body.stms[user], param.name)
            if not in_chain and not (behind and user > last):
                return False
    return True


def _reads_by_element(stm: Stm, array: Name) -> bool:
    exp = stm.exp
    assert isinstance(exp, Screma)
    lambdas = (exp.map, *(op.op for op in exp.ops))
    neutral = [atom for op in exp.ops for atom in op.neutral]
    return Var(array) not in neutral and not any(array in free_in_lambda(f) for f in lambdas)


# ---- the loop ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Iteration:
    """One iteration under construction: its statements, elements of arrays that the chain makes, accumulators."""

    names: Names
    index: Name
    iotas: dict[Name, Stm]
    certs: dict[Name, None]
    loc: Loc
    stms: list[Stm]
    elements: dict[Name, Atom]
    accumulators: list[Param]
    inits: list[Atom]
    nexts: list[Atom]


def _replaced(body: Body, members: tuple[int, ...], names: Names) -> Body:
    """`body` with the chain as one loop in place of its last statement."""
    last = members[-1]
    used = {name for name, users in _uses(body).items() if max(users) > last}
    loop = _loop_of(body, [body.stms[k] for k in members], used, names)
    kept = (stm for k, stm in enumerate(body.stms[:last]) if k not in members)
    return Body((*kept, *loop, *body.stms[last + 1 :]), body.result)


def _loop_of(body: Body, chain: list[Stm], used: set[Name], names: Names) -> tuple[Stm, ...]:
    """The loop, behind memory for the arrays of the chain that are `used` behind it."""
    exp, loc = chain[-1].exp, chain[-1].loc
    assert isinstance(exp, Screma)
    iotas = {stm.pat[0].name: stm for stm in body.stms if isinstance(stm.exp, Iota)}
    index = names.fresh("i")
    certs = dict.fromkeys(cert for stm in chain for cert in stm.certs)
    made = _Iteration(names, index, iotas, certs, loc, [], {}, [], [], [])
    results: list[Param] = []
    for stm in chain:
        results += _add_member(made, stm)
    memory: list[Stm] = []
    for k, acc in enumerate(made.accumulators):  # of no rounds the result is the neutral, which others read
        if acc.type.shape and isinstance(neutral := made.inits[k], Var):
            own = Param(names.again(neutral.name), acc.type)
            memory.append(single(Copy(neutral.name), own, loc))
            made.inits[k] = Var(own.name)
    for param in (p for stm in chain for p in stm.pat if p.name in made.elements and p.name in used):
        start, now, then = (Param(names.again(param.name), param.type) for _ in range(3))
        memory.append(single(Scratch(param.type), start, loc))
        made.stms.append(single(Update(now.name, (Fix(Var(index)),), made.elements[param.name], True), then, loc))
        made.accumulators.append(now)
        made.inits.append(Var(start.name))
        made.nexts.append(Var(then.name))
        results.append(param)
    loop = Loop(
        tuple(made.accumulators),
        tuple(made.inits),
        ForLoop(index, exp.width, Prim.I64),
        Body(tuple(made.stms), tuple(made.nexts)),
    )
    return (*memory, Stm(tuple(results), loop, tuple(made.certs), (), loc))


def _add_member(made: _Iteration, stm: Stm) -> list[Param]:
    """Add a SOAC to the iteration; gives what the loop binds for its accumulators."""
    exp = stm.exp
    assert isinstance(exp, Screma)
    rows = [_row(made, param, array) for param, array in zip(exp.map.params, exp.arrays, strict=True)]
    values = _inline(made, exp.map, rows)
    results: list[Param] = []
    place = 0
    for op in exp.ops:
        types = op.op.ret
        taken = slice(place, place + len(op.neutral))
        accumulators = [Param(made.names.fresh("acc"), t) for t in types]
        nexts = _inline(made, op.op, [*(Var(p.name) for p in accumulators), *values[taken]])
        made.accumulators += accumulators
        made.inits += op.neutral
        made.nexts += nexts
        if exp.scans:
            made.elements.update(zip((p.name for p in stm.pat[taken]), nexts, strict=True))
            results += [Param(made.names.fresh("last"), t) for t in types]
        else:
            results += stm.pat[taken]
        place += len(op.neutral)
    made.elements.update(zip((p.name for p in stm.pat[place:]), values[place:], strict=True))
    return results


def _row(made: _Iteration, param: Param, array: Name) -> Atom:
    """The element of an input of the chain: computed in this iteration, or read."""
    if array in made.elements:
        return made.elements[array]
    match made.iotas.get(array):
        case Stm(exp=Iota() as iota, certs=certs):
            made.certs.update(dict.fromkeys(certs))
            stms, atom = iota_element(made.names, iota, Var(made.index), param.name.base, made.loc)
            made.stms += stms
            return atom
        case _:
            pass
    fresh = Param(made.names.again(param.name), param.type)
    shape = (Var(made.index), *param.type.shape)
    made.stms.append(single(element_of(array, shape, (Var(made.index),)), fresh, made.loc))
    return Var(fresh.name)


def _inline(made: _Iteration, f: Lambda, args: list[Atom]) -> tuple[Atom, ...]:
    fresh = rename_lambda(f, made.names)
    body = substitute_body(fresh.body, {p.name: arg for p, arg in zip(fresh.params, args, strict=True)})
    made.stms += body.stms
    return body.result
