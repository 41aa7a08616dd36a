"""Checks over kernels as they are printed: how their lanes reach memory, and divisions on the way to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ..ir.core import Index, Stm
from ..ir.errors import Loc
from ..ir.ops import DIVISIONS, Op
from ..ir.types import Const
from ..kernels.analysis.uniformity import Affine, Facts, Varying, depending, find_facts, loaded_names
from ..kernels.kernel_ir import nodes as kir
from ..kernels.kernel_ir.nodes import Kernel, KStm, Space
from ..kernels.kernel_ir.traverse import all_statements, children, names
from ..kernels.lanes.linear_division import LONGEST
from .subject import Finding, Subject, first_of, inside

SEVERAL = 4
"""Loads of an array by each lane that are worth a transposition of it."""
MOST_PICKED = 8
"""The largest stride at which elements without neighbours are not called far apart."""
LANES = (kir.Threads, kir.BlockReduce, kir.BlockScan, kir.TeamReduce, kir.RowScan)


@dataclass(frozen=True, slots=True)
class Ways:
    """How the values of a kernel lie across its lanes, and which of them are data."""

    facts: Facts
    data: frozenset[str]


def strided(subject: Subject, stm: Stm) -> Iterator[Finding]:
    """W0503: lanes read far apart, in an inner loop or several times, at places that the program's indices say and not
    its data."""
    if found := subject.in_all(stm, far_loads):
        one = min(found, key=lambda load: load.in_loop)
        where, often = ("in an inner loop", "in each step of a loop") if one.in_loop else ("", "several times")
        label = f"{often} neighbouring points read `{one.name}` far apart"
        hint = (
            "let the innermost index of the array be that of the innermost map: transpose it before, or swap the maps"
        )
        yield Finding(_place(stm, one.name), f"strided access {where}".strip(), label, hint)


def divisions(subject: Subject, stm: Stm) -> Iterator[Finding]:
    """W0506: a division for each access, by a number that is not constant."""
    if ops := subject.in_all(stm, divided_indices):
        label = "each point divides to find its place in memory"
        hint = (
            "test for the wrap (`if i == n then 0 else i`), use a nest of two maps instead of one that is split, or"
            " give a table of hashes a size that is a power of two, and take its places by a mask (`h & (n - 1)`)"
        )
        yield Finding(first_of(stm, ops), "division in index arithmetic", label, hint)


@dataclass(frozen=True, slots=True)
class Load:
    """A load far apart of an array, as the source calls it; in an inner loop or not."""

    name: str
    in_loop: bool


def far_loads(kernel: Kernel) -> tuple[Load, ...]:
    """What lanes gather in inner loops, or several times of an array at a stride that is known."""
    facts = find_facts(kernel.body)
    ways = Ways(facts, depending(all_statements(kernel.body), loaded_names(all_statements(kernel.body))))
    found = tuple(_loads(kernel.body, ways, False, False))
    counts = Counter(one.name for one in found)
    return tuple(one for one in found if one.in_loop or counts[one.name] >= SEVERAL)


def _loads(stms: tuple[KStm, ...], ways: Ways, lanes: bool, loop: bool) -> Iterator[Load]:
    for stm in stms:
        match stm:
            case kir.KLet(_, kir.KLoad(array, index)) if lanes and array.space is Space.GLOBAL:
                if _is_far(ways, index) if loop else _is_wide(ways, index):
                    yield Load(array.name.rpartition("_")[0] or array.name, loop)
            case kir.KIf(_, then, orelse) if has_lanes(then) and has_lanes(orelse):
                sides = [tuple(_loads(side, ways, lanes, loop)) for side in (then, orelse)]
                yield from min(sides, key=len)
            case _:
                inner_loop = loop or (lanes and isinstance(stm, kir.For | kir.KWhile))
                for inner in children(stm):
                    yield from _loads(inner, ways, lanes or isinstance(stm, LANES), inner_loop)


def _is_far(ways: Ways, index: kir.Operand) -> bool:
    """Whether lanes lie apart by a number that is not known, or anyhow, though no data says so."""
    if not names(index).isdisjoint(ways.data):
        return False
    match ways.facts.of(index):
        case Affine(None) | Varying():
            return True
        case _:
            return False


def _is_wide(ways: Ways, index: kir.Operand) -> bool:
    """Whether lanes lie apart by a number at which no vectors of neighbours are read."""
    match ways.facts.of(index):
        case Affine(int(stride)):
            return abs(stride) > MOST_PICKED
        case _:
            return False


def has_lanes(stms: tuple[KStm, ...]) -> bool:
    """Whether there are lanes in some statements."""
    return any(isinstance(stm, LANES) for stm in all_statements(stms))


def divided_indices(kernel: Kernel) -> tuple[Op, ...]:
    """The divisions of lanes, and of points that go one after the other, by what is not constant, on which addresses of
    their accesses depend."""
    return tuple(_divisions(kernel.body, find_facts(kernel.body), False, False))


def _divisions(stms: tuple[KStm, ...], facts: Facts, lanes: bool, turns: bool) -> Iterator[Op]:
    wanted = _addresses(stms)
    for stm in stms:
        match stm:
            case kir.KLet(var, kir.KOp(op, prim, (x, y))) if (lanes or turns) and op in DIVISIONS and prim.is_int:
                each = turns or _is_divided_in_lanes(facts, x)
                if not isinstance(y, Const) and each and var.name in wanted:
                    yield op
            case kir.KIf(_, then, orelse) if has_lanes(then) and has_lanes(orelse):
                yield from min([tuple(_divisions(side, facts, lanes, turns)) for side in (then, orelse)], key=len)
            case _:
                is_turn = not lanes and isinstance(stm, kir.For | kir.KWhile) and not has_lanes((stm,))
                for inner in children(stm):
                    yield from _divisions(inner, facts, lanes or isinstance(stm, LANES), turns or is_turn)


def _is_divided_in_lanes(facts: Facts, x: kir.Operand) -> bool:
    """Whether each lane divides for itself: what counts with them is divided once for all (`linear_division.py`)."""
    match facts.of(x):
        case Affine(int(stride)):
            return not 0 < stride <= LONGEST
        case _:
            return facts.varies(x)


def _addresses(stms: tuple[KStm, ...]) -> frozenset[str]:
    """What the addresses of accesses in a list are made of."""
    found: set[str] = set()
    every = tuple(all_statements(stms))
    for stm in reversed(every):
        match stm:
            case kir.KLet(_, kir.KLoad(_, index)) | kir.Store(_, index, _):
                found |= names(index)
            case kir.KLet(var, kir.KOp(args=args)) if var.name in found:
                found |= names(*args)
            case _:
                pass
    return frozenset(found)


def _place(stm: Stm, name: str) -> Loc:
    """Where the source reads an array that a kernel calls `name`."""
    reads = (s for s in inside(stm.exp) if isinstance(s.exp, Index) and s.exp.array.base == name)
    return next((s.loc for s in reads), stm.loc)
