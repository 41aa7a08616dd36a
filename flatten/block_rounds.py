"""Rounds of a loop in panels, where each reads what all before it have left.

    loop (l) for j < n { .. map w(j) (λi → .. redomap j (λk → g(j, i, k)) ⊕ ..) .. }                        [L-Panels]
      ⟶  loop (l) for q < ⌈n / 64⌉ {                                                             p = 64 q, j = p + t
             let c = map 64 (λt → map w(p) (λi → redomap p (λk → g(p + t, i, k)) ⊕))
             in loop (l) for t < 64 { .. map w(j) (λi → .. c[t, i] ⊕ redomap (p <= k < j) .. ⊕ ..) .. } }

A round goes over all that is to the left of it for one row of results; a panel goes over it once for 64, as a product
of matrices. So it is in factorisations by columns, triangles with many right-hand sides, recurrences over all that came
before. What `g` reads is older than the panel (`earlier_rounds.py`). Where a round has a point less than the one
before, it is the first. What stays in the caches of a core keeps its loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..frontend.building.code import Code
from ..ir.core import Body, Copied, Fix, ForLoop, If, Index, Iota, Lambda, Loop, Param, PrimOp, Prog, Screma, Slice, Stm
from ..ir.ops import Op
from ..ir.records import dataclass
from ..ir.traverse import bodies, types_in, with_bodies
from ..ir.types import I64, Atom, Name, Names, Prim, Type, Var, i64
from .aliasing.regions import Form, minus
from .earlier_rounds import Elements, NotEarlierError, Panel, Round, round_of
from .simplify.driver import simplify

ROUNDS = 64
"""Of a panel; the least number of points."""
PANELS = 4
"""From which on it pays."""
LEAST = 1 << 18
"""Rounds times points from which on it pays: 2 MiB of f64."""


def block_rounds(prog: Prog) -> Prog:
    """`prog` with loops of the host in panels; simplified, if there are any."""
    walk = _Walk(Names(prog.next_name), types_in(prog), {p.name: stm for stm in prog.consts for p in stm.pat})
    functions = tuple([replace(fun, body=walk.body(fun.body)) for fun in prog.functions])
    return simplify(Prog(prog.consts, functions, walk.names.next)) if walk.fired else prog


@dataclass(frozen=True, slots=True)
class _Sum:
    """Statement `inner` of the map that is statement `outer` of a round reduces what all rounds before have left.
    `width`: the form of the number of points; `shrinks`: whether it is one less in each round; `offset`: how many more
    than its number a round reduces."""

    outer: int
    inner: int
    soac: Screma
    stm: Stm
    red: Screma
    width: Form
    shrinks: bool
    offset: int


@dataclass(slots=True)
class _Walk:
    """`defined`: what is bound on the way to a loop."""

    names: Names
    types: dict[Name, Type]
    defined: dict[Name, Stm]
    fired: bool = False

    def body(self, body: Body) -> Body:
        self.defined.update((p.name, stm) for stm in body.stms for p in stm.pat)
        stms: list[Stm] = []
        for stm in body.stms:
            made = self.panels(stm, stm.exp) if isinstance(stm.exp, Loop) and not stm.attrs else None
            if made is not None:
                stms += made
            elif isinstance(stm.exp, If | Loop):
                stms.append(replace(stm, exp=with_bodies(stm.exp, [self.body(b) for b in bodies(stm.exp)])))
            else:
                stms.append(stm)
        return Body(tuple(stms), body.result)

    def panels(self, stm: Stm, loop: Loop) -> Sequence[Stm] | None:
        """The statements of a loop in panels; None where it has no such sums."""
        code = Code(self.names, self.types, stm.loc)
        params = tuple([code.like(p, "") for p in loop.params])
        round_ = round_of(loop, tuple([p.name for p in params]), self.defined)
        sums = () if round_ is None else tuple([s for s in _sums(round_, loop) if self.is_older(round_, s)])
        if round_ is None or not sums:
            return None
        self.fired = True
        width = Elements(round_, code, (), {round_.counter: i64(0)}, {}, round_.defined).scalar(sums[0].soac.width)
        wide = code.op(Op.LE, i64(ROUNDS), width)
        long = code.op(Op.LE, i64(PANELS * ROUNDS), round_.bound)
        large = code.op(Op.LE, i64(LEAST), code.op(Op.MUL, round_.bound, width))
        pays = code.op(Op.AND, code.op(Op.AND, wide, long), large)
        whole, parted = code.inside(), code.inside()
        plain = whole.emit([code.like(p, "") for p in stm.pat], code.fresh_loop(loop))
        panels = parted.emit([code.like(p, "") for p in stm.pat], self.loop(round_, sums, loop, params, parted))
        code.stms.append(replace(stm, exp=If(pays, parted.body(panels), whole.body(plain))))
        return code.stms

    def is_older(self, round_: Round, one: _Sum) -> bool:
        """Whether a sum may be taken ahead, up to the panel."""
        code = Code(self.names, self.types, one.stm.loc)
        try:
            self.ahead(round_, one, code, code.param("first", I64), i64(ROUNDS))
        except NotEarlierError:
            return False
        return True

    def loop(self, round_: Round, sums: Sequence[_Sum], loop: Loop, params: tuple[Param, ...], code: Code) -> Loop:
        """The loop over panels."""
        count = code.op(Op.QUOT, code.op(Op.ADD, round_.bound, i64(ROUNDS - 1)), i64(ROUNDS))
        panel, turn = code.param("panel", I64), code.param("t", I64)
        inner = code.inside()
        first = inner.param("first", I64)
        inner.emit((first,), PrimOp(Op.MUL, Prim.I64, (Var(panel.name), i64(ROUNDS))))
        rounds = inner.op(Op.MIN, inner.op(Op.SUB, round_.bound, Var(first.name)), i64(ROUNDS), base="rounds")
        ahead = {id(one.stm): self.ahead(round_, one, inner, first, rounds) for one in sums}
        body = inner.inside()
        body.emit((Param(round_.counter, I64),), PrimOp(Op.ADD, Prim.I64, (Var(first.name), Var(turn.name))))
        for k, stm in enumerate(loop.body.stms):
            own = {one.inner: one for one in sums if one.outer == k}
            body.stms.append(self.resumed(stm, own, ahead, body, first, turn) if own else stm)
        turns = Loop(loop.params, tuple([Var(p.name) for p in params]), ForLoop(turn.name, rounds, Prim.I64),
                     body.body(loop.body.result))  # fmt: skip
        result = inner.emit([code.like(p, "") for p in loop.params], turns)
        return Loop(params, loop.inits, ForLoop(panel.name, count, Prim.I64), inner.body(result))

    def ahead(self, round_: Round, one: _Sum, code: Code, first: Param, rounds: Atom) -> Var:
        """What the rounds of a panel reduce of those before it: a row for each round, an element for each point."""
        start = Elements(round_, code, (), {round_.counter: Var(first.name)}, {}, round_.defined)
        width = start.scalar(one.soac.width)
        panel_width = {first.name if name == round_.counter else name: c for name, c in one.width.items()}
        older = code.op(Op.ADD, Var(first.name), i64(one.offset))
        earlier = code.iota(older)

        def of_round(inner: Code, turns: Sequence[Var]) -> Sequence[Atom]:
            number = inner.op(Op.ADD, Var(first.name), turns[0], base=round_.counter.base)

            def of_point(point: Code, points: Sequence[Var]) -> Sequence[Atom]:
                index = point.op(Op.SUB, points[0], turns[0]) if one.shrinks else points[0]
                k = point.param("k", I64)

                def element(last: Code) -> Sequence[Atom]:
                    rows = {**_rows(one.soac, index), **_rows(one.red, Var(k.name))}
                    given = {round_.counter: number}
                    elements = Elements(round_, last, (inner, point), given, rows, {**round_.defined, **_inside(one)})
                    values = [elements.scalar(atom) for atom in one.red.map.body.result]
                    panel = Panel(first.name, turns[0].name, points[0].name, k.name, panel_width, one.offset)
                    if not elements.may_be_read(panel):
                        raise NotEarlierError
                    return values

                op = one.red.reds[0]
                reds = (replace(op, op=point.fresh_lambda(op.op)),)
                f = point.function((k,), element)
                return point.screma(Screma(older, (earlier.name,), f, (), reds), one.stm.pat[0].name.base)

            return inner.map(width, (inner.iota(width),), of_point)

        return code.map(rounds, (code.iota(rounds),), of_round)[0]

    def resumed(
        self, stm: Stm, sums: Mapping[int, _Sum], ahead: Mapping[int, Var], code: Code, first: Param, turn: Param
    ) -> Stm:
        """The map of a round with sums that go on where the panel begins; `code`: what stands before it."""
        soac = stm.exp
        assert isinstance(soac, Screma)
        inner = code.inside()
        arrays, params = list(soac.arrays), list(soac.map.params)
        for k, own in enumerate(soac.map.body.stms):
            if k not in sums:
                inner.stms.append(own)
                continue
            one, early = sums[k], ahead[id(own)]
            dims = (Fix(Var(turn.name)), Slice(Var(turn.name) if one.shrinks else i64(0), soac.width, i64(1)))
            t = own.pat[0].type
            arrays.append(code.let("ahead", Index(early.name, dims, True), t.array_of(soac.width)).name)
            params.append(code.param("x", t))
            begin = inner.op(Op.ADD, Var(first.name), i64(one.offset))
            rest = tuple([self.part(xs, inner, begin, turn) for xs in one.red.arrays])
            part = inner.param(own.pat[0].name.base, t)
            inner.stms.append(replace(own, pat=(part,), exp=replace(one.red, width=Var(turn.name), arrays=rest)))
            (result,) = inner.inline(one.red.reds[0].op, (Var(params[-1].name), Var(part.name)))
            inner.stms.append(Stm(own.pat, Copied(result), (), (), own.loc))
        f = Lambda(tuple(params), inner.body(soac.map.body.result), soac.map.ret)
        return replace(stm, exp=replace(soac, arrays=tuple(arrays), map=f))

    def part(self, xs: Name, code: Code, begin: Atom, turn: Param) -> Name:
        """The elements of an array from one on, as many as there are turns before."""
        t = self.types[xs]
        part = Type(t.prim, (Var(turn.name), *t.shape[1:]))
        stm = self.defined.get(xs)
        match stm.exp if stm is not None else None:
            case Iota(_, start, step, Prim.I64):
                from_ = code.op(Op.ADD, code.op(Op.MUL, begin, step), start)
                return code.let(xs.base, Iota(Var(turn.name), from_, step, Prim.I64), part).name
            case _:
                dims = (Slice(begin, Var(turn.name), i64(1)),)
                return code.let(xs.base, Index(xs, dims, True), part).name


def _sums(round_: Round, loop: Loop) -> Iterator[_Sum]:
    """The reductions over all earlier rounds in maps of a round."""
    for outer, stm in enumerate(loop.body.stms):
        match stm.exp:
            case Screma(width, _, f, (), ()) as soac if not stm.attrs:
                form = round_.form(width)
            case _:
                continue
        if not round_.inside.isdisjoint(name for name in form if name not in (None, round_.counter)):
            continue
        for inner, own in enumerate(f.body.stms):
            match own.exp:
                case Screma(count, _, _, (), (_,)) as red if len(own.pat) == 1 and not own.attrs:
                    more = minus(round_.form(count), {round_.counter: 1})
                    offset = more.get(None, 0)
                    if (
                        more.keys() <= {None}
                        and offset >= 0
                        and not own.pat[0].type.shape
                        and form.get(round_.counter, 0) in (0, -1)
                    ):
                        yield _Sum(outer, inner, soac, own, red, form, round_.counter in form, offset)
                case _:
                    pass


def _rows(soac: Screma, index: Atom) -> dict[Name, tuple[Name, Atom]]:
    return {p.name: (xs, index) for xs, p in zip(soac.arrays, soac.map.params, strict=True)}


def _inside(one: _Sum) -> dict[Name, Stm]:
    """What is bound on the way to an element of a sum."""
    return {p.name: stm for f in (one.soac.map, one.red.map) for stm in f.body.stms for p in stm.pat}
