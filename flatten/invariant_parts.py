r"""Fission of maps by invariance: what of an inner map is the same at all points of a nest is computed before the nest.

    map (\k → map (\x → g k (f x)) xs) ks   ⟶   let ys = map f xs in map (\k → map (\y → g k y) ys) ks        [H-Part]

So a Jacobian in forward mode, a map over directions, computes what does not depend on the direction once. The
simplifier hoists what is invariant as a whole; here a part of each row is. Maps and branches inside of the row are
divided too. A value is stored if it takes more than `LIMIT` operations per word to compute it again. It must not be
able to fail where the nest may have no points.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from enum import Enum

from ..ir.core import (
    ArrayLit,
    Body,
    Concat,
    Exp,
    ForLoop,
    If,
    Index,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Prog,
    Reduction,
    Screma,
    Stm,
    Update,
)
from ..ir.records import dataclass
from ..ir.rename import rename_body, rename_lambda, substitute_body
from ..ir.traverse import bodies, free_in_body, free_in_lambda, free_in_stm, with_bodies
from ..ir.types import Atom, Const, Name, Names, Type, Var
from .aliasing.classes import Sharing, sharing_in
from .context.recompute_cost import LIMIT, is_total, weight_of
from .simplify.driver import simplify

UNKNOWN = 16
"""How many iterations are assumed where the width is not known."""


def hoist_invariant_parts(prog: Prog) -> Prog:
    """`prog` with the invariant parts of maps that are inside of maps computed before these; simplified, if there are
    any."""
    state = _Hoister(Names(prog.next_name), sharing_in(prog))
    functions = tuple([replace(f, body=state.host(f.body)) for f in prog.functions])
    same = state.names.next == prog.next_name
    return prog if same else simplify(Prog(prog.consts, functions, state.names.next))


class _Keeping(Enum):
    """What may be stored: once for the whole nest, an array of a known shape or of such rows; for each row of an inner
    map, what has a known size."""

    ONCE = 0
    PER_ROW = 1


@dataclass(frozen=True, slots=True)
class _Parts:
    """A body in two: statements that its invariant names suffice for, and the others with what they compute again;
    `kept`: the names of the former that are stored for the latter or are results; `varying`: all that vary."""

    early: tuple[Stm, ...]
    late: tuple[Stm, ...]
    kept: tuple[Param, ...]
    varying: Set[Name]


@dataclass(frozen=True, slots=True)
class _Sides:
    """The same by position, before it is chosen what is kept; a statement in two is on both sides."""

    early: dict[int, Stm]
    late: dict[int, Stm]
    varying: Set[Name]


@dataclass(frozen=True, slots=True)
class _Red:
    """A reduction of a SOAC, what it reduces in each row, and its results."""

    op: Reduction
    inputs: tuple[Atom, ...]
    pat: tuple[Param, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """The body of a lambda, what varies in it, and whether it is sure to be run."""

    body: Body
    varying: Set[Name]
    runs: bool


@dataclass(slots=True)
class _Hoister:
    names: Names
    sharing: Sharing

    def host(self, body: Body) -> Body:
        """A body of the host: what is hoisted out of a nest stands before it."""
        stms: list[Stm] = []
        for stm in body.stms:
            match stm.exp:
                case Screma():
                    stms += self.nest(stm)
                case If() | Loop():
                    stms.append(replace(stm, exp=with_bodies(stm.exp, [self.host(b) for b in bodies(stm.exp)])))
                case _:
                    stms.append(stm)
        return Body(tuple(stms), body.result)

    def nest(self, stm: Stm) -> list[Stm]:
        """What is hoisted out of the maps inside of a SOAC of the host, and the SOAC."""
        hoisted: list[Stm] = []
        new = self.row(stm, frozenset(), hoisted)
        return [*hoisted, new]

    def row(self, stm: Stm, varying: Set[Name], hoisted: list[Stm]) -> Stm:
        """A SOAC in a nest that has bound the names `varying` before it; the deepest SOACs of its rows first."""
        assert isinstance(stm.exp, Screma)
        soac = stm.exp
        inside = varying | {p.name for p in soac.map.params}
        deeper = inside | _bound(soac.map.body)
        stms = [self.row(s, deeper, hoisted) if isinstance(s.exp, Screma) else s for s in soac.map.body.stms]
        changed = any(s is not old for s, old in zip(stms, soac.map.body.stms, strict=True))
        body = Body(tuple(stms), soac.map.body.result) if changed else soac.map.body
        parts = self.parts(_Row(body, inside, not varying and _has_points(soac)), _Keeping.ONCE, ())
        if parts.kept:
            copy = rename_body(Body(parts.early, tuple([Var(p.name) for p in parts.kept])), self.names)
            hoisted += copy.stms
            known = dict(zip([p.name for p in parts.kept], copy.result, strict=True))
            body = substitute_body(Body(parts.late, body.result), known)
        return stm if body is soac.map.body else replace(stm, exp=replace(soac, map=replace(soac.map, body=body)))

    def two_maps(self, stm: Stm, soac: Screma, varying: Set[Name], parts: _Parts) -> tuple[Stm, Stm] | None:
        """The map of the early statements, with the results and reductions that do not vary, and that of the late ones;
        None if one of them has no results."""
        reds = [red for red in _reductions(soac, stm) if self.is_fixed(red, varying, parts)]
        moved = {p.name for red in reds for p in red.pat}
        first = soac.num_ops
        made = {
            atom.name: param
            for atom, param in zip(soac.map.body.result[first:], stm.pat[first:], strict=True)
            if isinstance(atom, Var) and not self.sharing.consumed(param.name)
        }
        pat = [made.get(p.name) or Param(self.names.again(p.name), _rows(soac.width, p.type)) for p in parts.kept]
        moved |= {p.name for p in pat}
        stays = [k for k, p in enumerate(stm.pat) if p.name not in moved]
        if not moved or not stays:
            return None
        rows = [(xs, p) for xs, p in zip(soac.arrays, soac.map.params, strict=True) if xs not in varying]
        result = (*(x for red in reds for x in red.inputs), *(Var(p.name) for p in parts.kept))
        ret = (*(t for red in reds for t in red.op.op.ret), *(p.type for p in parts.kept))
        f = rename_lambda(Lambda(tuple([p for _, p in rows]), Body(parts.early, result), ret), self.names)
        ops = tuple([replace(red.op, op=rename_lambda(red.op.op, self.names)) for red in reds])
        before = Screma(soac.width, tuple([xs for xs, _ in rows]), f, (), ops)
        early = replace(stm, pat=(*(p for red in reds for p in red.pat), *pat), exp=before)
        inner = Body(parts.late, tuple([soac.map.body.result[k] for k in stays]))
        read = free_in_body(inner)
        more = [(array.name, p) for p, array in zip(parts.kept, pat, strict=True) if p.name in read]
        arrays = (*soac.arrays, *[xs for xs, _ in more])
        rest = Lambda((*soac.map.params, *[p for _, p in more]), inner, tuple([soac.map.ret[k] for k in stays]))
        left = tuple([red for red in soac.reds if all(red is not one.op for one in reds)])
        late = replace(
            stm, pat=tuple([stm.pat[k] for k in stays]), exp=replace(soac, arrays=arrays, map=rest, reds=left)
        )
        return early, late

    def is_fixed(self, red: _Red, varying: Set[Name], parts: _Parts) -> bool:
        """Whether a reduction gives the same at all points, of values that do, and cannot fail."""
        used = _names((*red.op.neutral, *map(Var, free_in_lambda(red.op.op))))
        shared = any(self.sharing.consumed(p.name) for p in red.pat)
        total = all(self.may_move(s, runs=False) for s in red.op.op.body.stms)
        return total and not shared and used.isdisjoint(varying) and _names(red.inputs).isdisjoint(parts.varying)

    def parts(self, row: _Row, keeping: _Keeping, groups: Iterable[Set[Name]]) -> _Parts:
        """A row in two. Where none of the names of a group varies they are kept or known, however cheap."""
        early: dict[int, Stm] = {}
        late: dict[int, Stm] = {}
        varying = set(row.varying)
        for k, stm in enumerate(row.body.stms):
            if varying.isdisjoint(free_in_stm(stm)) and self.may_move(stm, runs=row.runs):
                early[k] = stm
                continue
            late[k] = stm
            if not stm.attrs and varying.isdisjoint(stm.certs) and (divided := self.divided(stm, varying, row.runs)):
                early[k], late[k] = divided
            varying |= {p.name for p in late[k].pat}
        results = set[Name]().union(*[group for group in groups if varying.isdisjoint(group)])
        return self.chosen(row.body, _Sides(early, late, varying), keeping, results)

    def chosen(self, body: Body, sides: _Sides, keeping: _Keeping, results: Set[Name]) -> _Parts:
        """Which invariant values late statements get and which they compute again."""
        early, late = sides.early, sides.late
        maker = {p.name: k for k, stm in early.items() for p in stm.pat}
        wanted = _names(body.result).union(*[free_in_stm(stm) for stm in late.values()])
        kept: dict[Name, Param] = {}
        again: set[int] = set()
        for p in (p for stm in early.values() for p in stm.pat if p.name in wanted):
            slice_ = _needed([p.name], maker, early, kept)
            words = _words(p.type, keeping)
            if p.name in results or (words is not None and sum(_weight(early[k].exp) for k in slice_) > LIMIT * words):
                kept[p.name] = p
            else:
                again |= slice_
        late |= {k: self.repeated(body.stms[k], kept) for k in again}
        firsts = tuple([early[k] for k in sorted(_needed(kept, maker, early, {}))])
        return _Parts(firsts, tuple([late[k] for k in sorted(late)]), tuple(kept.values()), sides.varying)

    def repeated(self, stm: Stm, kept: Mapping[Name, Param]) -> Stm:
        """A statement as it was, but for the names of what of it is kept."""
        pat = [Param(self.names.again(p.name), p.type) if p.name in kept else p for p in stm.pat]
        return replace(stm, pat=tuple(pat))

    def divided(self, stm: Stm, varying: Set[Name], runs: bool) -> tuple[Stm, Stm] | None:
        """A map or branch of a row in two. Its invariant results are early: if that pays shows at their uses."""
        match stm.exp:
            case Screma() as soac if _names((soac.width,)).isdisjoint(varying):
                mapped = soac.map.body.result[soac.num_ops :]
                groups = [*(_names((x,)) for x in mapped), *(_names(red.inputs) for red in _reductions(soac, stm))]
                row = _Row(soac.map.body, varying | _rows_of(soac, varying), runs and _has_points(soac))
                return self.two_maps(stm, soac, varying, self.parts(row, _Keeping.PER_ROW, groups))
            case If(cond) as branch if _names((cond,)).isdisjoint(varying):
                return self.two_branches(stm, branch, varying)
            case _:
                return None

    def two_branches(self, stm: Stm, branch: If, varying: Set[Name]) -> tuple[Stm, Stm] | None:
        """A branch in two by its results, of which those of the first do not vary and are of code that may be moved."""
        fixed = {k for k, p in enumerate(stm.pat) if not self.sharing.consumed(p.name)}
        firsts: list[Body] = []
        for body in bodies(branch):
            inside, stms = set(varying), list[Stm]()
            for s in body.stms:
                if inside.isdisjoint(free_in_stm(s)) and self.may_move(s, runs=False):
                    stms.append(s)
                else:
                    inside |= {p.name for p in s.pat}
            firsts.append(Body(tuple(stms), body.result))
            fixed &= {k for k, atom in enumerate(body.result) if inside.isdisjoint(_names((atom,)))}
        rest = set(range(len(stm.pat))) - fixed
        if not fixed or not rest:
            return None
        early = [rename_body(_only(body, fixed), self.names) for body in firsts]
        late = [_only(body, rest) for body in bodies(branch)]
        return _side(stm, fixed, with_bodies(branch, early)), _side(stm, rest, with_bodies(branch, late))

    def may_move(self, stm: Stm, *, runs: bool) -> bool:
        """Whether a statement shares nothing with what is overwritten, and cannot fail if it is not sure to be run."""
        if stm.attrs or any(self.sharing.consumed(p.name) for p in stm.pat if p.type.shape):
            return False
        match stm.exp:
            case If() | Screma() | Loop(form=ForLoop()):
                return all(self.may_move(inner, runs=False) for body in bodies(stm.exp) for inner in body.stms)
            case Update():
                return False
            case exp:
                return is_total(exp) or (runs and isinstance(exp, Index | PrimOp))


def _needed(
    names: Iterable[Name], maker: Mapping[Name, int], early: Mapping[int, Stm], given: Mapping[Name, Param]
) -> set[int]:
    """The early statements that `names` are computed by, where `given` are at hand."""
    found: set[int] = set()
    pending = [maker[name] for name in names]
    while pending:
        k = pending.pop()
        if k not in found:
            found.add(k)
            pending += [maker[name] for name in free_in_stm(early[k]) if name in maker and name not in given]
    return found


def _weight(exp: Exp) -> int:
    """Operations, those of all iterations."""
    match exp:
        case ArrayLit(elems):
            return len(elems)
        case Concat():
            return 0
        case If() | Screma() | Loop():
            inner = sum(_weight(stm.exp) for body in bodies(exp) for stm in body.stms)
            return inner * _iterations(exp)
        case _:
            return weight_of(exp)


def _iterations(exp: If | Screma | Loop) -> int:
    match exp:
        case Screma(Const(_, count)) | Loop(form=ForLoop(_, Const(_, count))):
            return int(count)
        case If():
            return 1
        case _:
            return UNKNOWN


def _words(t: Type, keeping: _Keeping) -> int | None:
    """How many numbers a value of the type has; None if it is too large to be kept."""
    words = 1
    for k, size in enumerate(t.shape):
        if isinstance(size, Const):
            words *= int(size.value)
        elif keeping is _Keeping.ONCE and k == 0:
            words *= UNKNOWN
        else:
            return None
    return words


def _rows(width: Atom, t: Type) -> Type:
    return Type(t.prim, (width, *t.shape))


def _rows_of(soac: Screma, varying: Set[Name]) -> set[Name]:
    """The parameters of the map whose arrays vary."""
    return {p.name for xs, p in zip(soac.arrays, soac.map.params, strict=True) if xs in varying}


def _names(atoms: Iterable[Atom]) -> set[Name]:
    return {atom.name for atom in atoms if isinstance(atom, Var)}


def _reductions(soac: Screma, stm: Stm) -> list[_Red]:
    at = 0
    found: list[_Red] = []
    for op in soac.reds:
        end = at + len(op.neutral)
        found.append(_Red(op, soac.map.body.result[at:end], stm.pat[at:end]))
        at = end
    return found


def _has_points(soac: Screma) -> bool:
    return isinstance(soac.width, Const) and soac.width.value > 0


def _only(body: Body, results: Set[int]) -> Body:
    return Body(body.stms, tuple([atom for k, atom in enumerate(body.result) if k in results]))


def _side(stm: Stm, results: Set[int], exp: Exp) -> Stm:
    return replace(stm, pat=tuple([p for k, p in enumerate(stm.pat) if k in results]), exp=exp)


def _bound(body: Body) -> set[Name]:
    return {p.name for stm in body.stms for p in stm.pat}
