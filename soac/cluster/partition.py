"""From core after fusion to the plan of a cluster: what runs in blocks of rows, and what as one task.

    let ys = map n f xs              ⟶  segmap^node:  ys[lo:hi] = map (hi - lo) f xs[lo:hi], a block each
    let r = redomap n ⊙ f xs         ⟶  segred^node:  the blocks' results, combined by ⊙ in a fixed tree
    let ss = scanomap n ⊙ f xs       ⟶  segscan^node: scans of the blocks, a scan of their last rows, map ⊙ with that
    let hs = hist n ⊙ f xs ds        ⟶  seghist^node: bins of the blocks, added to ds in a fixed tree

Statements over one width that need no more of each other than their own rows are one task of a block. Arrays that are
read by an index near the row at hand give the neighbours' rows too (`neighbours.py`); others are broadcast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..ir.basic import whole
from ..ir.core import (
    Apply,
    Body,
    Concat,
    Copied,
    Copy,
    Exp,
    Fix,
    ForLoop,
    Hist,
    If,
    Index,
    Iota,
    Loop,
    Param,
    Prog,
    Rearrange,
    Replicate,
    Reshape,
    Scatter,
    Scratch,
    Screma,
    Slice,
    Stm,
    Update,
)
from ..ir.depth import allow_depth
from ..ir.interpret import find_entry
from ..ir.thresholds import NODE, Threshold, next_of
from ..ir.traverse import (
    all_stms,
    bodies,
    free_in_lambda,
    free_in_stm,
    lambdas,
    names_in_types,
    operands,
    reductions,
    types_in,
)
from ..ir.types import Atom, Const, Name, Names, Prim, Type, Var, i64
from .last_uses import with_last_uses
from .neighbours import Scope, has_one_check, neighbours
from .plan import (
    Block,
    Choice,
    Folded,
    Group,
    Mapped,
    Move,
    Output,
    Part,
    Plan,
    Repeat,
    Scanned,
    Step,
    Whole,
    has_own_steps,
)
from .programs import (
    Rows,
    Source,
    carries_task,
    carry_task,
    checked_index,
    combine_task,
    generator_of_block,
    identity,
    member_of_block,
    on_bins,
    task_of,
)


@dataclass(slots=True)
class Members:
    """Statements over one width that are to be a group; `mapped`: what others may use of its own rows."""

    width: Atom
    stms: list[Stm]
    bound: set[Name] = field(default_factory=set)
    mapped: set[Name] = field(default_factory=set)

    def add(self, stm: Stm) -> None:
        self.stms.append(stm)
        self.bound.update(p.name for p in stm.pat)
        self.mapped.update(mapped_by(stm))


@dataclass(slots=True)
class Single:
    """Statements that are to be one task."""

    stms: list[Stm]
    scalar: bool


@dataclass(frozen=True, slots=True)
class Context:
    """What partitioning knows of a function: the definitions of its names, the names of thresholds so far."""

    source: Source
    definitions: dict[Name, Exp]
    thresholds: dict[Threshold, int]


def plan_of(prog: Prog, entry: str) -> Plan:
    """How a cluster runs an entry of a program after fusion."""
    allow_depth()
    fun = find_entry(prog, entry)
    source = Source(prog, fun, types_in(prog), Names(prog.next_name), {})
    context = Context(source, definitions_of((*prog.consts, *fun.body.stms)), {})
    body = Body((*prog.consts, *fun.body.stms), fun.body.result)
    whole = whole_of(context, Body(fun.body.stms, fun.body.result), fun.results, "the entry")
    params = tuple((p.name, p.type) for p in fun.params)
    return Plan(params, block_of(context, body), tuple((r.name, r.type) for r in fun.results), whole)


def definitions_of(stms: Sequence[Stm]) -> dict[Name, Exp]:
    """The expression of each name that is bound alone, at any depth."""
    return {stm.pat[0].name: stm.exp for stm in all_stms(Body(tuple(stms), ())) if len(stm.pat) == 1}


# ---- which statements go together ---------------------------------------------------------------------------------


def block_of(context: Context, body: Body) -> Block:
    """The steps of a body."""
    stms = [part for stm in body.stms for part in taken_apart(context, stm)]
    uses = Counter(name for stm in stms for name in free_in_stm(stm))
    uses.update({atom.name for atom in body.result if isinstance(atom, Var)})
    steps = [step for raw in arranged(context, stms) for step in built(context, raw, uses)]
    return Block(with_last_uses(steps, body.result), body.result)


Raw = Members | Single | Step


def arranged(context: Context, stms: Sequence[Stm]) -> list[Raw]:
    """The statements in groups. What does not depend on the group at hand goes before it: groups are large."""
    done: list[Raw] = []
    members: Members | None = None
    for stm in stms:
        inputs = inputs_of(context, stm)
        is_bound = members is not None and not members.bound.isdisjoint(free_in_stm(stm))
        if members is not None and joins(members, stm, inputs):
            members.add(stm)
            continue
        if is_bound and members is not None:
            done.append(members)
            members = None
        if inputs is None:
            place(context, done, stm)
        else:
            alone = Members(inputs[0], [])
            alone.add(stm)
            if members is None and not is_generator(stm):
                members = alone
            else:
                done.append(alone)
        if is_generator(stm):
            context.source.generators[stm.pat[0].name] = stm
    return [*done, *([] if members is None else [members])]


def inputs_of(context: Context, stm: Stm) -> tuple[Atom, tuple[Name, ...]] | None:
    """The width of a statement over rows, and the arrays of which a block of it needs its own rows."""
    types = context.source.types
    match stm.exp:
        case Screma(width, arrays) | Hist(width, arrays):
            return width, arrays
        case Rearrange((0, *_), array):
            return types[array].shape[0], (array,)
        case Reshape((count, *_), array) if types[array].shape[:1] == (count,):
            return count, (array,)
        case Iota(count) | Replicate((count, *_), _):
            return count, ()
        case Scratch(Type(_, (count, *_))):
            return count, ()
        case _:
            return None


def is_generator(stm: Stm) -> bool:
    """Whether a statement makes an array of nothing much, so that each task makes its own."""
    return isinstance(stm.exp, Iota | Replicate | Scratch)


def mapped_by(stm: Stm) -> Iterator[Name]:
    """The results of a statement over rows that are arrays of its rows, complete in each block."""
    match stm.exp:
        case Screma():
            yield from (p.name for p in stm.pat[stm.exp.num_ops :])
        case Rearrange() | Reshape():
            yield stm.pat[0].name
        case _:
            pass


def joins(members: Members, stm: Stm, inputs: tuple[Atom, tuple[Name, ...]] | None) -> bool:
    """Whether a statement can be in the task of a block with others: it has their width, and needs of their results its
    own rows alone."""
    if inputs is None or inputs[0] != members.width or is_generator(stm):
        return False
    own = members.bound.intersection(inputs[1])
    return own <= members.mapped and members.bound.isdisjoint(captured(stm))


def captured(stm: Stm) -> dict[Name, None]:
    """What a statement over rows needs besides its own rows of its inputs."""
    match stm.exp:
        case Screma() | Hist():
            atoms = [x for x in operands(stm.exp) if not (isinstance(x, Var) and x.name in stm.exp.arrays)]
            inner = (name for f in lambdas(stm.exp) for name in free_in_lambda(f))
            return dict.fromkeys((*inner, *stm.certs, *(x.name for x in atoms if isinstance(x, Var))))
        case Rearrange(_, array) | Reshape(_, array):
            return {name: None for name in free_in_stm(stm) if name != array}
        case _:
            return free_in_stm(stm)


def place(context: Context, done: list[Raw], stm: Stm) -> None:
    """Adds a statement that is not one over rows."""
    types = context.source.types
    if is_move(stm):
        done.append(Move(stm))
        return
    free = [types[name] for name in free_in_stm(stm)]
    scalar = not any(t.shape for t in (*free, *(p.type for p in stm.pat)))
    last = done[-1] if done else None
    if isinstance(last, Single) and last.scalar == scalar and not (is_control(stm) or is_control(last.stms[0])):
        last.stms.append(stm)
    else:
        done.append(Single([stm], scalar))


def is_move(stm: Stm) -> bool:
    """Whether a statement only says where elements of arrays are."""
    match stm.exp:
        case Copied() | Copy() | Rearrange() | Reshape() | Concat() | Scatter():
            return bool(stm.pat[0].type.shape)
        case Index(_, (Slice(), *_), is_safe) | Update(_, _, _, is_safe):
            return is_safe
        case _:
            return False


def is_control(stm: Stm) -> bool:
    return isinstance(stm.exp, Loop | If)


def taken_apart(context: Context, stm: Stm) -> tuple[Stm, ...]:
    """xs[i, j]  ⟶  ok = assert 0 ≤ i < n ∧ 0 ≤ j < m, x = xs[i:+1], x[0, j] relying on ok: a task needs one row.
    xs with [i, j] ← v  ⟶  the same check, then an update relying on it.
    scatter f xs ds  ⟶  is, vs = map f xs, scatter is vs ds: what a block computes goes where the rows of ds are."""
    source, types = context.source, context.source.types
    match stm.exp:
        case Index(array, (Fix(index), *rest), _) if has_one_check(stm.exp, types[array].shape):
            row = Param(source.names.again(array), Type(types[array].prim, (i64(1), *types[array].shape[1:])))
            types[row.name] = row.type
            checks, certs = checks_of(context, stm, stm.exp)
            take = Index(array, (Slice(index, i64(1), i64(1)), *whole(row.type.shape[1:])), True)
            read = Index(row.name, (Fix(i64(0)), *rest), True)
            return *checks, Stm((row,), take, certs, (), stm.loc), replace(stm, exp=read, certs=certs)
        case Update(array, dims, _, False) if has_one_check(place := Index(array, dims, False), types[array].shape):
            checks, certs = checks_of(context, stm, place)
            return *checks, replace(stm, exp=replace(stm.exp, safe=True), certs=certs)
        case Scatter(width, arrays, f, dests, rank):
            bases = (*["places"] * rank, *(p.name.base for p in stm.pat))
            pairs = tuple(Param(source.names.fresh(base), t.array_of(width)) for base, t in zip(bases, f.ret))
            types.update((p.name, p.type) for p in pairs)
            made = Stm(pairs, Screma(width, arrays, f, (), ()), stm.certs, (), stm.loc)
            names = tuple(p.name for p in pairs)
            return made, replace(stm, exp=Scatter(width, names, identity(source, f.ret), dests, rank))
        case _:
            return (stm,)


def checks_of(context: Context, stm: Stm, index: Index) -> tuple[list[Stm], tuple[Name, ...]]:
    """The check of an index as statements, whose names have types from now on."""
    types = context.source.types
    checks, certs = checked_index(context.source, stm, index, types[index.array].shape)
    types.update((p.name, p.type) for check in checks for p in check.pat)
    return checks, certs


# ---- steps --------------------------------------------------------------------------------------------------------


def built(context: Context, raw: Raw, uses: Counter[Name]) -> Iterator[Step]:
    """The steps of statements that go together. `uses`: how many statements of the body use a name, and its result."""
    match raw:
        case Members():
            yield group_of(context, raw, exported(raw.stms, uses))
        case Single([Stm(_, Loop() | If())]):
            yield control_of(context, raw.stms[0])
        case Single(stms, scalar):
            wanted = exported(stms, uses)
            pat = [p for stm in stms for p in stm.pat if p.name in wanted]
            pat = [*(sizes := sizes_inside(stms, pat)), *(p for p in pat if p not in sizes)]
            body = Body(tuple(stms), tuple(Var(p.name) for p in pat))
            yield replace(whole_of(context, body, pat, reason(stms)), scalar=scalar)
        case _:
            yield raw


def exported(stms: Sequence[Stm], uses: Counter[Name]) -> set[Name]:
    """What statements bind and others use."""
    own = Counter(name for stm in stms for name in free_in_stm(stm))
    return {p.name for stm in stms for p in stm.pat if uses[p.name] > own[p.name]}


def sizes_inside(stms: Sequence[Stm], pat: Sequence[Param]) -> list[Param]:
    """The sizes of `pat` that the statements compute themselves."""
    wanted = set(names_in_types(p.type for p in pat))
    return [p for stm in stms for p in stm.pat if p.name in wanted]


def whole_of(context: Context, body: Body, pat: Sequence[Param], why: str) -> Whole:
    """Statements as one task."""
    task = task_of(Rows(context.source), body, [p.type for p in pat])
    return Whole(task, tuple((p.name, p.type) for p in pat), False, why)


def control_of(context: Context, stm: Stm) -> Step:
    """A loop or branch: with steps of its own where these have groups, else one task."""
    whole = whole_of(context, Body((stm,), tuple(Var(p.name) for p in stm.pat)), stm.pat, reason([stm]))
    names = tuple(p.name for p in stm.pat)
    generators = dict(context.source.generators)
    match stm.exp:
        case Loop() as loop:
            step = Repeat(names, loop, block_of(context, loop.body), whole)
            found = has_own_steps(step.body)
        case If(cond, then, orelse):
            step = Choice(names, cond, block_of(context, then), block_of(context, orelse), whole)
            found = has_own_steps(step.then) or has_own_steps(step.orelse)
        case _:
            return whole
    context.source.generators.clear()
    context.source.generators.update(generators)
    return step if found else whole


def group_of(context: Context, members: Members, wanted: set[Name]) -> Group:
    """The task of a block, and what becomes of its results."""
    rows = Rows(context.source)
    stms: list[Stm] = []
    outputs: list[Output] = []
    results: list[tuple[Name, Type]] = []
    for stm in members.stms:
        own = own_inputs(context, rows, members, stm, stms)
        made = member_of_block(rows, stm, own, near_inputs(context, members, stm))
        stms += made
        outputs += outputs_of(context, stm, made[-1].pat, wanted, results)
    body = Body(tuple(stms), tuple(Var(name) for name, _ in results))
    task = task_of(rows, body, [t for _, t in results])
    binding = members.stms[-1].pat[0].name.base
    threshold = next_of(context.thresholds, context.source.entry, binding, NODE)
    work = tuple((members.width, *chain) for stm in members.stms for chain in chains(stm.exp))
    return Group(threshold, members.width, task, tuple(outputs), tuple(members.stms), work)


def own_inputs(context: Context, rows: Rows, members: Members, stm: Stm, stms: list[Stm]) -> dict[Name, Name]:
    """What a block has of the arrays that a statement goes over: results of statements before it, rows that it makes
    itself (`stms` grow by that), and rows that it is given."""
    _, arrays = inputs_of(context, stm) or (None, ())
    found: dict[Name, Name] = {}
    for name in dict.fromkeys(arrays):
        generator = context.source.generators.get(name)
        if name in members.bound:
            continue
        if generator is not None and generator.pat[0].type.shape[0] == members.width:
            stms += generator_of_block(rows, generator)
            found[name] = stms[-1].pat[0].name
        else:
            found[name] = rows.array(Part(name, 0, 0))
    return found


def near_inputs(context: Context, members: Members, stm: Stm) -> dict[Name, Part]:
    """The arrays of which a block needs the rows around its own."""
    if not isinstance(stm.exp, Screma | Hist):
        return {}
    generators, types = context.source.generators, context.source.types
    counted = {p.name: first_of(generators.get(xs)) for p, xs in zip(stm.exp.map.params, stm.exp.arrays)}
    rows = {name: first for name, first in counted.items() if first is not None}
    scope = Scope(members.width, context.definitions, rows)
    found: dict[Name, Part] = {}
    for name in free_in_lambda(stm.exp.map):
        elsewhere = any(name in free_in_lambda(op.op) for op in reductions(stm.exp))
        if types[name].shape and name not in generators and not elsewhere:
            near = neighbours(scope, name, types[name].shape, stm.exp.map.body)
            if near is not None:
                found[name] = Part(name, *near)
    return found


def first_of(stm: Stm | None) -> int | None:
    """Where a generator counts in steps of one from a number, that."""
    match stm:
        case Stm(exp=Iota(_, Const(Prim.I64, start), Const(Prim.I64, 1))):
            return int(start)
        case _:
            return None


def outputs_of(
    context: Context, stm: Stm, pat: Sequence[Param], wanted: set[Name], results: list[tuple[Name, Type]]
) -> Iterator[Output]:
    """What becomes of the results of a statement, those that are `wanted`; `results` of the block grow by them."""

    def give(params: Sequence[Param]) -> int:
        results.extend((p.name, p.type) for p in params)
        return len(results) - len(params)

    def take(params: list[Param], count: int) -> tuple[tuple[Name, ...], list[Param]]:
        names = tuple(p.name for p in params[:count])
        return (names, params[:count]) if wanted.intersection(names) else ((), [])

    source, left = context.source, list(pat)
    match stm.exp:
        case Screma(_, _, _, scans, reds):
            for op in scans:
                names, params = take(left, len(op.neutral))
                left = left[len(op.neutral) :]
                if params:
                    carries = carries_task(source, op, op.op.ret, stm.loc)
                    yield Scanned(names, give(params), carries, carry_task(source, op, op.op.ret, stm.loc))
            for op in reds:
                names, params = take(left, len(op.neutral))
                left = left[len(op.neutral) :]
                if params:
                    yield Folded(names, give(params), combine_task(source, op, op.op.ret, stm.loc), ())
        case Hist(_, _, _, op, dests, rank):
            types = [source.types[name] for name in dests]
            on_all, before = on_bins(source, op, types, rank, stm.loc)
            combine = combine_task(source, on_all, types, stm.loc, before)
            yield Folded(tuple(p.name for p in left), give(left), combine, dests)
            left = []
        case _:
            pass
    for param in left:
        if param.name in wanted:
            yield Mapped(param.name, give([param]))


def chains(exp: Exp) -> Iterator[tuple[Atom, ...]]:
    """The widths and trip counts around what is innermost in an expression, without its own width."""
    yield ()
    for body in bodies(exp):
        for stm in body.stms:
            match stm.exp:
                case Screma(width) | Hist(width) | Scatter(width) | Loop(form=ForLoop(bound=width)):
                    yield from ((width, *chain) for chain in chains(stm.exp))
                case If():
                    yield from chains(stm.exp)
                case _:
                    pass


def reason(stms: Sequence[Stm]) -> str:
    """Why statements are one task."""
    match stms[0].exp:
        case Index(_, _, False) | Update(_, _, _, False):
            return "an index with several checks"
        case Loop():
            return "a sequential loop without parallelism over rows"
        case If():
            return "a branch without parallelism over rows"
        case Apply():
            return "a call of a function that is not inlined"
        case _:
            return "no statement over rows"
