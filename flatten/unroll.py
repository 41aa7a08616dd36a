r"""Unrolling: nests over small constant widths inside of a map become straight code, their arrays literals.

    redomap 3 ⊙ f d xs              ⟶  (f xs[0] ⊙ f xs[1]) ⊙ f xs[2]                    [U-Reduce], scans the same
    map 3 f xs                      ⟶  [f xs[0], f xs[1], f xs[2]]                     [U-Map]
    loop z = a for i < 3 do e       ⟶  e [2/i, e [1/i, e [0/i, a/z] /z] /z]            [U-Loop]

Parallelism of such a width is not worth a version, and what its elements have in common (a clamped index, a load) is
shared only where they are written out. It happens from the inside out, while the code stays small and nothing in it is
wider. An operator is applied to elements alone; the product that feeds a float sum is added unrounded, as everywhere
(`kernels/kernel_ir/fma.py`). The simplifier does the rest: elements of literals, clamps and loads that are equal.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import replace

from ..ir.core import (
    Apply,
    ArrayLit,
    Body,
    Copied,
    Exp,
    Fix,
    ForLoop,
    Hist,
    Index,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Prog,
    Reshape,
    Screma,
    Soac,
    Stm,
)
from ..ir.ops import Op
from ..ir.records import dataclass
from ..ir.rename import refreshing, rewrite_atom, rewrite_stm
from ..ir.traverse import all_exps, bodies, map_bodies
from ..ir.types import Atom, Const, Name, Names, Prim, Var, i64, scalar
from .aliasing.classes import Sharing, sharing_in
from .loop_states import loosened
from .simplify.driver import simplify
from .simplify.views import whole

MOST = 31
"""Iterations that are written out at most."""

BUDGET = 500
"""Expressions that all iterations of a nest have together at most."""

Values = tuple[Atom, ...]
Products = Mapping[Atom, Values]
"""The factors of the values that are products."""


def unroll(prog: Prog) -> Prog:
    """`prog` with its small constant nests inside of maps written out, and simplified where that changed anything."""
    state = _Unroller(Names(prog.next_name), sharing_in(prog))
    functions = tuple(replace(f, body=state.body(f.body, inside=False)) for f in prog.functions)
    prog = simplify(Prog(prog.consts, functions, state.names.next)) if state.fired else prog
    return prog if (loose := loosened(prog)) is prog else simplify(loose)


@dataclass(slots=True)
class _Unroller:
    names: Names
    sharing: Sharing
    fired: int = 0

    def body(self, body: Body, inside: bool) -> Body:
        """`inside` of a SOAC: something else is parallel."""
        rows = _given_rows(body)
        stms = (new for stm in body.stms for new in self.stm(stm, inside, rows))
        return Body(tuple(stms), body.result)

    def stm(self, stm: Stm, inside: bool, rows: set[Name]) -> Iterable[Stm]:
        """`rows`: names of results that are rows of a length found at run time."""
        within = inside or isinstance(stm.exp, Soac)
        if isinstance(stm.exp, Hist):
            stm = replace(stm, exp=replace(stm.exp, map=replace(stm.exp.map, body=self.body(stm.exp.map.body, True))))
            return (stm,)
        stm = replace(stm, exp=map_bodies(lambda body: self.body(body, within), stm.exp))
        match stm.exp:
            case Screma() if any(p.name in rows for p in stm.pat):
                return (stm,)
            case Screma(Const(_, count)) as soac if inside and self.is_small(int(count), stm):
                return self.screma(stm, soac, int(count))
            case Loop(_, _, ForLoop(_, Const(_, count), prim)) as loop if inside and self.is_small(int(count), stm):
                return self.loop(stm, loop, int(count), prim)
            case _:
                return (stm,)

    def is_small(self, count: int, stm: Stm) -> bool:
        """Whether this many iterations are little code without SOACs, and overwrite no rows of their inputs."""
        if stm.attrs or not 0 <= count <= MOST:
            return False
        inner = [exp for body in bodies(stm.exp) for exp in all_exps(body)]
        if count * len(inner) > BUDGET or any(isinstance(exp, Soac | Apply) for exp in inner):
            return False
        rows = stm.exp.map.params if isinstance(stm.exp, Screma) else ()
        return not any(p.type.shape and self.sharing.consumed(p.name) for p in rows)

    def screma(self, stm: Stm, soac: Screma, count: int) -> Iterator[Stm]:
        """The elements one after the other, then what becomes of them."""
        self.fired += 1
        elements: list[Values] = []
        products: dict[Atom, Values] = {}
        for k in range(count):
            row = [_element(array, p, k) for array, p in zip(soac.arrays, soac.map.params, strict=True)]
            made, values = self.called(soac.map, row, stm)
            products |= _products(made)
            elements.append(values)
            yield from made
        results: list[Exp] = []
        at = 0
        for op in soac.ops:
            size = len(op.neutral)
            prefixes, first = list[Values](), op.neutral if _has_floats(op.op) else None
            for values in (row[at : at + size] for row in elements):
                left = prefixes[-1] if prefixes else first
                prefixes.append(
                    values if left is None else (yield from self.combined(op.op, left, values, products, stm))
                )
            at += size
            if len(results) < soac.num_scans:
                results += map(ArrayLit, _columns(prefixes, size), op.op.ret)
            else:
                results += map(Copied, prefixes[-1] if prefixes else op.neutral)
        results += map(ArrayLit, _columns([row[at:] for row in elements], len(soac.map.ret) - at), soac.map.ret[at:])
        for param, exp in zip(stm.pat, results, strict=True):
            yield replace(stm, pat=(param,), exp=exp)

    def combined(
        self, op: Lambda, left: Values, right: Values, products: Products, stm: Stm
    ) -> Generator[Stm, None, Values]:
        """Statements for `left ⊙ right`, and its values."""
        factors: dict[Atom, Values] = {
            Var(p.name): products[x] for p, x in zip(op.params[len(left) :], right, strict=True) if x in products
        }
        sums = set(op.body.result)
        stms = tuple(_contracted(one, factors) if Var(one.pat[0].name) in sums else one for one in op.body.stms)
        made, values = self.called(replace(op, body=replace(op.body, stms=stms)), map(Copied, (*left, *right)), stm)
        yield from made
        return values

    def loop(self, stm: Stm, loop: Loop, count: int, prim: Prim) -> Iterator[Stm]:
        """The iterations one after the other."""
        assert isinstance(loop.form, ForLoop)
        self.fired += 1
        step = Lambda((Param(loop.form.index, scalar(prim)), *loop.params), loop.body, ())
        values = loop.inits
        for k in range(count):
            made, values = self.called(step, map(Copied, (Const(prim, k), *values)), stm)
            yield from made
        for param, atom in zip(stm.pat, values, strict=True):
            yield replace(stm, pat=(param,), exp=Copied(atom))

    def called(self, f: Lambda, args: Iterable[Exp], stm: Stm) -> tuple[list[Stm], Values]:
        """The statements of a function under names of their own, those of its arguments before, and its values."""
        renaming = refreshing(self.names)
        given = [replace(stm, pat=(p,), exp=arg) for p, arg in zip(f.params, args, strict=True)]
        made = [rewrite_stm(one, renaming) for one in (*given, *f.body.stms)]
        return made, tuple(rewrite_atom(atom, renaming) for atom in f.body.result)


def _has_floats(op: Lambda) -> bool:
    """Whether a value is a float: of those no neutral element is neutral for all. `0.0 + -0.0` is `0.0`, and the least
    of infinity and NaN is infinity."""
    return any(t.prim.is_float for t in op.ret)


def _given_rows(body: Body) -> set[Name]:
    """Arrays of rows of a length found at run time that a body gives, as they are or reshaped: as literals, the rows
    would be copied once more, by one thread."""
    given = {atom.name for atom in body.result if isinstance(atom, Var)}
    for stm in reversed(body.stms):
        if isinstance(stm.exp, Reshape) and stm.pat[0].name in given:
            given.add(stm.exp.array)
    params = (p for stm in body.stms for p in stm.pat if p.name in given)
    return {p.name for p in params if not all(isinstance(size, Const) for size in p.type.shape[1:])}


def _element(array: Name, param: Param, k: int) -> Index:
    return Index(array, (Fix(i64(k)), *map(whole, param.type.shape)), True)


def _columns(rows: Iterable[Values], size: int) -> list[Values]:
    return [tuple(column) for column in zip(*rows, strict=True)] or [()] * size


def _products(stms: Iterable[Stm]) -> dict[Atom, Values]:
    """Halves are not among them: they are computed in f32 and rounded, which is not one rounding."""
    wide = (Prim.F32, Prim.F64)
    return {
        Var(stm.pat[0].name): stm.exp.args
        for stm in stms
        if isinstance(stm.exp, PrimOp) and stm.exp.op is Op.MUL and stm.exp.prim in wide
    }


def _contracted(stm: Stm, factors: Products) -> Stm:
    """A float sum that adds a product, as one operation."""
    match stm.exp:
        case PrimOp(Op.ADD, prim, (x, y)) if y in factors:
            return replace(stm, exp=PrimOp(Op.FMA, prim, (*factors[y], x)))
        case PrimOp(Op.ADD, prim, (x, y)) if x in factors:
            return replace(stm, exp=PrimOp(Op.FMA, prim, (*factors[x], y)))
        case _:
            return stm
