r"""Calls of recursive functions in one thread: a loop with a stack of the calls that are open.

    y = f x   ⟶   loop (x, y, stack) while a call is open do
                    if a call begins then f's body up to its first call, else what follows the call on top of the stack
                    where that ends in a call: push what is needed behind it, and begin; in a result: pop, and go on

Of functions that call themselves alone, outside of loops and SOACs, whose parameters are numbers or handed on as they
are, and whose results are numbers. A call in tail position pushes nothing. As many calls may be open as elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...ir.core import (
    Apply,
    Assert,
    Body,
    Copied,
    Exp,
    Fix,
    FunDef,
    If,
    Index,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Prog,
    Scratch,
    Stm,
    Update,
    WhileLoop,
)
from ...ir.errors import Loc
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.recursion import most_calls
from ...ir.rename import rename_body, substitute_body
from ...ir.traverse import (
    add_types,
    all_exps,
    all_stms,
    bodies,
    free_in_body,
    lambdas,
    map_bodies,
    reductions,
    rewritten,
    with_lambdas,
)
from ...ir.types import BOOL, I64, Atom, Const, Name, Names, Prim, Type, Var, i64, scalar, zero
from ..aliasing.classes import overwritten_in
from ..context.nest import Flow

BUDGET = 500
"""Statements that a function may have in all pieces together."""

TRUE, FALSE = Const(Prim.BOOL, True), Const(Prim.BOOL, False)


@dataclass(frozen=True, slots=True)
class Rest:
    """What follows a call in a function: it takes the results of the call as `given`, and `live` from the stack."""

    given: tuple[Param, ...]
    body: Body
    live: tuple[Param, ...]


@dataclass(frozen=True, slots=True)
class Pieces:
    """A function between its calls: `begin`, and what follows each call that is not in tail position. Each gives
    whether it ends in a call, the number of what follows that (from 1; 0: nothing), arguments, results, and what is
    saved.
    `fixed`: parameters that all calls hand on; `slots`: the types of what is saved."""

    fun: FunDef
    fixed: frozenset[Name]
    begin: Body
    rests: tuple[Rest, ...]
    slots: tuple[Prim, ...]

    @property
    def moving(self) -> tuple[Param, ...]:
        return tuple([p for p in self.fun.params if p.name not in self.fixed])


def on_stacks(flow: Flow, f: Lambda) -> Lambda | None:
    """A function of a nest with loops for its calls, if it has calls and a thread can do them."""
    body = with_stacks(f.body, flow.context.lifts.functions, flow.context.names)
    if body is None:
        return None
    add_types(flow.known.types, body)
    flow.known.consumed.update(overwritten_in(body))
    return replace(f, body=body)


def with_stacks(body: Body, functions: Mapping[Name, FunDef], names: Names) -> Body | None:
    """`body` with loops for its calls, at any depth; None if it has none, or one that no such loop can be made of."""
    called = {exp.function for exp in all_exps(body) if isinstance(exp, Apply)}
    pieces = {name: pieces_of(functions[name], names) if name in functions else None for name in called}
    known = {name: one for name, one in pieces.items() if one is not None}
    return _replaced(body, known, names) if called and len(known) == len(called) else None


def operators_on_stacks(prog: Prog) -> Prog:
    """`prog` with loops for the calls of operators of reductions, scans and histograms, which no nest flattens."""
    functions = {fun.name: fun for fun in prog.functions}
    names = Names(prog.next_name)
    changed = tuple([replace(fun, body=_with_operators(fun.body, functions, names)) for fun in prog.functions])
    return Prog(_with_operators(Body(prog.consts, ()), functions, names).stms, changed, names.next)


def _with_operators(body: Body, functions: Mapping[Name, FunDef], names: Names) -> Body:
    stms: list[Stm] = []
    for stm in body.stms:
        exp = map_bodies(lambda inner: _with_operators(inner, functions, names), stm.exp)
        stms.append(replace(stm, exp=_operators(exp, functions, names)))
    return Body(tuple(stms), body.result)


def _operators(exp: Exp, functions: Mapping[Name, FunDef], names: Names) -> Exp:
    made = {id(red.op): with_stacks(red.op.body, functions, names) for red in reductions(exp)}
    return with_lambdas(exp, [f if (new := made.get(id(f))) is None else replace(f, body=new) for f in lambdas(exp)])


def _replaced(body: Body, pieces: Mapping[Name, Pieces], names: Names) -> Body:
    def on_stm(stm: Stm) -> list[Stm] | None:
        if not isinstance(stm.exp, Apply):
            return None
        found = rename_body(_Machine(pieces[stm.exp.function], names).called(stm.exp.args, stm.certs), names)
        results = zip(stm.pat, found.result, strict=True)
        return [*found.stms, *(replace(stm, pat=(p,), exp=Copied(x)) for p, x in results)]

    return rewritten(body, on_stm)


# ---- a function in pieces --------------------------------------------------------------------------------------------


def pieces_of(fun: FunDef, names: Names) -> Pieces | None:
    """None if a thread cannot run the function on a stack of numbers."""
    calls = [stm.exp.args for stm in all_stms(fun.body) if isinstance(stm.exp, Apply)]
    if fun.consumes or fun.kernels or any(r.type.shape for r in fun.results) or not _only_itself(fun.body, fun.name):
        return None
    fixed = {p.name for k, p in enumerate(fun.params) if all(args[k] == Var(p.name) for args in calls)}
    if any(p.type.shape and p.name not in fixed for p in fun.params):
        return None
    return _Cutter(fun, frozenset(fixed), names).pieces()


def _only_itself(body: Body, name: Name) -> bool:
    """Whether all calls are of the function itself, in straight code and branches."""
    for stm in body.stms:
        match stm.exp:
            case Apply(function):
                if function != name:
                    return False
            case If(_, then, orelse):
                if not (_only_itself(then, name) and _only_itself(orelse, name)):
                    return False
            case exp:
                if any(_calls(inner) for inner in bodies(exp)):
                    return False
    return True


def _calls(body: Body) -> bool:
    return any(isinstance(exp, Apply) for exp in all_exps(body))


class _Cutter:
    """Cuts a function at its calls."""

    __slots__ = ("after", "fixed", "fun", "names", "types", "waiting")

    def __init__(self, fun: FunDef, fixed: frozenset[Name], names: Names) -> None:
        self.fun = fun
        self.fixed = fixed
        self.names = names
        self.types: dict[Name, Type] = {p.name: p.type for p in fun.params}
        add_types(self.types, fun.body)
        self.after: dict[tuple[Param, ...], int] = {}
        self.waiting: list[tuple[tuple[Param, ...], Body]] = []

    def pieces(self) -> Pieces | None:
        """All pieces; None if there are too many, or arrays would have to be saved."""
        self.cut_calls(self.fun.body)
        lives: list[tuple[Param, ...]] = []
        for given, body in self.waiting:
            wanted = [n for n in free_in_body(body) if n not in self.fixed and n not in {p.name for p in given}]
            lives.append(tuple([Param(n, self.types[n]) for n in wanted]))
            self.cut_calls(body)
        if any(p.type.shape for live in lives for p in live):
            return None
        slots = _slots(lives)
        saved = {k + 1: live for k, live in enumerate(lives)}
        begin = self.piece(self.fun.body, saved, slots)
        rests = [Rest(g, self.piece(b, saved, slots), saved[k + 1]) for k, (g, b) in enumerate(self.waiting)]
        size = sum(1 for piece in (begin, *[rest.body for rest in rests]) for _ in all_stms(piece))
        return Pieces(self.fun, self.fixed, begin, tuple(rests), slots) if size <= BUDGET else None

    def cut_calls(self, body: Body) -> None:
        """Numbers what follows the calls that a piece may end in."""
        for k, stm in enumerate(body.stms):
            following = Body(body.stms[k + 1 :], body.result)
            match stm.exp:
                case Apply():
                    if not _is_tail(stm, following) and stm.pat not in self.after:
                        self.waiting.append((stm.pat, following))
                        self.after[stm.pat] = len(self.waiting)
                    return
                case If() as branch if any(map(_calls, bodies(branch))):
                    for side in bodies(branch):
                        self.cut_calls(_continued(stm, side, following))
                    return
                case _:
                    pass

    def piece(self, body: Body, saved: Mapping[int, tuple[Param, ...]], slots: Sequence[Prim]) -> Body:
        """`body` up to a call or its end."""
        nothing = [zero(p) for p in slots]
        args = [p for p in self.fun.params if p.name not in self.fixed]
        for k, stm in enumerate(body.stms):
            before, following = body.stms[:k], Body(body.stms[k + 1 :], body.result)
            match stm.exp:
                case Apply(_, given):
                    number = self.after.get(stm.pat, 0) if not _is_tail(stm, following) else 0
                    kept: list[Atom] = list(nothing)
                    for place, p in zip(_places(saved.get(number, ()), slots), saved.get(number, ()), strict=True):
                        kept[place] = Var(p.name)
                    copies = [
                        Stm((Param(self.names.again(p.name), p.type),), Copied(a), stm.certs, (), stm.loc)
                        for p, a in zip(self.fun.params, given, strict=True)
                        if p in args
                    ]
                    passed = [Var(copy.pat[0].name) for copy in copies]
                    results = [zero(r.type.prim) for r in self.fun.results]
                    return Body((*before, *copies), (TRUE, i64(number), *passed, *results, *kept))
                case If(cond) as branch if any(map(_calls, bodies(branch))):
                    sides = [self.piece(_continued(stm, side, following), saved, slots) for side in bodies(branch)]
                    types = [BOOL, I64, *[p.type for p in (*args, *self.fun.results)], *map(scalar, slots)]
                    pat = tuple([Param(self.names.fresh("next"), t) for t in types])
                    chosen = Stm(pat, If(cond, *sides), stm.certs, (), stm.loc)
                    return Body((*before, chosen), tuple([Var(p.name) for p in pat]))
                case _:
                    pass
        return Body(body.stms, (FALSE, i64(0), *[zero(p.type.prim) for p in args], *body.result, *nothing))


def _is_tail(stm: Stm, following: Body) -> bool:
    """Whether the results of a call are those of the function; copies between are none of its work."""
    same: dict[Atom, Atom] = {}
    for copy in following.stms:
        if not isinstance(copy.exp, Copied) or copy.certs:
            return False
        same[Var(copy.pat[0].name)] = same.get(copy.exp.atom, copy.exp.atom)
    return [same.get(atom, atom) for atom in following.result] == [Var(p.name) for p in stm.pat]


def _continued(stm: Stm, side: Body, following: Body) -> Body:
    """A side of a branch, and what follows the branch."""
    given = [replace(stm, pat=(p,), exp=Copied(x)) for p, x in zip(stm.pat, side.result, strict=True)]
    return Body((*side.stms, *given, *following.stms), following.result)


def _slots(lives: Iterable[Sequence[Param]]) -> tuple[Prim, ...]:
    """As many of each type as one of `lives` needs."""
    most: dict[Prim, int] = {}
    for live in lives:
        prims = [p.type.prim for p in live]
        most |= {prim: max(most.get(prim, 0), prims.count(prim)) for prim in prims}
    return tuple([prim for prim, count in most.items() for _ in range(count)])


def _places(live: Sequence[Param], slots: Sequence[Prim]) -> list[int]:
    """Where each of `live` is saved."""
    free: dict[Prim, list[int]] = {prim: [k for k, slot in enumerate(slots) if slot is prim] for prim in slots}
    return [free[p.type.prim].pop(0) for p in live]


# ---- the loop --------------------------------------------------------------------------------------------------------


class _Machine:
    """The loop that runs the pieces of a function. Its state: whether it goes on, whether a call begins, whether
    not too many are open, how many, arguments, results; and if anything is saved the height of the stacks, and these:
    of what follows, of how many calls are open then, of what is saved."""

    __slots__ = ("loc", "most", "names", "pieces", "stms")

    def __init__(self, pieces: Pieces, names: Names) -> None:
        self.pieces = pieces
        self.names = names
        self.most = most_calls(pieces.fun)
        self.stms: list[Stm] = []
        self.loc: Loc = pieces.fun.loc

    def called(self, args: Sequence[Atom], certs: tuple[Name, ...]) -> Body:
        """The results of the function of these arguments."""
        fun, pieces = self.pieces.fun, self.pieces
        known = {p.name: a for p, a in zip(fun.params, args, strict=True) if p.name in pieces.fixed}
        first = [a for p, a in zip(fun.params, args, strict=True) if p.name not in pieces.fixed]
        stacks = [Type(prim, (i64(self.most),)) for prim in (Prim.I64, Prim.I64, *pieces.slots)] if pieces.rests else []
        types = [BOOL, BOOL, BOOL, I64, *[p.type for p in pieces.moving], *[r.type for r in fun.results]]
        types += [I64, *stacks] if pieces.rests else []
        params = [Param(self.names.fresh("s"), t) for t in types]
        inits: list[Atom] = [TRUE, TRUE, TRUE, i64(1), *first, *[zero(r.type.prim) for r in fun.results]]
        inits += [i64(0), *[self.stack(t) for t in stacks]] if pieces.rests else []
        outside, self.stms = self.stms, []
        nexts = self.step([Var(p.name) for p in params])
        body = Body(tuple(self.stms), tuple(nexts))
        pat = tuple([Param(self.names.again(p.name), p.type) for p in params])
        loop = Loop(tuple(params), tuple(inits), WhileLoop(params[0].name), substitute_body(body, known))
        self.stms = [*outside, Stm(pat, loop, certs, (), self.loc)]
        said = f"recursion of `{fun.name.base}` is deeper than {self.most} calls"
        cert = self.let("cert", BOOL, Assert(Var(pat[2].name), "R0107", (said,)))
        found = pat[4 + len(pieces.moving) :][: len(fun.results)]
        results = [self.let("y", p.type, Copied(Var(p.name)), (cert.name,)) for p in found]
        return Body(tuple(self.stms), tuple(results))

    def stack(self, type: Type) -> Var:
        """An empty stack; what is on top is read before it is known whether there is anything."""
        array = self.let("stack", type, Scratch(type))
        return self.let("stack", type, Update(array.name, (Fix(i64(0)),), zero(type.prim), True))

    def step(self, state: Sequence[Var]) -> list[Atom]:
        """The next state."""
        pieces = self.pieces
        args, results = len(pieces.moving), len(pieces.fun.results)
        _, begins, _, depth, *others = state
        known = dict(zip([p.name for p in pieces.moving], others[:args], strict=True))
        given, stack = others[args : args + results], others[args + results :]
        begin = substitute_body(pieces.begin, known)
        if not stack:
            self.stms += begin.stms
            calls, _, *rest = begin.result
            opened, fits = self.opened(calls, depth)
            return [self.op(Op.AND, calls, fits, type=BOOL), calls, fits, opened, *rest]
        count, *stacks = stack
        top = self.op(Op.MAX, self.op(Op.SUB, count, i64(1)), i64(0))
        follows, before = (self.load(stacks[k], top, I64) for k in (0, 1))
        base, here = self.select(begins, count, top), self.select(begins, depth, before)
        pieces_after = [self.after(rest, given, stacks[2:], top) for rest in pieces.rests]
        after = pieces_after[-1]
        for number in range(len(pieces_after) - 1, 0, -1):
            after = self.branch(PrimOp(Op.EQ, Prim.I64, (follows, i64(number))), pieces_after[number - 1], after)
        chosen = self.branch(Copied(begins), begin, after)
        self.stms += chosen.stms
        calls, number, *rest = chosen.result
        moved, saved = rest[: args + results], rest[args + results :]
        place = self.op(Op.MIN, base, i64(self.most - 1))
        pushed = [
            self.let("stack", Type(value_prim, (i64(self.most),)), Update(array.name, (Fix(place),), value, True))
            for array, value, value_prim in zip(
                stacks, (number, here, *saved), (Prim.I64, Prim.I64, *pieces.slots), strict=True
            )
        ]
        saves = self.let("saves", BOOL, PrimOp(Op.LT, Prim.I64, (i64(0), number)))
        some = self.let("some", BOOL, PrimOp(Op.LT, Prim.I64, (i64(0), base)))
        more = self.op(Op.ADD, base, i64(1))
        opened, fits = self.opened(calls, here)
        goes_on = self.op(Op.AND, self.op(Op.OR, calls, some, type=BOOL), fits, type=BOOL)
        return [goes_on, calls, fits, opened, *moved, self.select(saves, more, base), *pushed]

    def opened(self, calls: Atom, depth: Atom) -> tuple[Var, Var]:
        """How many calls are open next, and whether they may be."""
        more = self.op(Op.ADD, depth, i64(1))
        few = self.let("few", BOOL, PrimOp(Op.LE, Prim.I64, (more, i64(self.most))))
        return self.select(calls, more, depth), self.op(Op.OR, self.op(Op.NOT, calls, type=BOOL), few, type=BOOL)

    def after(self, rest: Rest, given: Sequence[Var], stacks: Sequence[Var], top: Atom) -> Body:
        """What follows a call, with what it takes."""
        outside, self.stms = self.stms, []
        for place, p in zip(_places(rest.live, self.pieces.slots), rest.live, strict=True):
            self.stms.append(Stm((p,), Index(stacks[place].name, (Fix(top),), True), (), (), self.loc))
        self.stms += [Stm((p,), Copied(x), (), (), self.loc) for p, x in zip(rest.given, given, strict=True)]
        body = Body((*self.stms, *rest.body.stms), rest.body.result)
        self.stms = outside
        return rename_body(body, self.names)

    def branch(self, cond: PrimOp | Copied, then: Body, orelse: Body) -> Body:
        """A branch between two pieces, as a piece."""
        if isinstance(cond, Copied):
            test, before = cond.atom, ()
        else:
            param = Param(self.names.fresh("is"), BOOL)
            test, before = Var(param.name), (Stm((param,), cond, (), (), self.loc),)
        pieces = self.pieces
        types = [BOOL, I64, *[p.type for p in (*pieces.moving, *pieces.fun.results)], *map(scalar, pieces.slots)]
        pat = tuple([Param(self.names.fresh("next"), t) for t in types])
        stm = Stm(pat, If(test, then, orelse), (), (), self.loc)
        return Body((*before, stm), tuple([Var(p.name) for p in pat]))

    def load(self, array: Var, place: Atom, type: Type) -> Var:
        return self.let("top", type, Index(array.name, (Fix(place),), True))

    def let(self, base: str, type: Type, exp: Exp, certs: tuple[Name, ...] = ()) -> Var:
        param = Param(self.names.fresh(base), type)
        self.stms.append(Stm((param,), exp, certs, (), self.loc))
        return Var(param.name)

    def op(self, op: Op, *args: Atom, type: Type = I64) -> Var:
        return self.let(op.value, type, PrimOp(op, type.prim, args))

    def select(self, cond: Atom, x: Atom, y: Atom) -> Var:
        return self.let("sel", I64, PrimOp(Op.SELECT, Prim.I64, (cond, x, y)))
