"""Threads that write rows, and compute little for each element, which lanes would scatter.

    threads i { for a < 7 { for b < 7 { ys[49*i + 7*a + b] := xs[(r + a)*w + i + b] } } }
    threads i { ys[40*i] := hex[xs[20*i] >> 4]; .. ys[40*i + 39] := hex[xs[20*i + 19] & 15] }           small elements

Lanes write what a short loop gives one by one. Long rows in straight code they transpose in registers
(`lanes/interleaved.py`), which for small elements is many shuffles, unless what they read is side by side for
neighbours. A thread that goes by itself reads and writes words, as far as elements lie side by side in its rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.records import dataclass
from ...ir.types import Const
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Environment
from ..kernel_ir.nodes import COLUMNS, For, KLet, KLoad, KStm, Operand, Space, Store
from .speculation import is_harmless
from .uniformity import Affine, Facts
from .walks import BRANCH, weight

EACH = 6
"""The most operations for each element that is written."""
FEW = 4
"""Elements of the part of a row that neighbours share most of (windows) up to which lanes take as long."""
LONG = 32
"""Elements of a row of small elements in straight code up to which lanes take as long."""


def writes_rows(body: Iterable[KStm], facts: Facts) -> bool:
    """Is a row all that each thread writes, in short loops of constant lengths along what they read, or of many small
    elements whose operands do not lie side by side for neighbouring threads?"""
    work = _work(body, _Around(facts, Environment()))
    if work is None or work.shared or work.operations > EACH * work.stores:
        return False
    if work.loops:
        return work.stores > (COLUMNS if work.apart else FEW)
    return work.stores > LONG and not work.wide


@dataclass(frozen=True, slots=True)
class _Around:
    """What is known of values: across the threads, and as polynomials; the index of the innermost loop."""

    facts: Facts
    values: Environment
    index: str | None = None

    def is_dense(self, place: Operand) -> bool:
        """Whether neighbouring threads are there side by side."""
        found = self.facts.of(place)
        return isinstance(found, Affine) and found.stride in (1, -1)

    def goes_along(self, place: Operand) -> bool:
        """Whether the turns of the innermost loop are there side by side."""
        return self.index is not None and dict(self.values.of(place)).get((self.index,)) == 1


@dataclass(frozen=True, slots=True)
class _Work:
    """What a thread stores and computes; is some of it in `loops`, does it store elements of 32 bits or more (`wide`),
    read what no neighbour reads (`apart`), and what is side by side for neighbouring threads alone (`shared`)?"""

    stores: int = 0
    operations: int = 0
    loops: bool = False
    wide: bool = False
    apart: bool = False
    shared: bool = False

    def and_(self, other: _Work, turns: int = 1) -> _Work:
        return _Work(
            self.stores + turns * other.stores,
            self.operations + turns * other.operations,
            self.loops or other.loops,
            self.wide or other.wide,
            self.apart or other.apart,
            self.shared or other.shared,
        )


def _work(body: Iterable[KStm], around: _Around) -> _Work | None:
    """None where a thread does something else, or writes side by side with its neighbours."""
    found = _Work()
    for stm in body:
        if isinstance(stm, KLet):
            around.values.note(stm)
        one = _of(stm, around)
        if one is None:
            return None
        found = found.and_(one)
    return found


def _of(stm: KStm, around: _Around) -> _Work | None:
    match stm:
        case Store(array, place):
            scattered = array.space is Space.GLOBAL and around.facts.varies(place) and not around.is_dense(place)
            return _Work(stores=1, wide=array.prim.bytes >= 4) if scattered else None
        case For(index, Const(value=turns), inner) if int(turns) <= COLUMNS:
            work = _work(inner, replace(around, index=index.name))
            return None if work is None else _Work(loops=True).and_(work, int(turns))
        case KLet(_, KLoad(_, place)):
            if around.is_dense(place):
                return _Work(shared=not around.goes_along(place))
            return _Work(apart=around.facts.varies(place))
        case kir.Check() | kir.BoundsCheck() | kir.Note():
            return _Work()
        case _ if is_harmless(stm):
            return _Work(operations=weight(stm, BRANCH))
        case _:
            return None
