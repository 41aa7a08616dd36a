"""Placing fences: a pass on kernels that makes every order visible that the threads of a block rely on.

    threads i { s[i] := .. }; threads i { .. s[j] .. }     ⟶     threads i { .. }; fence; threads i { .. }

Two phases of a block (thread loops, collectives, uniform accesses) need a fence between them if they may touch an
element from two threads and one of them writes. Arrays that are taken from the block's stack one after the other may
have the same bytes (`analysis/accesses.py`), so that what is taken waits for those who still use what was given back:

    for { alloc s; threads i { s[i] := .. }; fence; threads i { .. s[j] .. } }   ⟶   for { alloc s; fence; threads i ..

The walk goes through the kernel in the order of execution, through loops twice, with the touches that no fence has
ordered yet; at the first conflict a fence is put as late as possible, but before the loops that the earlier touch
stands outside of; and again, until there is none. Then every fence without which the walk is still clean is taken out,
inner ones first. Put as late as possible, they are fewest in straight code.

A kernel without conflicts is returned as it is. Fences order the block; CPU lanes need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ...ir.records import dataclass
from ...ir.types import Const, Prim
from ..analysis.accesses import Path, Touch, Values, conflict, forget, giving_back, is_collective, phase
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Poly
from ..kernel_ir.execution import published, spreads
from ..kernel_ir.nodes import KArray, Kernel, KStm
from ..kernel_ir.traverse import children, with_children

Stms = tuple[KStm, ...]


def place_fences(kernel: Kernel) -> Kernel:
    """The kernel with the fences it needs and no others."""
    body, shown = kernel.body, published(kernel)
    while (found := first_conflict(body, shown)) is not None:
        body = edited(body, place_of(body, found), lambda stm: (kir.Fence(), stm))
    for path in sorted(fence_paths(body), key=lambda p: (-len(p), p)):
        without = remove(body, path)
        if first_conflict(mended(without), shown) is None:
            body = without
    return replace(kernel, body=mended(body))


# ---- finding conflicts -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two touches without a fence between them."""

    earlier: Touch
    later: Touch


class Found(Exception):
    """The walk ends at the first conflict."""

    def __init__(self, conflict: Conflict) -> None:
        super().__init__()
        self.conflict = conflict


Pending = frozenset[Touch]


def first_conflict(body: Stms, shown: frozenset[KArray] = frozenset()) -> Conflict | None:
    """The first pair of accesses that needs a fence between them; None where there is none."""
    try:
        walk(Values(published=shown), body, (), 0, frozenset())
    except Found as found:
        return found.conflict
    return None


def walk(values: Values, stms: Stms, path: Path, which: int, pending: Pending) -> Pending:
    """Goes through a list, the `which`-th of the statement at `path`; gives the touches that are unordered after it."""
    with giving_back(values):
        for k, stm in enumerate(stms):
            pending = walk_stm(values, stm, (*path, (which, k)), pending)
    return pending


def walk_stm(values: Values, stm: KStm, path: Path, pending: Pending) -> Pending:
    """The accesses pending after a statement; raises `Found` at the first conflict."""
    if isinstance(stm, kir.Fence):
        return frozenset()
    if is_collective(stm) or isinstance(stm, PHASES) or not spreads(stm):
        return meet(values, stm, path, pending)
    skipped: frozenset[Poly] = frozenset()
    match stm:
        case kir.KIf(_, then, orelse):
            return walk(values, then, path, 0, pending) | walk(values, orelse, path, 1, pending)
        case kir.For(index, bound, body):
            skipped = frozenset((values.of(bound),))

            def once(pending: Pending) -> Pending:
                forget(values, body, False)
                values.define_index(index.name, (), values.of(bound), False)
                return walk(values, body, path, 0, pending)

        case kir.KWhile(before, _, body):

            def once(pending: Pending) -> Pending:
                forget(values, (*before, *body), False)
                tested = walk(values, before, path, 0, pending)
                return tested | walk(values, body, path, 1, tested)

        case _:
            raise AssertionError(f"not a statement of the block: {stm}")
    first = once(pending)
    second = once(pending | frozenset(replace(touch, carried=path) for touch in first))
    ends = {0: past(pending, skipped), 1: plain(first), 2: plain(second)}
    return frozenset().union(*(ends[n] for n in trips(stm)))


