"""Checks over the statements of the flat program: what no kernel runs, what one thread runs, and copies."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.core import (
    Body,
    Copy,
    ForLoop,
    Index,
    Loop,
    PrimOp,
    Screma,
    SegMap,
    SegOp,
    Soac,
    Stm,
)
from ..ir.errors import Loc
from ..ir.ops import Op
from ..ir.traverse import bodies, free_in_stm
from ..ir.types import Const, Name, Var
from ..kernels.schedule.queries import has_segop, has_soac
from .subject import Finding, Subject, inside

FEW = 64
"""Points of a nest that keep no machine busy."""
PRODUCTS = frozenset({"panels", "unroll-and-jam", "split-K", "streamed rows"})
"""Schedules that use an operand of a product for several of its results."""


def interpreted(subject: Subject, stm: Stm) -> Iterator[Finding]:
    """W0501: what has no kernel runs in the interpreter, some hundred times slower."""
    lowered = subject.lowered(stm)
    if lowered is not None and lowered.interpreted is not None:
        hint = "bind what it needs outside of the map, or give the array inside a size that is known before"
        yield Finding(stm.loc, "this is interpreted, not compiled", lowered.interpreted, hint)


def sequential(subject: Subject, stm: Stm) -> Iterator[Finding]:
    """W0502: parallelism that one thread runs, or a few."""
    exp, lowered = stm.exp, subject.lowered(stm)
    if lowered is not None and lowered.interpreted is not None:
        return
    match exp:
        case Screma(width, _, _, _, _) if not isinstance(width, Const):
            yield Finding(stm.loc, "this runs sequentially", "one thread does all of it", _WHOLE)
        case Loop(body=body) if not has_segop(body) and has_soac(body):
            yield from (_in_one_thread(s) for s in inside(exp) if isinstance(s.exp, Soac) and _is_long(s.exp))
        case SegMap() if not exp.space.dims or _points(exp) < FEW:
            hint = "split the work into more points, or let the inner map or reduction run over all of the data"
            for s in inside(exp):
                if isinstance(s.exp, Soac) and _is_long(s.exp):
                    text = f"one of {max(1, _points(exp)):.0f} threads does all of it"
                    yield Finding(s.loc, "this runs sequentially", text, hint)
        case _:
            pass


_WHOLE = "an operator on arrays, or one that is not known to be associative, is not split: reduce numbers instead"


def _in_one_thread(stm: Stm) -> Finding:
    hint = "take the map or reduction out of the loop, or bind its result to a variable of its own"
    return Finding(stm.loc, "this runs sequentially", "the loop around it is run by one thread", hint)


def _is_long(exp: Soac) -> bool:
    return not isinstance(exp.width, Const) or int(exp.width.value) >= 256


def _points(exp: SegMap) -> float:
    """The points of a space; infinite where a width is not constant."""
    product = 1.0
    for width in exp.space.widths:
        product *= int(width.value) if isinstance(width, Const) else float("inf")
    return product


def products(subject: Subject, stm: Stm) -> Iterator[Finding]:
    """W0504: a product of matrices that no schedule for products runs."""
    exp, lowered = stm.exp, subject.lowered(stm)
    if not isinstance(exp, SegMap) or len(exp.space.dims) < 2 or lowered is None:
        return
    if any(row.schedule in PRODUCTS and row.why_not is None for row in lowered.considered):
        return
    depends: dict[Name, frozenset[Name]] = {index: frozenset({index}) for index in exp.space.indices}
    factors: dict[Name, tuple[frozenset[Name], frozenset[Name]]] = {}
    elements: set[Name] = set()
    for loop, s in _with_loops(exp.body, None):
        seen = _depends(s, depends, loop)
        depends |= dict.fromkeys((p.name for p in s.pat), seen)
        match s.exp:
            case Index():
                elements.add(s.pat[0].name)
            case Screma(_, _, f, _, _):
                elements |= {p.name for p in f.params}
            case PrimOp(Op.MUL, _, (Var(x), Var(y))) if x in elements and y in elements:
                factors[s.pat[0].name] = depends.get(x, frozenset()), depends.get(y, frozenset())
            case PrimOp(Op.ADD, _, args) if loop is not None and s.pat[0].type.prim.is_float:
                for arg in args:
                    if isinstance(arg, Var) and _is_product(factors.get(arg.name), loop):
                        label = "each result reads its row and its column anew"
                        hint = "write each element as a sum of products: `f32.sum (map2 (*) row column)`"
                        yield Finding(s.loc, "this product of matrices is not recognised", label, hint)
            case _:
                pass


def _with_loops(body: Body, loop: Name | None) -> Iterator[tuple[Name | None, Stm]]:
    """All statements with the innermost loop around them, named by its first result, before those inside of it."""
    for stm in body.stms:
        yield loop, stm
        own = stm.pat[0].name if stm.pat and isinstance(stm.exp, Loop | Soac) else loop
        for inner in bodies(stm.exp):
            yield from _with_loops(inner, own)


def _depends(stm: Stm, depends: dict[Name, frozenset[Name]], loop: Name | None) -> frozenset[Name]:
    """The indices and loops that a statement depends on; the parameters of its loop depend on what they begin with."""
    none: frozenset[Name] = frozenset()
    own = frozenset().union(*(depends.get(name, none) for name in free_in_stm(stm)))
    match stm.exp:
        case Loop(params, inits, form, _):
            mark = frozenset({stm.pat[0].name}) if stm.pat else none
            begin = [depends.get(a.name, none) if isinstance(a, Var) else none for a in inits]
            depends |= {p.name: mark | seen for p, seen in zip(params, begin, strict=True)}
            if isinstance(form, ForLoop):
                depends[form.index] = mark
        case Screma(_, arrays, f, _, _):
            mark = frozenset({stm.pat[0].name}) if stm.pat else none
            depends |= {p.name: mark | depends.get(a, none) for p, a in zip(f.params, arrays, strict=True)}
        case _:
            pass
    return own


def _is_product(found: tuple[frozenset[Name], frozenset[Name]] | None, loop: Name) -> bool:
    """Whether of two factors one follows a row and the other a column, both the loop."""
    if found is None:
        return False
    left, right = found
    return loop in left and loop in right and bool(left - right) and bool(right - left)


def arrays(subject: Subject, stm: Stm) -> Iterator[Finding]:
    """W0505: an array for each point whose size differs from point to point."""
    if not isinstance(stm.exp, SegOp):
        return
    known = set(stm.exp.space.indices)
    for s in inside(stm.exp):
        known |= {p.name for p in s.pat}
        shaped = [p for p in s.pat if any(isinstance(n, Var) and n.name in known for n in p.type.shape)]
        if shaped and isinstance(s.exp, Screma | Loop):
            label = f"`{shaped[0].name.base}` has a size of its own at each point"
            hint = "let the array have the greatest size, or use its elements where they are computed"
            yield Finding(s.loc, "an array is allocated for each point", label, hint)


def copies(subject: Subject, stm: Stm) -> Iterator[Finding]:
    """W0507: a copy that the program does not ask for, since the array that is overwritten is still used."""
    match stm.exp:
        case Copy(array) if array not in subject.slices and not any(
            _is_within(asked, stm.loc) for asked in subject.asked_copies
        ):
            label = f"`{array.base}` is still used, or may be the caller's: a copy of it is overwritten"
            yield Finding(stm.loc, "an array is copied", label, "use the array for the last time where it is updated")
        case _:
            pass


def _is_within(inner: Loc, outer: Loc) -> bool:
    """Whether a place is a part of another."""
    begin, end = (inner.line, inner.col), (inner.end_line, inner.end_col)
    return inner.file == outer.file and (outer.line, outer.col) <= begin and end <= (outer.end_line, outer.end_col)