PHASES = (kir.Threads, kir.TeamReduce, kir.WarpTurns, kir.Shuffle, kir.Mma)


def trips(stm: KStm) -> tuple[int, ...]:
    """How often a loop may run: never, once, twice or more."""
    match stm:
        case kir.For(bound=Const(value=n)):
            return (max(0, min(int(n), 2)),)
        case _:
            return (0, 1, 2)


def past(pending: Pending, skipped: frozenset[Poly]) -> Pending:
    """Behind a loop that was skipped its bound is known to be 0."""
    return frozenset(replace(touch, skipped=touch.skipped | skipped) for touch in pending)


def plain(pending: Pending) -> Pending:
    """Behind a loop it does not matter which iteration a touch belongs to."""
    return frozenset(replace(touch, carried=None) for touch in pending)


def meet(values: Values, stm: KStm, path: Path, pending: Pending) -> Pending:
    """The next phase meets what is unordered before it."""
    touches, behind = phase(values, stm, path)
    for touch in touches:
        for earlier in pending:
            if conflict(earlier, touch):
                raise Found(Conflict(earlier, touch))
    return frozenset(behind) if is_collective(stm) else pending | frozenset(behind)


# ---- places ------------------------------------------------------------------------------------------------------


def place_of(body: Stms, found: Conflict) -> Path:
    """Before the later touch, or before the outermost loop around it that the earlier one is not in."""
    later, earlier = found.later.path, found.earlier
    depth = len(earlier.carried) if earlier.carried is not None else shared_depth(earlier.path, later)
    for k in range(depth + 1, len(later)):
        if isinstance(statement_at(body, later[:k]), (kir.For, kir.KWhile)):
            return later[:k]
    return later


def shared_depth(x: Path, y: Path) -> int:
    """How many statements are around both."""
    depth = 0
    while depth < min(len(x), len(y)) and x[depth] == y[depth]:
        depth += 1
    return depth


def statement_at(body: Stms, path: Path) -> KStm:
    """The statement at a path (a path starts with list 0, the kernel's body)."""
    (_, k), *rest = path
    stm = body[k]
    for which, position in rest:
        stm = children(stm)[which][position]
    return stm


def fence_paths(stms: Stms, path: Path = (), which: int = 0) -> Iterator[Path]:
    """Where the fences are, in the order of the text."""
    for k, stm in enumerate(stms):
        here = (*path, (which, k))
        if isinstance(stm, kir.Fence):
            yield here
        for number, inner in enumerate(children(stm)):
            yield from fence_paths(inner, here, number)


def edited(body: Stms, path: Path, put: Callable[[KStm], Stms]) -> Stms:
    """The body with what `put` gives in the place of the statement at `path`."""
    (_, k), *rest = path
    if not rest:
        return (*body[:k], *put(body[k]), *body[k + 1 :])
    lists, which = list(children(body[k])), rest[0][0]
    lists[which] = edited(lists[which], tuple(rest), put)
    return (*body[:k], with_children(body[k], tuple(lists)), *body[k + 1 :])


def remove(body: Stms, path: Path) -> Stms:
    """The body without the statement at `path`; an empty If stands for it, so that other paths stay as they are."""
    return edited(body, path, lambda _: (NOTHING,))


NOTHING = kir.KIf(Const(Prim.BOOL, False), (), ())


def mended(body: Stms) -> Stms:
    """The body without the gaps that `remove` leaves."""
    kept = (stm for stm in body if stm is not NOTHING)
    return tuple(with_children(stm, tuple(mended(inner) for inner in children(stm))) for stm in kept)
